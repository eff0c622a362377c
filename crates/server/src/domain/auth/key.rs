//! API keys: generation, detection of their kind, and hashing.

use sha2::{Digest, Sha256};
use tidemark_api::PlainKey;
use tidemark_store::WriteContext;

const ALPHABET: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Number of random characters of a key: about 178 bits.
const LENGTH: usize = 30;
/// Total length of a runner key. A prefix has at most 16 characters, which leaves more than 100 random bits.
const RUNNER_LENGTH: usize = 45;

/// The kind of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Has the rights of a user.
    User,
    /// Gives access to one project.
    Project,
    /// Belongs to a runner.
    Runner,
}

impl KeyKind {
    fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "run",
            Self::Runner => "runner",
        }
    }

    /// Returns the number of random characters of a key.
    fn length(self, prefix: &str) -> usize {
        match self {
            Self::User | Self::Project => LENGTH,
            Self::Runner => RUNNER_LENGTH.saturating_sub(prefix.len() + self.word().len() + "__".len()),
        }
    }
}

/// Generates a key. `prefix` is `security.key_prefix` of the configuration.
pub fn generate(fresh: &WriteContext, prefix: &str, kind: KeyKind) -> PlainKey {
    let secret = fresh.random_text(ALPHABET, kind.length(prefix));
    format!("{prefix}_{}_{secret}", kind.word()).parse().expect("letters, digits and underscores make a key")
}

/// Returns the kind of a key, if the text has the form of a key.
pub fn kind(prefix: &str, text: &str) -> Option<KeyKind> {
    let rest = text.strip_prefix(prefix)?.strip_prefix('_')?;
    [KeyKind::User, KeyKind::Project, KeyKind::Runner].into_iter().find(|kind| {
        rest.strip_prefix(kind.word()).and_then(|rest| rest.strip_prefix('_')).is_some_and(|secret| {
            secret.len() == kind.length(prefix) && secret.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    })
}

/// Returns the stored hash of a credential. It needs no salt, because credentials are random.
pub fn hash(credential: &str) -> Vec<u8> {
    Sha256::digest(credential).to_vec()
}
