//! `tidemark demo`: one year of history in a data folder, on which a server then runs.

use std::{
    io::{Read, Write},
    process::Output,
};

use crate::process::{Server, tidemark};

fn demo(data: &std::path::Path) -> Output {
    tidemark(&["demo", "--data-dir"]).arg(data).output().unwrap()
}

/// Returns the total of a list of the demo project, without a credential.
fn total(server: &Server, path: &str) -> usize {
    let mut stream = server.connect();
    write!(stream, "GET /v0/projects/demo/{path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let header = answer.lines().find_map(|line| line.strip_prefix("x-total-count: ")).unwrap();
    header.trim().parse().unwrap()
}

#[test]
fn a_demo_project_is_created_once_and_can_be_viewed() {
    let folder = tempfile::tempdir().unwrap();
    let output = demo(folder.path());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("530 reports of Tidepool are in the project demo "), "{text}");
    assert!(text.contains("/perf/demo/plots\n"), "{text}");
    // It says which user can sign in, and how.
    assert!(
        text.contains("/auth/signup with any address: the first account becomes the administrator."),
        "{text}"
    );
    let outbox = folder.path().join("outbox");
    assert!(text.contains(&format!("writes it to {}.", outbox.display())), "{text}");

    let again = demo(folder.path());
    assert_eq!(again.status.code(), Some(1));
    let sentence = "error: There is a project demo already; choose another slug with --project.\n";
    assert_eq!(String::from_utf8_lossy(&again.stderr), sentence);

    let server = Server::start(folder.path());
    assert_eq!(total(&server, "reports?per_page=0"), 530);
    assert_eq!(total(&server, "benchmarks?per_page=0"), 56);
    assert_eq!(total(&server, "branches?per_page=0"), 5);
    assert_eq!(total(&server, "plots?per_page=0"), 5);
    let active = total(&server, "alerts?status=active&per_page=0");
    let dismissed = total(&server, "alerts?status=dismissed&per_page=0");
    assert!((5..60).contains(&active), "{active}");
    assert!((50..400).contains(&dismissed), "{dismissed}");
    // Events older than 30 days are reviewed; only the recent regressions need attention.
    let events = |query: &str| total(&server, &format!("events?{query}&per_page=0"));
    let open = events("status=open");
    assert!((3..=8).contains(&open), "{open}");
    assert!(events("status=expected") >= 8, "{}", events("status=expected"));
    assert!(events("status=fixed") >= 2, "{}", events("status=fixed"));
    assert_eq!(events("status=dismissed"), 0);

    let running = demo(folder.path());
    assert!(String::from_utf8_lossy(&running.stderr).contains("Another tidemark is running"), "{running:?}");
}
