//! Organizations: created, listed, changed, claimed, hidden and deleted.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_api::OrganizationPermission;
use tokio::task::JoinSet;

use crate::{Answer, Person, TestServer, both, contract};

const ORGANIZATIONS: &str = "/v0/organizations";

/// Returns the slugs of a list, in its order, and the total.
fn slugs(answer: &Answer) -> String {
    let slugs: Vec<_> =
        answer.body.as_array().unwrap().iter().map(|row| row["slug"].as_str().unwrap()).collect();
    format!("{} of {}", slugs.join(" "), answer.headers["x-total-count"].to_str().unwrap())
}

async fn count(server: &TestServer, sql: &'static str) -> i64 {
    server.app.db.read(move |tx| tx.value(sql, &[])).await.unwrap()
}

both! {
    async fn a_new_one_is_led_by_its_creator(server: TestServer) {
        server.person("Ada").await;
        let bob = server.person("Bob").await;
        let created = server.post(ORGANIZATIONS, &bob.token, json!({ "name": "Tide Mills" })).await;
        assert_snapshot!("organization_create", server.show(&created));
        for id in ["tide-mills", &created.text("/uuid"), &created.text("/uuid").to_uppercase()] {
            let viewed = server.get(&format!("{ORGANIZATIONS}/{id}"), &bob.token).await.expect(200);
            assert_eq!(viewed.body, created.body, "{id}");
        }
        let members = server.get(&format!("{ORGANIZATIONS}/tide-mills/members"), &bob.token).await;
        assert_snapshot!("organization_create_members", server.show(&members));
    }

    async fn a_key_creates_one_too(server: TestServer) {
        let ada = server.person("Ada").await;
        let path = format!("/v0/users/{}/keys", ada.slug);
        let key = server.post(&path, &ada.token, json!({ "name": "ci" })).await.expect(201).text("/key");
        server.post(ORGANIZATIONS, &key, json!({ "name": "By key" })).await.expect(201);
        server.get(&format!("{ORGANIZATIONS}/by-key"), &ada.token).await.expect(200);
    }

    async fn slugs_come_from_names_and_never_collide(server: TestServer) {
        let ada = server.person("Ada").await;
        let create = async |body: Value| {
            server.post(ORGANIZATIONS, &ada.token, body).await.expect(201)
        };
        assert_eq!(create(json!({ "name": "Ünïcode & Söhne" })).await.text("/slug"), "unicode-sohne");
        assert_eq!(create(json!({ "name": "Any", "slug": "chosen" })).await.text("/slug"), "chosen");

        // A taken slug, given or derived, gets a suffix of eight characters.
        for body in [json!({ "name": "Chosen" }), json!({ "name": "Any", "slug": "chosen" })] {
            let slug = create(body).await.text("/slug");
            let suffix = slug.strip_prefix("chosen-").unwrap();
            assert!(suffix.len() == 8 && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{slug}");
        }
        let long = "x".repeat(64);
        assert_eq!(create(json!({ "name": long })).await.text("/slug"), long);
        let second = create(json!({ "name": long })).await.text("/slug");
        assert!(second.len() == 64 && second.starts_with(&"x".repeat(55)), "{second}");

        // If the derived slug is empty, too long or a UUID, the organization's UUID becomes the slug, and finds it.
        for name in ["★ ☆", "ß".repeat(64).as_str(), "00000000-0000-4000-8000-000000000000"] {
            let created = create(json!({ "name": name })).await;
            let slug = created.text("/slug");
            assert_eq!(slug, created.text("/uuid"), "{name}");
            let found = server.get(&format!("{ORGANIZATIONS}/{slug}"), &ada.token).await.expect(200);
            assert_eq!(found.text("/name"), name);
        }
    }

    async fn names_have_up_to_64_characters(server: TestServer) {
        let ada = server.person("Ada").await;
        for name in ["é".repeat(64), "漢".repeat(64), "🌊".repeat(64), "a  b".to_owned(), "%_\\'\"<b>".to_owned()] {
            let created = server.post(ORGANIZATIONS, &ada.token, json!({ "name": name })).await.expect(201);
            assert_eq!(created.text("/name"), name);
        }
        for (name, slug) in [
            ("é".repeat(65).as_str(), None),
            ("", None),
            (" a", None),
            ("a\u{a0}", None),
            ("a\nb", None),
            ("a", Some("x".repeat(65).as_str())),
            ("a", Some("Upper")),
            ("a", Some("two--dashes")),
            ("a", Some("")),
            ("a", Some("00000000-0000-4000-8000-000000000000")),
        ] {
            let body = json!({ "name": name, "slug": slug });
            let refused = server.post(ORGANIZATIONS, &ada.token, body).await.expect(400);
            let field = if slug.is_some() { "`slug`" } else { "`name`" };
            assert!(refused.text("/message").contains(field), "{}", refused.body);
        }
    }

    async fn a_change_is_kept(server: TestServer) {
        let ada = server.person("Ada").await;
        server.organization(&ada, "Acme").await;
        server.organization(&ada, "Taken").await;
        server.pass(1);
        let path = format!("{ORGANIZATIONS}/acme");
        let patched = server.patch(&path, &ada.token, json!({ "name": "Apex", "slug": "apex" })).await;
        assert_snapshot!("organization_patch", server.show(&patched));
        server.get(&path, &ada.token).await.expect(404);
        let path = format!("{ORGANIZATIONS}/apex");
        assert_eq!(server.get(&path, &ada.token).await.expect(200).body, patched.body);

        // Its own slug counts as free; the slug of another organization is taken.
        server.patch(&path, &ada.token, json!({ "slug": "apex" })).await.expect(200);
        let taken = server.patch(&path, &ada.token, json!({ "slug": "taken", "name": "Lost" })).await;
        assert_snapshot!("organization_patch_taken", server.show(&taken));
        assert_eq!(server.get(&path, &ada.token).await.text("/name"), "Apex");

        server.pass(1);
        let empty = server.patch(&path, &ada.token, json!({})).await.expect(200);
        assert_eq!(empty.text("/name"), "Apex");
        assert_eq!(empty.text("/modified"), "2026-01-01T00:00:02.000Z");
        for body in [
            json!({ "name": null }),
            json!({ "slug": null }),
            json!({ "nmae": "Typo" }),
            json!({ "name": "" }),
            json!({ "slug": "x".repeat(65) }),
            json!([]),
        ] {
            server.patch(&path, &ada.token, body).await.expect(400);
        }
        let unknown = server.patch(&path, &ada.token, json!({ "nmae": "Typo" })).await;
        assert_snapshot!("organization_patch_unknown_field", server.show(&unknown));
        let raw = |body: &'static str| {
            let request = Request::patch(&path).header(header::AUTHORIZATION, format!("Bearer {}", ada.token));
            server.send(request.body(Body::from(body)).unwrap())
        };
        for body in ["", "{", "{} {}", r#"{"name":"A","name":"B"}"#] {
            raw(body).await.expect(400);
        }
    }

    async fn a_license_is_for_managers(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        let cleo = server.person("Cleo").await;
        server.organization(&bob, "Acme").await;
        server.join("acme", &bob, &cleo, "member").await;
        let path = format!("{ORGANIZATIONS}/acme");
        let refused = server.patch(&path, &bob.token, json!({ "license": "aaaa.aaaa.aaaa", "name": "New" })).await;
        assert_snapshot!("organization_license_refused", server.show(&refused));
        server.patch(&path, &bob.token, json!({ "license": "no token" })).await.expect(400);

        let set = "update organization set license = 'aaaa.bbbb.cccc' where slug = 'acme'";
        server.app.db.write(|tx| tx.execute(set, &[])).await.unwrap();
        for (person, license) in [(&ada, json!("aaaa.bbbb.cccc")), (&bob, json!("aaaa.bbbb.cccc")), (&cleo, Value::Null)] {
            assert_eq!(server.get(&path, &person.token).await.expect(200).body["license"], license);
        }
        for (person, license) in [(&ada, json!("aaaa.bbbb.cccc")), (&bob, json!("aaaa.bbbb.cccc")), (&cleo, Value::Null)] {
            // Administrators see organizations of others only with `all=true`.
            let all = if person.token == ada.token { "&all=true" } else { "" };
            let list = server.get(&format!("{ORGANIZATIONS}?name=Acme{all}"), &person.token).await.expect(200);
            assert_eq!(list.body[0]["license"], license);
        }

        server.patch(&path, &cleo.token, json!({ "license": null })).await.expect(403);
        let kept = server.patch(&path, &bob.token, json!({ "name": "Acme" })).await.expect(200);
        assert_eq!(kept.body["license"], "aaaa.bbbb.cccc");
        let removed = server.patch(&path, &bob.token, json!({ "license": null })).await.expect(200);
        assert_eq!(removed.body["license"], Value::Null);
        assert_eq!(removed.body["name"], "Acme");
    }

    async fn lists_hold_what_one_belongs_to(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        for name in ["zeta", "Alpha", "beta 100%", "under_score", "underXscore", "Äther"] {
            server.organization(&bob, name).await;
        }
        let list = async |person: &Person, query: &str| {
            let answer = server.get(&format!("{ORGANIZATIONS}?{query}"), &person.token).await;
            slugs(&answer.expect(200))
        };
        assert_eq!(list(&ada, "").await, "ada of 1", "an administrator, too, sees only those");
        assert_eq!(list(&ada, "all=false").await, "ada of 1");
        assert_eq!(list(&ada, "all=true").await, "ada alpha beta-100 bob under-score underxscore zeta ather of 8");
        let refused = server.get(&format!("{ORGANIZATIONS}?all=true"), &bob.token).await;
        assert_snapshot!("organization_list_all_refused", server.show(&refused));
        assert_eq!(list(&bob, "").await, "alpha beta-100 bob under-score underxscore zeta ather of 7");
        assert_eq!(list(&bob, "direction=desc&sort=name&per_page=2").await, "ather zeta of 7");

        assert_eq!(list(&bob, "name=Alpha").await, "alpha of 1");
        assert_eq!(list(&bob, "name=alpha").await, " of 0");
        assert_eq!(list(&bob, "name=Ada").await, " of 0");
        assert_eq!(list(&bob, "search=ALPH").await, "alpha of 1");
        assert_eq!(list(&bob, "search=%25").await, "beta-100 of 1");
        assert_eq!(list(&bob, "search=_").await, "under-score of 1");
        assert_eq!(list(&bob, "search=%5C").await, " of 0");
        assert_eq!(list(&bob, "search=%C3%84").await, "ather of 1", "the same letter is found on every engine");
        assert_eq!(list(&bob, "search=").await, list(&bob, "").await);
        assert_eq!(list(&bob, &format!("search={}", &bob.uuid[24..])).await, "bob of 1");
        assert_eq!(list(&bob, "search=under&name=underXscore&other=1").await, "underxscore of 1");
    }

    async fn pages_have_edges(server: TestServer) {
        let ada = server.person("Ada").await;
        for _ in 0..9 {
            server.organization(&ada, "Twin").await;
        }
        let get = async |query: &str| server.get(&format!("{ORGANIZATIONS}?{query}"), &ada.token).await;
        let all = slugs(&get("per_page=255").await.expect(200));
        let (all, _) = all.split_once(" of 10").unwrap();
        let all: Vec<_> = all.split(' ').collect();
        assert_eq!(slugs(&get("").await), format!("{} of 10", all[..8].join(" ")));
        assert_eq!(slugs(&get("page=0").await), slugs(&get("page=1").await));
        assert_eq!(slugs(&get("page=2").await), format!("{} of 10", all[8..].join(" ")));
        // Organizations with equal names have a stable order across pages.
        let mut pages = Vec::new();
        for page in 1..=10 {
            pages.push(get(&format!("per_page=1&page={page}")).await.expect(200).text("/0/slug"));
        }
        assert_eq!(pages, all);
        for query in ["page=3", "page=4294967295", "page=4294967295&per_page=255", "per_page=0", "per_page=0&page=0"] {
            assert_eq!(slugs(&get(query).await.expect(200)), " of 10", "{query}");
        }
        for query in [
            "per_page=256", "per_page=-1", "per_page=", "per_page=a", "page=4294967296", "page=-1", "page=1&page=2",
            "direction=up", "sort=created", "name=", "name=%20a", "search=a&search=b",
        ] {
            get(query).await.expect(400);
        }
        assert_snapshot!("organization_list_bad_page", server.show(&get("per_page=256").await));
    }

    async fn asking_what_is_allowed_never_fails(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        let cleo = server.person("Cleo").await;
        let dan = server.person("Dan").await;
        server.organization(&bob, "Acme").await;
        server.join("acme", &bob, &cleo, "member").await;
        let allowed = async |person: &Person, organization: &str| {
            let mut words = Vec::new();
            for permission in OrganizationPermission::ALL {
                let path = format!("{ORGANIZATIONS}/{organization}/allowed/{permission}");
                let answer = server.get(&path, &person.token).await.expect(200);
                if answer.body["allowed"].as_bool().unwrap() {
                    words.push(permission.as_str());
                }
            }
            words.join(" ")
        };
        const ALL: &str = "view create edit delete manage view_role create_role edit_role delete_role";
        assert_eq!(allowed(&ada, "acme").await, ALL);
        assert_eq!(allowed(&bob, "acme").await, ALL);
        assert_eq!(allowed(&cleo, "acme").await, "view view_role");
        assert_eq!(allowed(&dan, "acme").await, "");
        assert_eq!(allowed(&ada, "nowhere").await, "");
        let unknown = server.get(&format!("{ORGANIZATIONS}/acme/allowed/fly"), &bob.token).await;
        assert_snapshot!("organization_allowed_unknown", server.show(&unknown));
        server.delete(&format!("{ORGANIZATIONS}/acme"), &bob.token).await.expect(204);
        assert_eq!(allowed(&ada, "acme").await, "");
    }

    async fn a_deleted_one_is_gone_everywhere(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        let cleo = server.person("Cleo").await;
        let created = server.post(ORGANIZATIONS, &bob.token, json!({ "name": "Acme" })).await.expect(201);
        let uuid = created.text("/uuid");
        server.join("acme", &bob, &cleo, "leader").await;
        let invite = server.invite("acme", &bob, "dan@example.org", "member").await;
        let deleted = server.delete(&format!("{ORGANIZATIONS}/acme"), &cleo.token).await;
        assert_snapshot!("organization_delete", server.show(&deleted));

        for operation in contract::operations() {
            if !operation.path.contains("{organization}") || operation.id == "org_allowed_get" {
                continue;
            }
            for id in ["acme", &uuid, &format!("deleted-{uuid}")] {
                let path = operation
                    .path
                    .replace("{organization}", id)
                    .replace("{user}", &bob.slug)
                    .replace("{invitation}", &uuid)
                    .replace("{sso}", &uuid);
                let method: Method = operation.method.parse().unwrap();
                // Operations for administrators are rejected for others before the organization is looked up.
                let people: &[_] = if operation.right == "admin" { &[&ada] } else { &[&ada, &bob] };
                for person in people {
                    let answer = server.call(method.clone(), &path, &person.token, contract::body(operation)).await;
                    assert_eq!(answer.status, 404, "{} {path}: {}", operation.id, answer.body);
                }
            }
        }
        for person in [&ada, &bob] {
            let list = server.get(&format!("{ORGANIZATIONS}?search=acme"), &person.token).await;
            assert_eq!(slugs(&list), " of 0");
        }
        let late = json!({ "name": "Dan", "email": "dan@example.org", "i_agree": true, "invite": invite });
        server.post("/v0/auth/signup", "", late).await.expect(401);

        // The slug is free at once.
        let again = server.post(ORGANIZATIONS, &bob.token, json!({ "name": "Acme" })).await.expect(201);
        assert_eq!(again.text("/slug"), "acme");
        assert_ne!(again.text("/uuid"), uuid);
    }

    async fn an_administrator_destroys_for_good(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        let cleo = server.person("Cleo").await;
        let destroy = async |person: &Person, id: &str| {
            server.delete(&format!("{ORGANIZATIONS}/{id}?hard=true"), &person.token).await
        };
        for (name, hide) in [("Live", false), ("Hidden", true), ("Hidden too", true)] {
            let created = server.post(ORGANIZATIONS, &bob.token, json!({ "name": name })).await.expect(201);
            let (slug, uuid) = (created.text("/slug"), created.text("/uuid"));
            server.join(&slug, &bob, &cleo, "member").await;
            server.invite(&slug, &bob, "dan@example.org", "member").await;
            if hide {
                server.delete(&format!("{ORGANIZATIONS}/{slug}?hard=false"), &bob.token).await.expect(204);
            }
            for (person, id) in [(&bob, slug.as_str()), (&cleo, &uuid), (&bob, "nowhere")] {
                let refused = destroy(person, id).await.expect(403);
                assert!(refused.text("/message").contains("leave `hard` out"));
            }
            let id = match name {
                "Live" => slug,
                "Hidden" => uuid,
                _ => format!("deleted-{uuid}"),
            };
            destroy(&ada, &id).await.expect(204);
            destroy(&ada, &id).await.expect(404);
        }
        assert_eq!(count(&server, "select count(*) from organization").await, 3, "the personal ones");
        assert_eq!(count(&server, "select count(*) from member").await, 3);
        assert_eq!(count(&server, "select count(*) from invitation").await, 0);
        destroy(&ada, "nowhere").await.expect(404);
        server.delete(&format!("{ORGANIZATIONS}/bob?hard=maybe"), &ada.token).await.expect(400);
    }

    async fn a_personal_one_comes_back_at_the_next_sign_in(server: TestServer) {
        server.person("Ada").await;
        let bob = server.person("Bob").await;
        // Every time it is deleted.
        for _ in 0..3 {
            let found = server.get(&format!("{ORGANIZATIONS}/bob"), &bob.token).await.expect(200);
            assert_eq!(found.text("/uuid"), bob.uuid);
            server.delete(&format!("{ORGANIZATIONS}/{}", bob.uuid), &bob.token).await.expect(204);
            assert_eq!(slugs(&server.get(ORGANIZATIONS, &bob.token).await), " of 0");
            server.pass(3600);
            server.post("/v0/auth/login", "", json!({ "email": bob.email })).await.expect(202);
            server.confirm(&bob.email).await;
        }
        assert_eq!(slugs(&server.get(ORGANIZATIONS, &bob.token).await), "bob of 1");

        // A member of another organization gets no personal organization.
        server.organization(&bob, "Acme").await;
        server.delete(&format!("{ORGANIZATIONS}/bob"), &bob.token).await.expect(204);
        server.pass(3600);
        server.post("/v0/auth/login", "", json!({ "email": bob.email })).await.expect(202);
        server.confirm(&bob.email).await;
        assert_eq!(slugs(&server.get(ORGANIZATIONS, &bob.token).await), "acme of 1");
    }

    async fn an_unclaimed_organization_can_be_claimed_once(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        let cleo = server.person("Cleo").await;
        server.unclaimed("Found").await;
        let path = format!("{ORGANIZATIONS}/found");
        server.get(&path, &bob.token).await.expect(404);
        assert_eq!(server.get(&path, &ada.token).await.expect(200).body["claimed"], Value::Null);
        server.pass(1);
        let claim = format!("{path}/claim");
        server.call(Method::POST, &claim, &bob.token, None).await.expect(400);
        let claimed = server.post(&claim, &bob.token, json!({ "empty": null })).await;
        assert_snapshot!("organization_claim", server.show(&claimed));
        assert_eq!(server.get(&path, &bob.token).await.expect(200).body, claimed.body);

        let own = server.post(&claim, &bob.token, json!({})).await;
        assert_snapshot!("organization_claim_again", server.show(&own));
        // To other users, a claimed organization looks like one that does not exist.
        let hidden = server.post(&claim, &cleo.token, json!({})).await;
        let nowhere = server.post(&format!("{ORGANIZATIONS}/nowhere/claim"), &cleo.token, json!({})).await;
        assert_snapshot!("organization_claim_hidden", server.show(&hidden));
        assert_eq!(server.show(&hidden), server.show(&nowhere));
        server.post(&claim, &ada.token, json!({})).await.expect(409);
    }

    async fn a_member_of_an_unclaimed_organization_can_claim_it(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        server.unclaimed("Found").await;
        server.join("found", &ada, &bob, "member").await;
        server.post(&format!("{ORGANIZATIONS}/found/claim"), &bob.token, json!({})).await.expect(201);
        let member = server.get(&format!("{ORGANIZATIONS}/found/members/bob"), &bob.token).await.expect(200);
        assert_eq!(member.text("/role"), "leader");
    }

    async fn of_eight_who_claim_at_once_one_wins(server: TestServer) {
        let server = Arc::new(server);
        let slug = server.unclaimed("Gold").await;
        let mut claims = JoinSet::new();
        for number in 0..8 {
            let person = server.person(&format!("Digger {number}")).await;
            let (server, path) = (Arc::clone(&server), format!("{ORGANIZATIONS}/{slug}/claim"));
            claims.spawn(async move { server.post(&path, &person.token, json!({})).await.status.as_u16() });
        }
        let mut statuses = claims.join_all().await;
        statuses.sort_unstable();
        // The first user administers the server and may see claimed organizations.
        assert_eq!(statuses[0], 201);
        assert!(statuses[1..].iter().all(|status| matches!(status, 404 | 409)), "{statuses:?}");
        assert_eq!(count(&server, "select count(*) from member join organization
            on organization.id = organization_id where slug = 'gold'").await, 1);
    }
}
