//! Sign-in at an identity provider: `/v0/auth/github` against a mock code host. The browser tests of the console use
//! a real OpenID provider.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, Method, Request, StatusCode, header},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use insta::assert_snapshot;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    Answer, Engine, TestServer,
    report::{bench, report_body},
};

const PATH: &str = "/v0/auth/github";

/// A mock code host: the user of each code, and the challenge of each sign-in.
#[derive(Clone, Default)]
struct Host(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    people: HashMap<String, Value>,
    /// Verifiers of the exchanged codes.
    spent: Vec<String>,
}

impl Host {
    /// Adds a user with one address.
    fn admit(&self, code: &str, id: u64, email: &str, verified: bool) {
        let emails = json!([
            { "email": "second@example.net", "primary": false, "verified": true },
            { "email": email, "primary": true, "verified": verified },
        ]);
        let person =
            json!({ "user": { "id": id, "login": "ada_l", "name": "Ada ✨ Lovelace" }, "emails": emails });
        self.0.lock().unwrap().people.insert(code.to_owned(), person);
    }
}

async fn exchange(State(host): State<Host>, body: String) -> Json<Value> {
    let form: HashMap<String, String> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    assert_eq!((&*form["client_id"], &*form["client_secret"]), ("client", "s3cret"));
    assert_eq!(form["redirect_uri"], "http://localhost:6610/auth/github");
    let mut known = host.0.lock().unwrap();
    if !known.people.contains_key(&form["code"]) {
        return Json(json!({ "error": "bad_verification_code" }));
    }
    known.spent.push(form["code_verifier"].clone());
    Json(json!({ "access_token": form["code"], "token_type": "bearer" }))
}

async fn about(host: Host, headers: HeaderMap, what: &str) -> (StatusCode, Json<Value>) {
    let token = headers[header::AUTHORIZATION].to_str().unwrap().trim_start_matches("Bearer ");
    match host.0.lock().unwrap().people.get(token) {
        Some(person) => (StatusCode::OK, Json(person[what].clone())),
        None => (StatusCode::UNAUTHORIZED, Json(json!({ "message": "Bad credentials" }))),
    }
}

async fn open(engine: Engine) -> (TestServer, Host) {
    open_with(engine, "").await
}

/// Starts a server and a host with more settings.
async fn open_with(engine: Engine, more: &str) -> (TestServer, Host) {
    let host = Host::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new()
        .route("/login/oauth/access_token", post(exchange))
        .route("/user", get(|State(host), headers| about(host, headers, "user")))
        .route("/user/emails", get(|State(host), headers| about(host, headers, "emails")))
        .with_state(host.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let settings = format!(
        "{more}[plus.github]\nclient_id = \"client\"\nclient_secret = \"s3cret\"\nurl = \"{address}\"\napi_url = \"{address}\"\n"
    );
    (TestServer::start_with(engine, &settings).await, host)
}

/// A browser, which keeps its cookie.
#[derive(Clone, Default)]
struct Browser {
    cookie: Option<String>,
    /// Challenge of the last sign-in.
    challenge: String,
}

impl Browser {
    /// Starts a sign-in; returns the state that the provider passes back.
    async fn begin(&mut self, server: &TestServer, query: &str) -> String {
        let answer = self.call(server, Method::GET, &format!("{PATH}{query}"), Value::Null).await.expect(200);
        let kept = answer.headers[header::SET_COOKIE].to_str().unwrap();
        assert!(kept.ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Strict"), "{kept}");
        self.cookie = Some(kept.split_once(';').unwrap().0.to_owned());
        let url = url::Url::parse(answer.body["url"].as_str().unwrap()).unwrap();
        assert_eq!(url.path(), "/login/oauth/authorize");
        let query: HashMap<String, String> = url.query_pairs().into_owned().collect();
        self.challenge.clone_from(&query["code_challenge"]);
        assert_eq!(query["redirect_uri"], "http://localhost:6610/auth/github");
        query["state"].clone()
    }

    async fn end(&self, server: &TestServer, state: &str, code: &str) -> Answer {
        self.call(server, Method::POST, PATH, json!({ "state": state, "code": code })).await
    }

    /// Signs in, from start to end.
    async fn sign_in(&mut self, server: &TestServer, query: &str, code: &str) -> Answer {
        let state = self.begin(server, query).await;
        self.end(server, &state, code).await
    }

    async fn call(&self, server: &TestServer, method: Method, path: &str, body: Value) -> Answer {
        let request = Request::builder().method(method).uri(path).header("x-tidemark-console", "1");
        let request =
            self.cookie.iter().fold(request, |request, cookie| request.header(header::COOKIE, cookie));
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        server.send(request.body(body).unwrap()).await
    }
}

fn token(answer: &Answer) -> &str {
    answer.body["user"]["token"].as_str().unwrap()
}

/// Runs tests on both engines, each with its own code host.
macro_rules! at_a_code_host {
    ($($name:ident)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let (server, host) = open(Engine::Sqlite).await;
                super::$name(server, host).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let (server, host) = open(Engine::Postgres).await;
                super::$name(server, host).await;
            }
        }
    )*};
}

