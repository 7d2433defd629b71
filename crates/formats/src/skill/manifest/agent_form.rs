//! Agent Skills: folders with a SKILL.md and no skill.toml. Those with scripts can be executed.
//!
//! The frontmatter has a `name` and a `description`. The version is `metadata.version`, otherwise the one
//! in the folder's name, otherwise `0.1.0`.
//!
//! Published skills break the rules of their format in harmless ways, and clients are advised to warn and
//! go on. So a name that differs from the folder's, or is spelt otherwise than it may be, is a warning.

use serde_json::value::RawValue;

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::document::ParsedDocument;
use crate::skill::folder_name::FolderName;
use crate::skill::manifest::fields::Fields;
use crate::skill::manifest::inputs::declared::Inputs;
use crate::skill::manifest::model::{Manifest, SkillKind};
use crate::skill::manifest::permissions::Permissions;
use crate::skill::source::node::{SourceEntry, SourceNode, SourceValue};
use crate::skill::text::quoted;
use wardian_vocabulary::ids::{SkillName, SkillVersion};

/// The version of a skill that states none.
const DEFAULT_VERSION: &str = "0.1.0";

/// Builds a manifest from the document. Adds an error to `findings` if it returns `None`.
pub(crate) fn manifest(
    parsed: &ParsedDocument,
    folder: &FolderName<'_>,
    has_scripts: bool,
    findings: &mut Findings<'_>,
) -> Option<Manifest> {
    let document = &parsed.document;
    if parsed.is_of_protocol {
        let problem =
            Problem::new("manifest-missing", "the folder has a SKILL.md, but no skill.toml");
        findings.file_error(
            problem.help("add a skill.toml with `name`, `version`, `description` and `kind`"),
        );
        return None;
    }
    let name = read_name(parsed, folder, findings)?;
    let version = read_version(&parsed.frontmatter, folder, findings)?;
    let kind = if has_scripts { SkillKind::Action } else { SkillKind::Instruction };
    let permissions = Permissions::default();
    let json = json((&name, &version, kind), parsed)?;
    Some(Manifest {
        name,
        version,
        description: document.summary.clone(),
        kind,
        namespace: None,
        tags: document.tags.clone(),
        runtime: None,
        permissions,
        inputs: Inputs::default(),
        json,
    })
}

/// The name of the skill: that of its document, or of its folder if that one cannot be a name.
fn read_name(
    parsed: &ParsedDocument,
    folder: &FolderName<'_>,
    findings: &mut Findings<'_>,
) -> Option<SkillName> {
    let stated = parsed.document.title.as_str();
    let invalid = match SkillName::parse(stated) {
        Ok(name) => {
            if folder.name != name.as_str() {
                let message = format!(
                    "the skill is called `{name}`, but its folder {}: it is served as `{name}`",
                    quoted(folder.whole)
                );
                let problem = Problem::new("folder-name", message);
                findings.warning(&parsed.name, problem.help("give both the same name"));
            }
            return Some(name);
        }
        Err(invalid) => invalid,
    };
    let message = format!("{invalid} (it is {})", quoted(stated));
    let Some(name) = [folder.name, stated].into_iter().find_map(name_like) else {
        let problem = Problem::new("invalid-name", message);
        findings.error(&parsed.name, problem.help("or add a skill.toml, and this may be a title"));
        return None;
    };
    let problem = Problem::new("invalid-name", format!("{message}: it is served as `{name}`"));
    findings.warning(&parsed.name, problem);
    Some(name)
}

/// A text as the name of a skill: in small letters, and with dashes in place of other signs.
fn name_like(text: &str) -> Option<SkillName> {
    let letters = text.chars().map(|letter| match letter.to_ascii_lowercase() {
        letter if letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '.' => letter,
        _ => '-',
    });
    let dashed: String = letters.collect();
    let words: Vec<&str> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    SkillName::parse(&words.join("-")).ok()
}

fn read_version(
    frontmatter: &SourceNode,
    folder: &FolderName<'_>,
    findings: &mut Findings<'_>,
) -> Option<SkillVersion> {
    let metadata = Fields::of_file(frontmatter)?.node("metadata");
    let stated = metadata.and_then(|node| match &node.value {
        SourceValue::Table(entries) => entries.iter().find(|entry| entry.key == "version"),
        _ => None,
    });
    let stated = stated.map(|entry| &entry.node);
    let usual = folder.version.unwrap_or(DEFAULT_VERSION);
    let Some(node) = stated else { return SkillVersion::parse(usual).ok() };
    // `1.0` without quotes is a number in YAML, so the text in the file is used.
    let written = findings.text().get(node.span.clone()).unwrap_or_default();
    let text = match &node.value {
        SourceValue::Text(text) => text.as_str(),
        _ => written,
    };
    if let Ok(version) = SkillVersion::parse(&completed(text)) {
        return Some(version);
    }
    let message = format!(
        "`metadata.version` must be `major.minor.patch`, not {}: the version is {usual}",
        quoted(text)
    );
    findings.warning(&node.span, Problem::new("invalid-version", message));
    SkillVersion::parse(usual).ok()
}

/// Completes short versions: `1` and `1.0` mean `1.0.0`.
fn completed(text: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.split('.').count();
    if parts < 3 && text.split('.').all(is_number) {
        return format!("{text}{}", ".0".repeat(3 - parts));
    }
    text.to_owned()
}

/// The keys of Agent Skills that describe the skill as a whole, beyond its name and description.
const SHOWN: [&str; 4] = ["license", "compatibility", "metadata", "allowed-tools"];

/// The manifest as JSON: what a `skill.toml` would have, and the keys of Agent Skills as they are.
fn json(
    (name, version, kind): (&SkillName, &SkillVersion, SkillKind),
    parsed: &ParsedDocument,
) -> Option<Box<RawValue>> {
    let node = |value: SourceValue| SourceNode { span: 0..0, value };
    let text = |text: &str| node(SourceValue::Text(text.to_owned()));
    let entry =
        |key: &str, node: SourceNode| SourceEntry { key: key.to_owned(), key_span: 0..0, node };
    let mut entries = vec![
        entry("name", text(name.as_str())),
        entry("version", text(version.as_str())),
        entry("description", text(&parsed.document.summary)),
        entry("kind", text(kind.as_str())),
    ];
    if !parsed.document.tags.is_empty() {
        let tags = parsed.document.tags.iter().map(|tag| text(tag)).collect();
        entries.push(entry("tags", node(SourceValue::Array(tags))));
    }
    let fields = Fields::of_file(&parsed.frontmatter)?;
    let own = SHOWN.into_iter().filter_map(|key| fields.entry(key).cloned());
    entries.extend(own);
    node(SourceValue::Table(entries)).to_raw_json()
}
