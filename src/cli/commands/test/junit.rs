//! The report for services of continuous integration, as the XML of `JUnit`.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::cli::commands::test::report::{TestEnd, TestReport, UnitReport};
use crate::cli::commands::xml::escaped;
use crate::cli::failed::Failed;

/// Writes the report. A reader sees the whole file or the one before.
pub(crate) fn write_junit(path: &Path, units: &[UnitReport]) -> Result<(), Failed> {
    write_whole(path, xml(units).as_bytes())
}

/// Writes a file beside its place, and moves it there.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> Result<(), Failed> {
    let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mode = std::fs::metadata(path).map_or(0o644, |there| there.permissions().mode() & 0o777);
    let mut file = NamedTempFile::new_in(folder).map_err(|fault| named(&fault))?;
    file.write_all(content)
        .and_then(|()| file.as_file().set_permissions(Permissions::from_mode(mode)))
        .map_err(|fault| named(&fault))?;
    file.persist(path).map(drop).map_err(|fault| named(&fault.error))
}

fn xml(units: &[UnitReport]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let all: Vec<&TestReport> = units.iter().flat_map(|unit| &unit.tests).collect();
    text.push_str(&opened("testsuites", "wardian test", &all));
    let mut rest = units;
    while let Some(first) = rest.first() {
        // Units of one suite stand beside each other.
        let count = rest.iter().take_while(|unit| unit.suite == first.suite).count();
        let (suite, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        rest = later;
        let tests: Vec<&TestReport> = suite.iter().flat_map(|unit| &unit.tests).collect();
        text.push_str(&opened("testsuite", &first.suite, &tests));
        tests.iter().for_each(|test| text.push_str(&case(&first.suite, test)));
        text.push_str("</testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn opened(tag: &str, name: &str, tests: &[&TestReport]) -> String {
    let count = |end: &dyn Fn(TestEnd) -> bool| tests.iter().filter(|one| end(one.outcome)).count();
    let ms: u64 = tests.iter().map(|test| test.duration_ms).fold(0, u64::saturating_add);
    let (failures, errors) =
        (count(&|end| end == TestEnd::Failed), count(&|end| end == TestEnd::Error));
    let skipped = count(&|end| matches!(end, TestEnd::Skipped | TestEnd::Xfailed));
    format!(
        "<{tag} name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" \
         skipped=\"{skipped}\" time=\"{}\">\n",
        escaped(name),
        tests.len(),
        seconds(ms)
    )
}

fn case(suite: &str, test: &TestReport) -> String {
    let name = test.id.strip_prefix(suite).and_then(|rest| rest.strip_prefix("::"));
    let name = name.unwrap_or(&test.id);
    let (class, name) = match name.rsplit_once("::") {
        Some((class, name)) => (format!("{suite}::{class}"), name),
        None => (suite.to_owned(), name),
    };
    let mut text = format!(
        "<testcase classname=\"{}\" name=\"{}\" file=\"{}\"",
        escaped(&class),
        escaped(name),
        escaped(&test.file)
    );
    if let Some(line) = test.line {
        // Writing to a string cannot fail.
        write!(text, " line=\"{line}\"").ok();
    }
    write!(text, " time=\"{}\"", seconds(test.duration_ms)).ok();
    let inner = match test.outcome {
        TestEnd::Passed | TestEnd::Xpassed => return text + "/>\n",
        TestEnd::Failed => "failure",
        TestEnd::Error => "error",
        TestEnd::Skipped | TestEnd::Xfailed => {
            writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(&test.message)).ok();
            return text;
        }
    };
    let details = escaped(&test.details.join("\n"));
    let message = escaped(&test.message);
    writeln!(text, "><{inner} message=\"{message}\">{details}</{inner}></testcase>").ok();
    text
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(suite: &str, tests: Vec<TestReport>) -> UnitReport {
        UnitReport {
            suite: suite.to_owned(),
            tests,
            fuel: None,
            is_cached: false,
            is_lasting: true,
        }
    }

    #[test]
    fn reports_are_written_as_junit_reads_them() {
        let mut failed = TestReport::new(
            "t.py::A::test_x[<a&\"b>]",
            TestEnd::Failed,
            "]]> \u{1b}[1m",
            "one\n</failure><testcase name='forged'/>",
        );
        failed.line = Some(3);
        failed.duration_ms = 1_234;
        failed.file = "t.py".to_owned();
        let units = [
            unit("t.py", vec![failed, TestReport::new("t.py::b", TestEnd::Passed, "", "")]),
            unit("s", vec![TestReport::new("s::c", TestEnd::Skipped, "why", "")]),
        ];
        insta::assert_snapshot!(xml(&units), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="wardian test" tests="3" failures="1" errors="0" skipped="1" time="1.234">
        <testsuite name="t.py" tests="2" failures="1" errors="0" skipped="0" time="1.234">
        <testcase classname="t.py::A" name="test_x[&lt;a&amp;&quot;b&gt;]" file="t.py" line="3" time="1.234"><failure message="]]&gt; \u{1b}[1m">one&#10;&lt;/failure&gt;&lt;testcase name=&apos;forged&apos;/&gt;</failure></testcase>
        <testcase classname="t.py" name="b" file="" time="0.000"/>
        </testsuite>
        <testsuite name="s" tests="1" failures="0" errors="0" skipped="1" time="0.000">
        <testcase classname="s" name="c" file="" time="0.000"><skipped message="why"/></testcase>
        </testsuite>
        </testsuites>
        "#);
    }
}
