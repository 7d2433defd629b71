//! `wardian top`: shows what a running server does, again and again, from its metrics.

mod sample;
mod screen;

use std::io::{self, IsTerminal as _};
use std::thread::park_timeout;
use std::time::Duration;

use ureq::Agent;

use crate::cli::commands::top::sample::Sample;
use crate::cli::commands::top::screen::View;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{print, print_line};
use crate::cli::top_args::TopArgs;
use wardian_config::Config;

/// The time for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of bytes of metrics: a thousand tenants have some ten thousand lines.
const MAX_METRICS: u64 = 16 << 20;

/// Moves the cursor to the beginning and clears what is behind it.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Shows views until there were `count`, or until Ctrl-C.
pub(crate) fn top(config: &Config, args: &TopArgs) -> Result<Exit, Failed> {
    let url = match (&args.url, config.http.admin_listen) {
        (Some(url), _) => url.trim_end_matches('/').to_owned(),
        (None, Some(address)) => format!("http://{address}"),
        (None, None) => {
            return Err(Failed::usage(
                "the address for operators is unknown: start the server with `--admin-listen \
                127.0.0.1:9090`, and give it here with `--server http://127.0.0.1:9090`",
            ));
        }
    };
    let agent = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .proxy(None)
        .build()
        .new_agent();
    let interval = Duration::from_secs_f64(args.interval);
    let is_terminal = io::stdout().is_terminal();
    let mut before = sample_of(&agent, &url)?;
    let mut shown = 0_u64;
    while args.count.is_none_or(|count| shown < count) {
        park_timeout(interval);
        let now = sample_of(&agent, &url)?;
        let view = View::between(&before, &now);
        if args.json {
            let line = serde_json::to_string(&view).map_err(|e| Failed::at("write a view", &e))?;
            print_line(&line);
        } else {
            let start = if is_terminal { CLEAR } else { "" };
            print(&format!("{start}{}\n", view.text(&url)));
        }
        before = now;
        shown = shown.saturating_add(1);
    }
    Ok(Exit::Done)
}

fn sample_of(agent: &Agent, url: &str) -> Result<Sample, Failed> {
    let address = format!("{url}/metrics");
    let unreachable = |fault: ureq::Error| {
        Failed::usage(format!(
            "{address} cannot be read: {fault}; is a server with `--admin-listen` running there?"
        ))
    };
    let mut answer = agent.get(&address).call().map_err(unreachable)?;
    let text = answer.body_mut().with_config().limit(MAX_METRICS).read_to_string();
    let sample = Sample::read(&text.map_err(unreachable)?);
    if sample.value("wardian_http_connections").is_none() {
        return Err(Failed::usage(format!("{address} does not serve metrics of Wardian")));
    }
    Ok(sample)
}
