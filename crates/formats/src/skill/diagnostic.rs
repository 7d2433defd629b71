//! Diagnostics of skills: the problem, its place, and a correction.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

use crate::skill::text::{masked, printable};

/// Most findings of each severity that are kept for one file.
const MAX_FINDINGS: usize = 50;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The skill is not served, or cannot work.
    Error,
    /// The skill is served, but probably does not behave as its author wants.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillPosition {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// The bytes that the finding is about.
    pub span: Range<usize>,
}

/// One finding about one file of a skill.
///
/// Its `Display` is one line: `skill.toml:3:11: error: the problem; the correction`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// Path below the skill's root; `.` for the folder itself.
    pub file: String,
    /// The place in the file; `None` if the finding is about the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SkillPosition>,
    /// Stable name of the rule, such as `invalid-version`.
    pub code: &'static str,
    /// The problem.
    pub message: String,
    /// A correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding about a file as a whole.
    #[must_use]
    pub fn about(severity: Severity, file: &str, problem: Problem) -> Self {
        let Problem { code, message, help } = problem;
        let (message, help) = (printable(&message), help.map(|help| printable(&help)));
        Self { severity, file: printable(file), place: None, code, message, help }
    }

    /// The same finding at a place in the text of its file.
    #[must_use]
    pub fn at(mut self, text: &str, span: &Range<usize>) -> Self {
        self.place = Some(place(text, span));
        self
    }

    /// True if the finding prevents the skill from being served or from working.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Returns a report that points into `source`, the text of the file, for people at a
    /// terminal. Characters of the source that would not show are masked.
    #[must_use]
    pub fn to_report(&self, source: Option<&str>) -> miette::Report {
        let severity = match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        };
        let mut shown = miette::MietteDiagnostic::new(self.message.clone())
            .with_code(self.code)
            .with_severity(severity);
        if let Some(help) = &self.help {
            shown = shown.with_help(help.clone());
        }
        match (&self.place, source) {
            (Some(place), Some(source)) if source.len() >= place.span.end => {
                let label = miette::LabeledSpan::new_with_span(None, place.span.clone());
                let source = miette::NamedSource::new(&self.file, masked(source));
                miette::Report::new(shown.with_label(label)).with_source_code(source)
            }
            _ => {
                shown.message = format!("{}: {}", self.file, shown.message);
                miette::Report::new(shown)
            }
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = &self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": {}: {}", self.severity, self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

/// A problem and its correction, without a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Problem {
    /// A problem without a correction.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None }
    }

    /// Adds how to correct it.
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Adds how to correct it, if that is known.
    pub fn maybe_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }
}

/// Collects the findings about one file.
#[derive(Debug)]
pub struct Findings<'t> {
    file: &'static str,
    text: &'t str,
    found: Vec<Diagnostic>,
    has_errors: bool,
}

impl<'t> Findings<'t> {
    pub(crate) const fn new(file: &'static str, text: &'t str) -> Self {
        Self { file, text, found: Vec::new(), has_errors: false }
    }

    /// The text that spans refer to.
    pub const fn text(&self) -> &'t str {
        self.text
    }

    pub(crate) fn error(&mut self, span: &Range<usize>, problem: Problem) {
        self.has_errors = true;
        self.add(Severity::Error, Some(span), problem);
    }

    pub(crate) fn warning(&mut self, span: &Range<usize>, problem: Problem) {
        self.add(Severity::Warning, Some(span), problem);
    }

    /// An error without a place, such as a missing key.
    pub(crate) fn file_error(&mut self, problem: Problem) {
        self.has_errors = true;
        self.add(Severity::Error, None, problem);
    }

    pub(crate) const fn has_errors(&self) -> bool {
        self.has_errors
    }

    /// Returns all findings: first those about the whole file, then the others by place.
    pub(crate) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|one| one.place.as_ref().map(|place| place.span.start));
        self.found
    }

    fn add(&mut self, severity: Severity, span: Option<&Range<usize>>, problem: Problem) {
        let same = self.found.iter().filter(|one| one.severity == severity).count();
        if same < MAX_FINDINGS {
            let mut diagnostic = Diagnostic::about(severity, self.file, problem);
            diagnostic.place = span.map(|span| place(self.text, span));
            self.found.push(diagnostic);
        }
    }
}

/// Finds the line and column where `span` begins.
pub fn place(text: &str, span: &Range<usize>) -> SkillPosition {
    let (start, end) = (text.floor_char_boundary(span.start), text.ceil_char_boundary(span.end));
    let before = text.get(..start).unwrap_or_default().trim_start_matches('\u{feff}');
    let (lines, last) = match before.rsplit_once('\n') {
        Some((above, last)) => (above.matches('\n').count() + 2, last),
        None => (1, before),
    };
    SkillPosition { line: lines, column: last.chars().count() + 1, span: start..end.max(start) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(text: &str, span: Range<usize>) -> Diagnostic {
        let mut findings = Findings::new("skill.toml", text);
        findings
            .error(&span, Problem::new("invalid-kind", "`kind` is odd").help("write \"action\""));
        findings.into_diagnostics().remove(0)
    }

    #[test]
    fn one_line_has_the_place_the_problem_and_the_correction() {
        let shown = sample("name = 1\r\nkind = \"é\" # x", 17..21).to_string();
        assert_eq!(shown, "skill.toml:2:8: error: `kind` is odd; write \"action\"");
    }

    #[test]
    fn columns_count_characters_and_no_byte_order_mark() {
        assert_eq!(place("\u{feff}ab", &(4..5)).column, 2);
        assert_eq!(place("éé = 1", &(7..8)).column, 6);
        assert_eq!(place("a\n", &(2..2)), SkillPosition { line: 2, column: 1, span: 2..2 });
        assert_eq!(place("é", &(1..99)), SkillPosition { line: 1, column: 1, span: 0..2 });
    }

    #[test]
    fn a_report_shows_the_line_but_no_escape_sequence() {
        let text = "kind = 1 # \u{1b}[31m\u{202e}";
        let report = sample(text, 7..8).to_report(Some(text));
        let mut shown = String::new();
        let theme = miette::GraphicalTheme::unicode_nocolor();
        miette::GraphicalReportHandler::new_themed(theme)
            .render_report(&mut shown, report.as_ref())
            .unwrap();
        insta::assert_snapshot!(shown.trim_end(), @r#"
        invalid-kind

          × `kind` is odd
           ╭─[skill.toml:1:8]
         1 │ kind = 1 # ?[31m�
           ·        ─
           ╰────
          help: write "action"
        "#);
    }

    #[test]
    fn findings_are_bounded_and_warnings_never_replace_an_error() {
        let mut findings = Findings::new("skill.toml", "");
        for _ in 0..2 * MAX_FINDINGS {
            findings.warning(&(0..0), Problem::new("x", "x"));
        }
        assert!(!findings.has_errors());
        findings.error(&(0..0), Problem::new("x", "x"));
        assert!(findings.has_errors());
        assert_eq!(findings.into_diagnostics().len(), MAX_FINDINGS + 1);
    }

    proptest! {
        #[test]
        fn a_place_is_always_within_the_text(text in any::<String>(), a in 0_usize..100, b in 0_usize..100) {
            let found = place(&text, &(a..b));
            prop_assert!(text.get(found.span).is_some());
            prop_assert!(found.line >= 1 && found.column >= 1);
        }
    }
}
