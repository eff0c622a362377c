//! Where log messages go and how they look: standard error, text on a terminal, JSON elsewhere.

use std::io::{self, IsTerminal};

use tidemark_server::config::{LogFormat, LogLevel, Logging};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Starts logging as configured. Our own crates speak at the level asked for, everything below them only of trouble.
pub(crate) fn start(logging: &Logging) {
    let level = level(logging.level);
    let filter = Targets::new().with_default(level.min(LevelFilter::WARN)).with_target("tidemark", level);
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
    tracing_subscriber::registry().with(layer.with_filter(filter)).init();
    if !human {
        // The text of a panic would be the only line that is not JSON.
        std::panic::set_hook(Box::new(|panic| {
            let message = panic.payload_as_str().unwrap_or("no message");
            let place = panic.location().map(ToString::to_string);
            tracing::error!(place, message, "a thread panicked");
        }));
    }
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
