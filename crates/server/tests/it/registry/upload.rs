//! The cost of an upload for the server: memory, slots, time, and files that only their owner can read.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes},
    http::{Request, header},
};
use futures_util::Stream;
use insta::assert_snapshot;
use tidemark_server::{
    App,
    infra::config::{Config, Flags},
};
use tokio::sync::mpsc;

use super::{digest, line, owner, show};
use crate::{Answer, Engine, TestServer, both, until};

/// A body that arrives in pieces, and counts how often the server has waited for more.
struct Slow {
    pieces: mpsc::Receiver<Bytes>,
    waits: Arc<Mutex<usize>>,
}

impl Stream for Slow {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.pieces.poll_recv(context);
        if polled.is_pending() {
            *self.waits.lock().unwrap() += 1;
        }
        polled.map(|piece| piece.map(Ok))
    }
}

/// An upload whose body the test sends.
pub(super) struct Feed {
    pieces: mpsc::Sender<Bytes>,
    waits: Arc<Mutex<usize>>,
}

impl Feed {
    pub(super) fn new() -> (Self, Body) {
        let (sender, pieces) = mpsc::channel(8);
        let waits = Arc::<Mutex<usize>>::default();
        let body = Body::from_stream(Slow { pieces, waits: Arc::clone(&waits) });
        (Self { pieces: sender, waits }, body)
    }

    pub(super) fn send(&self, bytes: Vec<u8>) {
        self.pieces.try_send(bytes.into()).unwrap();
    }

    /// Waits until the server has read everything and waits for more.
    async fn until_waiting(&self) {
        until("the server does not wait for the body", async || {
            (*self.waits.lock().unwrap() > 0).then_some(())
        })
        .await;
    }
}

pub(super) fn post(token: &str, digest: &str, body: Body) -> Request<Body> {
    Request::post(format!("/v2/lab/blobs/uploads/?digest={digest}"))
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .body(body)
        .unwrap()
}

