//! No output makes an adapter panic or hang, whichever tool it claims to be from.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidemark_adapters::{ADAPTERS, parse};

fuzz_target!(|text: &str| {
    for tool in ADAPTERS {
        let _ = parse(tool.adapter, text, None).map_err(|error| error.to_string());
    }
});
