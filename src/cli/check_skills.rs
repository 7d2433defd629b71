//! `wardian skills check`: what is wrong with skills, for those who write them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::output::{note, print_error, print_json, print_line};
use crate::registry::{FolderCheck, check_folder};
use crate::skill::diagnostic::Diagnostic;

/// One skill's findings, for programs.
#[derive(Serialize)]
struct Finding<'a> {
    folder: String,
    /// Name and version, if there are no errors.
    skill: Option<String>,
    diagnostics: &'a [Diagnostic],
}

/// Checks each folder as a skill.
pub(crate) fn check_skills(folders: &[PathBuf], as_json: bool) -> Result<Exit, Failed> {
    let mut checks = Vec::new();
    for folder in folders {
        let check =
            check_folder(&whole(folder)?).map_err(|e| Failed::named(folder.display(), &e))?;
        checks.push((folder.display().to_string(), check));
    }
    if as_json {
        let findings = checks.iter().map(|(folder, check)| Finding {
            folder: folder.clone(),
            skill: name_of(check),
            diagnostics: &check.diagnostics,
        });
        print_json(&findings.collect::<Vec<_>>());
    } else {
        for (folder, check) in &checks {
            report(folder, check);
        }
    }
    let are_good = checks.iter().all(|(_, check)| check.snapshot.is_some());
    Ok(if are_good { Exit::Done } else { Exit::GuestFailed })
}

/// The folder under its own name: `.` has none.
#[expect(clippy::disallowed_methods, reason = "the user's own folder; nothing is contained in it")]
fn whole(folder: &Path) -> Result<PathBuf, Failed> {
    std::fs::canonicalize(folder).map_err(|fault| Failed::named(folder.display(), &fault))
}

fn name_of(check: &FolderCheck) -> Option<String> {
    let skill = check.snapshot.as_ref()?;
    Some(format!("{}@{}", skill.name(), skill.version()))
}

fn report(folder: &str, check: &FolderCheck) {
    for report in check.reports() {
        print_error(&format!("{report:?}\n"));
    }
    let errors = check.diagnostics.iter().filter(|finding| finding.is_error()).count();
    let warnings = counted(check.diagnostics.len().saturating_sub(errors), "warning");
    match name_of(check) {
        Some(skill) => print_line(&format!("{folder}: `{skill}` is good ({warnings})")),
        None => note(&format!("{folder}: {}, {warnings}", counted(errors, "error"))),
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_skills_bad_skills_and_no_skills_end_differently() {
        let parent = tempfile::tempdir().unwrap();
        crate::cli::new_skill::new_skill("a.b", false, parent.path()).unwrap();
        let (good, bad) = (parent.path().join("a.b"), parent.path().join("bad"));
        std::fs::create_dir(&bad).unwrap();
        assert_eq!(check_skills(std::slice::from_ref(&good), false), Ok(Exit::Done));
        assert_eq!(check_skills(&[good.clone(), bad], true), Ok(Exit::GuestFailed));
        let failed = check_skills(&[good, parent.path().join("none")], false).unwrap_err();
        assert_eq!(failed.exit, Exit::WrongUsage);
    }
}
