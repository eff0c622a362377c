//! Retention of the registry: deletes unused data, and nothing else.

use serde_json::json;
use tidemark_store::{Error, Tx};

use super::{Client, IMAGE, digest, image, location, owner};
use crate::{TestServer, both, until};

impl TestServer {
    /// Advances the clock by hours until the registry has been cleared: a cleanup that still runs is not started
    /// again.
    pub(crate) async fn clear(&self, objects: usize) {
        let mut looks = 0;
        until(&format!("the registry is not cleared down to {objects} objects"), async || {
            // Advances only occasionally: sessions must not expire on a slow machine.
            if looks % 100 == 0 {
                self.pass(3601);
                self.app.background.wake();
            }
            looks += 1;
            (self.objects() == objects).then_some(())
        })
        .await;
    }

    async fn rows(&self, table: &'static str) -> i64 {
        let count = move |tx: &mut Tx<'_>| tx.value(&format!("select count(*) from {table}"), &[]);
        self.app.db.read::<_, Error, _>(count).await.unwrap()
    }
}

both! {
    async fn what_is_left_alone_goes(server: TestServer) {
        let ada = owner(&server).await;
        let kept = ada.push_image("lab", "v1", b"layer").await;
        let loose = ada.push_blob("lab", b"loose").await;
        let place = location(&ada.call("POST /v2/lab/blobs/uploads/", &[], b"").await);
        ada.call(&format!("PATCH {place}"), &[], b"begun").await.expect(202);
        assert_eq!(server.objects(), 4);
        server.clear(2).await;
        assert_eq!(ada.status(&format!("GET {place}")).await, 404);
        assert_eq!(ada.status(&format!("HEAD /v2/lab/blobs/{loose}")).await, 404);
        assert_eq!(ada.status(&format!("GET /v2/lab/blobs/{}", digest(b"layer"))).await, 200);
        // The blobs of a manifest are deleted one hour after the manifest.
        ada.call(&format!("DELETE /v2/lab/manifests/{kept}"), &[], b"").await.expect(202);
        server.clear(0).await;
        assert_eq!((server.rows("blob").await, server.rows("repository_blob").await), (0, 0));
    }

    async fn a_checked_blob_is_kept_for_the_push(server: TestServer) {
        let ada = owner(&server).await;
        ada.push_blob("lab", b"{}").await;
        let layer = ada.push_blob("lab", b"layer").await;
        server.pass(2000);
        assert_eq!(ada.status(&format!("HEAD /v2/lab/blobs/{layer}")).await, 200);
        assert_eq!(ada.status(&format!("HEAD /v2/lab/blobs/{}", digest(b"{}"))).await, 200);
        server.pass(1700);
        ada.push_blob("lab/a", b"to be waited for").await;
        server.app.background.wake();
        ada.push_manifest("lab", "v1", IMAGE, &image(b"{}", b"layer")).await;
        server.clear(2).await;
        assert_eq!(ada.status(&format!("GET /v2/lab/blobs/{layer}")).await, 200);
    }

    async fn a_deleted_project_takes_its_images_along(server: TestServer) {
        let ada = server.person("Ada").await;
        for name in ["Soft", "Hard", "Kept"] {
            server.project(&ada, json!({ "name": name })).await;
        }
        let client = Client::user(&server, &ada).await;
        client.push_image("soft/a", "v1", b"soft").await;
        client.push_image("hard", "v1", b"hard").await;
        client.push_image("kept", "v1", b"shared").await;
        client.push_image("hard/b", "v1", b"shared").await;
        assert_eq!(server.objects(), 4);
        server.delete("/v0/projects/soft", &ada.token).await.expect(204);
        server.delete("/v0/projects/hard?hard=true", &ada.token).await.expect(204);
        server.clear(2).await;
        assert_eq!(client.status(&format!("GET /v2/kept/blobs/{}", digest(b"shared"))).await, 200);
        assert_eq!((server.rows("repository").await, server.rows("manifest").await), (1, 1));
    }

    async fn what_crashes_have_left_is_found(server: TestServer) {
        let ada = owner(&server).await;
        ada.push_image("lab", "v1", b"layer").await;
        let place = location(&ada.call("POST /v2/lab/blobs/uploads/", &[], b"").await);
        ada.call(&format!("PATCH {place}"), &[], b"begun").await.expect(202);
        let folder = server.folder().join("registry/objects/00");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("01900000-0000-7000-8000-000000000000"), "stray").unwrap();
        std::fs::write(folder.join("01900000-0000-7000-8000-000000000001#1"), "unfinished").unwrap();
        // The files have the time of the machine, which is far ahead of the server's clock.
        server.pass(10 * 365 * 86_400);
        server.clear(2).await;
    }
}
