//! The plan of a run: everything is looked up and nothing is started.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::find::{CallBlobs, call_blobs};
use crate::run::access::network::NetworkGrant;
use crate::run::access::secrets::DeclaredSecrets;
use crate::run::background::detach_policy::DetachOrder;
use crate::run::execute::log_stream::LogListener;
use crate::run::prepare::label::RunLabel;
use crate::run::prepare::limits::UNLIMITED;
use crate::run::prepare::mounted_skill::MountedSkill;
use crate::run::prepare::purpose::{Bytecode, RunPurpose};
use crate::run::record::document::DocumentOrder;
use crate::sessions::asking::open_run::OpenRun;
use crate::sessions::cell::PlannedCell;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::profile::ProfileOrder;
use wardian_formats::job::{
    FuelRules, KeepFiles, PlacedBlob, Program, Reproducible, can_be_imported,
};
use wardian_formats::protocol::methods::execution::{DEFAULT_EPOCH, ReproducibleParam};
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::protocol::tools::MAX_INPUT_BLOBS;
use wardian_formats::provenance::DocumentBlob;
use wardian_images::PackageSet;
use wardian_stores::records::RecordedToolCall;
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::{BlobId, RunId};

/// Maximum number of blobs that one run mounts: those of `input_blobs`, and 64 that its arguments
/// name. A worker keeps a file open for each of them, and may have 640 open files, those of skills
/// and layers among them.
const MAX_BLOBS: usize = MAX_INPUT_BLOBS + 64;

/// The plan of a run: everything is looked up and nothing is started.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The id of the run, if its caller knows it before it begins.
    pub(crate) id: Option<RunId>,
    pub program: Program,
    /// The title that the caller gave the run.
    pub label: Option<RunLabel>,
    pub entrypoint: Option<String>,
    /// Text of a JSON object.
    pub args: Box<RawValue>,
    pub skills: Vec<MountedSkill>,
    pub blobs: Vec<BlobId>,
    /// Those of them that are files of the workspace, at their paths.
    pub(crate) placed: Vec<PlacedBlob>,
    pub keep_files: KeepFiles,
    /// True if values that are no JSON data are not converted.
    pub strict_output: bool,
    /// True if the program is a script of a skill, whose result has both of its streams and its exit code.
    pub(crate) is_script: bool,
    /// Why no blob may have the path of a Python module, if none may.
    pub(crate) refuses_modules: Option<&'static str>,
    pub network: NetworkGrant,
    /// The secrets that the skill declares; none for code that came with a call.
    pub secrets: Option<DeclaredSecrets>,
    pub limits: RunLimits,
    pub reproducible: Option<Reproducible>,
    /// Present if the run is profiled.
    pub profile: Option<ProfileOrder>,
    /// True if the caller takes the kept result of an earlier run with the same inputs.
    pub(crate) takes_kept: bool,
    pub listener: Option<LogListener>,
    /// The run of its call, if its caller answers while the call goes on.
    pub(crate) open: Option<Arc<OpenRun>>,
    /// The calls of tools whose results it goes on with, for its record.
    pub(crate) tool_calls: Vec<RecordedToolCall>,
    /// Present if the run continues in the background.
    pub detach: Option<DetachOrder>,
    /// Present if the run is a cell of a session.
    pub(crate) cell: Option<PlannedCell>,
    /// Present if the run leaves a document.
    pub document: Option<DocumentOrder>,
    /// True if the caller wants the whole logs, not only the preview.
    pub(crate) whole_logs: bool,
    /// Why the run exists.
    pub(crate) purpose: RunPurpose,
    /// What is done about the bytecode of its skills, if the run may use any: see
    /// [`Self::bytecode`].
    pub(crate) usual_bytecode: Bytecode,
}

impl Planned {
    /// A plan of nothing but a program, without network and files.
    pub(crate) fn new(program: Program, args: Box<RawValue>, limits: RunLimits) -> Self {
        let refuses_modules = matches!(program, Program::Skill { .. }).then_some(
            "because a skill could import what its caller has placed there, in folders too",
        );
        Self {
            id: None,
            program,
            label: None,
            entrypoint: None,
            args,
            skills: Vec::new(),
            blobs: Vec::new(),
            placed: Vec::new(),
            keep_files: KeepFiles::Nothing,
            strict_output: false,
            is_script: false,
            refuses_modules,
            network: NetworkGrant::Operator,
            secrets: None,
            limits,
            reproducible: None,
            profile: None,
            takes_kept: false,
            listener: None,
            open: None,
            tool_calls: Vec::new(),
            detach: None,
            cell: None,
            document: None,
            whole_logs: false,
            purpose: RunPurpose::Call,
            usual_bytecode: Bytecode::Compiled,
        }
    }

