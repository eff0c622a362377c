//! What a write needs from the outside world: the time, and randomness nobody can guess.

use std::{fmt, sync::Arc};

use tidemark_api::time::Timestamp;
use uuid::{Builder, Uuid};

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

/// The time of one operation, and a source of new ids and secrets.
#[derive(Clone)]
pub struct Fresh {
    /// The time of the operation; everything it writes carries the same.
    pub now: Timestamp,
    entropy: Arc<dyn Entropy>,
}

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fresh").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Fresh {
    /// The given time with the given randomness.
    pub fn new(now: Timestamp, entropy: Arc<dyn Entropy>) -> Self {
        Self { now, entropy }
    }

    /// A new UUID of version 7, so that ids sort by time.
    pub fn uuid(&self) -> Uuid {
        let mut random = [0; 10];
        self.entropy.fill(&mut random);
        let millis = u64::try_from(self.now.micros() / 1000).unwrap_or_default();
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }

    /// So many characters of the alphabet, each equally likely. The alphabet holds at most 256 characters.
    pub fn letters(&self, alphabet: &[u8], count: usize) -> String {
        // Bytes beyond the largest multiple of the alphabet would favor its first letters.
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
