//! `--code-mode`: the servers of tools behind the two tools that a client gets.

use std::collections::BTreeMap;

use crate::cli::commands::mcp::args::McpArgs;
use crate::cli::commands::mcp::upstreams::Upstreams;
use crate::cli::failed::Failed;
use wardian_config::{Config, Surroundings};
use wardian_edges::mcp::CodeMode;
use wardian_formats::skill::manifest::tool_pattern::{ToolGlob, ToolPattern};
use wardian_tools::config::ToolServerConfig;
use wardian_vocabulary::ids::TenantId;

/// Adds the servers that the options name to those of the configuration, and lets code use what they offer: whoever
/// starts this command is the operator.
pub(super) fn code_mode(
    config: &mut Config,
    args: &McpArgs,
    surroundings: &Surroundings,
) -> Result<CodeMode, Failed> {
    if !config.sessions.is_enabled {
        return Err(Failed::usage(
            "`--code-mode` needs sessions, in which programs wait for tools: set `sessions.enabled`",
        ));
    }
    let mut upstreams = Upstreams::beside(&mut config.tools.servers, surroundings);
    if let Some(file) = &args.upstreams {
        upstreams.add_file(file)?;
    }
    args.upstream.iter().try_for_each(|option| upstreams.add_option(option))?;
    for pattern in &args.approve {
        approve(&mut config.tools.servers, pattern)?;
    }
    let all = ToolGlob::parse("*").map_err(Failed::usage)?;
    let user = TenantId::local();
    let mut names = Vec::new();
    for (name, server) in &mut config.tools.servers {
        if server.code.is_empty() {
            server.code.push(all.clone());
        }
        if server.tenants.as_ref().is_none_or(|tenants| tenants.contains(&user)) {
            names.push(name.clone());
        }
    }
    if names.is_empty() {
        return Err(Failed::usage(
            "`--code-mode` needs servers of tools: name some with `--upstream NAME=SERVER`, with \
            `--upstreams FILE`, or as `[tools.NAME]` in the configuration",
        ));
    }
    Ok(CodeMode::of(names))
}

/// Approves of the tools that an option names.
fn approve(servers: &mut BTreeMap<String, ToolServerConfig>, option: &str) -> Result<(), Failed> {
    let wrong = |problem: &str| Failed::usage(format!("`--approve {option}` {problem}"));
    ToolPattern::parse(option).map_err(wrong)?;
    let (name, tools) = option.split_once('.').unwrap_or_default();
    let server = servers.get_mut(name);
    let server = server.ok_or_else(|| wrong("names a server that is not there"))?;
    server.approved.push(ToolGlob::parse(tools).map_err(wrong)?);
    Ok(())
}
