//! Tests of the client with misbehaving servers: silent, slow, busy, redirecting. The tests of the command line use a
//! real server.
#![expect(clippy::unwrap_used, reason = "a test that cannot continue panics")]

use std::{
    cell::RefCell,
    io::{Read, Write},
    net::TcpListener,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use tidemark_api::{Direction, NewRun, Timestamp};
use tidemark_client::{
    Authentication, Client, ClientSettings, ConnectionProblem, Credential, Error, RetryPolicy, run, server,
};
use tidemark_test_support::Stub;
use ureq::http::Response;

/// Time limit of requests that get a response. It ends a test that hangs; the result of a test must not depend on the
/// speed of the machine.
const TIMEOUT: Duration = Duration::from_secs(600);
const VERSION: &str = r#"{"version": "0.6.13"}"#;

/// Starts a server that sends these responses, one per request.
fn serve(answers: Vec<Response<String>>) -> Stub {
    let mut answers = answers.into_iter();
    Stub::start(move |_| answers.next().expect("there is no request after the last response"))
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Response<String> {
    let builder = Response::builder().status(status);
    let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
    builder.body(body.to_owned()).unwrap()
}

fn error_body(message: &str) -> String {
    format!(r#"{{"request_id": "00000000-0000-4000-8000-000000000001", "message": "{message}"}}"#)
}

fn settings(host: &str) -> ClientSettings {
    ClientSettings {
        host: host.parse().unwrap(),
        credential: Credential::new("svc_user_secret"),
        retry_policy: RetryPolicy {
            timeout: TIMEOUT,
            attempts: 3,
            min_delay: Duration::from_millis(1),
            max_delay: Duration::from_secs(1),
        },
        insecure: false,
    }
}

/// Returns settings with other limits.
fn with(host: &str, limits: impl Fn(&mut RetryPolicy)) -> ClientSettings {
    let mut settings = settings(host);
    limits(&mut settings.retry_policy);
    settings
}

/// Retries that a client reported: number and reason of each attempt.
type Retries = Rc<RefCell<Vec<(u32, String)>>>;

/// Creates a client that records its retries.
fn client(settings: ClientSettings) -> (Client, Retries) {
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
fn a_request_to_a_busy_server_is_retried_with_the_same_run() {
    let stub = serve(vec![
        answer(503, &[("retry-after", "0")], &error_body("Busy.")),
        answer(429, &[("retry-after", "1")], &error_body("Slowly.")),
        answer(400, &[], &error_body("No such branch.")),
    ]);
    let (client, retries) = client(settings(&stub.address));
    let started = Instant::now();
    let error = run::create(&client, new_run("{}")).unwrap_err();
    assert!(started.elapsed() >= Duration::from_secs(1), "the client did not wait for the requested delay");
    assert_eq!(
        error.to_string(),
        "the server refused (400): No such branch. (request 00000000-0000-4000-8000-000000000001)"
    );
    assert_eq!(
        *retries.borrow(),
        [
            (2, "it responded with status 503: Busy.".to_owned()),
            (3, "it responded with status 429: Slowly.".to_owned())
        ]
    );
    let requests = stub.take_requests();
    let key = |index: usize| requests[index].json()["idempotency_key"].as_str().unwrap().to_owned();
    assert_eq!(key(0), key(2));
    assert_eq!(requests[0].line(), "POST /v0/run");
    assert_eq!(requests[0].headers["authorization"], "Bearer svc_user_secret");
}

#[test]
fn the_host_can_have_a_path() {
    let stub = serve(vec![answer(200, &[], VERSION)]);
    let (client, retries) = client(settings(&format!("{}/bench/", stub.address)));
    assert_eq!(server::version(&client).unwrap().version, "0.6.13");
    assert!(retries.borrow().is_empty());
    assert_eq!(stub.take_requests()[0].line(), "GET /bench/v0/server/version");
}

#[test]
fn a_requested_delay_above_the_maximum_is_an_error() {
    for (status, reachable) in [(429, true), (503, false)] {
        let stub = serve(vec![answer(status, &[("retry-after", "3600")], &error_body("Later."))]);
        let (client, retries) = client(settings(&stub.address));
        let error = server::version(&client).unwrap_err();
        assert_eq!(matches!(error, Error::Refused { status: 429, .. }), reachable, "{error}");
        assert_eq!(matches!(error, Error::Unreachable { attempts: 1, .. }), !reachable, "{error}");
        assert!(retries.borrow().is_empty());
    }
}

#[test]
fn the_timeout_applies_to_the_whole_request() {
    // A socket, because a `Stub` sends its response at once.
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
    let (client, _) = client(with(&host, |policy| {
        policy.timeout = Duration::from_secs(1);
        policy.attempts = 1;
    }));
    let error = server::version(&client).unwrap_err();
    assert!(error.to_string().ends_with("no complete response within 1 s"), "{error}");
}

#[test]
fn a_refused_connection_is_retried() {
    // A reserved port: no process listens on it.
    let free = "127.0.0.1:1";
    let (client, retries) = client(settings(&format!("http://{free}")));
    let error = server::version(&client).unwrap_err();
    let expected = format!("the server http://{free} cannot be reached, tried 3 times: connection refused");
    assert_eq!(error.to_string(), expected);
    assert_eq!(retries.borrow().len(), 2);
}

#[test]
fn a_closed_connection_may_mean_a_request_that_is_too_large() {
    // A socket, because a `Stub` reads the whole request.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let mut start = [0; 100];
        listener.accept().unwrap().0.read_exact(&mut start).unwrap();
    });
    let (client, _) = client(with(&host, |policy| policy.attempts = 1));
    let error = run::create(&client, new_run(&"x".repeat(32 << 20))).unwrap_err();
    assert!(error.to_string().contains("the connection was closed"), "{error}");
    server.join().unwrap();
}

#[test]
fn a_credential_is_not_sent_to_the_target_of_a_redirect() {
    let stub = serve(vec![answer(308, &[("location", "http://127.0.0.2:1/")], "")]);
    let (client, _) = client(settings(&stub.address));
    let error = server::version(&client).unwrap_err();
    assert!(error.to_string().contains("redirects to http://127.0.0.2:1/"), "{error}");
}

#[test]
fn a_response_of_another_server_is_an_error() {
    let stub = serve(vec![answer(200, &[], "<html>")]);
    let (client, _) = client(settings(&stub.address));
    assert!(matches!(server::version(&client), Err(Error::InvalidResponse { .. })));
    let stub = serve(vec![answer(404, &[], "<html>")]);
    let (client, _) = self::client(settings(&stub.address));
    assert!(matches!(server::version(&client), Err(Error::Refused { status: 404, .. })));
}

#[test]
fn debug_masks_a_credential() {
    assert_eq!(format!("{:?}", Credential::new("svc_user_secret").unwrap()), tidemark_api::name::MASK);
    for text in ["", "a b", "a\r\nx: y", "é"] {
        assert!(Credential::new(text).is_none(), "{text:?}");
    }
}

#[test]
fn a_requested_delay_can_be_a_date() {
    let busy = |date: &str| {
        let headers = [("date", "Sat, 31 Jan 2026 12:00:00 GMT"), ("retry-after", date)];
        answer(503, &headers, &error_body("Busy."))
    };
    let stub = serve(vec![
        busy("Sat, 31 Jan 2026 12:00:01 GMT"),
        // A time in the past means no delay.
        busy("Sat, 31 Jan 2026 11:00:00 GMT"),
        busy("Sat, 31 Jan 2026 13:00:00 GMT"),
    ]);
    let (client, retries) = client(with(&stub.address, |policy| policy.attempts = 9));
    let started = Instant::now();
    let error = server::version(&client).unwrap_err();
    assert!(started.elapsed() >= Duration::from_secs(1), "the client did not wait for the requested delay");
    assert_eq!(retries.borrow().len(), 2);
    assert!(error.to_string().contains("It requests a delay of 3600 s."), "{error}");
}

#[test]
fn a_request_that_is_not_idempotent_is_retried_only_if_it_was_not_processed() {
    let new = tidemark_api::NewOrganization { name: "Acme".parse().unwrap(), slug: None };
    let request = tidemark_client::organizations().create(&new);
    let stub =
        serve(vec![answer(503, &[("retry-after", "0")], &error_body("Busy.")), answer(502, &[], "<html>")]);
    let (client, retries) = client(settings(&stub.address));
    assert!(matches!(client.send(&request), Err(Error::Unreachable { attempts: 2, .. })));
    assert_eq!(retries.borrow().len(), 1);
    let requests = stub.take_requests();
    assert_eq!(requests[1].line(), "POST /v0/organizations");
    assert_eq!(requests[1].text, r#"{"name":"Acme"}"#);
}

#[test]
fn all_pages_of_a_list_are_read() {
    let page = |count: usize| {
        let item = r#"{"uuid": "00000000-0000-4000-8000-000000000001", "name": "Acme", "slug": "acme", "license": null,
            "created": "2026-01-31T12:00:00Z", "modified": "2026-01-31T12:00:00Z", "claimed": null}"#;
        answer(200, &[], &format!("[{}]", vec![item; count].join(",")))
    };
    let stub = serve(vec![page(255), page(3)]);
    let (client, _) = client(settings(&stub.address));
    let list = tidemark_client::organizations().list(&tidemark_api::OrganizationFilter::default());
    let mut counts = Vec::new();
    let read = client.pages(&list, Some(Direction::Asc), |_, items| {
        counts.push(items.len());
        Ok(())
    });
    assert_eq!((read, counts), (Ok(()), vec![255, 3]));
    let line = "GET /v0/organizations?page=2&per_page=255&direction=asc";
    assert_eq!(stub.take_requests()[1].line(), line);
}

#[test]
fn a_refusal_has_the_host_and_the_kind_of_authentication() {
    let refused = |request: &dyn Fn(&Client) -> Result<(), Error>, credential: Option<&str>| {
        let stub = serve(vec![answer(401, &[], &error_body("No."))]);
        let credential = credential.and_then(Credential::new);
        let (client, _) = client(ClientSettings { credential, ..settings(&stub.address) });
        let Err(Error::Refused { host, authentication, .. }) = request(&client) else { panic!("no refusal") };
        assert_eq!(host.as_deref(), Some(stub.address.as_str()));
        authentication
    };
    let ask = |client: &Client| client.send(&tidemark_client::caller()).map(drop);
    assert_eq!(refused(&ask, None), Authentication::Anonymous);
    assert_eq!(refused(&ask, Some("svc_user_x")), Authentication::Credential);
    let confirm = |client: &Client| {
        let token = tidemark_api::Confirm { token: "aa.bb.cc".parse().unwrap() };
        client.send(&tidemark_client::confirm(&token)).map(drop)
    };
    assert_eq!(refused(&confirm, Some("svc_user_x")), Authentication::NotApplicable);
}

#[test]
fn an_unknown_host_name_is_named() {
    let (client, _) = client(with("http://tidemark.invalid", |policy| policy.attempts = 1));
    let error = server::version(&client).unwrap_err();
    assert!(
        matches!(error, Error::Unreachable { problem: Some(ConnectionProblem::UnknownHost), .. }),
        "{error:?}"
    );
}
