//! Runs one case of a skill, and updates what it expects.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use crate::assembly::OwnBlobs;
use crate::cli::commands::skill_cases::case_file::{MAX_CASE, TESTS};
use crate::cli::commands::skill_cases::run_case::run_case;
use crate::cli::commands::skill_cases::skill_tests::{SkillCase, SkillTests};
use crate::cli::commands::skill_cases::test_case::{CaseResult, TestCase};
use crate::cli::commands::test::plan::{TestSession, as_typed};
use crate::cli::commands::test::report::line_diff::line_diff;
use crate::cli::commands::test::report::outcomes::{
    MAX_MESSAGE, TestEnd, TestReport, UPDATED, UnitReport, clock_ms, cut,
};
use crate::cli::commands::test::update::updated;
use crate::cli::commands::whole_file::write_whole;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;
use wardian_vocabulary::ids::Digest;

/// Ends of runs that depend on the machine. A lost worker is a `SandboxCrash`.
const PASSING: [&str; 4] = ["Timeout", "SandboxCrash", "MemoryLimit", "Cancelled"];

/// Runs a case, unless it is only to be listed.
pub(crate) async fn run_skill_case(
    place: &OwnBlobs,
    skill: &SkillTests,
    number: usize,
    session: &TestSession,
) -> Result<UnitReport, Failed> {
    let Some(SkillCase { name, digest, case }) = skill.cases.get(number) else {
        return Err(Failed::because("a case was lost"));
    };
    let path = skill.folder.join(TESTS).join(format!("{name}.json"));
    let typed = as_typed(&path, &session.plan.here);
    let id = format!("{}::{name}", skill.name);
    let report = |outcome, message: &str, details: &str, is_lasting| {
        let mut test = TestReport::new(&id, outcome, message, details);
        test.file.clone_from(&typed);
        test.description = cut(&case.description, MAX_MESSAGE);
        UnitReport {
            suite: skill.name.clone(),
            tests: vec![test],
            fuel: None,
            is_cached: false,
            is_lasting,
        }
    };
    if session.list {
        return Ok(report(TestEnd::Skipped, "", "", false));
    }
    let run = Box::pin(run_case(place, skill, case, &session.options)).await?;
    let is_lasting = run.ended.as_ref().is_some_and(lasts);
    let mut unit = if run.differences.is_empty() {
        report(TestEnd::Passed, "", "", is_lasting)
    } else if let Some(only) = run.ended.as_ref().filter(|_| session.update && is_lasting)
        && let Some(accepted) = accept((&path, &typed, *digest), case, only, &run.differences)?
    {
        let Accepted { remaining, changes } = accepted;
        match remaining.is_empty() {
            true => report(TestEnd::Passed, UPDATED, &changes, false),
            false => {
                let details = [remaining.as_str(), changes.as_str()].join("\n");
                report(TestEnd::Failed, "`--update` changes only outputs", details.trim(), false)
            }
        }
    } else {
        let diff = run.ended.as_ref().and_then(|ended| diff_of(case, &ended.output));
        let details = [run.differences.as_slice(), diff.as_deref().unwrap_or_default()].concat();
        let first = run.differences.first().map(String::as_str).unwrap_or_default();
        report(TestEnd::Failed, first, &details.join("\n"), false)
    };
    unit.tests.iter_mut().for_each(|test| test.duration_ms = clock_ms(run.fuel));
    unit.fuel = run.fuel;
    Ok(unit)
}

/// True if another execution ends in the same way.
fn lasts(ended: &CaseResult) -> bool {
    ended.error.as_ref().is_none_or(|(kind, _)| !PASSING.contains(&kind.as_str()))
}

/// What became of a case that was updated.
struct Accepted {
    /// The differences that are not differences of outputs.
    remaining: String,
    /// The lines of the file that were changed.
    changes: String,
}

/// Writes the output of a result into the file of its case. `None` if the case expects no output.
fn accept(
    (path, typed, digest): (&Path, &str, Digest),
    case: &TestCase,
    ended: &CaseResult,
    differences: &[String],
) -> Result<Option<Accepted>, Failed> {
    let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
    if case.expect.status != ended.status {
        let remaining = differences.join("\n");
        return Ok(Some(Accepted { remaining, changes: String::new() }));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|fault| named(&fault))?;
    file.take(MAX_CASE).read_to_string(&mut text).map_err(|fault| named(&fault))?;
    if Digest::of(text.as_bytes()) != digest {
        let path = shown(&path.display().to_string());
        return Err(Failed::usage(format!("{path}: changed while its test ran")));
    }
    let Some(new) = updated(&text, &ended.output) else { return Ok(None) };
    let mut changes = String::new();
    if new != text {
        write_whole(path, new.as_bytes())?;
        let lines = line_diff(&text, &new).unwrap_or_default();
        changes = format!("{}, - as it was, + as it is now:\n", shown(typed));
        changes.push_str(&lines.join("\n"));
    }
    let rest = differences.iter().filter(|line| !line.starts_with("output"));
    let remaining = rest.cloned().collect::<Vec<_>>().join("\n");
    Ok(Some(Accepted { remaining, changes }))
}

/// The lines that differ, if the values are larger than a line.
fn diff_of(case: &TestCase, got: &Value) -> Option<Vec<String>> {
    let expected = case.expect.output.as_ref()?;
    let old = serde_json::to_string_pretty(expected).ok()?;
    let new = serde_json::to_string_pretty(&comparable(expected, got)).ok()?;
    if old == new || old.lines().count().max(new.lines().count()) < 3 {
        return None;
    }
    let mut lines = vec!["the output, - as expected, + as it is:".to_owned()];
    lines.extend(line_diff(&old, &new)?);
    Some(lines)
}

/// The part of an output that a case compares: members that it does not expect are left out.
fn comparable(expected: &Value, got: &Value) -> Value {
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => {
            let members = got.iter().filter_map(|(name, value)| {
                Some((name.clone(), comparable(expected.get(name)?, value)))
            });
            Value::Object(members.collect())
        }
        (Value::Array(expected), Value::Array(got)) => {
            let pairs = got.iter().enumerate().map(|(at, value)| match expected.get(at) {
                Some(expected) => comparable(expected, value),
                None => value.clone(),
            });
            Value::Array(pairs.collect())
        }
        _ => got.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::skill_cases::test_case::ExpectedStatus;

    #[test]
    fn ends_that_the_machine_decides_do_not_last() {
        let ended = |kind: Option<&str>| CaseResult {
            status: kind.map_or(ExpectedStatus::Completed, |_| ExpectedStatus::Failed),
            summary: String::new(),
            output: Value::Null,
            error: kind.map(|kind| (kind.to_owned(), String::new())),
            blobs: Vec::new(),
        };
        for lasting in [None, Some("ValueError"), Some("FuelExhausted"), Some("StackOverflow")] {
            assert!(lasts(&ended(lasting)), "{lasting:?}");
        }
        for passing in ["Timeout", "SandboxCrash", "MemoryLimit", "Cancelled"] {
            assert!(!lasts(&ended(Some(passing))), "{passing}");
        }
    }
}