    /// What is done about bytecode. A reproducible run compiles its modules itself.
    pub(crate) const fn bytecode(&self) -> Bytecode {
        match self.reproducible {
            Some(_) => Bytecode::Never,
            None => self.usual_bytecode,
        }
    }

    /// Refuses a caller that may not use the blobs that its call names. The id of a blob in a call is a
    /// use of blobs, whichever parameter names it.
    pub(crate) fn ensure_allowed(&self, caller: &Caller) -> Result<(), ServiceError> {
        if self.blobs.is_empty() { Ok(()) } else { ensure_has(caller, Right::Blobs) }
    }

    /// True if the kept result of another run may answer. One with secrets is none: a value that no
    /// key has could decide it.
    pub(crate) const fn may_take_kept(&self) -> bool {
        self.takes_kept && self.secrets.is_none()
    }

    /// Adds the blobs that a call names to those of its arguments.
    ///
    /// # Errors
    ///
    /// A malformed id or path, an id or a path that appears twice, a path that leads through a file,
    /// more than [`MAX_BLOBS`] blobs in all, or the path of a module where none may be.
    pub(crate) fn with_blobs(mut self, named: &[InputBlob]) -> Result<Self, ServiceError> {
        self.ensure_few_blobs()?;
        let CallBlobs { ids, placed } = call_blobs(named)?;
        for blob in ids {
            if !self.blobs.contains(&blob) {
                self.blobs.push(blob);
            }
        }
        self.ensure_few_blobs()?;
        if let Some(reason) = self.refuses_modules
            && let Some(module) = placed.iter().find(|placed| can_be_imported(placed.path.name()))
        {
            return Err(no_module(module.path.as_str(), reason).into());
        }
        self.placed = placed;
        Ok(self)
    }

    /// Makes the run reproducible if its call asks for it. Such a run counts its fuel, has no network
    /// but a recorded one, and compiles its modules itself: bytecode that happens to be there would
    /// save fuel.
    #[must_use]
    pub(crate) fn with_reproducible(mut self, asked: Option<ReproducibleParam>) -> Self {
        let (seed, epoch, takes_kept) = match asked {
            None | Some(ReproducibleParam::Flag(false)) => return self,
            Some(ReproducibleParam::Flag(true)) => (0, DEFAULT_EPOCH, false),
            Some(ReproducibleParam::Inputs { seed, epoch, cache }) => (seed, epoch, cache),
        };
        self.takes_kept = takes_kept;
        let epoch = Duration::from_secs(epoch);
        // A repetition counts as its record did.
        let expected = self.document.as_ref().and_then(|order| order.expected.as_ref());
        let fuel_rules = expected.map_or(FuelRules::PRESENT, |inputs| inputs.fuel_rules);
        self.following(Reproducible { seed, epoch, fuel_rules })
    }

    /// Lets the clocks and the randomness of the run follow from this.
    #[must_use]
    pub(crate) fn following(mut self, reproducible: Reproducible) -> Self {
        self.reproducible = Some(reproducible);
        self.limits.fuel = self.limits.fuel.or(Some(UNLIMITED));
        self.network = self.network.of_reproducible();
        self
    }

    /// Profiles the run if its caller asks for it. Such a run counts its fuel.
    #[must_use]
    pub(crate) fn with_profile(mut self, order: Option<ProfileOrder>) -> Self {
        if order.is_some() {
            self.limits.fuel = self.limits.fuel.or(Some(UNLIMITED));
        }
        self.profile = order;
        self
    }

    /// The blobs of the record that the run repeats, with the names that they had then; `None` if it repeats
    /// none.
    pub(crate) fn recorded_blobs(&self) -> Option<&[DocumentBlob]> {
        let run = self.document.as_ref().and_then(|order| order.expected.as_ref());
        let cell = || self.cell.as_ref().and_then(|cell| cell.recorded_blobs.as_deref());
        run.map(|inputs| &*inputs.blobs).or_else(cell)
    }

    /// Refuses to record a run that nobody could repeat.
    pub(crate) fn ensure_recordable(&self) -> Result<(), ServiceError> {
        let reason = match self.document {
            None => return Ok(()),
            Some(_) if self.secrets.is_some() => "it uses secrets, which are never recorded",
            Some(_) if self.reproducible.is_none() => "it is not reproducible",
            Some(_) => return Ok(()),
        };
        Err(ServiceError::NotRecordable { reason })
    }

