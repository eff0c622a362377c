//! The audit log: who changed what, when and from which address.

use axum::{body::Body, http::Request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Person, TestServer, both};

/// Returns one line per entry: time, user, action, object, address and details.
async fn log(server: &TestServer, path: &str, person: &Person) -> String {
    let answer = server.get(&format!("{path}?per_page=255&direction=asc"), &person.token).await.expect(200);
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let lines = answer.body.as_array().unwrap().iter().map(|row| {
        format!(
            "{} {} {}: {} {} from {} {}",
            &text(&row["created"])[11..19],
            text(&row["actor"]["kind"]),
            text(&row["actor"]["name"]),
            text(&row["action"]),
            text(&row["target"]),
            text(&row["address"]),
            row["detail"],
        )
    });
    server.redact(&lines.collect::<Vec<_>>().join("\n"))
}

both! {
    async fn every_change_of_an_organization_is_an_entry(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        let cleo = server.person("Cleo").await;
        server.organization(&bob, "Acme").await;
        let acme = "/v0/organizations/acme";
        server.call_from([198, 51, 100, 7]);
        server.join("acme", &bob, &cleo, "member").await;
        server.pass(1);
        server.invite("acme", &bob, "dan@example.org", "leader").await;
        let invitation = server.get(&format!("{acme}/invitations"), &bob.token).await.text("/0/uuid");
        server.delete(&format!("{acme}/invitations/{invitation}"), &bob.token).await.expect(204);
        server.pass(1);
        server.patch(&format!("{acme}/members/cleo"), &bob.token, json!({ "role": "leader" })).await.expect(200);
        server.patch(&format!("{acme}/members/cleo"), &bob.token, json!({ "role": "leader" })).await.expect(200);
        server.delete(&format!("{acme}/members/bob"), &bob.token).await.expect(204);
        server.pass(1);
        server.patch(acme, &cleo.token, json!({ "name": "Apex", "slug": "apex" })).await.expect(200);
        // Requests that change nothing or are rejected create no entry.
        let apex = "/v0/organizations/apex";
        server.patch(apex, &cleo.token, json!({})).await.expect(200);
        server.patch(apex, &cleo.token, json!({ "license": null, "name": "Apex" })).await.expect(200);
        server.patch(apex, &cleo.token, json!({ "slug": "bob" })).await.expect(409);
        server.delete(&format!("{apex}/members/cleo"), &cleo.token).await.expect(409);
        assert_snapshot!("audit_organization", log(&server, &format!("{apex}/audit"), &cleo).await);

        let newest = server.get(&format!("{apex}/audit?per_page=1"), &cleo.token).await;
        assert_snapshot!("audit_newest", server.show(&newest));
        server.delete(apex, &cleo.token).await.expect(204);
        server.get(&format!("{apex}/audit"), &cleo.token).await.expect(404);
        let newest = server.get("/v0/server/audit?per_page=1", &ada.token).await;
        assert_snapshot!("audit_deleted", server.show(&newest));
        let uuid = newest.text("/0/organization");
        server.delete(&format!("/v0/organizations/{uuid}?hard=true"), &ada.token).await.expect(204);
        let newest = server.get("/v0/server/audit?per_page=1", &ada.token).await;
        assert_snapshot!("audit_destroyed", server.show(&newest));
    }

    async fn the_server_remembers_accounts_and_keys(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        let keys = "/v0/users/bob/keys";
        let key = server.post(keys, &bob.token, json!({ "name": "ci" })).await.expect(201).text("/uuid");
        server.patch(&format!("{keys}/{key}"), &bob.token, json!({ "name": "nightly" })).await.expect(200);
        server.patch(&format!("{keys}/{key}"), &bob.token, json!({})).await.expect(200);
        server.delete(&format!("{keys}/{key}"), &bob.token).await.expect(204);
        server.patch("/v0/users/bob", &bob.token, json!({ "name": "Robert", "email": "rob@example.com" })).await.expect(200);
        server.confirm("rob@example.com").await;
        server.patch("/v0/users/bob", &ada.token, json!({ "locked": true, "admin": true })).await.expect(200);
        server.unclaimed("Found").await;
        server.post("/v0/organizations/found/claim", &ada.token, json!({})).await.expect(201);
        server.post("/v0/server/backup", &ada.token, json!({ "data_store": "aws_s3" })).await.expect(400);
        assert_snapshot!("audit_server", log(&server, "/v0/server/audit", &ada).await);
    }

    async fn each_organization_has_its_own(server: TestServer) {
        server.person("Ada").await;
        let bob = server.person("Bob").await;
        let cleo = server.person("Cleo").await;
        server.organization(&bob, "Acme").await;
        server.organization(&cleo, "Other").await;
        server.join("acme", &bob, &cleo, "member").await;
        let path = "/v0/organizations/acme/audit";
        assert!(!log(&server, path, &bob).await.contains("other"));
        server.get(path, &cleo.token).await.expect(403);
        server.get("/v0/organizations/other/audit", &bob.token).await.expect(404);
        let page = server.get(&format!("{path}?per_page=2&page=2"), &bob.token).await.expect(200);
        assert_eq!(page.headers["x-total-count"], "3");
        assert_eq!(page.text("/0/action"), "organization.create");
        assert_eq!(page.body.as_array().unwrap().len(), 1);
        for query in ["page=4294967295&per_page=255", "per_page=0"] {
            let empty = server.get(&format!("{path}?{query}"), &bob.token).await.expect(200);
            assert_eq!((empty.body, empty.headers["x-total-count"].to_str().unwrap()), (json!([]), "3"));
        }
    }

    async fn a_trusted_proxy_sets_the_address_in_the_log(server: TestServer) {
        let settings = "[server]\ntrusted_proxies = [\"192.0.2.0/24\", \"2001:db8::/32\"]\n";
        let server = TestServer::start_with(server.engine, settings).await;
        let ada = server.person("Ada").await;
        let mut seen = Vec::new();
        for (number, (peer, forwarded)) in [
            ([192, 0, 2, 1], "203.0.113.9"),
            ([192, 0, 2, 1], "198.51.100.1, 203.0.113.9, 192.0.2.77"),
            ([192, 0, 2, 1], "2001:db8::1, 2001:470::7, 2001:db8::2"),
            ([192, 0, 2, 1], ""),
            ([192, 0, 2, 1], "203.0.113.9, nonsense"),
            ([198, 51, 100, 7], "203.0.113.9"),
        ]
        .into_iter()
        .enumerate()
        {
            server.call_from(peer);
            let request = Request::post("/v0/organizations")
                .header("authorization", format!("Bearer {}", ada.token))
                .header("x-forwarded-for", forwarded)
                .body(Body::from(json!({ "name": format!("Number {number}") }).to_string()));
            server.send(request.unwrap()).await.expect(201);
            let newest = server.get("/v0/server/audit?per_page=1", &ada.token).await;
            seen.push(newest.text("/0/address"));
        }
        assert_eq!(
            seen,
            ["203.0.113.9", "203.0.113.9", "2001:470::7", "192.0.2.1", "192.0.2.1", "198.51.100.7"]
        );
    }
}
