//! `/v0/specs`

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Person, TestServer, both, report::with};

/// Returns the body of a spec.
pub(crate) fn spec_body(name: &str, more: Value) -> Value {
    let body = json!({
        "name": name, "os": "linux", "architecture": "x86_64", "cpu": 4, "memory": 8_589_934_592_u64,
        "disk": 34_359_738_368_u64,
    });
    with(body, more)
}

/// Creates a spec and returns its UUID.
pub(crate) async fn spec(server: &TestServer, admin: &Person, name: &str, more: Value) -> String {
    server.post("/v0/specs", &admin.token, spec_body(name, more)).await.expect(201).text("/uuid")
}

both! {
    async fn a_spec_is_made_changed_and_deleted(server: TestServer) {
        let ada = server.person("Ada").await;
        let made = server.post("/v0/specs", &ada.token, spec_body("Metal A", json!({ "fallback": true }))).await;
        assert_snapshot!("spec_create", server.show(&made));
        let path = format!("/v0/specs/{}", made.text("/uuid"));
        assert_eq!(server.get(&path, &ada.token).await.expect(200).body, made.body);
        assert_eq!(server.get("/v0/specs/metal-a", &ada.token).await.expect(200).body, made.body);
        let twin = server.post("/v0/specs", &ada.token, spec_body("Metal A", json!({}))).await.expect(201);
        assert_ne!(twin.text("/slug"), "metal-a");
        let taken = format!("/v0/specs/{}", twin.text("/uuid"));
        assert_snapshot!(
            "spec_slug_taken",
            server.show(&server.patch(&taken, &ada.token, json!({ "slug": "metal-a" })).await)
        );
        let renamed = json!({ "name": "Metal B", "slug": "metal-b" });
        assert_snapshot!("spec_rename", server.show(&server.patch(&path, &ada.token, renamed).await));
        server.delete(&path, &ada.token).await.expect(204);
        server.get(&path, &ada.token).await.expect(404);
        let mut lines = Vec::new();
        for wrong in [
            json!({ "os": "beos" }),
            json!({ "architecture": "mips" }),
            json!({ "sandbox": "sand" }),
            json!({ "cpu": 0 }),
            json!({ "memory": 0 }),
            json!({ "disk": -1 }),
            json!({ "name": "" }),
        ] {
            lines.push(server.post("/v0/specs", &ada.token, spec_body("Wrong", wrong)).await.line());
        }
        assert_snapshot!("spec_wrong", lines.join("\n"));
    }

    async fn one_spec_serves_the_jobs_that_name_none(server: TestServer) {
        let ada = server.person("Ada").await;
        let one = spec(&server, &ada, "One", json!({ "fallback": true })).await;
        let two = spec(&server, &ada, "Two", json!({ "fallback": true })).await;
        let fallbacks = async || {
            let list = server.get("/v0/specs", &ada.token).await.expect(200);
            let specs = list.body.as_array().unwrap().clone();
            specs.into_iter().filter(|spec| !spec["fallback"].is_null()).map(|spec| spec["name"].clone()).collect::<Vec<_>>()
        };
        let patch = async |uuid: &str, body| server.patch(&format!("/v0/specs/{uuid}"), &ada.token, body).await;
        assert_eq!(fallbacks().await, ["Two"]);
        patch(&one, json!({ "fallback": true })).await.expect(200);
        assert_eq!(fallbacks().await, ["One"]);
        patch(&two, json!({ "fallback": true, "archived": true })).await.expect(200);
        assert_eq!(fallbacks().await, ["One"], "one that is archived at once takes nothing away");
        assert_snapshot!("spec_archived_fallback", server.show(&patch(&two, json!({ "fallback": true })).await));
        patch(&two, json!({ "fallback": true, "archived": false })).await.expect(200);
        assert_eq!(fallbacks().await, ["Two"]);
        patch(&two, json!({ "archived": true })).await.expect(200);
        assert_eq!(fallbacks().await, Vec::<Value>::new());
        let back = patch(&two, json!({ "archived": false })).await.expect(200);
        assert_eq!(back.body["fallback"], Value::Null);
    }

    async fn specs_are_listed(server: TestServer) {
        let ada = server.person("Ada").await;
        for name in ["beta", "Alpha", "gamma"] {
            spec(&server, &ada, name, json!({})).await;
            server.pass(1);
        }
        let list = async |query: &str| server.get(&format!("/v0/specs?{query}"), &ada.token).await.expect(200);
        assert_eq!(list("").await.each("name"), ["Alpha", "beta", "gamma"]);
        assert_eq!(list("sort=created").await.each("name"), ["gamma", "Alpha", "beta"]);
        assert_eq!(list("direction=desc&per_page=1").await.each("name"), ["gamma"]);
        assert_eq!(list("search=ET").await.each("name"), ["beta"]);
        assert_eq!(list("name=beta").await.total(), 1);
        server.patch("/v0/specs/beta", &ada.token, json!({ "archived": true })).await.expect(200);
        assert_eq!(list("").await.total(), 2);
        assert_eq!(list("archived=true").await.each("name"), ["beta"]);
    }

    async fn archiving_a_spec_takes_it_from_testbeds(server: TestServer) {
        let ada = server.person("Ada").await;
        spec(&server, &ada, "Metal", json!({})).await;
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        let testbeds = format!("{project}/testbeds");
        server.post(&testbeds, &ada.token, json!({ "name": "box", "spec": "metal" })).await.expect(201);
        server.patch("/v0/specs/metal", &ada.token, json!({ "archived": true })).await.expect(200);
        let testbed = server.get(&format!("{testbeds}/box"), &ada.token).await.expect(200);
        assert_eq!(testbed.body["spec"], Value::Null);
    }
}
