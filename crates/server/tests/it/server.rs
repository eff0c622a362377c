//! A whole server for one test: its own database, a frozen clock, and a client.

use std::{
    collections::HashMap,
    fs,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::ConnectInfo,
    http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tidemark_api::Timestamp;
use tidemark_server::{
    App,
    infra::{
        clock::{Clock, SeededEntropy},
        config::{Config, Flags},
    },
    transport::router::router,
};
use tidemark_store::{Db, Tx, organization, outbox};
use tokio::runtime::Builder;
use tower::ServiceExt;

use crate::{
    contract,
    database::{self, Database},
    until,
    used_database::UsedDatabase,
};

/// 2026-01-01T00:00:00Z.
pub(crate) const START: i64 = 1_767_225_600_000_000;

/// Database engine of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// A running server without a port.
pub(crate) struct TestServer {
    pub(crate) app: App,
    pub(crate) engine: Engine,
    router: Router,
    clock: Arc<AtomicI64>,
    folder: TempDir,
    peer: Mutex<SocketAddr>,
    seen: Mutex<HashMap<String, usize>>,
    database: Option<Arc<Database>>,
}

/// A user with an account and a session.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) uuid: String,
    pub(crate) slug: String,
    pub(crate) email: String,
    pub(crate) token: String,
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// Settings of a test that may change more of its database than rows, or that reads the plans of statements: no other
/// test has used the database. [`run_test`] also creates a database if other settings of this section are set.
pub(crate) const OWN_DATABASE: &str = "[database]\n";

/// Runs a test with a server on an engine. On PostgreSQL, the database is one that other tests may have used.
pub(crate) fn run_test<F: Future<Output = ()>>(
    engine: Engine,
    settings: &str,
    test: impl FnOnce(TestServer) -> F,
) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    if engine == Engine::Sqlite || settings.contains(OWN_DATABASE) {
        runtime.block_on(async { test(TestServer::start_with(engine, settings).await).await });
        return;
    }
    let used = UsedDatabase::take();
    runtime.block_on(async { test(TestServer::start_on_used(&used, settings).await).await });
    // Waits for the threads that use the database.
    drop(runtime);
    used.give_back();
}

impl TestServer {
    /// Starts a server with the default configuration.
    pub(crate) async fn start(engine: Engine) -> Self {
        Self::start_with(engine, "").await
    }

    /// Starts a server with settings, in the format of `tidemark.toml`.
    pub(crate) async fn start_with(engine: Engine, settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = match engine {
            Engine::Sqlite => {
                database::create_file(&folder.path().join("tidemark.db")).await;
                None
            }
            Engine::Postgres => Some(Database::create().await),
        };
        Self::start_on(engine, settings, folder, database.map(Arc::new), None).await
    }

    async fn start_on_used(used: &UsedDatabase, settings: &str) -> Self {
        let (folder, database) = (tempfile::tempdir().unwrap(), Arc::clone(&used.database));
        Self::start_on(Engine::Postgres, settings, folder, Some(database), Some(used.db.clone())).await
    }

    /// Starts a server on an existing data folder or database, which may be open.
    pub(crate) async fn start_on(
        engine: Engine,
        settings: &str,
        folder: TempDir,
        database: Option<Arc<Database>>,
        db: Option<Db>,
    ) -> Self {
        let file = folder.path().join("tidemark.toml");
        fs::write(&file, settings).unwrap();
        let flags = Flags {
            data_dir: Some(folder.path().to_owned()),
            database: database.as_ref().map(|database| database.url.clone()),
            ..Flags::default()
        };
        let config = Config::load(Some(&file), [], &flags).unwrap();
        let clock = Arc::new(AtomicI64::new(START));
        let db = match db {
            Some(db) => db,
            None => Db::open(&config.location()).await.unwrap(),
        };
        let entropy = Arc::new(SeededEntropy::new(1));
        let app = App::open_on(db, config, Clock::Manual(Arc::clone(&clock)), entropy).await.unwrap();
        Self {
            router: router(app.clone()),
            app,
            engine,
            clock,
            folder,
            peer: Mutex::new(SocketAddr::from(([192, 0, 2, 1], 40_000))),
            seen: Mutex::default(),
            database,
        }
    }

    /// Starts another server on the same database; `None` if the engine does not support this.
    pub(crate) async fn second(&self) -> Option<App> {
        self.database.as_ref()?;
        Some(self.open_again().await)
    }