at_a_code_host! {
    a_new_user_gets_an_account_and_a_session
    a_sign_in_is_ended_once_by_the_browser_that_began_it
    a_client_without_cookies_proves_itself_by_a_verifier
    only_a_verified_address_counts
    an_account_is_linked_and_stays_with_its_owner
    invitations_claims_and_plans_come_along
    a_browser_gets_its_session_in_a_cookie
    a_provider_that_is_silent_is_named
}

async fn a_new_user_gets_an_account_and_a_session(server: TestServer, host: Host) {
    host.admit("one", 7, "Ada@Example.org", true);
    let setup = server.get("/v0/server/setup", "").await.expect(200);
    assert_eq!(setup.body["providers"], json!([{ "name": "GitHub", "path": PATH }]));
    let mut browser = Browser::default();
    let state = browser.begin(&server, "").await;
    let answer = browser.end(&server, &state, "one").await;
    assert_snapshot!("oauth_end", server.show(&answer));
    server.get("/v0/organizations/ada-lovelace", token(&answer)).await.expect(200);
    let verifier = host.0.lock().unwrap().spent[0].clone();
    assert_eq!(URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier)), browser.challenge);
    // The second sign-in finds the same account, although the name at the host has changed.
    host.admit("two", 7, "ada@example.org", true);
    let again = browser.sign_in(&server, "", "two").await.expect(202);
    assert_eq!(again.body["user"]["user"], answer.body["user"]["user"]);
    let entries = server.get("/v0/server/audit", token(&again)).await.expect(200);
    let actions: Vec<&str> =
        entries.body.as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["session.open", "session.open", "user.link", "organization.create", "user.create"]);
}

async fn a_sign_in_is_ended_once_by_the_browser_that_began_it(server: TestServer, host: Host) {
    host.admit("one", 7, "ada@example.org", true);
    let (mut browser, mut other) = (Browser::default(), Browser::default());
    let state = browser.begin(&server, "").await;
    // Another browser that obtained the state.
    Browser::default().end(&server, &state, "one").await.expect(401);
    other.begin(&server, "").await;
    let foreign = other.end(&server, &state, "one").await;
    assert_snapshot!("oauth_foreign", server.show(&foreign));
    // A forged state, and a token of another kind.
    let made_up = format!("{}x", &state[..state.len() - 1]);
    browser.end(&server, &made_up, "one").await.expect(401);
    let session = browser.end(&server, &state, "one").await.expect(202);
    browser.end(&server, &state, "one").await.expect(401);
    browser.end(&server, token(&session), "one").await.expect(401);
    // A code that the host does not know consumes the state as well.
    let state = browser.begin(&server, "").await;
    let refused = browser.end(&server, &state, "wrong").await;
    assert_snapshot!("oauth_code", server.show(&refused));
    browser.end(&server, &state, "one").await.expect(401);
    // An expired state.
    let state = browser.begin(&server, "").await;
    server.pass(601);
    browser.end(&server, &state, "one").await.expect(401);
    // Two windows of one browser.
    let first = browser.begin(&server, "").await;
    let second = browser.begin(&server, "").await;
    browser.end(&server, &second, "one").await.expect(202);
    browser.end(&server, &first, "one").await.expect(202);
}

