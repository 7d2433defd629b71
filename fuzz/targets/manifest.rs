//! `skill.toml`, in a folder with a sound `SKILL.md` and one module.
//!
//! Beyond "no panic": an accepted manifest satisfies every rule that others rely on, what it
//! shows is strict JSON, and the same manifest written down again is accepted again.

#![no_main]

#[path = "shared/skills.rs"]
mod skills;

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use wardian_vocabulary::ids::{SkillName, SkillVersion};
use wardian_formats::protocol::strict;
use wardian_formats::skill::arguments::check_arguments;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_formats::skill::manifest::{MAX_DESCRIPTION, MAX_TAGS, Manifest, SkillKind};
use wardian_formats::skill::path::check_path;
use wardian_formats::skill::{Files, Skill, SkillOrigin, check};

const DOCUMENT: &[u8] = b"---\nname: A\nshort_description: B\n---\n# C\n";
const CODE: &[u8] = b"def main(args):\n    return args\n";

fuzz_target!(|toml: &[u8]| {
    let Some(skill) = read(toml) else { return };
    check_manifest(&skill.manifest);
    check_inputs(&skill.manifest);

    let shown: Value = serde_json::from_str(skill.manifest.json().get()).unwrap();
    let written = toml::to_string(&shown).expect("accepted TOML is TOML");
    let again =
        read(written.as_bytes()).unwrap_or_else(|| panic!("no longer accepted:\n{written}"));
    let again: Value = serde_json::from_str(again.manifest.json().get()).unwrap();
    assert_eq!(shown, again, "a manifest has two meanings");
});

/// The skill, in the folder that its manifest asks for.
fn read(toml: &[u8]) -> Option<Skill> {
    let files = Files::from([("skill.toml", toml), ("SKILL.md", DOCUMENT), ("code/main.py", CODE)]);
    let checked = check("hello.world", &files, SkillOrigin::Folder);
    skills::check_diagnostics(&checked.diagnostics, "skill.toml", toml);
    if checked.skill.is_some() {
        return checked.skill;
    }
    let folder = skills::folder_asked_for(&checked.diagnostics)?;
    check(&folder, &files, SkillOrigin::Folder).skill
}

fn check_manifest(manifest: &Manifest) {
    let name = manifest.name.as_str();
    assert!(name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-')), "{name}");
    assert!(!name.contains("..") && !name.starts_with('.') && !name.ends_with('.'), "{name}");
    assert_eq!(SkillName::parse(name).as_ref(), Ok(&manifest.name));
    assert_eq!(SkillVersion::parse(manifest.version.as_str()).as_ref(), Ok(&manifest.version));
    assert!(manifest.description.chars().count() <= MAX_DESCRIPTION);
    assert!(!manifest.description.chars().any(char::is_control));
    assert!(manifest.tags.len() <= MAX_TAGS);
    if let Some(namespace) = &manifest.namespace {
        SkillName::parse(namespace).expect("a namespace is spelt like a name");
    }
    assert_eq!(manifest.kind == SkillKind::Action, manifest.runtime.is_some());
    if let Some(runtime) = &manifest.runtime {
        check_path(&runtime.entrypoint).expect("an entrypoint is a path within the skill");
        assert_eq!(runtime.entrypoint, "code/main.py", "the only module there is");
    }
    for pattern in &manifest.permissions.network {
        assert_eq!(UrlPattern::parse(pattern.as_str()).as_ref(), Ok(pattern));
        let host = pattern.host();
        assert!(!host.is_empty() && host.is_ascii() && !host.contains(['/', '@', '\\', '*']));
    }
    for secret in &manifest.permissions.secrets {
        assert!(!secret.to_ascii_uppercase().starts_with("PYTHON"), "{secret}");
        assert!(!secret.contains(['=', '\0']), "{secret}");
    }
    strict::read(manifest.json().get().as_bytes()).expect("a manifest is strict JSON");
}

/// Defaults are arguments that the skill's own author could have sent.
fn check_inputs(manifest: &Manifest) {
    let inputs = &manifest.inputs;
    let needs = inputs.iter().any(|input| input.is_required);
    match check_arguments(inputs, &[]) {
        Ok(filled) => {
            assert!(!needs, "a required argument is missing");
            assert!(filled.blobs.len() <= filled.defaults.len());
            let texts: Vec<(&str, Box<RawValue>)> = filled
                .defaults
                .iter()
                .map(|(name, value)| (*name, to_raw_value(value).unwrap()))
                .collect();
            let args: Vec<_> =
                texts.iter().map(|(name, text)| (Cow::from(*name), &**text)).collect();
            let again = check_arguments(inputs, &args).expect("defaults are of their own type");
            assert_eq!(again.blobs, filled.blobs);
        }
        Err(problems) => {
            assert!(needs, "{problems:?}");
            for problem in problems {
                skills::assert_printable(&problem.to_string());
            }
        }
    }
}
