//! Sign-in at an OpenID provider: which ID tokens are accepted. The mock provider can send invalid tokens; the
//! browser tests of the console use a real provider.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{Request, header},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use insta::assert_snapshot;
use jsonwebtoken::{Algorithm, EncodingKey, Header, get_current_timestamp, jwk::Jwk};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Answer, TestServer, both};

const PATH: &str = "/v0/auth/oidc/local";
const ACCESS_TOKEN: &str = "t0ken";

/// A mock provider, with its responses.
#[derive(Clone)]
struct Provider(Arc<Mutex<Answers>>);

struct Answers {
    issuer: String,
    id_token: Option<String>,
    keys: Value,
    subject: Value,
    in_body_only: bool,
    /// Header and form of the last exchange.
    exchanged: (String, HashMap<String, String>),
}

impl Provider {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let provider = Self(Arc::new(Mutex::new(Answers {
            issuer,
            id_token: None,
            keys: json!({ "keys": [] }),
            subject: json!("ada"),
            in_body_only: false,
            exchanged: Default::default(),
        })));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/token", post(exchange))
            .route(
                "/jwks",
                get(|State(provider): State<Self>| async move {
                    Json(provider.with(|answers| answers.keys.clone()))
                }),
            )
            .route("/userinfo", get(user_info))
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        provider
    }

    fn with<T>(&self, look: impl FnOnce(&mut Answers) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }
}

async fn metadata(State(provider): State<Provider>) -> Json<Value> {
    let (issuer, in_body_only) = provider.with(|answers| (answers.issuer.clone(), answers.in_body_only));
    let methods = if in_body_only { json!(["client_secret_post"]) } else { Value::Null };
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize?tenant=1"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/userinfo"),
        "jwks_uri": format!("{issuer}/jwks"),
        "token_endpoint_auth_methods_supported": methods,
    }))
}

async fn exchange(State(provider): State<Provider>, request: Request<Body>) -> Json<Value> {
    let authorization = request.headers().get(header::AUTHORIZATION);
    let authorization = authorization.map_or(String::new(), |value| value.to_str().unwrap().to_owned());
    let body = axum::body::to_bytes(request.into_body(), 4_096).await.unwrap();
    let form = url::form_urlencoded::parse(&body).into_owned().collect();
    let id_token = provider.with(|answers| {
        answers.exchanged = (authorization, form);
        answers.id_token.clone()
    });
    Json(json!({ "access_token": ACCESS_TOKEN, "token_type": "Bearer", "id_token": id_token }))
}

async fn user_info(State(provider): State<Provider>, request: Request<Body>) -> Json<Value> {
    assert_eq!(request.headers()[header::AUTHORIZATION], format!("Bearer {ACCESS_TOKEN}"));
    let subject = provider.with(|answers| answers.subject.clone());
    Json(
        json!({ "sub": subject, "email": "ada@example.org", "email_verified": true, "name": "Ada Lovelace" }),
    )
}

/// Starts a server with the default configuration and the provider.
async fn open(server: &TestServer) -> (TestServer, Provider) {
    let provider = Provider::start().await;
    let issuer = provider.with(|answers| answers.issuer.clone());
    let settings = format!(
        "[plus.oidc.local]\nname = \"Example\"\nissuer = \"{issuer}\"\nclient_id = \"tidemark\"\nclient_secret = \"s3:cret\"\n"
    );
    (TestServer::start_with(server.engine, &settings).await, provider)
}

/// Returns a key of the provider, and the key set that publishes it.
fn key(id: &str) -> (EncodingKey, Value) {
    let pem = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let key = EncodingKey::from_ec_pem(pem.as_bytes()).unwrap();
    let mut published =
        serde_json::to_value(Jwk::from_encoding_key(&key, Algorithm::ES256).unwrap()).unwrap();
    published["kid"] = json!(id);
    published["use"] = json!("sig");
    (key, json!({ "keys": [published] }))
}

fn sign(key: &EncodingKey, algorithm: Algorithm, claims: &Value) -> String {
    let header = Header { kid: Some("one".to_owned()), ..Header::new(algorithm) };
    jsonwebtoken::encode(&header, claims, key).unwrap()
}

/// Signs in at the provider, which creates the ID token from the nonce.
async fn sign_in(
    server: &TestServer,
    provider: &Provider,
    id_token: impl FnOnce(&str) -> Option<String>,
) -> Answer {
    // Rate limits are tested elsewhere.
    server.pass(3_600);
    let request =
        |method: &str| Request::builder().method(method).uri(PATH).header("x-tidemark-console", "1");
    let begun = server.send(request("GET").body(Body::empty()).unwrap()).await.expect(200);
    let cookie = begun.headers[header::SET_COOKIE].to_str().unwrap().split_once(';').unwrap().0.to_owned();
    let url = url::Url::parse(&begun.text("/url")).unwrap();
    let query: HashMap<String, String> = url.query_pairs().into_owned().collect();
    assert_eq!((&*query["tenant"], &*query["scope"]), ("1", "openid profile email"));
    provider.with(|answers| answers.id_token = id_token(&query["nonce"]));
    let body = json!({ "state": query["state"], "code": "c0de" }).to_string();
    let ended =
        request("POST").header(header::COOKIE, cookie).header(header::CONTENT_TYPE, "application/json");
    server.send(ended.body(Body::from(body)).unwrap()).await
}

