//! `/v0/projects` and `/v0/organizations/{organization}/projects`

use insta::assert_snapshot;
use serde_json::json;

use crate::both;

const OF_ADA: &str = "/v0/organizations/ada/projects";

both! {
    async fn a_project_starts_empty(server: TestServer) {
        let ada = server.person("Ada").await;
        let created = server.post(OF_ADA, &ada.token, json!({ "name": "Widget Lab" })).await;
        assert_snapshot!("project_create", server.show(&created));
        let uuid = created.text("/uuid");
        for path in ["/v0/projects/widget-lab".to_owned(), format!("/v0/projects/{uuid}")] {
            assert_eq!(server.get(&path, "").await.expect(200).body, created.body);
        }
        for noun in ["branches", "testbeds", "benchmarks", "measures", "thresholds", "plots"] {
            let list = server.get(&format!("/v0/projects/{uuid}/{noun}"), "").await.expect(200);
            assert_eq!((list.total(), list.body), (0, json!([])), "{noun}");
        }
        let members = server.get(&format!("/v0/projects/{uuid}/members"), &ada.token).await;
        assert_snapshot!("project_first_member", server.show(&members));
    }

    async fn what_a_project_lacks_is_answered_with_the_credentials_that_are_accepted(server: TestServer) {
        let ada = server.person("Ada").await;
        server.post(OF_ADA, &ada.token, json!({ "name": "Lab" })).await.expect(201);
        let missing = "0190a000-0000-7000-8000-000000000000";
        let key = server.post("/v0/projects/lab/keys", &ada.token, json!({ "name": "ci" })).await.text("/key");
        let mut lines = Vec::new();
        for noun in ["branches", "testbeds", "benchmarks", "measures", "thresholds", "plots", "reports", "alerts", "jobs"] {
            let path = format!("/v0/projects/lab/{noun}/{missing}");
            for credential in ["", &key, &ada.token] {
                lines.push(format!("GET {noun}: {}", server.get(&path, credential).await.expect(404).line()));
            }
            if !["alerts", "jobs"].contains(&noun) {
                let answer = server.delete(&path, &ada.token).await.expect(404);
                lines.push(format!("DELETE {noun}: {}", answer.line()));
            }
        }
        for path in ["lab/metrics", "lab/keys", "lab/members", "none/branches", "none/keys"] {
            let answer = server.get(&format!("/v0/projects/{path}/{missing}"), &ada.token).await.expect(404);
            lines.push(format!("GET {path}: {}", answer.line()));
        }
        // Only responses about projects have the hint.
        lines.push(server.get(&format!("/v0/users/ada/keys/{missing}"), &ada.token).await.expect(404).line());
        lines.dedup();
        assert_snapshot!("project_hints", lines.join("\n"));
    }

    async fn more_than_counts_is_accepted(server: TestServer) {
        let ada = server.person("Ada").await;
        for (url, stored) in [
            ("ssh://git@example.org/a.git", "ssh://git@example.org/a.git"),
            ("mailto:a@example.org", "mailto:a@example.org"),
            ("https://exämple.org/ü", "https://xn--exmple-cua.org/%C3%BC"),
        ] {
            let body = json!({ "name": format!("Lab\t{stored}"), "url": url });
            let project = server.post(OF_ADA, &ada.token, body).await.expect(201);
            assert_eq!((project.text("/url"), project.text("/name")), (stored.to_owned(), format!("Lab\t{stored}")));
        }
        server.post(OF_ADA, &ada.token, json!({ "name": "Lab\u{1b}[2J" })).await.expect(201);
        for line_break in ["\n", "\r", "\u{2028}", "\0"] {
            let body = json!({ "name": format!("Lab{line_break}x") });
            server.post(OF_ADA, &ada.token, body).await.expect(400);
        }
        // A text that is longer than every name matches nothing.
        for length in [1025, 40_000] {
            let list = server.get(&format!("/v0/projects?search={}", "a".repeat(length)), &ada.token).await;
            assert_eq!(list.expect(200).total(), 0);
        }
        server.post(OF_ADA, &ada.token, json!({ "name": "Lab" })).await.expect(201);
        let make = async |noun: &str, body| {
            server.post(&format!("/v0/projects/lab/{noun}"), &ada.token, body).await.expect(201);
        };
        make("branches", json!({ "name": "main" })).await;
        make("testbeds", json!({ "name": "localhost" })).await;
        make("measures", json!({ "name": "Latency", "units": "ns" })).await;
        make("thresholds", json!({
            "branch": "main", "testbed": "localhost", "measure": "latency", "test": "t_test",
            "min_sample_size": u32::MAX, "max_sample_size": u32::MAX,
        }))
        .await;
        let list = server.get("/v0/projects/lab/thresholds", &ada.token).await.expect(200);
        let model = &list.body[0]["model"];
        assert_eq!((&model["min_sample_size"], &model["max_sample_size"]), (&json!(u32::MAX), &json!(u32::MAX)));
    }

    async fn names_and_slugs_of_projects(server: TestServer) {
        let ada = server.person("Ada").await;
        server.organization(&ada, "Acme").await;
        let create = async |body| server.post(OF_ADA, &ada.token, body).await;
        for (name, slug) in [("Save Walter White", "save-walter-white"), ("Æúű--cool?", "aeuu-cool"), ("main", "main")] {
            assert_eq!(create(json!({ "name": name })).await.expect(201).text("/slug"), slug);
        }
        let full = json!({ "name": "Full", "slug": "own", "url": "https://example.org/widgets", "visibility": "private" });
        assert_snapshot!("project_create_full", server.show(&create(full).await));

        let taken = create(json!({ "name": "Main" })).await.expect(201).text("/slug");
        let elsewhere = server.post("/v0/organizations/acme/projects", &ada.token, json!({ "name": "main" })).await;
        for slug in [taken, elsewhere.expect(201).text("/slug")] {
            assert!(slug.starts_with("main-") && slug.len() == 13, "{slug}");
        }
        let long = create(json!({ "name": "w".repeat(64), "slug": null })).await.expect(201);
        assert_eq!(long.text("/slug"), "w".repeat(64));
        let transliterated = create(json!({ "name": "Ю".repeat(32) + "x" })).await;
        assert_eq!(transliterated.text("/slug"), transliterated.text("/uuid"), "too long when it is derived");
        let nameless = create(json!({ "name": "..." })).await.expect(201).text("/slug");
        assert!(!nameless.is_empty() && nameless.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));

        let mut lines = Vec::new();
        for body in [
            json!({ "name": "main" }),
            json!({ "name": "" }),
            json!({ "name": " x" }),
            json!({ "name": "x".repeat(65) }),
            json!({ "name": "x", "slug": "Not A Slug" }),
            json!({ "name": "x", "slug": "x".repeat(65) }),
            json!({ "name": "x", "url": "example.org" }),
            json!({ "name": "x", "visibility": "secret" }),
            json!({ "slug": "x" }),
            json!([]),
        ] {
            lines.push(create(body).await.line());
        }
        assert_snapshot!("project_create_wrong", lines.join("\n"));
    }

    async fn everybody_sees_their_own_list(server: TestServer) {
        let admin = server.person("Admin").await;
        let ada = server.person("Ada").await;
        let [bob, eve, guest] = [server.person("Bob").await, server.person("Eve").await, server.person("Guest").await];
        server.organization(&ada, "Acme").await;
        server.join("acme", &ada, &bob, "member").await;
        for (name, visibility) in [("Secret", "private"), ("Public", "public"), ("archive", "private")] {
            let body = json!({ "name": name, "visibility": visibility });
            server.post("/v0/organizations/acme/projects", &ada.token, body).await.expect(201);
        }
        let mine = server.project(&eve, json!({ "name": "Eve's", "visibility": "private" })).await;
        let role = json!({ "user": "guest", "role": "viewer" });
        server.post(&format!("{mine}/members"), &eve.token, role).await.expect(201);
        let key = server.project_key(&eve, &mine).await;

        for (token, seen) in [
            ("", vec!["Public"]),
            ("nonsense", vec!["Public"]),
            (&admin.token, vec!["archive", "Eve's", "Public", "Secret"]),
            (&ada.token, vec!["archive", "Public", "Secret"]),
            (&bob.token, vec!["archive", "Public", "Secret"]),
            (&eve.token, vec!["Eve's", "Public"]),
            (&guest.token, vec!["Eve's", "Public"]),
            (&key, vec!["Eve's"]),
        ] {
            let list = server.get("/v0/projects", token).await.expect(200);
            assert_eq!(list.each("name"), seen);
            assert_eq!(list.total(), i64::try_from(seen.len()).unwrap());
        }
        for person in [&ada, &bob, &admin] {
            let list = server.get("/v0/organizations/acme/projects", &person.token).await.expect(200);
            assert_eq!(list.each("name"), ["archive", "Public", "Secret"]);
        }
        server.get("/v0/organizations/acme/projects", &eve.token).await.expect(404);
        server.post("/v0/organizations/acme/projects", &bob.token, json!({ "name": "x" })).await.expect(403);
        server.post("/v0/organizations/acme/projects", &eve.token, json!({ "name": "x" })).await.expect(404);
    }

    async fn lists_are_searched_filtered_and_paged(server: TestServer) {
        let ada = server.person("Ada").await;
        for name in ["alpha", "Beta", "100% sure", "under_score", "back\\slash", "Ünder"] {
            server.project(&ada, json!({ "name": name })).await;
        }
        let uuid = server.get("/v0/projects/beta", "").await.text("/uuid");
        for (query, names) in [
            ("sort=name&direction=desc&per_page=2", vec!["Ünder", "under_score"]),
            ("per_page=2&page=3", vec!["under_score", "Ünder"]),
            ("per_page=0", vec![]),
            ("page=9", vec![]),
            ("name=Beta", vec!["Beta"]),
            ("name=beta", vec![]),
            ("search=BETA", vec!["Beta"]),
            ("search=%25", vec!["100% sure"]),
            ("search=r_s", vec!["under_score"]),
            ("search=k%5Cs", vec!["back\\slash"]),
            ("search=under-s", vec!["under_score"]),
            (&format!("search={}", &uuid[..30]), vec!["Beta"]),
            ("search=alpha&name=Beta", vec![]),
        ] {
            let list = server.get(&format!("/v0/projects?{query}"), "").await.expect(200);
            assert_eq!(list.each("name"), names, "{query}");
            let list = server.get(&format!("{OF_ADA}?{query}"), &ada.token).await.expect(200);
            assert_eq!(list.each("name"), names, "{query}");
        }
        assert_eq!(server.get("/v0/projects?per_page=2&search=", "").await.total(), 6);
        for query in ["sort=slug", "direction=up", "per_page=256", "page=x", "name=", "name=a&name=b"] {
            server.get(&format!("/v0/projects?{query}"), "").await.expect(400);
        }
    }

    async fn a_project_is_changed(server: TestServer) {
        let ada = server.person("Ada").await;
        server.project(&ada, json!({ "name": "Other" })).await;
        let before = json!({ "name": "Widget Lab", "url": "https://example.org/", "visibility": "public" });
        let path = server.project(&ada, before).await;
        let patch = async |body| server.patch(&path, &ada.token, body).await;
        server.pass(60);
        assert_snapshot!("project_patch_nothing", server.show(&patch(json!({})).await));
        assert_snapshot!("project_patch_no_url", server.show(&patch(json!({ "url": null })).await));
        let mut lines = Vec::new();
        for body in [
            json!({ "name": "Other" }),
            json!({ "slug": "other" }),
            json!({ "name": null }),
            json!({ "slug": null }),
            json!({ "visibility": null }),
            json!({ "organization": "acme" }),
            json!({ "url": "example.org" }),
            json!({ "slug": "x".repeat(65) }),
            json!({ "visibility": "hidden" }),
        ] {
            lines.push(patch(body).await.line());
        }
        assert_snapshot!("project_patch_wrong", lines.join("\n"));

        let all = json!({ "name": "Lab", "slug": "lab", "url": "https://example.org/x", "visibility": "private" });
        assert_snapshot!("project_patch_all", server.show(&patch(all).await));
        server.get(&path, &ada.token).await.expect(404);
        server.get("/v0/projects/lab", "").await.expect(404);
        assert_eq!(server.get("/v0/projects/lab", &ada.token).await.expect(200).text("/name"), "Lab");
        let same = json!({ "name": "Lab", "slug": "lab" });
        server.patch("/v0/projects/lab", &ada.token, same).await.expect(200);
    }

    async fn a_deleted_project_leaves_its_name(server: TestServer) {
        let admin = server.person("Admin").await;
        let ada = server.person("Ada").await;
        let path = server.project(&ada, json!({ "name": "Lab" })).await;
        let uuid = server.get(&path, "").await.text("/uuid");
        let key = server.project_key(&ada, &path).await;
        let branch = server.dimension(&ada, &path, "branches", "main").await;
        server.get(&path, &key).await.expect(200);
        assert_snapshot!("project_delete", server.show(&server.delete(&path, &ada.token).await));
        for token in ["", &ada.token, &admin.token] {
            for path in [path.clone(), format!("/v0/projects/{uuid}")] {
                for rest in ["", "/branches", &format!("/branches/{branch}"), "/thresholds", "/plots", "/members", "/keys"] {
                    server.get(&format!("{path}{rest}"), token).await.expect(404);
                }
                server.delete(&path, token).await.expect(404);
                server.patch(&path, token, json!({})).await.expect(404);
                server.post(&format!("{path}/branches"), token, json!({ "name": "x" })).await.expect(404);
            }
        }
        assert_eq!(server.get("/v0/projects", &admin.token).await.total(), 0);
        assert_eq!(server.get(OF_ADA, &ada.token).await.total(), 0);
        let dead = server.post(&format!("{path}/branches"), &key, json!({ "name": "x" })).await.expect(404);
        assert_eq!(dead.body["message"], server.get("/v0/projects/none", &key).await.body["message"]);

        assert_eq!(server.project(&ada, json!({ "name": "Lab" })).await, path);
        let dead = server.post(&format!("{path}/branches"), &key, json!({ "name": "x" })).await;
        assert_snapshot!("project_deleted_key", server.show(&dead));
        let audit = server.get("/v0/server/audit?per_page=255", &admin.token).await;
        assert!(audit.each("action").contains(&"project.delete".to_owned()));
    }

    async fn only_an_administrator_deletes_for_good(server: TestServer) {
        let admin = server.person("Admin").await;
        let ada = server.person("Ada").await;
        let path = server.project(&ada, json!({ "name": "Lab" })).await;
        let mut ids = Vec::new();
        for kind in ["branches", "testbeds", "benchmarks", "measures"] {
            ids.push(server.dimension(&ada, &path, kind, "used").await);
        }
        let threshold = json!({ "branch": "used", "testbed": "used", "measure": "used", "test": "t_test" });
        server.post(&format!("{path}/thresholds"), &ada.token, threshold).await.expect(201);
        let plot = json!({
            "lower_value": true, "upper_value": true, "lower_boundary": true, "upper_boundary": true,
            "x_axis": "version", "window": 60, "branches": [ids[0]], "testbeds": [ids[1]],
            "benchmarks": [ids[2]], "measures": [ids[3]],
        });
        server.post(&format!("{path}/plots"), &ada.token, plot).await.expect(201);
        let key = server.project_key(&ada, &path).await;

        let uuid = server.get(&path, "").await.text("/uuid");
        let hard = format!("{path}?hard=true");
        let mut lines = Vec::new();
        for token in ["", &ada.token, &key] {
            lines.push(server.delete(&hard, token).await.line());
        }
        lines.push(server.delete("/v0/projects/none?hard=true", &ada.token).await.line());
        lines.push(server.delete("/v0/projects/none?hard=true", &admin.token).await.line());
        lines.push(server.delete(&format!("{path}?hard=1"), &admin.token).await.line());
        assert_snapshot!("project_hard_delete_refused", lines.join("\n"));

        server.delete(&path, &ada.token).await.expect(204);
        let hard = format!("/v0/projects/{uuid}?hard=true");
        server.delete(&hard, &admin.token).await.expect(204);
        server.delete(&hard, &admin.token).await.expect(404);
        let path = server.project(&ada, json!({ "name": "Lab" })).await;
        server.delete(&format!("{path}?hard=true"), &admin.token).await.expect(204);
        server.get(&path, &admin.token).await.expect(404);
    }

    async fn what_is_allowed(server: TestServer) {
        server.person("Admin").await;
        let [ada, eve] = [server.person("Ada").await, server.person("Eve").await];
        let path = server.project(&ada, json!({ "name": "Lab", "visibility": "private" })).await;
        let public = server.project(&ada, json!({ "name": "Open" })).await;
        let key = server.project_key(&ada, &path).await;
        let permissions = ["view", "create", "edit", "delete", "manage", "view_role", "create_role", "edit_role", "delete_role"];
        for permission in permissions {
            for (person, path, allowed) in [
                (&ada, &path, true),
                (&eve, &path, false),
                (&eve, &public, permission == "view"),
                (&ada, &"/v0/projects/none".to_owned(), false),
            ] {
                let answer = server.get(&format!("{path}/allowed/{permission}"), &person.token).await.expect(200);
                assert_eq!(answer.body, json!({ "allowed": allowed }), "{permission} {path}");
            }
        }
        let mut lines = Vec::new();
        for (permission, token) in [("view", ""), ("view", key.as_str()), ("fly", ada.token.as_str())] {
            lines.push(server.get(&format!("{path}/allowed/{permission}"), token).await.line());
        }
        assert_snapshot!("project_allowed_refused", lines.join("\n"));
    }

    async fn a_refusal_says_which_credential_would_do(server: TestServer) {
        server.person("Admin").await;
        let [ada, eve] = [server.person("Ada").await, server.person("Eve").await];
        let hidden = server.project(&ada, json!({ "name": "Hidden", "visibility": "private" })).await;
        let open = server.project(&ada, json!({ "name": "Open" })).await;
        let key = server.project_key(&ada, &open).await;
        let mut lines = Vec::new();
        for (whose, token) in [("anonymous", ""), ("stranger", eve.token.as_str()), ("key of Open", key.as_str())] {
            for path in [&hidden, &open] {
                let view = server.get(path, token).await;
                let create = server.post(&format!("{path}/branches"), token, json!({ "name": "x" })).await;
                let rename = server.patch(path, token, json!({ "name": "x" })).await;
                let delete = server.delete(path, token).await;
                let keys = server.get(&format!("{path}/keys"), token).await;
                for (what, answer) in
                    [("view", view), ("create", create), ("rename", rename), ("delete", delete), ("keys", keys)]
                {
                    lines.push(format!("{whose} {what} {path}: {}", answer.line()));
                }
            }
        }
        lines.push(format!("bad path: {}", server.get("/v0/projects/Not%20A%20Slug", "").await.line()));
        assert_snapshot!("project_refusals", lines.join("\n"));
    }
}
