//! Work that takes a processor and much memory for seconds: a few at a time, however many ask.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::http::error::{Error, Result};

/// How many are done at once.
const AT_ONCE: usize = 2;
/// How long somebody waits for a turn.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whose turn it is.
pub(crate) struct Heavy(Arc<Semaphore>);

/// A turn; it ends when the last holder lets go of it: whoever does the work holds it, not only whoever waits for it.
pub(crate) type Turn = Arc<OwnedSemaphorePermit>;

impl Default for Heavy {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Heavy {
    /// Waits for a turn.
    pub(crate) async fn turn(&self) -> Result<Turn> {
        match timeout(PATIENCE, Arc::clone(&self.0).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Arc::new(permit)),
            _ => Err(Error::Busy(None)),
        }
    }
}
