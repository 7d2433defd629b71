//! The document of a reproducible session.

use serde::{Deserialize, Serialize};

use crate::job::FuelRules;
use crate::provenance::canonical::{MAX_INTEGER, canonical, read_canonical};
use crate::provenance::check::ensure;
use crate::provenance::document::{
    DocumentBlob, DocumentLayer, DocumentLimits, DocumentProgram, DocumentSkill, EngineIdentity,
    MAX_DOCUMENT, MadeBy, RunInputs,
};
use crate::provenance::fault::ProvenanceError;
use crate::provenance::session::cell::{CellInputs, CellRun, SessionCell, SessionCellState};
use crate::provenance::text::DocumentText;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// The name of the format, in each document.
const FORMAT: &str = "wardian session record";

/// The version of the format that is written and read.
const VERSION: u64 = 1;

/// Maximum number of cells of a document.
pub const MAX_CELLS: usize = 10_000;

/// A session that can be executed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionDocument {
    /// Always `wardian session record`.
    pub format: String,
    /// 1.
    pub format_version: u64,
    /// The programs that made it. They explain a difference and decide nothing.
    pub made_by: MadeBy,
    /// What decided all cells.
    pub inputs: SessionInputs,
    /// The cells, in order.
    pub cells: Vec<SessionCell>,
}

/// What decides all cells of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionInputs {
    /// The interpreter.
    pub engine: EngineIdentity,
    /// The memory image that the session began as.
    pub image: Digest,
    /// The skills that it could import, in the order of their mounts.
    pub skills: Vec<DocumentSkill>,
    /// The packages that it could import.
    pub layers: Vec<DocumentLayer>,
    /// The blobs that it could read.
    pub blobs: Vec<DocumentBlob>,
    /// Linear memory.
    pub memory_bytes: u64,
    /// All files of the workspace.
    pub workspace_bytes: u64,
    /// Files, folders and links of the workspace.
    pub workspace_entries: u32,
    /// Open files at one time.
    pub open_files: u32,
    /// The time of day at the start, in seconds since the Unix epoch.
    pub epoch: u64,
    /// What used fuel in addition to instructions.
    pub fuel_rules: FuelRules,
}

/// The members that tell the format of a document.
#[derive(Deserialize)]
struct FormatOnly {
    format: String,
    format_version: u64,
}

impl SessionDocument {
    /// The document of a session.
    #[must_use]
    pub fn new(made_by: MadeBy, inputs: SessionInputs, cells: Vec<SessionCell>) -> Self {
        let (format, format_version) = (FORMAT.to_owned(), VERSION);
        Self { format, format_version, made_by, inputs, cells }
    }

    /// True if a text names this format.
    #[must_use]
    pub fn is_in(text: &[u8]) -> bool {
        ByteCount::from(text.len()) <= MAX_DOCUMENT
            && serde_json::from_slice::<FormatOnly>(text).is_ok_and(|found| found.format == FORMAT)
    }

    /// Reads a document from its canonical form.
    ///
    /// # Errors
    ///
    /// It is too large, of a newer format, malformed, or in another form.
    pub fn read(text: &[u8]) -> Result<Self, ProvenanceError> {
        if ByteCount::from(text.len()) > MAX_DOCUMENT {
            return Err(ProvenanceError::TooLarge { most: MAX_DOCUMENT });
        }
        if let Ok(FormatOnly { format_version: found, .. }) = serde_json::from_slice(text)
            && found > VERSION
        {
            return Err(ProvenanceError::NewerVersion { found, known: VERSION });
        }
        let document: Self = read_canonical("the document", text)?;
        document.check()?;
        Ok(document)
    }

    /// The canonical form.
    ///
    /// # Errors
    ///
    /// It would be larger than [`MAX_DOCUMENT`].
    pub fn text(&self) -> Result<String, ProvenanceError> {
        let text = canonical(self)?;
        if ByteCount::from(text.len()) > MAX_DOCUMENT {
            return Err(ProvenanceError::TooLarge { most: MAX_DOCUMENT });
        }
        Ok(text)
    }

