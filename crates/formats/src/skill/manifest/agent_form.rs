//! Agent Skills: folders with a SKILL.md and no skill.toml, served as instruction skills.
//!
//! The frontmatter has a `name` equal to the folder's and a `description`. The version is
//! `metadata.version`, otherwise the one in the folder's name, otherwise `0.1.0`.

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
    let name = match SkillName::parse(&document.title) {
        Ok(name) => name,
        Err(invalid) => {
            let message = format!("{invalid} (it is {})", quoted(&document.title));
            let problem = Problem::new("invalid-name", message);
            findings
                .error(&parsed.name, problem.help("or add a skill.toml, and this may be a title"));
            return None;
        }
    };
    let version = read_version(&parsed.frontmatter, folder, findings)?;
    let json = json(&name, &version, parsed)?;
    Some(Manifest {
        name,
        version,
        description: document.summary.clone(),
        kind: SkillKind::Instruction,
        namespace: None,
        tags: document.tags.clone(),
        runtime: None,
        permissions: Permissions::default(),
        inputs: Inputs::default(),
        json,
    })
}

fn read_version(
    frontmatter: &SourceNode,
    folder: &FolderName<'_>,
    findings: &mut Findings<'_>,
) -> Option<SkillVersion> {
    let metadata = match Fields::of_file(frontmatter)?.node("metadata") {
        Some(node) => Fields::of_node("metadata", node, findings),
        None => None,
    };
    let stated = metadata.as_ref().and_then(|fields| fields.node("version"));
    let Some(node) = stated else {
        let text = folder.version.unwrap_or(DEFAULT_VERSION);
        return SkillVersion::parse(text).ok();
    };
    // `1.0` without quotes is a number in YAML, so the text in the file is used.
    let written = findings.text().get(node.span.clone()).unwrap_or_default();
    let text = match &node.value {
        SourceValue::Text(text) => text.as_str(),
        _ => written,
    };
    let version = SkillVersion::parse(&completed(text)).ok();
    if version.is_none() {
        let message =
            format!("`metadata.version` must be `major.minor.patch`, not {}", quoted(text));
        findings.error(&node.span, Problem::new("invalid-version", message));
    }
    version
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

fn json(
    name: &SkillName,
    version: &SkillVersion,
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
        entry("kind", text(SkillKind::Instruction.as_str())),
    ];
    if !parsed.document.tags.is_empty() {
        let tags = parsed.document.tags.iter().map(|tag| text(tag)).collect();
        entries.push(entry("tags", node(SourceValue::Array(tags))));
    }
    node(SourceValue::Table(entries)).to_raw_json()
}
