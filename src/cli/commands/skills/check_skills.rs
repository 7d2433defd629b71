//! `wardian skills check`: diagnostics of skills, for their authors.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::assembly::{is_bundled, open_trust};
use crate::cli::commands::skill_cases::case_file::check_tests;
use crate::cli::commands::skills::args::DeniedLevel;
use crate::cli::commands::skills::check_python::{Looked, check_python};
use crate::cli::commands::skills::scan_report::{is_denied, report_scan, tell_unseen};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_error, print_json, print_line, shown};
use wardian_config::Config;
use wardian_formats::skill::diagnostic::{Diagnostic, Problem, Severity};
use wardian_skills::registry::{FolderCheck, check_signed_folder};
use wardian_skills::scan::{SkillScan, findings_of_folder};
use wardian_stores::secrets::Secrets;

/// One skill's findings, for programs.
#[derive(Serialize)]
struct Finding<'a> {
    folder: &'a str,
    /// Name and version, if there are no errors.
    skill: Option<String>,
    /// The trusted key that has signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<&'a str>,
    /// The reason why the Python was not checked; `None` if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    python_not_checked: Option<&'a str>,
    /// Secrets that the skill declares and that are not available here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets_missing: Vec<String>,
    diagnostics: &'a [Diagnostic],
    /// What its content would do, and what it tells a model.
    scan: &'a SkillScan,
}

/// Checks each folder as a skill.
pub(crate) fn check_skills(
    config: Config,
    folders: &[PathBuf],
    deny: Option<DeniedLevel>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let trust = open_trust(&config)?;
    let (mut names, mut checks, mut scans) = (Vec::new(), Vec::new(), Vec::new());
    for folder in folders {
        let place = whole(folder)?;
        let mut check =
            check_signed_folder(&place, &trust).map_err(|e| Failed::named(folder.display(), &e))?;
        scans.push(findings_of_folder(&place).map_err(|e| Failed::named(folder.display(), &e))?);
        check.diagnostics.extend(bundled_name(&check));
        let tests = check.snapshot.as_deref().map(check_tests);
        check.diagnostics.extend(tests.unwrap_or_default());
        names.push(folder.display().to_string());
        checks.push(check);
    }
    let secrets = Secrets::new(&config.secrets);
    let looked = check_python(config, &mut checks)?;
    let not_checked = match &looked {
        Looked::Yes => None,
        Looked::No(why) => Some(why.as_str()),
        Looked::Interrupted => return Ok(Exit::Interrupted),
    };
    if as_json {
        let each = names.iter().zip(&checks).zip(&scans);
        let findings = each.map(|((folder, check), scan)| Finding {
            folder,
            skill: name_of(check),
            signer: signer_of(check),
            python_not_checked: not_checked,
            secrets_missing: missing_secrets(check, &secrets),
            diagnostics: &check.diagnostics,
            scan,
        });
        print_json(&findings.collect::<Vec<_>>());
    } else {
        for ((folder, check), scan) in names.iter().zip(&checks).zip(&scans) {
            report(folder, check);
            report_scan(scan);
            let missing = missing_secrets(check, &secrets).join(", ");
            if !missing.is_empty() {
                note(&format!(
                    "{folder}: it cannot be executed here: `wardian secrets list` does not list \
                    {missing}"
                ));
            }
        }
        if let Some(why) = not_checked {
            note(&format!("the Python of the skills was not checked: {}", shown(why)));
        }
    }
    let are_good = checks.iter().all(|check| name_of(check).is_some());
    names.iter().zip(&scans).for_each(|(folder, scan)| tell_unseen(folder, scan, deny));
    let is_denied = scans.iter().any(|scan| is_denied(scan, deny));
    Ok(if are_good && !is_denied { Exit::Done } else { Exit::GuestFailed })
}

/// Warns that a skill replaces a bundled one.
fn bundled_name(check: &FolderCheck) -> Option<Diagnostic> {
    let name = check.snapshot.as_ref()?.name();
    is_bundled(name.as_str()).then(|| {
        let message = format!("this skill replaces the bundled skill `{name}`");
        let help = "rename it unless this is intended";
        let problem = Problem::new("bundled-name", message).help(help);
        Diagnostic::about(Severity::Warning, ".", problem)
    })
}

/// Names of the secrets that the skill declares and that no provider has. That is not a mistake of
/// the skill: its author need not have them.
fn missing_secrets(check: &FolderCheck, secrets: &Secrets) -> Vec<String> {
    let names = check.snapshot.iter().flat_map(|skill| skill.manifest().permissions.secret_names());
    let is_missing = |name: &&str| !matches!(secrets.has(name), Ok(true));
    names.filter(is_missing).map(str::to_owned).collect()
}

/// Resolves the folder to its own name, which `.` does not have.
#[expect(clippy::disallowed_methods, reason = "the user's own folder; nothing is contained in it")]
fn whole(folder: &Path) -> Result<PathBuf, Failed> {
    std::fs::canonicalize(folder).map_err(|fault| Failed::named(folder.display(), &fault))
}

fn name_of(check: &FolderCheck) -> Option<String> {
    let has_errors = check.diagnostics.iter().any(Diagnostic::is_error);
    let skill = check.snapshot.as_ref().filter(|_| !has_errors)?;
    Some(format!("{}@{}", skill.name(), skill.version()))
}

/// The trusted key that has signed the skill.
fn signer_of(check: &FolderCheck) -> Option<&str> {
    check.snapshot.as_ref()?.signer().map(|signer| signer.key.as_str())
}

fn report(folder: &str, check: &FolderCheck) {
    for report in check.reports() {
        print_error(&format!("{report:?}\n"));
    }
    let errors = check.diagnostics.iter().filter(|finding| finding.is_error()).count();
    let warnings = counted(check.diagnostics.len().saturating_sub(errors), "warning");
    match name_of(check) {
        Some(skill) => {
            let signer = signer_of(check).map(|key| format!(", signed by {key}"));
            let signer = signer.unwrap_or_default();
            print_line(&format!("{folder}: `{skill}` is valid ({warnings}){signer}"));
        }
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
    use wardian_config::{Flags, Surroundings};

    #[test]
    fn good_skills_bad_skills_and_no_skills_end_differently() {
        let parent = tempfile::tempdir().unwrap();
        crate::cli::commands::skills::new_skill::new_skill("a.b", false, parent.path()).unwrap();
        let (good, bad) = (parent.path().join("a.b"), parent.path().join("bad"));
        std::fs::create_dir(&bad).unwrap();
        // There is no engine here. This is reported and is not an error of the skill.
        let surroundings = Surroundings {
            data_dir: Some(parent.path().join("data")),
            cache_dir: Some(parent.path().join("cache")),
            ..Surroundings::default()
        };
        let config = Config::load(&surroundings, Flags::default()).unwrap();
        let check = |folders: &[PathBuf], as_json| {
            check_skills(config.clone(), folders, Some(DeniedLevel::Danger), as_json)
        };
        assert_eq!(check(std::slice::from_ref(&good), false), Ok(Exit::Done));
        assert_eq!(check(&[good.clone(), bad], true), Ok(Exit::GuestFailed));
        let failed = check(&[good, parent.path().join("none")], false).unwrap_err();
        assert_eq!(failed.exit, Exit::WrongUsage);
    }
}
