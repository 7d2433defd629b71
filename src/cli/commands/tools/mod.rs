//! `wardian tools`: what the servers of tools in the configuration offer, and calls of it, as runs would see them.

pub(crate) mod args;

use std::time::{Duration, Instant};

use serde_json::json;
use serde_json::value::RawValue;

use crate::assembly::open_tools;
use crate::cli::commands::tools::args::ToolsCommand;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::block_on_until_interrupted;
use crate::cli::terminal::output::{note, print_json, print_line, print_table, shown};
use wardian_config::Config;
use wardian_tools::{OfferedTools, RunTools, ToolApproval, ToolCallOrder, ToolError, ToolGrants};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::TenantId;

/// Servers have bounds of their own below this.
const LONGEST: Duration = Duration::from_hours(2);

/// Longest description in a table, in characters.
const MAX_SHOWN: usize = 80;

/// Executes the command.
pub(crate) fn tools(config: &Config, command: ToolsCommand) -> Result<Exit, Failed> {
    block_on_until_interrupted(Box::pin(async {
        match command {
            ToolsCommand::List { tenant, json } => {
                let tools = open(config, tenant.as_deref())?;
                Ok(list(&tools, json).await)
            }
            ToolsCommand::Call { tool, arguments, tenant, approve } => {
                let tools = open(config, tenant.as_deref())?;
                Box::pin(call(&tools, &tool, arguments, approve)).await
            }
        }
    }))
}

fn open(config: &Config, tenant: Option<&str>) -> Result<RunTools, Failed> {
    let tenant = tenant.map_or_else(|| Ok(TenantId::local()), TenantId::parse);
    let tenant = tenant.map_err(|invalid| Failed::usage(invalid.to_string()))?;
    Ok(open_tools(config)?.open(tenant, ToolGrants::Operator))
}

fn deadline() -> Instant {
    let now = Instant::now();
    now.checked_add(LONGEST).unwrap_or(now)
}

async fn list(tools: &RunTools, as_json: bool) -> Exit {
    let offered = Box::pin(tools.offered(deadline(), &CallMemory::unlimited())).await;
    if as_json {
        print_json(&as_value(&offered));
    } else {
        print_all(&offered);
    }
    if offered.unavailable.is_empty() { Exit::Done } else { Exit::OurFault }
}

fn as_value(offered: &OfferedTools) -> serde_json::Value {
    let tools = offered.tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "output_schema": tool.output_schema,
            "needs_approval": tool.needs_approval,
            "sha256": tool.digest,
        })
    });
    let unavailable = offered.unavailable.iter();
    let unavailable = unavailable.map(|(server, fault)| json!({"server": server, "fault": fault}));
    json!({
        "tools": tools.collect::<Vec<_>>(),
        "unavailable": unavailable.collect::<Vec<_>>(),
    })
}

fn print_all(offered: &OfferedTools) {
    let rows = offered.tools.iter().map(|tool| {
        let first = tool.description.lines().next().unwrap_or_default();
        let first: String = shown(first).chars().take(MAX_SHOWN).collect();
        let approval = if tool.needs_approval { "yes" } else { "" };
        vec![tool.name.clone(), approval.to_owned(), first]
    });
    if offered.tools.is_empty() {
        print_line("no server offers a tool");
    } else {
        print_table(&["name", "needs approval", "description"], rows.collect());
    }
    for (server, fault) in &offered.unavailable {
        note(&format!("`{server}` lists no tools: {}", shown(fault)));
    }
}

async fn call(
    tools: &RunTools,
    tool: &str,
    arguments: String,
    is_approved: bool,
) -> Result<Exit, Failed> {
    let arguments = RawValue::from_string(arguments);
    let arguments =
        arguments.map_err(|error| Failed::usage(format!("the arguments are no JSON: {error}")))?;
    let approval = is_approved.then(|| ToolApproval::new(tool, &arguments));
    let order = ToolCallOrder {
        tool,
        arguments: &arguments,
        listed: None,
        approval: approval.as_ref(),
        deadline: deadline(),
    };
    match Box::pin(tools.call(order, &CallMemory::unlimited())).await {
        Ok(answer) => {
            print_line(answer.value.get());
            Ok(if answer.is_error { Exit::GuestFailed } else { Exit::Done })
        }
        Err(error @ (ToolError::Unknown { .. } | ToolError::Arguments { .. })) => {
            Err(Failed::usage(error.to_string()))
        }
        Err(error @ ToolError::NeedsApproval { .. }) => {
            Err(Failed::usage(format!("{error}: add `--approve`")))
        }
        Err(error) => Err(Failed::because(error.for_operator())),
    }
}
