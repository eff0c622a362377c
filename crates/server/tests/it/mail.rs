//! Mail from a request to its recipient: over a real connection to a mail server in another process, or as a file.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread,
};

use serde_json::{Value, json};
use tidemark_api::Timestamp;
use tidemark_server::{
    App,
    infra::mail::{self, Message},
};
use tidemark_store::{
    Tx,
    outbox::{self, ClaimOptions},
};

use crate::{Engine, PATIENCE, TestServer, both, until};

/// A mail server in another process, which ends with the test.
struct Sink {
    process: Child,
    port: u16,
    mails: Receiver<Value>,
}

impl Sink {
    fn start(mode: &str, refusals: u32, certificate: &[&Path]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/smtp_sink.py");
        let mut process = Command::new("python3")
            .arg(script)
            .args([mode, &refusals.to_string()])
            .args(certificate)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the test needs python3");
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (sender, mails) = sync_channel(64);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    break;
                }
            }
        });
        let port: Value = mails.recv_timeout(PATIENCE).expect("the sink says its port");
        let port = port.as_u64().and_then(|port| port.try_into().ok()).unwrap();
        Self { process, port, mails }
    }

    /// Starts a server that sends its mail to this mail server.
    async fn server(&self, engine: Engine, settings: &str) -> TestServer {
        let settings = format!(
            "[console]
             url = 'https://bench.example.com'
             [smtp]
             hostname = '127.0.0.1'
             port = {}
             from_name = 'Tidemark, Inc.'
             from_email = 'bench@example.com'
             {settings}",
            self.port
        );
        TestServer::start_with(engine, &settings).await
    }

    fn receive(&self) -> Value {
        self.mails.recv_timeout(PATIENCE).expect("a mail arrives")
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _status = self.process.wait();
    }
}

async fn sign_up(server: &TestServer, email: &str) {
    let signup = json!({ "name": "Ada Lovelace", "email": email, "i_agree": true });
    server.post("/v0/auth/signup", "", signup).await.expect(202);
}

/// Waits until the due time of the next work in the outbox satisfies `wanted`; `None` if the outbox is empty.
async fn wait(server: &TestServer, wanted: impl Fn(Option<Timestamp>) -> bool) {
    until("the outbox did not get there", async || wanted(server.next_due().await).then_some(())).await;
}

/// Waits until the first attempt has failed: the next attempt is due in ten seconds or slightly more.
async fn wait_for_failure(server: &TestServer) {
    let now = server.app.clock.now();
    // While an attempt runs, its claim makes the next attempt due after one minute.
    wait(server, |due| due.is_some_and(|due| due >= now.plus_seconds(10) && due < now.plus_seconds(13)))
        .await;
}

fn pass(server: &TestServer, seconds: i64) {
    server.pass(seconds);
    server.app.background.wake();
}

/// Enqueues mails that never expire, without waking the worker.
async fn enqueue_notices(server: &TestServer, count: usize) {
    let now = server.app.clock.now();
    let enqueue = move |tx: &mut Tx<'_>| {
        for number in 0..count {
            let to = format!("reader{number:02}@example.org").parse().unwrap();
            let (name, email) = ("Ada".parse().unwrap(), "ada@example.org".parse().unwrap());
            mail::enqueue(tx, now, &to, &Message::EmailChanged { name, email })?;
        }
        Ok::<_, tidemark_store::Error>(())
    };
    server.app.db.write(enqueue).await.unwrap();
}

/// Asserts that a mail is complete, and returns the token in it.
fn token_of(mail: &Value, to: &str) -> String {
    assert_eq!(mail["from"], "bench@example.com");
    assert_eq!(mail["to"], json!([to]));
    let headers = &mail["headers"];
    assert_eq!(headers["from"], "\"Tidemark, Inc.\" <bench@example.com>");
    assert_eq!(headers["to"], to);
    assert_eq!(headers["subject"], "Confirm your new Tidemark account");
    assert_eq!(headers["date"], "Thu, 01 Jan 2026 00:00:00 +0000");
    assert_eq!(headers["auto-submitted"], "auto-generated");
    let id = headers["message-id"].as_str().unwrap();
    assert!(id.starts_with('<') && id.ends_with("@example.com>"), "{id}");
    let text = mail["parts"]["text/plain"].as_str().unwrap();
    assert_eq!(text.lines().next(), Some("Hello Ada Lovelace,"));
    let token = text.lines().find_map(|line| line.strip_prefix("Confirmation token: ")).unwrap();
    let url = format!("https://bench.example.com/auth/confirm?token={token}");
    assert!(text.lines().any(|line| line == format!("Confirm my address: {url}")), "{text}");
    assert!(mail["parts"]["text/html"].as_str().unwrap().contains(&format!("href=\"{url}\"")));
    token.to_owned()
}

