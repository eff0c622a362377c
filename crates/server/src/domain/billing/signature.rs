//! Verifies the signatures of webhooks of the payment provider. A signature includes the time, which prevents replays.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tidemark_api::Timestamp;

/// Maximum difference of the clocks, in seconds.
const TOLERANCE: i64 = 300;

/// Whether a body has a recent and valid signature. `header` is `t=SECONDS,v1=HEX` with one `v1` per key.
pub(crate) fn is_valid_signature(secret: &str, header: &str, body: &[u8], now: Timestamp) -> bool {
    let parts = || header.split(',').filter_map(|part| part.trim().split_once('='));
    let Some((_, time)) = parts().find(|(key, _)| *key == "t") else { return false };
    let Ok(seconds) = time.parse::<i64>() else { return false };
    if now.seconds().abs_diff(seconds) > TOLERANCE.unsigned_abs() {
        return false;
    }
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return false };
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    parts()
        .filter(|(key, _)| *key == "v1")
        .any(|(_, given)| bytes(given).is_some_and(|given| mac.clone().verify_slice(&given).is_ok()))
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    hex.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"{\"id\":\"evt_1\"}";
    /// `printf '1700000000.{"id":"evt_1"}' | openssl dgst -sha256 -hmac whsec_test`
    const SIGNED: &str = "c89214b5b5da833daed6f0b8c5bb6bd58cea9022bd80ccc78230f3942d632925";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn what_was_signed_lately_is_genuine() {
        let header = format!("t=1700000000,v1=00,v1={SIGNED},v0=ff");
        assert!(is_valid_signature("whsec_test", &header, BODY, at(1_700_000_000)));
        assert!(is_valid_signature("whsec_test", &header, BODY, at(1_700_000_300)));
    }

    #[test]
    fn anything_else_is_not() {
        let good = format!("t=1700000000,v1={SIGNED}");
        let now = at(1_700_000_000);
        assert!(!is_valid_signature("whsec_other", &good, BODY, now));
        assert!(!is_valid_signature("whsec_test", &good, b"{}", now));
        assert!(!is_valid_signature("whsec_test", &good, BODY, at(1_700_000_301)));
        assert!(!is_valid_signature("whsec_test", &good.replace("1700000000", "1700000001"), BODY, now));
        for odd in ["", "t=1700000000", "v1=00", "t=x,v1=00", "t=1700000000,v1=0", "t=1700000000,v1=zz"] {
            assert!(!is_valid_signature("whsec_test", odd, BODY, now), "{odd}");
        }
    }
}
