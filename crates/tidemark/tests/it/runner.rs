//! Jobs from end to end: created by the command, run by a runner that the test controls, reported by the server.

use std::{
    net::TcpStream,
    thread::{self, JoinHandle},
};

use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client, client::IntoClientRequest};

use crate::{
    client::Client,
    code_host::CodeHost,
    desk::Desk,
    process::Server,
    registry::{self, CONFIG, IMAGE},
    run::{Lab, text},
};

/// A runner that the test controls.
struct Runner {
    socket: WebSocket<TcpStream>,
    next: u64,
}

impl Runner {
    fn connect(server: &Server, key: &str) -> Self {
        let address = format!("ws://{}/v0/runners/box/channel", server.address);
        let mut request = address.into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {key}").parse().unwrap());
        let (socket, _) = client(request, server.connect()).unwrap();
        Self { socket, next: 0 }
    }

    /// Sends a message and returns the response.
    fn say(&mut self, mut message: Value) -> Value {
        self.next += 1;
        message["id"] = json!(self.next);
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            if let Message::Text(text) = self.socket.read().unwrap() {
                let answer: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(answer["id"], message["id"], "{answer}");
                return answer;
            }
        }
    }

    /// Takes the next job and ends it with this message and its UUID.
    fn work(&mut self, mut end: Value) {
        let order = self.say(json!({ "event": "ready", "poll_timeout": 600 }));
        assert_eq!(order["event"], "job", "{order}");
        assert_eq!(self.say(json!({ "event": "running" }))["event"], "ack");
        end["job"] = order["uuid"].clone();
        let answer = self.say(end);
        assert_eq!((&answer["event"], answer.get("refused")), (&json!("ack"), None), "{answer}");
    }

    /// Takes jobs in another thread, and ends them with these messages.
    fn work_aside(mut self, ends: Vec<Value>) -> JoinHandle<Self> {
        thread::spawn(move || {
            for end in ends {
                self.work(end);
            }
            self
        })
    }
}

fn completed(value: f64) -> Value {
    let printed = json!({ "sort": { "latency": { "value": value } } }).to_string();
    json!({ "event": "completed", "results": [{ "exit_code": 0, "stdout": printed }] })
}

/// Pushes an image to the registry, as `lab:v1`.
fn push_image(server: &Server, token: &str) {
    let (status, key) =
        Client::connect_as(server, token).post("/v0/users/ada/keys", &json!({ "name": "push" })).unwrap();
    assert_eq!(status, 201, "{key}");
    let send = |method: &str, path: &str, token: &str, body: &[u8]| {
        let (status, body) = registry::send(&server.address, method, path, token, body).unwrap();
        assert!((200..300).contains(&status), "{path}: {status} {}", String::from_utf8_lossy(&body));
        body
    };
    let form = format!(
        "grant_type=password&username=ada%40example.org&password={}&scope=repository:lab:pull,push",
        key["key"].as_str().unwrap()
    );
    let token = send("POST", "/v0/auth/oci/token", "", form.as_bytes());
    let token: Value = serde_json::from_slice(&token).unwrap();
    let token = token["token"].as_str().unwrap();
    let config = registry::digest(b"{}");
    send("POST", &format!("/v2/lab/blobs/uploads/?digest={config}"), token, b"{}");
    let manifest = json!({ "schemaVersion": 2, "mediaType": IMAGE, "layers": [],
        "config": { "mediaType": CONFIG, "digest": config, "size": 2 } });
    send("PUT", "/v2/lab/manifests/v1", token, manifest.to_string().as_bytes());
}

/// Creates an image, a spec for jobs, and a runner with its key.
fn enlist(server: &Server, token: &str) -> Runner {
    push_image(server, token);
    let mut client = Client::connect_as(server, token);
    let mut make = |path: &str, body: Value| {
        let (status, answer) = client.post(path, &body).unwrap();
        assert_eq!(status, 201, "{answer}");
        answer
    };
    make(
        "/v0/specs",
        json!({ "name": "Metal", "os": "linux", "architecture": "x86_64", "cpu": 2, "memory": 1_073_741_824_u64,
        "disk": 1_073_741_824_u64, "network": false, "fallback": true }),
    );
    let key = make("/v0/runners", json!({ "name": "box" }));
    make("/v0/runners/box/specs", json!({ "spec": "metal" }));
    Runner::connect(server, key["key"].as_str().unwrap())
}

