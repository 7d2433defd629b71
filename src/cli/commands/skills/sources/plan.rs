//! What a command is about to do: shown, agreed to, done.
//!
//! INVARIANT(whole-or-before): a skill's folder is exchanged by one step of the file system, and put back if the lock
//! cannot be written. A server that reads meanwhile sees one version or the other.

use std::fs;
use std::io::{IsTerminal as _, stdin};
use std::mem::take;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::Serialize;

use crate::cli::commands::skills::scan_report::worst_lines;
use crate::cli::commands::skills::skills_lock::{LockedOrigin, LockedSkill};
use crate::cli::commands::skills::sources::candidate::SkillCandidate;
use crate::cli::commands::skills::sources::candidate_signature::CandidateSignature;
use crate::cli::commands::skills::sources::files::{
    FileChanges, FileDigests, files_now, installed, keep, link_at,
};
use crate::cli::commands::skills::sources::place::{ASIDE, InstallPlace};
use crate::cli::commands::skills::sources::reach::is_same_source;
use crate::cli::commands::skills::sources::wants::Wants;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_error, print_line, shown};
use wardian_skills::registry::check_folder;
use wardian_skills::scan::SkillScan;
use wardian_vocabulary::ids::SkillName;

/// Paths that are shown of one skill.
const MAX_SHOWN: usize = 20;

/// What becomes of one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SkillStep {
    Install,
    Replace,
    /// The files are the same; only the lock changes.
    Pin,
    Nothing,
}

/// One skill of a plan, as programs read it.
#[derive(Debug, Serialize)]
pub(super) struct PlannedSkill {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) digest: String,
    pub(super) step: SkillStep,
    pub(super) source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<String>,
    pub(super) revision: String,
    pub(super) folder: String,
    /// Who has signed it.
    #[serde(flatten)]
    pub(super) signature: CandidateSignature,
    pub(super) wants: Wants,
    /// What changes for an installed skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) changes: Option<SkillChanges>,
    /// What should be known before: files that are left out, and warnings.
    pub(super) notes: Vec<String>,
    /// What its content would do, as far as a look at it tells.
    pub(super) scan: SkillScan,
}

/// What changes for an installed skill.
#[derive(Debug, Serialize)]
pub(super) struct SkillChanges {
    version: String,
    /// The earlier source and this one, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    files: FileChanges,
    permissions: Vec<String>,
}

/// A candidate and what becomes of it.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) candidate: SkillCandidate,
    pub(super) shown: PlannedSkill,
    /// The files that it takes the place of, as they were when the plan was made; `None` if there was nothing.
    replaced: Option<FileDigests>,
}

/// Compares a candidate with what is installed. Refuses to overwrite what is not from a source, or was changed.
pub(super) fn compare(
    place: &InstallPlace,
    mut candidate: SkillCandidate,
    is_forced: bool,
) -> Result<Item, Failed> {
    let name = candidate.name().clone();
    let folder = place.folder(&name);
    let wants = Wants::of(&candidate.snapshot);
    let mut replaced = None;
    let (step, changes) = match folder.symlink_metadata() {
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => (SkillStep::Install, None),
        Err(fault) => return Err(Failed::named(folder.display(), &fault)),
        Ok(_) => {
            if !is_forced {
                check_replaceable(place, &name)?;
                check_source(place, &candidate)?;
            }
            let now = files_now(&folder)?;
            let before = check_folder(&folder).ok().and_then(|check| check.snapshot);
            let changes = SkillChanges {
                version: before.as_ref().map(|old| old.version().to_string()).unwrap_or_default(),
                source: other_source(place, &candidate),
                files: FileChanges::between(&now, &candidate.files),
                permissions: before.map_or_else(Vec::new, |old| wants.changes(&Wants::of(&old))),
            };
            replaced = Some(link_at(&folder).unwrap_or(now));
            let is_pinned =
                place.entries.get(&name).is_some_and(|entry| *entry == locked(&candidate));
            let step = match (changes.files.are_none(), is_pinned) {
                (true, true) => SkillStep::Nothing,
                (true, false) => SkillStep::Pin,
                (false, _) => SkillStep::Replace,
            };
            (step, Some(changes))
        }
    };
    let origin = &candidate.origin;
    let shown = PlannedSkill {
        name: name.to_string(),
        version: candidate.snapshot.version().to_string(),
        digest: candidate.snapshot.digest().to_string(),
        step,
        source: origin.place(),
        reference: origin.reference.clone(),
        revision: origin.revision.clone(),
        folder: origin.folder.clone(),
        signature: candidate.signature.clone(),
        wants,
        changes,
        notes: candidate.notes.clone(),
        scan: take(&mut candidate.scan),
    };
    Ok(Item { candidate, shown, replaced })
}

