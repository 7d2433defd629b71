//! Skills of a source, written into a hidden folder and checked as a server checks them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::assembly::is_bundled;
use crate::cli::commands::skills::skills_lock::LockedOrigin;
use crate::cli::commands::skills::sources::candidate_signature::{CandidateSignature, Signed};
use crate::cli::commands::skills::sources::files::{FileDigests, files_now};
use crate::cli::failed::Failed;
use wardian_formats::provenance::skill_signature::SIGNATURES_FILE;
use wardian_formats::skill::document::MAX_FRONTMATTER;
use wardian_formats::skill::manifest::MAX_MANIFEST;
use wardian_formats::skill::path::is_left_out;
use wardian_formats::skill::{DOCUMENT_FILE, MANIFEST_FILE};
use wardian_skills::registry::check_folder;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_skills::scan::{SkillScan, findings_of};
use wardian_sources::FoundSkill;
use wardian_vocabulary::ids::SkillName;

/// Most files that a note names.
const MAX_NAMED: usize = 5;

/// A skill that may be installed.
#[derive(Debug)]
pub(super) struct SkillCandidate {
    pub(super) snapshot: Arc<Snapshot>,
    /// Its folder in the staging folder.
    pub(super) staged: PathBuf,
    pub(super) files: FileDigests,
    pub(super) origin: LockedOrigin,
    pub(super) notes: Vec<String>,
    pub(super) signature: CandidateSignature,
    /// What its content would do, as far as a look at it tells.
    pub(super) scan: SkillScan,
}

impl SkillCandidate {
    pub(super) fn name(&self) -> &SkillName {
        self.snapshot.name()
    }
}

/// The name that a skill gives itself, before it is checked: that of its manifest, of its document, or of its folder.
pub(super) fn name_of(found: &FoundSkill<'_>) -> String {
    let content = |wanted: &str| {
        let file = found.files.iter().find(|(path, _)| *path == wanted);
        file.map(|(_, content)| *content)
    };
    let manifest = content(MANIFEST_FILE).filter(|content| content.len() <= MAX_MANIFEST);
    let of_manifest = manifest.and_then(|content| {
        let table: toml::Table = toml::from_str(std::str::from_utf8(content).ok()?).ok()?;
        table.get("name")?.as_str().map(str::to_owned)
    });
    let of_document = || {
        let content = content(DOCUMENT_FILE)?;
        let head = content.get(..MAX_FRONTMATTER).unwrap_or(content);
        let text = String::from_utf8_lossy(head);
        let mut lines = text.trim_start_matches('\u{feff}').lines().skip(1);
        let line = lines.find_map(|line| line.strip_prefix("name:"))?;
        let name = line.split(" #").next().unwrap_or_default();
        let name = name.trim().trim_matches(['"', '\'']);
        (!name.is_empty()).then(|| name.to_owned())
    };
    let of_folder = || found.folder.rsplit('/').next().unwrap_or_default().to_owned();
    of_manifest.or_else(of_document).unwrap_or_else(of_folder)
}

/// Grants for skills that state nothing themselves.
#[derive(Debug, Clone, Default)]
pub(super) struct Grants {
    pub(super) network: Vec<String>,
    pub(super) secrets: Vec<String>,
}

impl Grants {
    const fn are_none(&self) -> bool {
        self.network.is_empty() && self.secrets.is_empty()
    }
}

