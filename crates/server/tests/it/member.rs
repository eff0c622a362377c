//! Members: invited, promoted, removed, and the last leader, who must stay.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{Request, header},
};
use insta::assert_snapshot;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{Answer, Person, TestServer, both};

const MEMBERS: &str = "/v0/organizations/acme/members";

/// Creates an organization: Ada administers the server, Bob leads Acme.
async fn acme(server: &TestServer) -> (Person, Person) {
    let ada = server.person("Ada").await;
    let bob = server.person("Bob").await;
    server.organization(&bob, "Acme").await;
    (ada, bob)
}

/// Returns the members of Acme with their roles, and the total.
async fn roles(server: &TestServer, person: &Person, query: &str) -> String {
    let answer = server.get(&format!("{MEMBERS}?{query}"), &person.token).await.expect(200);
    let rows = answer.body.as_array().unwrap();
    let rows: Vec<_> =
        rows.iter().map(|row| format!("{} {}", row["slug"], row["role"]).replace('"', "")).collect();
    format!("{} of {}", rows.join(", "), answer.headers["x-total-count"].to_str().unwrap())
}

fn member(person: &Person) -> String {
    format!("{MEMBERS}/{}", person.slug)
}

both! {
    async fn who_is_invited_and_accepts_is_a_member(server: TestServer) {
        let (_, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        server.pass(1);
        let invited = server.post(MEMBERS, &bob.token, json!({ "email": "Cleo@Example.org", "role": "member" })).await;
        assert_snapshot!("member_invite", server.show(&invited));
        assert_eq!(roles(&server, &bob, "").await, "bob leader of 1", "an invitation is not a membership");
        server.get("/v0/organizations/acme", &cleo.token).await.expect(404);

        let invite = server.mailed_token(&cleo.email).await;
        let accepted = server.post("/v0/auth/accept", &cleo.token, json!({ "invite": invite })).await;
        assert_snapshot!("member_accept", server.show(&accepted));
        assert_eq!(roles(&server, &cleo, "").await, "bob leader, cleo member of 2");
        let viewed = server.get(&member(&cleo), &bob.token).await;
        assert_snapshot!("member_view", server.show(&viewed));
        let by_uuid = server.get(&format!("{MEMBERS}/{}", cleo.uuid), &bob.token).await;
        assert_eq!(by_uuid.body, viewed.body);

        let again = server.post("/v0/auth/accept", &cleo.token, json!({ "invite": invite })).await;
        assert_snapshot!("member_accept_again", server.show(&again));
        let known = server.post(MEMBERS, &bob.token, json!({ "email": cleo.email, "role": "leader" })).await;
        assert_snapshot!("member_invite_member", server.show(&known));
    }

    async fn bad_invitations_are_not_sent(server: TestServer) {
        let (_, bob) = acme(&server).await;
        for body in [
            json!({}),
            json!({ "email": "eve@example.org" }),
            json!({ "role": "member" }),
            json!({ "email": "eve", "role": "member" }),
            json!({ "email": "eve@example.org", "role": "owner" }),
            json!({ "email": "eve@example.org", "role": "maintainer" }),
            json!({ "email": "eve@example.org", "role": "member", "name": "<b>" }),
        ] {
            server.post(MEMBERS, &bob.token, body).await.expect(400);
        }
        let invitations = server.get("/v0/organizations/acme/invitations", &bob.token).await.expect(200);
        assert_eq!(invitations.body, json!([]));
    }

    async fn a_member_looks_but_does_not_touch(server: TestServer) {
        let (_, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        server.join("acme", &bob, &cleo, "member").await;
        let refused = server.post(MEMBERS, &cleo.token, json!({ "email": "eve@example.org", "role": "member" })).await;
        assert_snapshot!("member_invite_forbidden", server.show(&refused));
        server.patch(&member(&cleo), &cleo.token, json!({ "role": "leader" })).await.expect(403);
        server.patch(&member(&bob), &cleo.token, json!({})).await.expect(403);
        server.delete(&member(&bob), &cleo.token).await.expect(403);
        server.delete(&format!("{MEMBERS}/nobody"), &cleo.token).await.expect(403);
        assert_eq!(roles(&server, &cleo, "").await, "bob leader, cleo member of 2");
    }

    async fn roles_change(server: TestServer) {
        let (ada, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        server.join("acme", &bob, &cleo, "member").await;
        server.pass(1);
        let promoted = server.patch(&member(&cleo), &bob.token, json!({ "role": "leader" })).await;
        assert_snapshot!("member_role", server.show(&promoted));
        assert_eq!(server.get(&member(&cleo), &bob.token).await.body, promoted.body);
        server.pass(1);
        for body in [json!({}), json!({ "role": null }), json!({ "role": "leader" })] {
            assert_eq!(server.patch(&member(&cleo), &bob.token, body).await.expect(200).body, promoted.body);
        }
        // The new leader has the rights of a leader, and one of two leaders may be demoted.
        server.patch(&member(&bob), &cleo.token, json!({ "role": "member" })).await.expect(200);
        server.patch(&member(&cleo), &bob.token, json!({ "role": "member" })).await.expect(403);
        assert_eq!(roles(&server, &bob, "").await, "bob member, cleo leader of 2");
        // An administrator of the server is not a member but may edit members.
        server.patch(&member(&bob), &ada.token, json!({ "role": "leader" })).await.expect(200);

        server.patch(&member(&bob), &cleo.token, json!({ "role": "owner" })).await.expect(400);
        server.patch(&member(&ada), &cleo.token, json!({ "role": "leader" })).await.expect(404);
        let missing = server.patch(&format!("{MEMBERS}/nobody"), &cleo.token, json!({ "role": "leader" })).await;
        assert_snapshot!("member_missing", server.show(&missing));
    }

    async fn members_leave_and_are_sent_away(server: TestServer) {
        let (ada, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        let dan = server.person("Dan").await;
        server.join("acme", &bob, &cleo, "member").await;
        server.join("acme", &bob, &dan, "leader").await;

        let left = server.delete(&member(&cleo), &cleo.token).await;
        assert_snapshot!("member_leave", server.show(&left));
        server.get(MEMBERS, &cleo.token).await.expect(404);
        server.delete(&member(&cleo), &cleo.token).await.expect(404);
        // A user cannot be removed twice, and only members can be removed.
        for id in [&cleo.slug, &ada.slug, &ada.uuid, "nobody"] {
            server.delete(&format!("{MEMBERS}/{id}"), &bob.token).await.expect(404);
        }
        server.delete(&member(&bob), &dan.token).await.expect(204);
        assert_eq!(roles(&server, &dan, "").await, "dan leader of 1");
    }

    async fn who_was_sent_away_stays_away(server: TestServer) {
        let (_, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        let [used, spare] =
            [server.invite("acme", &bob, &cleo.email, "member").await, server.invite("acme", &bob, &cleo.email, "leader").await];
        let accept = async |invite: &str| server.post("/v0/auth/accept", &cleo.token, json!({ "invite": invite })).await;
        accept(&used).await.expect(202);
        accept(&spare).await.expect(409);
        server.delete(&member(&cleo), &bob.token).await.expect(204);
        accept(&used).await.expect(401);
        accept(&spare).await.expect(401);
        // A new invitation works.
        server.join("acme", &bob, &cleo, "member").await;
    }

    async fn a_removed_leader_keeps_no_invitation_and_no_key(server: TestServer) {
        let (_, bob) = acme(&server).await;
        let [cleo, alias] = [server.person("Cleo").await, server.person("Cleo Alias").await];
        server.join("acme", &bob, &cleo, "leader").await;
        let invite = server.invite("acme", &cleo, &alias.email, "leader").await;
        server.post("/v0/organizations/acme/projects", &bob.token, json!({ "name": "Lab" })).await.expect(201);
        let [own, bobs] = [
            server.project_key(&cleo, "/v0/projects/lab").await,
            server.project_key(&bob, "/v0/projects/lab").await,
        ];
        server.delete(&member(&cleo), &bob.token).await.expect(204);

        let accepted = server.post("/v0/auth/accept", &alias.token, json!({ "invite": invite })).await;
        assert_snapshot!("member_accept_of_removed", server.show(&accepted));
        assert_eq!(roles(&server, &bob, "").await, "bob leader of 1");
        let branch = json!({ "name": "dev" });
        server.post("/v0/projects/lab/branches", &own, branch.clone()).await.expect(401);
        server.post("/v0/projects/lab/branches", &bobs, branch).await.expect(201);
        let audit = server.get("/v0/organizations/acme/audit?per_page=1", &bob.token).await;
        assert_snapshot!("member_remove_audit", server.show(&audit));
    }

    async fn the_keys_of_a_removed_member_can_be_kept(server: TestServer) {
        let (_, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        server.join("acme", &bob, &cleo, "leader").await;
        server.post("/v0/organizations/acme/projects", &bob.token, json!({ "name": "Lab" })).await.expect(201);
        let key = server.project_key(&cleo, "/v0/projects/lab").await;
        server.delete(&format!("{}?keep_keys=maybe", member(&cleo)), &bob.token).await.expect(400);
        server.delete(&format!("{}?keep_keys=true", member(&cleo)), &bob.token).await.expect(204);
        server.post("/v0/projects/lab/branches", &key, json!({ "name": "dev" })).await.expect(201);
        let audit = server.get("/v0/organizations/acme/audit?per_page=1", &bob.token).await;
        assert_snapshot!("member_remove_audit_kept", server.show(&audit));
    }

    async fn a_demoted_leader_keeps_only_keys_of_maintained_projects(server: TestServer) {
        let (_, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        server.join("acme", &bob, &cleo, "leader").await;
        let invite = server.invite("acme", &cleo, "eve@example.org", "leader").await;
        let mut keys = Vec::new();
        for name in ["Lab", "Mine"] {
            server.post("/v0/organizations/acme/projects", &bob.token, json!({ "name": name })).await.expect(201);
            keys.push(server.project_key(&cleo, &format!("/v0/projects/{}", name.to_lowercase())).await);
        }
        let maintainer = json!({ "user": "cleo", "role": "maintainer" });
        server.post("/v0/projects/mine/members", &bob.token, maintainer).await.expect(201);
        server.patch(&member(&cleo), &bob.token, json!({ "role": "member" })).await.expect(200);
        let branch = json!({ "name": "dev" });
        server.post("/v0/projects/lab/branches", &keys[0], branch.clone()).await.expect(401);
        server.post("/v0/projects/mine/branches", &keys[1], branch).await.expect(201);
        let signup = json!({ "name": "Eve", "email": "eve@example.org", "i_agree": true, "invite": invite });
        server.post("/v0/auth/signup", "", signup).await.expect(401);
        // The role in the project is removed, and with it the key.
        let role = json!({ "role": "developer" });
        server.patch("/v0/projects/mine/members/cleo", &bob.token, role).await.expect(200);
        server.post("/v0/projects/mine/branches", &keys[1], json!({ "name": "other" })).await.expect(401);
        let audit = server.get("/v0/organizations/acme/audit?per_page=255", &bob.token).await.expect(200);
        let lost: Vec<_> = audit.body.as_array().unwrap().iter().filter(|entry| !entry["detail"]["keys_revoked"].is_null()).collect();
        let lost = lost.iter().map(|entry| format!("{} {}", entry["action"], entry["detail"])).collect::<Vec<_>>();
        assert_snapshot!("member_demotion_audit", server.redact(&lost.join("\n")));
    }

    async fn a_request_that_outlives_the_role_of_its_sender_does_nothing(server: TestServer) {
        let (_, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        server.join("acme", &bob, &cleo, "leader").await;
        server.post("/v0/organizations/acme/projects", &bob.token, json!({ "name": "Lab" })).await.expect(201);
        for (path, body, status) in [
            (MEMBERS, json!({ "email": "eve@example.org", "role": "leader" }), 404),
            ("/v0/projects/lab/keys", json!({ "name": "ci" }), 403),
        ] {
            if status == 403 {
                server.join("acme", &bob, &cleo, "leader").await;
            }
            // The server reads the body only after it has checked the rights.
            let (asked, wait) = tokio::sync::oneshot::channel::<()>();
            let (send, sent) = tokio::sync::oneshot::channel::<()>();
            let body = Body::from_stream(futures_util::stream::once(async move {
                asked.send(()).unwrap();
                sent.await.unwrap();
                Ok::<_, std::io::Error>(body.to_string())
            }));
            let request = Request::post(path)
                .header(header::AUTHORIZATION, format!("Bearer {}", cleo.token))
                .header(header::CONTENT_TYPE, "application/json")
                .body(body)
                .unwrap();
            let remove = async {
                wait.await.unwrap();
                server.delete(&member(&cleo), &bob.token).await.expect(204);
                send.send(()).unwrap();
            };
            let (answer, ()) = tokio::join!(server.send(request), remove);
            answer.expect(status);
        }
    }

    async fn the_last_leader_stays(server: TestServer) {
        let (ada, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        server.join("acme", &bob, &cleo, "member").await;
        let demoted = server.patch(&member(&bob), &bob.token, json!({ "role": "member" })).await;
        assert_snapshot!("member_role_last_leader", server.show(&demoted));
        let left = server.delete(&member(&bob), &bob.token).await;
        assert_snapshot!("member_leave_last_leader", server.show(&left));
        server.patch(&member(&bob), &ada.token, json!({ "role": "member" })).await.expect(409);
        server.delete(&member(&bob), &ada.token).await.expect(409);
        server.patch(&member(&bob), &bob.token, json!({ "role": "leader" })).await.expect(200);
        assert_eq!(roles(&server, &bob, "").await, "bob leader, cleo member of 2");
        server.patch(&member(&cleo), &bob.token, json!({ "role": "leader" })).await.expect(200);
        server.delete(&member(&bob), &bob.token).await.expect(204);
        server.delete(&member(&cleo), &cleo.token).await.expect(409);
    }

    async fn a_locked_leader_does_not_count(server: TestServer) {
        let (ada, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        server.join("acme", &bob, &cleo, "leader").await;
        let lock = async |locked: bool| {
            server.patch("/v0/users/cleo", &ada.token, json!({ "locked": locked })).await.expect(200)
        };
        lock(true).await;
        server.delete(&member(&bob), &bob.token).await.expect(409);
        server.patch(&member(&bob), &bob.token, json!({ "role": "member" })).await.expect(409);
        lock(false).await;
        server.delete(&member(&bob), &bob.token).await.expect(204);
    }

    async fn of_two_leaders_who_leave_at_once_one_stays(server: TestServer) {
        let server = Arc::new(server);
        let (ada, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        for round in 0..4 {
            if roles(&server, &ada, "").await.starts_with("bob") {
                server.join("acme", &bob, &cleo, "leader").await;
            } else {
                server.join("acme", &cleo, &bob, "leader").await;
            }
            let mut leaving = JoinSet::new();
            for person in [bob.clone(), cleo.clone()] {
                let server = Arc::clone(&server);
                leaving.spawn(async move { server.delete(&member(&person), &person.token).await.status.as_u16() });
            }
            let mut statuses = leaving.join_all().await;
            statuses.sort_unstable();
            assert_eq!(statuses, [204, 409], "round {round}");
            assert!(roles(&server, &ada, "").await.ends_with("leader of 1"));
        }
    }

    async fn of_two_leaders_who_demote_each_other_one_stays(server: TestServer) {
        let server = Arc::new(server);
        let (ada, bob) = acme(&server).await;
        let cleo = server.person("Cleo").await;
        server.join("acme", &bob, &cleo, "leader").await;
        let mut demoting = JoinSet::new();
        for (by, whom) in [(bob.clone(), cleo.clone()), (cleo, bob)] {
            let server = Arc::clone(&server);
            demoting.spawn(async move {
                server.patch(&member(&whom), &by.token, json!({ "role": "member" })).await.status.as_u16()
            });
        }
        let mut statuses = demoting.join_all().await;
        statuses.sort_unstable();
        // The later request either would demote the last leader or comes from a user who is no longer a leader.
        assert!(matches!(statuses[..], [200, 403 | 409]), "{statuses:?}");
        let roles = roles(&server, &ada, "").await;
        assert_eq!(roles.matches("leader").count(), 1, "{roles}");
    }

    async fn lists_are_filtered_and_ordered(server: TestServer) {
        let (_, bob) = acme(&server).await;
        for name in ["zoe", "Cleo", "cleo", "Al-Amin", "O'Hara"] {
            let email = format!("{}@example.com", name.to_lowercase().replace('\'', ""));
            let email = if name == "cleo" { "cleo.two@example.com".to_owned() } else { email };
            let signup = json!({ "name": name, "email": email, "i_agree": true });
            server.post("/v0/auth/signup", "", signup).await.expect(202);
            let person = server.confirm(&email).await;
            server.join("acme", &bob, &person, "member").await;
        }
        let slugs = async |query: &str| {
            let answer: Answer = server.get(&format!("{MEMBERS}?{query}"), &bob.token).await.expect(200);
            let rows = answer.body.as_array().unwrap();
            let rows: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
            format!("{} of {}", rows.join(" "), answer.headers["x-total-count"].to_str().unwrap())
        };
        assert_eq!(slugs("").await, "Al-Amin Bob Cleo cleo O'Hara zoe of 6");
        assert_eq!(slugs("direction=desc&per_page=2").await, "zoe O'Hara of 6");
        assert_eq!(slugs("per_page=2&page=2&sort=name").await, "Cleo cleo of 6");
        assert_eq!(slugs("page=4294967295&per_page=255").await, " of 6");
        assert_eq!(slugs("name=cleo").await, "cleo of 1");
        assert_eq!(slugs("search=LEO").await, "Cleo cleo of 2");
        assert_eq!(slugs("search=%25").await, " of 0");
        assert_eq!(slugs("search=_").await, " of 0");
        assert_eq!(slugs("search=o%27h").await, "O'Hara of 1");
        assert_eq!(slugs(&format!("search={}", bob.uuid)).await, "Bob of 1");
        for query in ["name=%3Cb%3E", "sort=role", "per_page=256"] {
            server.get(&format!("{MEMBERS}?{query}"), &bob.token).await.expect(400);
        }
    }
}