/// Refuses a folder that was changed, or that no source is known for.
pub(super) fn check_replaceable(place: &InstallPlace, name: &SkillName) -> Result<(), Failed> {
    let folder = place.folder(name);
    if place.entries.get(name).and_then(|entry| entry.origin.as_ref()).is_none() {
        return Err(Failed::refused(format!(
            "`{name}` is there already, and not from a source ({}): `--force` replaces it",
            folder.display()
        )));
    }
    let changes = changed_here(place, name)?;
    if changes.is_empty() {
        return Ok(());
    }
    Err(Failed::refused(format!(
        "`{name}` was changed here: {}; `--force` discards that",
        listed(&changes).join(", ")
    )))
}

/// Refuses a skill that takes the place of one from another source.
fn check_source(place: &InstallPlace, candidate: &SkillCandidate) -> Result<(), Failed> {
    match other_source(place, candidate) {
        None => Ok(()),
        Some(sources) => Err(Failed::refused(format!(
            "`{}` comes from another source (source: {}): `--force` replaces it",
            candidate.name(),
            shown(&sources)
        ))),
    }
}

/// The source of an installed skill and that of a candidate, if they differ.
fn other_source(place: &InstallPlace, candidate: &SkillCandidate) -> Option<String> {
    let before = place.entries.get(candidate.name())?.origin.as_ref()?;
    if is_same_source(before, &candidate.origin) {
        return None;
    }
    let told = |origin: &LockedOrigin| match &origin.registry {
        Some(registry) => format!("{} of {registry}", origin.place()),
        None => origin.place(),
    };
    let (before, after) = (told(before), told(&candidate.origin));
    let more = if before == after { " with another query" } else { "" };
    Some(format!("{before} -> {after}{more}"))
}

/// What was changed in the folder of an installed skill.
pub(super) fn changed_here(place: &InstallPlace, name: &SkillName) -> Result<Vec<String>, Failed> {
    let folder = place.folder(name);
    if let Some(before) = installed(&place.dir, name) {
        return Ok(FileChanges::between(&before, &files_now(&folder)?).lines());
    }
    // Only the digest of the whole is known.
    let digest =
        check_folder(&folder).ok().and_then(|check| check.snapshot).map(|one| one.digest());
    let is_same = digest.is_some() && digest == place.entries.get(name).map(|entry| entry.digest);
    Ok(if is_same { Vec::new() } else { vec!["its digest is not that of the lock".to_owned()] })
}

fn listed(lines: &[String]) -> Vec<String> {
    let mut some: Vec<String> = lines.iter().take(MAX_SHOWN).map(|line| shown(line)).collect();
    let more = lines.len().saturating_sub(some.len());
    if more > 0 {
        some.push(format!("and {more} more"));
    }
    some
}

fn locked(candidate: &SkillCandidate) -> LockedSkill {
    LockedSkill {
        name: candidate.name().clone(),
        version: candidate.snapshot.version().clone(),
        digest: candidate.snapshot.digest(),
        signer: candidate.signature.signer().map(str::to_owned),
        origin: Some(candidate.origin.clone()),
    }
}

