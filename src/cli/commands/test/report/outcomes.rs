//! The outcome of tests, in the form in which it is kept, printed and written to files.

use serde::{Deserialize, Serialize};

use crate::cli::terminal::output::shown;

/// Longest name of a test, in characters.
const MAX_ID: usize = 500;

/// Longest message or description of a test, in characters.
pub(crate) const MAX_MESSAGE: usize = 2_000;

/// Most lines of details that are kept, and the longest line, in characters.
const MAX_LINES: usize = 400;
const MAX_LINE: usize = 2_000;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TestEnd {
    Passed,
    /// It failed itself.
    Failed,
    /// Its preparation failed, or it did not run.
    Error,
    Skipped,
    /// It failed, as it says that it would.
    Xfailed,
    /// It passed although it says that it would fail, which it allows.
    Xpassed,
}

impl TestEnd {
    pub(crate) const fn is_good(self) -> bool {
        !matches!(self, Self::Failed | Self::Error)
    }

    /// The word before its name, in a column.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Passed | Self::Xpassed => "ok     ",
            Self::Failed => "FAILED ",
            Self::Error => "ERROR  ",
            Self::Skipped => "skipped",
            Self::Xfailed => "xfailed",
        }
    }
}

/// The report about one test. What comes from the test itself is cut and has no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TestReport {
    /// The file or the skill, `::`, and the name of the test.
    pub(crate) id: String,
    /// What the test shows, if it says so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    pub(crate) outcome: TestEnd,
    /// One line that says why it did not pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
    /// More lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) details: Vec<String>,
    /// The file that it is in.
    pub(crate) file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    /// In the time of the clock that reproducible runs see, never that of the machine: it is the same
    /// in each repetition, and the times of a report can be compared.
    pub(crate) duration_ms: u64,
}

/// The report about the tests of one file, or about one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnitReport {
    /// The file or the skill.
    pub(crate) suite: String,
    pub(crate) tests: Vec<TestReport>,
    /// Instructions that were executed.
    pub(crate) fuel: Option<u64>,
    /// True if the tests were not executed, since nothing has changed.
    #[serde(skip)]
    pub(crate) is_cached: bool,
    /// True if another execution would end in the same way.
    #[serde(skip)]
    pub(crate) is_lasting: bool,
}

impl UnitReport {
    /// True if another execution ended in the same way. Times do not count: entries of earlier
    /// versions have those of the machine.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let tests = |unit: &Self| {
            let tests = unit.tests.iter().cloned();
            tests.map(|test| TestReport { duration_ms: 0, ..test }).collect::<Vec<_>>()
        };
        self.suite == other.suite && self.fuel == other.fuel && tests(self) == tests(other)
    }

    /// True if the file was not read to its end.
    pub(crate) fn is_broken(&self) -> bool {
        self.tests.iter().any(|test| test.id == self.suite)
    }

    pub(crate) fn is_good(&self) -> bool {
        self.tests.iter().all(|test| test.outcome.is_good())
    }
}

/// The message of a case whose file was changed by `--update`.
pub(crate) const UPDATED: &str = "updated";

/// The time that a run took by the clock of reproducible runs, which advances by a nanosecond with
/// each unit of fuel. Sleeping does not count.
pub(crate) fn clock_ms(fuel: Option<u64>) -> u64 {
    fuel.unwrap_or_default() / 1_000_000
}

impl TestReport {
    /// A report whose texts may come from a hostile program.
    pub(crate) fn new(id: &str, outcome: TestEnd, message: &str, details: &str) -> Self {
        let mut lines: Vec<String> =
            details.lines().take(MAX_LINES).map(|line| cut(line, MAX_LINE)).collect();
        if details.lines().nth(MAX_LINES).is_some() {
            lines.push("[more lines omitted]".to_owned());
        }
        let message = message.trim().lines().next().unwrap_or_default();
        Self {
            id: cut(id, MAX_ID),
            description: String::new(),
            outcome,
            message: cut(message, MAX_MESSAGE),
            details: lines,
            file: String::new(),
            line: None,
            duration_ms: 0,
        }
    }
}

/// A line without control characters, cut after some letters.
pub(crate) fn cut(line: &str, most: usize) -> String {
    let start = line.char_indices().nth(most).and_then(|(end, _)| line.get(..end));
    let kept = start.unwrap_or(line);
    let end = if start.is_some() { "..." } else { "" };
    format!("{}{end}", shown(&kept.replace('\t', "    ")))
}

/// A line that no service of continuous integration takes for a command. They look for `##[`,
/// `##vso[` and their like anywhere, and for `::` behind spaces.
pub(crate) fn defused(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    for (at, letter) in line.char_indices() {
        safe.push(letter);
        let word = line.get(at..).and_then(|rest| rest.strip_prefix("##"));
        let word = word.map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
        if word.is_some_and(|rest| rest.starts_with('[')) {
            safe.push(' ');
        }
    }
    if safe.trim_start().starts_with("::") { format!("./{safe}") } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_tests_are_cut_and_have_no_control_characters() {
        let report = TestReport::new(
            "a\u{1b}[2J\nb",
            TestEnd::Failed,
            "\n one\u{7}\ntwo",
            &"x\ty\u{202e}\n".repeat(MAX_LINES + 5),
        );
        assert_eq!(report.id, "a\\u{1b}[2J\\nb");
        assert_eq!(report.message, "one\\u{7}");
        assert_eq!(report.details.len(), MAX_LINES + 1);
        assert_eq!(report.details[0], "x    y\\u{202e}");
        assert_eq!(cut(&"é".repeat(9), 3), "ééé...");
    }

    #[test]
    fn no_line_is_a_command_of_a_service() {
        for (line, expected) in [
            ("::error::x", "./::error::x"),
            ("  ::set-env name=A::b", "./  ::set-env name=A::b"),
            ("a::b ## c", "a::b ## c"),
            ("x ##[error]y", "x # #[error]y"),
            ("###[a] ##vso[task] ##teamcity[", "## #[a] # #vso[task] # #teamcity["),
        ] {
            assert_eq!(defused(line), expected);
            assert!(!defused(line).contains("##["), "{line}");
        }
    }
}
