//! Wall clock and randomness: the only file that reads either from the system.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use rand::{Rng as _, SeedableRng as _, TryRng as _, rngs::StdRng, rngs::SysRng};
use tidemark_api::Timestamp;
use tidemark_store::{Entropy, WriteContext};

/// Source of the current time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The system clock.
    System,
    /// A fixed time that tests set, in microseconds.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// Returns the current time, truncated to milliseconds.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    pub fn now(&self) -> Timestamp {
        let micros = match self {
            Self::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |elapsed| i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX)),
            Self::Manual(micros) => micros.load(Ordering::Relaxed),
        };
        Timestamp::from_micros(micros)
    }
}

/// Returns the time and randomness for one operation, outside of requests.
pub type FreshSource = Arc<dyn Fn() -> WriteContext + Send + Sync>;

/// Randomness of the operating system.
#[derive(Debug)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        SysRng.try_fill_bytes(bytes).expect("the operating system gives random bytes");
    }
}

/// Deterministic randomness, for tests.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<StdRng>);

impl SeededEntropy {
    /// Creates the generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(bytes);
    }
}