    /// The cells that were kept, with their programs.
    pub fn kept(&self) -> impl Iterator<Item = (u32, &DocumentText, &CellRun)> {
        let kept = self.cells.iter().filter(|cell| cell.state == SessionCellState::Kept);
        kept.filter_map(|cell| Some((cell.number, cell.source.as_ref()?, cell.run.as_ref()?)))
    }

    /// Checks what the types do not say.
    fn check(&self) -> Result<(), ProvenanceError> {
        let Self { format, format_version, cells, .. } = self;
        ensure(format == FORMAT && *format_version == VERSION, "`format_version` must be 1")?;
        ensure(cells.len() <= MAX_CELLS, "it has too many cells")?;
        let mut pairs = cells.iter().zip(cells.iter().skip(1));
        ensure(
            pairs.all(|(one, next)| one.number < next.number),
            "its cells are not in their order",
        )?;
        for cell in cells {
            let is_kept = cell.state == SessionCellState::Kept;
            ensure(
                is_kept == cell.run.is_some() && (!is_kept || cell.source.is_some()),
                "a cell has not the members that its state demands",
            )?;
            cell.source.as_ref().map_or(Ok(()), |source| source.check("cells.source"))?;
        }
        ensure(self.kept().next().is_some(), "no cell of it was kept")?;
        let mut seed = None;
        for (_, source, run) in self.kept() {
            // A fork is made of a state.
            let CellInputs { seed: own, reseeds, .. } = run.inputs;
            let goes_on = seed.is_none_or(|seed| seed == own);
            ensure(
                if reseeds { seed.is_some() } else { goes_on },
                "a cell has another seed than the cell before, and did not begin a fork",
            )?;
            seed = Some(own);
            self.inputs.of_cell(source, run).check()?;
            run.ending.check()?;
        }
        Ok(())
    }
}

impl SessionInputs {
    /// The inputs of a run with the same program in such a session, which have the same bounds.
    fn of_cell(&self, source: &DocumentText, run: &CellRun) -> RunInputs {
        let source = source.clone();
        RunInputs {
            engine: self.engine,
            image: self.image,
            program: DocumentProgram::Code { file_name: String::new(), source },
            entrypoint: None,
            arguments: DocumentText::of("{}"),
            skills: self.skills.clone(),
            layers: self.layers.clone(),
            blobs: self.blobs.clone(),
            keep_files: run.inputs.keep_files.clone(),
            strict_output: run.inputs.strict_output,
            limits: self.limits_of(run),
            seed: run.inputs.seed,
            epoch: self.epoch,
            fuel_rules: self.fuel_rules,
            network: None,
            tools: run.inputs.tools.clone(),
        }
    }

    /// All limits of a cell.
    #[must_use]
    pub fn limits_of(&self, run: &CellRun) -> DocumentLimits {
        DocumentLimits {
            fuel: run.inputs.fuel,
            memory_bytes: self.memory_bytes,
            workspace_bytes: self.workspace_bytes,
            workspace_entries: self.workspace_entries,
            open_files: self.open_files,
            logs_bytes: run.inputs.logs_bytes,
            host_calls: run.inputs.host_calls,
            host_bytes: run.inputs.host_bytes,
        }
    }
}

