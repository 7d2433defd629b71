//! `wardian mcp`: the Model Context Protocol on standard input and output.

pub(crate) mod args;
mod bridge;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use crate::assembly::{MeteredCode, Provision, SkillsRead};
use crate::cli::commands::mcp::args::McpArgs;
use crate::cli::commands::mcp::bridge::Bridge;
use crate::cli::commands::run::{on_its_own, start_once};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{Installer, block_on_until_interrupted};
use crate::config::Config;
use crate::mcp::{StdioLimits, serve_lines};

/// Serves the client that has started this program.
pub(crate) fn mcp(
    config: Config,
    installer: &Installer,
    args: &McpArgs,
    api_key: Option<&str>,
) -> Result<Exit, Failed> {
    if let Some(url) = &args.url {
        let limits = limits_of(&config);
        let bridge = Bridge::to(url, args.key_file.as_deref(), api_key, limits.max_message)?;
        return bridge.serve();
    }
    let limits = limits_of(&config);
    let folder = TempDir::new().map_err(|fault| Failed::at("make a temporary folder", &fault))?;
    let protocol = config.mcp;
    let config = on_its_own(config, &folder);
    block_on_until_interrupted(Box::pin(async {
        installer.ensure_engine(&config, MeteredCode::IfThere).await?;
        let runtime = start_once(&config, MeteredCode::IfThere).await?;
        // A client keeps this program for hours: the images that its runs need are worth making.
        let provision: Arc<dyn Provision> = Arc::new(installer.clone());
        runtime.start_background(&config, &provision, SkillsRead::Once)?;
        let input = io::BufReader::new(io::stdin());
        let service = Arc::clone(&runtime.service);
        let served = serve_lines(service, protocol, limits, input, io::stdout()).await;
        runtime.shut_down(Duration::ZERO).await;
        served.map_err(|fault| Failed::at("read messages", &fault))?;
        Ok(Exit::Done)
    }))
}

const fn limits_of(config: &Config) -> StdioLimits {
    StdioLimits { max_message: config.http.max_body, memory: config.http.memory }
}