/// Tells what should be known about the skills of a plan before it is agreed to.
pub(super) fn tell_notes(items: &[Item]) {
    for line in items.iter().flat_map(|item| &item.candidate.notes) {
        note(&format!("note: {}", shown(line)));
    }
}

/// Shows a plan to people. Where programs read the outcome, whoever is asked sees it on standard error.
pub(super) fn show(items: &[Item], as_json: bool, is_agreed: bool) {
    let is_asked = !is_agreed && stdin().is_terminal();
    if as_json && !is_asked {
        return;
    }
    for line in items.iter().flat_map(|item| lines_of(&item.shown)) {
        if as_json {
            note(&line);
        } else {
            print_line(&line);
        }
    }
}

/// One skill of a plan as people read it.
fn lines_of(one: &PlannedSkill) -> Vec<String> {
    let what = match one.step {
        SkillStep::Install => "install",
        SkillStep::Replace => "replace",
        SkillStep::Pin => "pin",
        SkillStep::Nothing => "as installed",
    };
    let revision =
        if one.revision.is_empty() { String::new() } else { format!(" at {}", one.revision) };
    let place = format!("{}{revision}", one.source);
    let mut lines = vec![format!("{what}: {} {} from {}", one.name, one.version, shown(&place))];
    if one.step == SkillStep::Nothing {
        return lines;
    }
    lines.extend(one.signature.line().map(|line| format!("  {}", shown(&line))));
    lines.extend(one.wants.lines().iter().map(|line| format!("  {}", shown(line))));
    if let Some(changes) = &one.changes {
        if changes.version != one.version && !changes.version.is_empty() {
            lines.push(format!("  version: {} -> {}", changes.version, one.version));
        }
        lines.extend(changes.source.iter().map(|line| format!("  source: {}", shown(line))));
        lines.extend(changes.permissions.iter().map(|line| format!("  {}", shown(line))));
        let files = listed(&changes.files.lines());
        lines.extend(files.iter().map(|line| format!("  {line}")));
    }
    lines.extend(worst_lines(&one.scan));
    lines
}

/// Asks whether a plan is to be done. Without a terminal there is nobody to ask.
pub(super) fn agree(question: &str, is_agreed: bool) -> Result<(), Failed> {
    if is_agreed {
        return Ok(());
    }
    if !stdin().is_terminal() {
        return Err(Failed::refused(
            "nothing was changed: there is no terminal to ask at; `--yes` agrees beforehand",
        ));
    }
    print_error(&format!("{question} [y/N] "));
    let mut line = String::new();
    stdin().read_line(&mut line).map_err(|fault| Failed::at("read the answer", &fault))?;
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failed::refused("nothing was changed")),
    }
}

/// Does a plan.
pub(super) fn carry_out(
    place: &mut InstallPlace,
    items: Vec<Item>,
) -> Result<Vec<PlannedSkill>, Failed> {
    let mut done = Vec::new();
    for Item { candidate, shown, replaced } in items {
        match shown.step {
            SkillStep::Nothing => {}
            SkillStep::Pin => {
                place.entries.insert(candidate.name().clone(), locked(&candidate));
                place.write(candidate.name())?;
                keep(&place.dir, candidate.name(), candidate.files.clone())?;
            }
            SkillStep::Install | SkillStep::Replace => {
                put(place, &candidate, replaced.as_ref())
                    .inspect_err(|_failed| tell_done(&done))?;
            }
        }
        done.push(shown);
    }
    Ok(done)
}

/// Tells what was done before a plan failed.
fn tell_done(done: &[PlannedSkill]) {
    for one in done.iter().filter(|one| one.step != SkillStep::Nothing) {
        note(&format!("note: `{}` {} was installed before that", one.name, one.version));
    }
}

