//! Runs in progress on a running server: the list of them, the wait for one, and its cancellation.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cli::commands::blobs::{Remote, remote_of};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::server_option::ServerOption;
use crate::cli::terminal::json_layout::laid_out;
use crate::cli::terminal::output::{note, print_error, print_json, print_line, print_table, shown};
use crate::cli::terminal::readable::age;
use wardian_formats::protocol::methods::execution::RunProgress;
use wardian_service::{ActiveRunList, ActiveRunView, CancelledRun, ProgressReport};
use wardian_stores::records::RecordedError;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::RunId;

/// The time for which one request waits for the end of a run, in milliseconds. In between, the
/// progress of the run is reported.
const WAIT_MS: u64 = 2_000;

/// An answer that comes sooner was not waited for: as many requests of the tenant wait as may.
const AT_ONCE: Duration = Duration::from_millis(500);

/// The pause before the next request then.
const PAUSE: Duration = Duration::from_secs(1);

/// The answer of a server about one run.
#[derive(Deserialize)]
struct AskedRun {
    status: RunProgress,
    outcome: Option<String>,
    error: Option<RecordedError>,
    progress: Option<ProgressReport>,
    result: Option<KeptResult>,
}

/// The parts of a result that are printed.
#[derive(Deserialize)]
struct KeptResult {
    output: Option<Box<RawValue>>,
    error: Option<RecordedError>,
}

/// The server that the command names.
fn server(at: &ServerOption, api_key: Option<&str>) -> Result<Remote, Failed> {
    remote_of(at, api_key)?.ok_or_else(|| {
        Failed::usage(
            "only a running server knows the runs in progress: give its address with \
            `--server`",
        )
    })
}

/// Lists the runs in progress.
pub(super) fn list_active(
    at: &ServerOption,
    api_key: Option<&str>,
    as_json: bool,
) -> Result<(), Failed> {
    let list: ActiveRunList = server(at, api_key)?.find_json("/v1/runs/active")?;
    if as_json {
        print_json(&list.runs);
    } else if list.runs.is_empty() {
        print_line("no runs are in progress");
    } else {
        let columns = ["run", "asked for", "program", "status", "progress"];
        print_table(&columns, list.runs.iter().map(row).collect());
    }
    Ok(())
}

fn row(run: &ActiveRunView) -> Vec<String> {
    let started = Clock::System.now().saturating_sub(Duration::from_millis(run.started_ms));
    let program = match (&run.skill, &run.version) {
        (Some(skill), Some(version)) => format!("{skill}@{version}"),
        _ => run.kind.name().to_owned(),
    };
    let progress = run.progress.as_ref().map(in_words).unwrap_or_default();
    vec![run.run_id.to_string(), age(started), program, name_of(run.status).to_owned(), progress]
}

/// Waits for the end of a run, tells how far it is, and prints its result.
pub(super) fn wait(
    at: &ServerOption,
    api_key: Option<&str>,
    id: &RunId,
    as_json: bool,
) -> Result<Exit, Failed> {
    let server = server(at, api_key)?;
    let (mut told, mut wait_ms) = (String::new(), 0);
    loop {
        let asked_at = Instant::now();
        let text = server.find_text(&format!("/v1/runs/{id}?wait_ms={wait_ms}"))?;
        let malformed = |fault: serde_json::Error| Failed::at("read the answer", &fault);
        let asked: AskedRun = serde_json::from_str(&text).map_err(malformed)?;
        if asked.status == RunProgress::Ended {
            if as_json {
                let all: serde_json::Value = serde_json::from_str(&text).map_err(malformed)?;
                print_json(&all);
            }
            return Ok(end(&asked, as_json));
        }
        let progress = asked.progress.as_ref().map(in_words).unwrap_or_default();
        let now = format!("{} {progress}", name_of(asked.status));
        if now != told {
            note(now.trim_end());
            told = now;
        }
        if wait_ms > 0 && asked_at.elapsed() < AT_ONCE {
            pause(PAUSE);
        }
        wait_ms = WAIT_MS;
    }
}

/// Waits on a channel on which nothing comes.
fn pause(time: Duration) {
    let (_sender, never) = mpsc::channel::<()>();
    never.recv_timeout(time).ok();
}

/// Prints the end of a run, unless it was printed as JSON.
fn end(run: &AskedRun, is_printed: bool) -> Exit {
    let is_completed = run.outcome.as_deref() == Some("completed");
    let exit = if is_completed { Exit::Done } else { Exit::GuestFailed };
    if is_printed {
        return exit;
    }
    let result = run.result.as_ref();
    if let Some(output) = result.and_then(|result| result.output.as_ref()) {
        print_line(&laid_out(output.get()));
    }
    let error = result.and_then(|result| result.error.as_ref()).or(run.error.as_ref());
    if let Some(error) = error {
        if let Some(traceback) = &error.traceback {
            print_error(&format!("{}\n", traceback.trim_end()));
        }
        let outcome = shown(run.outcome.as_deref().unwrap_or("failed"));
        note(&format!("{outcome}: {}: {}", shown(&error.error_type), shown(&error.message)));
    }
    exit
}

/// Cancels a run, and says how it ended.
pub(super) fn cancel(at: &ServerOption, api_key: Option<&str>, id: &RunId) -> Result<(), Failed> {
    let cancelled: CancelledRun = server(at, api_key)?.post(&format!("/v1/runs/{id}/cancel"))?;
    let outcome = cancelled.outcome.as_deref();
    print_line(&match (cancelled.status, outcome) {
        (RunProgress::Ended, Some("cancelled")) => format!("run `{id}` is cancelled"),
        (RunProgress::Ended, Some(outcome)) => {
            format!("run `{id}` had already ended: {}", shown(outcome))
        }
        (RunProgress::Ended, None) => format!("run `{id}` has ended"),
        (RunProgress::Queued | RunProgress::Running, _) => format!("run `{id}` is being stopped"),
    });
    Ok(())
}

const fn name_of(status: RunProgress) -> &'static str {
    match status {
        RunProgress::Queued => "queued",
        RunProgress::Running => "running",
        RunProgress::Ended => "ended",
    }
}

fn in_words(progress: &ProgressReport) -> String {
    let done = match progress.total {
        Some(total) => format!("{} of {total}", progress.done),
        None => progress.done.to_string(),
    };
    shown(format!("{done} {}", progress.message).trim_end())
}
