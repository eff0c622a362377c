//! `tidemark export`, `tidemark perf --image` and `tidemark open`, and names with commas.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Output,
    thread,
};

use crate::{desk::Desk, local::Machine, process::wait_until};

/// Records a run of three benchmarks, of which two have a comma in their name.
fn desk() -> Desk {
    let mut desk = Desk::with_project();
    let results =
        ["sort,fast", "sort", "sort,slow"].map(|name| format!(r#""{name}":{{"latency":{{"value":1.5}}}}"#));
    fs::write(desk.folder.path().join("results.json"), format!("{{{}}}", results.join(","))).unwrap();
    desk.run("run --quiet --project lab --branch main --testbed here --file results.json");
    desk
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_export_is_written_to_a_file_or_to_standard_output() {
    let mut desk = desk();
    let printed = desk.run("export lab");
    assert!(printed.starts_with("report,metric,"), "{printed}");
    assert_eq!(printed.lines().count(), 4, "{printed}");
    let folder = desk.folder.path().join("out");
    fs::create_dir(&folder).unwrap();
    assert_eq!(desk.run("export lab --out out/lab.csv"), "");
    assert_eq!(fs::read_to_string(folder.join("lab.csv")).unwrap(), printed);
    desk.run("export lab --out out/lab.ndjson --benchmark 'sort,fast' --benchmark sort --measure latency");
    let rows = fs::read_to_string(folder.join("lab.ndjson")).unwrap();
    let exported: Vec<serde_json::Value> =
        rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let mut exported: Vec<_> = exported.iter().map(|row| row["benchmark"].as_str().unwrap()).collect();
    exported.sort_unstable();
    assert_eq!(exported, ["sort", "sort,fast"]);
    desk.run("export lab -o out/lab.parquet --branch main --testbed here");
    assert!(fs::read(folder.join("lab.parquet")).unwrap().starts_with(b"PAR1"));
    assert!(desk.run("export lab --format ndjson").starts_with('{'));
    // Nothing else is left, and the permissions are those of other files.
    assert_eq!(names(&folder), ["lab.csv", "lab.ndjson", "lab.parquet"]);
    fs::write(folder.join("other"), "").unwrap();
    let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().permissions().mode();
    assert_eq!(mode("lab.csv"), mode("other"));

    let missing = desk.try_out("export lab --out out/none.csv --benchmark none");
    assert_eq!(missing.status.code(), Some(7), "{missing:?}");
    let missing = desk.try_out("export lab --out nowhere/lab.csv");
    assert_eq!(missing.status.code(), Some(10), "{missing:?}");
    assert_eq!(names(&folder).len(), 4);
}

/// A server that closes the connection in the middle of an export.
#[test]
fn an_incomplete_export_leaves_no_file() {
    let desk = Desk::open();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/csv\r\ntransfer-encoding: chunked\r\n\r\n";
            let _ = connection.write_all(format!("{head}6\r\nreport\r\n").as_bytes());
        }
    });
    let folder = desk.folder.path().join("out");
    fs::create_dir(&folder).unwrap();
    let export =
        || desk.command("export lab --out out/lab.csv").env("TIDEMARK_HOST", &host).output().unwrap();
    let output = export();
    assert_eq!(output.status.code(), Some(8), "{output:?}");
    assert!(said(&output).contains("out/lab.csv was not written"), "{output:?}");
    assert_eq!(names(&folder), Vec::<String>::new());
    fs::write(folder.join("lab.csv"), "complete").unwrap();
    assert_eq!(export().status.code(), Some(8));
    assert_eq!(fs::read_to_string(folder.join("lab.csv")).unwrap(), "complete");
    assert_eq!(names(&folder), ["lab.csv"]);
    let output = desk.command("export lab").env("TIDEMARK_HOST", &host).output().unwrap();
    assert_eq!(output.status.code(), Some(8), "{output:?}");
    assert!(said(&output).contains("the output is incomplete"), "{output:?}");
}

