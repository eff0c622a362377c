//! Tests of the client with misbehaving servers: silent, slow, busy, redirecting. The tests of the command line use a
//! real server.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::{
    cell::RefCell,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    rc::Rc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tidemark_api::{Direction, NewRun, Timestamp};
use tidemark_client::{Client, Credential, Error, RetryPolicy, Settings, run, server};

/// Time limit of requests that get a response. It ends a test that hangs; the result of a test must not depend on the
/// speed of the machine.
const PATIENCE: Duration = Duration::from_secs(600);
const VERSION: &str = r#"{"version": "0.6.13"}"#;

/// A server that sends the given responses, one per connection, and records the requests.
struct Stub {
    host: String,
    thread: JoinHandle<Vec<String>>,
}

impl Stub {
    fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = format!("http://{}", listener.local_addr().unwrap());
        let thread = thread::spawn(move || {
            answers.iter().map(|answer| converse(listener.accept().unwrap().0, answer)).collect()
        });
        Self { host, thread }
    }

    fn requests(self) -> Vec<String> {
        self.thread.join().unwrap()
    }
}

/// Reads a request and sends the response.
fn converse(stream: TcpStream, answer: &str) -> String {
    let mut reader = BufReader::new(stream);
    let (mut request, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        request.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request.push_str(str::from_utf8(&body).unwrap());
    reader.get_mut().write_all(answer.as_bytes()).unwrap();
    request
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

fn refusal(message: &str) -> String {
    format!(r#"{{"request_id": "00000000-0000-4000-8000-000000000001", "message": "{message}"}}"#)
}

fn settings(host: &str) -> Settings {
    Settings {
        host: host.parse().unwrap(),
        credential: Credential::new("svc_user_secret"),
        patience: RetryPolicy {
            timeout: PATIENCE,
            attempts: 3,
            first_wait: Duration::from_millis(1),
            longest_wait: Duration::from_secs(1),
        },
        insecure: false,
    }
}

/// Settings with other limits.
fn with(host: &str, limits: impl Fn(&mut RetryPolicy)) -> Settings {
    let mut settings = settings(host);
    limits(&mut settings.patience);
    settings
}

/// Retries that a client reported: number and reason of each attempt.
type Retries = Rc<RefCell<Vec<(u32, String)>>>;

/// Creates a client that records its retries.
fn client(settings: Settings) -> (Client, Retries) {
    let retries = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&retries);
    let client = Client::new(settings, move |retry| {
        log.borrow_mut().push((retry.attempt, retry.reason.to_owned()));
    });
    (client, retries)
}

/// Creates a run with this result.
fn new_run(result: &str) -> NewRun {
    NewRun {
        project: None,
        branch: None,
        hash: None,
        start_point: None,
        testbed: None,
        spec_reset: None,
        thresholds: None,
        start_time: Timestamp::from_micros(0),
        end_time: Timestamp::from_micros(0),
        results: vec![result.to_owned()],
        settings: None,
        job: None,
        context: None,
        idempotency_key: None,
    }
}

#[test]
fn a_busy_server_is_asked_again_with_the_same_run() {
    let stub = Stub::start(vec![
        answer("503 Service Unavailable", "retry-after: 0\r\n", &refusal("Busy.")),
        answer("429 Too Many Requests", "retry-after: 1\r\n", &refusal("Slowly.")),
        answer("400 Bad Request", "", &refusal("No such branch.")),
    ]);
    let (client, retries) = client(settings(&stub.host));
    let started = Instant::now();
    let error = run::create(&client, new_run("{}")).unwrap_err();
    assert!(started.elapsed() >= Duration::from_secs(1), "it did not wait as long as it was asked to");
    assert_eq!(
        error.to_string(),
        "the server refused (400): No such branch. (request 00000000-0000-4000-8000-000000000001)"
    );
    assert_eq!(
        *retries.borrow(),
        [(2, "it answers 503: Busy.".to_owned()), (3, "it answers 429: Slowly.".to_owned())]
    );
    let requests = stub.requests();
    let key = |request: &str| {
        let (_, rest) = request.split_once(r#""idempotency_key":""#).unwrap();
        rest[..36].to_owned()
    };
    assert_eq!(key(&requests[0]), key(&requests[2]));
    assert!(requests[0].starts_with("POST /v0/run HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[0].to_lowercase().contains("authorization: bearer svc_user_secret\r\n"));
}

#[test]
fn an_answer_is_read_also_below_a_path() {
    let stub = Stub::start(vec![answer("200 OK", "", VERSION)]);
    let (client, retries) = client(settings(&format!("{}/bench/", stub.host)));
    assert_eq!(server::version(&client).unwrap().version, "0.6.13");
    assert!(retries.borrow().is_empty());
    assert!(stub.requests()[0].starts_with("GET /bench/v0/server/version "));
}

#[test]
fn who_asks_for_a_long_wait_is_left_alone() {
    for (status, reachable) in [("429 Too Many Requests", true), ("503 Service Unavailable", false)] {
        let stub = Stub::start(vec![answer(status, "retry-after: 3600\r\n", &refusal("Later."))]);
        let (client, retries) = client(settings(&stub.host));
        let error = server::version(&client).unwrap_err();
        assert_eq!(matches!(error, Error::Refused { status: 429, .. }), reachable, "{error}");
        assert_eq!(matches!(error, Error::Unreachable { attempts: 1, .. }), !reachable, "{error}");
        assert!(retries.borrow().is_empty());
    }
}

#[test]
fn the_time_limit_is_for_the_whole_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    // Each read is short because a byte arrives every 100 ms; the whole body would take more than a day.
    thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").unwrap();
        while stream.write_all(b" ").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    let (client, _) = client(with(&host, |patience| {
        patience.timeout = Duration::from_secs(1);
        patience.attempts = 1;
    }));
    let error = server::version(&client).unwrap_err();
    assert!(error.to_string().ends_with("no complete answer within 1 s"), "{error}");
}

#[test]
fn nobody_there_is_tried_and_said() {
    // A reserved port: no process listens on it.
    let free = "127.0.0.1:1";
    let (client, retries) = client(settings(&format!("http://{free}")));
    let error = server::version(&client).unwrap_err();
    let expected = format!("the server http://{free} cannot be reached, tried 3 times: connection refused");
    assert_eq!(error.to_string(), expected);
    assert_eq!(retries.borrow().len(), 2);
}

#[test]
fn who_hangs_up_may_have_had_too_much() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let mut start = [0; 100];
        listener.accept().unwrap().0.read_exact(&mut start).unwrap();
    });
    let (client, _) = client(with(&host, |patience| patience.attempts = 1));
    let error = run::create(&client, new_run(&"x".repeat(32 << 20))).unwrap_err();
    assert!(error.to_string().contains("the connection was closed"), "{error}");
    server.join().unwrap();
}

#[test]
fn a_credential_does_not_follow_to_another_host() {
    let stub = Stub::start(vec![answer("308 Permanent Redirect", "location: http://127.0.0.2:1/\r\n", "")]);
    let (client, _) = client(settings(&stub.host));
    let error = server::version(&client).unwrap_err();
    assert!(error.to_string().contains("redirects to http://127.0.0.2:1/"), "{error}");
}

#[test]
fn another_kind_of_server_is_told_from_ours() {
    let stub = Stub::start(vec![answer("200 OK", "", "<html>")]);
    let (client, _) = client(settings(&stub.host));
    assert!(matches!(server::version(&client), Err(Error::InvalidResponse { .. })));
    let stub = Stub::start(vec![answer("404 Not Found", "", "<html>")]);
    let (client, _) = self::client(settings(&stub.host));
    assert!(matches!(server::version(&client), Err(Error::Refused { status: 404, .. })));
}

#[test]
fn a_credential_does_not_show_itself() {
    assert_eq!(format!("{:?}", Credential::new("svc_user_secret").unwrap()), tidemark_api::name::MASK);
    for text in ["", "a b", "a\r\nx: y", "é"] {
        assert!(Credential::new(text).is_none(), "{text:?}");
    }
}

#[test]
fn a_wait_can_be_a_date() {
    let busy = |date: &str| {
        let headers = format!("date: Sat, 31 Jan 2026 12:00:00 GMT\r\nretry-after: {date}\r\n");
        answer("503 Service Unavailable", &headers, &refusal("Busy."))
    };
    let stub = Stub::start(vec![
        busy("Sat, 31 Jan 2026 12:00:01 GMT"),
        // A time in the past means no delay.
        busy("Sat, 31 Jan 2026 11:00:00 GMT"),
        busy("Sat, 31 Jan 2026 13:00:00 GMT"),
    ]);
    let (client, retries) = client(with(&stub.host, |patience| patience.attempts = 9));
    let started = Instant::now();
    let error = server::version(&client).unwrap_err();
    assert!(started.elapsed() >= Duration::from_secs(1), "it did not wait as long as it was asked to");
    assert_eq!(retries.borrow().len(), 2);
    assert!(error.to_string().contains("It requests a delay of 3600 s."), "{error}");
}

#[test]
fn what_must_not_happen_twice_is_sent_again_only_if_it_did_not_arrive() {
    let new = tidemark_api::NewOrganization { name: "Acme".parse().unwrap(), slug: None };
    let request = tidemark_client::organizations().create(&new);
    let stub = Stub::start(vec![
        answer("503 Service Unavailable", "retry-after: 0\r\n", &refusal("Busy.")),
        answer("502 Bad Gateway", "", "<html>"),
    ]);
    let (client, retries) = client(settings(&stub.host));
    assert!(matches!(client.send(&request), Err(Error::Unreachable { attempts: 2, .. })));
    assert_eq!(retries.borrow().len(), 1);
    let requests = stub.requests();
    assert!(requests[1].starts_with("POST /v0/organizations HTTP/1.1\r\n"), "{}", requests[1]);
    assert!(requests[1].ends_with(r#"{"name":"Acme"}"#), "{}", requests[1]);
}

#[test]
fn a_list_is_read_to_its_end() {
    let page = |count: usize| {
        let item = r#"{"uuid": "00000000-0000-4000-8000-000000000001", "name": "Acme", "slug": "acme", "license": null,
            "created": "2026-01-31T12:00:00Z", "modified": "2026-01-31T12:00:00Z", "claimed": null}"#;
        answer("200 OK", "", &format!("[{}]", vec![item; count].join(",")))
    };
    let stub = Stub::start(vec![page(255), page(3)]);
    let (client, _) = client(settings(&stub.host));
    let list = tidemark_client::organizations().list(&tidemark_api::OrganizationFilter::default());
    let mut counts = Vec::new();
    let read = client.pages(&list, Some(Direction::Asc), |_, items| {
        counts.push(items.len());
        Ok(())
    });
    assert_eq!((read, counts), (Ok(()), vec![255, 3]));
    let requests = stub.requests();
    let line = "GET /v0/organizations?page=2&per_page=255&direction=asc HTTP/1.1\r\n";
    assert!(requests[1].starts_with(line), "{}", requests[1]);
}
