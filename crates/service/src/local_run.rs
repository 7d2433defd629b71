//! Runs from the command line. They differ from calls in one point: the result has the whole logs.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tracing::warn;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::access::network::NetworkGrant;
use crate::run::access::network_record::{NetworkEnding, NetworkRecord};
use crate::run::access::secrets::DeclaredSecrets;
use crate::run::execute::log_stream::LogListener;
use crate::run::prepare::plan::Planned;
use crate::run::prepare::purpose::{Bytecode, RunPurpose};
use crate::run::record::document::DocumentOrder;
use crate::run::result::answered::Answered;
use crate::service::Service;
use wardian_egress::recorded::Recording;
use wardian_egress::scripted::{NetworkPlayer, NetworkRecorder, NetworkScript};
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::outcome::Logs;
use wardian_formats::job::profile::{ProfileOrder, ProfileText};
use wardian_formats::job::{KeepFiles, Program, ScriptCall};
use wardian_formats::protocol::methods::execution::{
    ReproducibleParam, RequestedLimits, RunResult,
};
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_formats::provenance::canonical::MAX_INTEGER;
use wardian_formats::provenance::{
    DocumentLimits, DocumentTools, RunDocument, RunInputs, Unrepeatable,
};
use wardian_stores::tenants::Right;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::{ByteCount, Fuel};

/// Longest wait of a command for an image of reproducible runs that it makes itself.
const PATIENCE: Duration = Duration::from_secs(300);

/// A program of the local user to run in the sandbox.
#[derive(Debug)]
pub struct LocalRun {
    /// The program.
    pub program: LocalProgram,
    /// Function to call. Default: `main`, or the whole file if it has no `main`. A skill's
    /// manifest names its own.
    pub entrypoint: Option<String>,
    /// Text of a JSON object.
    pub args: Box<RawValue>,
    /// Skills to mount, as `name` or `name@version`.
    pub mount_skills: Vec<String>,
    /// Blobs to mount.
    pub input_blobs: Vec<InputBlob>,
    /// Limits to ask for.
    pub limits: RequestedLimits,
    /// Receives the program's output while it runs; the result has all of it again.
    pub listener: Option<LogListener>,
    /// Whether the run is to be reproducible.
    pub reproducible: Option<ReproducibleParam>,
    /// Whether and how the run is profiled.
    pub profile: Option<ProfileOrder>,
    /// Answers the requests of a skill in place of the world.
    pub recording: Option<Arc<Recording>>,
    /// The files to keep; without it those that are kept by default.
    pub keep_files: Option<KeepFiles>,
    /// Whether the run leaves a document.
    pub record: LocalRecord,
    /// True if values that are no JSON data are not converted.
    pub strict_output: bool,
}

impl LocalRun {
    /// A run of the program as it is, without arguments and with the usual limits.
    #[must_use]
    pub fn new(program: LocalProgram) -> Self {
        Self {
            program,
            entrypoint: None,
            args: RawValue::from_string("{}".to_owned()).unwrap_or_default(),
            mount_skills: Vec::new(),
            input_blobs: Vec::new(),
            limits: RequestedLimits::default(),
            listener: None,
            reproducible: None,
            profile: None,
            recording: None,
            keep_files: None,
            record: LocalRecord::Unwanted,
            strict_output: false,
        }
    }
}

/// Whether a [`LocalRun`] leaves a document.
#[derive(Debug, Default)]
pub enum LocalRecord {
    /// It leaves none.
    #[default]
    Unwanted,
    /// It leaves one; it must be reproducible.
    Wanted,
    /// It leaves one, and reaches the network that it is granted; what it exchanges is recorded.
    WithNetwork,
    /// It leaves one, and repeats a run.
    Repeats(Box<RepeatedRun>),
}

impl LocalRecord {
    /// The tools and the answers of the run that it repeats, if that had some.
    fn tools(&self) -> Option<DocumentTools> {
        match self {
            Self::Repeats(repeated) => repeated.inputs.tools.clone(),
            Self::Unwanted | Self::Wanted | Self::WithNetwork => None,
        }
    }
}

/// A run that is repeated.
#[derive(Debug)]
pub struct RepeatedRun {
    /// Its inputs. The repetition must have the same, or does not begin.
    pub inputs: RunInputs,
    /// How long the repetition may take: the time decides nothing else.
    pub patience: Duration,
    /// The record that answers its requests to the network.
    pub network: Option<NetworkRecord>,
}

/// The program of a [`LocalRun`].
#[derive(Debug)]
pub enum LocalProgram {
    /// A file of Python.
    File {
        /// Its text.
        source: String,
        /// Its name for tracebacks.
        file_name: String,
    },
    /// A skill.
    Skill {
        /// Its name.
        name: String,
        /// Its version; the latest without it.
        version: Option<String>,
        /// The script to run in place of its entrypoint.
        script: Option<Box<ScriptCall>>,
    },
}

