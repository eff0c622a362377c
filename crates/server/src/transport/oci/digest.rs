//! Digests of content.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, de};
use sha2::{Digest as _, Sha256, Sha512};

/// Hash algorithm of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Sha256,
    Sha512,
}

impl Algorithm {
    fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    /// Returns the number of hexadecimal digits.
    fn length(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }
}

/// A digest: `sha256:…` or `sha512:…` in lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digest {
    text: String,
    algorithm: Algorithm,
}

impl Digest {
    /// Computes the digest of bytes.
    pub(super) fn of(algorithm: Algorithm, bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new(algorithm);
        hasher.update(bytes);
        hasher.finish()
    }

    /// Returns the algorithm.
    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the digest as text.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Digest {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, digits) = text.split_once(':').ok_or("a digest has the form sha256:… or sha512:…")?;
        let algorithm = [Algorithm::Sha256, Algorithm::Sha512]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or("the algorithm of a digest is sha256 or sha512")?;
        let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if digits.len() == algorithm.length() && digits.bytes().all(hexadecimal) {
            return Ok(Self { text: text.to_owned(), algorithm });
        }
        Err("a digest has 64 lower-case hexadecimal digits after sha256: and 128 after sha512:")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Computes a digest incrementally.
pub(super) enum Hasher {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Hasher {
    /// Creates a hasher without input.
    pub(super) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
            Algorithm::Sha512 => Self::Sha512(Sha512::new()),
        }
    }

    /// Adds bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    /// Returns the digest of all bytes.
    pub(super) fn finish(self) -> Digest {
        let (algorithm, digits) = match self {
            Self::Sha256(hasher) => (Algorithm::Sha256, hex::encode(hasher.finalize())),
            Self::Sha512(hasher) => (Algorithm::Sha512, hex::encode(hasher.finalize())),
        };
        Digest { text: format!("{}:{digits}", algorithm.name()), algorithm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_everybody_knows() {
        let empty = Digest::of(Algorithm::Sha256, b"");
        assert_eq!(empty.as_str(), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let long = Digest::of(Algorithm::Sha512, b"abc");
        assert!(long.as_str().starts_with("sha512:ddaf35a193617abacc417349ae204131"));
        assert_eq!(long.as_str().parse(), Ok(long));
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        let upper = format!("sha256:{}", "A".repeat(64));
        for text in ["", "sha256", "sha256:", "sha256:ab", "md5:0123", "sha512:00", upper.as_str()] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
