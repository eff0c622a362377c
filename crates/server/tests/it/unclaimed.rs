//! Unclaimed organizations: their total storage, and how long they are kept.

use serde_json::json;

use crate::{
    Answer, TestServer, both,
    registry::client::{Client, digest},
    report::{bench, report_body},
    until,
};

const DAY: i64 = 86_400;

/// Sends a run with 32 KiB of results.
async fn send(server: &TestServer, token: &str, project: &str) -> Answer {
    let results = format!("{}{}", " ".repeat(32 << 10), bench(1.0));
    let more = json!({ "project": project, "context": {} });
    server.post("/v0/run", token, report_body(json!([results]), more)).await
}

both! {
    async fn all_unclaimed_projects_hold_so_many_report_bytes(server: TestServer = "[access.unclaimed]\ntotal_report_bytes = 50000") {
        let ada = server.person("Ada").await;
        send(&server, "", "one").await.expect(201);
        let refused = send(&server, "", "two").await.expect(403);
        let message = refused.text("/message");
        let (start, end) = message.split_once(" bytes of reports").unwrap();
        let (start, _) = start.rsplit_once(' ').unwrap();
        let message = format!("{start} … bytes of reports{end}");
        assert_eq!(message, "Quota exceeded: with this report, all unclaimed projects of this server would hold … bytes of reports; the maximum is 50000. Sign in and claim the project, or use a project of your own.");
        server.get("/v0/projects/two", "").await.expect(404);
        // A claimed project no longer counts.
        send(&server, &ada.token, "one").await.expect(201);
        send(&server, "", "two").await.expect(201);
    }

    async fn pushes_keep_an_unclaimed_project_and_its_images(server: TestServer) {
        server.person("Ada").await;
        let anybody = Client::anonymous(&server);
        anybody.push_image("idle", "v1", b"idle").await;
        anybody.push_image("busy", "v1", b"busy").await;
        server.pass(60 * DAY);
        anybody.push_image("busy", "v2", b"busy again").await;
        server.pass(31 * DAY);
        server.app.background.wake();
        until("the idle project is not deleted", async || {
            (server.get("/v0/projects/idle", "").await.status == 404).then_some(())
        })
        .await;
        server.get("/v0/projects/busy", "").await.expect(200);
        // The two layers, and the configuration that both images share.
        server.clear(3).await;
        for layer in [b"busy".as_slice(), b"busy again"] {
            let blob = format!("GET /v2/busy/blobs/{}", digest(layer));
            assert_eq!(anybody.status(&blob).await, 200);
        }
        let left = |tx: &mut tidemark_store::Tx<'_>| {
            tx.fetch_all::<String>("select slug from organization where claimed is null", &[])
        };
        let left: Vec<String> = server.app.db.read::<_, tidemark_store::Error, _>(left).await.unwrap();
        assert_eq!(left, ["busy"]);
        let manifests = |tx: &mut tidemark_store::Tx<'_>| tx.value::<i64>("select count(*) from manifest", &[]);
        assert_eq!(server.app.db.read::<_, tidemark_store::Error, _>(manifests).await.unwrap(), 2);
    }
}
