//! `tidemark.toml` of a repository: what runs read from it, what takes precedence over it, and its errors.

use std::fs;

use crate::local::{Machine, printed, report};

#[test]
fn the_server_of_a_repository_is_for_every_command() {
    let machine = Machine::new();
    let file = "project = \"widget\"\nhost = \"http://localhost:9\"\n";
    fs::write(machine.widget().join("tidemark.toml"), file).unwrap();
    let who = printed(machine.command(&["whoami"]).output().unwrap());
    assert!(who.contains("Server       http://localhost:9/\nServer from  tidemark.toml\n"), "{who}");
    let list = machine.command(&["branch", "list", "--attempts", "1"]).output().unwrap();
    assert_eq!(list.status.code(), Some(8), "{list:?}");
    let line = "echo 'test sort ... bench: 5 ns/iter (+/- 3)'";
    let here = printed(machine.command(&["run", "--quiet", "--local", line]).output().unwrap());
    assert!(here.contains(" as widget, "), "{here}");
    let list = printed(machine.command(&["branch", "list", "--local"]).output().unwrap());
    assert!(list.contains("trunk"), "{list}");
    // Output that must be the same everywhere does not use the file.
    let man = machine.widget().with_file_name("man");
    printed(machine.command(&["man", "--out"]).arg(&man).output().unwrap());
    assert!(!fs::read_to_string(man.join("tidemark-run.1")).unwrap().contains("localhost:9"));
    fs::write(machine.widget().join("tidemark.toml"), "projekt = 1\n").unwrap();
    for arguments in [["branch", "list"], ["push", "--all"]] {
        let output = machine.command(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("There is no setting `projekt`;"),
            "{output:?}"
        );
    }
}

#[test]
fn a_described_format_declares_a_direction() {
    let machine = Machine::new();
    let run = |direction: &str| {
        let file = format!(
            "project = 'widget'\n[adapter.lap]\npattern = '^(?<name>\\w+) (?<hits>\\d+) hits'\n\
             measures.Hits = {{ value = 'hits', unit = 'hits', direction = '{direction}' }}\n"
        );
        fs::write(machine.widget().join("tidemark.toml"), file).unwrap();
        let arguments = ["run", "--quiet", "--adapter", "lap", "--format", "json", "echo sort 7 hits"];
        machine.command(&arguments).output().unwrap()
    };
    let first = run("higher");
    assert!(!String::from_utf8_lossy(&first.stderr).contains("The direction of"), "{first:?}");
    let measure = &report(first)["results"][0][0]["measures"][0]["measure"];
    assert_eq!((&measure["units"], &measure["direction"]), (&"hits".into(), &"higher_is_better".into()));
    let second = run("lower");
    let warning = "warning: The direction of the measure `Hits` stays `higher_is_better`; the results declare \
                   `lower_is_better`. If this is correct, change the direction of the measure.\n";
    assert!(String::from_utf8_lossy(&second.stderr).contains(warning), "{second:?}");
    let measure = &report(second)["results"][0][0]["measures"][0]["measure"];
    assert_eq!(measure["direction"], "higher_is_better");
}

#[test]
fn runs_use_the_settings_of_their_repository() {
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
    let mut command = machine.command(&["run", "--quiet", "--error-on-alert=false"]);
    printed(command.current_dir(&below).output().unwrap());

    // Flags take precedence over variables, and variables over the file.
    let testbed = |report: &serde_json::Value| report["testbed"]["name"].as_str().unwrap().to_owned();
    let mut command = machine.command(&["run", "--quiet", "--format", "json"]);
    command.env("TIDEMARK_TESTBED", "of the variable");
    assert_eq!(testbed(&report(command.output().unwrap())), "of the variable");
    assert_eq!(testbed(&report(command.args(["--testbed", "of the flag"]).output().unwrap())), "of the flag");
    // The flags for thresholds take precedence as well.
    let said = [
        "--threshold-measure",
        "latency",
        "--threshold-test",
        "static",
        "--threshold-upper-boundary",
        "9000",
    ];
    assert_eq!(json(&said)["results"][0][0]["measures"][0]["boundary"]["upper_limit"], 9_000.0);
    // With results from a file, the command does not run; a threshold that was removed from the file is removed from
    // the project.
    fs::write(machine.widget().join("tidemark.toml"), "project = \"widget\"\n[thresholds]\n").unwrap();
    let piped = fs::File::open(machine.widget().join("results.txt")).unwrap();
    let mut command = machine.command(&["run", "--testbed", "lab", "--file", "-"]);
    assert!(printed(command.stdin(piped).output().unwrap()).contains("inconclusive  sort"));
}

#[test]
fn an_error_names_its_line() {
    let machine = Machine::new();
    for (file, sentence) in [
        (
            "\nprojct = 'x'",
            "tidemark.toml, line 2: There is no setting `projct`; the settings are `project`, `host`, ",
        ),
        ("[ci]\nonly = true", "line 2: There is no setting `only`; the settings are `only_on_alert`, "),
        ("[thresholds.latency]\ntest = 'guess'", "line 2: Expected one of: static percentage "),
        (
            "\n[thresholds.latency]\ntest = 'percentage'",
            "line 2: The threshold of `latency` cannot be used: ",
        ),
        (
            "adapter = 'x'",
            "line 1: There is no adapter `x`; docs/adapters.md lists all, and a table `[adapter.x]`",
        ),
        (
            "iter = 1\n[adapter.mine]\ncsv = true\nmeasures = {}",
            "line 2: The adapter `mine` cannot be used: it has no",
        ),
        (
            "[adapter.pytest]\ncsv = true\nmeasures = {}",
            "line 1: `pytest` is the name of an adapter that exists",
        ),
        (
            "[adapter.mine]\ncsv = true\n[adapter.mine.measures.Hits]\nvalue = 'hits'\ndirection = 'up'",
            "line 5: Unknown variant `up`, expected ",
        ),
        (
            "[adapter.mine]\ncsv = true\n[adapter.mine.measures.latency]\nvalue = 't'\ndirection = 'higher'",
            "line 1: The adapter `mine` cannot be used: `latency` is a built-in measure, of which lower is better",
        ),
        ("[adapter.mine]\ncvs = true", "line 2: There is no setting `cvs`; the settings are `pattern`, "),
        ("command = 5", "line 1: Invalid type: integer `5`, expected a text for the shell, or a list"),
        ("project = ", "line 1: "),
        ("iter = 1\nkey = 'svc_user_'", "line 2: `key` is not allowed here, because everyone"),
        ("host = 'https://ada:secret@example.org'", "must not contain a name or password"),
        ("[database]\nfile = 'x'", "`database` is a setting of `tidemark serve`"),
    ] {
        fs::write(machine.widget().join("tidemark.toml"), file).unwrap();
        let output = machine.command(&["run", "echo ran > ran"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(sentence), "{file}: {said}");
        assert!(!said.contains("secret@"), "{said}");
    }
    assert!(!machine.widget().join("ran").exists());
    // A command that does not use the file ignores its errors.
    printed(machine.command(&["context"]).output().unwrap());
}