async fn a_client_without_cookies_proves_itself_by_a_verifier(server: TestServer, host: Host) {
    host.admit("one", 7, "ada@example.org", true);
    let verifier = "a verifier that only this client knows, long enough";
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    let begin = async || Browser::default().begin(&server, &format!("?code_challenge={challenge}")).await;
    let end = async |state: &str, verifier: Option<&str>| {
        let mut body = json!({ "state": state, "code": "one" });
        if let Some(verifier) = verifier {
            body["code_verifier"] = json!(verifier);
        }
        server.post(PATH, "", body).await
    };
    let state = begin().await;
    let unbound = end(&state, None).await;
    assert_snapshot!("oauth_unbound", server.show(&unbound));
    end(&state, Some("another verifier")).await.expect(401);
    end(&state, Some(verifier)).await.expect(202);
    end(&state, Some(verifier)).await.expect(401);
    // The cookie of the browser that started the sign-in does not replace the verifier.
    let mut browser = Browser::default();
    let state = browser.begin(&server, &format!("?code_challenge={challenge}")).await;
    browser.end(&server, &state, "one").await.expect(401);
    end(&state, Some(verifier)).await.expect(202);
    let wrong = server.get(&format!("{PATH}?code_challenge=plain"), "").await;
    assert_snapshot!("oauth_challenge_wrong", server.show(&wrong));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_lets_code_and_state_alone_complete_a_sign_in() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let (server, host) = open_with(engine, "[access]\nunbound_oauth = true\n").await;
        host.admit("one", 7, "ada@example.org", true);
        let state = Browser::default().begin(&server, "").await;
        let body = json!({ "state": state, "code": "one" });
        server.post(PATH, "", body.clone()).await.expect(202);
        server.post(PATH, "", body).await.expect(401);
        // A client that sent a challenge must send the verifier.
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest("verifier"));
        let state = Browser::default().begin(&server, &format!("?code_challenge={challenge}")).await;
        server.post(PATH, "", json!({ "state": state, "code": "one" })).await.expect(401);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_claims_nothing_where_a_claim_needs_its_token() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let (server, host) = open_with(engine, "[access]\nclaims = \"token\"\n").await;
        host.admit("one", 7, "ada@example.org", true);
        let run = report_body(json!([bench(1.0)]), json!({ "project": "loose", "context": {} }));
        let created = server.post("/v0/run", "", run).await.expect(201);
        let path = format!("{PATH}?claim={}", created.text("/project/organization"));
        let refused = server.get(&path, "").await;
        assert_snapshot!("oauth_claim_refused", server.show(&refused));
        Browser::default().sign_in(&server, "", "one").await.expect(202);
        assert_eq!(server.get("/v0/projects/loose", "").await.expect(200).body["claimed"], Value::Null);
    }
}

async fn only_a_verified_address_counts(server: TestServer, host: Host) {
    host.admit("one", 7, "ada@example.org", false);
    let refused = Browser::default().sign_in(&server, "", "one").await;
    assert_snapshot!("oauth_unverified", server.show(&refused));
    let setup = server.get("/v0/server/setup", "").await.expect(200);
    assert_eq!(setup.body["accounts"], "none");
}

async fn an_account_is_linked_and_stays_with_its_owner(server: TestServer, host: Host) {
    let ada = server.person("Ada").await;
    host.admit("one", 7, &ada.email, true);
    let answer = Browser::default().sign_in(&server, "", "one").await.expect(202);
    assert_eq!(answer.body["user"]["user"]["slug"], "ada");
    // Another user has the address at the host now.
    host.admit("two", 8, &ada.email, true);
    let refused = Browser::default().sign_in(&server, "", "two").await;
    assert_snapshot!("oauth_other_owner", server.show(&refused));
    // The owner has another address at the host now.
    host.admit("three", 7, "else@example.org", true);
    let refused = Browser::default().sign_in(&server, "", "three").await;
    assert_snapshot!("oauth_changed", server.show(&refused));
    // A locked account cannot sign in.
    let admin = ada.token.clone();
    let bob = server.person("Bob").await;
    host.admit("four", 9, &bob.email, true);
    Browser::default().sign_in(&server, "", "four").await.expect(202);
    server.patch("/v0/users/bob", &admin, json!({ "locked": true })).await.expect(200);
    Browser::default().sign_in(&server, "", "four").await.expect(403);
}

