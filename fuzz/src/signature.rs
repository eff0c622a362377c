//! The signature of webhooks from the payment provider. Compiles only this file, like the files of the registry.

#[path = "../../crates/server/src/domain/billing/signature.rs"]
mod billing;

use billing::is_valid_signature;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tidemark_api::Timestamp;

const SECRET: &str = "whsec_fuzz";
/// Time of the server, in seconds.
const NOW: i64 = 1_700_000_000;

/// Parses a header and a body, separated by a line break. Only a header with the right signature may pass.
pub fn read(text: &str) {
    let (header, body) = text.split_once('\n').unwrap_or((text, ""));
    let now = Timestamp::from_micros(NOW * 1_000_000);
    assert!(
        !is_valid_signature(SECRET, header, body.as_bytes(), now),
        "{header:?} passes without the secret"
    );
    // The signature of this body passes next to any other content, unless another time comes first.
    let signed = format!("t={NOW},v1={}", sign(body));
    assert!(is_valid_signature(SECRET, &format!("{signed},{header}"), body.as_bytes(), now));
    assert!(!is_valid_signature(SECRET, &signed, format!("{body} ").as_bytes(), now));
    assert!(!is_valid_signature("another", &signed, body.as_bytes(), now));
}

fn sign(body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key of any length will do");
    mac.update(format!("{NOW}.{body}").as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}