    fn ensure_few_blobs(&self) -> Result<(), ParamsError> {
        if self.blobs.len() <= MAX_BLOBS {
            return Ok(());
        }
        let expected = format!(
            "an object that names at most {MAX_BLOBS} blobs, including those of `input_blobs`"
        );
        Err(ParamsError::wrong("args", expected, self.blobs.len().to_string()))
    }

    /// The packages of images that the run is expected to import. A run with fuel has none:
    /// importing costs fuel, and the fuel of a run must not depend on the images that exist. A
    /// reproducible run has images of its own, and waits for the one that these packages decide.
    pub(crate) fn packages(&self) -> PackageSet {
        if self.limits.fuel.is_some() && self.reproducible.is_none() {
            return PackageSet::NONE;
        }
        let own = match &self.program {
            Program::Code { source, .. } => PackageSet::of_source(source),
            Program::Skill { .. } => PackageSet::NONE,
        };
        let all = self.skills.iter().fold(own, |packages, skill| packages.union(skill.packages));
        if self.reproducible.is_some() { all.reproducible() } else { all }
    }
}

/// The refusal of a path at which a skill would find a module.
fn no_module(path: &str, reason: &str) -> ParamsError {
    let expected = format!(
        "a list without paths of Python modules, {reason}: end the path otherwise, such as \
         `{path}.txt` (on the command line `--file FILE={path}.txt`), or put the file into an archive"
    );
    ParamsError::wrong("input_blobs", expected, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::protocol::methods::input_blob::BlobAtPath;
    use wardian_vocabulary::error::ErrorKind;
    use wardian_vocabulary::ids::{Digest, SkillName};

    fn ids(numbers: std::ops::Range<usize>) -> Vec<BlobId> {
        let id = |number: usize| BlobId::of_digest(&Digest::of(&number.to_le_bytes()));
        numbers.map(id).collect()
    }

    fn plan(blobs: Vec<BlobId>) -> Planned {
        let program = Program::Code { source: String::new(), file_name: String::new() };
        Planned { blobs, ..Planned::new(program, Box::default(), RunLimits::DEFAULT) }
    }

    #[test]
    fn callers_choose_no_modules_of_a_skill() {
        let placed = |path: &str| {
            let blob = BlobAtPath { blob: ids(0..1)[0].to_string(), path: path.to_owned() };
            [InputBlob::AtPath(blob)]
        };
        let skill = || {
            let name = SkillName::parse("acme.a").unwrap();
            let program = Program::Skill { name, script: None };
            Planned::new(program, Box::default(), RunLimits::DEFAULT)
        };
        for path in ["json.py", "lib/__init__.PY", "numpy/core.so"] {
            let refused = skill().with_blobs(&placed(path)).err().unwrap().to_string();
            let advice = format!("`--file FILE={path}.txt`");
            assert!(refused.ends_with(&format!(", got {path}")), "{refused}");
            assert!(refused.contains(&advice), "{refused}");
            let other = format!("{path}.txt");
            assert_eq!(skill().with_blobs(&placed(&other)).unwrap().placed.len(), 1);
            assert_eq!(plan(Vec::new()).with_blobs(&placed(path)).unwrap().placed.len(), 1);
        }
        let planned = skill().with_blobs(&placed("data/a.csv")).unwrap();
        assert_eq!((planned.placed[0].path.as_str(), planned.blobs.len()), ("data/a.csv", 1));
    }

    /// A worker that cannot open another file ends, and so would each worker that is tried next.
    #[test]
    fn a_run_mounts_no_more_blobs_than_a_worker_can_open() {
        let named: Vec<InputBlob> =
            ids(0..MAX_INPUT_BLOBS).iter().map(|id| InputBlob::Id(id.to_string())).collect();
        let fitting = plan(ids(MAX_INPUT_BLOBS..MAX_BLOBS)).with_blobs(&named).unwrap();
        assert_eq!(fitting.blobs.len(), MAX_BLOBS);
        let same = plan(ids(0..MAX_BLOBS)).with_blobs(&named).unwrap();
        assert_eq!(same.blobs.len(), MAX_BLOBS, "blobs that are named twice count once");
        for (in_arguments, named) in
            [(ids(MAX_INPUT_BLOBS..MAX_BLOBS + 1), named), (ids(0..MAX_BLOBS + 1), Vec::new())]
        {
            let refused = plan(in_arguments).with_blobs(&named).err().unwrap();
            assert_eq!(refused.kind(), ErrorKind::InvalidParams);
            assert_eq!(
                refused.to_string(),
                "parameter `args` must be an object that names at most 320 blobs, including those \
                of `input_blobs`, got 321"
            );
        }
    }
}
