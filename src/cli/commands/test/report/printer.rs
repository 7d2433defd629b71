//! Prints what became of tests: a line for each, and all about those that failed.

use std::io::{self, IsTerminal as _};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::cli::commands::test::report::outcomes::{
    TestEnd, TestReport, UPDATED, UnitReport, defused,
};
use crate::cli::terminal::output::{print_line, shown};

/// Prints results while tests run.
pub(crate) struct Shown {
    bar: Option<ProgressBar>,
    is_silent: bool,
}

impl Shown {
    /// Begins with `units` to execute. With `is_silent` no result is printed.
    pub(crate) fn begin(units: usize, is_silent: bool) -> Self {
        let bar = io::stderr().is_terminal().then(|| bar(units));
        Self { bar, is_silent }
    }

    /// Counts a unit that has ended.
    pub(crate) fn advance(&self, unit: &UnitReport) {
        if let Some(bar) = &self.bar {
            bar.set_message(shown(&unit.suite));
            bar.inc(1);
        }
    }

    /// Prints the results of a unit.
    pub(crate) fn print(&self, unit: &UnitReport) {
        if self.is_silent {
            return;
        }
        let lines = || lines_of(unit).iter().for_each(|line| print_line(&defused(line)));
        match &self.bar {
            Some(bar) => bar.suspend(lines),
            None => lines(),
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(units: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(units).unwrap_or(u64::MAX));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {bar:30} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

fn lines_of(unit: &UnitReport) -> Vec<String> {
    let cached = if unit.is_cached { "cached" } else { "" };
    let mut lines = Vec::new();
    if unit.tests.is_empty() {
        lines.push(format!("none    {}", unit.suite));
    }
    for test in &unit.tests {
        let time = format!("{} ms", test.duration_ms);
        let time = if unit.is_cached { cached } else { &time };
        let is_updated = test.outcome == TestEnd::Passed && test.message == UPDATED;
        let reason = match test.outcome {
            _ if is_updated => format!(": {UPDATED}"),
            TestEnd::Skipped | TestEnd::Xfailed if !test.message.is_empty() => {
                format!(": {}", test.message)
            }
            _ => String::new(),
        };
        lines.push(format!("{} {} ({time}){reason}", test.outcome.word(), test.id));
        if !test.outcome.is_good() || is_updated {
            lines.extend(explained(test));
        }
    }
    lines
}

/// What is known about a failure. Each line begins with a mark, so that none looks like a line of
/// Wardian or a command of a service.
fn explained(test: &TestReport) -> Vec<String> {
    let mut lines = Vec::new();
    let is_told = test.message.is_empty() || test.message == UPDATED;
    if !is_told && !test.details.iter().any(|line| line.ends_with(&test.message)) {
        lines.push(test.message.clone());
    }
    lines.extend(test.details.iter().cloned());
    lines.iter().map(|line| format!("        | {line}").trim_end().to_owned()).collect()
}

/// The number of tests by their ends.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct EndCounts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    /// Tests that were not executed, since nothing has changed.
    pub(crate) cached: usize,
    /// Cases whose files were changed.
    pub(crate) updated: usize,
}

impl EndCounts {
    pub(crate) fn of(units: &[UnitReport]) -> Self {
        let mut counts = Self::default();
        for unit in units {
            for test in &unit.tests {
                let count = match test.outcome {
                    TestEnd::Passed | TestEnd::Xpassed => &mut counts.passed,
                    TestEnd::Failed | TestEnd::Error => &mut counts.failed,
                    TestEnd::Skipped | TestEnd::Xfailed => &mut counts.skipped,
                };
                *count = count.saturating_add(1);
                let is_updated = test.outcome == TestEnd::Passed && test.message == UPDATED;
                counts.updated = counts.updated.saturating_add(usize::from(is_updated));
                counts.cached = counts.cached.saturating_add(usize::from(unit.is_cached));
            }
        }
        counts
    }

    pub(crate) fn line(self) -> String {
        let Self { passed, failed, skipped, cached, updated } = self;
        let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
        let cached = if cached > 0 { format!("; {cached} cached") } else { String::new() };
        let updated = if updated > 0 { format!("; {updated} updated") } else { String::new() };
        format!("{passed} passed, {failed} failed{skipped}{cached}{updated}")
    }
}

/// All results, for programs.
#[derive(Serialize)]
struct AllResults<'a> {
    #[serde(flatten)]
    counts: EndCounts,
    tests: Vec<OneResult<'a>>,
}

#[derive(Serialize)]
struct OneResult<'a> {
    suite: &'a str,
    #[serde(flatten)]
    test: &'a TestReport,
    cached: bool,
}

/// Prints all results as JSON.
pub(crate) fn print_results(units: &[UnitReport]) {
    let tests = units.iter().flat_map(|unit| {
        let (suite, cached) = (unit.suite.as_str(), unit.is_cached);
        unit.tests.iter().map(move |test| OneResult { suite, test, cached })
    });
    let all = AllResults { counts: EndCounts::of(units), tests: tests.collect() };
    match serde_json::to_string_pretty(&all) {
        // Services look for `##[` in every line; within JSON it can only be in a string.
        Ok(text) => print_line(&text.replace("##", "#\\u0023")),
        Err(fault) => crate::cli::terminal::output::note(&format!(
            "error: the results cannot be printed as JSON: {fault}"
        )),
    }
}