async fn a_mail_refused_at_first_is_sent_again(engine: Engine) {
    let sink = Sink::start("plain", 1, &[]);
    let server = sink.server(engine, "plain = true").await;
    sign_up(&server, "ada@example.org").await;
    wait_for_failure(&server).await;
    pass(&server, 13);
    let token = token_of(&sink.receive(), "ada@example.org");
    server.post("/v0/auth/confirm", "", json!({ "token": token })).await.expect(200);
    wait(&server, |due| due.is_none()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_refused_at_first_is_sent_again_from_sqlite() {
    a_mail_refused_at_first_is_sent_again(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_refused_at_first_is_sent_again_from_postgres() {
    a_mail_refused_at_first_is_sent_again(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_that_can_never_arrive_is_dropped_and_stops_no_other() {
    let sink = Sink::start("plain", 0, &[]);
    let server = sink.server(Engine::Sqlite, "plain = true").await;
    sign_up(&server, "nobody@example.org").await;
    sign_up(&server, "ada@example.org").await;
    token_of(&sink.receive(), "ada@example.org");
    wait(&server, |due| due.is_none()).await;
    assert!(sink.mails.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_ran_out_is_not_sent() {
    let sink = Sink::start("plain", 1, &[]);
    let server = sink.server(Engine::Sqlite, "plain = true").await;
    sign_up(&server, "ada@example.org").await;
    wait_for_failure(&server).await;
    pass(&server, 1800);
    wait(&server, |due| due.is_none()).await;
    assert!(sink.mails.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_three_days_a_mail_is_given_up() {
    let sink = Sink::start("plain", 1000, &[]);
    let server = sink.server(Engine::Sqlite, "plain = true").await;
    enqueue_notices(&server, 1).await;
    server.app.background.wake();
    wait_for_failure(&server).await;
    pass(&server, 3 * 24 * 3600);
    wait(&server, |due| due.is_none()).await;
    assert!(sink.mails.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_protects_the_sign_in_at_the_mail_server() {
    let folder = tempfile::tempdir().unwrap();
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
    fs::write(&certificate, cert.pem()).unwrap();
    fs::write(&key, signing_key.serialize_pem()).unwrap();
    for mode in ["starttls", "implicit"] {
        let sink = Sink::start(mode, 0, &[&certificate, &key]);
        let settings =
            format!("starttls = {}\nusername = 'postman'\nsecret = 'rings twice'\n", mode == "starttls");
        let server = sink.server(Engine::Sqlite, &format!("{settings}insecure_host = true")).await;
        sign_up(&server, "ada@example.org").await;
        let mail = sink.receive();
        token_of(&mail, "ada@example.org");
        assert_eq!(mail["secure"], true);
        assert_eq!(mail["login"], json!(["postman", "rings twice"]));

        // By default, the server does not trust a certificate that it cannot verify.
        let server = sink.server(Engine::Sqlite, &settings).await;
        sign_up(&server, "ada@example.org").await;
        wait_for_failure(&server).await;
        assert!(sink.mails.try_recv().is_err());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_on_one_database_send_each_mail_once() {
    let sink = Sink::start("plain", 0, &[]);
    let server = sink.server(Engine::Postgres, "plain = true").await;
    let second = server.second().await.unwrap();
    enqueue_notices(&server, 50).await;
    server.app.background.wake();
    second.background.wake();
    let mut readers: Vec<_> = (0..50).map(|_| sink.receive()["to"][0].as_str().unwrap().to_owned()).collect();
    readers.sort();
    readers.dedup();
    assert_eq!(readers.len(), 50);
    wait(&server, |due| due.is_none()).await;
    assert!(sink.mails.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_server_takes_over_what_was_claimed() {
    let server = TestServer::start(Engine::Sqlite).await;
    server.app.background.stop().await;
    enqueue_notices(&server, 1).await;
    let now = server.app.clock.now();
    let claim = ClaimOptions { kinds: &[mail::KIND], count: 1, per_owner: 1, lease: now.plus_seconds(60) };
    let claim = move |tx: &mut Tx<'_>| outbox::claim(tx, &claim, now);
    assert_eq!(server.app.db.write(claim).await.unwrap().len(), 1);
    server.app.close().await;
    // The clock is frozen: the claim does not expire.
    let (config, clock) = (server.app.config.clone(), server.app.clock.clone());
    let restarted = App::open_with(config, clock, Arc::clone(&server.app.entropy)).await.unwrap();
    server.mail("reader00@example.org").await;
    restarted.close().await;
}

both! {
    async fn links_that_ran_out_are_cleared_within_the_hour(server: TestServer) {
        sign_up(&server, "ada@example.org").await;
        let links = |tx: &mut Tx<'_>| tx.value::<i64>("select count(*) from sign_in", &[]);
        assert_eq!(server.app.db.read(links).await.unwrap(), 1);
        pass(&server, 3600);
        until("the link is still there", async || {
            (server.app.db.read(links).await.unwrap() == 0).then_some(())
        })
        .await;
    }

    async fn without_a_mail_server_each_mail_is_a_file_for_its_owner(server: TestServer) {
        sign_up(&server, "ada@example.org").await;
        wait(&server, |due| due.is_none()).await;
        let folder = server.folder().join("outbox");
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        let names: Vec<_> = files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["20260101T000000.000Z-1.eml"]);
        let text = fs::read_to_string(&files[0]).unwrap();
        assert!(text.contains("\r\nTo: ada@example.org\r\n"), "{text}");
        assert!(text.contains("/auth/confirm?token=eyJ"), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&folder), mode(&files[0])), (0o700, 0o600));
        }
    }
}
