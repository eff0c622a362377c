//! `/v0/users/{user}/keys`

use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Answer, Engine, Person, TestServer, both};

both! {
    async fn a_key_is_shown_once(server: TestServer) {
        let ada = server.person("Ada").await;
        let created = create(&server, &ada, json!({ "name": "ci" })).await;
        assert_snapshot!("key_create", server.show(&created));
        let key = created.text("/key");
        let secret = key.strip_prefix("svc_user_").unwrap();
        assert_eq!((key.len(), secret.len()), (39, 30));
        assert!(secret.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{key}");

        let path = path(&created);
        let view = server.get(&path, &ada.token).await;
        assert_snapshot!("key_view", server.show(&view));
        let list = server.get("/v0/users/ada/keys", &ada.token).await;
        assert_snapshot!("key_list", server.show(&list));
        let renamed = server.patch(&path, &ada.token, json!({ "name": "nightly" })).await;
        assert_snapshot!("key_rename", server.show(&renamed));
        for later in [&view, &list, &renamed] {
            assert!(!later.body.to_string().contains(secret));
        }
        for same in [json!({}), json!({ "name": null }), json!({ "name": "nightly" })] {
            assert_eq!(server.patch(&path, &ada.token, same).await.expect(200).body, renamed.body);
        }
        let audit = server.get("/v0/server/audit?per_page=255", &ada.token).await.expect(200);
        assert!(!audit.body.to_string().contains(secret));
        let actions = audit.each("action");
        assert!(actions.contains(&"user_key.create".to_owned()) && actions.contains(&"user_key.rename".to_owned()));
    }

    async fn a_key_lives_as_long_as_was_asked(server: TestServer) {
        let ada = server.person("Ada").await;
        let mut lines = Vec::new();
        for ttl in [json!(0), json!(-1), json!(4_294_967_296_u64), json!(1.5), json!("60")] {
            let answer = create(&server, &ada, json!({ "name": "ci", "ttl": ttl })).await;
            lines.push(format!("{ttl}: {}", answer.line()));
        }
        for name in ["", " x", "x\ny", "x".repeat(65).as_str()] {
            lines.push(create(&server, &ada, json!({ "name": name })).await.line());
        }
        assert_snapshot!("key_create_bad_bodies", lines.join("\n"));

        let second = create(&server, &ada, json!({ "name": "second", "ttl": 1 })).await.expect(201);
        assert_eq!(second.text("/expiration"), "2026-01-01T00:00:01.000Z");
        for body in [json!({ "name": "long", "ttl": 4_294_967_295_u32 }), json!({ "name": "\u{1f680}".repeat(64) })] {
            let long = create(&server, &ada, body).await.expect(201);
            assert_eq!(long.text("/expiration"), "2162-02-07T06:28:15.000Z");
            server.get(&path(&long), &ada.token).await.expect(200);
        }
        server.get("/v0/users/ada", &second.text("/key")).await.expect(200);
        server.pass(1);
        let late = server.get("/v0/users/ada", &second.text("/key")).await;
        assert_snapshot!("key_run_out", server.show(&late));
        // It is still listed because it was not revoked.
        assert_eq!(server.get("/v0/users/ada/keys", &ada.token).await.total(), 3);
    }

    async fn a_key_is_revoked_for_ever(server: TestServer) {
        let ada = server.person("Ada").await;
        let created = create(&server, &ada, json!({ "name": "ci" })).await.expect(201);
        let (path, key) = (path(&created), created.text("/key"));
        server.get("/v0/users/ada", &key).await.expect(200);
        let answer = server.delete(&path, &ada.token).await;
        assert_snapshot!("key_revoke", server.show(&answer));
        server.get("/v0/users/ada", &key).await.expect(401);
        let view = server.get(&path, &ada.token).await;
        assert_snapshot!("key_view_revoked", server.show(&view));
        let again = server.delete(&path, &ada.token).await;
        assert_snapshot!("key_revoke_again", server.show(&again));
        // A new name does not restore it.
        server.patch(&path, &ada.token, json!({ "name": "risen" })).await.expect(200);
        server.get("/v0/users/ada", &key).await.expect(401);

        let created = create(&server, &ada, json!({ "name": "ci" })).await.expect(201);
        let path = self::path(&created);
        let tries = (0..4).map(|_| server.delete(&path, &ada.token));
        let mut statuses: Vec<_> = join_all(tries).await.iter().map(|answer| answer.status.as_u16()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 409, 409, 409]);
    }

    async fn keys_are_listed_filtered_and_paged(server: TestServer) {
        let ada = server.person("Ada").await;
        let mut all = Vec::new();
        for name in ["b_ta", "Alpha", "beta", "alpha", "100%", "\\", "gone"] {
            all.push(create(&server, &ada, json!({ "name": name })).await.expect(201));
            server.pass(1);
        }
        all.push(create(&server, &ada, json!({ "name": "alpha" })).await.expect(201));
        server.delete(&path(&all[6]), &ada.token).await.expect(204);
        let list = async |query: &str| {
            let answer = server.get(&format!("/v0/users/ada/keys?{query}"), &ada.token).await.expect(200);
            (answer.each("name").join(" "), answer.total())
        };
        let found = |names: &str, total: i64| (names.to_owned(), total);
        assert_eq!(list("").await, found("100% \\ Alpha alpha alpha b_ta beta", 7));
        assert_eq!(list("direction=desc").await, found("beta b_ta alpha alpha Alpha \\ 100%", 7));
        assert_eq!(list("name=alpha").await, found("alpha alpha", 2));
        assert_eq!(list("search=ALPHA").await, found("Alpha alpha alpha", 3));
        assert_eq!(list("search=b_t").await, found("b_ta", 1));
        assert_eq!(list("search=%25").await, found("100%", 1));
        assert_eq!(list("search=%5C").await, found("\\", 1));
        assert_eq!(list(&format!("search={}", all[2].text("/uuid"))).await, found("beta", 1));
        assert_eq!(list("revoked=true").await, found("gone", 1));
        assert_eq!(list("revoked=false&search=gone").await, found("", 0));
        // Keys with the same name are in the order of their creation.
        let alphas = server.get("/v0/users/ada/keys?name=alpha", &ada.token).await;
        assert_eq!(alphas.each("uuid"), [all[3].text("/uuid"), all[7].text("/uuid")]);
        let mut walked = Vec::new();
        for page in 1..=4 {
            let answer = server.get(&format!("/v0/users/ada/keys?per_page=2&page={page}"), &ada.token).await;
            walked.extend(answer.each("uuid"));
        }
        walked.sort();
        walked.dedup();
        assert_eq!(walked.len(), 7);
        assert_eq!(list("per_page=0").await, found("", 7));
        assert_eq!(list("per_page=255&page=0").await.1, 7);
        assert_eq!(list("page=4294967295&per_page=255").await, found("", 7));
        let mut lines = Vec::new();
        for query in ["per_page=256", "page=-1", "revoked=maybe", "sort=creation", "name=%20x", "revoked=true&revoked=true"] {
            let answer = server.get(&format!("/v0/users/ada/keys?{query}"), &ada.token).await;
            lines.push(format!("{query}: {}", answer.line()));
        }
        assert_snapshot!("key_list_bad_queries", lines.join("\n"));
    }

    async fn a_key_reaches_only_itself(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        let own = create(&server, &ada, json!({ "name": "own" })).await.expect(201);
        let other = create(&server, &ada, json!({ "name": "other" })).await.expect(201);
        let key = own.text("/key");
        let made = server.post("/v0/users/ada/keys", &key, json!({ "name": "more" })).await;
        assert_snapshot!("key_makes_no_key", server.show(&made));
        let list = server.get("/v0/users/ada/keys", &key).await;
        assert_eq!((list.each("name"), list.total()), (vec!["own".to_owned()], 1));
        assert_eq!(server.get("/v0/users/ada/keys?search=other", &key).await.total(), 0);
        let seen = server.get(&path(&other), &key).await;
        assert_snapshot!("key_sees_no_other", server.show(&seen));
        server.patch(&path(&other), &key, json!({ "name": "mine" })).await.expect(403);
        server.patch(&path(&other), &key, json!({})).await.expect(403);
        server.delete(&path(&other), &key).await.expect(403);
        server.get(&path(&own), &key).await.expect(200);
        server.patch(&path(&own), &key, json!({ "name": "renamed" })).await.expect(200);
        server.delete(&path(&own), &key).await.expect(204);
        server.get(&path(&own), &key).await.expect(401);

        // An administrator's key has the same restriction.
        let strong = create(&server, &root, json!({ "name": "strong" })).await.expect(201).text("/key");
        server.get("/v0/users", &strong).await.expect(200);
        server.post("/v0/users/ada/keys", &strong, json!({ "name": "spy" })).await.expect(403);
        assert_eq!(server.get("/v0/users/ada/keys", &strong).await.expect(200).total(), 0);
        server.get(&path(&other), &strong).await.expect(403);
        server.delete(&path(&other), &strong).await.expect(403);
    }

    async fn keys_of_others_are_for_admins(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        let eve = server.person("Eve").await;
        let own = create(&server, &ada, json!({ "name": "own" })).await.expect(201);
        for (method, answer) in [
            ("list", server.get("/v0/users/ada/keys", &eve.token).await),
            ("create", server.post("/v0/users/ada/keys", &eve.token, json!({ "name": "spy" })).await),
            ("view", server.get(&path(&own), &eve.token).await),
            ("rename", server.patch(&path(&own), &eve.token, json!({ "name": "spy" })).await),
            ("revoke", server.delete(&path(&own), &eve.token).await),
            ("not one's own", server.get(&path(&own).replace("/ada/", "/eve/"), &eve.token).await),
        ] {
            assert_eq!(answer.status, 404, "{method}");
        }
        let unknown = server.app.fresh().uuid();
        for (path, status) in [(format!("/v0/users/ada/keys/{unknown}"), 404), ("/v0/users/ada/keys/ci".to_owned(), 400)] {
            server.get(&path, &ada.token).await.expect(status);
            server.patch(&path, &ada.token, json!({ "name": "x" })).await.expect(status);
            server.delete(&path, &ada.token).await.expect(status);
        }

        // An administrator can create a key for a user, who is notified.
        let made = server.post("/v0/users/ada/keys", &root.token, json!({ "name": "for ada" })).await.expect(201);
        assert_eq!(made.text("/user"), ada.uuid);
        server.get("/v0/users/ada", &made.text("/key")).await.expect(200);
        assert!(server.mail(&ada.email).await.contains("An API key was created for your account"));
        let list = server.get("/v0/users/ada/keys", &root.token).await.expect(200);
        assert_eq!(list.each("user"), [ada.uuid.clone(), ada.uuid.clone()]);
        server.patch(&path(&own), &root.token, json!({ "name": "seen" })).await.expect(200);
        server.delete(&path(&own), &root.token).await.expect(204);
        server.get("/v0/users/ada", &own.text("/key")).await.expect(401);
    }
}

/// The prefix of keys is configurable, so that the existing keys of clients stay valid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_word_of_a_key_is_configured() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let server = TestServer::start_with(engine, "[security]\nkey_prefix = \"acme\"\n").await;
        let ada = server.person("Ada").await;
        let key = create(&server, &ada, json!({ "name": "ci" })).await.expect(201).text("/key");
        let secret = key.strip_prefix("acme_user_").unwrap_or_else(|| panic!("{key}"));
        assert_eq!(secret.len(), 30);
        server.get("/v0/users/ada", &key).await.expect(200);
        server.get("/v0/users/ada", &format!("svc_user_{secret}")).await.expect(401);
    }
}

async fn create(server: &TestServer, owner: &Person, body: Value) -> Answer {
    server.post(&format!("/v0/users/{}/keys", owner.slug), &owner.token, body).await
}

/// Returns the path of a new key of Ada.
fn path(created: &Answer) -> String {
    format!("/v0/users/ada/keys/{}", created.text("/uuid"))
}
