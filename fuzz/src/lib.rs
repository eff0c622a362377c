//! The functions of the fuzz targets. The families of adapters are here: each syntax has its own target, so that a fuzzer
//! learns the syntax instead of spending its time on all of them.

pub mod channel;
#[cfg(target_os = "linux")]
pub mod layer;
pub mod registry;
pub mod signature;

use tidemark_adapters::{ADAPTERS, Format, Syntax, parse};

/// Parses a text with every adapter that has a format of a family, which is a syntax in lower case: no adapter may panic or hang,
/// whatever the text is.
pub fn read(family: &str, text: &str) {
    let is_member = |format: &Format| match format.syntax {
        Syntax::Json | Syntax::Ndjson => family == "json",
        Syntax::Csv => family == "csv",
        Syntax::Xml => family == "xml",
        Syntax::Text => family == "text",
    };
    for tool in ADAPTERS.iter().filter(|tool| tool.formats.iter().any(is_member)) {
        let _ = parse(tool.adapter, text, None).map_err(|error| error.to_string());
    }
}
