//! The environment variables that a skill declares: those that a call of a script may set.
//!
//! A manifest lists them in `[permissions] env`. Agent Skills have no key of their own for them; their
//! `metadata` is where they are published: as `env`, or as `requires.env` in it or in a table of a
//! client's own.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::skill::document::Document;
use crate::skill::manifest::Manifest;
use crate::skill::manifest::secret_name::check_secret_name;

/// Most variables that a skill can declare.
const MAX_VARIABLES: usize = 64;

/// Tables within tables in which `requires` is looked for.
const MAX_DEPTH: usize = 3;

/// The names of the variables that a call may set for a script of this skill. Secrets are not among them:
/// the server has their values.
#[must_use]
pub fn declared_variables(manifest: &Manifest, document: &Document) -> BTreeSet<String> {
    let frontmatter = document.frontmatter_json().get();
    let frontmatter: Value = serde_json::from_str(frontmatter).unwrap_or_default();
    let mut found = BTreeSet::new();
    found.extend(manifest.permissions.env.iter().cloned());
    frontmatter.get("env").into_iter().for_each(|value| add_names(value, &mut found));
    let metadata = frontmatter.get("metadata").into_iter();
    metadata.for_each(|value| add_declared(value, MAX_DEPTH, &mut found));
    let secrets = manifest.permissions.secret_names();
    found.retain(|name| !secrets.contains(name.as_str()) && check_secret_name(name).is_ok());
    found.into_iter().take(MAX_VARIABLES).collect()
}

/// Adds what `metadata`, or a table in it, declares.
fn add_declared(table: &Value, depth: usize, found: &mut BTreeSet<String>) {
    let Some(members) = table.as_object().filter(|_| depth > 0) else { return };
    for (key, value) in members {
        match key.as_str() {
            "env" | "environment" | "primaryEnv" => add_names(value, found),
            _ => add_declared(value, depth.saturating_sub(1), found),
        }
    }
}

/// Adds names: a list of them, of tables with a `name`, a table with one for each, or a text with several.
fn add_names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let names = text.split(|c: char| c == ',' || c.is_whitespace());
            found.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
        }
        Value::Array(items) => {
            let name = |item: &Value| item.get("name").unwrap_or(item).as_str().map(str::to_owned);
            found.extend(items.iter().filter_map(name));
        }
        Value::Object(members) => found.extend(members.keys().cloned()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::{Files, SkillOrigin, check};

    fn declared(frontmatter: &str, manifest: Option<&str>) -> Vec<String> {
        let document = format!("---\nname: a\ndescription: B\n{frontmatter}\n---\nText");
        let mut files = Files::from([("SKILL.md", document.as_bytes())]);
        let manifest = manifest.map(|permissions| {
            format!("name = \"a\"\nversion = \"1.0.0\"\ndescription = \"B\"\nkind = \"instruction\"\n[permissions]\n{permissions}\n")
        });
        if let Some(text) = &manifest {
            files.insert("skill.toml", text.as_bytes());
        }
        let checked = check("a", &files, SkillOrigin::Folder);
        let skill = checked.skill.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
        declared_variables(&skill.manifest, &skill.document).into_iter().collect()
    }

    #[test]
    fn variables_are_declared_where_skills_publish_them() {
        for (frontmatter, expected) in [
            ("", &[][..]),
            ("env: [A, B]", &["A", "B"]),
            ("metadata: {env: \"A, B C\"}", &["A", "B", "C"]),
            ("metadata: {env: {A: \"what it is\"}}", &["A"]),
            ("metadata: {requires: {env: [A]}}", &["A"]),
            ("metadata: {client: {requires: {env: [{name: A}]}, primaryEnv: B}}", &["A", "B"]),
            ("metadata: {env: [PATH, PYTHONPATH, LD_PRELOAD, \"a-b\", 3, OK]}", &["OK"]),
            ("metadata: {a: {b: {c: {d: {env: [A]}}}}}", &[]),
            ("metadata: text", &[]),
        ] {
            assert_eq!(declared(frontmatter, None), expected, "{frontmatter}");
        }
    }

    #[test]
    fn secrets_are_not_for_callers_to_set() {
        let both = "env = [\"MODE\", \"ACME_KEY\"]\nsecrets = [\"ACME_KEY\"]";
        assert_eq!(declared("metadata: {env: [ACME_KEY, TONE]}", Some(both)), ["MODE", "TONE"]);
    }
}
