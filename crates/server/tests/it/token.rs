//! `/v0/users/{user}/tokens`: API tokens of older servers.

use axum::{body::Body, http::Request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Engine, TestServer, both};

const DAY: i64 = 86_400;

both! {
    async fn a_token_of_an_older_server_still_works(server: TestServer) {
        let ada = server.person("Ada").await;
        let token = server.legacy_token(&ada.email);
        // The server does not know the token before its first use.
        assert_eq!(server.get("/v0/users/ada/tokens", &ada.token).await.expect(200).total(), 0);
        server.get("/v0/users/ada", &token).await.expect(200);
        server.get("/v0/users/ada", &token).await.expect(200);
        let list = server.get("/v0/users/ada/tokens", &ada.token).await;
        assert_snapshot!("token_list", server.show(&list));
        assert!(!list.body.to_string().contains(&token));

        let path = format!("/v0/users/ada/tokens/{}", list.text("/0/uuid"));
        assert_eq!(server.get(&path, &token).await.expect(200).body, list.body[0]);
        let renamed = server.patch(&path, &token, json!({ "name": "old script" })).await;
        assert_snapshot!("token_rename", server.show(&renamed));
        for same in [json!({}), json!({ "name": null })] {
            assert_eq!(server.patch(&path, &ada.token, same).await.expect(200).body, renamed.body);
        }
        let revoked = server.delete(&path, &ada.token).await;
        assert_snapshot!("token_revoke", server.show(&revoked));
        let dead = server.get("/v0/users/ada", &token).await;
        assert_snapshot!("token_revoked", server.show(&dead));
        let again = server.delete(&path, &ada.token).await;
        assert_snapshot!("token_revoke_again", server.show(&again));
        let view = server.get(&path, &ada.token).await;
        assert_snapshot!("token_view_revoked", server.show(&view));
        assert_eq!(server.get("/v0/users/ada/tokens", &ada.token).await.total(), 0);
        assert_eq!(server.get("/v0/users/ada/tokens?revoked=true", &ada.token).await.total(), 1);
    }

    async fn tokens_are_no_longer_made(server: TestServer) {
        let ada = server.person("Ada").await;
        let path = "/v0/users/ada/tokens";
        let answer = server.post(path, &ada.token, json!({ "name": "new" })).await;
        assert_snapshot!("token_create", server.show(&answer));
        let key = server.post("/v0/users/ada/keys", &ada.token, json!({ "name": "ci" })).await.text("/key");
        server.post(path, &key, json!({ "name": "new", "ttl": 60 })).await.expect(403);
        server.post(path, &server.legacy_token(&ada.email), json!({ "name": "new" })).await.expect(403);
        server.post("/v0/users/nobody/tokens", &ada.token, json!({ "name": "new" })).await.expect(403);
        for body in [json!({ "ttl": 0 }), json!({}), json!(null), json!("x"), json!({ "name": 1 })] {
            server.post(path, &ada.token, body).await.expect(403);
        }
        for body in ["", "{", "{} {}"] {
            let request = Request::post(path).header("authorization", format!("Bearer {}", ada.token));
            server.send(request.body(Body::from(body)).unwrap()).await.expect(403);
        }
        server.post(path, "", json!({ "name": "new" })).await.expect(401);
    }

    async fn tokens_are_listed_filtered_and_paged(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        for name in ["Beta", "alpha", "100%"] {
            // The expiration depends on the time of signing, so all tokens differ.
            server.pass(1);
            server.get("/v0/users/ada", &server.legacy_token(&ada.email)).await.expect(200);
            let fresh = server.get("/v0/users/ada/tokens?name=API%20token", &ada.token).await;
            let path = format!("/v0/users/ada/tokens/{}", fresh.text("/0/uuid"));
            server.patch(&path, &ada.token, json!({ "name": name })).await.expect(200);
        }
        let list = async |query: &str| {
            let answer = server.get(&format!("/v0/users/ada/tokens?{query}"), &root.token).await.expect(200);
            // An administrator sees the owner of the tokens.
            assert!(answer.each("user").iter().all(|user| *user == ada.uuid));
            (answer.each("name").join(" "), answer.total())
        };
        let found = |names: &str, total: i64| (names.to_owned(), total);
        assert_eq!(list("").await, found("100% alpha Beta", 3));
        assert_eq!(list("direction=desc&per_page=2").await, found("Beta alpha", 3));
        assert_eq!(list("name=beta").await, found("", 0));
        assert_eq!(list("search=BETA").await, found("Beta", 1));
        assert_eq!(list("search=%25").await, found("100%", 1));
        assert_eq!(list("search=_").await, found("", 0));
        assert_eq!(list("revoked=true").await, found("", 0));
        assert_eq!(list("per_page=0").await, found("", 3));
        assert_eq!(list("page=4294967295&per_page=255").await, found("", 3));
        server.get("/v0/users/ada/tokens?per_page=256", &ada.token).await.expect(400);
    }

    async fn tokens_of_others_are_for_admins(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        let eve = server.person("Eve").await;
        let token = server.legacy_token(&ada.email);
        server.get("/v0/users/ada", &token).await.expect(200);
        let list = server.get("/v0/users/ada/tokens", &ada.token).await.expect(200);
        let path = format!("/v0/users/ada/tokens/{}", list.text("/0/uuid"));
        server.get("/v0/users/ada/tokens", &eve.token).await.expect(404);
        for path in [path.clone(), path.replace("/ada/", "/eve/")] {
            server.get(&path, &eve.token).await.expect(404);
            server.patch(&path, &eve.token, json!({ "name": "x" })).await.expect(404);
            server.delete(&path, &eve.token).await.expect(404);
        }
        assert_eq!(server.get(&path, &root.token).await.expect(200).text("/user"), ada.uuid);
        server.delete(&path, &root.token).await.expect(204);
        server.get("/v0/users/ada", &token).await.expect(401);
        server.get("/v0/users/ada/tokens/no-uuid", &ada.token).await.expect(400);
    }

    async fn a_token_must_be_ours_and_name_a_user(server: TestServer) {
        let ada = server.person("Ada").await;
        let now = server.app.clock.now().seconds();
        let good = json!({
            "aud": "api_key", "exp": now + 4_294_967_295_i64, "iat": now, "sub": ada.email,
            "iss": server.app.config.security.issuer, "org": null, "state": null, "oci": null,
        });
        server.get("/v0/users/ada", &server.sign(&good)).await.expect(200);
        let changes: [(&str, Value); 6] = [
            ("aud", "oci_auth".into()),
            ("aud", "nonsense".into()),
            ("iss", "https://elsewhere.example.org/".into()),
            ("sub", "nobody@example.org".into()),
            ("sub", "nobody".into()),
            ("exp", (now - 1).into()),
        ];
        for (claim, value) in changes {
            let mut claims = good.clone();
            claims[claim] = value;
            server.get("/v0/users/ada", &server.sign(&claims)).await.expect(401);
        }
        for claim in ["aud", "iss", "sub", "exp"] {
            let mut claims = good.clone();
            claims.as_object_mut().unwrap().remove(claim);
            server.get("/v0/users/ada", &server.sign(&claims)).await.expect(401);
        }
    }

    async fn a_token_does_not_follow_an_address_to_its_next_owner(server: TestServer) {
        server.person("Root").await;
        let ada = server.person("Ada").await;
        let unused = server.legacy_token(&ada.email);
        let revoked = {
            server.pass(1);
            let token = server.legacy_token(&ada.email);
            server.get("/v0/users/ada", &token).await.expect(200);
            let list = server.get("/v0/users/ada/tokens", &ada.token).await;
            server.delete(&format!("/v0/users/ada/tokens/{}", list.text("/0/uuid")), &token).await.expect(204);
            token
        };
        server.pass(1);
        server.patch("/v0/users/ada", &ada.token, json!({ "email": "new@example.org" })).await.expect(200);
        server.confirm("new@example.org").await;
        server.pass(1);
        let signup = json!({ "name": "Next", "email": ada.email, "i_agree": true });
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        let next = server.confirm(&ada.email).await;
        for dead in [&unused, &revoked] {
            server.get("/v0/users/next", dead).await.expect(401);
            server.get("/v0/users/ada", dead).await.expect(401);
        }
        // A token signed for the next owner is valid.
        server.pass(1);
        server.get("/v0/users/next", &server.legacy_token(&next.email)).await.expect(200);
    }
}

/// A token signed with another secret is invalid, even if everything else is valid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_of_another_secret_is_refused() {
    let server = TestServer::start(Engine::Sqlite).await;
    let other = TestServer::start(Engine::Sqlite).await;
    let ada = server.person("Ada").await;
    let token = other.legacy_token(&ada.email);
    server.get("/v0/users/ada", &token).await.expect(401);
    let own = server.legacy_token(&ada.email);
    server.get("/v0/users/ada", &own).await.expect(200);
    server.pass(DAY + 1);
    server.get("/v0/users/ada", &own).await.expect(401);
}
