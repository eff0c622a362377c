//! Licenses of organizations: who may set one, which are rejected, and what the usage shows.

use insta::assert_snapshot;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use crate::both;

pub(crate) const TRUSTED: &str = r#"[plus.license]
issuer = "https://licenses.example.org"
audience = "tidemark"
public_key = """
-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE0dwUlyFNziJiOYC8F8SE8CywWBbh
irYdS8jBZo0jAvemhSaMy6uCaRUGSiefMio4KHBynowbafjQNluRnWtm3w==
-----END PUBLIC KEY-----
"""
"#;
/// Private key that signs licenses in this test, and a foreign one.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9VNVlA9oGRLLV2l/\nLSJMLADSjNjycsi7tszKdnu/NjehRANCAATR3BSXIU3OImI5gLwXxITwLLBYFuGK\nth1LyMFmjSMC96aFJozLq4JpFQZKJ58yKjgocHKejBtp+NA2W5Gda2bf\n-----END PRIVATE KEY-----";
const OTHER_KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgHzJ3zjgM+gD8fDwl\nD/MiwajP7IDs5N6dHPSMW5EqFJWhRANCAAQLsEThu6N/UTPW4Hid3MwoWyBZ15ur\ngbtWj0CO91hZiaUJAPBWQFXpswAs8P/wkw6U+CBBwROYgHIozsqTRFcx\n-----END PRIVATE KEY-----";
/// Start of the test clock, in seconds.
const NOW: i64 = 1_767_225_600;

fn sign(key: &str, organization: &str, changes: &Value) -> String {
    let mut claims = json!({
        "aud": "tidemark", "iss": "https://licenses.example.org", "iat": NOW - 100, "exp": NOW + 366 * 86_400,
        "sub": organization, "lvl": "team", "ent": 1_000_000,
    });
    claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let key = EncodingKey::from_ec_pem(key.as_bytes()).unwrap();
    jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims, &key).unwrap()
}

both! {
    async fn a_license_is_checked_and_returned(server: TestServer = TRUSTED) {
        let ada = server.person("Ada").await;
        let path = "/v0/organizations/ada";
        let organization = server.get(path, &ada.token).await.expect(200).text("/uuid");
        let set = async |license: String| server.patch(path, &ada.token, json!({ "license": license })).await;
        for (name, license) in [
            ("signature", sign(OTHER_KEY, &organization, &json!({}))),
            ("organization", sign(KEY, &uuid::Uuid::nil().to_string(), &json!({}))),
            ("issuer", sign(KEY, &organization, &json!({ "iss": "https://elsewhere.example.org" }))),
            ("expired", sign(KEY, &organization, &json!({ "exp": NOW - 1 }))),
            ("claims", sign(KEY, &organization, &json!({ "lvl": "gold" }))),
        ] {
            let refused = set(license).await;
            assert_snapshot!(format!("license_{name}"), server.show(&refused));
        }
        set("aaaa.bbbb.cccc".into()).await.expect(400);
        assert_eq!(server.get(path, &ada.token).await.expect(200).body["license"], Value::Null);
        let usage = format!("{path}/usage");
        assert_eq!(server.get(&usage, &ada.token).await.expect(200).body["kind"], "self_hosted_free");

        let license = sign(KEY, &organization, &json!({}));
        assert_eq!(set(license.clone()).await.expect(200).body["license"], json!(license));
        let answer = server.get(&usage, &ada.token).await.expect(200).body;
        assert_eq!(answer["kind"], "self_hosted_licensed");
        assert_eq!(answer["end_time"], "2027-01-02T00:00:00.000Z");
        assert_eq!(answer["license"], json!({
            "key": license, "organization": organization, "level": "team", "entitlements": 1_000_000,
            "issued_at": "2025-12-31T23:58:20.000Z", "expiration": "2027-01-02T00:00:00.000Z",
        }));
        // An expired license is still shown, and nothing is blocked.
        server.pass(366 * 86_400);
        let token = server.login(&ada.email).await;
        let answer = server.get(&usage, &token).await.expect(200).body;
        assert_eq!((&answer["kind"], &answer["license"]["level"]), (&json!("self_hosted_free"), &json!("team")));
        server.post("/v0/organizations/ada/projects", &token, json!({ "name": "Lab" })).await.expect(201);
    }
}
