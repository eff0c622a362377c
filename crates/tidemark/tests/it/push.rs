//! `tidemark push`: sends reports measured without a server to a server.

use std::{
    collections::BTreeMap,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
    client::Client,
    context::git,
    local::{Machine, printed, report},
    process::Server,
};

/// Returns the content of reports without values that the server assigns, the oldest first.
fn contents(client: &mut Client, project: &str) -> Vec<Value> {
    let path = format!("/v0/projects/{project}/reports?per_page=255&direction=asc&expand=true");
    let (status, reports) = client.get(&path).unwrap();
    assert_eq!(status, 200, "{reports}");
    let measure = |result: &Value, measure: &Value| {
        let model = &measure["threshold"]["model"];
        json!({
            "iteration": result["iteration"], "benchmark": result["benchmark"]["name"],
            "parameters": result["variant"]["parameters"],
            "measure": [measure["measure"]["name"], measure["measure"]["units"]],
            "value": [measure["metric"]["value"], measure["metric"]["lower_value"], measure["metric"]["upper_value"]],
            "model": [model["test"], model["max_sample_size"], model["lower_boundary"], model["upper_boundary"]],
            "boundary": measure["boundary"],
        })
    };
    let one = |report: &Value| {
        let results =
            report["results"].as_array().unwrap().iter().flat_map(|results| results.as_array().unwrap());
        let results: Vec<_> = results
            .flat_map(|result| {
                result["measures"].as_array().unwrap().iter().map(move |found| measure(result, found))
            })
            .collect();
        let head = &report["branch"]["head"];
        json!({
            "times": [report["start_time"], report["end_time"]], "testbed": report["testbed"]["name"],
            "branch": [report["branch"]["name"], head["version"], head["start_point"]["version"]],
            "alerts": report["counts"]["alerts"]["total"], "results": results,
        })
    };
    reports.as_array().unwrap().iter().map(one).collect()
}

fn pushed(output: Output) -> BTreeMap<String, (u64, u64)> {
    let answer = report(output);
    let projects = answer["projects"].as_array().unwrap().iter();
    let count = |project: &Value, name: &str| project[name].as_u64().unwrap();
    projects
        .map(|project| {
            (project["to"].as_str().unwrap().to_owned(), (count(project, "reports"), count(project, "sent")))
        })
        .collect()
}

#[test]
fn local_results_are_pushed_to_a_server() {
    let machine = Machine::new();
    let run = |arguments: &[&str], results: &Value| {
        let mut command =
            machine.command(&["run", "--quiet", "--format", "json", "--project", "widget", "--create"]);
        report(command.args(arguments).arg(format!("printf %s '{results}'")).output().unwrap());
    };
    let sort = |value: f64| json!({ "sort": { "latency": { "value": value, "lower_value": value / 3.0 } } });
    run(&["--backdate", "1700000000"], &sort(1_000.1));
    run(&["--iter", "2"], &sort(1_000.2));
    let variants = json!([
        { "name": "find", "parameters": { "size": 10 }, "measures": { "heap peak": { "value": -0.1 } } },
        { "name": "find", "parameters": { "size": 20 }, "measures": { "heap peak": { "value": 1e-300, "upper_value": 7 } } },
    ]);
    run(&["--testbed", "other"], &variants);
    git(&machine.widget(), &["checkout", "--quiet", "-b", "fix"]);
    run(&["--start-point", "trunk"], &sort(2_000.3));
    run(&["--start-point", "trunk", "--start-point-reset"], &sort(900.0));
    report(
        machine
            .command(&[
                "run",
                "--quiet",
                "--format",
                "json",
                "--project",
                "other",
                "--create",
                "echo '{\"a\":{\"b\":{\"value\":1}}}'",
            ])
            .output()
            .unwrap(),
    );

    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let mut client = Client::connect(&server);
    client.sign_up("Ada", folder.path());
    server.drain();
    let push = |arguments: &[&str]| -> Command {
        let mut command = machine.command(&["push", "--host", &format!("http://{}", server.address)]);
        command.env("TIDEMARK_API_TOKEN", &client.token).args(arguments);
        command
    };
    for (arguments, sentence) in [
        (&[] as &[&str], "the projects are: other widget."),
        (
            &["--project", "nothing"],
            "Project `nothing` not found on this machine; the projects are: other widget.",
        ),
        (&["--project", "wigdet"], "Did you mean `widget`?"),
        (
            &["--project", "widget=team-widget"],
            "Project `team-widget` not found. Pass `--create` to create it.",
        ),
        (&["--local", "--all"], "There is no server to push to"),
    ] {
        let output = push(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(sentence), "{output:?}");
    }
    let mapped = ["--project", "widget=team-widget", "--create", "--json"];
    let dry = report(push(&mapped).arg("--dry-run").output().unwrap());
    assert_eq!((&dry["projects"][0]["missing"], &dry["projects"][0]["sent"]), (&json!(5), &json!(0)));
    let first = pushed(push(&mapped).output().unwrap());
    assert_eq!(first, BTreeMap::from([("team-widget".to_owned(), (5, 5))]));
    let again = pushed(push(&["--all", "--json"]).output().unwrap());
    assert_eq!(again, BTreeMap::from([("other".to_owned(), (1, 1)), ("widget".to_owned(), (5, 5))]));
    let again = printed(push(&mapped[..2]).output().unwrap());
    assert!(again.starts_with("widget: 0 of 5 reports sent"), "{again}");

    let local = machine.serve();
    let here = contents(&mut Client::connect(&local), "widget");
    assert_eq!(here.len(), 5);
    let mut there = Client::connect_as(&server, &client.token);
    for project in ["team-widget", "widget"] {
        assert_eq!(contents(&mut there, project), here, "{project}");
    }
    let (_, project) = there.get("/v0/projects/team-widget").unwrap();
    assert_eq!(project["name"], "widget");
}