#[test]
fn a_job_is_run_and_judged() {
    let lab = Lab::open();
    let runner = enlist(&lab.server, &lab.token);
    let run = |arguments: &[&str]| {
        let mut command = lab.command(&["--image", "lab:v1", "--branch", "main", "--job-poll-interval", "1"]);
        command.args(arguments).output().unwrap()
    };
    let failed = json!({ "event": "failed", "error": "The benchmark ended with 3.",
        "results": [{ "exit_code": 3, "stdout": "halfway\n", "stderr": "boom\n" }] });
    let working = runner.work_aside(vec![completed(1_000.0), completed(2_000.0), failed]);
    let watch = [
        "--threshold-measure",
        "latency",
        "--threshold-test",
        "percentage",
        "--threshold-upper-boundary",
        "0.1",
    ];
    let first = run(&[&watch[..], &["--", "bench"]].concat());
    assert!(first.status.success(), "{first:?}");
    assert!(text(&first.stdout).contains("sort"), "{first:?}");
    let said = text(&first.stderr);
    assert!(said.starts_with("The job is ") && said.ends_with("The job is processed.\n"), "{said}");

    let second = run(&["--err", "--quiet"]);
    assert_eq!(second.status.code(), Some(3), "{second:?}");
    assert!(text(&second.stdout).contains("1 value outside the configured threshold"), "{second:?}");
    assert_eq!(text(&second.stderr), "error: There is 1 alert.\n");

    let third = run(&["--quiet"]);
    assert_eq!(third.status.code(), Some(4), "{third:?}");
    let said = text(&third.stderr);
    assert!(said.starts_with("halfway\nboom\nerror: The job ") && said.contains("ended with 3"), "{said}");
    working.join().unwrap();
}

#[test]
fn the_server_reports_a_detached_job() {
    let host = CodeHost::open();
    let lab = Lab::open_with(&[("TIDEMARK_PLUS__RUNNERS__PRIVATE_CALLBACKS", "true")]);
    let mut runner = enlist(&lab.server, &lab.token);
    let mut command = lab.command(&["--image", "lab:v1", "--branch", "main", "--detach"]);
    command.args(["--callback-url", &format!("{}/hook", host.address), "--callback-token", "s3cret"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).starts_with("The job "), "{output:?}");
    runner.work(completed(1_000.0));
    let requests = host.wait_for(1);
    assert_eq!(requests[0].0, "POST /hook as Bearer s3cret");
    assert_eq!(
        (&requests[0].1["job"]["status"], &requests[0].1["report"]["project"]["slug"]),
        (&json!("processed"), &json!("lab"))
    );
}

#[test]
fn specs_are_found_by_slug_and_name() {
    let mut desk = Desk::with_project();
    let machine = "--os linux --architecture x86_64 --cpu 2 --memory 1073741824 --disk 1073741824";
    let spec = desk.json(&format!("spec create --name 'Metal box' {machine}"))["uuid"].clone();
    std::fs::write(desk.folder.path().join("results.json"), r#"{"parse": {"latency": {"value": 100}}}"#)
        .unwrap();
    desk.run("testbed create lab --name ci --spec metal-box");
    desk.run("run --project lab --branch main --testbed ci --adapter json --file results.json --quiet");
    let perf = "perf lab --branches main --testbeds ci --benchmarks parse --measures latency --specs";
    let names = ["metal-box", "'Metal box'", spec.as_str().unwrap()];
    for line in ["", "testbed update lab ci --spec _"] {
        if !line.is_empty() {
            desk.run(line);
        }
        for name in names {
            let found = desk.json(&format!("testbed view lab ci --spec {name}"));
            assert_eq!(found["spec"]["uuid"], spec, "{name}");
            desk.json(&format!("{perf} {name}"));
        }
    }
    let refused = desk.try_out(&format!("{perf} wood"));
    assert_eq!(refused.status.code(), Some(7), "{refused:?}");
    let refused = desk.try_out(&format!("{perf} metal-box,metal-box"));
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn specs_runners_and_jobs() {
    let mut desk = Desk::with_project();
    push_image(&desk.server, &desk.token);
    let machine = "--os linux --architecture x86_64 --cpu 2 --memory 1073741824 --disk 1073741824";
    desk.run(&format!("spec create --name Metal {machine} --fallback"));
    desk.run(&format!("spec add --name Other {machine} --network --json"));
    desk.run("spec list");
    desk.run("spec update other --name 'Other one' --slug another");
    desk.try_out("spec update another");
    desk.run("spec view another");
    desk.run("spec rm another");
    desk.try_out("spec create --name X --os plan9 --architecture x86_64 --cpu 1 --memory 1 --disk 1");

    let key = desk.json("runner create --name box");
    desk.run("runner specs box --add metal");
    desk.run("runner list");
    desk.run("runner update box --name 'Black box' --slug black");
    desk.run("runner key black");
    desk.run("runner edit black --archive");
    desk.run("runner ls --archived --json");
    desk.run("runner edit black --unarchive");
    desk.run("runner get black");
    desk.run("runner specs black --remove metal");
    desk.try_out("runner view white");
    assert_eq!(key["key"].as_str().unwrap().len(), 45);

    let uuid = desk.quietly("run --project lab --image lab:v1 --branch main --detach", "/job");
    desk.run("job list lab");
    desk.run(&format!("job view lab {uuid}"));
    desk.run(&format!("job cancel lab {uuid}"));
    desk.try_out(&format!("job watch lab {uuid}"));
    desk.try_out(&format!("job cancel lab {uuid}"));
    desk.run("job ls lab --status pending");
    desk.try_out("job view lab 00000000-0000-4000-8000-000000000000");
    assert_snapshot!(desk.conversation());
}
