//! The adapters of tools that write JSON: no document makes one panic or hang.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidemark_adapters::parse;
use tidemark_api::Adapter::{
    CSharpDotNet, CppGoogle, JavaJmh, JsMitata, JsVitest, Json, LoadK6, LoadOha, PythonPyperf, PythonPytest,
    RustGungraunJson, ShellHyperfine,
};

fuzz_target!(|text: &str| {
    for adapter in [
        CSharpDotNet,
        CppGoogle,
        JavaJmh,
        JsMitata,
        JsVitest,
        Json,
        LoadK6,
        LoadOha,
        PythonPyperf,
        PythonPytest,
        RustGungraunJson,
        ShellHyperfine,
    ] {
        let _ = parse(adapter, text, None).map_err(|error| error.to_string());
    }
});
