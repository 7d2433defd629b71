//! `wardian runs list`: the runs of a tenant, or of all tenants.

use serde::Serialize;

use crate::cli::commands::runs::shown::row;
use crate::cli::commands::runs::source::{RecordSource, RunChoice};
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{print_json, print_line, print_table};
use wardian_formats::skill::similar::listed;
use wardian_stores::records::RunSummary;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::TenantId;

/// Reads pages until there are enough runs, or no more.
async fn list(
    source: &RecordSource,
    choice: &RunChoice,
    limit: usize,
) -> Result<Vec<RunSummary>, Failed> {
    let (mut runs, mut cursor): (Vec<RunSummary>, _) = (Vec::new(), None);
    while runs.len() < limit {
        let page = source.page(choice, cursor.as_ref(), limit.saturating_sub(runs.len())).await?;
        runs.extend(page.runs);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    runs.truncate(limit);
    Ok(runs)
}

/// Lists the runs of the source's tenant. If it has none, names tenants that do, as far as the
/// caller may know.
pub(super) async fn list_of_one(
    source: &RecordSource,
    choice: &RunChoice,
    limit: usize,
    as_json: bool,
) -> Result<(), Failed> {
    let runs = list(source, choice, limit).await?;
    if as_json || !runs.is_empty() {
        print_list(&runs, as_json);
        return Ok(());
    }
    let tenant = source.tenant()?;
    let mut others = source.tenants(SHOWN_TENANTS.saturating_add(1)).await?;
    others.retain(|other| *other != tenant);
    others.truncate(SHOWN_TENANTS);
    let shown: Vec<&str> = others.iter().map(TenantId::as_str).collect();
    print_line(&match shown.as_slice() {
        [one] => {
            format!("tenant `{tenant}` has no such runs; tenant `{one}` does: `--tenant {one}`")
        }
        [first, ..] => format!(
            "tenant `{tenant}` has no such runs; tenants {} do: `--tenant {first}`, or \
            `--all-tenants`",
            listed(&shown, "and")
        ),
        _ => "there are no such runs".to_owned(),
    });
    Ok(())
}

/// Maximum number of tenants that are named when another one has no runs.
const SHOWN_TENANTS: usize = 5;

/// Maximum number of tenants whose runs are listed together.
const ALL_TENANTS: usize = 10_000;

/// A run with its tenant.
#[derive(Serialize)]
pub(super) struct TenantRun {
    tenant: String,
    #[serde(flatten)]
    run: RunSummary,
}

/// The runs of all tenants, the newest first.
pub(super) async fn list_of_all(
    source: &RecordSource,
    choice: &RunChoice,
    limit: usize,
) -> Result<Vec<TenantRun>, Failed> {
    if source.is_server() {
        // The server merges the tenants itself, and says whose each run is.
        let of_all = list(source, choice, limit).await?.into_iter();
        return Ok(of_all
            .map(|mut run| TenantRun { tenant: run.tenant.take().unwrap_or_default(), run })
            .collect());
    }
    let mut runs = Vec::new();
    for tenant in source.tenants(ALL_TENANTS).await? {
        let Some(of_tenant) = source.of_tenant(&tenant) else { break };
        let of_tenant = list(&of_tenant, choice, limit).await?;
        runs.extend(of_tenant.into_iter().map(|run| TenantRun { tenant: tenant.to_string(), run }));
        runs.sort_unstable_by(|one, other| other.run.run_id.cmp(&one.run.run_id));
        runs.truncate(limit);
    }
    Ok(runs)
}

pub(super) fn print_all(runs: &[TenantRun], as_json: bool) {
    if as_json {
        print_json(&runs);
    } else if runs.is_empty() {
        print_line("there are no such runs");
    } else {
        let now = Clock::System.now();
        let columns = ["tenant", "run", "started", "program", "outcome", "time", "log", "title"];
        let rows =
            runs.iter().map(|found| [vec![found.tenant.clone()], row(&found.run, now)].concat());
        print_table(&columns, rows.collect());
    }
}

fn print_list(runs: &[RunSummary], as_json: bool) {
    if as_json {
        print_json(&runs);
    } else if runs.is_empty() {
        print_line("there are no such runs");
    } else {
        let now = Clock::System.now();
        let columns = ["run", "started", "program", "outcome", "time", "log", "title"];
        print_table(&columns, runs.iter().map(|run| row(run, now)).collect());
    }
}
