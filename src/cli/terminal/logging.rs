//! Log lines: to standard error, as text or as JSON.

use std::io::{self, IsTerminal as _};
use std::sync::OnceLock;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, reload};

use crate::cli::terminal::output::note;
use wardian_config::{Config, LogFormat, LogLevel, SettingOrigin};
use wardian_formats::skill::manifest::secret_name::check_secret_name;
use wardian_stores::secrets::PREFIX as SECRET_PREFIX;

/// The log level of commands other than `serve`, unless an option asks for more.
const QUIET: LogLevel = LogLevel::Warn;

/// The target of log lines about skills.
const REGISTRY: &str = "wardian_skills::registry";

/// The library of the Model Context Protocol, which logs what clients send.
const MCP_LIBRARY: &str = "rmcp";

/// The filter of the log, once it was started. There is one log for a process.
static FILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Changes the level of a log that was started.
pub(crate) fn set_level(level: LogLevel) {
    let changed = FILTER.get().map(|filter| filter.modify(|filter| *filter = targets(level)));
    if let Some(Err(fault)) = changed {
        note(&format!("warning: the log level cannot be changed: {fault}"));
    }
}

/// Starts logging for a server, as configured.
pub(crate) fn start_for_a_server(config: &Config) {
    start(config.log.format, targets(config.log.level));
}

/// Starts logging for a command: warnings only, unless a level is configured.
pub(crate) fn start_for_a_command(config: &Config) {
    match chosen_level(config) {
        Some(level) => start(config.log.format, targets(level)),
        None => start(config.log.format, targets(QUIET)),
    }
}

/// Starts logging for a command that reports on skills. Its report replaces the log lines about
/// them.
pub(crate) fn start_for_a_report_on_skills(config: &Config) {
    match chosen_level(config) {
        Some(level) => start(config.log.format, targets(level)),
        None => start(config.log.format, targets(QUIET).with_target(REGISTRY, LevelFilter::OFF)),
    }
}

/// The configured level, if it is not the default.
fn chosen_level(config: &Config) -> Option<LogLevel> {
    let setting = config.effective.iter().find(|setting| setting.key == "log.level");
    setting.filter(|setting| setting.origin != SettingOrigin::Default).map(|_| config.log.level)
}

fn targets(level: LogLevel) -> Targets {
    Targets::new()
        // The beginning of the names of all our crates.
        .with_target("wardian", filter_of(level))
        .with_target(MCP_LIBRARY, LevelFilter::OFF)
        .with_default(LevelFilter::WARN)
}

fn start(format: LogFormat, filter: Targets) {
    let layer = match format {
        LogFormat::Text => {
            let uses_colours = io::stderr().is_terminal();
            layer().with_ansi(uses_colours).with_target(false).with_writer(io::stderr).boxed()
        }
        // The innermost span names the trace and the run; there are spans only with traces.
        LogFormat::Json => {
            let layer = layer().json().flatten_event(true).with_span_list(false);
            layer.with_writer(io::stderr).boxed()
        }
    };
    let (filter, handle) = reload::Layer::new(filter);
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
    if subscriber.try_init().is_err() || FILTER.set(handle).is_err() {
        note("warning: logging was already started, so these settings have no effect");
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

/// Warns of variables that begin like a setting and are none.
pub(crate) fn warn_of_ignored_variables(config: &Config) {
    for name in &config.ignored_variables {
        let why = no_secret(name).map_or_else(String::new, |why| format!(": {why}"));
        tracing::warn!("the environment variable `{name}` is not a setting and has no effect{why}");
    }
}

/// Says why a variable that looks like a secret is none.
fn no_secret(variable: &str) -> Option<String> {
    let name = variable.strip_prefix(SECRET_PREFIX)?;
    let problem = check_secret_name(name).err()?;
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let begins_well = !name.starts_with(|letter: char| letter.is_ascii_digit());
    if name.is_empty() || !begins_well || !name.chars().all(is_word) {
        let rule = "names of secrets consist of letters, digits and `_`, and do not start with a \
            digit";
        return Some(rule.to_owned());
    }
    Some(format!("as the name of a secret, `{name}` {problem}"))
}