/// Writes a skill below `staging` and checks it. An error is the reason why it cannot be installed.
pub(super) fn stage(
    found: &FoundSkill<'_>,
    staging: &Path,
    mut origin: LockedOrigin,
    grants: &Grants,
    signed: Signed<'_>,
) -> Result<Result<SkillCandidate, String>, Failed> {
    let name = match SkillName::parse(&name_of(found)) {
        Ok(name) => name,
        Err(invalid) => return Ok(Err(invalid.to_string())),
    };
    let folder = staging.join(name.as_str());
    if folder.try_exists().unwrap_or(true) {
        return Ok(Err("another skill of the source has this name".to_owned()));
    }
    let hidden = write_files(found, &folder)?;
    let mut notes = Vec::new();
    if is_bundled(name.as_str()) {
        notes.push(format!("`{name}` replaces the bundled skill of that name"));
    }
    notes.extend(left_out_note(&hidden).map(|told| format!("`{name}`: {told}")));
    let mut checked = check(&folder)?;
    let has_manifest = found.files.iter().any(|(path, _)| *path == MANIFEST_FILE);
    if !grants.are_none()
        && !has_manifest
        && let Ok(snapshot) = &checked
    {
        write(&folder, MANIFEST_FILE, granted_manifest(snapshot, grants).as_bytes())?;
        origin.granted_network.clone_from(&grants.network);
        origin.granted_secrets.clone_from(&grants.secrets);
        checked = check(&folder)?;
    }
    Ok(match checked {
        Ok(snapshot) => {
            let chosen = match signed.choose(found, &snapshot.claim()) {
                Ok(chosen) => chosen,
                Err(why) => return Ok(Err(why)),
            };
            notes.extend(chosen.notes.into_iter().map(|why| format!("`{name}`: {why}")));
            if !chosen.kept.is_empty() {
                write(&folder, SIGNATURES_FILE, chosen.kept.text()?.as_bytes())?;
            }
            let warnings = snapshot.warnings().iter();
            notes.extend(warnings.map(|warning| format!("`{name}`: {warning}")));
            Ok(SkillCandidate {
                files: files_now(&folder)?,
                snapshot,
                staged: folder,
                origin,
                notes,
                signature: chosen.outcome,
                // With the files that are left out: other clients use them.
                scan: findings_of(found.files.iter().map(|(path, content)| (*path, *content))),
            })
        }
        Err(why) => Err(why),
    })
}

/// What is told of the files that were left out.
fn left_out_note(hidden: &[&str]) -> Option<String> {
    let named: Vec<String> =
        hidden.iter().take(MAX_NAMED).map(|path| format!("`{path}`")).collect();
    let (what, were) = if hidden.len() == 1 { ("file", "was") } else { ("files", "were") };
    let more = hidden.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (count, named) = (hidden.len(), named.join(", "));
    (count > 0)
        .then(|| format!("{count} hidden or generated {what} {were} left out: {named}{more}"))
}

/// Writes the files of a skill. Returns the paths of those that were left out.
pub(super) fn write_files<'t>(
    found: &FoundSkill<'t>,
    folder: &Path,
) -> Result<Vec<&'t str>, Failed> {
    let mut hidden = Vec::new();
    for (path, content) in &found.files {
        if *path == SIGNATURES_FILE {
            continue;
        }
        if path.split('/').any(is_left_out) {
            hidden.push(*path);
        } else {
            write(folder, path, content)?;
        }
    }
    Ok(hidden)
}

pub(super) fn check(folder: &Path) -> Result<Result<Arc<Snapshot>, String>, Failed> {
    let check = check_folder(folder).map_err(|fault| Failed::ours(&fault))?;
    Ok(match check.snapshot {
        Some(snapshot) => Ok(snapshot),
        None => {
            let first = check.diagnostics.iter().find(|one| one.is_error());
            Err(first.map_or_else(|| "it cannot be read".to_owned(), ToString::to_string))
        }
    })
}

/// The manifest that stands beside a skill of the form of Agent Skills for what the operator grants.
fn granted_manifest(snapshot: &Snapshot, grants: &Grants) -> String {
    let texts = |all: &[String]| {
        toml::Value::Array(all.iter().map(|one| toml::Value::String(one.clone())).collect())
    };
    let manifest = snapshot.manifest();
    let mut permissions = toml::Table::new();
    permissions.insert("network".to_owned(), texts(&grants.network));
    permissions.insert("secrets".to_owned(), texts(&grants.secrets));
    let text = |text: &str| toml::Value::String(text.to_owned());
    let mut table = toml::Table::new();
    table.insert("name".to_owned(), text(manifest.name.as_str()));
    table.insert("version".to_owned(), text(manifest.version.as_str()));
    table.insert("description".to_owned(), text(&manifest.description));
    table.insert("kind".to_owned(), text(manifest.kind.as_str()));
    table.insert("permissions".to_owned(), toml::Value::Table(permissions));
    format!("# Written by `wardian skills add` for what was granted.\n{table}")
}

