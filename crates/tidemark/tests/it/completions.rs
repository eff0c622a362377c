//! Shell completions and manual pages: generated from the table of commands, so that no command is missing.

use std::fs;

use crate::process::tidemark;

#[test]
fn every_shell_has_its_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = tidemark(&["completions", shell]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let script = String::from_utf8(output.stdout).unwrap();
        for part in ["threshold", "unarchive", "per-page", "whoami"] {
            assert!(script.contains(part), "{shell}: {part}");
        }
    }
    let output = tidemark(&["completions", "tcsh"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn every_command_has_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("man");
    let output = tidemark(&["man", "--out"]).arg(&out).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let page = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    assert!(page("tidemark.1").contains("tidemark\\-branch(1)"));
    assert!(page("tidemark-branch-update.1").contains("start\\-point\\-reset"));
    assert!(page("tidemark-project-key-create.1").contains("ttl"));
    assert!(fs::read_dir(&out).unwrap().count() > 100);
}
