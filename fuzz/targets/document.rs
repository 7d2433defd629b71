//! `SKILL.md`: once beside a sound manifest, once alone, as an instruction skill.
//!
//! Beyond "no panic": what is accepted is bounded and shown as strict JSON, the body is the end
//! of the file, and the frontmatter written down again, as JSON is YAML, is accepted again.

#![no_main]

#[path = "shared/skills.rs"]
mod skills;

use libfuzzer_sys::fuzz_target;
use wardian_formats::protocol::strict;
use wardian_formats::skill::document::{Document, MAX_FRONTMATTER};
use wardian_formats::skill::manifest::{MAX_DESCRIPTION, MAX_TAGS};
use wardian_formats::skill::{CheckReport, Files, SkillOrigin, check};

const MANIFEST: &[u8] =
    b"name = \"a.b\"\nversion = \"1.0.0\"\ndescription = \"C.\"\nkind = \"instruction\"\n";

fuzz_target!(|markdown: &[u8]| {
    let files = Files::from([("SKILL.md", markdown), ("skill.toml", MANIFEST)]);
    let checked = check("a.b", &files, SkillOrigin::Folder);
    skills::check_diagnostics(&checked.diagnostics, "SKILL.md", markdown);
    if let (Some(skill), Ok(text)) = (&checked.skill, std::str::from_utf8(markdown)) {
        check_document(&skill.document, text);
        check_again(&skill.document);
    }

    let alone = Files::from([("SKILL.md", markdown)]);
    let checked = check_alone(&alone, markdown);
    if let Some(skill) = checked.skill {
        assert!(skill.manifest.runtime.is_none() && skill.manifest.permissions.secrets.is_empty());
        strict::read(skill.manifest.json().get().as_bytes()).expect("a manifest is strict JSON");
        assert_eq!(skill.manifest.name.as_str(), skill.document.title);
    }
});

fn check_alone(files: &Files<'_>, markdown: &[u8]) -> CheckReport {
    let checked = check("a.b", files, SkillOrigin::Folder);
    skills::check_diagnostics(&checked.diagnostics, "SKILL.md", markdown);
    match skills::folder_asked_for(&checked.diagnostics) {
        Some(folder) => check(&folder, files, SkillOrigin::Folder),
        None => checked,
    }
}

fn check_document(document: &Document, text: &str) {
    for line in [&document.title, &document.summary] {
        assert!(!line.trim().is_empty() && line.chars().count() <= MAX_DESCRIPTION);
        assert!(!line.contains(['\n', '\r', '\0']), "{line:?} is no line");
    }
    assert!(document.tags.len() <= MAX_TAGS);
    assert!(text.ends_with(document.body(text)), "the body is not the end");
    strict::read(document.frontmatter_json().get().as_bytes()).expect("strict JSON");
}

/// JSON is YAML, as long as YAML finds all of its characters printable.
fn check_again(document: &Document) {
    let json = document.frontmatter_json().get();
    let is_plain = json.chars().all(|letter| matches!(letter, ' '..='~' | '\u{a0}'..='\u{d7ff}'));
    if !is_plain || json.len() > MAX_FRONTMATTER / 2 {
        return;
    }
    let written = format!("---\n{json}\n---\nText\n");
    let files = Files::from([("SKILL.md", written.as_bytes()), ("skill.toml", MANIFEST)]);
    let checked = check("a.b", &files, SkillOrigin::Folder);
    let again = checked.skill.unwrap_or_else(|| panic!("{written}\n{:?}", checked.diagnostics));
    assert_eq!(again.document.frontmatter_json().get(), json, "a frontmatter has two meanings");
    assert_eq!(again.document.title, document.title);
}
