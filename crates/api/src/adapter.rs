//! The tools whose output can be read, and what is to be taken from it. Reading it is the business of
//! `tidemark-adapters`.

use crate::scalar::word;

word! {
    /// The tool that made a result. `magic` finds out which it was.
    #[derive(Default)]
    Adapter {
        /// Whichever tool the result is of.
        #[default]
        Magic = "magic",
        /// The service's own format.
        Json = "json",
        /// Any tool of Rust; the same as `magic`.
        Rust = "rust",
        /// The benchmarks of libtest.
        RustBench = "rust_bench",
        /// Criterion.
        RustCriterion = "rust_criterion",
        /// Divan.
        RustDivan = "rust_divan",
        /// Iai.
        RustIai = "rust_iai",
        /// Gungraun, in either of its formats.
        RustGungraun = "rust_gungraun",
        /// Gungraun under its former name; the same as `rust_gungraun`.
        RustIaiCallgrind = "rust_iai_callgrind",
        /// What Gungraun prints.
        RustGungraunStdout = "rust_gungraun_stdout",
        /// The summaries of Gungraun.
        RustGungraunJson = "rust_gungraun_json",
        /// Any tool of C++; the same as `magic`.
        Cpp = "cpp",
        /// Google Benchmark.
        CppGoogle = "cpp_google",
        /// Catch2.
        CppCatch2 = "cpp_catch2",
        /// Any tool of Go; the same as `magic`.
        Go = "go",
        /// The benchmarks of `go test`.
        GoBench = "go_bench",
        /// Any tool of Java; the same as `magic`.
        Java = "java",
        /// JMH.
        JavaJmh = "java_jmh",
        /// Any tool of C#; the same as `magic`.
        CSharp = "c_sharp",
        /// BenchmarkDotNet.
        CSharpDotNet = "c_sharp_dot_net",
        /// Any tool of JavaScript; the same as `magic`.
        Js = "js",
        /// Benchmark.js.
        JsBenchmark = "js_benchmark",
        /// `console.time` of browsers and Node.
        JsTime = "js_time",
        /// The benchmarks of Vitest.
        JsVitest = "js_vitest",
        /// Mitata.
        JsMitata = "js_mitata",
        /// Any tool of Python; the same as `magic`.
        Python = "python",
        /// airspeed velocity.
        PythonAsv = "python_asv",
        /// pytest-benchmark.
        PythonPytest = "python_pytest",
        /// pyperf.
        PythonPyperf = "python_pyperf",
        /// Any tool of Ruby; the same as `magic`.
        Ruby = "ruby",
        /// The Benchmark module of Ruby.
        RubyBenchmark = "ruby_benchmark",
        /// Any tool of the shell; the same as `magic`.
        Shell = "shell",
        /// Hyperfine.
        ShellHyperfine = "shell_hyperfine",
        /// Any tool of Dart; the same as `magic`.
        Dart = "dart",
        /// benchmark_harness.
        DartBenchmarkHarness = "dart_benchmark_harness",
        /// The summary of k6.
        LoadK6 = "load_k6",
        /// The summary of oha.
        LoadOha = "load_oha",
        /// The summary of wrk.
        LoadWrk = "load_wrk",
    }
}

impl Adapter {
    /// The adapter without its second names: a language alone means whichever tool of it.
    pub const fn plain(self) -> Self {
        match self {
            Self::Rust
            | Self::Cpp
            | Self::Go
            | Self::Java
            | Self::CSharp
            | Self::Js
            | Self::Python
            | Self::Ruby
            | Self::Shell
            | Self::Dart => Self::Magic,
            Self::RustIaiCallgrind => Self::RustGungraun,
            adapter => adapter,
        }
    }
}

word! {
    /// Which of a tool's averages is taken.
    #[schema(as = JsonAverage)]
    Average {
        /// The arithmetic mean.
        Mean = "mean",
        /// The median.
        Median = "median",
    }
}

word! {
    /// How several results of one benchmark become one.
    #[schema(as = JsonFold)]
    Fold {
        /// The smallest of them.
        Min = "min",
        /// The largest of them.
        Max = "max",
        /// Their mean.
        Mean = "mean",
        /// Their median.
        Median = "median",
    }
}
