//! Checks a skill as a whole: each file, and the rules between the files and the folder.

use std::ops::Range;

use crate::skill::diagnostic::{Diagnostic, Findings, Problem, Severity};
use crate::skill::document::{self, MAX_DOCUMENT};
use crate::skill::folder_name::FolderName;
use crate::skill::manifest::{
    self, MAX_MANIFEST, Manifest, ParsedManifest, SkillKind, agent_manifest,
};
use crate::skill::package::{
    CheckReport, DOCUMENT_FILE, Files, GUIDE_NAME, MANIFEST_FILE, Skill, SkillOrigin,
};
use crate::skill::python;
use crate::skill::scripts;
use crate::skill::similar::did_you_mean;
use crate::skill::text::{byte_order_mark, is_invisible, quoted};

/// Reads the files of the skill in the folder called `folder`, and checks the skill as a whole.
#[must_use]
pub fn check(folder: &str, files: &Files<'_>, origin: SkillOrigin) -> CheckReport {
    let mut diagnostics = Vec::new();
    let folder = FolderName::split(folder);
    let text = read_text(DOCUMENT_FILE, MAX_DOCUMENT, files, &mut diagnostics);
    let mut in_document = Findings::new(DOCUMENT_FILE, text.unwrap_or_default());
    let document = text.and_then(|_| document::parse(&mut in_document));
    warn_invisible(&mut in_document);

    let text = read_text(MANIFEST_FILE, MAX_MANIFEST, files, &mut diagnostics);
    let mut in_manifest = Findings::new(MANIFEST_FILE, text.unwrap_or_default());
    let parsed = text.and_then(|_| manifest::parse(&mut in_manifest));
    warn_invisible(&mut in_manifest);

    let manifest = match (parsed, &document) {
        (Some(parsed), _) => {
            check_names(
                &parsed.manifest,
                &folder,
                [&parsed.name, &parsed.version],
                &mut in_manifest,
            );
            check_entrypoint(&parsed, files, &mut in_manifest);
            Some(parsed.manifest)
        }
        (None, Some(document)) if !files.contains_key(MANIFEST_FILE) => {
            let has_scripts = scripts::has_some(files);
            let manifest = agent_manifest(document, &folder, has_scripts, &mut in_document);
            if let Some(manifest) = &manifest {
                check_version(manifest, &folder, &document.name, &mut in_document);
            }
            manifest
        }
        _ => None,
    };
    diagnostics.extend(reserved_name(manifest.as_ref(), origin));
    diagnostics.extend(in_document.into_diagnostics());
    diagnostics.extend(in_manifest.into_diagnostics());

    let is_good = !diagnostics.iter().any(Diagnostic::is_error);
    let both = manifest.zip(document).filter(|_| is_good);
    let skill = both.map(|(manifest, parsed)| Skill { manifest, document: parsed.document });
    CheckReport { skill, diagnostics }
}

/// Returns the text of a file. A file that is missing or unreadable adds a diagnostic, unless the
/// file is optional.
fn read_text<'f>(
    file: &'static str,
    max: usize,
    files: &Files<'f>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<&'f str> {
    let mut refuse = |problem| {
        diagnostics.push(Diagnostic::about(Severity::Error, file, problem));
    };
    let Some(bytes) = files.get(file) else {
        let may_be_absent = file == MANIFEST_FILE && files.contains_key(DOCUMENT_FILE);
        if !may_be_absent {
            let near = files.keys().copied().filter(|path| path.eq_ignore_ascii_case(file));
            let help = did_you_mean(file, near);
            let problem = Problem::new("file-missing", "every skill must have this file");
            refuse(problem.maybe_help(help));
        }
        return None;
    };
    if bytes.len() > max {
        let message = format!("has {} bytes, more than {max}", bytes.len());
        refuse(Problem::new("file-too-large", message));
        return None;
    }
    std::str::from_utf8(bytes)
        .inspect_err(|error| {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            refuse(Problem::new("not-utf-8", format!("line {line} is not UTF-8")));
        })
        .ok()
}

/// Checks that the manifest and the folder agree. `places` are those of the name and the version.
fn check_names(
    manifest: &Manifest,
    folder: &FolderName<'_>,
    places: [&Range<usize>; 2],
    findings: &mut Findings<'_>,
) {
    let (name, version) = (&manifest.name, &manifest.version);
    let [name_place, version_place] = places;
    let shown = quoted(folder.whole);
    if folder.name != name.as_str() {
        let message = format!("the skill is called `{name}`, but its folder {shown}");
        let help = format!(
            "give both the same name; next to other versions, the folder is called \
                `{name}@{version}`"
        );
        findings.error(name_place, Problem::new("folder-name", message).help(help));
    } else {
        check_version(manifest, folder, version_place, findings);
    }
}