#[test]
fn dismissed_alerts_and_archived_resources_are_pushed() {
    let machine = Machine::new();
    let run = |branch: &str, value: f64| {
        let line = format!(r#"echo '{{"sort": {{"latency": {{"value": {value}}}}}}}'"#);
        let run = ["run", "--quiet", "--json", "--project", "widget", "--create", "--branch", branch];
        let watch = ["--threshold-measure", "latency", "--threshold-test", "percentage"];
        let boundary = ["--threshold-upper-boundary", "0.1", &line];
        report(machine.command(&run).args(watch).args(boundary).output().unwrap());
    };
    for (branch, value) in [("main", 1.0), ("main", 5.0), ("main", 50.0), ("old", 1.0)] {
        run(branch, value);
    }
    let type_in = |words: &[&str]| printed(machine.command(words).output().unwrap());
    let alerts: Value =
        serde_json::from_str(&type_in(&["alert", "list", "widget", "--direction", "asc", "--json"])).unwrap();
    assert_eq!(alerts.as_array().unwrap().len(), 2, "{alerts}");
    let uuid = alerts[0]["uuid"].as_str().unwrap();
    type_in(&["alert", "update", "widget", uuid, "--status", "dismissed"]);
    type_in(&["archive", "--project", "widget", "--branch", "old"]);

    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let mut client = Client::connect(&server);
    client.sign_up("Ada", folder.path());
    server.drain();
    let host = format!("http://{}", server.address);
    let mut push = machine.command(&["push", "--host", &host, "--project", "widget"]);
    printed(push.env("TIDEMARK_API_TOKEN", &client.token).output().unwrap());
    let (_, there) = client.get("/v0/projects/widget/alerts?direction=asc&sort=created").unwrap();
    let contents = |alerts: &Value| -> Vec<(f64, String)> {
        let alerts = alerts.as_array().unwrap().iter();
        let one = |alert: &Value| {
            (alert["metric"]["value"].as_f64().unwrap(), alert["status"].as_str().unwrap().to_owned())
        };
        let mut contents: Vec<_> = alerts.map(one).collect();
        contents.sort_by(|left, right| left.0.total_cmp(&right.0));
        contents
    };
    let value = alerts[0]["metric"]["value"].as_f64().unwrap();
    let expected =
        [5.0, 50.0].map(|other| (other, if other == value { "dismissed" } else { "active" }.to_owned()));
    assert_eq!(contents(&there), expected);
    let (_, archived) = client.get("/v0/projects/widget/branches?archived=true").unwrap();
    assert_eq!(archived[0]["name"], "old", "{archived}");
}