impl LocalProgram {
    /// The right that running it needs.
    const fn right(&self) -> Right {
        match self {
            Self::File { .. } => Right::Code,
            Self::Skill { .. } => Right::Execute,
        }
    }
}

/// The end of a [`LocalRun`].
#[derive(Debug)]
pub struct LocalResult {
    /// The result as a call would return it.
    pub result: RunResult,
    /// The program's output and logs, as far as they were kept.
    pub logs: Logs,
    /// The blob that has the output as JSON, if it was too large for the result.
    pub output_blob: Option<BlobId>,
    /// The document of the run, if one was wanted and the run repeats.
    pub document: Option<Box<RunDocument>>,
    /// The reason why it does not repeat.
    pub unrepeatable: Option<Unrepeatable>,
    /// What it exchanged with the network, if that was recorded; the document names it.
    pub network: Option<NetworkRecord>,
    /// The differences between the network record of a repetition and what was asked of it.
    pub network_differences: Vec<String>,
    /// What a repetition asked otherwise than its record says, in a sentence. It was given up then.
    pub tools_difference: Option<String>,
    /// The profile of the run, if one was wanted and the run has ended with its worker.
    pub profile: Option<ProfileText>,
}

impl Service {
    /// Runs a program of the local user.
    ///
    /// # Errors
    ///
    /// The errors of `run_code` and `execute_skill`.
    pub async fn run_file(
        &self,
        caller: &Caller,
        request: LocalRun,
    ) -> Result<LocalResult, ServiceError> {
        self.run_local(caller, request, RunPurpose::Call).await
    }

    /// The limits of a program that is given as text.
    fn limits_of(
        &self,
        caller: &Caller,
        purpose: RunPurpose,
        (requested, reproducible): (&RequestedLimits, Option<ReproducibleParam>),
    ) -> Result<RunLimits, ServiceError> {
        match purpose {
            RunPurpose::SelfTest => Ok(self.policy.limits.of_self_test(requested)),
            RunPurpose::Call | RunPurpose::Compilation => {
                let policy = self.policy.limits.for_caller(caller.limits);
                Ok(policy.for_reproducible(reproducible).resolve(requested)?)
            }
        }
    }

    /// Runs a program of the local user, or a program of the self-test.
    pub(super) async fn run_local(
        &self,
        caller: &Caller,
        request: LocalRun,
        purpose: RunPurpose,
    ) -> Result<LocalResult, ServiceError> {
        let LocalRun {
            program,
            entrypoint,
            args,
            mount_skills,
            input_blobs,
            limits,
            listener,
            reproducible,
            profile,
            recording,
            keep_files,
            record,
            strict_output,
        } = request;
        ensure_has(caller, program.right())?;
        let bounds = (&limits, reproducible, purpose);
        let mut plan = self.plan_local(caller, (program, entrypoint, args), bounds).await?;
        plan.strict_output |= strict_output;
        plan.listener = listener;
        // What a self-test leaves is nobody's.
        let is_own = purpose == RunPurpose::SelfTest;
        let usual = if is_own { KeepFiles::Nothing } else { plan.keep_files };
        plan.keep_files = keep_files.unwrap_or(usual);
        if let Some(recording) = recording {
            plan.network = plan.network.with_recording(recording);
            plan.secrets = plan.secrets.map(DeclaredSecrets::with_stand_ins);
        }
        let tools = record.tools();
        let script = self.record(&mut plan, record)?;
        let mut plan = plan.with_reproducible(reproducible).with_profile(profile);
        plan.whole_logs = true;
        plan.purpose = purpose;
        plan.usual_bytecode = Bytecode::AsItIs;
        plan.skills
            .extend(self.supplies.mounted_skills(&self.discovery, caller, &mount_skills).await?);
        let plan = plan.with_blobs(&input_blobs)?;
        let (images, packages) = (Arc::clone(&self.supplies.images.shared), plan.packages());
        // A command makes no images but those of reproducible runs; it can load existing ones.
        let loaded = caller.memory.on_thread(move || images.load_if_made(packages));
        if let Err(error) = loaded.await.map_err(ServiceError::Interrupted)? {
            warn!("an image cannot be loaded: {}", CauseChain(&*error));
        }
        // With tools it is a session, which begins as the image of all of them.
        if plan.reproducible.is_some() && tools.is_none() {
            self.supplies.await_image(&plan, PATIENCE).await?;
        }
        let (answered, tools_difference) = match &tools {
            None => (self.perform(caller, plan).await?, None),
            Some(tools) => self.repeat_program(caller, (plan, input_blobs), tools).await?,
        };
        let ended = LocalResult::of(answered, NetworkEnding::of(script.as_deref()));
        Ok(LocalResult { tools_difference, ..ended })
    }