/// Checks that the folder is called after no other version.
fn check_version(
    manifest: &Manifest,
    folder: &FolderName<'_>,
    place: &Range<usize>,
    findings: &mut Findings<'_>,
) {
    let version = &manifest.version;
    if folder.version.is_some_and(|in_name| in_name != version.as_str()) {
        let shown = quoted(folder.whole);
        let message = format!("the version is {version}, but the folder is called {shown}");
        findings.error(place, Problem::new("folder-version", message));
    }
}

fn reserved_name(manifest: Option<&Manifest>, origin: SkillOrigin) -> Option<Diagnostic> {
    let is_reserved = manifest.is_some_and(|manifest| manifest.name.as_str() == GUIDE_NAME);
    (is_reserved && origin == SkillOrigin::Folder).then(|| {
        let message = format!("`{GUIDE_NAME}` is part of the server, so its name cannot be used");
        Diagnostic::about(Severity::Error, ".", Problem::new("reserved-name", message))
    })
}

fn check_entrypoint(parsed: &ParsedManifest, files: &Files<'_>, findings: &mut Findings<'_>) {
    let Some(runtime) = &parsed.manifest.runtime else {
        if parsed.manifest.kind == SkillKind::Action && !scripts::has_some(files) {
            let message = "an action skill needs a `[runtime]` section, or scripts";
            let problem = Problem::new("runtime-missing", message);
            findings.file_error(problem.help("add it, or write `kind = \"instruction\"`"));
        }
        return;
    };
    let (path, export) = (runtime.entrypoint.as_str(), runtime.export.as_str());
    let Some(source) = files.get(path) else {
        let message = format!("the skill has no file `{path}`");
        let python = files.keys().copied().filter(|file| file.ends_with(".py"));
        let help = did_you_mean(path, python.clone())
            .or_else(|| python.clone().next().map(|file| format!("it has `{file}`")));
        let problem = Problem::new("entrypoint-missing", message).maybe_help(help);
        findings.error(&parsed.entrypoint, problem);
        return;
    };
    let Ok(source) = std::str::from_utf8(source) else {
        let message = format!("the file `{path}` is not UTF-8");
        findings.error(&parsed.entrypoint, Problem::new("not-utf-8", message));
        return;
    };
    if !python::mentions(source, export) && !source.contains("import *") {
        let message = format!("the file `{path}` does not seem to define `{export}`");
        let problem = Problem::new("export-missing", message);
        findings
            .warning(&parsed.export, problem.help(format!("define it as `def {export}(args):`")));
    }
}

