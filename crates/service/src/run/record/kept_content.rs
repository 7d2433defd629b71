//! Gathers what a run was given and what it left, for people who look at its record.
//!
//! INVARIANT(content-without-secrets): arguments and output are kept as their caller sees them,
//! with the values of secrets redacted. Arguments that are too long to be kept whole are not kept
//! at all if the run has secrets: the cut could lie in one.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::run::prepare::label::title_of;
use crate::run::prepare::plan::Planned;
use crate::run::result::output::head;
use wardian_formats::job::{Program, ScriptCall};
use wardian_formats::protocol::methods::execution::{MAX_OUTPUT, RunResult};
use wardian_stores::records::{
    KeptText, MAX_FILES, MAX_FILES_TEXT, RecordedConversion, RecordedFile, RecordsConfig,
    RunContent,
};
use wardian_stores::secrets::mask::Masks;
use wardian_vocabulary::units::ByteCount;

/// Copies of the texts while the run is in progress and its record is made: as they are, and as
/// JSON.
const COPIES: usize = 2;

/// The content of a run in progress.
#[derive(Debug)]
pub(crate) struct DraftContent {
    content: RunContent,
    max_program: usize,
}

/// The title of a program that came with a call.
pub(crate) fn title_of_program(program: &Program) -> Option<String> {
    match program {
        Program::Code { source, .. } => title_of(source),
        Program::Skill { script, .. } => script.as_ref().and_then(|script| title_of(&script.path)),
    }
}

impl DraftContent {
    /// Begins the content of a run with this plan. None if it is not to be kept, or if there is no
    /// memory for it: a run does not fail for it.
    pub(crate) fn begin(config: &RecordsConfig, caller: &Caller, plan: &Planned) -> Option<Self> {
        if !config.keeps_programs {
            return None;
        }
        let max_program = config.max_program.as_usize();
        // A command line is kept in the place of code, as arguments are.
        let script = plan.program.script().filter(|_| plan.secrets.is_none());
        let line = script.map(ScriptCall::command_line);
        let source = match &plan.program {
            Program::Code { source, .. } => Some(source.as_str()),
            Program::Skill { .. } => line.as_deref(),
        };
        let texts = source.map_or(0, str::len).min(max_program);
        let texts = texts.saturating_add(plan.args.get().len().min(max_program));
        let memory = texts.saturating_add(MAX_OUTPUT).saturating_mul(COPIES);
        caller.memory.reserve(ByteCount::from(memory)).ok()?;
        let mut draft = Self { content: RunContent::default(), max_program };
        draft.content.code = source.map(|source| draft.beginning(source));
        // A run that is refused before its secrets are known shows no arguments that may have some.
        if plan.secrets.is_none() {
            draft.content.arguments = Some(draft.beginning(plan.args.get()));
        }
        Some(draft)
    }

    fn beginning(&self, text: &str) -> KeptText {
        let kept = head(text, self.max_program);
        KeptText { text: kept.to_owned(), cut: kept.len() < text.len() }
    }

    /// Notes the arguments as they are once the secrets of the run are known.
    pub(crate) fn note_arguments(&mut self, args: &RawValue, masks: Option<&Arc<Masks>>) {
        let Some(masks) = masks else {
            self.content.arguments = Some(self.beginning(args.get()));
            return;
        };
        let fits = args.get().len() <= self.max_program;
        let shown = fits.then(|| covered(args, masks)).flatten();
        self.content.arguments = shown.map(|args| self.beginning(args.get()));
    }

    /// Notes what the caller of the run gets.
    pub(crate) fn note_result(&mut self, result: &RunResult) {
        let content = &mut self.content;
        content.output.clone_from(&result.output);
        content.output_truncated = result.output_truncated;
        // At most twenty, whose texts are bounded and already redacted.
        content.converted = result
            .converted
            .iter()
            .map(|one| RecordedConversion {
                path: one.path.clone(),
                from: one.from.clone(),
                to: one.to.clone(),
                count: one.count,
            })
            .collect();
        content.converted_total = result.converted_total;
        let mut left = MAX_FILES_TEXT;
        for file in result.files.iter().take(MAX_FILES) {
            let reason = file.not_kept.as_ref().map_or(0, String::len);
            let size = file.path.len().saturating_add(reason);
            let Some(rest) = left.checked_sub(size) else { break };
            left = rest;
            content.files.push(RecordedFile {
                path: file.path.clone(),
                size_bytes: file.size_bytes,
                blob_id: file.blob_id.clone(),
                not_kept: file.not_kept.clone(),
            });
        }
        let listed = u64::try_from(result.files.len()).unwrap_or(u64::MAX);
        content.files_total = result.files_total.unwrap_or(listed);
    }

    /// The content as JSON.
    pub(crate) fn text(self) -> Option<String> {
        serde_json::to_string(&self.content).ok()
    }
}

/// The arguments with values of secrets redacted.
pub(crate) fn covered(args: &RawValue, masks: &Masks) -> Option<Box<RawValue>> {
    let text = String::from_utf8(masks.cover_json(args.get().as_bytes().to_vec())).ok()?;
    RawValue::from_string(text).ok()
}
