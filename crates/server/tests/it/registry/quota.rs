//! Quotas of transfer and storage in the registry.

use std::iter;

use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::json;

use super::{Client, digest, line, location, owner};
use crate::{Answer, both};

/// Returns the number of responses per status, sorted by status.
fn statuses(answers: &[Answer]) -> Vec<(u16, usize)> {
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
    statuses.sort_unstable();
    statuses.chunk_by(|one, other| one == other).map(|alike| (alike[0], alike.len())).collect()
}

/// Pushes a blob of 100 bytes to each repository concurrently. All blobs differ; the bytes of the first are `first`.
async fn push_at_once(client: &Client<'_>, repositories: &[String], first: u8) -> Vec<Answer> {
    let pushes = (first..).zip(repositories).map(async |(number, repository)| {
        let token = client.token(repository).await;
        let blob = [number; 100];
        let line = format!("POST /v2/{repository}/blobs/uploads/?digest={}", digest(&blob));
        client.call_with(&token, &line, &[], &blob).await
    });
    join_all(pushes).await
}

both! {
    async fn traffic_is_limited_by_the_day(server: TestServer = "
        [plus.rate_limiting.oci_bandwidth]
        unclaimed = 10
        free = 20
    ") {
        let ada = owner(&server).await;
        let blob = ada.push_blob("lab", b"123456789012").await;
        ada.call(&format!("GET /v2/lab/blobs/{blob}"), &[], b"").await.expect(200);
        let refused = ada.call(&format!("GET /v2/lab/blobs/{blob}"), &[], b"").await;
        assert_snapshot!("registry_traffic", line(&refused));
        assert_eq!(refused.headers["retry-after"], "86400");
        ada.call(&format!("HEAD /v2/lab/blobs/{blob}"), &[], b"").await.expect(200);
        assert_eq!(ada.status("PUT /v2/lab/manifests/x").await, 429);
        let anybody = Client::anonymous(&server);
        anybody.push_blob("open", b"1234567890").await;
        assert_eq!(anybody.status(&format!("POST /v2/open/blobs/uploads/?digest={blob}")).await, 429);
        server.pass(86_401);
        ada.call(&format!("GET /v2/lab/blobs/{blob}"), &[], b"").await.expect(200);
    }

    async fn an_organization_has_so_much_room(server: TestServer = "[plus.registry]\nmax_organization_size = 400") {
        let ada = owner(&server).await;
        ada.push_blob("lab", &[b'a'; 300]).await;
        ada.push_blob("lab/twice", &[b'a'; 300]).await;
        let other = digest(&[b'b'; 300]);
        let refused = ada.call(&format!("POST /v2/lab/blobs/uploads/?digest={other}"), &[], &[b'b'; 300]).await;
        assert_eq!(line(&refused), "403 DENIED Quota exceeded: the images of an organization may use 400 bytes on this server; delete images first.");
        assert_eq!(server.objects(), 1);
        let session = server.login("ada@example.org").await;
        let usage = server.get("/v0/organizations/ada/usage", &session).await.expect(200);
        assert_eq!(usage.body["stored_bytes"], json!(300));
    }

    async fn pushes_at_once_stay_within_the_quota(server: TestServer = "[plus.registry]\nmax_organization_size = 450") {
        let ada = owner(&server).await;
        let repositories: Vec<_> = (0..16).map(|number| format!("lab/{}", number % 4)).collect();
        assert_eq!(statuses(&push_at_once(&ada, &repositories, 0).await), [(201, 4), (403, 12)]);
        let session = server.login("ada@example.org").await;
        let usage = async || {
            server.get("/v0/organizations/ada/usage", &session).await.expect(200).body["stored_bytes"].clone()
        };
        assert_eq!((usage().await, server.objects()), (json!(400), 4));

        // Chunks of unfinished uploads count as well.
        let token = ada.token("lab/0").await;
        let mut uploads = Vec::new();
        for _ in 0..8 {
            let begun = ada.call_with(&token, "POST /v2/lab/0/blobs/uploads/", &[], b"").await.expect(202);
            uploads.push(location(&begun));
        }
        let lines: Vec<_> = uploads.iter().map(|upload| format!("PATCH {upload}")).collect();
        let chunks = lines.iter().map(|line| ada.call_with(&token, line, &[], &[b'x'; 20]));
        assert_eq!(statuses(&join_all(chunks).await), [(202, 2), (403, 6)]);
        assert_eq!(server.objects(), 6);
    }

    async fn pushes_to_unclaimed_projects_at_once_stay_within_their_quotas(server: TestServer = "
        [access.unclaimed]
        image_bytes = 3300
        total_image_bytes = 12000
    ") {
        let anybody = Client::anonymous(&server);
        let one: Vec<_> = iter::repeat_n("one".to_owned(), 8).collect();
        assert_eq!(statuses(&push_at_once(&anybody, &one, 0).await), [(201, 2), (403, 6)]);
        let many: Vec<_> = (0..12).map(|number| format!("loose-{number}")).collect();
        assert_eq!(statuses(&push_at_once(&anybody, &many, 100).await), [(201, 4), (403, 8)]);
        assert_eq!(server.objects(), 6);
    }
}
