//! Inputs of a write: the time and unpredictable random bytes.

use std::{fmt, sync::Arc};

use tidemark_api::time::Timestamp;
use uuid::{Builder, Uuid};

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

/// The time of one operation, and a source of new UUIDs and secrets.
#[derive(Clone)]
pub struct WriteContext {
    /// Time of the operation; all rows that it writes have the same time.
    pub now: Timestamp,
    entropy: Arc<dyn Entropy>,
}

impl fmt::Debug for WriteContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteContext").field("now", &self.now).finish_non_exhaustive()
    }
}

impl WriteContext {
    /// Creates a context from a time and a source of random bytes.
    pub fn new(now: Timestamp, entropy: Arc<dyn Entropy>) -> Self {
        Self { now, entropy }
    }

    /// Returns a new UUID of version 7, so that UUIDs sort by time.
    pub fn uuid(&self) -> Uuid {
        let mut random = [0; 10];
        self.entropy.fill(&mut random);
        let millis = u64::try_from(self.now.micros() / 1000).unwrap_or_default();
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }

    /// Returns `count` characters of the alphabet, each with the same probability. The alphabet has at most 256
    /// characters.
    pub fn random_text(&self, alphabet: &[u8], count: usize) -> String {
        // Bytes above the largest multiple of the alphabet size would favor its first characters.
        let limit = 256 - 256 % alphabet.len();
        let mut text = String::with_capacity(count);
        let mut bytes = [0; 64];
        while text.len() < count {
            self.entropy.fill(&mut bytes);
            let fair = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < limit);
            text.extend(
                fair.take(count - text.len()).map(|byte| char::from(alphabet[byte % alphabet.len()])),
            );
        }
        text
    }
}