#[test]
fn an_image_has_the_format_of_its_extension() {
    let mut desk = desk();
    let series = "perf lab --branches main --testbeds here --measures latency --benchmarks";
    for (name, start) in [("a.png", &b"\x89PNG"[..]), ("a.svg", b"<svg"), ("a.jpg", b"\xff\xd8")] {
        desk.run(&format!("{series} sort --image {name} --title Sorting"));
        let image = fs::read(desk.folder.path().join(name)).unwrap();
        assert!(image.starts_with(start), "{name}: {:?}", String::from_utf8_lossy(&image[..40]));
    }
    let svg = fs::read_to_string(desk.folder.path().join("a.svg")).unwrap();
    assert!(svg.contains("Sorting"), "{svg}");
    let output = desk.try_out(&format!("{series} sort --image a.gif"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(said(&output).contains("use .png, .svg or .jpg"), "{output:?}");
}

/// A list is split at its commas only if no resource has the whole text as its name.
#[test]
fn names_with_commas_are_not_split() {
    let mut desk = desk();
    let mut benchmarks = |flags: &str| {
        let perf = desk.json(&format!("perf lab --branches main --testbeds here --measures latency {flags}"));
        let of = |series: &serde_json::Value| series["benchmark"]["name"].as_str().unwrap().to_owned();
        let mut names: Vec<_> = perf["results"].as_array().unwrap().iter().map(of).collect();
        names.sort();
        names
    };
    assert_eq!(benchmarks("--benchmarks sort,fast"), ["sort,fast"]);
    assert_eq!(benchmarks("--benchmarks sort,fast --benchmarks sort"), ["sort", "sort,fast"]);
    // The slugs have no commas.
    assert_eq!(benchmarks("--benchmarks sort,sort-slow"), ["sort", "sort,slow"]);
    let output =
        desk.try_out("perf lab --branches main --testbeds here --measures latency --benchmarks sort,none");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(said(&output).contains("There is no benchmark `none`"), "{output:?}");
    let output =
        desk.try_out("perf lab --branches main --testbeds here --measures latency --benchmarks sort,");
    assert_eq!(output.status.code(), Some(2), "{output:?}");

    let plot =
        "plot create lab --x-axis date_time --window 60 --branches main --testbeds here --measures latency";
    let plot = desk.json(&format!("{plot} --benchmarks sort,slow"));
    assert_eq!(plot["benchmarks"].as_array().unwrap().len(), 1, "{plot}");
    let uuid = plot["uuid"].as_str().unwrap();
    let plot = desk.json(&format!("plot update lab {uuid} --benchmarks sort,slow --benchmarks sort,fast"));
    assert_eq!(plot["benchmarks"].as_array().unwrap().len(), 2, "{plot}");
    let changes = desk.json("change list lab --benchmark sort,fast");
    assert_eq!(changes.as_array().unwrap().len(), 0, "{changes}");
}

#[test]
fn the_page_of_the_last_run_is_opened() {
    let mut desk = Desk::with_project();
    let open = desk.try_out("open --print");
    assert_eq!(open.status.code(), Some(1), "{open:?}");
    assert!(said(&open).contains("There is no run of this folder"), "{open:?}");

    fs::write(desk.folder.path().join("results.json"), r#"{"sort":{"latency":{"value":1.5}}}"#).unwrap();
    let run = "run --quiet --project lab --branch main --testbed here --file results.json";
    let report = desk.json(run)["uuid"].as_str().unwrap().to_owned();
    let url = desk.run("open --print");
    assert!(url.starts_with("http") && url.ends_with(&format!("/perf/lab/reports/{report}\n")), "{url}");
    assert_eq!(desk.run("open --print --project lab"), url);
    assert_eq!(desk.try_out("open --print --project other").status.code(), Some(1));

    let script = desk.folder.path().join("browser");
    fs::write(&script, "#!/bin/sh\necho \"$1\" > opened.new; mv opened.new opened\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let output = desk.command("open").env("BROWSER", &script).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), url);
    let opened = desk.folder.path().join("opened");
    wait_until("the browser was not started", || opened.exists());
    assert_eq!(fs::read_to_string(opened).unwrap(), url);

    let output = desk.command("open").env("BROWSER", "/nowhere/browser").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(said(&output).contains("open the URL above"), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), url);
}

#[test]
fn a_run_on_this_machine_needs_a_server_for_its_page() {
    let machine = Machine::new();
    let line = "echo 'test sort ... bench: 1000 ns/iter (+/- 3)'";
    let run = machine.command(&["run", "--quiet", line]).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    // No server listens on the port 1.
    let open = |arguments: &[&str]| {
        let mut command = machine.command(&["open"]);
        command.args(arguments).env("TIDEMARK_CONSOLE__URL", "http://127.0.0.1:1").output().unwrap()
    };
    let output = open(&[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(said(&output).contains("start `tidemark serve`, then run `tidemark open` again"), "{output:?}");
    let output = open(&["--print"]);
    assert!(output.status.success(), "{output:?}");
    assert!(said(&output).contains("start `tidemark serve`"), "{output:?}");
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.starts_with("http://127.0.0.1:1/perf/widget-"), "{page}");

    let server = machine.serve();
    let output = machine
        .command(&["open"])
        .env("TIDEMARK_CONSOLE__URL", format!("http://{}", server.address))
        .env("BROWSER", "true")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(said(&output), "");
}
