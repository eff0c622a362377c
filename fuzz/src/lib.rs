//! What the targets do. The families of adapters are here: a target each, so that a fuzzer learns what the outputs of
//! related tools look like instead of spending its time on all of them.

pub mod channel;
#[cfg(target_os = "linux")]
pub mod layer;
pub mod registry;
pub mod signature;

use tidemark_adapters::{ADAPTERS, parse};

/// The families that have a name; the word of an adapter begins with it.
const FAMILIES: [&str; 5] = ["cpp", "js", "load", "python", "rust"];

/// Reads a text with every adapter of a family: none may panic or hang, whatever the text is. `rest` is all that belong
/// to no other.
pub fn read(family: &str, text: &str) {
    for tool in ADAPTERS {
        let word = tool.adapter.to_string();
        let known = FAMILIES.into_iter().find(|family| word.split('_').next() == Some(family));
        if known.unwrap_or("rest") == family {
            let _ = parse(tool.adapter, text, None).map_err(|error| error.to_string());
        }
    }
}
