//! Executes the cells of a notebook in one session, and compares their outputs.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;

use serde_json::Value;

use crate::assembly::OwnBlobs;
use crate::cli::commands::test::notebook::cell_numbers::CellNumbers;
use crate::cli::commands::test::notebook::notebook_file::{CellRule, CodeCell, MAX_NOTEBOOK};
use crate::cli::commands::test::notebook::notebook_tests::NotebookTests;
use crate::cli::commands::test::notebook::outputs::CellOutputs;
use crate::cli::commands::test::notebook::written::{as_saved, with_outputs};
use crate::cli::commands::test::plan::TestSession;
use crate::cli::commands::test::report::outcomes::{
    MAX_MESSAGE, TestEnd, TestReport, UPDATED, UnitReport, clock_ms, cut,
};
use crate::cli::commands::whole_file::write_whole;
use crate::cli::failed::Failed;
use wardian_formats::job::KeepFiles;
use wardian_formats::protocol::methods::cells::CellFate;
use wardian_formats::protocol::methods::execution::{ReproducibleParam, RequestedLimits};
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_service::{
    Caller, LocalCell, LocalCellLimits, LocalCellResult, NewSessionOrder, SessionSeedInputs,
    SessionSeedParam, sole_tenant,
};
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_vocabulary::ids::SessionId;

/// The function that puts the files of the project in their places.
const SET_UP: &str = include_str!("set_up.py");

/// Its name.
const SET_UP_NAME: &str = "_wardian_set_up";

/// The kind of the blob with files.
const PACKED: &str = "application/octet-stream";

/// A notebook that is being executed.
struct Execution<'a> {
    place: &'a OwnBlobs,
    tests: &'a NotebookTests,
    caller: Caller,
    id: SessionId,
    timeout_ms: Option<u64>,
    /// Why no further cell is executed.
    stopped: Option<String>,
    is_lasting: bool,
    fuel: u64,
    numbers: CellNumbers,
    /// New outputs, with their places in the text.
    updates: Vec<(Range<usize>, Value)>,
}

/// Executes a notebook, or lists its cells.
pub(crate) async fn run_notebook(
    place: &OwnBlobs,
    tests: &NotebookTests,
    mount: Option<String>,
    session: &TestSession,
) -> Result<UnitReport, Failed> {
    let unit = |reports, fuel, is_lasting| UnitReport {
        suite: tests.shown.clone(),
        tests: reports,
        fuel,
        is_cached: false,
        is_lasting,
    };
    let cells = &tests.notebook.cells;
    if session.list {
        let listed = cells.iter().map(|cell| report(tests, cell, TestEnd::Skipped, "", ""));
        return Ok(unit(listed.collect(), None, false));
    }
    let mut execution = Execution::begin(place, tests, mount, session).await?;
    let mut reports = Vec::with_capacity(cells.len());
    for cell in cells {
        reports.push(Box::pin(execution.cell(cell, session.update)).await?);
    }
    // Its guest is of no use any more. The folder goes with the session in it.
    place.service.discovery().sessions().close(&execution.caller, execution.id.as_str()).await?;
    let Execution { updates, fuel, is_lasting, .. } = execution;
    if !updates.is_empty() {
        write(tests, &updates)?;
    }
    // A notebook that was changed has another key from now on.
    Ok(unit(reports, Some(fuel), is_lasting && updates.is_empty()))
}

impl<'a> Execution<'a> {
    /// Makes the session, with the files of the project in their places.
    async fn begin(
        place: &'a OwnBlobs,
        tests: &'a NotebookTests,
        mount: Option<String>,
        session: &TestSession,
    ) -> Result<Self, Failed> {
        place.open_sessions().await?;
        let kind = BlobKind::parse(PACKED).map_err(|fault| Failed::at("store files", &fault))?;
        let blob = place.blobs.put(&sole_tenant(), &kind, &tests.files.content)?.id.to_string();
        let caller = Caller::local("test");
        let reproducible = match session.options.reproducible {
            Some(ReproducibleParam::Inputs { seed, epoch, .. }) => {
                SessionSeedParam::Inputs(SessionSeedInputs { seed, epoch })
            }
            Some(ReproducibleParam::Flag(_)) | None => SessionSeedParam::Flag(true),
        };
        let order = NewSessionOrder {
            mount_skills: mount.into_iter().collect(),
            input_blobs: vec![InputBlob::Id(blob.clone())],
            reproducible: Some(reproducible),
            ..NewSessionOrder::default()
        };
        let id = place.service.begin_local_session(&caller, order).await?;
        let timeout_ms = session.options.timeout_ms;
        let (stopped, updates) = (None, Vec::new());
        let (is_lasting, fuel, numbers) = (true, 0, CellNumbers::default());
        let mut execution = Self {
            place,
            tests,
            caller,
            id,
            timeout_ms,
            stopped,
            is_lasting,
            fuel,
            numbers,
            updates,
        };
        let ended = execution.run(set_up(&blob, tests)?).await?;
        if let Some(error) = &ended.result.error {
            let why = format!("the files of the project have no room: {}", error.message);
            execution.stopped = Some(why);
            execution.is_lasting = false;
        }
        Ok(execution)
    }

