//! Responses before the end of a request body: a client that writes the whole body first can still read them.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
};

use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_server::transport::router::router;

use crate::{PATIENCE, TestServer, both, registry::client::Client};

/// More than the buffers of both sockets hold.
const BODY: usize = 16 * 1024 * 1024;

/// Serves the app on a port and returns its address.
async fn listen(server: &TestServer) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = router(server.app.clone()).into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(axum::serve(listener, router).into_future());
    address
}

/// Writes a request with a large body and only then reads the response. Returns its status and body.
fn send(stream: &mut TcpStream, head: &str, body: &[u8]) -> (u16, Vec<u8>) {
    write!(stream, "{head}\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    let answer = String::from_utf8(answer).unwrap().to_lowercase();
    let length = answer
        .split("content-length: ")
        .nth(1)
        .map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), body)
}

both! {
    async fn an_early_answer_reaches_a_client_that_still_writes(server: TestServer) {
        let ada = server.person("Ada").await;
        server.project(&ada, json!({ "name": "Lab" })).await;
        let client = Client::user(&server, &ada).await;
        let token = client.token("lab").await;
        let begun = client.call("POST /v2/lab/blobs/uploads/", &[], b"").await.expect(202);
        let place = begun.headers["location"].to_str().unwrap().to_owned();
        let address = listen(&server).await;
        let bearer = format!("authorization: Bearer {token}");
        let heads = [
            format!("PATCH {place} HTTP/1.1\r\n{bearer}\r\ncontent-range: 5-{}", BODY + 4),
            format!("PATCH {place} HTTP/1.1"),
            format!("PATCH /v2/lab/blobs/uploads/nonsense HTTP/1.1\r\n{bearer}"),
            format!("PUT /v2/lab/manifests/v1 HTTP/1.1\r\n{bearer}"),
            "POST /v2/Lab/blobs/uploads/ HTTP/1.1".to_owned(),
            "POST /v0/auth/login HTTP/1.1\r\ncontent-type: application/json".to_owned(),
            "POST /v0/auth/login HTTP/1.1\r\ncontent-type: text/plain".to_owned(),
            "POST /v0/nothing HTTP/1.1".to_owned(),
            "POST /v0/../nothing HTTP/1.1".to_owned(),
            "POST /healthz HTTP/1.1".to_owned(),
        ];
        let lines = tokio::task::spawn_blocking(move || {
            let body = vec![b' '; BODY];
            let mut lines = Vec::new();
            for head in heads {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                let (status, answer) = send(&mut stream, &head, &body);
                let answer: Value = serde_json::from_slice(&answer).unwrap();
                let code = answer.pointer("/errors/0/code").unwrap_or(&answer["error_code"]);
                let line = head.lines().next().unwrap();
                lines.push(format!("{}: {status} {code}", line.replace(&place, "<upload>")));
                // The connection still works.
                assert_eq!(send(&mut stream, "GET /healthz HTTP/1.1", b""), (200, b"ok\n".to_vec()), "{line}");
            }
            lines.join("\n")
        });
        assert_snapshot!("early_answers", lines.await.unwrap());
    }

    async fn a_client_that_waits_for_leave_need_not_send(server: TestServer) {
        let address = listen(&server).await;
        let answer = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let head = "POST /v0/nothing HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        });
        let answer = answer.await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    }
}
