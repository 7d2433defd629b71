//! Executes a recorded run again.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tempfile::TempDir;

use crate::assembly::{MeteredCode, Runtime, install_engine, open_engine};
use crate::cli::commands::verify::found_files::FoundFiles;
use crate::cli::commands::verify::unpacked::UnpackedBundle;
use crate::cli::failed::Failed;
use crate::cli::prepare::{on_its_own, progress, start_once};
use wardian_config::Config;
use wardian_engine::code::instrumentation::Variant;
use wardian_formats::protocol::methods::execution::ReproducibleParam;
use wardian_formats::protocol::methods::input_blob::{BlobAtPath, InputBlob};
use wardian_formats::provenance::{
    Difference, DocumentBlob, DocumentProgram, RunDocument, RunInputs, ensure_arguments,
};
use wardian_images::PackageSet;
use wardian_service::{
    Caller, LocalProgram, LocalRecord, LocalRun, NetworkRecord, RepeatedRun, Service, ServiceError,
};
use wardian_stores::blobs::LocalBlobStore;
use wardian_vocabulary::ids::WorkspacePath;
use wardian_vocabulary::units::ByteCount;

/// Lower bound of a repetition's time limit: this machine may be slower than the one that executed
/// the run.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

/// A run that was executed again.
pub(super) struct Repetition {
    /// Its document; `None` if it was given up, because it asked for something else than the run.
    pub(super) document: Option<Box<RunDocument>>,
    /// The differences between what it asked for and the record.
    pub(super) requests: Vec<Difference>,
}

/// Executes a recorded run again, with the contents among `files`. Nothing is fetched from the
/// network.
pub(super) async fn repeated(
    config: &Config,
    recorded: &RunDocument,
    files: &FoundFiles,
    unpacked: Option<&UnpackedBundle>,
) -> Result<Repetition, Failed> {
    let request = (order(&recorded.inputs, files)?, recorded.inputs.blobs.as_slice());
    let folder = TempDir::new().map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let mut config = on_its_own(config.clone(), &folder);
    if let Some(unpacked) = unpacked {
        config.skills.roots = vec![unpacked.folder("skills")];
        // The document names the files of a bundle by their digests; they are executed for it and served to nobody.
        config.skills.require_signatures = false;
    }
    let runtime = start(&config).await?;
    if let Some(unpacked) = unpacked {
        runtime.add_layers_of_record(unpacked.folder("layers"));
    }
    let ended = match recorded.inputs.tools {
        None => perform(&runtime, (&runtime.service, &runtime.blobs), request, files).await,
        Some(_) => Box::pin(perform_apart(&runtime, request, files)).await,
    };
    runtime.shut_down(Duration::ZERO).await;
    ended
}

/// Starts what repetitions need. Nothing is fetched from the network.
pub(super) async fn start(config: &Config) -> Result<Runtime, Failed> {
    let engine = open_engine(config)?;
    if !engine.is_ready(Variant::Timed)? || !engine.is_ready(Variant::Metered)? {
        return Err(Failed::because(
            "the engine, or its code that counts fuel, is not installed here: `wardian engine \
             install --metered` installs it; nothing was executed",
        ));
    }
    let image = [PackageSet::REPRODUCIBLE];
    install_engine(config, MeteredCode::Wanted, &image, progress().as_ref())?;
    Ok(start_once(config, MeteredCode::Wanted).await?)
}

/// The failure of a repetition that was not begun.
pub(super) fn not_repeated(error: ServiceError) -> Failed {
    match error {
        ServiceError::OtherInputs(other) if other.is_of_machine => {
            Failed::because(format!("the run cannot be repeated here: {other}"))
        }
        ServiceError::OtherInputs(other) => {
            Failed::usage(format!("the run cannot be repeated: {other}"))
        }
        ServiceError::LimitsOfRecord => Failed::because(error.to_string()),
        error => error.into(),
    }
}

