//! `wardian skills list` and `show`: the skills that a server would serve, to all tenants or to one.

use serde_json::json;

use crate::assembly;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{
    note, print, print_bytes, print_json, print_line, print_table, shown,
};
use wardian_config::Config;
use wardian_formats::skill::manifest::{Manifest, SkillKind};
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_skills::registry::index::Index;
use wardian_skills::registry::{RegistryError, SkillView};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{SkillName, SkillVersion, TenantId};

/// Skills of one page of a list.
const PAGE: usize = 500;

/// Lists the latest version of each skill.
pub(crate) fn list(
    config: &Config,
    namespace: Option<&str>,
    tenant: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let index = seen(config, tenant)?;
    let mut manifests = Vec::new();
    let mut cursor = None;
    loop {
        let page = index.list(namespace, PAGE, cursor.as_deref()).map_err(refused)?;
        manifests.extend(page.skills);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let manifests = manifests.iter().map(|skill| skill.manifest());
    if as_json {
        let skills = manifests.map(|manifest| {
            json!({
                "name": manifest.name, "version": manifest.version,
                "description": manifest.description, "namespace": manifest.namespace,
                "kind": kind_of(manifest), "tags": manifest.tags,
            })
        });
        print_json(&json!({ "skills": skills.collect::<Vec<_>>() }));
    } else {
        let rows = manifests.map(|manifest| {
            let (name, version) = (manifest.name.to_string(), manifest.version.to_string());
            vec![name, version, kind_of(manifest).to_owned(), manifest.description.clone()]
        });
        print_table(&["name", "version", "kind", "description"], rows.collect());
    }
    for index in [index.own(), Some(index.shared())].into_iter().flatten() {
        note_warnings(index);
        note_rejected(index);
    }
    Ok(Exit::Done)
}

/// The skills that a tenant sees; without one, those that all see.
fn seen(config: &Config, tenant: Option<&str>) -> Result<SkillView, Failed> {
    let tenant = tenant.map_or_else(|| Ok(TenantId::local()), TenantId::parse);
    let tenant = tenant.map_err(|invalid| Failed::usage(invalid.to_string()))?;
    Ok(assembly::open_registry(config)?.seen_by(&tenant))
}

/// Prints the warnings of served skills.
fn note_warnings(index: &Index) {
    for skill in index.snapshots() {
        for warning in skill.warnings() {
            note(&format!("warning: `{}` {}: {warning}", skill.name(), skill.version()));
        }
    }
}

/// Prints the folders that are not served, with the reasons.
fn note_rejected(index: &Index) {
    for name in index.replaced() {
        note(&format!("`{name}` replaces the bundled skill of that name"));
    }
    for left_out in index.left_out() {
        note(&format!("not served: {left_out}"));
    }
    for rejected in index.rejected() {
        let folder = shown(&rejected.folder);
        let first = rejected.diagnostics.iter().find(|finding| finding.is_error());
        let why = first.map(|finding| format!(": {finding}")).unwrap_or_default();
        note(&format!("not served: {folder}{why}"));
    }
    if !index.rejected().is_empty() {
        note("`wardian skills check FOLDER` shows details");
    }
}

/// Describes a skill, or prints one of its files.
pub(crate) fn show(
    config: &Config,
    skill: &str,
    file: Option<&str>,
    tenant: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let index = seen(config, tenant)?;
    let (name, version) = name_and_version(skill);
    let name = SkillName::parse(name)?;
    let version = version.map(SkillVersion::parse).transpose()?;
    let snapshot = &*index.find(&name, version.as_ref()).map_err(refused)?.snapshot;
    if let Some(path) = file {
        print_bytes(snapshot.read_file(path).map_err(refused)?);
    } else if as_json {
        print_json(&json!({
            "skill": {
                "manifest": snapshot.manifest().json(),
                "skill_md_frontmatter": snapshot.document().frontmatter_json(),
                "skill_md_content": snapshot.document_text(),
            }
        }));
    } else {
        describe(snapshot);
    }
    Ok(Exit::Done)
}

fn describe(snapshot: &Snapshot) {
    let manifest = snapshot.manifest();
    let (name, version) = (&manifest.name, &manifest.version);
    print_line(&format!("{name} {version} ({})", kind_of(manifest)));
    print_line(&shown(&manifest.description));
    if !manifest.tags.is_empty() {
        print_line(&format!("tags: {}", shown(&manifest.tags.join(", "))));
    }
    print_line("");
    for file in snapshot.files() {
        print_line(&format!("  {}  {} bytes", shown(&file.path), file.size));
    }
    print_line("");
    // The text keeps its lines. Characters that would control the terminal are escaped.
    for line in snapshot.document_body().trim().lines() {
        print(&format!("{}\n", shown(line)));
    }
    for warning in snapshot.warnings() {
        note(&format!("warning: {warning}"));
    }
}

/// Splits `name@version`.
pub(crate) fn name_and_version(skill: &str) -> (&str, Option<&str>) {
    match skill.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (skill, None),
    }
}

const fn kind_of(manifest: &Manifest) -> &'static str {
    match manifest.kind {
        SkillKind::Action => "action",
        SkillKind::Instruction => "instruction",
    }
}

fn refused(error: RegistryError) -> Failed {
    match error.kind() {
        ErrorKind::Internal => error.into(),
        _ => Failed::usage(error.to_string()),
    }
}
