//! `tidemark.toml` of a repository: what runs take from it, what wins over it, and what is wrong with it.

use std::fs;

use crate::local::{Machine, printed, report};

#[test]
fn runs_go_by_the_file_of_their_repository() {
    let machine = Machine::new();
    let file = r#"
        project = "widget"
        testbed = "lab"
        adapter = "rust_bench"
        command = "cat results.txt"
        error_on_alert = true

        [thresholds.latency]
        test = "percentage"
        max_sample_size = 64
        upper_boundary = 0.05
    "#;
    fs::write(machine.widget().join("tidemark.toml"), file).unwrap();
    let below = machine.widget().join("src/deep");
    fs::create_dir_all(&below).unwrap();
    let measured = |value: u32| {
        let line = format!("test sort ... bench: {value} ns/iter (+/- 3)\n");
        fs::write(machine.widget().join("results.txt"), line).unwrap();
    };
    let json = |arguments: &[&str]| {
        let mut command = machine.command(&["run", "--quiet", "--format", "json"]);
        report(command.args(arguments).current_dir(&below).output().unwrap())
    };
    measured(1_000);
    let first = json(&[]);
    assert_eq!((&first["project"]["slug"], &first["testbed"]["name"]), (&"widget".into(), &"lab".into()));
    assert_eq!(first["adapter"], "rust_bench");
    measured(1_070);
    let second = machine.command(&["run", "--quiet"]).current_dir(&below).output().unwrap();
    assert_eq!(second.status.code(), Some(3), "{second:?}");

    // Flags win over variables, variables over the file.
    let testbed = |report: &serde_json::Value| report["testbed"]["name"].as_str().unwrap().to_owned();
    let mut command = machine.command(&["run", "--quiet", "--format", "json"]);
    command.env("TIDEMARK_TESTBED", "of the variable");
    assert_eq!(testbed(&report(command.output().unwrap())), "of the variable");
    assert_eq!(testbed(&report(command.args(["--testbed", "of the flag"]).output().unwrap())), "of the flag");
    // What is said of thresholds, too.
    let said = [
        "--threshold-measure",
        "latency",
        "--threshold-test",
        "static",
        "--threshold-upper-boundary",
        "9000",
    ];
    assert_eq!(json(&said)["results"][0][0]["measures"][0]["boundary"]["upper_limit"], 9_000.0);
    // The command is not run for results that are there, and a threshold that is gone from the file is gone.
    fs::write(machine.widget().join("tidemark.toml"), "project = \"widget\"\n[thresholds]\n").unwrap();
    let piped = fs::File::open(machine.widget().join("results.txt")).unwrap();
    let mut command = machine.command(&["run", "--testbed", "lab", "--file", "-"]);
    assert!(printed(command.stdin(piped).output().unwrap()).contains("no threshold  sort"));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let machine = Machine::new();
    for (file, sentence) in [
        (
            "\nprojct = 'x'",
            "tidemark.toml, line 2: There is no setting `projct` here; there are `project`, `host`, ",
        ),
        ("[ci]\nonly = true", "line 2: There is no setting `only` here; there are `only_on_alert`, "),
        ("[thresholds.latency]\ntest = 'guess'", "line 2: Expected one of: static percentage "),
        (
            "\n[thresholds.latency]\ntest = 'percentage'",
            "line 2: The threshold of `latency` cannot be used: ",
        ),
        ("adapter = 'x'", "line 1: Unknown variant `x`, expected one of `magic`"),
        ("command = 5", "line 1: Invalid type: integer `5`, expected a text for the shell, or a list"),
        ("project = ", "line 1: "),
        ("iter = 1\nkey = 'svc_user_'", "line 2: `key` does not belong here, since everybody"),
        ("host = 'https://ada:secret@example.org'", "must not have a name or password in it"),
        ("[database]\nfile = 'x'", "`database` is a setting of `tidemark serve`"),
    ] {
        fs::write(machine.widget().join("tidemark.toml"), file).unwrap();
        let output = machine.command(&["run", "echo ran > ran"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(sentence), "{file}: {said}");
        assert!(!said.contains("secret@"), "{said}");
    }
    assert!(!machine.widget().join("ran").exists());
    // Who does not go by it does not mind.
    printed(machine.command(&["context"]).output().unwrap());
}
