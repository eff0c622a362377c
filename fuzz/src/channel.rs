//! The messages of the channel between a runner and the server.

use serde::{Serialize, de::DeserializeOwned};
use tidemark_api::channel::{Envelope, FromRunner, ToRunner};

/// Reads a text as a message of either side. A message that is read is written and read again as the same: whatever a
/// runner puts into its journal, it finds there.
pub fn read(text: &str) {
    round_trip::<FromRunner>(text);
    round_trip::<ToRunner>(text);
}

fn round_trip<M: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(text: &str) {
    let Ok(message) = serde_json::from_str::<Envelope<M>>(text) else { return };
    let written = serde_json::to_string(&message).expect("a message is written");
    let again: Envelope<M> = serde_json::from_str(&written).expect("a written message is read");
    assert_eq!(again, message, "{written}");
}
