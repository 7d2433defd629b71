//! Checks a document that somebody else may have written, before anything is done with it.

use crate::job::outcome::{LogChunk, MAX_LEFT_FILES};
use crate::job::{KeepFiles, ScriptCall, check_placement};
use crate::protocol::methods::scripts::{
    MAX_ARGV, MAX_ARGV_WORD, MAX_SCRIPT_ENV, MAX_SCRIPT_ENV_VALUE, MAX_STDIN,
};
use crate::protocol::strict::{self, RootKind};
use crate::protocol::tools::{
    MAX_EPOCH, MAX_INPUT_BLOBS, MAX_KEEP_PATTERN, MAX_KEEP_PATTERNS, MAX_MOUNTS, MAX_SEED,
};
use crate::provenance::document::{
    DocumentBlob, DocumentProgram, FORMAT, MAX_DOCUMENT, MAX_PIECES, NETWORK_KIND, RunDocument,
    RunEnding, RunInputs, VERSION,
};
use crate::provenance::fault::ProvenanceError;
use crate::provenance::session::asked::{DocumentTools, PartEnding};
use wardian_vocabulary::ids::MAX_NAMES_OF_BLOB;

/// Most skills: those that a call mounts, and the one that it executes.
const MAX_SKILLS: usize = MAX_MOUNTS + 1;

/// Maximum number of blobs: those that a call names, and those of its arguments.
const MAX_BLOBS: usize = MAX_INPUT_BLOBS + 64;

/// Most layers: one for each skill, and the batteries.
const MAX_LAYERS: usize = MAX_SKILLS + 1;

/// Longest name of a file or a function, in bytes.
const MAX_NAME: usize = 4_096;

impl RunDocument {
    /// Checks what the types do not say.
    pub(super) fn check(&self) -> Result<(), ProvenanceError> {
        let Self { format, format_version, inputs, .. } = self;
        ensure(format == FORMAT && *format_version == VERSION, "`format_version` must be 1")?;
        self.ending.check()?;
        inputs.check()
    }
}

impl RunEnding {
    /// Checks what no run leaves. A document has one form, so that equal runs have equal documents.
    fn check(&self) -> Result<(), ProvenanceError> {
        if let Some(output) = &self.output {
            let read = strict::read_output(output);
            ensure(read.is_ok(), "its output is not JSON that a run can return")?;
        }
        let is_repeatable = self.unrepeatable().is_none();
        ensure(is_repeatable, "a run that timed out or was ended by the machine has no document")?;
        let pieces = &self.log.pieces;
        ensure(pieces.iter().all(|piece| !piece.text.is_empty()), "a piece of its log is empty")?;
        let is_kept = |piece: &LogChunk| piece.stream.is_kept();
        ensure(pieces.iter().all(is_kept), "its log contains a progress report or a request")?;
        let mut neighbours = pieces.iter().zip(pieces.iter().skip(1));
        let is_one_form = neighbours.all(|(one, next)| one.stream != next.stream);
        ensure(is_one_form, "two adjacent pieces of its log belong to one stream")?;
        ensure(self.files.len() <= MAX_LEFT_FILES, "it names too many files")?;
        ensure_few_blobs(&self.parts)
    }
}

/// Checks the blobs of all parts of a program together.
pub(super) fn ensure_few_blobs(parts: &[PartEnding]) -> Result<(), ProvenanceError> {
    let blobs = parts.iter().map(|part| part.output_blobs.len()).fold(0, usize::saturating_add);
    ensure(blobs <= MAX_PIECES, "its parts stored too many blobs")
}