/// Returns the claims of a valid token.
fn claims(issuer: &str, nonce: &str) -> Value {
    let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(ACCESS_TOKEN)[..16]);
    let now = get_current_timestamp();
    json!({ "iss": issuer, "sub": "ada", "aud": "tidemark", "nonce": nonce, "at_hash": hash, "iat": now, "exp": now + 86_400 })
}

both! {
    async fn only_a_valid_id_token_signs_in(server: TestServer) {
        let (server, provider) = open(&server).await;
        let (signer, keys) = key("one");
        provider.with(|answers| answers.keys = keys);
        let issuer = provider.with(|answers| answers.issuer.clone());
        let lies: [(&str, Value); 9] = [
            ("another sign-in", json!({ "nonce": "made up" })),
            ("no nonce", json!({ "nonce": null })),
            ("another audience", json!({ "aud": "other" })),
            ("a second audience", json!({ "aud": ["tidemark", "other"] })),
            ("another issuer", json!({ "iss": "https://example.org" })),
            ("expired", json!({ "exp": get_current_timestamp() - 3_600 })),
            ("no expiry", json!({ "exp": null })),
            ("another access token", json!({ "at_hash": "AAAA" })),
            ("another subject", json!({ "sub": "eve" })),
        ];
        for (what, lie) in lies {
            let answer = sign_in(&server, &provider, |nonce| {
                let mut claims = claims(&issuer, nonce);
                claims.as_object_mut().unwrap().extend(lie.as_object().unwrap().clone());
                claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
                Some(sign(&signer, Algorithm::ES256, &claims))
            })
            .await;
            assert_eq!(answer.status, 401, "{what}: {}", answer.body);
            assert_eq!(answer.body["message"], "Example rejected the sign-in; start again.", "{what}");
        }
        let (stranger, _) = key("one");
        let secret = EncodingKey::from_secret(b"s3:cret");
        for (what, key, algorithm) in
            [("another key", &stranger, Algorithm::ES256), ("the client secret", &secret, Algorithm::HS256)]
        {
            let answer =
                sign_in(&server, &provider, |nonce| Some(sign(key, algorithm, &claims(&issuer, nonce)))).await;
            assert_eq!(answer.status, 401, "{what}: {}", answer.body);
        }
        sign_in(&server, &provider, |_| None).await.expect(401);
        assert_eq!(server.get("/v0/server/setup", "").await.body["accounts"], "none");

        let good = |nonce: &str| Some(sign(&signer, Algorithm::ES256, &claims(&issuer, nonce)));
        let answer = sign_in(&server, &provider, good).await.expect(202);
        assert_eq!(answer.body["user"]["user"]["slug"], "ada-lovelace");
    }

    async fn an_odd_subject_opens_no_account(server: TestServer) {
        let (server, provider) = open(&server).await;
        let (signer, keys) = key("one");
        provider.with(|answers| answers.keys = keys);
        let issuer = provider.with(|answers| answers.issuer.clone());
        let sign_in_as = async |subject: Value| {
            provider.with(|answers| answers.subject = subject.clone());
            sign_in(&server, &provider, |nonce| {
                let mut claims = claims(&issuer, nonce);
                claims["sub"] = subject;
                Some(sign(&signer, Algorithm::ES256, &claims))
            })
            .await
        };
        let mut lines = Vec::new();
        for (what, subject) in [
            ("empty", json!("")),
            ("256 characters", json!("s".repeat(256))),
            ("a megabyte", json!("s".repeat(1_000_000))),
            ("a line break", json!("ada\nben")),
            ("a NUL", json!("ada\0")),
            ("an escape", json!("\u{1b}[31mada")),
            ("beyond ASCII", json!("\u{e4}da")),
            ("a number", json!(5)),
            ("a list", json!(["ada"])),
            ("null", Value::Null),
        ] {
            lines.push(format!("{what}: {}", sign_in_as(subject).await.line()));
        }
        assert_snapshot!("openid_odd_subjects", lines.join("\n"));
        assert_eq!(server.get("/v0/server/setup", "").await.body["accounts"], "none");
        sign_in_as(json!("s".repeat(255))).await.expect(202);
    }

    async fn the_client_authenticates_as_the_provider_asks(server: TestServer) {
        let (server, provider) = open(&server).await;
        let (signer, keys) = key("one");
        provider.with(|answers| answers.keys = keys);
        let issuer = provider.with(|answers| answers.issuer.clone());
        let good = |nonce: &str| Some(sign(&signer, Algorithm::ES256, &claims(&issuer, nonce)));
        sign_in(&server, &provider, good).await.expect(202);
        let (authorization, form) = provider.with(|answers| answers.exchanged.clone());
        // `tidemark:s3%3Acret`.
        assert_eq!(authorization, "Basic dGlkZW1hcms6czMlM0FjcmV0");
        assert_eq!((&*form["grant_type"], &*form["code"]), ("authorization_code", "c0de"));
        assert!(form.contains_key("code_verifier") && !form.contains_key("client_secret"));

        provider.with(|answers| answers.in_body_only = true);
        sign_in(&server, &provider, good).await.expect(202);
        let (authorization, form) = provider.with(|answers| answers.exchanged.clone());
        assert_eq!((&*authorization, &*form["client_secret"]), ("", "s3:cret"));
    }

    async fn a_provider_that_names_another_issuer_is_not_asked(server: TestServer) {
        let (server, provider) = open(&server).await;
        provider.with(|answers| answers.issuer = "https://example.org".to_owned());
        let request = Request::builder().uri(PATH).header("x-tidemark-console", "1");
        let answer = server.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.body["message"], "Example does not respond; try again, or sign in with a mailed link.");
    }
}
