//! Invitations: created, viewed, accepted once, revoked and expired.

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{Person, TestServer, both};

const INVITATIONS: &str = "/v0/organizations/acme/invitations";
const WEEK: i64 = 7 * 86_400;

/// Creates an organization: Ada administers the server, Bob leads Acme.
async fn acme(server: &TestServer) -> Person {
    server.person("Ada").await;
    let bob = server.person("Bob").await;
    server.organization(&bob, "Acme").await;
    bob
}

/// Returns address and status of each invitation, newest first.
async fn statuses(server: &TestServer, person: &Person) -> Vec<String> {
    let answer = server.get(INVITATIONS, &person.token).await.expect(200);
    let rows = answer.body.as_array().unwrap().iter();
    rows.map(|row| format!("{} {}", row["email"], row["status"]).replace('"', "")).collect()
}

/// Returns the path of the newest invitation.
async fn newest(server: &TestServer, person: &Person) -> String {
    format!("{INVITATIONS}/{}", server.get(INVITATIONS, &person.token).await.text("/0/uuid"))
}

async fn accept(server: &TestServer, person: &Person, invite: &str) -> u16 {
    server.post("/v0/auth/accept", &person.token, json!({ "invite": invite })).await.status.as_u16()
}

both! {
    async fn they_are_listed_and_seen(server: TestServer) {
        let bob = acme(&server).await;
        let cleo = server.person("Cleo").await;
        server.join("acme", &bob, &cleo, "member").await;
        server.pass(1);
        server.invite("acme", &bob, "dan@example.org", "leader").await;
        server.invite("acme", &bob, "eve@example.org", "member").await;
        let list = server.get(&format!("{INVITATIONS}?per_page=2"), &bob.token).await;
        assert_snapshot!("invitation_list", server.show(&list));
        let oldest = server.get(&format!("{INVITATIONS}?direction=asc&per_page=1"), &bob.token).await;
        assert_eq!(oldest.text("/0/email"), cleo.email);
        // Members see the same as leaders. The list does not contain the token.
        let viewed = server.get(&newest(&server, &bob).await, &cleo.token).await;
        assert_eq!(viewed.body, list.body[0]);
        assert!(!list.body.to_string().contains("eyJ"));
    }

    async fn a_revoked_one_is_dead(server: TestServer) {
        let bob = acme(&server).await;
        let cleo = server.person("Cleo").await;
        let dan = server.person("Dan").await;
        server.join("acme", &bob, &dan, "member").await;
        let invite = server.invite("acme", &bob, &cleo.email, "member").await;
        let path = newest(&server, &bob).await;
        server.delete(&path, &dan.token).await.expect(403);
        let revoked = server.delete(&path, &bob.token).await;
        assert_snapshot!("invitation_revoke", server.show(&revoked));
        let again = server.delete(&path, &bob.token).await;
        assert_snapshot!("invitation_revoke_again", server.show(&again));
        let late = server.post("/v0/auth/accept", &cleo.token, json!({ "invite": invite })).await;
        assert_snapshot!("invitation_accept_revoked", server.show(&late));
        assert_eq!(statuses(&server, &bob).await, ["cleo@example.org revoked", "dan@example.org accepted"]);
        // An accepted invitation cannot be revoked.
        let accepted = server.get(INVITATIONS, &bob.token).await.text("/1/uuid");
        server.delete(&format!("{INVITATIONS}/{accepted}"), &bob.token).await.expect(409);
    }

    async fn one_of_another_organization_is_not_there(server: TestServer) {
        let bob = acme(&server).await;
        server.organization(&bob, "Other").await;
        server.invite("acme", &bob, "cleo@example.org", "member").await;
        let uuid = server.get(INVITATIONS, &bob.token).await.text("/0/uuid");
        for path in [
            format!("/v0/organizations/other/invitations/{uuid}"),
            format!("{INVITATIONS}/00000000-0000-4000-8000-000000000000"),
        ] {
            server.get(&path, &bob.token).await.expect(404);
            server.delete(&path, &bob.token).await.expect(404);
        }
        server.get(&format!("{INVITATIONS}/cleo"), &bob.token).await.expect(400);
        assert_eq!(statuses(&server, &bob).await, ["cleo@example.org pending"]);
    }

    async fn a_leader_sees_the_link_and_only_the_invited_user_can_use_it(server: TestServer) {
        let bob = acme(&server).await;
        let cleo = server.person("Cleo").await;
        let dan = server.person("Dan").await;
        server.join("acme", &bob, &dan, "member").await;
        let mailed = server.invite("acme", &bob, &cleo.email, "member").await;
        let path = format!("{}/link", newest(&server, &bob).await);
        server.get(&path, &dan.token).await.expect(403);
        let url = server.get(&path, &bob.token).await.expect(200).text("/url");
        // The link of an address without an account looks the same: it does not reveal that Cleo has an account.
        let (page, invite) = url.split_once("?invite=").unwrap();
        assert!(page.ends_with("/auth/invitation"), "{page}");
        assert_eq!(invite, mailed);
        assert_eq!(accept(&server, &bob, invite).await, 401, "it is for another address");
        let signup = json!({ "name": "Eve", "email": "eve@example.org", "i_agree": true, "invite": invite });
        server.post("/v0/auth/signup", "", signup).await.expect(401);
        assert_eq!(accept(&server, &cleo, invite).await, 202);
        let used = server.get(&path, &bob.token).await;
        assert_snapshot!("invitation_link_used", server.show(&used));
    }

    async fn a_token_shows_its_invitation_to_a_visitor(server: TestServer) {
        let bob = acme(&server).await;
        let cleo = server.person("Cleo").await;
        let view = async |invite: &str| server.post("/v0/auth/invitation", "", json!({ "invite": invite })).await;
        let known = server.invite("acme", &bob, &cleo.email, "leader").await;
        let unknown = server.invite("acme", &bob, "dan@example.org", "leader").await;
        let offer = view(&known).await;
        assert_snapshot!("invitation_offer", server.show(&offer));
        let mut other = view(&unknown).await.expect(200).body;
        other["email"] = offer.body["email"].clone();
        assert_eq!(other, offer.body, "the response does not reveal which address has an account");
        assert_eq!(accept(&server, &cleo, &known).await, 202);
        assert_eq!(view(&known).await.text("/status"), "accepted");
        server.pass(WEEK + 1);
        assert_eq!(view(&unknown).await.text("/status"), "expired");
        let third = server.invite("acme", &bob, "eve@example.org", "member").await;
        server.delete(&newest(&server, &bob).await, &bob.token).await.expect(204);
        assert_eq!(view(&third).await.text("/status"), "revoked");
        let forged = view(&format!("{}AAAA", &third[..third.len() - 4])).await;
        assert_snapshot!("invitation_offer_forged", server.show(&forged));
        view(&cleo.token).await.expect(401);
    }

    async fn they_run_out_after_a_week(server: TestServer) {
        let bob = acme(&server).await;
        let cleo = server.person("Cleo").await;
        let invite = server.invite("acme", &bob, &cleo.email, "member").await;
        server.pass(WEEK - 1);
        assert_eq!(statuses(&server, &bob).await, ["cleo@example.org pending"]);
        server.pass(1);
        assert_eq!(statuses(&server, &bob).await, ["cleo@example.org expired"]);
        assert_eq!(accept(&server, &cleo, &invite).await, 401);
        let second = server.invite("acme", &bob, &cleo.email, "member").await;
        server.pass(WEEK - 1);
        assert_eq!(accept(&server, &cleo, &second).await, 202);
        assert_eq!(statuses(&server, &bob).await, ["cleo@example.org accepted", "cleo@example.org expired"]);
    }

    async fn they_are_for_one_person_and_one_use(server: TestServer) {
        let server = Arc::new(server);
        let bob = acme(&server).await;
        let cleo = server.person("Cleo").await;
        let dan = server.person("Dan").await;
        let invite = server.invite("acme", &bob, &cleo.email, "member").await;
        assert_eq!(accept(&server, &dan, &invite).await, 401, "it is for another address");
        assert_eq!(accept(&server, &cleo, &cleo.token).await, 401, "a session is no invitation");
        assert_eq!(accept(&server, &cleo, "no token").await, 400);
        server.get(INVITATIONS, &invite).await.expect(401);
        let forged = format!("{}AAAA", &invite[..invite.len() - 4]);
        assert_eq!(accept(&server, &cleo, &forged).await, 401);

        let mut attempts = JoinSet::new();
        for _ in 0..8 {
            let (server, cleo, invite) = (Arc::clone(&server), cleo.clone(), invite.clone());
            attempts.spawn(async move { accept(&server, &cleo, &invite).await });
        }
        let mut statuses = attempts.join_all().await;
        statuses.sort_unstable();
        assert_eq!(statuses[0], 202);
        assert!(statuses[1..].iter().all(|status| matches!(status, 401 | 409)), "{statuses:?}");
    }

    async fn a_newcomer_joins_once_the_address_is_proven(server: TestServer) {
        let bob = acme(&server).await;
        let invite = server.invite("acme", &bob, "dan@example.org", "leader").await;
        let signup = |email: &str| json!({ "name": "Dan", "email": email, "i_agree": true, "invite": invite });
        server.post("/v0/auth/signup", "", signup("eve@example.org")).await.expect(401);
        server.post("/v0/auth/signup", "", signup("dan@example.org")).await.expect(202);
        assert_eq!(statuses(&server, &bob).await, ["dan@example.org pending"]);
        let dan = server.confirm("dan@example.org").await;
        assert_eq!(statuses(&server, &bob).await, ["dan@example.org accepted"]);
        let list = server.get("/v0/organizations", &dan.token).await;
        assert_eq!((list.text("/0/slug"), &list.body[1]), ("acme".into(), &Value::Null), "and has no other");
        let member = server.get("/v0/organizations/acme/members/dan", &dan.token).await.expect(200);
        assert_eq!(member.text("/role"), "leader");
    }

    async fn an_existing_user_joins_by_signing_in(server: TestServer) {
        let bob = acme(&server).await;
        let cleo = server.person("Cleo").await;
        let invite = server.invite("acme", &bob, &cleo.email, "member").await;
        server.pass(60);
        let login = json!({ "email": cleo.email, "invite": invite });
        server.post("/v0/auth/login", "", login.clone()).await.expect(202);
        assert_eq!(statuses(&server, &bob).await, ["cleo@example.org pending"]);
        server.confirm(&cleo.email).await;
        assert_eq!(statuses(&server, &bob).await, ["cleo@example.org accepted"]);
        server.pass(60);
        server.post("/v0/auth/login", "", login).await.expect(401);
    }

    async fn a_revoked_one_does_not_keep_anybody_from_signing_in(server: TestServer) {
        let bob = acme(&server).await;
        let invite = server.invite("acme", &bob, "dan@example.org", "member").await;
        let signup = json!({ "name": "Dan", "email": "dan@example.org", "i_agree": true, "invite": invite });
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        server.delete(&newest(&server, &bob).await, &bob.token).await.expect(204);
        let dan = server.confirm("dan@example.org").await;
        server.get("/v0/organizations/acme", &dan.token).await.expect(404);
        let list = server.get("/v0/organizations", &dan.token).await;
        assert_eq!(list.text("/0/uuid"), dan.uuid, "a personal organization instead");
    }
}