    /// Stops the server and starts it again.
    pub(crate) async fn restart(self) -> Self {
        self.app.close().await;
        let app = self.open_again().await;
        Self { router: router(app.clone()), app, ..self }
    }

    async fn open_again(&self) -> App {
        let flags = Flags {
            data_dir: Some(self.folder.path().to_owned()),
            database: self.database.as_ref().map(|database| database.url.clone()),
            ..Flags::default()
        };
        let config = Config::load(Some(&self.folder.path().join("tidemark.toml")), [], &flags).unwrap();
        let clock = Clock::Manual(Arc::clone(&self.clock));
        App::open_with(config, clock, Arc::new(SeededEntropy::new(2))).await.unwrap()
    }

    /// Returns the data folder of the server.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Returns the number of objects stored in the registry.
    pub(crate) fn objects(&self) -> usize {
        let Ok(folders) = fs::read_dir(self.folder.path().join("registry/objects")) else { return 0 };
        folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
    }

    /// Advances the clock.
    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }

    /// Advances the clock to a time, unless it has passed.
    pub(crate) fn pass_to(&self, moment: Timestamp) {
        self.clock.fetch_max(moment.micros(), Ordering::Relaxed);
    }

    /// Sends requests from another address from now on.
    pub(crate) fn call_from(&self, address: impl Into<IpAddr>) {
        *self.peer.lock().unwrap() = SocketAddr::from((address, 40_000));
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Answer {
        self.call(Method::GET, path, token, None).await
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: Value) -> Answer {
        self.call(Method::POST, path, token, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, token: &str, body: Value) -> Answer {
        self.call(Method::PATCH, path, token, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, token: &str, body: Value) -> Answer {
        self.call(Method::PUT, path, token, Some(body)).await
    }

    /// Waits until the job at a path has a status, which a background worker sets.
    pub(crate) async fn until(&self, path: &str, token: &str, status: &str) -> Answer {
        until(&format!("the job at {path} does not become {status}"), async || {
            let answer = self.get(path, token).await.expect(200);
            (answer.text("/status") == status).then_some(answer)
        })
        .await
    }

    pub(crate) async fn delete(&self, path: &str, token: &str) -> Answer {
        self.call(Method::DELETE, path, token, None).await
    }

    /// Sends one request; an empty token means none.
    pub(crate) async fn call(&self, method: Method, path: &str, token: &str, body: Option<Value>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        self.send(request.body(body).unwrap()).await
    }

    /// Sends any request, and validates the response against the description of the API.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().to_string(), request.uri().to_string());
        let response = self.open(request).await;
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let kind = headers.get(header::CONTENT_TYPE).map_or("", |kind| kind.to_str().unwrap());
        let body = match (bytes.is_empty(), kind) {
            (true, _) => None,
            (false, "application/json") => Some(serde_json::from_slice(&bytes).unwrap()),
            (false, _) => Some(Value::String(String::from_utf8_lossy(&bytes).into_owned())),
        };
        if method != "HEAD" {
            contract::check(&method, &path, status.as_u16(), kind, body.as_ref());
        }
        assert_eq!(headers["access-control-allow-origin"], "*", "{method} {path} has no CORS headers");
        assert_eq!(headers["x-server-version"], env!("CARGO_PKG_VERSION"), "{method} {path}");
        Answer { status, headers, body: body.unwrap_or(Value::Null) }
    }

    /// Sends any request, and returns the response with its body unread.
    pub(crate) async fn open(&self, mut request: Request<Body>) -> Response<Body> {
        request.extensions_mut().insert(ConnectInfo(*self.peer.lock().unwrap()));
        request.headers_mut().entry(header::HOST).or_insert(HeaderValue::from_static("localhost"));
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Sends any request, and returns the response as sent over the wire.
    pub(crate) async fn raw(&self, request: Request<Body>) -> Response<Bytes> {
        let (parts, body) = self.open(request).await.into_parts();
        Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
    }

    /// Signs a user up and in; the first user of a server administers it.
    pub(crate) async fn person(&self, name: &str) -> Person {
        let email = format!("{}@example.org", name.to_lowercase().replace(' ', "."));
        let signup = json!({ "name": name, "email": email, "i_agree": true });
        self.post("/v0/auth/signup", "", signup).await.expect(202);
        self.confirm(&email).await
    }

    /// Uses the newest link mailed to an address.
    pub(crate) async fn confirm(&self, email: &str) -> Person {
        let token = self.mailed_token(email).await;
        let answer = self.post("/v0/auth/confirm", "", json!({ "token": token })).await.expect(200);
        let text = |pointer: &str| answer.body.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        Person {
            uuid: text("/user/uuid"),
            slug: text("/user/slug"),
            email: text("/user/email"),
            token: text("/token"),
        }
    }

    /// Signs a user in again, and returns the token.
    pub(crate) async fn login(&self, email: &str) -> String {
        self.post("/v0/auth/login", "", json!({ "email": email })).await.expect(202);
        self.confirm(email).await.token
    }

    /// Creates an organization and returns its slug.
    pub(crate) async fn organization(&self, leader: &Person, name: &str) -> String {
        let answer = self.post("/v0/organizations", &leader.token, json!({ "name": name })).await;
        answer.expect(201).text("/slug")
    }

    /// Creates a project in a user's personal organization and returns its path.
    pub(crate) async fn project(&self, owner: &Person, body: Value) -> String {
        let path = format!("/v0/organizations/{}/projects", owner.slug);
        let project = self.post(&path, &owner.token, body).await.expect(201);
        format!("/v0/projects/{}", project.text("/slug"))
    }

    /// Creates a dimension of a project, with the plural from its path, and returns its UUID.
    pub(crate) async fn dimension(&self, owner: &Person, project: &str, kind: &str, name: &str) -> String {
        let mut body = json!({ "name": name });
        if kind == "measures" {
            body["units"] = json!("units");
        }
        self.post(&format!("{project}/{kind}"), &owner.token, body).await.expect(201).text("/uuid")
    }

    /// Creates a key of a project.
    pub(crate) async fn project_key(&self, owner: &Person, project: &str) -> String {
        let body = json!({ "name": "ci" });
        self.post(&format!("{project}/keys"), &owner.token, body).await.expect(201).text("/key")
    }

    /// Creates an unclaimed organization, and returns its slug.
    pub(crate) async fn unclaimed(&self, name: &str) -> String {
        let (fresh, name) = (self.app.fresh(), name.parse().unwrap());
        let create = move |tx: &mut Tx<'_>| organization::create(tx, &fresh, None, &name, None);
        self.app.db.write(create).await.unwrap().organization.slug.to_string()
    }

    /// Invites an address and returns the mailed token.
    pub(crate) async fn invite(
        &self,
        organization: &str,
        leader: &Person,
        email: &str,
        role: &str,
    ) -> String {
        let path = format!("/v0/organizations/{organization}/members");
        self.post(&path, &leader.token, json!({ "email": email, "role": role })).await.expect(202);
        self.mailed_token(email).await
    }

    /// Makes a user a member: a leader invites, and the user accepts.
    pub(crate) async fn join(&self, organization: &str, leader: &Person, person: &Person, role: &str) {
        let invite = self.invite(organization, leader, &person.email, role).await;
        self.post("/v0/auth/accept", &person.token, json!({ "invite": invite })).await.expect(202);
    }

    /// Returns the token in the newest mail to an address, and deletes the mail.
    pub(crate) async fn mailed_token(&self, email: &str) -> String {
        // The boundary between the parts of the mail is random and may look like the start of a token; the token of a
        // link follows `=`.
        let mail = self.wait_for_mail(email, "=eyJ").await;
        let start = mail.find("=eyJ").unwrap() + 1;
        mail[start..]
            .chars()
            .take_while(|character| character.is_ascii_alphanumeric() || "._-".contains(*character))
            .collect()
    }

    /// Waits for a mail to an address and deletes it. Returns it with unfolded lines.
    pub(crate) async fn mail(&self, email: &str) -> String {
        self.wait_for_mail(email, "").await
    }

    /// Waits for a mail to an address that contains a text.
    async fn wait_for_mail(&self, email: &str, content: &str) -> String {
        until(&format!("no mail came to {email}"), async || self.take_mail_with(email, content)).await
    }

    /// Returns the newest mail to an address that already exists, if any, and deletes it.
    pub(crate) fn take_mail(&self, email: &str) -> Option<String> {
        self.take_mail_with(email, "")
    }

    fn take_mail_with(&self, email: &str, content: &str) -> Option<String> {
        let mut files: Vec<_> = fs::read_dir(self.folder.path().join("outbox"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "eml"))
            .collect();
        files.sort();
        for file in files.into_iter().rev() {
            let mail = fs::read_to_string(&file).unwrap();
            // Only the body has this encoding.
            let (headers, body) = mail.split_once("\r\n\r\n").unwrap();
            let body = body.replace("=\r\n", "").replace("=3D", "=");
            let mail = format!("{headers}\r\n\r\n{body}");
            let to = mail.lines().find(|line| line.starts_with("To:")).unwrap_or_default();
            if to.contains(email) && mail.contains(content) {
                fs::remove_file(file).unwrap();
                return Some(mail);
            }
        }
        None
    }

    /// Waits until all enqueued work is done.
    pub(crate) async fn idle(&self) {
        until("the outbox is not worked off", async || {
            (self.app.db.read(outbox::depth).await.unwrap() == 0).then_some(())
        })
        .await;
    }

    /// Waits until all enqueued mail is sent, and asserts that none is for this address.
    pub(crate) async fn no_mail(&self, email: &str) {
        self.idle().await;
        assert!(self.take_mail(email).is_none(), "there is a mail to {email}");
    }

    /// Returns a token with custom claims, signed with the server's secret.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        let secret = self.app.config.secret().unwrap();
        let key = jsonwebtoken::EncodingKey::from_secret(secret.expose().as_bytes());
        jsonwebtoken::encode(&jsonwebtoken::Header::default(), claims, &key).unwrap()
    }

    /// Returns a deprecated API token as older servers signed them: valid for one day, and without an id.
    pub(crate) fn legacy_token(&self, email: &str) -> String {
        let now = self.app.clock.now().seconds();
        self.sign(&json!({
            "aud": "api_key", "exp": now + 86_400, "iat": now, "iss": self.app.config.security.issuer, "sub": email,
            "org": null, "state": null, "oci": null,
        }))
    }

    /// Returns the response as a text for a snapshot: status, important headers and body, with every UUID replaced by
    /// its number in order of appearance, and tokens masked.
    pub(crate) fn show(&self, answer: &Answer) -> String {
        let mut text = format!("{}\n", answer.status.as_u16());
        for name in ["x-total-count", "www-authenticate", "retry-after", "allow"] {
            if let Some(value) = answer.headers.get(name) {
                text.push_str(&format!("{name}: {}\n", value.to_str().unwrap()));
            }
        }
        if !answer.body.is_null() {
            text.push_str(&format!("{:#}\n", answer.body));
        }
        self.redact(&text)
    }

    /// Replaces every UUID in a text by its number in order of appearance, and masks tokens. Filters of `insta` cannot count.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut seen = self.seen.lock().unwrap();
        let mut out = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(uuid) = rest.get(..36).filter(|uuid| uuid::Uuid::parse_str(uuid).is_ok()) {
                let next = seen.len() + 1;
                let number = *seen.entry(uuid.to_owned()).or_insert(next);
                out.push_str(&format!("<uuid {number}>"));
                rest = &rest[36..];
            } else if rest.starts_with("eyJ") {
                let end = rest.find('"').unwrap_or(rest.len());
                out.push_str("<token>");
                rest = &rest[end..];
            } else if let Some(key) = rest.strip_prefix("svc_") {
                let end = key.find('"').unwrap_or(key.len());
                out.push_str("<key>");
                rest = &key[end..];
            } else {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        // A request id is new each time.
        out.lines()
            .map(
                |line| {
                    if line.contains("\"request_id\"") { "  \"request_id\": \"<request>\"," } else { line }
                },
            )
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl Answer {
    /// Asserts a status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{:#}", self.body);
        self
    }

    /// Returns status and message of an error in one line, to combine many errors in one snapshot.
    pub(crate) fn line(&self) -> String {
        let challenge = self.headers.get(header::WWW_AUTHENTICATE).map_or("", |_| " (Bearer)");
        let message = self.body["message"].as_str().unwrap_or_default();
        format!("{}{challenge} {message}", self.status.as_u16()).trim_end().to_owned()
    }

    /// Returns the strings with this key in every item of a list.
    pub(crate) fn each(&self, key: &str) -> Vec<String> {
        let items = self.body.as_array().unwrap_or_else(|| panic!("no list: {:#}", self.body));
        items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the total of a list.
    pub(crate) fn total(&self) -> i64 {
        self.headers["x-total-count"].to_str().unwrap().parse().unwrap()
    }

    /// Returns a string in the body.
    #[track_caller]
    pub(crate) fn text(&self, pointer: &str) -> String {
        self.body
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("no {pointer}"))
            .to_owned()
    }
}
