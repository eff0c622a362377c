//! Sign-up and sign-in: `/v0/auth/signup`, `/v0/auth/login` and `/v0/auth/confirm`. `accept.rs` tests invitations and
//! claims.

use axum::{
    body::Body,
    http::{Request, header},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_server::domain::auth::jwt::Audience;
use tidemark_store::user;

use crate::{Answer, TestServer, both};

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

both! {
    async fn the_first_user_administers_the_server(server: TestServer) {
        let signup = json!({ "name": "Ada Lovelace", "email": "Ada@Example.org", "i_agree": true });
        let answer = server.post("/v0/auth/signup", "", signup).await;
        assert_snapshot!("auth_signup", server.show(&answer));
        let token = server.mailed_token("ada@example.org").await;
        let answer = server.post("/v0/auth/confirm", "", json!({ "token": token })).await;
        assert_snapshot!("auth_confirm", server.show(&answer));
        let again = server.post("/v0/auth/confirm", "", json!({ "token": token })).await;
        assert_snapshot!("auth_confirm_again", server.show(&again));
        let organizations = server.get("/v0/organizations", &answer.text("/token")).await;
        assert_snapshot!("auth_organizations", server.show(&organizations));

        let second = server.person("Grace Hopper").await;
        let view = server.get(&format!("/v0/users/{}", second.slug), &second.token).await.expect(200);
        assert_eq!(view.body["admin"], false);
        let own = server.get("/v0/organizations", &second.token).await;
        assert_eq!((own.total(), own.each("uuid")), (1, vec![second.uuid]));
    }

    async fn sign_up_requires_agreement_to_the_terms(server: TestServer) {
        let signup = json!({ "name": "Ada", "email": "ada@example.org", "i_agree": false });
        let answer = server.post("/v0/auth/signup", "", signup).await;
        assert_snapshot!("auth_terms", server.show(&answer));
        login(&server, "ada@example.org").await.expect(202);
        server.no_mail("ada@example.org").await;
    }

    async fn an_invalid_body_is_rejected_with_its_position(server: TestServer) {
        let long_slug = format!(
            r#"{{"name":"Ada","email":"a@example.org","i_agree":true,"slug":"{}"}}"#,
            "x".repeat(65)
        );
        let bodies = [
            "",
            "null",
            r#"["Ada",null,"a@example.org",null,null,null,true]"#,
            "{",
            r#"{"name":"Ada"}"#,
            r#"{"name":"Ada","email":"a@example.org"}"#,
            r#"{"name":"Ada","email":"a@example.org","i_agree":"yes"}"#,
            r#"{"name":"Ada","email":"ada at example.org","i_agree":true}"#,
            r#"{"name":"Ada","email":"\"a b\"@example.org","i_agree":true}"#,
            r#"{"name":"Ada","email":"\"a\u0007b\"@example.org","i_agree":true}"#,
            r#"{"name":"Ada","email":"a\u0000@example.org","i_agree":true}"#,
            r#"{"name":" Ada","email":"a@example.org","i_agree":true}"#,
            r#"{"name":"<b>","email":"a@example.org","i_agree":true}"#,
            r#"{"name":"Ada","email":"a@example.org","i_agree":true,"slug":"Not A Slug"}"#,
            r#"{"name":"Ada","email":"a@example.org","i_agree":true,"slug":"67e5504410b1426f9247bb680e5fe0c8"}"#,
            &long_slug,
            r#"{"name":"Ada","email":"a@example.org","i_agree":true,"plan":"platinum"}"#,
            r#"{"name":"Ada","email":"a@example.org","i_agree":true,"invite":"no token"}"#,
            r#"{"name":"Ada","email":"a@example.org","i_agree":true,"claim":"no-uuid"}"#,
            r#"{"name":"Ada","name":"Eve","email":"a@example.org","i_agree":true}"#,
            r#"{"name":"Ada","email":"a@example.org","i_agree":true} {"#,
        ];
        let mut lines = Vec::new();
        for body in bodies {
            let answer = send(&server, "/v0/auth/signup", Some("application/json"), body).await;
            lines.push(answer.line());
        }
        for body in [r"{}", r#"{"token":"no token"}"#, r#"{"token":"a.b.c"}"#] {
            lines.push(send(&server, "/v0/auth/confirm", Some("application/json"), body).await.line());
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "nonsense"] {
            lines.push(send(&server, "/v0/auth/login", Some(kind), "{}").await.line());
        }
        let huge = format!(r#"{{"email":"{}@example.org"}}"#, "x".repeat(5 * 1024 * 1024));
        lines.push(send(&server, "/v0/auth/login", Some("application/json"), &huge).await.line());
        assert_snapshot!("auth_bad_bodies", lines.join("\n"));

        let body = r#"{"email":"a@example.org","unknown":1}"#;
        send(&server, "/v0/auth/login", None, body).await.expect(202);
        send(&server, "/v0/auth/login", Some("application/json; charset=utf-8"), body).await.expect(202);
    }

    async fn known_and_unknown_addresses_answer_alike(server: TestServer) {
        let admin = server.person("Root").await;
        server.person("Know").await;
        let lock = server.person("Lock").await;
        server.patch(&format!("/v0/users/{}", lock.slug), &admin.token, json!({ "locked": true })).await.expect(200);
        signup(&server, "Half", "half@example.org").await.expect(202);
        server.mailed_token("half@example.org").await;
        server.no_mail("know@example.org").await;

        let addresses = ["none@example.org", "know@example.org", "lock@example.org", "half@example.org"];
        let mut answers = Vec::new();
        for email in addresses {
            answers.push(alike(&login(&server, email).await, email));
        }
        assert_eq!(answers, vec![answers[0].clone(); addresses.len()]);
        assert!(server.mail("know@example.org").await.contains("Sign in to Tidemark"));
        server.mail("half@example.org").await;
        for email in ["none@example.org", "lock@example.org"] {
            server.no_mail(email).await;
        }

        // Uses another address; otherwise the rate limit would apply.
        server.call_from([198, 51, 100, 7]);
        let mut answers = Vec::new();
        for email in addresses {
            answers.push(alike(&signup(&server, "Somebody", email).await, email));
        }
        assert_eq!(answers, vec![answers[0].clone(); addresses.len()]);
        assert!(server.mail("none@example.org").await.contains("Confirm your new Tidemark account"));
        assert!(server.mail("know@example.org").await.contains("You already have a Tidemark account"));
        server.no_mail("lock@example.org").await;
    }

    async fn signing_up_again_opens_the_account_there_is(server: TestServer) {
        let ada = server.person("Ada").await;
        signup(&server, "Impostor", "ADA@example.org").await.expect(202);
        let again = server.confirm("ada@example.org").await;
        assert_eq!((again.uuid, again.slug), (ada.uuid, ada.slug));
        assert_eq!(server.get("/v0/organizations", &again.token).await.total(), 1);
        // The first session stays valid.
        server.get("/v0/organizations", &ada.token).await.expect(200);
    }

    async fn a_slug_is_given_or_derived_and_always_free(server: TestServer) {
        let person = async |name: &str, slug: Option<&str>, email: &str| {
            let mut body = json!({ "name": name, "email": email, "i_agree": true });
            if let Some(slug) = slug {
                body["slug"] = slug.into();
            }
            server.post("/v0/auth/signup", "", body).await.expect(202);
            let person = server.confirm(email).await;
            let own = server.get(&format!("/v0/organizations/{}", person.uuid), &person.token).await.expect(200);
            assert_eq!(own.text("/slug"), person.slug, "the organization of {name} has the slug of its owner");
            person
        };
        assert_eq!(person("Ada Lovelace", Some("countess"), "a@example.org").await.slug, "countess");
        assert_eq!(person("Ada Lovelace", None, "b@example.org").await.slug, "ada-lovelace");
        assert_eq!(person("Zażółć Gęślą", None, "c@example.org").await.slug, "zazolc-gesla");
        assert_eq!(person("Eve", Some(&"x".repeat(64)), "d@example.org").await.slug, "x".repeat(64));
        // A taken slug, given or derived, gets a suffix, even within one second.
        for (name, slug, stem) in [
            ("Eve", Some("countess"), "countess-"),
            ("Ada Lovelace", None, "ada-lovelace-"),
            ("Ada Lovelace", None, "ada-lovelace-"),
            ("Eve", Some("x".repeat(64).as_str()), format!("{}-", "x".repeat(55)).as_str()),
        ] {
            let email = format!("{}@example.org", server.app.fresh().uuid().simple());
            let person = person(name, slug, &email).await;
            let suffix = person.slug.strip_prefix(stem).unwrap_or_else(|| panic!("{}", person.slug));
            assert_eq!(suffix.len(), 8, "{}", person.slug);
        }
        // If the derived slug is too long or empty, the UUID becomes the slug.
        for (name, email) in [("ß".repeat(64).as_str(), "e@example.org"), (".'.", "f@example.org")] {
            let person = person(name, None, email).await;
            assert_eq!(person.slug, person.uuid, "{name}");
        }
    }

    async fn of_eight_who_come_first_one_is_the_admin(server: TestServer) {
        let signups = (0..8).map(|number| {
            let (server, email) = (&server, format!("p{number}@example.org"));
            async move { signup(server, "Ada", &email).await }
        });
        for answer in join_all(signups).await {
            answer.expect(202);
        }
        let admins = server.app.db.read(user::admins).await.unwrap();
        assert_eq!(admins.len(), 1);
        let mut slugs = Vec::new();
        for number in 0..8 {
            slugs.push(server.confirm(&format!("p{number}@example.org")).await.slug);
        }
        slugs.sort();
        slugs.dedup();
        assert_eq!(slugs.len(), 8);
    }

    async fn one_address_signed_up_eight_times_at_once_is_one_account(server: TestServer) {
        let admin = server.person("Root").await;
        let signups = (0..8).map(|number| {
            let server = &server;
            async move {
                server.call_from([198, 51, 100, number]);
                signup(server, "Ada", "ada@example.org").await
            }
        });
        for answer in join_all(signups).await {
            answer.expect(202);
        }
        let users = server.get("/v0/users?name=Ada", &admin.token).await;
        assert_eq!(users.total(), 1);
        let organizations = server.get("/v0/organizations?all=true&name=Ada", &admin.token).await;
        assert_eq!(organizations.each("uuid"), users.each("uuid"));
    }

    async fn a_link_works_once_however_many_try(server: TestServer) {
        server.person("Ada").await;
        login(&server, "ada@example.org").await.expect(202);
        let token = server.mailed_token("ada@example.org").await;
        let tries = (0..8).map(|_| server.post("/v0/auth/confirm", "", json!({ "token": token })));
        let mut statuses: Vec<_> =
            join_all(tries).await.iter().map(|answer| answer.status.as_u16()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 401, 401, 401, 401, 401, 401, 401]);
    }

    async fn a_link_works_for_thirty_minutes(server: TestServer) {
        signup(&server, "Ada", "ada@example.org").await.expect(202);
        let token = server.mailed_token("ada@example.org").await;
        server.pass(30 * MINUTE);
        let late = server.post("/v0/auth/confirm", "", json!({ "token": token })).await;
        assert_snapshot!("auth_confirm_late", server.show(&late));
        // The account waits for another link.
        login(&server, "ada@example.org").await.expect(202);
        server.pass(30 * MINUTE - 1);
        server.confirm("ada@example.org").await;
    }

    async fn a_link_must_be_one_of_ours(server: TestServer) {
        let ada = server.person("Ada").await;
        login(&server, &ada.email).await.expect(202);
        let good = server.mailed_token(&ada.email).await;
        let claims = payload(&good);
        let forged = |change: &dyn Fn(&mut Value)| {
            let mut claims = claims.clone();
            change(&mut claims);
            server.sign(&claims)
        };
        let (head, tail) = good.split_once('.').unwrap();
        let (body, _) = tail.split_once('.').unwrap();
        let encode = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let other_secret = {
            let key = jsonwebtoken::EncodingKey::from_secret(b"not the secret of the server");
            jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap()
        };
        let bad = [
            other_secret,
            format!("{}.{body}.AAAA", encode(json!({ "typ": "JWT", "alg": "none" }))),
            format!("{head}.{}.{}", encode(json!({ "aud": "auth" })), &tail[body.len() + 1..]),
            forged(&|claims| claims["aud"] = "client".into()),
            forged(&|claims| claims["aud"] = "invite".into()),
            forged(&|claims| claims["iss"] = "https://elsewhere.example.org/".into()),
            forged(&|claims| claims["jti"] = server.app.fresh().uuid().to_string().into()),
            forged(&|claims| drop(claims.as_object_mut().unwrap().remove("jti"))),
            forged(&|claims| drop(claims.as_object_mut().unwrap().remove("exp"))),
            ada.token.clone(),
        ];
        for token in bad {
            let answer = server.post("/v0/auth/confirm", "", json!({ "token": token })).await;
            assert_eq!(answer.status, 401, "{}", payload(&token));
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
        }
        // The valid token is not a credential, and was not consumed.
        server.get("/v0/organizations", &good).await.expect(401);
        server.post("/v0/auth/confirm", "", json!({ "token": good })).await.expect(200);
    }

    async fn a_session_says_who_and_until_when(server: TestServer) {
        let ada = server.person("Ada").await;
        let header = ada.token.split('.').next().unwrap();
        let header: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
        assert_eq!(header, json!({ "typ": "JWT", "alg": "HS256" }));
        let mut claims = payload(&ada.token);
        // Our own `jti` claim, which makes it possible to end a session.
        assert!(claims.as_object_mut().unwrap().remove("jti").is_some());
        let now = server.app.clock.now().seconds();
        assert_eq!(
            claims,
            json!({
                "aud": "client", "exp": now + 30 * DAY, "iat": now, "iss": "http://localhost:6610/",
                "sub": "ada@example.org", "org": null, "state": null, "oci": null,
            })
        );
        server.pass(30 * DAY - 1);
        server.get("/v0/organizations", &ada.token).await.expect(200);
        server.pass(1);
        let late = server.get("/v0/organizations", &ada.token).await;
        assert_snapshot!("auth_session_late", server.show(&late));
    }

    async fn a_session_needs_its_row(server: TestServer) {
        let ada = server.person("Ada").await;
        let (now, email) = (server.app.clock.now(), ada.email.parse().unwrap());
        let unknown = server.app.fresh().uuid();
        let made_up =
            server.app.signer.sign(Audience::Client, unknown, &email, None, now, now.plus_seconds(DAY));
        server.get("/v0/organizations", made_up.as_str()).await.expect(401);
        let mut claims = payload(&ada.token);
        claims.as_object_mut().unwrap().remove("jti");
        server.get("/v0/organizations", &server.sign(&claims)).await.expect(401);
    }

    async fn a_locked_user_gets_no_session(server: TestServer) {
        let admin = server.person("Root").await;
        let ada = server.person("Ada").await;
        login(&server, &ada.email).await.expect(202);
        let token = server.mailed_token(&ada.email).await;
        let user = format!("/v0/users/{}", ada.slug);
        server.patch(&user, &admin.token, json!({ "locked": true })).await.expect(200);
        let answer = server.post("/v0/auth/confirm", "", json!({ "token": token })).await;
        assert_snapshot!("auth_confirm_locked", server.show(&answer));
        server.patch(&user, &admin.token, json!({ "locked": false })).await.expect(200);
        server.post("/v0/auth/confirm", "", json!({ "token": token })).await.expect(200);
    }

    async fn a_good_link_is_never_refused_for_a_busy_address(server: TestServer) {
        signup(&server, "Ada", "ada@example.org").await.expect(202);
        let token = server.mailed_token("ada@example.org").await;
        let mut tries = 0;
        while login(&server, &format!("p{tries}@example.org")).await.status == 202 {
            tries += 1;
        }
        let refused = server.post("/v0/auth/confirm", "", json!({ "token": "aa.bb.cc" })).await;
        assert_snapshot!("auth_confirm_too_often", server.show(&refused));
        server.post("/v0/auth/confirm", "", json!({ "token": token })).await.expect(200);
    }

    async fn a_stranger_cannot_lock_out_another_user(server: TestServer) {
        let ada = server.person("Ada").await;
        server.call_from([198, 51, 100, 7]);
        while login(&server, &ada.email).await.status == 202 {}
        server.call_from([192, 0, 2, 1]);
        login(&server, &ada.email).await.expect(202);
    }
}

async fn signup(server: &TestServer, name: &str, email: &str) -> Answer {
    server.post("/v0/auth/signup", "", json!({ "name": name, "email": email, "i_agree": true })).await
}

async fn login(server: &TestServer, email: &str) -> Answer {
    server.post("/v0/auth/login", "", json!({ "email": email })).await
}

async fn send(server: &TestServer, path: &str, kind: Option<&str>, body: &str) -> Answer {
    let mut request = Request::post(path);
    if let Some(kind) = kind {
        request = request.header(header::CONTENT_TYPE, kind);
    }
    server.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

/// Returns everything that a caller sees of a response, without the address and the request id.
fn alike(answer: &Answer, email: &str) -> String {
    let mut headers = answer.headers.clone();
    headers.remove("x-request-id");
    format!("{} {headers:?} {}", answer.status, answer.body).replace(email, "<email>")
}

/// Returns the claims of a token.
fn payload(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}