impl RunInputs {
    pub(super) fn check(&self) -> Result<(), ProvenanceError> {
        ensure(self.seed <= MAX_SEED, "`seed` is out of its bounds")?;
        ensure(self.epoch <= MAX_EPOCH, "`epoch` is out of its bounds")?;
        ensure(
            self.fuel_rules.are_known(),
            "its `fuel_rules` belong to a newer Wardian: use that one",
        )?;
        ensure(self.limits.fuel != Some(0), "`limits.fuel` must not be 0")?;
        ensure(self.skills.len() <= MAX_SKILLS, "it names too many skills")?;
        ensure(self.blobs.len() <= MAX_BLOBS, "it names too many blobs")?;
        ensure(self.layers.len() <= MAX_LAYERS, "it names too many layers")?;
        ensure(!has_repetition(self.skills.iter().map(|one| &one.name)), "a skill appears twice")?;
        ensure(!has_repetition(self.blobs.iter().map(|one| &one.id)), "a blob appears twice")?;
        let has_form = |blob: &DocumentBlob| match blob.name {
            Some(_) => blob.other_names.len() < MAX_NAMES_OF_BLOB,
            None => blob.other_names.is_empty(),
        };
        ensure(self.contents().all(has_form), "the names of a blob cannot come from a run")?;
        let paths = self.blobs.iter().flat_map(|blob| &blob.paths);
        ensure(paths.clone().count() <= MAX_INPUT_BLOBS, "it has too many paths of blobs")?;
        ensure(check_placement(paths).is_ok(), "the paths of blobs exclude each other")?;
        ensure(!has_repetition(self.layers.iter().map(|one| one.digest)), "a layer appears twice")?;
        let names = self.entrypoint.iter().map(String::len);
        ensure(names.max().unwrap_or(0) <= MAX_NAME, "the name of the function is too long")?;
        if let KeepFiles::Matching(patterns) = &self.keep_files {
            ensure(
                patterns.len() <= MAX_KEEP_PATTERNS,
                "it has too many patterns of `keep_files`",
            )?;
            let is_short = |text: &String| text.chars().count() <= MAX_KEEP_PATTERN;
            ensure(patterns.iter().all(is_short), "a pattern of `keep_files` is too long")?;
        }
        match &self.program {
            DocumentProgram::Code { file_name, source } => {
                ensure(file_name.len() <= MAX_NAME, "the name of the program is too long")?;
                source.check("program")?;
            }
            DocumentProgram::Skill { name, script } => {
                let first = self.skills.first().map(|skill| &skill.name);
                ensure(first == Some(name), "the executed skill must be the first of the skills")?;
                let is_bounded = script.as_ref().is_none_or(|script| is_bounded(script));
                ensure(is_bounded, "the call of the script is longer than one may be")?;
            }
        }
        let is_network = |blob: &DocumentBlob| {
            let is_short = blob.size_bytes <= MAX_DOCUMENT.as_u64();
            blob.kind == NETWORK_KIND && is_short && blob.paths.is_empty()
        };
        let is_fitting = self.network.as_ref().is_none_or(is_network);
        ensure(is_fitting, "`network` must be the blob of a network record")?;
        let has_both = self.network.is_some() && self.tools.is_some();
        ensure(!has_both, "a run with tools has no recorded network")?;
        self.tools.as_ref().map_or(Ok(()), DocumentTools::check)?;
        self.arguments.check("arguments")?;
        self.arguments.text.as_deref().map_or(Ok(()), ensure_arguments)
    }
}

/// Checks that a text is the JSON of arguments, as a call may send them.
///
/// # Errors
///
/// It is no JSON object, or parsers would read it differently.
pub fn ensure_arguments(text: &str) -> Result<(), ProvenanceError> {
    let is_object = strict::read(text.as_bytes()).is_ok_and(|read| read.root == RootKind::Object);
    ensure(is_object, "the arguments must be a JSON object with one meaning")
}

pub(super) fn ensure(holds: bool, problem: &str) -> Result<(), ProvenanceError> {
    if holds { Ok(()) } else { Err(ProvenanceError::Malformed(problem.to_owned())) }
}

/// True if a call of a script is not longer than a server accepts.
fn is_bounded(script: &ScriptCall) -> bool {
    let stdin = script.stdin.as_ref().map_or(0, String::len);
    script.path.len() <= MAX_NAME
        && script.argv.len() <= MAX_ARGV
        && script.argv.iter().all(|word| word.chars().count() <= MAX_ARGV_WORD)
        && stdin <= MAX_STDIN
        && script.env.len() <= MAX_SCRIPT_ENV
        && script.env.values().all(|value| value.len() <= MAX_SCRIPT_ENV_VALUE)
}

fn has_repetition<T: Ord>(items: impl Iterator<Item = T>) -> bool {
    let mut items: Vec<T> = items.collect();
    let count = items.len();
    items.sort_unstable();
    items.dedup();
    items.len() < count
}
