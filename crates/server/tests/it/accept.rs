//! Accepting invitations and claims: at sign-up, at sign-in, or with `/v0/auth/accept`. Tests of creating, listing
//! and revoking invitations are elsewhere.

use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_store::organization;

use crate::{Answer, Person, TestServer, both};

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

both! {
    async fn an_invited_person_joins_when_the_address_is_proven(server: TestServer) {
        let ada = server.person("Ada").await;
        let invite = invite(&server, &ada, "grace@example.org", "member").await;
        let answer = signup(&server, "grace@example.org", json!({ "invite": invite })).await;
        assert_snapshot!("accept_signup", server.show(&answer));
        // A sign-up alone does not prove the address.
        assert_eq!(members(&server, &ada).await, ["ada"]);
        let grace = server.confirm("grace@example.org").await;
        let answer = server.get("/v0/organizations/ada/members", &ada.token).await;
        assert_snapshot!("accept_members", server.show(&answer));
        // No personal organization is created.
        assert_eq!(server.get("/v0/organizations", &grace.token).await.each("slug"), ["ada"]);
        server.get("/v0/organizations/grace", &grace.token).await.expect(404);
        server.get(&format!("/v0/organizations/{}", grace.uuid), &grace.token).await.expect(404);
        let mine = server.get("/v0/organizations/ada/allowed/edit", &grace.token).await.expect(200);
        assert_eq!(mine.body["allowed"], false);
    }

    async fn signing_in_with_an_invitation_joins_when_the_address_is_proven(server: TestServer) {
        let ada = server.person("Ada").await;
        let grace = server.person("Grace").await;
        let invite = invite(&server, &ada, &grace.email, "leader").await;
        login(&server, &grace.email, &invite).await.expect(202);
        assert_eq!(members(&server, &ada).await, ["ada"]);
        server.confirm(&grace.email).await;
        assert_eq!(members(&server, &ada).await, ["ada", "grace"]);
        let mine = server.get("/v0/organizations/ada/allowed/manage", &grace.token).await.expect(200);
        assert_eq!(mine.body["allowed"], true);
    }

    async fn a_signed_in_user_accepts_at_once(server: TestServer) {
        let ada = server.person("Ada").await;
        let grace = server.person("Grace").await;
        let first = invite(&server, &ada, &grace.email, "member").await;
        let second = invite(&server, &ada, &grace.email, "leader").await;
        let answer = accept(&server, &grace.token, &first).await;
        assert_snapshot!("accept", server.show(&answer));
        let answer = accept(&server, &grace.token, &second).await;
        assert_snapshot!("accept_as_a_member", server.show(&answer));
        // After a removal, neither the used nor the unused invitation works.
        server.delete("/v0/organizations/ada/members/grace", &ada.token).await.expect(204);
        let answer = accept(&server, &grace.token, &first).await;
        assert_snapshot!("accept_again", server.show(&answer));
        accept(&server, &grace.token, &second).await.expect(401);
    }

    async fn an_invitation_is_taken_up_once_however_many_try(server: TestServer) {
        let ada = server.person("Ada").await;
        let grace = server.person("Grace").await;
        let invite = invite(&server, &ada, &grace.email, "member").await;
        let tries = (0..8).map(|_| accept(&server, &grace.token, &invite));
        let answers = join_all(tries).await;
        let accepted = answers.iter().filter(|answer| answer.status == 202).count();
        let refused = answers.iter().filter(|answer| [401, 409].contains(&answer.status.as_u16())).count();
        assert_eq!((accepted, refused), (1, 7));
        assert_eq!(members(&server, &ada).await, ["ada", "grace"]);
    }

    async fn accepting_needs_a_credential_and_a_proven_address(server: TestServer) {
        let ada = server.person("Ada").await;
        signup(&server, "grace@example.org", json!({})).await.expect(202);
        server.mailed_token("grace@example.org").await;
        let invite = invite(&server, &ada, "grace@example.org", "member").await;
        assert_eq!(accept(&server, "", &invite).await.expect(401).headers["www-authenticate"], "Bearer");
        let made = server.post("/v0/users/grace/keys", &ada.token, json!({ "name": "early" })).await.expect(201);
        let answer = accept(&server, &made.text("/key"), &invite).await;
        assert_snapshot!("accept_unconfirmed", server.show(&answer));
        assert_eq!(members(&server, &ada).await, ["ada"]);
    }

    async fn an_invitation_that_is_not_good_is_refused_everywhere(server: TestServer) {
        let ada = server.person("Ada").await;
        let grace = server.person("Grace").await;
        let eve = "eve@example.org";
        let other = invite(&server, &ada, "other@example.org", "leader").await;

        let for_eve = invite(&server, &ada, eve, "leader").await;
        let for_grace = invite(&server, &ada, &grace.email, "leader").await;
        let listed = server.get("/v0/organizations/ada/invitations", &ada.token).await.expect(200);
        for invitation in listed.each("uuid") {
            let path = format!("/v0/organizations/ada/invitations/{invitation}");
            server.delete(&path, &ada.token).await.expect(204);
        }
        let revoked = (for_eve, for_grace);

        let made = server.post("/v0/organizations", &ada.token, json!({ "name": "Gone" })).await.expect(201);
        let gone = made.text("/slug");
        let for_eve = invite_to(&server, &ada, &gone, eve, "leader").await;
        let for_grace = invite_to(&server, &ada, &gone, &grace.email, "leader").await;
        server.delete(&format!("/v0/organizations/{gone}"), &ada.token).await.expect(204);
        let deleted = (for_eve, for_grace);

        let session = (ada.token.clone(), grace.token.clone());
        let late = (
            invite(&server, &ada, eve, "leader").await,
            invite(&server, &ada, &grace.email, "leader").await,
        );
        let mut lines = Vec::new();
        let mut address = 0;
        for (what, (for_eve, for_grace)) in [
            ("for another address", (other.clone(), other)),
            ("revoked", revoked),
            ("into a deleted organization", deleted),
            ("no invitation", session),
            ("run out", late),
        ] {
            if what == "run out" {
                server.pass(7 * DAY);
            }
            // Each attempt uses another address; otherwise the rate limit would apply.
            address += 1;
            server.call_from([198, 51, 100, address]);
            let up = signup(&server, eve, json!({ "invite": for_eve })).await;
            let known = signup(&server, &grace.email, json!({ "invite": for_grace })).await;
            let log_in = login(&server, &grace.email, &for_grace).await;
            let accepted = accept(&server, &grace.token, &for_grace).await;
            for (how, answer) in [("sign up", up), ("known", known), ("log in", log_in), ("accept", accepted)] {
                lines.push(format!("{what}, {how}: {}", answer.line()));
            }
        }
        assert_snapshot!("accept_refused", lines.join("\n"));
        assert_eq!(members(&server, &ada).await, ["ada"]);
        // The rejected sign-ups leave no users.
        assert_eq!(server.get("/v0/users?search=eve", &ada.token).await.total(), 0);
        server.no_mail(eve).await;
    }

    async fn an_invitation_revoked_meanwhile_does_not_keep_anybody_out(server: TestServer) {
        let ada = server.person("Ada").await;
        let invite = invite(&server, &ada, "grace@example.org", "member").await;
        signup(&server, "grace@example.org", json!({ "invite": invite })).await.expect(202);
        let listed = server.get("/v0/organizations/ada/invitations", &ada.token).await.expect(200);
        let path = format!("/v0/organizations/ada/invitations/{}", listed.text("/0/uuid"));
        server.delete(&path, &ada.token).await.expect(204);
        let grace = server.confirm("grace@example.org").await;
        assert_eq!(members(&server, &ada).await, ["ada"]);
        // A personal organization is created instead.
        assert_eq!(server.get("/v0/organizations", &grace.token).await.each("uuid"), [grace.uuid]);
    }

    async fn a_claim_waits_for_the_proof_of_the_address(server: TestServer) {
        let ada = server.person("Ada").await;
        let (uuid, slug) = unclaimed(&server).await;
        signup(&server, "grace@example.org", json!({ "claim": uuid })).await.expect(202);
        let before = server.get(&format!("/v0/organizations/{slug}"), &ada.token).await.expect(200);
        assert_eq!(before.body["claimed"], Value::Null);
        let grace = server.confirm("grace@example.org").await;
        let after = server.get(&format!("/v0/organizations/{slug}/members"), &grace.token).await;
        assert_snapshot!("accept_claim", server.show(&after));
        // The personal organization exists as well.
        assert_eq!(server.get("/v0/organizations", &grace.token).await.total(), 2);
    }

    async fn a_claim_that_cannot_be_is_refused(server: TestServer) {
        let ada = server.person("Ada").await;
        let claimed = signup(&server, "eve@example.org", json!({ "claim": ada.uuid })).await;
        assert_snapshot!("accept_claim_claimed", server.show(&claimed));
        let unknown = signup(&server, "eve@example.org", json!({ "claim": server.app.fresh().uuid() })).await;
        assert_snapshot!("accept_claim_unknown", server.show(&unknown));
        assert_eq!(server.get("/v0/users", &ada.token).await.total(), 1);
        assert_eq!(members(&server, &ada).await, ["ada"]);
    }

    async fn of_several_who_claim_one_gets_it_and_all_sign_in(server: TestServer) {
        let ada = server.person("Ada").await;
        let (uuid, slug) = unclaimed(&server).await;
        let mut tokens = Vec::new();
        for number in 0..4 {
            let email = format!("p{number}@example.org");
            signup(&server, &email, json!({ "claim": uuid })).await.expect(202);
            tokens.push(server.mailed_token(&email).await);
        }
        server.pass(MINUTE);
        let confirms = tokens.iter().map(|token| server.post("/v0/auth/confirm", "", json!({ "token": token })));
        for answer in join_all(confirms).await {
            answer.expect(200);
        }
        let members = server.get(&format!("/v0/organizations/{slug}/members"), &ada.token).await;
        assert_eq!(members.total(), 1);
    }
}