/// Warns of invisible characters: a model reads them, a person does not see them.
fn warn_invisible(findings: &mut Findings<'_>) {
    let text = findings.text();
    let start = byte_order_mark(text);
    let body = text.get(start..).unwrap_or_default();
    let mut found = body.char_indices().filter(|(_, letter)| is_invisible(*letter));
    if let Some((at, letter)) = found.next() {
        let count = found.count() + 1;
        let message =
            format!("has {count} invisible characters, the first is U+{:04X}", u32::from(letter));
        let problem = Problem::new("invisible-characters", message);
        let span = start + at..start + at + letter.len_utf8();
        findings.warning(
            &span,
            problem.help("people do not see them, but a language model reads them"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "---\nname: Hello\nshort_description: Greets.\n---\n# Hello\n";
    const ACTION: &str = "name = \"hello.world\"\nversion = \"0.1.0\"\ndescription = \"Greets.\"\nkind = \"action\"\n[runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\nexport = \"main\"\n";
    const SCRIPTED: &str = "name = \"hello.world\"\nversion = \"0.1.0\"\ndescription = \"Greets.\"\nkind = \"action\"\n";
    const CODE: &str = "def main(args):\n    return {}\n";
    const AGENT: &str = "---\nname: pdf-forms\ndescription: Fills forms.\n---\n# Forms\n";

    type Given<'g> = &'g [(&'g str, &'g str)];

    fn checked(folder: &str, files: Given<'_>) -> CheckReport {
        let files = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
        check(folder, &files, SkillOrigin::Folder)
    }

    /// The findings, or the name and version of a skill without findings.
    fn outcome(folder: &str, files: Given<'_>) -> String {
        let checked = checked(folder, files);
        let lines: Vec<_> = checked.diagnostics.iter().map(ToString::to_string).collect();
        match (checked.skill, lines.as_slice()) {
            (Some(skill), []) => format!("{} {}", skill.manifest.name, skill.manifest.version),
            (skill, lines) => {
                assert_eq!(skill.is_none(), checked.diagnostics.iter().any(Diagnostic::is_error));
                lines.join("\n")
            }
        }
    }

    #[test]
    fn documented_layouts_are_skills() {
        let action: Given<'_> =
            &[("skill.toml", ACTION), ("SKILL.md", DOCUMENT), ("code/main.py", CODE)];
        assert_eq!(outcome("hello.world", action), "hello.world 0.1.0");
        assert_eq!(outcome("hello.world@0.1.0", action), "hello.world 0.1.0");
        assert_eq!(outcome("pdf-forms", &[("SKILL.md", AGENT)]), "pdf-forms 0.1.0");
        assert_eq!(outcome("pdf-forms@2.0.0", &[("SKILL.md", AGENT)]), "pdf-forms 2.0.0");
    }

    #[test]
    fn checked_skill_keeps_the_rules_between_files() {
        let code = ("code/main.py", CODE);
        let document = ("SKILL.md", DOCUMENT);
        let manifest = ("skill.toml", ACTION);
        let guide = ACTION.replace("hello.world", GUIDE_NAME);
        #[rustfmt::skip]
        let cases: &[(&str, Given<'_>, &str)] = &[
            ("hello.world", &[], "SKILL.md: error: every skill must have this file\nskill.toml: error: every skill must have this file"),
            ("hello.world", &[manifest, code], "SKILL.md: error: every skill must have this file"),
            ("hello.world", &[manifest, code, ("Skill.md", DOCUMENT)], "SKILL.md: error: every skill must have this file; did you mean `Skill.md`?"),
            ("hello.world", &[document, code], "SKILL.md: error: the folder has a SKILL.md, but no skill.toml; add a skill.toml with `name`, `version`, `description` and `kind`"),
            ("hello.word", &[manifest, document, code], "skill.toml:1:8: error: the skill is \
                called `hello.world`, but its folder \"hello.word\"; give both the same name; next \
                to other versions, the folder is called `hello.world@0.1.0`"),
            ("hello.world@0.2.0", &[manifest, document, code], "skill.toml:2:11: error: the version is 0.1.0, but the folder is called \"hello.world@0.2.0\""),
            ("hello.world", &[manifest, document], "skill.toml:7:14: error: the skill has no file `code/main.py`"),
            ("hello.world", &[manifest, document, ("code/mian.py", CODE)], "skill.toml:7:14: error: the skill has no file `code/main.py`; did you mean `code/mian.py`?"),
            ("hello.world", &[manifest, document, ("src/hello.py", CODE)], "skill.toml:7:14: error: the skill has no file `code/main.py`; it has `src/hello.py`"),
            ("hello.world", &[manifest, document, ("code/main.py", "def run(args): ...")], "skill.toml:8:10: warning: the file `code/main.py` does not seem to define `main`; define it as `def main(args):`"),
            (GUIDE_NAME, &[("skill.toml", &guide), document, code], ".: error: `skills.protocol.guide` is part of the server, so its name cannot be used"),
            ("hello.world", &[("skill.toml", SCRIPTED), document], "skill.toml: error: an action skill needs a `[runtime]` section, or scripts; add it, or write `kind = \"instruction\"`"),
            ("pdf", &[("SKILL.md", AGENT)], "SKILL.md:2:7: warning: the skill is called \
                `pdf-forms`, but its folder \"pdf\": it is served as `pdf-forms`; give both the same name"),
        ];
        for (folder, files, expected) in cases {
            assert_eq!(outcome(folder, files), *expected);
        }
    }

    #[test]
    fn the_guide_may_use_its_own_name() {
        let manifest = ACTION.replace("hello.world", GUIDE_NAME);
        let files = [
            ("skill.toml", manifest.as_bytes()),
            ("SKILL.md", DOCUMENT.as_bytes()),
            ("code/main.py", CODE.as_bytes()),
        ];
        assert!(check(GUIDE_NAME, &files.into(), SkillOrigin::BuiltIn).skill.is_some());
    }

    #[test]
    fn agent_skills_state_their_version_in_metadata() {
        let with = |metadata: &str| {
            AGENT.replace("# Forms", "").replacen("\n---\n", &format!("\n{metadata}\n---\nText"), 1)
        };
        for (metadata, expected) in [
            ("metadata: {version: \"1.2.3\"}", "pdf-forms 1.2.3"),
            ("metadata: {version: 1.10}", "pdf-forms 1.10.0"),
            ("metadata:\n  version: 2", "pdf-forms 2.0.0"),
            ("metadata: {author: x}", "pdf-forms 0.1.0"),
            (
                "metadata: {version: latest}",
                "SKILL.md:4:21: warning: `metadata.version` must be `major.minor.patch`, not \"latest\": the version is 0.1.0",
            ),
            ("metadata: 1", "pdf-forms 0.1.0"),
        ] {
            assert_eq!(outcome("pdf-forms", &[("SKILL.md", &with(metadata))]), expected);
        }
        let skill = checked("pdf-forms", &[("SKILL.md", AGENT)]).skill.unwrap();
        let json = r#"{"name":"pdf-forms","version":"0.1.0","description":"Fills forms.","kind":"instruction"}"#;
        assert_eq!(skill.manifest.json().get(), json);
    }

    #[test]
    fn agent_skills_are_served_although_they_break_harmless_rules() {
        for (name, folder, served) in [
            ("PDF Forms", "pdf-forms", "pdf-forms"),
            ("PDF Forms", "Pdf_Forms", "pdf-forms"),
            ("my_skill", "my_skill", "my-skill"),
            ("-a--b-", "a-b", "a-b"),
        ] {
            let text = AGENT.replace("pdf-forms", name);
            let said = outcome(folder, &[("SKILL.md", &text)]);
            assert!(said.contains("warning: skill name must be segments of a-z"), "{said}");
            assert!(said.ends_with(&format!(": it is served as `{served}`")), "{said}");
            let checked = checked(folder, &[("SKILL.md", &text)]);
            assert_eq!(checked.skill.unwrap().manifest.name.as_str(), served);
        }
        let text = AGENT.replace("pdf-forms", "\u{e9}t\u{e9}...");
        assert!(outcome("..", &[("SKILL.md", &text)]).contains("error: skill name must be"));
        let long = AGENT.replace("Fills forms.", &"word ".repeat(300));
        let said = outcome("pdf-forms", &[("SKILL.md", &long)]);
        assert_eq!(
            said,
            "SKILL.md:3:14: warning: `description` has 1499 characters, more than 1024; lists of skills show all of it"
        );
    }

    #[test]
    fn agent_skills_with_scripts_are_actions_and_keep_their_own_keys() {
        let own = "license: MIT\ncompatibility: Needs fonts\nmetadata: {author: acme}\nallowed-tools: Bash(python *) Read\nunknown: 1\n---\n# ";
        let text = AGENT.replacen("---\n# ", own, 1);
        let files: Given<'_> = &[("SKILL.md", &text), ("scripts/fill.py", "print('x')\n")];
        let skill = checked("pdf-forms", files).skill.unwrap();
        let json = r#"{"name":"pdf-forms","version":"0.1.0","description":"Fills forms.","kind":"action","license":"MIT","compatibility":"Needs fonts","metadata":{"author":"acme"},"allowed-tools":"Bash(python *) Read"}"#;
        assert_eq!(skill.manifest.json().get(), json);
        assert!(skill.manifest.runtime.is_none());
        let scripted: Given<'_> =
            &[("skill.toml", SCRIPTED), ("SKILL.md", DOCUMENT), ("scripts/a.py", "print(1)")];
        assert_eq!(outcome("hello.world", scripted), "hello.world 0.1.0");
        let module: Given<'_> = &[("SKILL.md", AGENT), ("core/a.py", "def f(): pass")];
        let skill = checked("pdf-forms", module).skill.unwrap();
        assert_eq!(skill.manifest.kind, SkillKind::Instruction);
    }

    #[test]
    fn invisible_text_is_reported() {
        let smuggled = DOCUMENT.replace("# Hello", "# Hello\u{e0041}\u{202e}");
        let files: Given<'_> =
            &[("skill.toml", ACTION), ("SKILL.md", &smuggled), ("code/main.py", CODE)];
        assert_eq!(
            outcome("hello.world", files),
            "SKILL.md:5:8: warning: has 2 invisible characters, the first is U+E0041; people \
            do not see them, but a language model reads them"
        );
    }

    #[test]
    fn files_that_are_not_text_or_too_large_are_refused() {
        let large = vec![b' '; MAX_MANIFEST + 1];
        let files = [("skill.toml", large.as_slice()), ("SKILL.md", b"---\nname: \xff\n---\n")];
        let lines: Vec<_> = check("x", &files.into(), SkillOrigin::Folder)
            .diagnostics
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            lines,
            [
                "SKILL.md: error: line 2 is not UTF-8",
                "skill.toml: error: has 65537 bytes, more than 65536"
            ]
        );
    }
}
