//! `/v0/organizations/{organization}/sso`: domains whose users join automatically.

use insta::assert_snapshot;
use serde_json::json;

use crate::both;

const PATH: &str = "/v0/organizations/ada/sso";

both! {
    async fn people_of_a_domain_join_once_they_have_proven_their_address(server: TestServer) {
        let ada = server.person("Ada").await;
        let added = server.post(PATH, &ada.token, json!({ "domain": "Example.COM" })).await;
        assert_snapshot!("sso_create", server.show(&added));
        let uuid = added.body["uuid"].as_str().unwrap().to_owned();
        let signup = json!({ "name": "Bob", "email": "Bob@EXAMPLE.com", "i_agree": true });
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        let members = "/v0/organizations/ada/members";
        assert_eq!(server.get(members, &ada.token).await.expect(200).body.as_array().unwrap().len(), 1);
        let token = server.mailed_token("bob@example.com").await;
        let bob = server.post("/v0/auth/confirm", "", json!({ "token": token })).await.expect(200);
        let member = server.get(&format!("{members}/bob"), &ada.token).await.expect(200);
        assert_eq!(member.body["role"], "member");
        let bob = bob.body["token"].as_str().unwrap();
        let shown = server.get("/v0/organizations/ada", bob).await;
        assert_snapshot!("sso_organization", server.show(&shown));
        // A subdomain, or a domain with the same ending, is a different domain.
        for email in ["eve@sub.example.com", "eve@anexample.com"] {
            let signup = json!({ "name": "Eve", "email": email, "i_agree": true });
            server.post("/v0/auth/signup", "", signup).await.expect(202);
            let token = server.mailed_token(email).await;
            server.post("/v0/auth/confirm", "", json!({ "token": token })).await.expect(200);
        }
        assert_eq!(server.get(members, &ada.token).await.expect(200).body.as_array().unwrap().len(), 2);
        // With the domain, a removed user joins again at the next sign-in; without it, the user does not.
        server.delete(&format!("{PATH}/{uuid}"), &ada.token).await.expect(204);
        server.delete(&format!("{members}/bob"), &ada.token).await.expect(204);
        server.post("/v0/auth/login", "", json!({ "email": "bob@example.com" })).await.expect(202);
        let token = server.mailed_token("bob@example.com").await;
        server.post("/v0/auth/confirm", "", json!({ "token": token })).await.expect(200);
        server.get(&format!("{members}/bob"), &ada.token).await.expect(404);
    }

    async fn a_domain_belongs_to_one_organization(server: TestServer) {
        let ada = server.person("Ada").await;
        server.post("/v0/organizations", &ada.token, json!({ "name": "Other" })).await.expect(201);
        server.post(PATH, &ada.token, json!({ "domain": "b.example.org" })).await.expect(202);
        server.post(PATH, &ada.token, json!({ "domain": "a.example.org" })).await.expect(202);
        let taken = server.post("/v0/organizations/other/sso", &ada.token, json!({ "domain": "A.example.org" })).await;
        assert_snapshot!("sso_taken", server.show(&taken));
        let list = server.get(PATH, &ada.token).await;
        assert_snapshot!("sso_list", server.show(&list));
        let uuid = list.body[0]["uuid"].as_str().unwrap();
        let view = server.get(&format!("{PATH}/{uuid}"), &ada.token).await.expect(200);
        assert_eq!(view.body, list.body[0]);
        server.get(&format!("/v0/organizations/other/sso/{uuid}"), &ada.token).await.expect(404);
        server.delete(&format!("/v0/organizations/other/sso/{uuid}"), &ada.token).await.expect(404);
        for domain in ["example", "@example.org", "a b.org", "exa_mple.org/", "example.org.", "*.example.org"] {
            server.post(PATH, &ada.token, json!({ "domain": domain })).await.expect(400);
        }
        // A deleted organization holds no domain.
        server.delete("/v0/organizations/ada", &ada.token).await.expect(204);
        server.post("/v0/organizations/other/sso", &ada.token, json!({ "domain": "a.example.org" })).await.expect(202);
    }

    async fn only_an_administrator_chooses_domains(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        let added = server.post("/v0/organizations/bob/sso", &ada.token, json!({ "domain": "example.org" })).await;
        let uuid = added.expect(202).body["uuid"].as_str().unwrap().to_owned();
        let path = format!("/v0/organizations/bob/sso/{uuid}");
        server.get(&path, &bob.token).await.expect(200);
        server.post("/v0/organizations/bob/sso", &bob.token, json!({ "domain": "b.org" })).await.expect(403);
        server.delete(&path, &bob.token).await.expect(403);
        server.get(&path, "").await.expect(401);
    }
}