async fn signup(server: &TestServer, email: &str, more: Value) -> Answer {
    let (name, _) = email.split_once('@').unwrap();
    let mut body = json!({ "name": name, "email": email, "i_agree": true });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.post("/v0/auth/signup", "", body).await
}

async fn login(server: &TestServer, email: &str, invite: &str) -> Answer {
    server.post("/v0/auth/login", "", json!({ "email": email, "invite": invite })).await
}

async fn accept(server: &TestServer, token: &str, invite: &str) -> Answer {
    server.post("/v0/auth/accept", token, json!({ "invite": invite })).await
}

/// Invites an address to the organization of a leader and returns the code in the mail.
async fn invite(server: &TestServer, leader: &Person, email: &str, role: &str) -> String {
    invite_to(server, leader, &leader.slug, email, role).await
}

async fn invite_to(
    server: &TestServer,
    leader: &Person,
    organization: &str,
    email: &str,
    role: &str,
) -> String {
    let body = json!({ "email": email, "role": role });
    let path = format!("/v0/organizations/{organization}/members");
    server.post(&path, &leader.token, body).await.expect(202);
    server.mailed_token(email).await
}

/// Returns the slugs of the members of a leader's organization.
async fn members(server: &TestServer, leader: &Person) -> Vec<String> {
    let path = format!("/v0/organizations/{}/members", leader.slug);
    server.get(&path, &leader.token).await.expect(200).each("slug")
}

/// Creates an unclaimed organization with an anonymous report.
async fn unclaimed(server: &TestServer) -> (String, String) {
    let fresh = server.app.fresh();
    let made = server
        .app
        .db
        .write(move |tx| organization::create(tx, &fresh, None, &"Found".parse().unwrap(), None))
        .await
        .unwrap();
    (made.organization.uuid.to_string(), made.organization.slug.to_string())
}
