//! Tests of the content and recipients of mails, and of the escaping of user input in them.

use super::*;

const CREATED: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

struct FakeTokens;

impl TokenSigner for FakeTokens {
    fn sign_in(&self, _: Uuid, email: &Email, _: Timestamp, _: Timestamp) -> Jwt {
        assert_eq!(email.as_str(), "ada@example.org");
        "aaaa.bbbb.cccc".parse().unwrap()
    }

    fn invitation(
        &self,
        _: InvitationUuid,
        email: &Email,
        _: OrganizationUuid,
        _: OrganizationRole,
        _: Timestamp,
        _: Timestamp,
    ) -> Jwt {
        assert_eq!(email.as_str(), "ada@example.org");
        "dddd.eeee.ffff".parse().unwrap()
    }
}

fn ada() -> Email {
    "ada@example.org".parse().unwrap()
}

fn mail_content(message: &Message, console: &str) -> MailContent {
    message.content(&ada(), &console.parse().unwrap(), &FakeTokens)
}

fn link() -> Link {
    Link { uuid: Uuid::nil(), plan: None, created: CREATED, expires: CREATED.plus_seconds(1800) }
}

fn invitation(organization: &str, known: bool) -> Message {
    Message::Invitation(Invitation {
        uuid: Uuid::nil().into(),
        organization: Uuid::nil().into(),
        organization_name: organization.parse().unwrap(),
        role: OrganizationRole::Member,
        inviter: "Grace O'Hopper".parse().unwrap(),
        name: None,
        known,
        created: CREATED,
        expires: CREATED.plus_seconds(7 * 24 * 3600),
    })
}

#[test]
fn signing_up_reads_well() {
    let message = Message::SignUp { name: "Ada".parse().unwrap(), link: link() };
    let content = mail_content(&message, "https://bench.example.org");
    insta::assert_snapshot!(content.subject, @"Confirm your new Tidemark account");
    insta::assert_snapshot!(content.text(), @r"
    Hello Ada,

    Welcome to Tidemark. Click the link to confirm your address and activate your account.

    Confirm my address: https://bench.example.org/auth/confirm?token=aaaa.bbbb.cccc

    Confirmation token: aaaa.bbbb.cccc

    The link can be used once and expires after 30 minutes.

    If you did not request this mail, ignore it.

    Tidemark
    https://bench.example.org/
    ");
}

#[test]
fn invitations_lead_to_the_right_page() {
    let known = mail_content(&invitation("Engines", true), "https://bench.example.org");
    let unknown = mail_content(&invitation("Engines", false), "https://bench.example.org");
    insta::assert_snapshot!(known.text(), @r"
    Hello,

    Grace O'Hopper invites you to join the organization “Engines” on Tidemark as a member.

    Accept the invitation: https://bench.example.org/auth/login?invite=dddd.eeee.ffff

    Invitation code: dddd.eeee.ffff

    The invitation can be used once and expires after 7 days.

    If you did not expect this invitation, ignore this mail.

    Tidemark
    https://bench.example.org/
    ");
    assert!(known.text().contains("https://bench.example.org/auth/login?invite=dddd.eeee.ffff\n"));
    assert!(unknown.text().contains("https://bench.example.org/auth/signup?invite=dddd.eeee.ffff\n"));
}

#[test]
fn links_keep_the_path_of_the_console_and_the_plan() {
    let link = Link { plan: Some(tidemark_api::PlanLevel::Team), ..link() };
    let message = Message::LogIn { name: "Ada".parse().unwrap(), link };
    for console in ["https://example.org/bench", "https://example.org/bench/"] {
        let content = mail_content(&message, console);
        let url = "https://example.org/bench/auth/confirm?plan=team&token=aaaa.bbbb.cccc";
        assert!(content.text().contains(&format!("Sign in: {url}\n")), "{}", content.text());
        assert!(content.html().contains(&format!("href=\"{}\"", url.replace('&', "&amp;"))));
    }
}

#[test]
fn names_cannot_smuggle_html_or_headers() {
    let message = invitation("<b>\"Free\"</b> & 'fun' <script>", true);
    let content = mail_content(&message, "https://bench.example.org");
    let html = content.html();
    assert!(!html.contains("<b>") && !html.contains("<script>"), "{html}");
    assert!(html.contains("&lt;b&gt;&quot;Free&quot;&lt;/b&gt; &amp; &#39;fun&#39; &lt;script&gt;"));
    assert!(html.contains("Grace O&#39;Hopper"));
    let from = "Tidemark <tidemark@example.org>".parse().unwrap();
    let mail = compose(&content, &from, &ada(), "id", CREATED, false).unwrap();
    let text = String::from_utf8(mail.formatted()).unwrap();
    assert_eq!(text.matches("\r\nSubject: ").count(), 1);
    assert_eq!(text.matches("\r\nTo: ada@example.org\r\n").count(), 1);
    assert!(text.contains("\r\nMessage-ID: <id@example.org>\r\n"), "{text}");
    assert!(text.contains("\r\nAuto-Submitted: auto-generated\r\n"));
}

#[test]
fn a_link_in_a_file_can_be_copied_whatever_the_name() {
    let message = Message::LogIn { name: "Zoë Łukasiewicz".parse().unwrap(), link: link() };
    let content = mail_content(&message, &format!("https://bench.example.org/{}", "long/".repeat(20)));
    let from = "Tidemark <tidemark@example.org>".parse().unwrap();
    let formatted = |eight_bit| {
        let mail = compose(&content, &from, &ada(), "id", CREATED, eight_bit).unwrap();
        String::from_utf8(mail.formatted()).unwrap()
    };
    let link = format!("\r\nSign in: {}\r\n", content.action.as_ref().unwrap().url);
    assert!(formatted(true).contains(&link) && formatted(true).contains("Hello Zoë Łukasiewicz,\r\n"));
    assert!(!formatted(false).contains(&link) && formatted(false).is_ascii());
}

#[test]
fn the_old_address_learns_only_the_outline_of_the_new_one() {
    let message = Message::EmailChanged {
        name: "Ada".parse().unwrap(),
        email: "lovelace@example.com".parse().unwrap(),
    };
    let content = mail_content(&message, "https://bench.example.org");
    assert!(!content.text().contains("lovelace") && !content.html().contains("lovelace"));
    assert!(content.text().contains("l***@e***.com"));
}

#[test]
fn the_outbox_holds_no_token_and_reads_back() {
    let message = Message::EmailChange { name: "Ada".parse().unwrap(), link: link() };
    let payload = serde_json::to_string(&Envelope { to: ada(), message }).unwrap();
    assert!(!payload.contains("aaaa"));
    let envelope: Envelope = serde_json::from_str(&payload).unwrap();
    assert_eq!(envelope.message.expires(), Some(CREATED.plus_seconds(1800)));
}

#[test]
fn every_attempt_has_the_same_id_and_every_mail_another() {
    let item = |id, payload: &str| outbox::OutboxItem {
        id,
        kind: KIND.to_owned(),
        payload: payload.to_owned(),
        attempts: 1,
        created: CREATED,
    };
    let first = message_id(&item(1, "{}"));
    assert_eq!(first, message_id(&outbox::OutboxItem { attempts: 2, ..item(1, "{}") }));
    assert_ne!(first, message_id(&item(2, "{}")));
    assert_ne!(first, message_id(&item(1, "[]")));
}
