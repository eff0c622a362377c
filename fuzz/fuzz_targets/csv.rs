#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| tidemark_fuzz::read("csv", text));
