//! The messages of the channel between a runner and the server.

use serde::{Serialize, de::DeserializeOwned};
use tidemark_api::channel::{Envelope, FromRunner, ToRunner};

/// Parses a text as a message of either side. A parsed message must survive serializing and parsing again unchanged,
/// as in the journal of a runner.
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
