//! API keys: how they are made, told apart and hashed.

use sha2::{Digest, Sha256};
use tidemark_api::PlainKey;
use tidemark_store::Fresh;

const ALPHABET: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Random characters of a key: about 178 bits.
const LENGTH: usize = 30;
/// All characters of a runner's key. A prefix has at most sixteen, which leaves more than a hundred random bits.
const RUNNER_LENGTH: usize = 45;

/// What a key opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It acts as a user.
    User,
    /// It opens one project.
    Project,
    /// It acts as a runner.
    Runner,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "run",
            Self::Runner => "runner",
        }
    }

    /// How many random characters such a key has.
    fn length(self, prefix: &str) -> usize {
        match self {
            Self::User | Self::Project => LENGTH,
            Self::Runner => RUNNER_LENGTH.saturating_sub(prefix.len() + self.word().len() + "__".len()),
        }
    }
}

/// A new key; `prefix` is the installation's `security.key_prefix`.
pub fn generate(fresh: &Fresh, prefix: &str, kind: Kind) -> PlainKey {
    let secret = fresh.letters(ALPHABET, kind.length(prefix));
    format!("{prefix}_{}_{secret}", kind.word()).parse().expect("letters, digits and underscores make a key")
}

/// What kind of key this is, if it has the form of one.
pub fn kind(prefix: &str, text: &str) -> Option<Kind> {
    let rest = text.strip_prefix(prefix)?.strip_prefix('_')?;
    [Kind::User, Kind::Project, Kind::Runner].into_iter().find(|kind| {
        rest.strip_prefix(kind.word()).and_then(|rest| rest.strip_prefix('_')).is_some_and(|secret| {
            secret.len() == kind.length(prefix) && secret.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    })
}

/// What is stored of a credential. It needs no salt: what is hashed is random, not chosen by a person.
pub fn hash(credential: &str) -> Vec<u8> {
    Sha256::digest(credential).to_vec()
}
