//! The report for services of continuous integration, as the XML of `JUnit`.

use std::fmt::Write as _;
use std::path::Path;

use crate::cli::commands::test::report::outcomes::{TestEnd, TestReport, UnitReport};
use crate::cli::commands::test::report::xml::escaped;
use crate::cli::commands::whole_file::write_whole;
use crate::cli::failed::Failed;

/// Writes the report. A reader sees the whole file or the one before.
pub(crate) fn write_junit(path: &Path, units: &[UnitReport]) -> Result<(), Failed> {
    write_whole(path, xml(units).as_bytes())
}

fn xml(units: &[UnitReport]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let all: Vec<&TestReport> = units.iter().flat_map(|unit| &unit.tests).collect();
    text.push_str(&opened("testsuites", "wardian test", &all));
    let mut rest = units;
    while let Some(first) = rest.first() {
        // Units of one suite stand next to each other.
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
    let mut text = format!(
        "<{tag} name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{}\"",
        escaped(name),
        tests.len(),
        seconds(ms)
    );
    if tag == "testsuite" {
        let skipped = count(&|end| matches!(end, TestEnd::Skipped | TestEnd::Xfailed));
        // Writing to a string cannot fail.
        write!(text, " skipped=\"{skipped}\"").ok();
        let file = tests.first().map_or("", |test| test.file.as_str());
        if !file.is_empty() && tests.iter().all(|test| test.file == file) {
            write!(text, " file=\"{}\"", escaped(file)).ok();
        }
    }
    text + ">\n"
}

fn case(suite: &str, test: &TestReport) -> String {
    let name = test.id.strip_prefix(suite).and_then(|rest| rest.strip_prefix("::"));
    let name = name.unwrap_or(&test.id);
    let (class, name) = match name.rsplit_once("::") {
        Some((class, name)) => (format!("{suite}::{class}"), name),
        None => (suite.to_owned(), name),
    };
    let mut text = format!(
        "<testcase classname=\"{}\" name=\"{}\" time=\"{}\"",
        escaped(&class),
        escaped(name),
        seconds(test.duration_ms)
    );
    let inner = match test.outcome {
        TestEnd::Passed | TestEnd::Xpassed => return text + "/>\n",
        TestEnd::Failed => "failure",
        TestEnd::Error => "error",
        TestEnd::Skipped | TestEnd::Xfailed => {
            // Writing to a string cannot fail.
            writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(&test.message)).ok();
            return text;
        }
    };
    // The schemas know no place of a case, so it begins the text.
    let place = test.line.map(|line| format!("{}:{line}\n", test.file)).unwrap_or_default();
    let details = escaped(&format!("{place}{}", test.details.join("\n")));
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
        <testsuites name="wardian test" tests="3" failures="1" errors="0" time="1.234">
        <testsuite name="t.py" tests="2" failures="1" errors="0" time="1.234" skipped="0">
        <testcase classname="t.py::A" name="test_x[&lt;a&amp;&quot;b&gt;]" time="1.234"><failure message="]]&gt; \u{1b}[1m">t.py:3&#10;one&#10;&lt;/failure&gt;&lt;testcase name=&apos;forged&apos;/&gt;</failure></testcase>
        <testcase classname="t.py" name="b" time="0.000"/>
        </testsuite>
        <testsuite name="s" tests="1" failures="0" errors="0" time="0.000" skipped="1">
        <testcase classname="s" name="c" time="0.000"><skipped message="why"/></testcase>
        </testsuite>
        </testsuites>
        "#);
    }

    /// An element, its required attributes, its other ones, and its children.
    type Row = (&'static str, Names, Names, Names);
    type Names = &'static [&'static str];

    /// What readers of such reports accept: for each element its required attributes, its other
    /// attributes, and its children. The strictest of them is the schema `junit-10` of the xUnit
    /// plugin of Jenkins; GitLab's documentation names a part of it.
    const SCHEMA: &[Row] = &[
        ("testsuites", &[], &["name", "time", "tests", "failures", "errors"], &["testsuite"]),
        (
            "testsuite",
            &["name", "tests", "failures", "errors"],
            &["time", "skipped", "timestamp", "hostname", "id", "package", "file", "url"],
            &["testsuite", "properties", "testcase", "system-out", "system-err"],
        ),
        (
            "testcase",
            &["name", "classname", "time"],
            &["group"],
            &["skipped", "error", "failure", "system-out", "system-err"],
        ),
        ("failure", &[], &["type", "message"], &[]),
        ("error", &[], &["type", "message"], &[]),
        ("skipped", &[], &["type", "message"], &[]),
    ];

    /// Names of the attributes of a tag such as `a x="1" y="2"`.
    fn attributes(tag: &str) -> Vec<&str> {
        let mut names = Vec::new();
        let mut rest = tag.split_once(' ').map_or("", |(_, rest)| rest);
        while let Some((name, after)) = rest.split_once("=\"") {
            names.push(name.trim());
            rest = after.split_once('"').unwrap().1;
        }
        names
    }

    /// The faults of a report.
    fn faults(xml: &str) -> Vec<String> {
        let (mut open, mut faults): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for tag in xml.split('<').skip(1).map(|rest| rest.split_once('>').unwrap().0) {
            if tag.starts_with('?') {
                continue;
            }
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "the elements are nested");
                continue;
            }
            let name = tag.split([' ', '/']).next().unwrap();
            let row = SCHEMA.iter().find(|row| row.0 == name);
            let Some((_, required, optional, _)) = row else {
                faults.push(format!("there is no element {name}"));
                continue;
            };
            let parent = open.last().map(String::as_str);
            let allowed = SCHEMA.iter().find(|row| Some(row.0) == parent).map(|row| row.3);
            if !allowed.map_or(name == "testsuites", |children| children.contains(&name)) {
                faults.push(format!("{name} in {parent:?}"));
            }
            let has = attributes(tag.trim_end_matches('/'));
            faults.extend(required.iter().filter(|n| !has.contains(n)).map(|n| format!("no {n}")));
            let known = |n: &&&str| !required.contains(n) && !optional.contains(n);
            faults.extend(has.iter().filter(known).map(|n| format!("{n} of {name}")));
            if !tag.ends_with('/') {
                open.push(name.to_owned());
            }
        }
        assert!(open.is_empty(), "{open:?}");
        faults
    }

    #[test]
    fn reports_fit_the_schemas_of_their_readers() {
        let ends = [
            TestEnd::Passed,
            TestEnd::Failed,
            TestEnd::Error,
            TestEnd::Skipped,
            TestEnd::Xfailed,
            TestEnd::Xpassed,
        ];
        let tests = ends.map(|end| {
            let mut test = TestReport::new("t.py::A::x", end, "a \"<b>\" c", "d\n</e>");
            (test.line, test.file) = (Some(3), "t.py".to_owned());
            test
        });
        let xml = xml(&[unit("t.py", tests.to_vec()), unit("s", Vec::new())]);
        assert_eq!(faults(&xml), Vec::<String>::new(), "{xml}");
        assert!(xml.contains(" file=\"t.py\"") && xml.contains(">t.py:3&#10;d"), "{xml}");
        let wrong =
            "<testsuites skipped=\"1\"><testcase name=\"x\" time=\"1\" line=\"2\"/></testsuites>";
        let expected = [
            "skipped of testsuites",
            "testcase in Some(\"testsuites\")",
            "no classname",
            "line of testcase",
        ];
        assert_eq!(faults(wrong), expected);
    }
}
