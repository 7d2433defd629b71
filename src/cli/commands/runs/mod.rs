//! `wardian runs`: records of runs in the data folder of this machine, or of a running server, and
//! the runs in progress on a server.

mod control;
mod list;
mod shown;
mod source;

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::cli::commands::runs::list::{list_of_all, list_of_one, print_all};
use crate::cli::commands::runs::shown::lines;
use crate::cli::commands::runs::source::{RecordSource, RunChoice, Whose};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::block_on;
use crate::cli::run_args::{ListArgs, RunsCommand};
use crate::cli::terminal::output::{print_bytes, print_json, print_line};
use wardian_config::{Config, parse_duration};
use wardian_stores::records::{RunOutcomeKind, RunRecord};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{RunId, SkillName};

/// Executes a command on runs. `api_key` is for a server.
pub(crate) fn runs(
    config: &Config,
    command: &RunsCommand,
    api_key: Option<&str>,
) -> Result<Exit, Failed> {
    block_on(async {
        match command {
            RunsCommand::List(args) => list(config, args, api_key).await?,
            RunsCommand::Show { id, json, of } => {
                let id = RunId::parse(id)?;
                let source = RecordSource::open(config, of, api_key).await?;
                let found = source.record(&id).await;
                source.close().await;
                print_record(&found?, *json)?;
            }
            RunsCommand::Document { id, output, of } => {
                let id = RunId::parse(id)?;
                let source = RecordSource::open(config, of, api_key).await?;
                let found = source.document(&id).await;
                source.close().await;
                write_document(&found?, output.as_deref())?;
            }
            RunsCommand::Active { json, at } => control::list_active(at, api_key, *json)?,
            RunsCommand::Wait { id, json, at } => {
                return control::wait(at, api_key, &RunId::parse(id)?, *json);
            }
            RunsCommand::Cancel { id, at } => control::cancel(at, api_key, &RunId::parse(id)?)?,
            RunsCommand::Logs { id, json, of } => {
                let id = RunId::parse(id)?;
                let source = RecordSource::open(config, of, api_key).await?;
                let found = source.log(&id).await;
                source.close().await;
                let pieces = found?;
                if *json {
                    print_json(&pieces);
                } else {
                    let text: String = pieces.into_iter().map(|piece| piece.text).collect();
                    print_bytes(text.as_bytes());
                }
            }
        }
        Ok(Exit::Done)
    })
}

/// Lists runs of a tenant, or of all.
async fn list(config: &Config, args: &ListArgs, api_key: Option<&str>) -> Result<(), Failed> {
    let choice = RunChoice {
        outcome: args.outcome.as_deref().map(outcome_named).transpose()?,
        skill: args.skill.as_deref().map(SkillName::parse).transpose()?,
        since_ms: args.since.as_deref().map(start_of).transpose()?,
        search: args.search.clone(),
    };
    let whose = Whose::of(args.tenant.as_deref(), args.all_tenants)?;
    let source = RecordSource::open_list(config, &args.at, whose, api_key).await?;
    let listed = if args.all_tenants {
        list_of_all(&source, &choice, args.limit).await.map(|runs| print_all(&runs, args.json))
    } else {
        list_of_one(&source, &choice, args.limit, args.json).await
    };
    source.close().await;
    listed
}

fn outcome_named(name: &str) -> Result<RunOutcomeKind, Failed> {
    RunOutcomeKind::of_name(name).ok_or_else(|| {
        let names = RunOutcomeKind::ALL.map(RunOutcomeKind::name).join(", ");
        Failed::usage(format!("`--outcome` must be one of {names}"))
    })
}

/// The time that was so long ago, in milliseconds since the Unix epoch.
fn start_of(text: &str) -> Result<u64, Failed> {
    let time = parse_duration(text).map_err(|fault| {
        Failed::usage(format!("`--since` {fault}; such as `30min`, `2h` or `7d`"))
    })?;
    let start = Clock::System.now().saturating_sub(time).as_millis();
    Ok(u64::try_from(start).unwrap_or(u64::MAX))
}

/// Writes a document unchanged, since its digest names it.
fn write_document(text: &str, output: Option<&Path>) -> Result<(), Failed> {
    match output {
        None => print_bytes(text.as_bytes()),
        Some(path) => {
            fs::write(path, text).map_err(|fault| Failed::named(path.display(), &fault))?;
        }
    }
    Ok(())
}

fn print_record(text: &str, as_json: bool) -> Result<(), Failed> {
    let malformed = |fault: serde_json::Error| Failed::at("read the record", &fault);
    if as_json {
        let record: serde_json::Value = serde_json::from_str(text).map_err(malformed)?;
        print_json(&record);
    } else {
        let record: RunRecord = serde_json::from_str(text).map_err(malformed)?;
        let now = Clock::System.now();
        let started = now.saturating_sub(Duration::from_millis(record.started_ms));
        lines(&record, started).iter().for_each(|line| print_line(line));
    }
    Ok(())
}
