//! How much may go through the registry, and stay in it.

use insta::assert_snapshot;
use serde_json::json;

use super::{Client, digest, line, owner};
use crate::both;

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
        assert_eq!(line(&refused), "403 DENIED The images of an organization may take 400 bytes on this server, and this one is too many; delete others first.");
        assert_eq!(server.objects(), 1);
        let session = server.login("ada@example.org").await;
        let usage = server.get("/v0/organizations/ada/usage", &session).await.expect(200);
        assert_eq!(usage.body["stored_bytes"], json!(300));
    }
}
