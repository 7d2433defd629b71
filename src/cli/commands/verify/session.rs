//! Executes a recorded session again, cell by cell.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use crate::assembly::{OwnBlobs, Runtime};
use crate::cli::commands::verify::found_files::FoundFiles;
use crate::cli::commands::verify::repetition::{PATIENCE, mounts_of, not_repeated, start};
use crate::cli::commands::verify::verdict::RunVerdict;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{block_on_until_interrupted, on_its_own};
use crate::cli::verify_args::VerifyArgs;
use wardian_config::Config;
use wardian_formats::protocol::methods::execution::RequestedLimits;
use wardian_formats::provenance::{
    CellRun, Difference, DocumentSkill, MAX_DOCUMENT, ProvenanceError, SessionDocument,
};
use wardian_service::{
    Caller, ForkOrder, ForkView, LocalCell, LocalCellLimits, NewSessionOrder, ServiceError,
    SessionSeedInputs, SessionSeedParam,
};
use wardian_vocabulary::ids::{Digest, SessionId};
use wardian_vocabulary::units::ByteCount;

/// The record of a session that is in a file; `None` if something else is in it.
pub(super) fn session_in(path: &Path) -> Result<Option<Vec<u8>>, Failed> {
    let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
    let mut text = Vec::new();
    let file = File::open(path).map_err(|fault| named(&fault))?;
    let most = MAX_DOCUMENT.as_u64().saturating_add(1);
    file.take(most).read_to_end(&mut text).map_err(|fault| named(&fault))?;
    Ok(SessionDocument::is_in(&text).then_some(text))
}

/// Executes the cells of a recorded session, or compares it with another one.
pub(super) fn verify_session(
    config: &Config,
    args: &VerifyArgs,
    text: &[u8],
) -> Result<Exit, Failed> {
    let named = |fault: ProvenanceError| Failed::named(args.file.display(), &fault);
    if args.key.is_some() {
        return Err(named(ProvenanceError::Signature("the record of a session has none")));
    }
    let (recorded, digest) = (SessionDocument::read(text).map_err(named)?, Digest::of(text));
    if let Some(against) = &args.against {
        let other = session_in(against)?.ok_or_else(|| {
            Failed::usage(format!("{}: is not the record of a session", against.display()))
        })?;
        let other = SessionDocument::read(&other)
            .map_err(|fault| Failed::named(against.display(), &fault))?;
        let differences = compared(&recorded, &other)?;
        return Ok(RunVerdict::of(digest, differences).print(args.json, ["first", "second"]));
    }
    let mut files = FoundFiles::below(&args.blobs)?;
    files.extend(FoundFiles::beside(&args.file));
    block_on_until_interrupted(Box::pin(async {
        let differences = Box::pin(repeated(config, &recorded, &files)).await?;
        Ok(RunVerdict::of(digest, differences).print(args.json, ["recorded", "now"]))
    }))
}

/// The first difference of two records, and the others of its cell.
fn compared(one: &SessionDocument, other: &SessionDocument) -> Result<Vec<Difference>, Failed> {
    if let Some(found) = one.inputs.difference(&other.inputs)? {
        return Ok(vec![found.difference]);
    }
    let (mut cells, mut others) = (one.kept(), other.kept());
    loop {
        match (cells.next(), others.next()) {
            (None, None) => return Ok(Vec::new()),
            (Some((number, source, run)), Some((_, other_source, other_run))) => {
                let mut found = Vec::new();
                if source.sha256 != other_source.sha256 {
                    found.push(of_member("source", source.text.clone(), other_source.text.clone()));
                }
                found.extend(run.inputs.differences(&other_run.inputs)?);
                found.extend(run.ending.differences(&other_run.ending)?);
                if !found.is_empty() {
                    return Ok(found.into_iter().map(|one| in_cell(number, one)).collect());
                }
            }
            (Some((number, ..)), None) | (None, Some((number, ..))) => {
                let of_one = one.kept().any(|(own, ..)| own == number);
                let side = |has: bool| has.then(|| "executed".to_owned());
                let (recorded, found) = (side(of_one), side(!of_one));
                return Ok(vec![in_cell(number, of_member("state", recorded, found))]);
            }
        }
    }
}

/// Executes the cells that were kept, up to the first one that differs. Returns its differences.
async fn repeated(
    config: &Config,
    recorded: &SessionDocument,
    files: &FoundFiles,
) -> Result<Vec<Difference>, Failed> {
    // All contents are found before anything is started.
    let mut cells = Vec::new();
    for (number, source, run) in recorded.kept() {
        cells.push((number, files.text("program", source)?, run));
    }
    let mut room = 0_u64;
    for blob in &recorded.inputs.blobs {
        files.of_blob(blob)?;
        room = room.saturating_add(blob.size_bytes);
    }
    let folder = TempDir::new().map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let config = on_its_own(config.clone(), &folder);
    let runtime = start(&config).await?;
    let ended = match runtime.with_own_blobs(ByteCount::bytes(room)) {
        Ok(place) => Box::pin(execute(&runtime, &place, recorded, &cells, files)).await,
        Err(fault) => Err(fault.into()),
    };
    runtime.shut_down(Duration::ZERO).await;
    ended
}