/// Performs a run that may wait for answers: with sessions, in a store of their own.
async fn perform_apart(
    runtime: &Runtime,
    request: (LocalRun, &[DocumentBlob]),
    files: &FoundFiles,
) -> Result<Repetition, Failed> {
    let sizes = request.1.iter().map(|blob| blob.size_bytes);
    let place = runtime.with_own_blobs(ByteCount::bytes(sizes.fold(0, u64::saturating_add)))?;
    place.open_sessions().await?;
    perform(runtime, (&place.service, &place.blobs), request, files).await
}

async fn perform(
    runtime: &Runtime,
    (service, store): (&Arc<Service>, &Arc<LocalBlobStore>),
    (request, blobs): (LocalRun, &[DocumentBlob]),
    files: &FoundFiles,
) -> Result<Repetition, Failed> {
    for blob in blobs {
        files.store(store, blob)?;
    }
    let caller = Caller::local("verification");
    let ended = service.run_file(&caller, request).await.map_err(not_repeated)?;
    runtime.warn_of_missing_walls();
    if let Some(sentence) = ended.tools_difference {
        let requests = vec![Difference::in_tools(sentence)];
        return Ok(Repetition { document: None, requests });
    }
    if let Some(why) = ended.unrepeatable {
        return Err(Failed::because(format!("the run cannot be compared here: {why}")));
    }
    let document = ended.document;
    let document = document.ok_or_else(|| Failed::because("the repetition left no document"))?;
    let requests = ended.network_differences.into_iter().map(Difference::in_network).collect();
    Ok(Repetition { document: Some(document), requests })
}

/// The network record of a run, whose id was checked.
fn network(blob: &DocumentBlob, files: &FoundFiles) -> Result<NetworkRecord, Failed> {
    let path = files.of_blob(blob)?;
    let text = fs::read(path).map_err(|fault| Failed::named(path.display(), &fault))?;
    NetworkRecord::read(&text).map_err(|fault| Failed::named(path.display(), &fault))
}

/// A blob as the call has mounted it.
pub(super) fn mounts_of(blob: &DocumentBlob) -> Vec<InputBlob> {
    let id = blob.id.to_string();
    if blob.paths.is_empty() {
        return vec![InputBlob::Id(id)];
    }
    let at = |path: &WorkspacePath| BlobAtPath { blob: id.clone(), path: path.to_string() };
    blob.paths.iter().map(|path| InputBlob::AtPath(at(path))).collect()
}

/// The order for the repetition.
fn order(inputs: &RunInputs, files: &FoundFiles) -> Result<LocalRun, Failed> {
    // All contents are found before anything is started.
    for blob in &inputs.blobs {
        files.of_blob(blob)?;
    }
    let args = files.text("arguments", &inputs.arguments)?;
    ensure_arguments(&args)?;
    let named = |skill: &wardian_formats::provenance::DocumentSkill| {
        format!("{}@{}", skill.name, skill.version)
    };
    let (program, entrypoint, mounted) = match &inputs.program {
        DocumentProgram::Code { file_name, source } => {
            let source = files.text("program", source)?;
            let program = LocalProgram::File { source, file_name: file_name.clone() };
            (program, inputs.entrypoint.clone(), inputs.skills.iter().map(named).collect())
        }
        DocumentProgram::Skill { name, script } => {
            let version = inputs.skills.first().map(|skill| skill.version.to_string());
            let program =
                LocalProgram::Skill { name: name.to_string(), version, script: script.clone() };
            (program, None, inputs.skills.iter().skip(1).map(named).collect())
        }
    };
    Ok(LocalRun {
        entrypoint,
        args: RawValue::from_string(args)
            .map_err(|fault| Failed::at("read the arguments", &fault))?,
        mount_skills: mounted,
        input_blobs: inputs.blobs.iter().flat_map(mounts_of).collect(),
        reproducible: Some(ReproducibleParam::Inputs {
            seed: inputs.seed,
            epoch: inputs.epoch,
            cache: false,
        }),
        record: LocalRecord::Repeats(Box::new(RepeatedRun {
            inputs: inputs.clone(),
            patience: PATIENCE,
            network: inputs.network.as_ref().map(|blob| network(blob, files)).transpose()?,
        })),
        ..LocalRun::new(program)
    })
}