    /// The plan of a program of the local user.
    async fn plan_local(
        &self,
        caller: &Caller,
        (program, entrypoint, args): (LocalProgram, Option<String>, Box<RawValue>),
        (limits, reproducible, purpose): (&RequestedLimits, Option<ReproducibleParam>, RunPurpose),
    ) -> Result<Planned, ServiceError> {
        match program {
            LocalProgram::File { source, file_name } => {
                let program = Program::Code { source, file_name };
                let limits = self.limits_of(caller, purpose, (limits, reproducible))?;
                let keep_files = KeepFiles::Usual(self.policy.limits.keep_files);
                Ok(Planned { entrypoint, keep_files, ..Planned::new(program, args, limits) })
            }
            LocalProgram::Skill { name, version, script: None } => {
                let named = (name.as_str(), version.as_deref());
                self.plan_skill(caller, named, Some(args), limits, reproducible).await
            }
            LocalProgram::Skill { name, version, script: Some(script) } => {
                let named = (name.as_str(), version.as_deref());
                let script = (*script, Some(args));
                self.plan_script(caller, named, script, limits, reproducible).await
            }
        }
    }

    /// Makes a run leave a document, if it does. Returns its network, if that is recorded or
    /// replayed.
    fn record(
        &self,
        plan: &mut Planned,
        record: LocalRecord,
    ) -> Result<Option<Arc<NetworkScript>>, ServiceError> {
        let script = match record {
            LocalRecord::Unwanted => return Ok(None),
            LocalRecord::Wanted => None,
            LocalRecord::WithNetwork => Some(NetworkScript::Records(NetworkRecorder::default())),
            LocalRecord::Repeats(repeated) => return self.repeat(plan, *repeated),
        };
        plan.document = Some(DocumentOrder::default());
        Ok(with_script(plan, script))
    }

    /// Gives a plan the limits of the run that it repeats, within those of this machine.
    fn repeat(
        &self,
        plan: &mut Planned,
        repeated: RepeatedRun,
    ) -> Result<Option<Arc<NetworkScript>>, ServiceError> {
        let RepeatedRun { inputs, patience, network } = repeated;
        plan.limits = self.limits_of_record(&inputs.limits, patience)?;
        plan.keep_files = inputs.keep_files.clone();
        plan.strict_output = inputs.strict_output;
        let (network, script) = match network {
            None => (None, None),
            Some(NetworkRecord { document, blob, .. }) => {
                (Some(blob), Some(NetworkScript::Replays(NetworkPlayer::new(document))))
            }
        };
        plan.document = Some(DocumentOrder { expected: Some(Box::new(inputs)), network });
        Ok(with_script(plan, script))
    }
}

impl Service {
    /// The limits that a record names, within those of this machine.
    pub(crate) fn limits_of_record(
        &self,
        recorded: &DocumentLimits,
        patience: Duration,
    ) -> Result<RunLimits, ServiceError> {
        let DocumentLimits { fuel, workspace_entries, open_files, host_calls, .. } = *recorded;
        let limits = RunLimits {
            wall_time: self.policy.limits.cap.wall_time.max(patience),
            fuel: fuel.map(Fuel),
            memory: ByteCount::bytes(recorded.memory_bytes),
            workspace: ByteCount::bytes(recorded.workspace_bytes),
            workspace_entries,
            open_files,
            logs: ByteCount::bytes(recorded.logs_bytes),
            host_calls,
            host_bytes: ByteCount::bytes(recorded.host_bytes),
        };
        // Records have no larger fuel than that.
        let most_fuel = self.policy.limits.cap.fuel.filter(|fuel| fuel.0 <= MAX_INTEGER);
        let cap =
            RunLimits { wall_time: limits.wall_time, fuel: most_fuel, ..self.policy.limits.cap };
        let is_enough = limits.memory >= self.policy.limits.least_memory;
        if limits.tightened_by(cap) != limits || !is_enough {
            return Err(ServiceError::LimitsOfRecord);
        }
        Ok(limits)
    }
}

/// Gives a plan a network that is recorded or replayed.
fn with_script(plan: &mut Planned, script: Option<NetworkScript>) -> Option<Arc<NetworkScript>> {
    let script = Arc::new(script?);
    let granted = std::mem::replace(&mut plan.network, NetworkGrant::Reproducible);
    plan.network = granted.scripted(Arc::clone(&script));
    Some(script)
}

impl LocalResult {
    /// The end of a run, whose document names its network record.
    fn of(answered: Answered, ending: NetworkEnding) -> Self {
        let Answered { result, logs, output_blob, profile, .. } = answered;
        let Answered { mut document, mut unrepeatable, .. } = answered;
        let NetworkEnding { record: network, is_too_much, differences } = ending;
        if is_too_much {
            document = None;
            unrepeatable = unrepeatable.or(Some(Unrepeatable::Network));
        }
        if let (Some(document), Some(network)) = (&mut document, &network) {
            document.inputs.network = Some(network.blob.clone());
        }
        let network_differences = differences;
        Self {
            result,
            logs,
            output_blob,
            document,
            unrepeatable,
            network,
            network_differences,
            tools_difference: None,
            profile,
        }
    }
}
