//! The end of `wardian test`: its reports and its exit code.

use std::path::Path;

use serde_json::json;

use crate::cli::commands::test::report::annotations::annotations;
use crate::cli::commands::test::report::junit::write_junit;
use crate::cli::commands::test::report::outcomes::{UnitReport, defused};
use crate::cli::commands::test::report::printer::{EndCounts, print_results};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_line, shown};
use crate::cli::test_args::TestArgs;

/// Prints and writes what remains, and decides about the exit code.
pub(crate) fn finish(
    reports: &[UnitReport],
    without_tests: &[String],
    args: &TestArgs,
) -> Result<Exit, Failed> {
    // With a selection it is enough that one of the paths has such a test.
    let untested = if args.keyword.is_some() { &[] } else { without_tests };
    untested.iter().for_each(|path| note(&format!("{path}: has no tests")));
    let is_good = untested.is_empty() && reports.iter().all(UnitReport::is_good);
    let counts = EndCounts::of(reports);
    let tests = || reports.iter().flat_map(|unit| &unit.tests);
    if args.list {
        return Ok(list(reports, args));
    }
    if args.json {
        print_results(reports);
    } else {
        print_line(&counts.line());
    }
    if let Some(path) = &args.junit {
        write_junit(path, reports)?;
    }
    if args.annotations {
        annotations(reports).iter().for_each(|line| note(line));
    }
    if tests().next().is_none() {
        nothing_found(args)?;
        return Ok(Exit::GuestFailed);
    }
    Ok(if is_good { Exit::Done } else { Exit::GuestFailed })
}

/// Prints the names of the tests, and the failures of files that could not be read.
fn list(reports: &[UnitReport], args: &TestArgs) -> Exit {
    let broken = |unit: &&UnitReport| unit.is_broken();
    let tests = || reports.iter().filter(|unit| !broken(unit)).flat_map(|unit| &unit.tests);
    if args.json {
        let rows = tests().map(|test| json!({"id": test.id, "file": test.file, "line": test.line}));
        print_json(&json!({ "tests": rows.collect::<Vec<_>>() }));
    } else {
        tests().for_each(|test| print_line(&defused(&test.id)));
    }
    let mut exit = Exit::Done;
    for test in reports.iter().filter(broken).flat_map(|unit| &unit.tests) {
        note(&defused(&format!("error: {}: {}", test.id, test.message)));
        exit = Exit::GuestFailed;
    }
    exit
}

pub(crate) fn nothing_found(args: &TestArgs) -> Result<Exit, Failed> {
    if let Some(keyword) = &args.keyword {
        note(&format!("no test has a name that contains `{}`", shown(keyword)));
        return Ok(Exit::GuestFailed);
    }
    let paths: Vec<String> =
        args.paths.iter().map(|path| shown(&path.display().to_string())).collect();
    Err(Failed::usage(format!(
        "there are no tests in {}: no file test_*.py or *_test.py, and no case of a skill; notebooks \
         count if they are named, or with `--notebooks`",
        paths.join(", ")
    )))
}

/// A report that cannot be written is refused before the tests run.
pub(crate) fn ensure_folder_of_report(report: Option<&Path>) -> Result<(), Failed> {
    let Some(report) = report else { return Ok(()) };
    let folder = report.parent().filter(|folder| !folder.as_os_str().is_empty());
    if report.is_dir() || !folder.is_none_or(Path::is_dir) {
        let report = shown(&report.display().to_string());
        return Err(Failed::usage(format!("{report}: the report cannot be written there")));
    }
    Ok(())
}
