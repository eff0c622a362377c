//! `/v0/runners`, without the channel of runners.

use insta::assert_snapshot;
use serde_json::json;

use crate::{both, spec::spec};

both! {
    async fn a_runner_is_made_and_changed(server: TestServer) {
        let ada = server.person("Ada").await;
        let made = server.post("/v0/runners", &ada.token, json!({ "name": "Box 1" })).await.expect(201);
        let key = made.text("/key");
        assert_eq!(key.len(), 45);
        let secret = key.strip_prefix("svc_runner_").unwrap();
        assert!(secret.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{key}");
        let path = format!("/v0/runners/{}", made.text("/uuid"));
        assert_snapshot!("runner_view", server.show(&server.get(&path, &ada.token).await));
        let same = server.post("/v0/runners", &ada.token, json!({ "name": "box 1" })).await;
        assert_snapshot!("runner_slug_taken", server.show(&same));
        server.post("/v0/runners", &ada.token, json!({ "name": "Box 1", "slug": "other" })).await.expect(201);
        server.pass(1);
        let changed = json!({ "name": "Box 2", "slug": "box-2", "archived": true });
        assert_snapshot!("runner_change", server.show(&server.patch(&path, &ada.token, changed).await));
        let refused = server.post(&format!("{path}/key"), &ada.token, json!(null)).await;
        assert_snapshot!("runner_archived_key", server.show(&refused));
        let list = async |query: &str| server.get(&format!("/v0/runners?{query}"), &ada.token).await.expect(200);
        assert_eq!(list("").await.each("slug"), ["other"]);
        assert_eq!(list("archived=true").await.each("slug"), ["box-2"]);
        server.patch(&path, &ada.token, json!({ "archived": false })).await.expect(200);
        assert_eq!(list("sort=created&direction=asc").await.each("slug"), ["box-2", "other"]);
        assert_eq!(list("search=OX%202").await.each("slug"), ["box-2"]);
        let renewed = server.post(&format!("{path}/key"), &ada.token, json!(null)).await.expect(201);
        assert_ne!(renewed.text("/key"), key);
        assert_eq!(renewed.text("/uuid"), made.text("/uuid"));
        // A runner's key is not a credential of the API.
        server.get("/v0/runners", &renewed.text("/key")).await.expect(401);
    }

    async fn a_users_key_creates_no_runner_key(server: TestServer) {
        let ada = server.person("Ada").await;
        server.post("/v0/runners", &ada.token, json!({ "name": "Box" })).await.expect(201);
        let made = server.post("/v0/users/ada/keys", &ada.token, json!({ "name": "CI" })).await.expect(201);
        let key = made.text("/key");
        let refused = server.post("/v0/runners", &key, json!({ "name": "Other" })).await;
        assert_snapshot!("runner_by_key", server.show(&refused));
        let renewed = server.post("/v0/runners/box/key", &key, json!(null)).await;
        assert_eq!(renewed.line(), refused.line());
        assert_eq!(server.get("/v0/runners", &key).await.each("slug"), ["box"]);
    }

    async fn a_runner_does_jobs_for_specs(server: TestServer) {
        let ada = server.person("Ada").await;
        let (one, two) = (spec(&server, &ada, "One", json!({})).await, spec(&server, &ada, "Two", json!({})).await);
        server.post("/v0/runners", &ada.token, json!({ "name": "Box" })).await.expect(201);
        let specs = "/v0/runners/box/specs";
        let add = async |spec: &str| server.post(specs, &ada.token, json!({ "spec": spec })).await;
        assert_eq!(add("two").await.expect(201).text("/uuid"), two);
        assert_eq!(add(&one).await.expect(201).text("/slug"), "one");
        assert_snapshot!("runner_spec_twice", server.show(&add("one").await));
        add("missing").await.expect(404);
        let list = server.get(specs, &ada.token).await.expect(200);
        assert_eq!((list.each("name"), list.total()), (vec!["One".to_owned(), "Two".to_owned()], 2));
        let runner = server.get("/v0/runners/box", &ada.token).await.expect(200);
        assert_eq!(runner.body["specs"], json!([one, two]));
        assert_snapshot!("spec_in_use", server.show(&server.delete("/v0/specs/one", &ada.token).await));
        server.delete(&format!("{specs}/one"), &ada.token).await.expect(204);
        server.delete(&format!("{specs}/one"), &ada.token).await.expect(404);
        server.delete("/v0/specs/one", &ada.token).await.expect(204);
        server.patch("/v0/specs/two", &ada.token, json!({ "archived": true })).await.expect(200);
        add("two").await.expect(404);
    }
}
