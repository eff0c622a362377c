//! The script of action.yml, run like a step of GitHub Actions.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::process::{BINARY, isolated};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn step(folder: &Path, what: &str, inputs: &[(&str, &str)]) -> Output {
    let mut command = isolated("bash");
    command.arg(root().join(".ci/action")).arg(what).current_dir(folder);
    command.envs([("RUNNER_OS", "Linux"), ("RUNNER_ARCH", "X64")]).env("RUNNER_TEMP", folder);
    command.env("GITHUB_PATH", folder.join("path")).env("GITHUB_OUTPUT", folder.join("output"));
    command.envs(inputs.iter().copied()).output().unwrap()
}

#[test]
fn it_installs_a_binary_with_the_right_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sum = Command::new("sha256sum").arg(BINARY).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap()[..64].to_owned();
    let url = format!("file://{BINARY}");
    for (inputs, sentence) in [
        (vec![("INPUT_URL", url.as_str())], "needs the input sha256"),
        (vec![("INPUT_URL", url.as_str()), ("INPUT_SHA256", "00")], "checksum"),
        (vec![("INPUT_PATH", "nowhere")], "no file nowhere"),
        (vec![("INPUT_PATH", BINARY), ("RUNNER_OS", "Plan9")], "no Tidemark for the system Plan9"),
    ] {
        let output = step(folder, "install", &inputs);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(sentence), "{output:?}");
        assert!(!folder.join("tidemark/tidemark").exists() && !folder.join("path").exists());
    }
    let output = step(folder, "install", &[("INPUT_URL", &url), ("INPUT_SHA256", &sum)]);
    assert!(output.status.success(), "{output:?}");
    let binary = folder.join("tidemark/tidemark");
    assert_eq!(fs::read_to_string(folder.join("output")).unwrap(), format!("path={}\n", binary.display()));

    // Each line is one argument, whatever its content.
    let arguments = "--dry-run\n\nprintf '{\"$(touch made)\": {\"latency\": {\"value\": 1}}}'\n";
    let inputs = [("INPUT_ARGS", arguments), ("TIDEMARK_BINARY", binary.to_str().unwrap())];
    let output = step(folder, "run", &inputs);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("$(touch made)"), "{output:?}");
    assert!(!folder.join("made").exists());
}

#[test]
fn every_input_reaches_the_script() {
    let action = fs::read_to_string(root().join("action.yml")).unwrap();
    let script = fs::read_to_string(root().join(".ci/action")).unwrap();
    let used = action.lines().filter_map(|line| line.trim().strip_prefix("INPUT_")?.split(':').next());
    let used: Vec<&str> = used.collect();
    assert_eq!(used, ["VERSION", "PATH", "URL", "SHA256", "ARGS"]);
    assert!(used.iter().all(|name| script.contains(&format!("INPUT_{name}"))));
    // A script with an expression would execute text from other users.
    assert!(!action.lines().any(|line| line.trim().starts_with("run:") && line.contains("${{")));
}
