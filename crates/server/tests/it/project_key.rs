//! `/v0/projects/{project}/keys`, and what a project key gives access to.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::both;

both! {
    async fn a_key_of_a_user_creates_no_key(server: TestServer) {
        let ada = server.person("Ada").await;
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        let key = server.post("/v0/users/ada/keys", &ada.token, json!({ "name": "ci" })).await.expect(201).text("/key");
        let keys = format!("{project}/keys");
        let refused = server.post(&keys, &key, json!({ "name": "ci" })).await;
        assert_snapshot!("project_key_by_key", server.show(&refused));
        let legacy = server.legacy_token(&ada.email);
        server.post(&keys, &legacy, json!({ "name": "ci" })).await.expect(403);
        server.post("/v0/users/ada/keys", &legacy, json!({ "name": "ci" })).await.expect(403);
        assert_eq!(server.get(&keys, &key).await.expect(200).total(), 0, "it still lists them");
        server.post(&keys, &ada.token, json!({ "name": "ci" })).await.expect(201);
    }

    async fn the_operator_lets_keys_of_users_create_project_keys(
        server: TestServer = "[access]\nuser_keys_create_project_keys = true"
    ) {
        let ada = server.person("Ada").await;
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        let key = server.post("/v0/users/ada/keys", &ada.token, json!({ "name": "ci" })).await.expect(201).text("/key");
        server.post(&format!("{project}/keys"), &key, json!({ "name": "ci" })).await.expect(201);
        server.post("/v0/users/ada/keys", &key, json!({ "name": "ci" })).await.expect(403);
    }

    async fn a_project_key_is_shown_once(server: TestServer) {
        let ada = server.person("Ada").await;
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        let keys = format!("{project}/keys");
        let created = server.post(&keys, &ada.token, json!({ "name": "ci" })).await;
        assert_snapshot!("project_key_create", server.show(&created));
        let key = created.text("/key");
        let secret = key.strip_prefix("svc_run_").unwrap();
        assert_eq!((key.len(), secret.len()), (38, 30));
        assert!(secret.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{key}");

        let path = format!("{keys}/{}", created.text("/uuid"));
        let view = server.get(&path, &ada.token).await;
        assert_snapshot!("project_key_view", server.show(&view));
        let list = server.get(&keys, &ada.token).await;
        assert_snapshot!("project_key_list", server.show(&list));
        let renamed = server.patch(&path, &ada.token, json!({ "name": "nightly" })).await;
        assert_snapshot!("project_key_rename", server.show(&renamed));
        let audit = server.get("/v0/server/audit?per_page=255", &ada.token).await;
        for later in [&view, &list, &renamed, &audit] {
            assert!(!later.body.to_string().contains(secret));
        }
        let elsewhere = server.project(&ada, json!({ "name": "Elsewhere" })).await;
        let foreign = format!("{elsewhere}/keys/{}", created.text("/uuid"));
        let mut lines = Vec::new();
        for body in [
            json!({}),
            json!({ "name": "" }),
            json!({ "name": "x", "ttl": 0 }),
            json!({ "name": "x", "ttl": -1 }),
            json!({ "name": "x", "ttl": 4_294_967_296_u64 }),
            json!({ "name": "x".repeat(65) }),
        ] {
            lines.push(server.post(&keys, &ada.token, body).await.line());
        }
        lines.push(server.patch(&path, &ada.token, json!({ "name": " x" })).await.line());
        lines.push(server.get(&foreign, &ada.token).await.line());
        lines.push(server.patch(&foreign, &ada.token, json!({ "name": "x" })).await.line());
        lines.push(server.delete(&foreign, &ada.token).await.line());
        lines.push(server.get(&format!("{keys}/ci"), &ada.token).await.line());
        assert_snapshot!("project_key_wrong", lines.join("\n"));
    }

    async fn project_keys_are_listed_and_revoked(server: TestServer) {
        let ada = server.person("Ada").await;
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        let keys = format!("{project}/keys");
        let mut made = Vec::new();
        for name in ["beta", "Alpha", "beta"] {
            made.push(server.post(&keys, &ada.token, json!({ "name": name })).await.expect(201));
            server.pass(1);
        }
        let list = async |query: &str| server.get(&format!("{keys}?{query}"), &ada.token).await.expect(200);
        assert_eq!(list("").await.each("name"), ["Alpha", "beta", "beta"]);
        assert_eq!(list("").await.text("/1/uuid"), made[0].text("/uuid"), "the older one first");
        assert_eq!(list("direction=desc&per_page=1").await.text("/0/uuid"), made[2].text("/uuid"));
        assert_eq!(list("name=beta").await.total(), 2);
        assert_eq!(list("search=ALP").await.each("name"), ["Alpha"]);
        assert_eq!(list(&format!("search={}", made[2].text("/uuid"))).await.total(), 1);

        let path = format!("{keys}/{}", made[0].text("/uuid"));
        server.delete(&path, &ada.token).await.expect(204);
        assert_snapshot!("project_key_revoked_before", server.show(&server.delete(&path, &ada.token).await));
        assert_snapshot!("project_key_revoked", server.show(&server.get(&path, &ada.token).await));
        assert_eq!(list("").await.each("name"), ["Alpha", "beta"]);
        assert_eq!(list("revoked=false").await.total(), 2);
        assert_eq!(list("revoked=true").await.each("name"), ["beta"]);
        let name = json!({ "name": "x" });
        let dead = server.post(&format!("{project}/branches"), &made[0].text("/key"), name.clone()).await;
        assert_snapshot!("project_key_dead", server.show(&dead));

        let short = json!({ "name": "short", "ttl": 60 });
        let short = server.post(&keys, &ada.token, short).await.expect(201).text("/key");
        server.pass(59);
        server.post(&format!("{project}/branches"), &short, name.clone()).await.expect(201);
        server.pass(1);
        server.post(&format!("{project}/branches"), &short, name).await.expect(401);
    }

    async fn what_a_project_key_opens(server: TestServer) {
        let ada = server.person("Ada").await;
        let project = server.project(&ada, json!({ "name": "Lab", "visibility": "private" })).await;
        let key = server.project_key(&ada, &project).await;
        let mut ids = Vec::new();
        for kind in ["branches", "testbeds", "benchmarks", "measures"] {
            let body = json!({ "name": "main", "units": "ns" });
            let made = server.post(&format!("{project}/{kind}"), &key, body).await.expect(201);
            ids.push(made.text("/uuid"));
            let path = format!("{project}/{kind}/main");
            server.get(&path, &key).await.expect(200);
            server.patch(&path, &key, json!({ "archived": true })).await.expect(200);
            server.patch(&path, &key, json!({ "archived": false })).await.expect(200);
            for rename in [json!({ "name": "other" }), json!({ "slug": "other" })] {
                server.patch(&path, &key, rename).await.expect(403);
            }
            server.delete(&path, &key).await.expect(403);
        }
        let units = json!({ "units": "s" });
        server.patch(&format!("{project}/measures/main"), &key, units).await.expect(200);
        let threshold = json!({ "branch": "main", "testbed": "main", "measure": "main", "test": "t_test" });
        let threshold = server.post(&format!("{project}/thresholds"), &key, threshold).await.expect(201);
        let threshold = format!("{project}/thresholds/{}", threshold.text("/uuid"));
        server.get(&format!("{threshold}/models"), &key).await.expect(200);
        server.put(&threshold, &key, json!({ "test": null })).await.expect(200);
        let plot = json!({
            "lower_value": true, "upper_value": true, "lower_boundary": true, "upper_boundary": true,
            "x_axis": "version", "window": 60, "branches": [ids[0]], "testbeds": [ids[1]],
            "benchmarks": [ids[2]], "measures": [ids[3]],
        });
        let pinned = server.post(&format!("{project}/plots"), &ada.token, plot.clone()).await.expect(201);
        let pinned = format!("{project}/plots/{}", pinned.text("/uuid"));
        server.get(&pinned, &key).await.expect(200);

        let mut lines = Vec::new();
        let member = json!({ "user": "ada", "role": "viewer" });
        for (method, path, body) in [
            ("PATCH", project.clone(), json!({ "name": "x" })),
            ("DELETE", project.clone(), Value::Null),
            ("GET", format!("{project}/allowed/view"), Value::Null),
            ("GET", format!("{project}/keys"), Value::Null),
            ("POST", format!("{project}/keys"), json!({ "name": "x" })),
            ("GET", format!("{project}/members"), Value::Null),
            ("POST", format!("{project}/members"), member),
            ("PATCH", format!("{project}/branches/main"), json!({ "name": "x" })),
            ("DELETE", threshold, Value::Null),
            ("POST", format!("{project}/plots"), plot),
            ("PATCH", pinned.clone(), json!({})),
            ("DELETE", pinned, Value::Null),
            ("GET", "/v0/organizations/ada/projects".to_owned(), Value::Null),
            ("POST", "/v0/organizations/ada/projects".to_owned(), json!({ "name": "x" })),
            ("GET", "/v0/users/ada".to_owned(), Value::Null),
        ] {
            let body = Some(body).filter(|body| !body.is_null());
            let answer = server.call(method.parse().unwrap(), &path, &key, body).await;
            let path = server.redact(&path);
            lines.push(format!("{method} {path}: {}", answer.line()));
        }
        assert_snapshot!("project_key_closed", lines.join("\n"));
    }

    async fn a_key_is_of_one_project(server: TestServer) {
        let ada = server.person("Ada").await;
        let own = server.project(&ada, json!({ "name": "Own" })).await;
        let public = server.project(&ada, json!({ "name": "Public" })).await;
        let private = server.project(&ada, json!({ "name": "Private", "visibility": "private" })).await;
        let key = server.project_key(&ada, &own).await;
        server.get(&public, &key).await.expect(200);
        server.get(&format!("{public}/branches"), &key).await.expect(200);
        server.post(&format!("{public}/branches"), &key, json!({ "name": "x" })).await.expect(403);
        server.get(&private, &key).await.expect(404);
        server.post(&format!("{private}/branches"), &key, json!({ "name": "x" })).await.expect(404);
        assert_eq!(server.get("/v0/projects", &key).await.each("name"), ["Own"]);
        assert_eq!(server.get("/v0/projects?name=Public", &key).await.total(), 0);
    }
}
