//! The regular expressions of cases. The interpreter of the engine compiles them, because only it knows their syntax.

use std::path::Path;
use std::time::Duration;

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::assembly::{self, MeteredCode};
use crate::cli::commands::blobs::read_text_blob;
use crate::cli::commands::skills::evals::cases::case_file::{Case, CaseCheck, PATH};
use crate::cli::commands::skills::evals::server::unwrapped;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{block_on_until_interrupted, on_its_own, start_once};
use wardian_config::Config;
use wardian_engine::code::instrumentation::Variant;
use wardian_formats::protocol::methods::execution::RunStatus;
use wardian_service::{Caller, LocalProgram, LocalRun};

/// The program that compiles them.
pub(crate) const PROGRAM: &str = include_str!("patterns.py");

/// Most that are named at once.
const MAX_NAMED: usize = 10;

/// The regular expressions of some cases, with the ids of these.
#[derive(Debug, Default)]
pub(crate) struct CasePatterns {
    /// The file of the cases.
    file: String,
    all: Vec<(String, String)>,
}

/// What became of a look at them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatternsLook {
    /// Each is one.
    Good,
    /// They were not looked at, for this reason.
    Skipped(String),
    /// Ctrl-C ended it.
    Interrupted,
}

impl CasePatterns {
    /// Those of the cases of the skill in `folder`.
    pub(crate) fn of(folder: &Path, cases: &[Case]) -> Self {
        let of_case = |case: &Case| {
            let patterns = case.assertions.iter().filter_map(|each| match &each.check {
                CaseCheck::Regex { value, .. } => Some(value.clone()),
                _ => None,
            });
            patterns.map(|pattern| (case.id.clone(), pattern)).collect::<Vec<_>>()
        };
        let file = folder.join(PATH).display().to_string();
        Self { file, all: cases.iter().flat_map(of_case).collect() }
    }

    /// True if there is none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The texts, in order.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.all.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Refuses those that the program could not compile. `output` is what it returned.
    pub(crate) fn ensure_compiled(&self, output: Value) -> Result<(), Failed> {
        let wrong: Vec<(usize, String)> = serde_json::from_value(output)
            .map_err(|fault| Failed::at("compile the regular expressions", &fault))?;
        let named = wrong.iter().take(MAX_NAMED).filter_map(|(number, fault)| {
            let (id, text) = self.all.get(*number)?;
            Some(format!("{}: case {id}: `{text}` is not a regular expression: {fault}", self.file))
        });
        let named: Vec<String> = named.collect();
        if named.is_empty() { Ok(()) } else { Err(Failed::usage(named.join("; ")).harmless()) }
    }

    /// Compiles them in a sandbox, if the engine is there.
    pub(crate) fn look(&self, config: &Config) -> Result<PatternsLook, Failed> {
        if self.is_empty() {
            return Ok(PatternsLook::Good);
        }
        let ready = assembly::open_engine(config).and_then(|one| Ok(one.is_ready(Variant::Timed)?));
        match ready {
            Ok(true) => {}
            Ok(false) => {
                let why = "the engine is not installed: run `wardian engine install`";
                return Ok(PatternsLook::Skipped(why.to_owned()));
            }
            Err(fault) => return Ok(PatternsLook::Skipped(Failed::from(fault).to_string())),
        }
        let folder = TempDir::new();
        let folder = folder.map_err(|fault| Failed::at("create a temporary folder", &fault))?;
        let mut config = on_its_own(config.clone(), &folder);
        // The served skills are not needed.
        config.skills.roots = Vec::new();
        let ended = block_on_until_interrupted(Box::pin(async {
            let runtime = start_once(&config, MeteredCode::IfThere).await?;
            let output = self.compile(&runtime).await;
            runtime.shut_down(Duration::ZERO).await;
            self.ensure_compiled(output?)?;
            Ok(Exit::Done)
        }))?;
        Ok(if ended == Exit::Interrupted { PatternsLook::Interrupted } else { PatternsLook::Good })
    }

    async fn compile(&self, runtime: &assembly::Runtime) -> Result<Value, Failed> {
        let failed = |why: &dyn std::fmt::Display| {
            Failed::because(format!("could not compile the regular expressions: {why}"))
        };
        let args = to_raw_value(&json!({ "patterns": self.texts() }));
        let program =
            LocalProgram::File { source: PROGRAM.to_owned(), file_name: "patterns.py".to_owned() };
        let request = LocalRun {
            entrypoint: Some("main".to_owned()),
            args: args.map_err(|fault| failed(&fault))?,
            ..LocalRun::new(program)
        };
        let ended = runtime.service.run_file(&Caller::local("check"), request).await;
        let ended = ended.map_err(|fault| failed(&fault))?;
        let output = match (ended.result.status, &ended.output_blob) {
            (RunStatus::Failed | RunStatus::Waiting, _) => {
                return Err(failed(&ended.result.summary));
            }
            (RunStatus::Completed, Some(id)) => read_text_blob(&runtime.blobs, id)?,
            (RunStatus::Completed, None) => {
                ended.result.output.map(|output| output.get().to_owned()).unwrap_or_default()
            }
        };
        let output = serde_json::from_str(&output).map_err(|fault| failed(&fault))?;
        Ok(unwrapped(output))
    }
}