/// Writes a file with the rights of files that everybody may read: archives do not decide them.
fn write(folder: &Path, path: &str, content: &[u8]) -> Result<(), Failed> {
    let file = folder.join(path);
    let named = |fault: &std::io::Error| Failed::named(file.display(), fault);
    if let Some(above) = file.parent() {
        fs::create_dir_all(above).map_err(|fault| named(&fault))?;
    }
    fs::write(&file, content).map_err(|fault| named(&fault))?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).map_err(|fault| named(&fault))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_skills::registry::SkillTrust;

    fn found<'t>(folder: &str, files: &[(&'t str, &'t str)]) -> FoundSkill<'t> {
        let files = files.iter().map(|(path, text)| (*path, text.as_bytes()));
        FoundSkill { folder: folder.to_owned(), files: files.collect() }
    }

    #[test]
    fn a_skill_names_itself() {
        let document = ("SKILL.md", "---\nname: \"pdf\" # it\ndescription: d\n---\nx");
        assert_eq!(name_of(&found("a/b", &[document])), "pdf");
        let manifest = ("skill.toml", "name = \"acme.pdf\"");
        assert_eq!(name_of(&found("a/b", &[document, manifest])), "acme.pdf");
        assert_eq!(name_of(&found("a/b", &[("SKILL.md", "x")])), "b");
        // What no server would read is not parsed.
        let long = format!("name = \"long\"\n#{}", "x".repeat(MAX_MANIFEST));
        assert_eq!(name_of(&found("a/b", &[document, ("skill.toml", long.as_str())])), "pdf");
        let long = format!("---\n#{}\nname: long\n---\n", "x".repeat(MAX_FRONTMATTER));
        assert_eq!(name_of(&found("a/b", &[("SKILL.md", long.as_str())])), "b");
    }

    #[test]
    fn grants_stand_beside_what_came() {
        let staging = tempfile::tempdir().unwrap();
        let document = "---\nname: pdf\ndescription: Reads \"it\".\n---\nx\n";
        let skill = found("pdf", &[("SKILL.md", document), (".env", "x")]);
        let origin = LockedOrigin {
            source: "./x".to_owned(),
            reference: None,
            revision: String::new(),
            folder: "pdf".to_owned(),
            registry: None,
            granted_network: Vec::new(),
            granted_secrets: Vec::new(),
        };
        let grants =
            Grants { network: vec!["https://api.example.com".to_owned()], secrets: Vec::new() };
        let signed = Signed { trust: &SkillTrust::default(), package: None };
        let staged = stage(&skill, staging.path(), origin, &grants, signed).unwrap().unwrap();
        assert_eq!(staged.snapshot.manifest().permissions.network.len(), 1);
        assert_eq!(staged.snapshot.manifest().kind.as_str(), "instruction");
        assert_eq!(staged.origin.granted_network, grants.network);
        assert_eq!(fs::read_to_string(staged.staged.join("SKILL.md")).unwrap(), document);
        assert!(!staged.files.contains_key(".env"));
        let told = "`pdf`: 1 hidden or generated file was left out: `.env`";
        assert!(staged.notes.iter().any(|note| note == told), "{:?}", staged.notes);
    }

    #[test]
    fn some_of_the_files_that_are_left_out_are_named() {
        assert_eq!(left_out_note(&[]), None);
        let told = left_out_note(&[".a", ".b", ".c", ".d", ".e", ".f", ".g"]).unwrap();
        let wanted =
            "7 hidden or generated files were left out: `.a`, `.b`, `.c`, `.d`, `.e` and 2 more";
        assert_eq!(told, wanted);
    }
}
