//! Aborted uploads with images on S3. The tests of the binary test complete uploads with a real S3 server.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};

use super::{
    digest, owner,
    upload::{Feed, post, tree},
};
use crate::{Engine, TestServer, until};

/// Size of a part, the minimum of S3.
const PART: usize = 5 << 20;

/// A mock S3 that accepts parts: records its requests, with the bytes of each part.
#[derive(Clone, Default)]
struct Bucket(Arc<Mutex<Vec<String>>>);

impl Bucket {
    async fn open() -> (Self, String) {
        let bucket = Self::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .fallback(take)
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(bucket.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (bucket, address)
    }

    /// Returns the requests that change data; the server also lists objects to find those without a row.
    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().filter(|line| !line.starts_with("GET")).cloned().collect()
    }
}

async fn take(State(bucket): State<Bucket>, method: Method, uri: Uri, body: Bytes) -> Response {
    let query = uri.query().unwrap_or_default().trim_end_matches('=').to_owned();
    bucket.0.lock().unwrap().push(format!("{method} {query} {}", body.len()));
    match method {
        Method::POST => {
            "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>one</UploadId>\
                         </InitiateMultipartUploadResult>"
                .into_response()
        }
        Method::PUT => {
            HeaderMap::from_iter([(axum::http::header::ETAG, HeaderValue::from_static("\"part\""))])
                .into_response()
        }
        Method::DELETE => StatusCode::NO_CONTENT.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_to_s3_that_is_given_up_leaves_nothing() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let (bucket, address) = Bucket::open().await;
        let settings = format!(
            "[plus.registry.data_store]\nservice = \"aws_s3\"\nbucket = \"images\"\nendpoint = \"{address}\"\n\
             region = \"us-east-1\"\naccess_key_id = \"test\"\nsecret_access_key = \"test\"\n"
        );
        let server = TestServer::start_with(engine, &settings).await;
        let ada = owner(&server).await;
        let token = ada.token("lab").await;
        let (feed, body) = Feed::new();
        let upload = server.send(post(&token, &digest(b"x"), body));
        // One part is sent, and the start of the next part waits in the spool.
        feed.send(vec![7; PART + 200_000]);
        let part = format!("PUT partNumber=1&uploadId=one {PART}");
        let sent = until("no part is sent", async || bucket.asked().contains(&part).then_some(()));
        tokio::select! {
            _ = upload => panic!("the upload has ended"),
            () = sent => {}
        }
        let aborted = "DELETE uploadId=one 0".to_owned();
        until("the upload is not aborted", async || bucket.asked().contains(&aborted).then_some(())).await;
        assert_eq!(bucket.asked(), ["POST uploads 0".to_owned(), part, aborted]);
        let spool = server.folder().join("spool");
        assert_eq!(tree(&spool).len(), 1, "the spool has no name in the file system");
        assert!(!server.folder().join("registry").exists());
    }
}
