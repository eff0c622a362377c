//! `/v0/users` and `/v0/users/{user}`.

use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Person, TestServer, both};

const MINUTE: i64 = 60;

both! {
    async fn admins_list_all_users(server: TestServer) {
        let root = server.person("root").await;
        for name in ["Émile", "Zoe", "ada", "Ada", "bob"] {
            let email = format!("{}@example.org", server.app.fresh().uuid().simple());
            let signup = json!({ "name": name, "email": email, "i_agree": true });
            server.post("/v0/auth/signup", "", signup).await.expect(202);
        }
        let zoe = server.get("/v0/users?name=Zoe", &root.token).await.expect(200);
        let list = async |query: &str| {
            let answer = server.get(&format!("/v0/users?{query}"), &root.token).await.expect(200);
            (answer.each("name").join(" "), answer.total())
        };
        let found = |names: &str, total: i64| (names.to_owned(), total);
        // Sorted by letters, ignoring case; then by slug.
        assert_eq!(list("").await, found("ada Ada bob root Zoe Émile", 6));
        assert_eq!(list("sort=name&direction=desc").await, found("Émile Zoe root bob Ada ada", 6));
        assert_eq!(list("name=Ada").await, found("Ada", 1));
        assert_eq!(list("name=Ad").await, found("", 0));
        assert_eq!(list("search=ZO").await, found("Zoe", 1));
        assert_eq!(list("search=emil").await, found("Émile", 1));
        assert_eq!(list("search=%C3%89mi").await, found("Émile", 1));
        assert_eq!(list(&format!("search={}", zoe.text("/0/uuid").to_uppercase())).await, found("Zoe", 1));
        assert_eq!(list("search=").await.1, 6);
        for wild in ["%25", "_", "%5C", "*"] {
            assert_eq!(list(&format!("search={wild}")).await, found("", 0), "{wild}");
        }
        assert_eq!(list("page=2&per_page=4").await, found("Zoe Émile", 6));
        assert_eq!(list("page=0&per_page=2").await, found("ada Ada", 6));
        assert_eq!(list("page=3&per_page=3").await, found("", 6));
        assert_eq!(list("page=4294967295&per_page=255").await, found("", 6));
        assert_eq!(list("per_page=0").await, found("", 6));
        assert_eq!(list("per_page=255&unknown=1").await.1, 6);
        let mut lines = Vec::new();
        for query in [
            "per_page=256",
            "per_page=-1",
            "per_page=",
            "page=4294967296",
            "page=1&page=2",
            "sort=email",
            "direction=up",
            "name=%20x",
        ] {
            lines.push(format!("{query}: {}", server.get(&format!("/v0/users?{query}"), &root.token).await.line()));
        }
        assert_snapshot!("user_list_bad_queries", lines.join("\n"));
    }

    async fn only_admins_list_users(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        assert_snapshot!("user_list", server.show(&server.get("/v0/users", &root.token).await));
        assert_snapshot!("user_list_forbidden", server.show(&server.get("/v0/users", &ada.token).await));
        assert_snapshot!("user_list_anonymous", server.show(&server.get("/v0/users", "").await));
    }

    async fn a_user_is_seen_by_that_user_and_by_admins(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        let own = server.get("/v0/users/ada", &ada.token).await;
        assert_snapshot!("user_view", server.show(&own));
        let uuid: uuid::Uuid = ada.uuid.parse().unwrap();
        for id in [ada.uuid.clone(), uuid.simple().to_string(), uuid.urn().to_string()] {
            for token in [&ada.token, &root.token] {
                assert_eq!(server.get(&format!("/v0/users/{id}"), token).await.expect(200).body, own.body);
            }
        }
        // A hidden and a missing user look the same to a stranger.
        let hidden = server.get("/v0/users/root", &ada.token).await;
        assert_snapshot!("user_view_hidden", server.show(&hidden));
        let unknown = server.get("/v0/users/nobody", &ada.token).await;
        assert_eq!(server.show(&unknown), server.show(&hidden));
        server.get("/v0/users/nobody", &root.token).await.expect(404);
        server.patch("/v0/users/root", &ada.token, json!({ "name": "Mallory" })).await.expect(404);
        let malformed = server.get("/v0/users/Not%20A%20Slug", &root.token).await;
        assert_snapshot!("user_view_malformed", server.show(&malformed));
    }

    async fn a_user_takes_another_name_and_slug(server: TestServer) {
        server.person("Root").await;
        let ada = server.person("Ada").await;
        let patch = json!({ "name": "Ada Lovelace", "slug": "countess" });
        let answer = server.patch("/v0/users/ada", &ada.token, patch).await;
        assert_snapshot!("user_patch", server.show(&answer));
        server.get("/v0/users/ada", &ada.token).await.expect(404);
        // The personal organization keeps its name.
        let organizations = server.get("/v0/organizations", &ada.token).await;
        assert_eq!(organizations.each("slug"), ["ada"]);
        let path = "/v0/users/countess";
        let taken = server.patch(path, &ada.token, json!({ "name": "Root", "slug": "root" })).await;
        assert_snapshot!("user_patch_slug_taken", server.show(&taken));
        // Empty, null and unknown fields change nothing; the user's own slug counts as free.
        for same in [
            json!({}),
            json!({ "name": null, "slug": null, "email": null, "admin": null, "locked": null }),
            json!({ "unknown": 1 }),
            json!({ "slug": "countess" }),
            json!({ "email": "ADA@example.org" }),
        ] {
            assert_eq!(server.patch(path, &ada.token, same).await.expect(200).body, answer.body);
        }
        server.no_mail(&ada.email).await;
        let mut lines = Vec::new();
        for wrong in [
            json!({ "slug": "x".repeat(65) }),
            json!({ "slug": "67e5504410b1426f9247bb680e5fe0c8" }),
            json!({ "name": "x".repeat(65) }),
            json!({ "email": "nobody" }),
            json!({ "email": "\"a b\"@example.org" }),
            json!({ "admin": "yes" }),
            json!([]),
        ] {
            lines.push(server.patch(path, &ada.token, wrong).await.line());
        }
        assert_snapshot!("user_patch_bad_bodies", lines.join("\n"));
        // A key may do this as well.
        let key = key(&server, &ada, path).await;
        server.patch(path, &key, json!({ "name": "Ada" })).await.expect(200);
    }

    async fn only_admins_make_admins_and_lock(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        let mut lines = Vec::new();
        for patch in [
            json!({ "admin": true }),
            json!({ "admin": false }),
            json!({ "locked": true }),
            json!({ "locked": false, "name": "Eve" }),
        ] {
            lines.push(server.patch("/v0/users/ada", &ada.token, patch).await.line());
        }
        assert_snapshot!("user_patch_forbidden", lines.join("\n"));
        let path = "/v0/users/ada";
        let promoted = server.patch(path, &root.token, json!({ "admin": true })).await.expect(200);
        assert_eq!((&promoted.body["admin"], &promoted.body["name"]), (&json!(true), &json!("Ada")));
        server.get("/v0/users", &ada.token).await.expect(200);
        server.patch(path, &root.token, json!({ "admin": false })).await.expect(200);
        server.get("/v0/users", &ada.token).await.expect(403);

        let key = key(&server, &ada, path).await;
        let locked = server.patch(path, &root.token, json!({ "locked": true })).await.expect(200);
        assert_eq!(locked.body["locked"], true);
        server.get(path, &ada.token).await.expect(403);
        server.get(path, &key).await.expect(401);
        server.patch(path, &root.token, json!({ "locked": false })).await.expect(200);
        server.get(path, &ada.token).await.expect(200);
        server.get(path, &key).await.expect(200);
    }

    async fn the_last_admin_stays(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        let demoted = server.patch("/v0/users/root", &root.token, json!({ "admin": false })).await;
        assert_snapshot!("user_last_admin", server.show(&demoted));
        server.patch("/v0/users/root", &root.token, json!({ "locked": true })).await.expect(409);
        server.patch("/v0/users/root", &root.token, json!({ "admin": true, "locked": false })).await.expect(200);
        // A locked administrator does not count.
        server.patch("/v0/users/ada", &root.token, json!({ "admin": true, "locked": true })).await.expect(200);
        server.patch("/v0/users/root", &root.token, json!({ "admin": false })).await.expect(409);
        server.patch("/v0/users/ada", &root.token, json!({ "locked": false })).await.expect(200);
        // Two administrators demote each other at the same moment.
        let both = [("root", &ada.token), ("ada", &root.token)].map(|(user, token)| {
            let (server, path) = (&server, format!("/v0/users/{user}"));
            async move { server.patch(&path, token, json!({ "admin": false })).await.status.as_u16() }
        });
        let mut statuses = join_all(both).await;
        statuses.sort_unstable();
        assert!(statuses == [200, 404] || statuses == [200, 409], "{statuses:?}");
        let admins = server.app.db.read(tidemark_store::user::admins).await.unwrap();
        assert_eq!(admins.len(), 1);
    }

    async fn a_new_address_counts_once_it_is_confirmed(server: TestServer) {
        server.person("Root").await;
        let ada = server.person("Ada").await;
        let (path, new) = ("/v0/users/ada", "countess@example.org");
        let key = key(&server, &ada, path).await;
        let legacy = server.legacy_token(&ada.email);
        let unused = server.legacy_token(&ada.email);
        server.get(path, &legacy).await.expect(200);
        server.post("/v0/auth/login", "", json!({ "email": ada.email })).await.expect(202);
        let old_link = server.mailed_token(&ada.email).await;
        server.pass(MINUTE);

        let asked = server.patch(path, &ada.token, json!({ "email": "Countess@example.org" })).await;
        assert_snapshot!("user_email_asked", server.show(&asked));
        let token = server.mailed_token(new).await;
        // Nothing has changed yet, and no notification was sent.
        server.get(path, &ada.token).await.expect(200);
        server.get(path, &legacy).await.expect(200);
        server.no_mail(&ada.email).await;

        let confirmed = server.post("/v0/auth/confirm", "", json!({ "token": token })).await;
        assert_snapshot!("user_email_confirmed", server.show(&confirmed));
        let notice = server.mail(&ada.email).await;
        assert!(notice.contains("c***@e***.org") && !notice.contains(new), "{notice}");
        assert!(notice.contains("All sessions and API keys of the account were revoked"), "{notice}");
        // All credentials are invalid: the new address may belong to another person.
        for dead in [&ada.token, &legacy, &unused, &key] {
            server.get(path, dead).await.expect(401);
        }
        let stale = server.post("/v0/auth/confirm", "", json!({ "token": old_link })).await;
        assert_eq!(stale.status, 401, "an older link moves the account back");
        assert_eq!(server.get(path, &confirmed.text("/token")).await.expect(200).text("/email"), new);

        server.call_from([198, 51, 100, 7]);
        // The old address is free, and tokens signed for it do not work for its next owner.
        server.post("/v0/auth/login", "", json!({ "email": ada.email })).await.expect(202);
        server.no_mail(&ada.email).await;
        let next = json!({ "name": "Next", "email": ada.email, "i_agree": true });
        server.post("/v0/auth/signup", "", next).await.expect(202);
        let next = server.confirm(&ada.email).await;
        assert_ne!(next.uuid, ada.uuid);
        for dead in [&ada.token, &legacy, &unused] {
            server.get("/v0/users/next", dead).await.expect(401);
        }
    }

    async fn a_new_address_needs_a_session(server: TestServer) {
        server.person("Root").await;
        let ada = server.person("Ada").await;
        let path = "/v0/users/ada";
        let key = key(&server, &ada, path).await;
        let patch = json!({ "email": "mallory@example.org" });
        let answer = server.patch(path, &key, patch.clone()).await;
        assert_snapshot!("user_email_by_key", server.show(&answer));
        server.patch(path, &server.legacy_token(&ada.email), patch).await.expect(403);
        server.no_mail("mallory@example.org").await;
    }

    async fn a_taken_address_looks_like_a_free_one(server: TestServer) {
        server.person("Root").await;
        let grace = server.person("Grace").await;
        let ada = server.person("Ada").await;
        let free = server.patch("/v0/users/ada", &ada.token, json!({ "email": "free@example.org" })).await;
        let taken = server.patch("/v0/users/ada", &ada.token, json!({ "email": grace.email })).await;
        assert_eq!(server.show(&taken), server.show(&free.expect(200)));
        server.no_mail(&grace.email).await;

        // Another user signs up with the address before it is confirmed.
        let token = server.mailed_token("free@example.org").await;
        let signup = json!({ "name": "Quick", "email": "free@example.org", "i_agree": true });
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        let late = server.post("/v0/auth/confirm", "", json!({ "token": token })).await;
        assert_snapshot!("user_email_taken_meanwhile", server.show(&late));
        assert_eq!(server.get("/v0/users/ada", &ada.token).await.expect(200).text("/email"), ada.email);
    }

    async fn an_address_moved_to_while_it_is_signed_up_has_one_owner(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        server.patch("/v0/users/ada", &ada.token, json!({ "email": "free@example.org" })).await.expect(200);
        let token = server.mailed_token("free@example.org").await;
        let signup = json!({ "name": "Quick", "email": "free@example.org", "i_agree": true });
        let (moved, signed_up) = tokio::join!(
            server.post("/v0/auth/confirm", "", json!({ "token": token })),
            server.post("/v0/auth/signup", "", signup),
        );
        signed_up.expect(202);
        assert!([200, 409].contains(&moved.status.as_u16()), "{:#}", moved.body);
        let users = server.get("/v0/users", &root.token).await.expect(200);
        let owners = users.each("email").iter().filter(|email| *email == "free@example.org").count();
        assert_eq!(owners, 1);
    }

    async fn an_admin_changes_the_address_of_a_user(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        let patch = json!({ "email": "new@example.org" });
        let asked = server.patch("/v0/users/ada", &root.token, patch).await.expect(200);
        assert_eq!(asked.text("/email"), ada.email);
        let moved = server.confirm("new@example.org").await;
        assert_eq!((moved.uuid, moved.email.as_str()), (ada.uuid, "new@example.org"));
        server.mail(&ada.email).await;
        server.get("/v0/users/root", &root.token).await.expect(200);
    }

    async fn changes_are_in_the_audit_log_with_masked_addresses(server: TestServer) {
        let root = server.person("Root").await;
        let patch = json!({ "name": "Boss", "email": "boss@example.org" });
        server.patch("/v0/users/root", &root.token, patch).await.expect(200);
        let root = server.confirm("boss@example.org").await;
        let log = server.get("/v0/server/audit?per_page=255", &root.token).await.expect(200);
        assert!(!log.body.to_string().contains("@example.org"), "{:#}", log.body);
        let of = |action: &str| {
            let found = log.body.as_array().unwrap().iter().find(|entry| entry["action"] == action);
            found.map(|entry| entry["detail"].clone()).unwrap_or(Value::Null)
        };
        assert_eq!(of("user.update"), json!({ "name": "Boss", "email_asked_for": "b***@e***.org" }));
        assert_eq!(of("user.email"), json!({ "from": "r***@e***.org", "to": "b***@e***.org" }));
    }
}

async fn key(server: &TestServer, person: &Person, user: &str) -> String {
    let path = format!("{user}/keys");
    server.post(&path, &person.token, json!({ "name": "ci" })).await.expect(201).text("/key")
}
