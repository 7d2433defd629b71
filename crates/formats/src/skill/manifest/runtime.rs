//! The `[runtime]` section: the function that `execute_skill` calls.

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::manifest::fields::{Fields, TextField};
use crate::skill::path::{check_path, is_left_out};
use crate::skill::python;
use crate::skill::similar::did_you_mean;
use crate::skill::text::quoted;

/// Most modules in `preload`.
const MAX_PRELOAD: usize = 16;

const KEYS: [&str; 5] = ["language", "entrypoint", "export", "preload", "strict_output"];

/// The runtime of an action skill. The language is always Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeSection {
    /// Path of the Python file below the skill's root.
    pub entrypoint: String,
    /// Name of the function in it that takes the arguments.
    pub export: String,
    /// Modules to import before the skill runs, such as `sklearn.linear_model`. An extension of
    /// this runtime: without it the skill starts more slowly.
    pub preload: Vec<String>,
    /// True if a returned value that JSON cannot hold is an error and never converted. An extension
    /// of this runtime.
    pub strict_output: bool,
}

impl RuntimeSection {
    pub(crate) fn read(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<Self> {
        fields.warn_unknown(&KEYS, findings);
        read_language(fields, findings);
        let entrypoint =
            fields.required_text("entrypoint", "entrypoint = \"code/main.py\"", findings);
        let export = fields.required_text("export", "export = \"main\"", findings);
        let preload = fields.texts("preload", MAX_PRELOAD, findings);
        let strict_output = fields.boolean("strict_output", findings).unwrap_or_default();

        let checks = [
            entrypoint.as_ref().map(|text| (text, check_entrypoint(text.text))),
            export.as_ref().map(|text| (text, check_export(text.text))),
        ];
        let preload_checks = preload.iter().map(|text| (text, check_preload(text.text)));
        for (text, checked) in checks.into_iter().flatten().chain(preload_checks) {
            if let Err(problem) = checked {
                findings.error(text.span, problem);
            }
        }
        let owned = |text: TextField<'_>| text.text.to_owned();
        Some(Self {
            entrypoint: owned(entrypoint?),
            export: owned(export?),
            preload: preload.into_iter().map(owned).collect(),
            strict_output,
        })
    }
}

fn read_language(fields: &Fields<'_>, findings: &mut Findings<'_>) {
    let Some(text) = fields.required_text("language", "language = \"python\"", findings) else {
        return;
    };
    if text.text != "python" {
        let message = format!("`runtime.language` must be \"python\", not {}", quoted(text.text));
        let help = did_you_mean(text.text, ["python"]);
        findings.error(text.span, Problem::new("invalid-language", message).maybe_help(help));
    }
}

fn check_entrypoint(path: &str) -> Result<(), Problem> {
    let problem = |message: &str| {
        let message = format!("`runtime.entrypoint` {message} (it is {})", quoted(path));
        Problem::new("invalid-entrypoint", message)
    };
    check_path(path).map_err(problem)?;
    if let Some((file, export)) = path.split_once(".py:") {
        let help = format!("write `entrypoint = \"{file}.py\"` and `export = \"{export}\"`");
        return Err(problem("must be only a path").help(help));
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    let Some(stem) = file.strip_suffix(".py") else {
        return Err(problem("must be the path of a Python file").help("such as \"code/main.py\""));
    };
    if python::is_special(stem) || stem.is_empty() {
        return Err(problem("must be an ordinary module").help("such as \"code/main.py\""));
    }
    if path.split('/').any(is_left_out) {
        return Err(problem("must not be hidden, because hidden files are not part of a skill"));
    }
    Ok(())
}

fn check_export(name: &str) -> Result<(), Problem> {
    if python::is_name(name) && !python::is_special(name) {
        return Ok(());
    }
    let message = format!("`runtime.export` must be the name of a function, not {}", quoted(name));
    Err(Problem::new("invalid-export", message)
        .help("letters, digits and `_`, not a keyword, and without `__` at the start"))
}

fn check_preload(module: &str) -> Result<(), Problem> {
    if python::is_module(module) {
        return Ok(());
    }
    let message =
        format!("`runtime.preload` must contain names of modules, not {}", quoted(module));
    Err(Problem::new("invalid-preload", message).help("such as \"sklearn.linear_model\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::source::from_toml;

    fn found(section: &str) -> (Option<RuntimeSection>, String) {
        let text = format!("[runtime]\n{section}");
        let mut findings = Findings::new("skill.toml", &text);
        let root = from_toml::parse(&mut findings).unwrap();
        let fields = Fields::of_file(&root).unwrap().table("runtime", &mut findings).unwrap();
        let runtime = RuntimeSection::read(&fields, &mut findings);
        let lines: Vec<_> = findings.into_diagnostics().iter().map(ToString::to_string).collect();
        (runtime, lines.join("\n"))
    }

    #[test]
    fn preload_is_an_extension_without_a_warning() {
        let (runtime, found) = found(
            "language = \"python\"\nentrypoint = \"main.py\"\nexport = \"run\"\npreload = [\"sklearn.linear_model\", \"pandas\"]",
        );
        assert_eq!(found, "");
        assert_eq!(runtime.unwrap().preload, ["sklearn.linear_model", "pandas"]);
    }

    #[test]
    fn every_key_of_the_section_is_required() {
        let expected = "skill.toml:1:1: error: `runtime.language` is missing; add `language = \"python\"`\n\
            skill.toml:1:1: error: `runtime.entrypoint` is missing; add `entrypoint = \"code/main.py\"`\n\
            skill.toml:1:1: error: `runtime.export` is missing; add `export = \"main\"`";
        assert_eq!(found("").1, expected);
        assert!(
            found("lang = \"python\"")
                .1
                .contains("unknown key \"runtime.lang\"; did you mean `language`?")
        );
        assert!(
            found("language = \"Python\"")
                .1
                .contains("must be \"python\", not \"Python\"; did you mean `python`?")
        );
    }

    #[rustfmt::skip]
    const NO_ENTRYPOINTS: &[(&str, &str)] = &[
        ("../../x.py:main", "must not contain empty, `.` or `..` segments"),
        ("/code/main.py", "must be relative to the skill's folder, without a leading `/`"),
        ("code\\main.py", "must use `/` between folders, not `\\`"),
        ("os:system", "must be the path of a Python file"),
        ("code/main", "must be the path of a Python file"),
        ("code/", "must not contain empty, `.` or `..` segments"),
        ("code/main.pyc", "must be the path of a Python file"),
        ("code/main.py:main", "must be only a path"),
        ("code/__init__.py", "must be an ordinary module"),
        ("code/__main__.py", "must be an ordinary module"),
        (".hidden/main.py", "must not be hidden, because hidden files are not part of a skill"),
        ("code/.py", "must be an ordinary module"),
        ("", "must not be empty"),
    ];

    #[test]
    fn an_entrypoint_is_a_python_file_of_the_skill() {
        for path in ["main.py", "code/main.py", "a-b/c.d/main_2.py"] {
            assert_eq!(check_entrypoint(path), Ok(()), "{path}");
        }
        for &(path, expected) in NO_ENTRYPOINTS {
            let problem = check_entrypoint(path).unwrap_err();
            assert_eq!(
                problem.message,
                format!("`runtime.entrypoint` {expected} (it is {})", quoted(path))
            );
        }
    }

    #[test]
    fn an_entrypoint_with_its_function_gets_advice() {
        let help = check_entrypoint("code/main.py:run").unwrap_err().help.unwrap();
        assert_eq!(help, "write `entrypoint = \"code/main.py\"` and `export = \"run\"`");
    }

    #[test]
    fn exports_and_preloads_are_plain_names() {
        for name in ["__import__", "main()", "a.b", "class", "", "os:system", "été", "2x"] {
            assert!(check_export(name).is_err(), "{name:?}");
        }
        for module in ["__main__", "a/b", "", "a..b", "os;x", "numpy "] {
            assert!(check_preload(module).is_err(), "{module:?}");
        }
        assert_eq!(check_export("_process_payment2"), Ok(()));
    }
}
