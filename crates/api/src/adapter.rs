//! Adapters: the supported benchmark tools, and how their results are combined. `tidemark-adapters` parses the output.

use crate::scalar::fixed_string;

fixed_string! {
    /// Benchmark tool whose output is parsed. `magic`, the default, detects the tool.
    #[derive(Default)]
    Adapter {
        /// Detect the tool from the output.
        #[default]
        Magic = "magic",
        /// Tidemark's JSON format.
        Json = "json",
        /// Any Rust tool; same as `magic`.
        Rust = "rust",
        /// libtest (`cargo bench`).
        RustBench = "rust_bench",
        /// Criterion.
        RustCriterion = "rust_criterion",
        /// Divan.
        RustDivan = "rust_divan",
        /// Iai.
        RustIai = "rust_iai",
        /// Gungraun, text or JSON output.
        RustGungraun = "rust_gungraun",
        /// Former name of Gungraun; same as `rust_gungraun`.
        RustIaiCallgrind = "rust_iai_callgrind",
        /// Gungraun, text output.
        RustGungraunStdout = "rust_gungraun_stdout",
        /// Gungraun, JSON summaries.
        RustGungraunJson = "rust_gungraun_json",
        /// Any C++ tool; same as `magic`.
        Cpp = "cpp",
        /// Google Benchmark.
        CppGoogle = "cpp_google",
        /// Catch2.
        CppCatch2 = "cpp_catch2",
        /// Any Go tool; same as `magic`.
        Go = "go",
        /// `go test -bench`.
        GoBench = "go_bench",
        /// Any Java tool; same as `magic`.
        Java = "java",
        /// JMH.
        JavaJmh = "java_jmh",
        /// Any C# tool; same as `magic`.
        CSharp = "c_sharp",
        /// BenchmarkDotNet.
        CSharpDotNet = "c_sharp_dot_net",
        /// Any JavaScript tool; same as `magic`.
        Js = "js",
        /// Benchmark.js.
        JsBenchmark = "js_benchmark",
        /// `console.time` of browsers and Node.js.
        JsTime = "js_time",
        /// Vitest.
        JsVitest = "js_vitest",
        /// Mitata.
        JsMitata = "js_mitata",
        /// Any Python tool; same as `magic`.
        Python = "python",
        /// airspeed velocity.
        PythonAsv = "python_asv",
        /// pytest-benchmark.
        PythonPytest = "python_pytest",
        /// pyperf.
        PythonPyperf = "python_pyperf",
        /// Any Ruby tool; same as `magic`.
        Ruby = "ruby",
        /// Ruby module Benchmark.
        RubyBenchmark = "ruby_benchmark",
        /// Any shell tool; same as `magic`.
        Shell = "shell",
        /// Hyperfine.
        ShellHyperfine = "shell_hyperfine",
        /// Any Dart tool; same as `magic`.
        Dart = "dart",
        /// benchmark_harness.
        DartBenchmarkHarness = "dart_benchmark_harness",
        /// k6, summary.
        LoadK6 = "load_k6",
        /// oha, summary.
        LoadOha = "load_oha",
        /// wrk, summary.
        LoadWrk = "load_wrk",
        /// ApacheBench.
        Ab = "ab",
        /// autocannon.
        Autocannon = "autocannon",
        /// Benchee.
        Benchee = "benchee",
        /// benchmark-ips.
        BenchmarkIps = "benchmark_ips",
        /// BenchmarkTools.jl.
        BenchmarkTools = "benchmark_tools",
        /// ClickBench.
        Clickbench = "clickbench",
        /// Any CSV with a column of names.
        Csv = "csv",
        /// CTest.
        Ctest = "ctest",
        /// fio.
        Fio = "fio",
        /// Gatling.
        Gatling = "gatling",
        /// Criterion for Haskell.
        HaskellCriterion = "haskell_criterion",
        /// hey.
        Hey = "hey",
        /// iperf3.
        Iperf3 = "iperf3",
        /// JMeter.
        Jmeter = "jmeter",
        /// JUnit XML.
        Junit = "junit",
        /// Lighthouse.
        Lighthouse = "lighthouse",
        /// llama-bench.
        LlamaBench = "llama_bench",
        /// Locust.
        Locust = "locust",
        /// memtier_benchmark.
        Memtier = "memtier",
        /// Mocha.
        Mocha = "mocha",
        /// nanobench.
        Nanobench = "nanobench",
        /// Nyrkiö.
        Nyrkio = "nyrkio",
        /// perf stat.
        PerfStat = "perf_stat",
        /// pgbench.
        Pgbench = "pgbench",
        /// PHPBench.
        Phpbench = "phpbench",
        /// Playwright Test.
        Playwright = "playwright",
        /// redis-benchmark.
        RedisBenchmark = "redis_benchmark",
        /// sysbench.
        Sysbench = "sysbench",
        /// tasty-bench.
        TastyBench = "tasty_bench",
        /// `time` of GNU and of shells.
        Time = "time",
        /// Tinybench.
        Tinybench = "tinybench",
        /// Test results of `dotnet test`.
        Trx = "trx",
        /// Vegeta.
        Vegeta = "vegeta",
        /// zBench.
        Zbench = "zbench",
    }
}

impl Adapter {
    /// Resolves aliases: a language to `magic`, a former name to the current name.
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

    /// Returns the name for people, without the language: `criterion` for `rust_criterion`. Most tools have only one name.
    pub const fn short(self) -> &'static str {
        match self {
            Self::RustBench => "libtest",
            Self::RustCriterion => "criterion",
            Self::RustDivan => "divan",
            Self::RustIai => "iai",
            Self::RustGungraun => "gungraun",
            Self::CppGoogle => "google_benchmark",
            Self::CppCatch2 => "catch2",
            Self::GoBench => "gobench",
            Self::JavaJmh => "jmh",
            Self::CSharpDotNet => "benchmarkdotnet",
            Self::JsBenchmark => "benchmark_js",
            Self::JsTime => "console_time",
            Self::JsVitest => "vitest",
            Self::JsMitata => "mitata",
            Self::PythonAsv => "asv",
            Self::PythonPytest => "pytest",
            Self::PythonPyperf => "pyperf",
            Self::ShellHyperfine => "hyperfine",
            Self::DartBenchmarkHarness => "benchmark_harness",
            Self::LoadK6 => "k6",
            Self::LoadOha => "oha",
            Self::LoadWrk => "wrk",
            adapter => adapter.as_str(),
        }
    }
}

fixed_string! {
    /// Average that the server uses if the tool prints several.
    #[schema(as = JsonAverage)]
    Average {
        /// Arithmetic mean.
        Mean = "mean",
        /// Median.
        Median = "median",
    }
}

fixed_string! {
    /// How several results of a benchmark and measure are combined into one.
    #[schema(as = JsonFold)]
    Fold {
        /// Smallest result.
        Min = "min",
        /// Largest result.
        Max = "max",
        /// Mean of the results.
        Mean = "mean",
        /// Median of the results.
        Median = "median",
    }
}
