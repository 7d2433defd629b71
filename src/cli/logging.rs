//! Where log lines go: to standard error, as text or as JSON.

use std::io::{self, IsTerminal as _};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::output::note;
use crate::config::{Config, LogFormat, LogLevel, Origin};

/// What a command logs that is no server, unless somebody asked for more.
const QUIET: LogLevel = LogLevel::Warn;

/// Logs as the configuration says.
pub(crate) fn start_for_a_server(config: &Config) {
    start(config.log.format, config.log.level);
}

/// Logs little, unless the configuration asks for more.
pub(crate) fn start_for_a_command(config: &Config) {
    let is_set = |key| {
        let setting = config.effective.iter().find(|setting| setting.key == key);
        setting.is_some_and(|setting| setting.origin != Origin::Default)
    };
    let level = if is_set("log.level") { config.log.level } else { QUIET };
    start(config.log.format, level);
}

fn start(format: LogFormat, level: LogLevel) {
    let filter = Targets::new()
        .with_target(env!("CARGO_CRATE_NAME"), filter_of(level))
        .with_default(LevelFilter::WARN);
    let layer = match format {
        LogFormat::Text => {
            let uses_colours = io::stderr().is_terminal();
            layer().with_ansi(uses_colours).with_target(false).with_writer(io::stderr).boxed()
        }
        LogFormat::Json => layer().json().flatten_event(true).with_writer(io::stderr).boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
    if subscriber.try_init().is_err() {
        note("warning: log lines go where they went before");
    }
}

fn filter_of(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}
