//! `tidemark init`: what it detects in a repository, and that a run uses the file that it wrote.

use std::{fs, path::Path};

use crate::local::{Machine, printed, report};

fn written(machine: &Machine, arguments: &[&str]) -> String {
    printed(machine.command(&["init", "--yes"]).args(arguments).output().unwrap());
    fs::read_to_string(machine.widget().join("tidemark.toml")).unwrap()
}

#[test]
fn the_settings_of_a_repository_are_detected() {
    let machine = Machine::new();
    let put = |path: &str, text: &str| {
        let path = machine.widget().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        fs::write(path, text).unwrap();
    };
    for (path, text, adapter, command) in [
        ("go.mod", "module widget", "gobench", "go test -run '^$' -bench . ./..."),
        ("package.json", "{\"devDependencies\": {\"vitest\": \"3\"}}", "vitest", "npx vitest bench --run"),
        ("pyproject.toml", "dev = [\"pytest-benchmark>=5\"]", "pytest", "pytest --benchmark-only"),
        ("Cargo.toml", "[workspace]", "magic", "cargo bench"),
        ("crates/core/Cargo.toml", "[dev-dependencies]\ncriterion = \"1\"", "criterion", "cargo bench"),
    ] {
        put(path, text);
        let file = written(&machine, &["--force"]);
        assert!(file.contains("project = \"widget-"), "{file}");
        assert!(file.contains(&format!("adapter = \"{adapter}\"\n")), "{file}");
        assert!(file.contains(&format!("command = \"{command}")), "{file}");
    }
    put("Cargo.toml", "[dependencies]\ngungraun = \"1\"");
    assert!(written(&machine, &["--force"]).contains("\n[thresholds.instructions]\n"));
    put("Cargo.toml", "[workspace]");
    let kept = machine.command(&["init", "--yes"]).output().unwrap();
    assert_eq!(kept.status.code(), Some(2), "{kept:?}");
    assert!(String::from_utf8_lossy(&kept.stderr).contains("use --force to overwrite it"), "{kept:?}");
    let silent = machine.command(&["init", "--force"]).output().unwrap();
    assert_eq!(silent.status.code(), Some(2), "{silent:?}");
    assert!(
        String::from_utf8_lossy(&silent.stderr).contains("Standard input is not a terminal; use --yes"),
        "{silent:?}"
    );

    // A run uses the file.
    let file = written(&machine, &["--force"]).replace("cargo bench", "cat results.txt");
    fs::write(machine.widget().join("tidemark.toml"), file).unwrap();
    put("results.txt", "sort                    time:   [1.10 us 1.25 us 1.40 us]\n");
    let report = report(machine.command(&["run", "--quiet", "--format", "json"]).output().unwrap());
    assert_eq!(report["project"]["name"], "widget");
    assert_eq!(report["adapter"], "rust_criterion");
}
