//! The benchmark command when a user interrupts `tidemark run`.

use std::{
    fs,
    process::{Child, Command, Stdio},
};

use crate::{
    local::{Machine, printed},
    process::wait_until,
};

/// Starts our command.
fn start(machine: &Machine, arguments: &[&str]) -> Child {
    let mut command = machine.command(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Returns the ids of two processes, once the benchmark command has written them to a file.
fn processes(machine: &Machine) -> Vec<String> {
    let file = machine.widget().join("processes");
    let mut written = String::new();
    wait_until("the benchmark command does not start", || {
        written = fs::read_to_string(&file).unwrap_or_default();
        written.ends_with('\n')
    });
    written.split_whitespace().map(str::to_owned).collect()
}

fn send(signal: &str, process: &Child) {
    let id = process.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
}

/// Whether a process runs. A zombie counts as dead.
fn lives(number: &str) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", number]).output().unwrap();
    let state = String::from_utf8(output.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// Waits until all processes have exited. They sleep longer than any test: only a signal ends them.
fn await_end(numbers: &[String]) {
    wait_until("a process of the benchmark command still lives", || {
        !numbers.iter().any(|number| lives(number))
    });
}

#[test]
fn an_interrupt_stops_the_command_and_its_child_processes() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let machine = Machine::new();
        let line = "sleep 6000 & echo $$ $! > processes; wait; true";
        let mut process = start(&machine, &["run", line]);
        let numbers = processes(&machine);
        assert!(numbers.iter().all(|number| lives(number)));
        send(signal, &process);
        assert_eq!(process.wait().unwrap().code(), Some(code));
        await_end(&numbers);
        let reports = machine.command(&["project", "list", "--json"]).output().unwrap();
        assert_eq!(printed(reports).trim(), "[]", "nothing is recorded");
    }
}

#[test]
fn a_command_that_ignores_signals_is_killed() {
    let machine = Machine::new();
    let line = "trap '' TERM INT; sleep 6000 & echo $$ $! > processes; wait; sleep 6000";
    let mut process = start(&machine, &["run", line]);
    let numbers = processes(&machine);
    send("TERM", &process);
    assert_eq!(process.wait().unwrap().code(), Some(143));
    await_end(&numbers);
}

#[test]
fn an_interrupt_stops_the_setup_command() {
    let machine = Machine::new();
    let file = machine.widget().join("processes");
    let setup = format!("sleep 6000 & echo $$ $! > '{}'; wait; true", file.display());
    let mut process = start(&machine, &["run", "--ab", "HEAD", "--ab-setup", &setup, "true"]);
    let numbers = processes(&machine);
    send("TERM", &process);
    assert_eq!(process.wait().unwrap().code(), Some(143));
    await_end(&numbers);
}
