//! The adapters of tools that print text: no text makes one panic or hang.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidemark_adapters::parse;
use tidemark_api::Adapter::{
    CppCatch2, DartBenchmarkHarness, GoBench, JsBenchmark, JsTime, LoadWrk, PythonAsv, RubyBenchmark,
    RustBench, RustCriterion, RustDivan, RustGungraunStdout, RustIai,
};

fuzz_target!(|text: &str| {
    for adapter in [
        CppCatch2,
        DartBenchmarkHarness,
        GoBench,
        JsBenchmark,
        JsTime,
        LoadWrk,
        PythonAsv,
        RubyBenchmark,
        RustBench,
        RustCriterion,
        RustDivan,
        RustGungraunStdout,
        RustIai,
    ] {
        let _ = parse(adapter, text, None).map_err(|error| error.to_string());
    }
});
