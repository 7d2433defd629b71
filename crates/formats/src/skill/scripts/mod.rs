//! The scripts of a skill: the Python files that are called like programs. They are found and described
//! by their text alone; nothing is executed.
//!
//! A script is a Python file with the usual guard (`if __name__ == "__main__":`), or one in a folder `scripts`
//! or with a first line for a shell that does something when it is run. Everything else in a skill is a
//! module. The difference decides what is listed, and never what can be called.

mod help;
mod program_text;
mod variables;

use crate::skill::package::Files;
pub use crate::skill::scripts::variables::declared_variables;

/// The folder of scripts in the form of Agent Skills.
const FOLDER: &str = "scripts";

/// Largest file that is looked at, in bytes. Larger ones are listed without a word about them.
const MAX_LOOKED_AT: usize = 256 << 10;

/// Most bytes of all files of a skill that are looked at. Files behind them are treated as too large ones.
const MAX_OF_SKILL: usize = 4 << 20;

/// A script of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script<'f> {
    /// Its path below the skill's folder.
    pub path: &'f str,
    /// The first line of what it says of itself.
    pub help: Option<String>,
}

/// True for the path of a Python file that a call may name as a script. A skill with an entrypoint offers
/// that, and of its other files only those below a folder `scripts`.
#[must_use]
pub fn can_be_called(path: &str, has_entrypoint: bool) -> bool {
    path.ends_with(".py") && (!has_entrypoint || is_below_scripts(path))
}

/// The scripts among the files of a skill, in the order of their paths.
pub fn scripts<'f>(
    files: impl Iterator<Item = (&'f str, &'f [u8])>,
    has_entrypoint: bool,
) -> impl Iterator<Item = Script<'f>> {
    let mut left = MAX_OF_SKILL;
    files.filter_map(move |(path, content)| script(path, content, has_entrypoint, &mut left))
}

/// True if a skill without an entrypoint has scripts.
pub(crate) fn has_some(files: &Files<'_>) -> bool {
    scripts(files.iter().map(|(path, content)| (*path, *content)), false).next().is_some()
}

/// The script that a file is. Of all files of a skill, `left` bytes may still be looked at.
fn script<'f>(
    path: &'f str,
    content: &[u8],
    has_entrypoint: bool,
    left: &mut usize,
) -> Option<Script<'f>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if !can_be_called(path, has_entrypoint) || name == "__init__.py" {
        return None;
    }
    let rest = left.checked_sub(content.len()).filter(|_| content.len() <= MAX_LOOKED_AT);
    let Some(rest) = rest else {
        return is_below_scripts(path).then_some(Script { path, help: None });
    };
    *left = rest;
    let content = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content);
    let text = String::from_utf8_lossy(content);
    let is_program = program_text::has_guard(&text)
        || (is_below_scripts(path) || program_text::has_shell_line(&text))
            && program_text::does_something(&text);
    is_program.then(|| Script { path, help: help::of(&text) })
}

fn is_below_scripts(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(folders, _)| folders.split('/').any(|one| one == FOLDER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(files: &[(&str, &str)], has_entrypoint: bool) -> Vec<String> {
        let files = files.iter().map(|(path, text)| (*path, text.as_bytes()));
        scripts(files, has_entrypoint)
            .map(|script| format!("{}: {}", script.path, script.help.unwrap_or_default()))
            .collect()
    }

    const GUARDED: &str =
        "\"\"\"Fills a form.\n\nMore.\"\"\"\nif __name__ == \"__main__\":\n    main()\n";

    #[test]
    fn scripts_are_told_from_modules() {
        let files = [
            ("core/gif.py", "#!/usr/bin/env python3\ndef make():\n    print('x')\n"),
            ("core/run.py", "#!/usr/bin/env python3\n# Runs.\nmake()\n"),
            ("examples/run.py", GUARDED),
            ("scripts/__init__.py", GUARDED),
            ("scripts/fill.py", GUARDED),
            ("scripts/helpers/words.py", "import re\nA = re.compile('x')\ndef f():\n    run()\n"),
            ("scripts/plain.py", "import sys\nprint(sys.argv)\n"),
            ("scripts/run.sh", "echo"),
            ("SKILL.md", "python scripts/fill.py"),
        ];
        assert_eq!(
            listed(&files, false),
            [
                "core/run.py: Runs.",
                "examples/run.py: Fills a form.",
                "scripts/fill.py: Fills a form.",
                "scripts/plain.py: "
            ]
        );
        assert_eq!(listed(&files, true), ["scripts/fill.py: Fills a form.", "scripts/plain.py: "]);
    }

    #[test]
    fn an_entrypoint_is_not_called_past_its_inputs() {
        assert!(can_be_called("a.py", false) && can_be_called("tools/scripts/x/a.py", true));
        for path in ["code/main.py", "a.py", "scripts.py", "code/scripts.py", "scripts/a.sh"] {
            assert!(!can_be_called(path, true), "{path}");
        }
    }

    #[test]
    fn files_of_any_content_are_looked_at() {
        let large = vec![b'x'; MAX_LOOKED_AT + 1];
        let odd: [(&str, &[u8]); 3] =
            [("scripts/a.py", &large), ("scripts/b.py", b"\xff\xfe\0"), ("large.py", &large)];
        let found: Vec<_> = scripts(odd.into_iter(), false).collect();
        assert_eq!(found, [Script { path: "scripts/a.py", help: None }]);
        // Beyond the bound of a skill, nothing is looked at.
        let full = vec![b' '; MAX_LOOKED_AT];
        let many =
            (0..20).map(|_| ("scripts/a.py", &full[..])).chain([("b.py", GUARDED.as_bytes())]);
        assert_eq!(scripts(many, false).count(), 20 - MAX_OF_SKILL / MAX_LOOKED_AT);
    }
}
