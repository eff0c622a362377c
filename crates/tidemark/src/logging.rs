//! Log output: standard error, as text on a terminal, otherwise as JSON.

use std::io::{self, IsTerminal};

use tidemark_server::infra::config::{LogFormat, LogLevel, Logging};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Libraries that render images. They log every character that the font lacks, and any client can request an image with any text.
const NOISY: [&str; 3] = ["usvg", "resvg", "fontdb"];

/// The MCP library logs an error if a client disconnects before the response, and a warning for every failed tool call.
const MCP: &str = "rmcp::service";

/// Starts logging as configured.
pub(crate) fn start(logging: &Logging) {
    let human = match logging.format {
        LogFormat::Human => true,
        LogFormat::Json => false,
        LogFormat::Auto => io::stderr().is_terminal(),
    };
    let layer = if human {
        fmt::layer().with_ansi(io::stderr().is_terminal()).with_target(false).with_writer(io::stderr).boxed()
    } else {
        fmt::layer().json().flatten_event(true).with_span_list(false).with_writer(io::stderr).boxed()
    };
    tracing_subscriber::registry().with(layer.with_filter(filter(level(logging.level)))).init();
    if !human {
        // The text of a panic would be the only line that is not JSON.
        std::panic::set_hook(Box::new(|panic| {
            let message = panic.payload_as_str().unwrap_or("no message");
            let place = panic.location().map(ToString::to_string);
            tracing::error!(place, message, "a thread panicked");
        }));
    }
}

/// Returns a filter: the requested level for the crates of Tidemark, only warnings and errors for other crates.
fn filter(level: LevelFilter) -> Targets {
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target("tidemark", level)
        .with_targets(NOISY.map(|target| (target, LevelFilter::ERROR)))
        .with_target(MCP, if level >= LevelFilter::DEBUG { LevelFilter::WARN } else { LevelFilter::OFF })
}

fn level(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Trace => LevelFilter::TRACE,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn other_crates_log_warnings_and_image_crates_only_errors() {
        let debug = filter(LevelFilter::DEBUG);
        for (target, level, heard) in [
            ("tidemark_server::transport::http", Level::DEBUG, true),
            ("tidemark_server::transport::http", Level::TRACE, false),
            ("hyper", Level::WARN, true),
            ("hyper", Level::INFO, false),
            ("usvg::text", Level::WARN, false),
            ("usvg::text", Level::ERROR, true),
            ("rmcp::service", Level::WARN, true),
        ] {
            assert_eq!(debug.would_enable(target, &level), heard, "{target} {level}");
        }
        let info = filter(LevelFilter::INFO);
        for (target, heard) in [("rmcp::service", false), ("rmcp::transport", true), ("hyper", true)] {
            assert_eq!(info.would_enable(target, &Level::ERROR), heard, "{target}");
        }
    }
}
