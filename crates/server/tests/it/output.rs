//! The upload of job output that is too large: each client can read the 413.

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_api::channel::OUTPUT_MAX;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    PATIENCE, both,
    channel::{Runner, enlist, listen},
    job::{ask, set_up},
};

/// Sends the head of an upload and this number of chunks of its body, and returns the status line and the body of the
/// response. Like simple clients, it reads only after everything is sent.
async fn upload(address: std::net::SocketAddr, head: &str, chunks: u64) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = [b"100000\r\n".as_slice(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    for _ in 0..chunks {
        stream.write_all(&chunk).await.unwrap();
    }
    if chunks > 0 {
        stream.write_all(b"0\r\n\r\n").await.unwrap();
    }
    let mut answer = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    format!("{} {}", answer.lines().next().unwrap(), body["message"].as_str().unwrap())
}

both! {
    async fn an_output_over_the_limit_is_rejected_before_its_body_or_after_all_of_it(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let uuid = ask(&server, &ada, json!({})).await;
        runner.begin().await;
        let head = |more: &str| {
            format!(
                "PUT /v0/runners/box/jobs/{uuid}/output HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
                 content-type: application/json\r\nconnection: close\r\n{more}\r\n\r\n"
            )
        };
        let announced = head(&format!("content-length: {}\r\nexpect: 100-continue", OUTPUT_MAX + 1));
        let before = upload(address, &announced, 0).await;
        assert_snapshot!("output_too_large", before);
        let after = upload(address, &head("transfer-encoding: chunked"), (OUTPUT_MAX >> 20) + 16).await;
        assert_eq!(after, before);
        // The job can still end.
        let failed = json!({ "event": "failed", "job": uuid, "error": "Too much output.", "results": [] });
        assert_eq!(runner.say(failed).await.get("refused"), None);
        let job = server.until(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token, "failed").await;
        assert_eq!(job.text("/output/error"), "Too much output.");
    }

    async fn an_empty_output_and_too_many_results_are_refused(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let uuid = ask(&server, &ada, json!({})).await;
        runner.begin().await;
        let path = format!("/v0/runners/box/jobs/{uuid}/output");
        let empty = server.call(Method::PUT, &path, &key, None).await;
        let many = server.put(&path, &key, json!({ "results": vec![json!({ "exit_code": 0 }); 1_001] })).await;
        assert_snapshot!("output_refused", format!("{}\n{}", empty.line(), many.line()));
        server.put(&path, &key, json!({ "results": [{ "exit_code": 0 }] })).await.expect(204);
    }
}