/// Moves a candidate to its place, and writes the lock. What has become of the place since the plan was made is not
/// replaced: nobody has agreed to that.
fn put(
    place: &mut InstallPlace,
    candidate: &SkillCandidate,
    replaced: Option<&FileDigests>,
) -> Result<(), Failed> {
    let name = candidate.name().clone();
    let target = place.folder(&name);
    let is_new = exchange(&candidate.staged, &target)?;
    if let Err(failed) = check_replaced(candidate, is_new, replaced) {
        take_back(candidate, &target, is_new)?;
        return Err(failed);
    }
    let before = place.entries.get(&name).cloned();
    place.entries.insert(name.clone(), locked(candidate));
    let files: FileDigests = candidate.files.clone();
    let written = place.write(&name).and_then(|()| keep(&place.dir, &name, files));
    if let Err(failed) = written {
        let back = take_back(candidate, &target, is_new);
        match before {
            Some(before) => drop(place.entries.insert(name.clone(), before)),
            None => drop(place.entries.remove(&name)),
        }
        back.and_then(|()| place.write(&name))?;
        return Err(failed);
    }
    Ok(())
}

/// Undoes an exchange.
fn take_back(candidate: &SkillCandidate, target: &Path, is_new: bool) -> Result<(), Failed> {
    if is_new {
        return fs::rename(target, &candidate.staged).map_err(|fault| Failed::ours(&fault));
    }
    exchange(&candidate.staged, target).map(drop)
}

/// Compares what a candidate has taken the place of with what the plan was made for.
fn check_replaced(
    candidate: &SkillCandidate,
    is_new: bool,
    planned: Option<&FileDigests>,
) -> Result<(), Failed> {
    let staged = &candidate.staged;
    let found = match is_new {
        true => None,
        false => Some(link_at(staged).map_or_else(|| files_now(staged), Ok)?),
    };
    if found.as_ref() == planned {
        return Ok(());
    }
    let (before, found) = (planned.cloned().unwrap_or_default(), found.unwrap_or_default());
    let changes = listed(&FileChanges::between(&before, &found).lines()).join(", ");
    Err(Failed::refused(format!(
        "`{}` was changed here after the plan was shown, and stays as it is: {changes}; repeat the \
         command",
        candidate.name()
    )))
}

/// Puts a folder in the place of another, which goes to where that was. True if there was none.
fn exchange(staged: &Path, target: &Path) -> Result<bool, Failed> {
    let named =
        |fault: &dyn std::error::Error| Failed::usage(format!("{}: {fault}", target.display()));
    if target.symlink_metadata().is_err() {
        fs::rename(staged, target).map_err(|fault| named(&fault))?;
        return Ok(true);
    }
    match renameat_with(CWD, staged, CWD, target, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(false),
        // Some file systems cannot exchange: for a moment there is no such skill.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            let name = staged.file_name().unwrap_or_default().to_string_lossy();
            let aside = staged.with_file_name(format!("{ASIDE}{name}"));
            fs::rename(target, &aside).map_err(|fault| named(&fault))?;
            if let Err(fault) = fs::rename(staged, target) {
                fs::rename(&aside, target).map_err(|fault| named(&fault))?;
                return Err(named(&fault));
            }
            fs::rename(&aside, staged).map_err(|fault| named(&fault))?;
            Ok(false)
        }
        Err(fault) => Err(named(&fault)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_before() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("new")).unwrap();
        fs::write(at("new/file"), "new").unwrap();
        assert!(exchange(&at("new"), &at("there")).unwrap());
        fs::create_dir(at("newer")).unwrap();
        fs::write(at("newer/file"), "newer").unwrap();
        assert!(!exchange(&at("newer"), &at("there")).unwrap());
        assert_eq!(fs::read_to_string(at("there/file")).unwrap(), "newer");
        assert_eq!(fs::read_to_string(at("newer/file")).unwrap(), "new");
        // A link in the way is replaced, and not followed.
        fs::create_dir(at("last")).unwrap();
        fs::remove_dir_all(at("there")).unwrap();
        std::os::unix::fs::symlink(at("newer"), at("there")).unwrap();
        assert!(!exchange(&at("last"), &at("there")).unwrap());
        assert!(at("there").symlink_metadata().unwrap().is_dir() && at("newer/file").is_file());
    }
}
