//! `wardian skills new`: writes the skeleton of a working skill.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::assembly::is_bundled;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_line};
use wardian_formats::skill::GUIDE_NAME;
use wardian_vocabulary::ids::SkillName;

/// Creates the skill's folder with its files in `parent`, which is created if it does not exist.
pub(crate) fn new_skill(name: &str, is_instruction: bool, parent: &Path) -> Result<Exit, Failed> {
    let name = SkillName::parse(name)?;
    if name.as_str() == GUIDE_NAME {
        return Err(Failed::usage(format!(
            "`{name}` is part of the server, so its name cannot be used"
        )));
    }
    let folder = parent.join(name.as_str());
    let failed = |fault: io::Error| match fault.kind() {
        io::ErrorKind::AlreadyExists => {
            Failed::usage(format!("{} already exists", folder.display()))
        }
        _ => Failed::at("write the skill", &fault),
    };
    fs::create_dir_all(parent).map_err(|fault| Failed::named(parent.display(), &fault))?;
    fs::create_dir(&folder).map_err(failed)?;
    let files = if is_instruction { instruction(&name) } else { action(&name) };
    for (path, text) in files {
        write(&folder.join(path), &text).map_err(failed)?;
        print_line(&folder.join(path).display().to_string());
    }
    print_line("");
    print_line(&format!("Check it:   wardian skills check {}", folder.display()));
    if !is_instruction {
        let skills = parent.display();
        print_line(&format!("Execute it: wardian --skills {skills} exec {name}"));
    }
    if is_bundled(name.as_str()) {
        note(&format!("this skill replaces the bundled skill `{name}`"));
    }
    Ok(Exit::Done)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

/// `Sales Report` for `acme.sales.report`: the last two words of the name.
fn title(name: &SkillName) -> String {
    let words: Vec<&str> = name.as_str().split(['.', '-']).collect();
    let last = words.get(words.len().saturating_sub(2)..).unwrap_or_default();
    let capitalised = last.iter().map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
    });
    capitalised.collect::<Vec<String>>().join(" ")
}

/// The first lines of both kinds of manifest.
fn manifest(name: &SkillName, description: &str, kind: &str) -> String {
    let namespace = name.as_str().split_once('.').map(|(first, _)| first);
    let namespace = namespace.map(|first| format!("namespace = \"{first}\"\n")).unwrap_or_default();
    format!(
        "name = \"{name}\"\nversion = \"0.1.0\"\ndescription = \"{description}\"\n\
         kind = \"{kind}\"\n{namespace}tags = []\n"
    )
}

fn action(name: &SkillName) -> Vec<(&'static str, String)> {
    let title = title(name);
    let description = "Greets somebody. Describe in one line what this skill does.";
    let head = manifest(name, description, "action");
    let manifest = format!("{head}{ACTION_MANIFEST}");
    let document = ACTION_DOCUMENT.replace("{title}", &title).replace("{name}", name.as_str());
    vec![
        ("skill.toml", manifest),
        ("SKILL.md", document.replace("{description}", description)),
        ("code/main.py", ACTION_CODE.to_owned()),
    ]
}

fn instruction(name: &SkillName) -> Vec<(&'static str, String)> {
    let title = title(name);
    let description = "Describe in one line what a reader learns here.";
    let document = INSTRUCTION_DOCUMENT.replace("{title}", &title);
    vec![
        ("skill.toml", manifest(name, description, "instruction")),
        ("SKILL.md", document.replace("{description}", description)),
    ]
}

const ACTION_MANIFEST: &str = r#"
[runtime]
language = "python"
entrypoint = "code/main.py"
export = "main"

[inputs]
name = { type = "string", default = "world", description = "Whom to greet" }
"#;

const ACTION_DOCUMENT: &str = r#"---
name: {title}
short_description: {description}
tags: []
---

# {title}

## Overview

Say what the skill does, and when to use it.

## Requirements

None.

## Inputs

- `name` (string, default `world`): whom to greet.

## Outputs

- `greeting` (string).

## Usage

```json
{"name": "{name}", "args": {"name": "Ada"}}
```
"#;

const ACTION_CODE: &str = r#""""Greets somebody."""

from runtime import log


def main(args):
    """Returns a greeting for `args["name"]`."""
    greeting = f"Hello, {args['name']}!"
    log.info(greeting)
    return {"summary": greeting, "greeting": greeting}
"#;

const INSTRUCTION_DOCUMENT: &str = r"---
name: {title}
short_description: {description}
tags: []
---

# {title}

## Overview

Say what this text is about, and when to read it.

## Requirements

None.

## Usage

Write what a reader should do, one step after the other.
";

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::skill::{Files, SkillOrigin, check};

    #[test]
    fn a_new_skill_has_no_mistake() {
        for name in ["hello", "acme.sales.report", "a1.b-2"] {
            let name = SkillName::parse(name).unwrap();
            for files in [action(&name), instruction(&name)] {
                let contents: Files<'_> =
                    files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
                let checked = check(name.as_str(), &contents, SkillOrigin::Folder);
                let findings = checked.diagnostics.iter().filter(|finding| {
                    // The name itself may cause a warning.
                    !(name.has_dash() && finding.message.contains("dash")
                        || name.has_one_segment() && finding.message.contains("single segment"))
                });
                let findings: Vec<String> = findings.map(ToString::to_string).collect();
                assert!(findings.is_empty() && checked.skill.is_some(), "{findings:?}");
            }
        }
    }

    #[test]
    fn a_title_is_made_of_the_last_words() {
        for (name, expected) in [
            ("hello", "Hello"),
            ("acme.sales.report", "Sales Report"),
            ("a.pdf-forms", "Pdf Forms"),
        ] {
            assert_eq!(title(&SkillName::parse(name).unwrap()), expected);
        }
    }

    #[test]
    fn a_missing_parent_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let parent = folder.path().join("not/yet");
        assert_eq!(new_skill("a.b", false, &parent).unwrap(), Exit::Done);
        assert!(parent.join("a.b/code/main.py").is_file());
    }

    #[test]
    fn a_parent_that_is_a_file_is_a_mistake_of_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "kept").unwrap();
        let failed = new_skill("a.b", false, &file).unwrap_err();
        assert_eq!(failed.exit, Exit::WrongUsage);
        assert!(failed.to_string().contains("file"), "{failed}");
        assert_eq!(fs::read(&file).unwrap(), b"kept");
    }

    #[test]
    fn an_existing_folder_is_not_changed() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join("a.b")).unwrap();
        let failed = new_skill("a.b", false, parent.path()).unwrap_err();
        assert_eq!(failed.exit, Exit::WrongUsage);
        assert_eq!(fs::read_dir(parent.path().join("a.b")).unwrap().count(), 0);
    }
}
