//! The functions of the fuzz targets. The families of adapters are here: each has its own target, so that a fuzzer
//! learns the output format of related tools instead of spending its time on all of them.

pub mod channel;
#[cfg(target_os = "linux")]
pub mod layer;
pub mod registry;
pub mod signature;

use tidemark_adapters::{ADAPTERS, parse};

/// Families with a name; the name of an adapter starts with it.
const FAMILIES: [&str; 5] = ["cpp", "js", "load", "python", "rust"];

/// Parses a text with every adapter of a family: no adapter may panic or hang, whatever the text is. The family
/// `rest` contains the adapters of no other family.
pub fn read(family: &str, text: &str) {
    for tool in ADAPTERS {
        let word = tool.adapter.to_string();
        let known = FAMILIES.into_iter().find(|family| word.split('_').next() == Some(family));
        if known.unwrap_or("rest") == family {
            let _ = parse(tool.adapter, text, None).map_err(|error| error.to_string());
        }
    }
}
