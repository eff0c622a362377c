//! The text of every kind of mail. The delivery of mail is tested with the feature that sends it.

use insta::{Settings, assert_snapshot, internals::SettingsBindDropGuard};
use serde_json::json;

use crate::{Engine, TestServer, both};

both! {
    async fn every_kind_of_mail(server: TestServer) {
        let _filters = mask_tokens();
        let root = server.person("Root").await;
        let (ada, new) = ("ada@example.org", "countess@example.org");
        let signup = json!({ "name": "Ada Lovelace", "email": ada, "plan": "team", "i_agree": true });
        server.post("/v0/auth/signup", "", signup.clone()).await.expect(202);
        let mail = server.mail(ada).await;
        assert_snapshot!("message_sign_up", text(&mail));
        assert_snapshot!("message_sign_up_html", html(&mail));
        // Anyone can sign up with any name and address, so administrators get no mail before the address is
        // confirmed.
        server.no_mail(&root.email).await;
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        assert_snapshot!("message_sign_up_again", text(&server.mail(ada).await));
        server.call_from([198, 51, 100, 7]);
        server.post("/v0/auth/login", "", json!({ "email": ada, "plan": "pro" })).await.expect(202);
        assert_snapshot!("message_log_in_plan", text(&server.mail(ada).await));
        server.post("/v0/auth/login", "", json!({ "email": ada })).await.expect(202);
        assert_snapshot!("message_log_in", text(&server.mail(ada).await));
        server.call_from([198, 51, 100, 8]);
        server.post("/v0/auth/login", "", json!({ "email": ada })).await.expect(202);
        let person = server.confirm(ada).await;
        assert_snapshot!("message_new_user", text(&server.mail(&root.email).await));

        let key = json!({ "name": "<b>deploy</b>" });
        server.post("/v0/users/ada-lovelace/keys", &root.token, key).await.expect(201);
        assert_snapshot!("message_key_created", text(&server.mail(ada).await));
        let patch = json!({ "email": new });
        server.patch("/v0/users/ada-lovelace", &person.token, patch).await.expect(200);
        assert_snapshot!("message_email_change", text(&server.mail(new).await));
        let patch = json!({ "email": new });
        server.patch("/v0/users/ada-lovelace", &person.token, patch).await.expect(200);
        server.confirm(new).await;
        assert_snapshot!("message_email_changed", text(&server.mail(ada).await));
    }

    async fn invitations(server: TestServer) {
        let _filters = mask_tokens();
        let root = server.person("Root").await;
        let grace = server.person("Grace").await;
        let named = json!({ "name": "Böse <script>alert(1)</script> & Söhne" });
        let made = server.post("/v0/organizations", &root.token, named).await.expect(201);
        let path = format!("/v0/organizations/{}/members", made.text("/slug"));
        let body = json!({ "name": "Ada", "email": "ada@example.org", "role": "leader" });
        server.post(&path, &root.token, body).await.expect(202);
        let mail = server.mail("ada@example.org").await;
        assert_snapshot!("message_invitation", text(&mail));
        assert_snapshot!("message_invitation_html", html(&mail));
        let body = json!({ "email": grace.email, "role": "member" });
        server.post(&path, &root.token, body).await.expect(202);
        assert_snapshot!("message_invitation_known", text(&server.mail(&grace.email).await));
        server.post(&path, &root.token, json!({ "email": "eve@example.org", "role": "member" })).await.expect(202);
        assert!(text(&server.mail("eve@example.org").await).contains("\nHello,\n"));
    }

    async fn an_invited_user_is_announced_as_one(server: TestServer) {
        let root = server.person("Root").await;
        let body = json!({ "email": "ada@example.org", "role": "member" });
        server.post("/v0/organizations/root/members", &root.token, body).await.expect(202);
        let invite = server.mailed_token("ada@example.org").await;
        let signup = json!({ "name": "Ada", "email": "ada@example.org", "i_agree": true, "invite": invite });
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        server.confirm("ada@example.org").await;
        assert_snapshot!("message_new_user_invited", text(&server.mail(&root.email).await));
    }

    async fn only_unlocked_admins_are_notified_of_new_users(server: TestServer) {
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        let eve = server.person("Eve").await;
        server.patch("/v0/users/ada", &root.token, json!({ "admin": true })).await.expect(200);
        server.patch("/v0/users/eve", &root.token, json!({ "admin": true, "locked": true })).await.expect(200);
        server.no_mail("nobody@example.org").await;
        while server.take_mail(&root.email).is_some() {}
        server.person("Grace").await;
        server.mail(&root.email).await;
        server.mail(&ada.email).await;
        server.no_mail(&eve.email).await;
    }
}

/// Links point to the URL of the console.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_lead_to_the_console() {
    let settings = "[console]\nurl = \"https://bench.example.org/console\"\n";
    let server = TestServer::start_with(Engine::Sqlite, settings).await;
    let signup = json!({ "name": "Ada", "email": "ada@example.org", "i_agree": true });
    server.post("/v0/auth/signup", "", signup).await.expect(202);
    let mail = server.mail("ada@example.org").await;
    assert!(mail.contains("https://bench.example.org/console/auth/confirm?token=eyJ"), "{mail}");
}

/// Masks tokens in the snapshots of this test.
fn mask_tokens() -> SettingsBindDropGuard {
    let mut settings = Settings::clone_current();
    settings.add_filter("eyJ[[:alnum:]._-]*", "<token>");
    settings.bind_to_scope()
}

/// Returns the important headers and the plain text of a mail.
fn text(mail: &str) -> String {
    let (headers, text, _) = parts(mail);
    let headers: Vec<_> = headers
        .replace("\r\n ", " ")
        .lines()
        .filter(|line| {
            ["From:", "To:", "Subject:", "Auto-Submitted:"].iter().any(|name| line.starts_with(name))
        })
        .map(str::to_owned)
        .collect();
    format!("{}\n\n{text}", headers.join("\n"))
}

fn html(mail: &str) -> String {
    parts(mail).2
}

/// Returns headers, plain text and HTML, decoded.
fn parts(mail: &str) -> (String, String, String) {
    let (headers, body) = mail.split_once("\r\n\r\n").unwrap();
    let boundary = headers.split_once("boundary=\"").unwrap().1.split('"').next().unwrap();
    let boundary = format!("--{boundary}");
    let mut parts = body.split(&boundary).skip(1).map(|part| {
        let (headers, text) = part.split_once("\r\n\r\n").unwrap_or((part, ""));
        let quoted = headers.contains("quoted-printable");
        let text = if quoted { unquote(text) } else { text.to_owned() };
        text.replace("\r\n", "\n").trim_end().to_owned()
    });
    let (text, html) = (parts.next().unwrap(), parts.next().unwrap());
    (headers.to_owned(), text, html)
}

/// Decodes quoted-printable text; soft line breaks and encoded equals signs are already removed.
fn unquote(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..2).filter(|code| !code.iter().any(u8::is_ascii_lowercase));
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'=' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}