async fn execute(
    runtime: &Runtime,
    place: &OwnBlobs,
    recorded: &SessionDocument,
    cells: &[(u32, String, &CellRun)],
    files: &FoundFiles,
) -> Result<Vec<Difference>, Failed> {
    place.open_sessions().await?;
    for blob in &recorded.inputs.blobs {
        files.store(&place.blobs, blob)?;
    }
    let caller = Caller::local("verification");
    let mut id = begin(place, &caller, recorded).await?;
    for (number, source, run) in cells {
        if run.inputs.reseeds {
            id = fork(place, &caller, &id, run.inputs.seed).await?;
        }
        let limits = recorded.inputs.limits_of(run);
        let cell = LocalCell {
            limits: LocalCellLimits::Recorded(limits, PATIENCE),
            keep_files: Some(run.inputs.keep_files.clone()),
            strict_output: run.inputs.strict_output,
            shows_value: run.inputs.shows_value,
            expected: Some(Box::new(recorded.inputs.clone())),
            tools: Some(run.inputs.tools.clone().unwrap_or_default()),
            ..LocalCell::new(source.clone())
        };
        let ended = place.service.run_local_cell(&caller, &id, cell).await;
        let ended = ended.map_err(not_repeated)?;
        if let Some(sentence) = ended.difference {
            // It explains what follows from it.
            return Ok(vec![in_cell(*number, Difference::in_tools(sentence))]);
        }
        if let Some(why) = ended.unrepeatable {
            let why = format!("cell {number} of the session cannot be compared here: {why}");
            return Err(Failed::because(why));
        }
        let differences = match &ended.run {
            Some(now) => run.ending.differences(&now.ending)?,
            None => {
                let state = ended.result.session.as_ref();
                let reason = state.and_then(|state| state.reason.clone()).unwrap_or_default();
                let found = Some(format!("rolled back: {reason}"));
                vec![of_member("state", Some("kept".to_owned()), found)]
            }
        };
        if !differences.is_empty() {
            return Ok(differences.into_iter().map(|one| in_cell(*number, one)).collect());
        }
    }
    runtime.warn_of_missing_walls();
    Ok(Vec::new())
}

/// Begins the session.
async fn begin(
    place: &OwnBlobs,
    caller: &Caller,
    recorded: &SessionDocument,
) -> Result<SessionId, Failed> {
    let inputs = &recorded.inputs;
    let seed = recorded.kept().next().map_or(0, |(_, _, run)| run.inputs.seed);
    let epoch = inputs.epoch;
    let named = |skill: &DocumentSkill| format!("{}@{}", skill.name, skill.version);
    let order = NewSessionOrder {
        mount_skills: inputs.skills.iter().map(named).collect(),
        input_blobs: inputs.blobs.iter().flat_map(mounts_of).collect(),
        limits: RequestedLimits {
            memory_bytes: Some(inputs.memory_bytes),
            workspace_bytes: Some(inputs.workspace_bytes),
            ..RequestedLimits::default()
        },
        reproducible: Some(SessionSeedParam::Inputs(SessionSeedInputs { seed, epoch })),
        ..NewSessionOrder::default()
    };
    let begun = place.service.begin_local_session(caller, order).await;
    begun.map_err(|error| match error {
        // All that is asked for besides names are limits.
        ServiceError::Params(_) => not_repeated(ServiceError::LimitsOfRecord),
        error => not_repeated(error),
    })
}

/// Goes on with a fork that has a seed of its own.
async fn fork(
    place: &OwnBlobs,
    caller: &Caller,
    id: &SessionId,
    seed: u64,
) -> Result<SessionId, Failed> {
    let order = ForkOrder { seed: Some(seed), ..ForkOrder::default() };
    let made = place.service.discovery().sessions().fork(caller, id.as_str(), &order).await?;
    match made.forks.into_iter().next() {
        Some(ForkView::Made(fork)) => Ok(fork.id),
        Some(ForkView::Refused { error }) => Err(Failed::because(error)),
        None => Err(Failed::because("the session was not forked")),
    }
}

fn of_member(what: &str, recorded: Option<String>, found: Option<String>) -> Difference {
    Difference { what: what.to_owned(), recorded, found }
}

/// A difference of a cell, with a name that people know.
fn in_cell(number: u32, difference: Difference) -> Difference {
    let what = match difference.what.as_str() {
        "state_digest" => "memory and files (state_digest)",
        "memory_bytes" => "size of memory",
        other => other,
    };
    Difference { what: format!("cell {number}: {what}"), ..difference }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_its_cell_and_what_differs() {
        let named = |what: &str| in_cell(3, of_member(what, None, None)).what;
        assert_eq!(named("fuel"), "cell 3: fuel");
        assert_eq!(named("state_digest"), "cell 3: memory and files (state_digest)");
    }
}