/// A number of a document. Larger ones have no exact form, and nobody can use them up.
#[must_use]
pub fn bounded(number: u64) -> u64 {
    number.min(MAX_INTEGER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::KeepFiles;
    use crate::provenance::document::DocumentStatus;
    use crate::provenance::session::cell::{CellEnding, DisplayDigest, LogDigest};

    fn cell(number: u32, source: &str) -> SessionCell {
        let inputs = CellInputs {
            seed: 0,
            reseeds: false,
            keep_files: KeepFiles::All,
            strict_output: false,
            shows_value: false,
            fuel: None,
            logs_bytes: 1_000,
            host_calls: 10,
            host_bytes: 1_000,
            tools: None,
        };
        let ending = CellEnding {
            status: DocumentStatus::Completed,
            output: Some("{\"result\":1}".to_owned()),
            output_truncated: false,
            error: None,
            log: LogDigest::of(&[], 0, "").unwrap(),
            display: DisplayDigest { count: 0, sha256: Digest::of(b"[]") },
            output_blobs: Vec::new(),
            files: Vec::new(),
            files_total: None,
            fuel: 5,
            memory_bytes: 65_536,
            state_digest: Digest::of(b"state"),
            parts: Vec::new(),
        };
        let (state, source) = (SessionCellState::Kept, Some(DocumentText::of(source)));
        SessionCell { number, state, source, run: Some(CellRun { inputs, ending }) }
    }

    fn document(cells: Vec<SessionCell>) -> SessionDocument {
        let digest = Digest::of(b"x");
        let inputs = SessionInputs {
            engine: EngineIdentity { module: digest, transform: 1, library: digest },
            image: digest,
            skills: Vec::new(),
            layers: Vec::new(),
            blobs: Vec::new(),
            memory_bytes: 1 << 29,
            workspace_bytes: 1 << 26,
            workspace_entries: 1_000,
            open_files: 64,
            epoch: 1_767_225_600,
            fuel_rules: FuelRules::PRESENT,
        };
        let made_by = MadeBy { wardian: "0".to_owned(), wasmtime: "0".to_owned() };
        SessionDocument::new(made_by, inputs, cells)
    }

    #[test]
    fn a_document_is_read_as_it_was_written() {
        let rolled_back = SessionCell {
            state: SessionCellState::RolledBack,
            source: None,
            run: None,
            ..cell(2, "")
        };
        let whole = document(vec![cell(1, "x = 1"), rolled_back, cell(4, "x")]);
        let text = whole.text().unwrap();
        assert_eq!(SessionDocument::read(text.as_bytes()).unwrap(), whole);
        assert!(SessionDocument::is_in(text.as_bytes()));
        assert!(!SessionDocument::is_in(b"{\"format\": \"wardian run record\"}"));
        assert_eq!(whole.kept().map(|(number, ..)| number).collect::<Vec<_>>(), [1, 4]);
    }

    #[test]
    fn what_no_session_leaves_is_refused() {
        let refused = |cells| {
            let text = document(cells).text().unwrap();
            SessionDocument::read(text.as_bytes()).unwrap_err().to_string()
        };
        assert!(refused(Vec::new()).contains("no cell"));
        assert!(refused(vec![cell(2, ""), cell(2, "")]).contains("order"));
        assert!(refused(vec![SessionCell { run: None, ..cell(1, "") }]).contains("state"));
        assert!(refused(vec![SessionCell { source: None, ..cell(1, "") }]).contains("state"));
        let mut changed = cell(1, "x");
        changed.source.as_mut().unwrap().text = Some("y".to_owned());
        assert!(refused(vec![changed]).contains("digest"));
        let seeded = |number, seed, reseeds| {
            let mut cell = cell(number, "");
            let inputs = &mut cell.run.as_mut().unwrap().inputs;
            (inputs.seed, inputs.reseeds) = (seed, reseeds);
            cell
        };
        assert!(refused(vec![seeded(1, 5, true)]).contains("fork"));
        assert!(refused(vec![seeded(1, 5, false), seeded(2, 6, false)]).contains("fork"));
        let forks = vec![seeded(1, 5, false), seeded(2, 5, true), seeded(3, 6, true)];
        let text = document(forks).text().unwrap();
        SessionDocument::read(text.as_bytes()).unwrap();
    }

    #[test]
    fn limits_are_those_of_session_and_cell() {
        let whole = document(vec![cell(1, "")]);
        let (_, _, run) = whole.kept().next().unwrap();
        let limits = whole.inputs.limits_of(run);
        assert_eq!((limits.memory_bytes, limits.host_calls), (1 << 29, 10));
    }
}
