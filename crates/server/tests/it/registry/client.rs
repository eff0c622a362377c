//! A client of the registry, and images for it.

use axum::{
    body::Body,
    http::{Request, header},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{Answer, Person, TestServer};

pub(crate) const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A client that pushes and pulls.
pub(crate) struct Client<'a> {
    pub(crate) server: &'a TestServer,
    /// User name and password, if any.
    login: Option<(String, String)>,
}

impl<'a> Client<'a> {
    /// Creates a client without a login.
    pub(crate) fn anonymous(server: &'a TestServer) -> Self {
        Self { server, login: None }
    }

    /// Creates a client with a user name and a password.
    pub(crate) fn login(server: &'a TestServer, name: &str, password: &str) -> Self {
        Self { server, login: Some((name.to_owned(), password.to_owned())) }
    }

    /// Creates a client for a user, with a new key.
    pub(crate) async fn user(server: &'a TestServer, person: &Person) -> Self {
        let path = format!("/v0/users/{}/keys", person.slug);
        let key =
            server.post(&path, &person.token, json!({ "name": "docker" })).await.expect(201).text("/key");
        Self::login(server, &person.email, &key)
    }

    /// Requests a token.
    pub(crate) async fn get_token(&self, query: &str) -> Answer {
        let mut request = Request::get(format!("/v0/auth/oci/token?{query}"));
        if let Some((name, password)) = &self.login {
            let coded = STANDARD.encode(format!("{name}:{password}"));
            request = request.header(header::AUTHORIZATION, format!("Basic {coded}"));
        }
        self.server.send(request.body(Body::empty()).unwrap()).await
    }

    /// Returns a token with all rights in a repository.
    pub(crate) async fn token(&self, repository: &str) -> String {
        self.get_token(&format!("scope=repository:{repository}:*")).await.expect(200).text("/token")
    }

    /// Sends a request with a token for the repository in the path.
    pub(crate) async fn call(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let (_, path) = line.split_once(' ').unwrap();
        let rest = path.strip_prefix("/v2/").unwrap();
        let end = ["/blobs/", "/manifests/", "/tags/", "/referrers/"]
            .iter()
            .filter_map(|word| rest.find(word))
            .min();
        let token = self.token(&rest[..end.unwrap_or(rest.len())]).await;
        self.call_with(&token, line, headers, body).await
    }

    /// Sends a request with this token, or without one if it is empty.
    pub(crate) async fn call_with(
        &self,
        token: &str,
        line: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.server.send(request.body(Body::from(body.to_vec())).unwrap()).await
    }

    /// Pushes a blob in one request and returns its digest.
    pub(crate) async fn push_blob(&self, repository: &str, bytes: &[u8]) -> String {
        let digest = digest(bytes);
        self.call(&format!("POST /v2/{repository}/blobs/uploads/?digest={digest}"), &[], bytes)
            .await
            .expect(201);
        digest
    }

    /// Pushes an image with one layer and returns its digest.
    pub(crate) async fn push_image(&self, repository: &str, tag: &str, layer: &[u8]) -> String {
        let manifest = self.make_image(repository, layer).await;
        self.push_manifest(repository, tag, IMAGE, &manifest).await
    }

    /// Pushes the blobs of an image and returns its manifest.
    pub(crate) async fn make_image(&self, repository: &str, layer: &[u8]) -> Value {
        let config = b"{}";
        self.push_blob(repository, config).await;
        self.push_blob(repository, layer).await;
        image(config, layer)
    }

    /// Pushes a manifest and returns its digest.
    pub(crate) async fn push_manifest(
        &self,
        repository: &str,
        tag: &str,
        kind: &str,
        manifest: &Value,
    ) -> String {
        let body = manifest.to_string();
        let line = format!("PUT /v2/{repository}/manifests/{tag}");
        let answer = self.call(&line, &[("content-type", kind)], body.as_bytes()).await.expect(201);
        assert_eq!(answer.headers["docker-content-digest"], digest(body.as_bytes()));
        digest(body.as_bytes())
    }

    /// Returns the status of a request without a body.
    pub(crate) async fn status(&self, line: &str) -> u16 {
        self.call(line, &[], b"").await.status.as_u16()
    }
}

/// Returns the SHA-256 digest of bytes.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let digits = hex::encode(Sha256::digest(bytes));
    format!("sha256:{digits}")
}

/// Returns the descriptor of bytes for a manifest.
pub(crate) fn descriptor(kind: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": kind, "digest": digest(bytes), "size": bytes.len() })
}

/// Returns the manifest of an image with one layer.
pub(crate) fn image(config: &[u8], layer: &[u8]) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": IMAGE,
        "config": descriptor("application/vnd.oci.image.config.v1+json", config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar", layer)],
    })
}

/// Returns a response of the registry as a text for a snapshot, with everything that clients use.
pub(crate) fn show(server: &TestServer, answer: &Answer) -> String {
    const SHOWN_HEADERS: [&str; 17] = [
        "accept-ranges",
        "allow",
        "content-length",
        "content-range",
        "content-type",
        "docker-content-digest",
        "docker-distribution-api-version",
        "docker-upload-uuid",
        "etag",
        "link",
        "location",
        "oci-chunk-min-length",
        "oci-filters-applied",
        "oci-subject",
        "range",
        "warning",
        "www-authenticate",
    ];
    let mut text = format!("{}\n", answer.status.as_u16());
    for name in SHOWN_HEADERS {
        if let Some(value) = answer.headers.get(name) {
            text.push_str(&format!("{name}: {}\n", value.to_str().unwrap()));
        }
    }
    if !answer.body.is_null() {
        text.push_str(&format!("{:#}\n", answer.body));
    }
    server.redact(&text)
}

/// Returns status, code and message of an error in one line.
pub(crate) fn line(answer: &Answer) -> String {
    let error = &answer.body["errors"][0];
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    let challenge = answer.headers.get(header::WWW_AUTHENTICATE).map_or("", |_| " (challenge)");
    format!("{}{challenge} {} {}", answer.status.as_u16(), text("code"), text("message"))
        .trim_end()
        .to_owned()
}
