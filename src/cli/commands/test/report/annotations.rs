//! Annotations of GitHub Actions: one line for each failure, which GitHub shows next to the code.

use crate::cli::commands::test::report::outcomes::{TestReport, UnitReport, defused};

/// Most annotations. GitHub shows the first ten of a step.
const MOST: usize = 50;

/// Longest message, in characters.
const MAX_MESSAGE: usize = 1_000;

/// The lines of the annotations.
pub(crate) fn annotations(units: &[UnitReport]) -> Vec<String> {
    let tests = units.iter().flat_map(|unit| &unit.tests);
    tests.filter(|test| !test.outcome.is_good()).take(MOST).map(annotation).collect()
}

fn annotation(test: &TestReport) -> String {
    let line = test.line.map(|line| format!(",line={line}")).unwrap_or_default();
    let message: String = test.message.chars().take(MAX_MESSAGE).collect();
    let message = defused(&message);
    let (file, title) = (property(&test.file), property(&defused(&test.id)));
    format!("::error file={file}{line},title={title}::{}", data(&message))
}

/// A text that cannot end the line of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A text that cannot end a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::test::report::outcomes::TestEnd;

    #[test]
    fn a_test_cannot_write_annotations_of_its_own() {
        let mut test = TestReport::new(
            "t.py::a,line=1::x%0A",
            TestEnd::Failed,
            "50% ::error::x ##[error]\n::error::y",
            "",
        );
        test.file = "a:b,c.py".to_owned();
        test.line = Some(7);
        let passed = TestReport::new("t.py::b", TestEnd::Passed, "", "");
        let unit = UnitReport {
            suite: String::new(),
            tests: vec![test, passed],
            fuel: None,
            is_cached: false,
            is_lasting: true,
        };
        assert_eq!(
            annotations(&[unit]),
            [
                "::error file=a%3Ab%2Cc.py,line=7,title=t.py%3A%3Aa%2Cline=1%3A%3Ax%250A::50%25 ::error::x # #[error]"
            ]
        );
    }
}