async fn invitations_claims_and_plans_come_along(server: TestServer, host: Host) {
    let ada = server.person("Ada").await;
    let invited = json!({ "email": "bob@example.org", "role": "member" });
    server.post("/v0/organizations/ada/members", &ada.token, invited).await.expect(202);
    let invite = server.mailed_token("bob@example.org").await;
    host.admit("one", 7, "bob@example.org", true);
    let mut browser = Browser::default();
    let answer = browser.sign_in(&server, &format!("?invite={invite}&plan=pro"), "one").await.expect(202);
    assert_eq!(answer.body["plan"], "pro");
    let mine = server.get("/v0/organizations", token(&answer)).await.expect(200);
    assert_eq!(mine.body.as_array().unwrap().len(), 1);
    assert_eq!(mine.body[0]["slug"], "ada");
    // An invitation for another user does not work, and creates no account.
    let invited = json!({ "email": "carol@example.org", "role": "leader" });
    server.post("/v0/organizations/ada/members", &ada.token, invited).await.expect(202);
    let invite = server.mailed_token("carol@example.org").await;
    host.admit("two", 8, "mallory@example.org", true);
    browser.sign_in(&server, &format!("?invite={invite}"), "two").await.expect(401);
    // A revoked invitation does not work either.
    let path = "/v0/organizations/ada/invitations";
    let pending = server.get(path, &ada.token).await.expect(200);
    let revoked = format!("{path}/{}", pending.text("/0/uuid"));
    server.delete(&revoked, &ada.token).await.expect(204);
    host.admit("three", 9, "carol@example.org", true);
    browser.sign_in(&server, &format!("?invite={invite}"), "three").await.expect(401);
    server.get("/v0/users/carol", &ada.token).await.expect(404);
    let nonsense = browser.call(&server, Method::GET, &format!("{PATH}?invite=aa.bb.cc"), Value::Null).await;
    nonsense.expect(401);
    browser.call(&server, Method::GET, &format!("{PATH}?plan=gold"), Value::Null).await.expect(400);
    // An unclaimed organization.
    let run = json!({ "branch": "main", "testbed": "ci", "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:01Z", "results": ["{\"a\":{\"latency\":{\"value\":1}}}"],
        "context": { "bencher.dev/v0/repo/name": "found", "bencher.dev/v0/testbed/fingerprint": "cws1tbnfkj8h3",
            "bencher.dev/v0/repo/hash": "0123456789abcdef0123456789abcdef01234567" } });
    let report = server.post("/v0/run", "", run).await.expect(201);
    let organization = report.body["project"]["organization"].as_str().unwrap().to_owned();
    let answer = browser.sign_in(&server, &format!("?claim={organization}"), "two").await.expect(202);
    server.get(&format!("/v0/organizations/{organization}/members"), token(&answer)).await.expect(200);
}

async fn a_browser_gets_its_session_in_a_cookie(server: TestServer, host: Host) {
    host.admit("one", 7, "ada@example.org", true);
    let mut browser = Browser::default();
    let state = browser.begin(&server, "").await;
    let proof = json!({ "state": state, "code": "one" });
    let opened = browser.call(&server, Method::POST, "/v0/auth/session", proof).await.expect(200);
    assert_eq!(opened.body["user"]["email"], "ada@example.org");
    let kept = opened.headers[header::SET_COOKIE].to_str().unwrap();
    let signed_in =
        Browser { cookie: Some(kept.split_once(';').unwrap().0.to_owned()), ..Browser::default() };
    let session = signed_in.call(&server, Method::GET, "/v0/auth/session", Value::Null).await.expect(200);
    assert_eq!(session.body["user"]["slug"], "ada-lovelace");
}

async fn a_provider_that_is_silent_is_named(server: TestServer, host: Host) {
    host.admit("one", 7, "ada@example.org", true);
    host.0.lock().unwrap().people.get_mut("one").unwrap()["emails"] = json!("nonsense");
    let silent = Browser::default().sign_in(&server, "", "one").await;
    assert_snapshot!("oauth_silent", server.show(&silent));
    let nowhere = server.get("/v0/auth/google", "").await;
    assert_snapshot!("oauth_nowhere", server.show(&nowhere));
    server.get("/v0/auth/oidc/example", "").await.expect(404);
}