    async fn run(&mut self, code: String) -> Result<LocalCellResult, Failed> {
        let limits = RequestedLimits { timeout_ms: self.timeout_ms, ..RequestedLimits::default() };
        let cell = LocalCell {
            limits: LocalCellLimits::Asked(limits),
            keep_files: Some(KeepFiles::Nothing),
            shows_value: true,
            ..LocalCell::new(code)
        };
        let ended = self.place.service.run_local_cell(&self.caller, &self.id, cell).await?;
        self.fuel = self.fuel.saturating_add(ended.result.fuel.unwrap_or_default());
        Ok(ended)
    }

    /// Executes a cell, unless it is to be skipped, and reports about it.
    async fn cell(&mut self, cell: &CodeCell, updates: bool) -> Result<TestReport, Failed> {
        let tests = self.tests;
        if cell.rule == CellRule::Skipped {
            return Ok(report(tests, cell, TestEnd::Skipped, "tagged so", ""));
        }
        if let Some(why) = &self.stopped {
            return Ok(report(tests, cell, TestEnd::Error, &format!("not executed: {why}"), ""));
        }
        let mut ended = self.run(cell.source.clone()).await?;
        if let Some(session) = &ended.result.session {
            self.numbers.note(session.cell, cell.number);
        }
        let error = ended.result.error.as_mut();
        if let Some(traceback) = error.and_then(|error| error.traceback.as_mut()) {
            *traceback = self.numbers.renumbered(traceback);
        }
        let mut report = self.judged(cell, &ended, updates)?;
        report.duration_ms = clock_ms(ended.result.fuel);
        Ok(report)
    }

    fn judged(
        &mut self,
        cell: &CodeCell,
        ended: &LocalCellResult,
        updates: bool,
    ) -> Result<TestReport, Failed> {
        let tests = self.tests;
        let fate = ended.result.session.as_ref().filter(|one| one.state != CellFate::Kept);
        if let Some(lost) = fate {
            let reason = lost.reason.as_deref().unwrap_or_default();
            self.stop(cell, &format!("was rolled back: {reason}"));
            self.is_lasting = false;
            let message = format!("the cell was rolled back: {reason}");
            return Ok(report(tests, cell, TestEnd::Failed, &message, &ended.result.logs_preview));
        }
        self.is_lasting &= ended.unrepeatable.is_none();
        let saved = CellOutputs::saved(&cell.outputs);
        let now = CellOutputs::of_run(self.place, ended)?;
        let may_raise = cell.rule == CellRule::Raises || saved.error.is_some();
        if let Some(error) = now.error.as_ref().filter(|_| !may_raise) {
            self.stop(cell, &format!("raised {}", error.name));
            let message = format!("{}: {}", error.name, error.value);
            let details = [error.traceback.join("\n"), now.stdout, now.stderr].join("\n");
            return Ok(report(tests, cell, TestEnd::Failed, &message, details.trim()));
        }
        if cell.rule == CellRule::Raises && now.error.is_none() {
            let message = "the cell is tagged as one that raises, and did not raise";
            return Ok(report(tests, cell, TestEnd::Failed, message, ""));
        }
        let differences = saved.differences(&now);
        if differences.is_empty() || cell.rule == CellRule::Executed {
            return Ok(report(tests, cell, TestEnd::Passed, "", ""));
        }
        let details = differences.join("\n");
        if let Some(at) = cell.outputs_at.clone().filter(|_| updates && self.is_lasting) {
            self.updates.push((at, as_saved(&now, cell.execution_count)));
            return Ok(report(tests, cell, TestEnd::Passed, UPDATED, &details));
        }
        let first = differences.first().map(String::as_str).unwrap_or_default();
        Ok(report(tests, cell, TestEnd::Failed, first, &details))
    }

    /// Executes no further cell: what they need may be missing.
    fn stop(&mut self, cell: &CodeCell, what: &str) {
        self.stopped = Some(format!("cell {} {what}", cell.number));
    }
}

/// The cell that puts the files of the project in their places.
fn set_up(blob: &str, tests: &NotebookTests) -> Result<String, Failed> {
    let folder = tests.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    // Texts and lists of texts are the same in JSON and in Python.
    let arguments = serde_json::to_string(&(blob, folder, &tests.places))
        .map_err(|fault| Failed::at("write the arguments", &fault))?;
    Ok(format!("{SET_UP}\n{SET_UP_NAME}(*{arguments})\ndel {SET_UP_NAME}\n"))
}

/// The report about a cell.
fn report(
    tests: &NotebookTests,
    cell: &CodeCell,
    end: TestEnd,
    message: &str,
    details: &str,
) -> TestReport {
    let id = format!("{}::cell {}", tests.shown, cell.number);
    let mut report = TestReport::new(&id, end, message, details);
    report.file.clone_from(&tests.shown);
    report.line = Some(cell.line);
    let first = cell.source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    report.description = cut(first.trim(), MAX_MESSAGE);
    report
}

/// Writes new outputs into the file.
fn write(tests: &NotebookTests, updates: &[(Range<usize>, Value)]) -> Result<(), Failed> {
    let named = |fault: &std::io::Error| Failed::named(tests.file.display(), fault);
    let mut text = String::new();
    let file = File::open(&tests.file).map_err(|fault| named(&fault))?;
    file.take(MAX_NOTEBOOK).read_to_string(&mut text).map_err(|fault| named(&fault))?;
    if text != tests.notebook.text {
        return Err(Failed::usage(format!("{}: changed while its cells ran", tests.shown)));
    }
    write_whole(&tests.file, with_outputs(&text, updates).as_bytes())
}