/// Returns all files and folders below a folder, and the folder itself.
pub(super) fn tree(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        if path.is_dir() {
            found.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn assert_private(folder: &Path) {
    for path in tree(folder) {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
}

both! {
    async fn bytes_go_to_disk_as_they_arrive(server: TestServer) {
        const SIZE: usize = 1024 * 1024;
        let ada = owner(&server).await;
        let token = ada.token("lab").await;
        let blob = vec![7; SIZE + 5];
        let (feed, body) = Feed::new();
        let upload = server.send(post(&token, &digest(&blob), body));
        let objects = server.folder().join("registry/objects");
        let check = async {
            // Pieces of every size, the smallest first.
            feed.send(blob[..1].to_vec());
            feed.send(blob[1..100_000].to_vec());
            feed.send(blob[100_000..SIZE].to_vec());
            until("the bytes do not go to disk", async || {
                let written = tree(&objects).iter().any(|path| path.is_file() && fs::metadata(path).unwrap().len() == SIZE as u64);
                (objects.exists() && written).then_some(())
            })
            .await;
            assert_private(&server.folder().join("registry"));
            feed.send(blob[SIZE..].to_vec());
            drop(feed);
        };
        let (answer, ()) = tokio::join!(upload, check);
        answer.expect(201);
        assert_private(&server.folder().join("registry"));
        let read = ada.call(&format!("HEAD /v2/lab/blobs/{}", digest(&blob)), &[], b"").await.expect(200);
        assert_eq!(read.headers["content-length"], (SIZE + 5).to_string());
    }

    async fn an_upload_that_is_given_up_leaves_no_file(server: TestServer) {
        let ada = owner(&server).await;
        let token = ada.token("lab").await;
        let (feed, body) = Feed::new();
        let upload = server.send(post(&token, &digest(b"x"), body));
        let objects = server.folder().join("registry/objects");
        feed.send(vec![7; 200_000]);
        let written = until("nothing is written", async || (objects.exists() && server.objects() == 1).then_some(()));
        tokio::select! {
            _ = upload => panic!("the upload has ended"),
            () = written => {}
        }
        until("the file is not deleted", async || (server.objects() == 0).then_some(())).await;
    }

    async fn uploads_at_once_are_limited(server: TestServer = "[plus.registry]\nmax_uploads = 2\nmax_uploads_per_address = 1") {
        let ada = owner(&server).await;
        let token = ada.token("lab").await;
        let small = async |address: [u16; 8]| {
            server.call_from(address);
            server.send(post(&token, &digest(b"small"), Body::from("small"))).await
        };
        let (first, body) = Feed::new();
        server.call_from([0x2001, 0xdb8, 1, 2, 0, 0, 0, 1]);
        let first_upload = server.send(post(&token, &digest(b"first"), body));
        let check = async {
            first.until_waiting().await;
            // Another address of the same network, then another network.
            let refused = small([0x2001, 0xdb8, 1, 2, 0xffff, 0, 0, 2]).await;
            assert_snapshot!("upload_limited_by_address", limited(&server, &refused));
            small([0x2001, 0xdb8, 1, 3, 0, 0, 0, 1]).await.expect(201);
            let (second, body) = Feed::new();
            server.call_from([0x2001, 0xdb8, 1, 4, 0, 0, 0, 1]);
            let second_upload = server.send(post(&token, &digest(b"second"), body));
            let check = async {
                second.until_waiting().await;
                let refused = small([0x2001, 0xdb8, 1, 5, 0, 0, 0, 1]).await;
                assert_snapshot!("upload_limited_in_total", limited(&server, &refused));
                // Requests without a body need no slot.
                ada.call_with(&token, "POST /v2/lab/blobs/uploads/", &[], b"").await.expect(202);
                second.send(b"second".to_vec());
                drop(second);
            };
            tokio::join!(second_upload, check).0.expect(201);
            first.send(b"first".to_vec());
            drop(first);
        };
        tokio::join!(first_upload, check).0.expect(201);
        small([0x2001, 0xdb8, 1, 2, 0xffff, 0, 0, 2]).await.expect(201);
    }
}

fn limited(server: &TestServer, answer: &Answer) -> String {
    format!("{}\nretry-after: {}", show(server, answer), answer.headers["retry-after"].to_str().unwrap())
}

/// On one thread, because the runtime can pause its clock only there.
async fn a_slow_upload_ends(engine: Engine) {
    let server = TestServer::start(engine).await;
    let ada = owner(&server).await;
    let token = ada.token("lab").await;
    let (feed, body) = Feed::new();
    let upload = server.send(post(&token, &digest(b"slow"), body));
    let check = async {
        feed.send(b"sl".to_vec());
        feed.until_waiting().await;
        // From here on, the clock advances immediately when all tasks wait.
        tokio::time::pause();
    };
    let (answer, ()) = tokio::join!(upload, check);
    tokio::time::resume();
    assert_eq!(answer.headers[header::CONNECTION], "close");
    assert_eq!(
        line(&answer),
        "408 BLOB_UPLOAD_INVALID The upload is too slow: fewer than 131072 bytes arrived within 30 seconds; send it again."
    );
    until("the file is not deleted", async || (server.objects() == 0).then_some(())).await;
    drop(feed);
}

#[tokio::test]
async fn a_slow_upload_ends_on_sqlite() {
    a_slow_upload_ends(Engine::Sqlite).await;
}

#[tokio::test]
async fn a_slow_upload_ends_on_postgres() {
    a_slow_upload_ends(Engine::Postgres).await;
}

#[tokio::test]
async fn files_that_others_can_read_are_made_private_at_start() {
    let server = TestServer::start(Engine::Sqlite).await;
    let ada = owner(&server).await;
    let blob = ada.push_blob("lab", b"blob").await;
    let registry = server.folder().join("registry");
    for path in tree(&registry) {
        let wide = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(wide)).unwrap();
    }
    // A link out of the folder is not followed.
    let outside = server.folder().join("outside");
    fs::write(&outside, "x").unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink(&outside, registry.join("link")).unwrap();
    server.app.close().await;
    let flags = Flags { data_dir: Some(server.folder().to_owned()), ..Flags::default() };
    let app = App::open(Config::load(None, [], &flags).unwrap()).await.unwrap();
    fs::remove_file(registry.join("link")).unwrap();
    assert_private(&registry);
    assert_eq!(mode(&outside), 0o644);
    assert!(!blob.is_empty());
    app.close().await;
}
