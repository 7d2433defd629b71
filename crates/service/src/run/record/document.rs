//! Makes the document of a reproducible run, and compares the inputs of a repetition with those of
//! the record before it begins.
//!
//! INVARIANT(same-inputs-or-nothing): a repetition begins only if everything that decides it is what
//! the record names.

use crate::error::ServiceError;
use wardian_dispatch::Job;
use wardian_formats::job::outcome::Logs;
use wardian_formats::job::{BlobMount, LayerMount, Program, SkillMount};
use wardian_formats::protocol::methods::execution::{FileResult, RunError, RunResult, RunStatus};
use wardian_formats::provenance::canonical::MAX_INTEGER;
use wardian_formats::provenance::{
    Difference, DocumentBlob, DocumentError, DocumentFile, DocumentLayer, DocumentLimits,
    DocumentLog, DocumentProgram, DocumentSkill, DocumentStatus, DocumentText, OtherInputs,
    RunDocument, RunEnding, RunInputs, Toolchain,
};

/// The order for the document of a run.
#[derive(Debug, Default)]
pub(crate) struct DocumentOrder {
    /// The inputs that the run must have.
    pub expected: Option<Box<RunInputs>>,
    /// The network record that answers the run.
    pub network: Option<DocumentBlob>,
}

/// The inputs of a run that is about to begin; none if no document is wanted.
pub(crate) fn inputs_of(
    order: Option<&DocumentOrder>,
    job: &Job,
    toolchain: &Toolchain,
) -> Result<Option<Box<RunInputs>>, ServiceError> {
    let (setup, turn) = (&*job.guest.setup, &*job.turn);
    let (Some(order), Some(reproducible)) = (order, setup.reproducible) else { return Ok(None) };
    let program = match &turn.program {
        Program::Code { source, file_name } => {
            DocumentProgram::Code { file_name: file_name.clone(), source: DocumentText::of(source) }
        }
        Program::Skill { name, script } => {
            DocumentProgram::Skill { name: name.clone(), script: script.clone() }
        }
    };
    let skills = setup.skills.iter().map(skill_of);
    let layers = setup.layers.iter().map(layer_of);
    let blobs = setup.blobs.iter().map(blob_of);
    let (lasting, limits) = (&setup.limits, &turn.limits);
    let inputs = RunInputs {
        engine: toolchain.engine,
        image: setup.image,
        program,
        entrypoint: turn.entrypoint.clone(),
        arguments: DocumentText::of(turn.args.get()),
        skills: skills.collect(),
        layers: layers.collect(),
        blobs: blobs.collect(),
        keep_files: turn.keep_files.clone(),
        strict_output: turn.strict_output,
        limits: DocumentLimits {
            // More than that nobody can use up.
            fuel: limits.fuel.map(|fuel| fuel.0).filter(|fuel| *fuel <= MAX_INTEGER),
            memory_bytes: lasting.memory.as_u64().min(MAX_INTEGER),
            workspace_bytes: lasting.workspace.as_u64().min(MAX_INTEGER),
            workspace_entries: lasting.workspace_entries,
            open_files: lasting.open_files,
            logs_bytes: limits.logs.as_u64().min(MAX_INTEGER),
            host_calls: limits.host_calls,
            host_bytes: limits.host_bytes.as_u64().min(MAX_INTEGER),
        },
        seed: reproducible.seed,
        epoch: reproducible.epoch.as_secs(),
        fuel_rules: reproducible.fuel_rules,
        network: order.network.clone(),
    };
    if let Some(expected) = &order.expected {
        let mut differences = expected.differences(&inputs)?;
        let is_of_machine = expected.is_for_other_machine(&inputs);
        // A difference of the machine comes first: nothing else can be helped then.
        let of_machine = |one: &Difference| {
            ["engine", "image", "layers"].iter().any(|part| one.what.starts_with(part))
        };
        let first = differences.iter().position(|one| is_of_machine && of_machine(one));
        if !differences.is_empty() {
            let difference = differences.swap_remove(first.unwrap_or(0));
            return Err(ServiceError::OtherInputs(OtherInputs { difference, is_of_machine }));
        }
    }
    Ok(Some(Box::new(inputs)))
}

/// The document of a run that is over.
pub(crate) fn document_of(
    toolchain: &Toolchain,
    inputs: RunInputs,
    result: &RunResult,
    logs: &Logs,
) -> RunDocument {
    let ending = RunEnding {
        status: status_of(result.status),
        summary: result.summary.clone(),
        output: result.output.as_ref().map(|output| output.get().to_owned()),
        output_truncated: result.output_truncated,
        error: result.error.as_ref().map(error_of),
        log: DocumentLog::of(&logs.chunks, logs.dropped),
        output_blobs: result.output_blobs.clone(),
        files: result.files.iter().map(file_of).collect(),
        files_total: result.files_total,
        fuel: result.fuel.map(|fuel| fuel.min(MAX_INTEGER)),
        memory_peak_bytes: result.memory_peak_bytes,
    };
    RunDocument::new(toolchain.made_by.clone(), inputs, ending)
}

pub(crate) const fn status_of(status: RunStatus) -> DocumentStatus {
    match status {
        RunStatus::Completed => DocumentStatus::Completed,
        // Cells that wait leave no documents, and other runs wait for nobody.
        RunStatus::Failed | RunStatus::Waiting => DocumentStatus::Failed,
    }
}

pub(crate) fn error_of(error: &RunError) -> DocumentError {
    let RunError { error_type, message, traceback } = error.clone();
    DocumentError { error_type, message, traceback }
}

pub(crate) fn skill_of(mount: &SkillMount) -> DocumentSkill {
    let (name, version) = (mount.name.clone(), mount.version.clone());
    DocumentSkill { name, version, digest: mount.digest }
}

pub(crate) const fn layer_of(mount: &LayerMount) -> DocumentLayer {
    DocumentLayer { digest: mount.digest, place: mount.place }
}

pub(crate) fn blob_of(mount: &BlobMount) -> DocumentBlob {
    DocumentBlob {
        id: mount.id.clone(),
        kind: mount.kind.clone(),
        size_bytes: mount.size.as_u64(),
        name: mount.name.clone(),
        other_names: mount.other_names.clone(),
        paths: mount.paths.clone(),
    }
}

pub(crate) fn file_of(file: &FileResult) -> DocumentFile {
    DocumentFile {
        path: file.path.clone(),
        size_bytes: file.size_bytes,
        blob_id: file.blob_id.clone(),
        kind: file.kind.clone(),
        not_kept: file.not_kept.clone(),
    }
}
