//! Parses `skill.toml` into a checked manifest.
//!
//! Unknown keys are warnings, so that manifests for newer runtimes load. Keys that the protocol
//! defines must have the right type and a valid value.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::manifest::fields::{Fields, TextField};
use crate::skill::manifest::inputs::declared::Inputs;
use crate::skill::manifest::model::{MAX_DESCRIPTION, MAX_TAGS, Manifest, SkillKind};
use crate::skill::manifest::permissions::{KEYS as PERMISSION_KEYS, Permissions};
use crate::skill::manifest::runtime::RuntimeSection;
use crate::skill::python;
use crate::skill::similar::did_you_mean;
use crate::skill::source::from_toml;
use crate::skill::source::node::{SourceNode, SourceValue, put_first};
use crate::skill::text::{is_one_line, quoted};
use wardian_vocabulary::ids::{SkillName, SkillVersion};

/// Longest tag, in characters.
const MAX_TAG: usize = 64;

/// The known keys, in the order of the protocol's documents. They are shown in this order.
const KEYS: [&str; 9] = [
    "name",
    "version",
    "description",
    "kind",
    "namespace",
    "tags",
    "runtime",
    "inputs",
    "permissions",
];

/// A manifest, and the places of the values that are checked against other files.
#[derive(Debug)]
pub struct ParsedManifest {
    pub manifest: Manifest,
    pub name: Range<usize>,
    pub version: Range<usize>,
    pub entrypoint: Range<usize>,
    pub export: Range<usize>,
}

/// Parses the text of `findings`. Adds an error to `findings` if it returns `None`.
pub fn parse(findings: &mut Findings<'_>) -> Option<ParsedManifest> {
    let mut root = from_toml::parse(findings)?;
    let parsed = read(&root, findings);
    if findings.has_errors() {
        return None;
    }
    let (mut parsed, _) = (parsed?, sort_keys(&mut root));
    parsed.manifest.json = root.to_raw_json()?;
    Some(parsed)
}

fn read(root: &SourceNode, findings: &mut Findings<'_>) -> Option<ParsedManifest> {
    let fields = Fields::of_file(root)?;
    fields.warn_unknown(&KEYS, findings);

    let name_text = fields.required_text("name", "name = \"acme.sales.report\"", findings);
    let name = name_text.as_ref().and_then(|text| read_name(text, findings));
    let version_text = fields.required_text("version", "version = \"0.1.0\"", findings);
    let version = version_text.as_ref().and_then(|text| read_version(text, findings));
    let description = read_description(&fields, findings);
    let kind = read_kind(&fields, findings);
    let namespace = read_namespace(&fields, findings);
    let tags = read_tags(&fields, findings);
    let runtime = read_runtime(&fields, kind, findings);
    let permissions = Permissions::read(&fields, findings);
    let inputs = Inputs::read(&fields, findings);
    if kind == Some(SkillKind::Instruction) {
        warn_without_effect(&fields, findings);
    }

    let place = |key: &str| {
        let node = fields.node("runtime").and_then(|runtime| match &runtime.value {
            SourceValue::Table(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        });
        node.map_or(0..0, |entry| entry.node.span.clone())
    };
    Some(ParsedManifest {
        name: name_text?.span.clone(),
        version: version_text?.span.clone(),
        entrypoint: place("entrypoint"),
        export: place("export"),
        manifest: Manifest {
            name: name?,
            version: version?,
            description: description?,
            kind: kind?,
            namespace,
            tags,
            runtime,
            permissions,
            inputs,
            json: RawValue::NULL.to_owned(),
        },
    })
}

fn sort_keys(root: &mut SourceNode) {
    let SourceValue::Table(entries) = &mut root.value else { return };
    put_first(entries, &KEYS);
    for entry in entries {
        let order: &[&str] = match entry.key.as_str() {
            "runtime" => &["language", "entrypoint", "export"],
            "permissions" => &PERMISSION_KEYS,
            _ => &[],
        };
        if let SourceValue::Table(entries) = &mut entry.node.value {
            put_first(entries, order);
        }
    }
}

fn read_name(text: &TextField<'_>, findings: &mut Findings<'_>) -> Option<SkillName> {
    let name = match SkillName::parse(text.text) {
        Ok(name) => name,
        Err(invalid) => {
            let message = format!("{invalid} (it is {})", quoted(text.text));
            findings.error(text.span, Problem::new("invalid-name", message));
            return None;
        }
    };
    if name.has_one_segment() {
        let message =
            format!("the name `{name}` has a single segment, so no namespace contains it");
        let help = format!("use the form `namespace.domain.action`, such as `acme.files.{name}`");
        findings.warning(text.span, Problem::new("name-of-one-segment", message).help(help));
    }
    if name.has_dash() {
        let problem = Problem::new("name-with-dash", format!("the name `{name}` has a dash"))
            .help("other runtimes may accept only lowercase letters, digits and dots");
        findings.warning(text.span, problem);
    }
    let is_importable = |part: &str| python::is_name(&part.replace('-', "_"));
    if let Some(part) = name.as_str().split('.').find(|part| !is_importable(part)) {
        let message =
            format!("`{part}` is not a Python name, so `import skills.{name}` is a syntax error");
        findings.warning(text.span, Problem::new("name-not-importable", message));
    }
    Some(name)
}

fn read_version(text: &TextField<'_>, findings: &mut Findings<'_>) -> Option<SkillVersion> {
    let version = SkillVersion::parse(text.text);
    if let Err(invalid) = &version {
        let message = format!("{invalid} (it is {})", quoted(text.text));
        findings.error(text.span, Problem::new("invalid-version", message));
    }
    version.ok()
}

fn read_description(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<String> {
    let example = "description = \"Writes the monthly sales report.\"";
    let text = fields.required_text("description", example, findings)?;
    let length = text.text.chars().count();
    let problem = if text.text.trim().is_empty() {
        Some("`description` must not be empty".to_owned())
    } else if length > MAX_DESCRIPTION {
        Some(format!("`description` has {length} characters, more than {MAX_DESCRIPTION}"))
    } else if !is_one_line(text.text) {
        Some("`description` must be one line without control characters".to_owned())
    } else {
        None
    };
    if let Some(message) = problem {
        let problem = Problem::new("invalid-description", message);
        findings.error(text.span, problem.help("long explanations belong in SKILL.md"));
        return None;
    }
    Some(text.text.to_owned())
}

fn read_kind(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<SkillKind> {
    let text = fields.required_text("kind", "kind = \"action\"", findings)?;
    match text.text {
        "action" => Some(SkillKind::Action),
        "instruction" => Some(SkillKind::Instruction),
        other => {
            let message =
                format!("`kind` must be \"action\" or \"instruction\", not {}", quoted(other));
            let help = did_you_mean(other, ["action", "instruction"]);
            findings.error(text.span, Problem::new("invalid-kind", message).maybe_help(help));
            None
        }
    }
}

fn read_namespace(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<String> {
    let text = fields.text("namespace", "namespace = \"acme\"", findings)?;
    if SkillName::parse(text.text).is_err() {
        let message = format!(
            "`namespace` must be segments of a-z and 0-9 joined by dots, not {}",
            quoted(text.text)
        );
        findings.error(text.span, Problem::new("invalid-namespace", message));
    }
    Some(text.text.to_owned())
}

pub(crate) fn read_tags(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Vec<String> {
    let tags = fields.texts("tags", MAX_TAGS, findings);
    for tag in &tags {
        let length = tag.text.chars().count();
        if tag.text.trim().is_empty() || length > MAX_TAG || !is_one_line(tag.text) {
            let message = format!("a tag must be one line of 1 to {MAX_TAG} characters");
            findings.error(tag.span, Problem::new("invalid-tag", message));
        }
    }
    tags.into_iter().map(|tag| tag.text.to_owned()).collect()
}

fn read_runtime(
    fields: &Fields<'_>,
    kind: Option<SkillKind>,
    findings: &mut Findings<'_>,
) -> Option<RuntimeSection> {
    let entry = fields.entry("runtime");
    if let (Some(SkillKind::Instruction), Some(entry)) = (kind, entry) {
        let message = "an instruction skill must not have a `[runtime]` section";
        let problem = Problem::new("runtime-not-allowed", message);
        let help = "remove it, or write `kind = \"action\"`";
        findings.error(&entry.key_span, problem.help(help));
    }
    let section = fields.table("runtime", findings)?;
    RuntimeSection::read(&section, findings)
}

/// Warns of sections of an instruction skill that only code could use.
fn warn_without_effect(fields: &Fields<'_>, findings: &mut Findings<'_>) {
    for key in ["permissions", "inputs"] {
        if let Some(entry) = fields.entry(key) {
            let message =
                format!("`[{key}]` has no effect, because an instruction skill is never executed");
            findings.warning(&entry.key_span, Problem::new("no-effect", message));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The complete action skill of the protocol's documents.
    const COMPLETE: &str = r#"name = "salesforce.leads.sync"
version = "0.1.0"
description = "Sync leads from a sheet blob into Salesforce."
kind = "action"
namespace = "salesforce"
tags = ["crm", "leads", "sync"]
[runtime]
language = "python"
entrypoint = "code/main.py"
export = "main"
[inputs]
sheet_blob = { type = "blob", description = "Blob id of the CSV sheet" }
env = { type = "string", enum = ["dev", "staging", "prod"], description = "Target environment" }
batch_size = { type = "integer", default = 100, description = "Records per batch" }
[permissions]
network = ["https://*.salesforce.com"]
secrets = ["SALESFORCE_API_KEY", "SALESFORCE_ORG_ID"]
"#;

    const INSTRUCTION: &str = "name = \"best.practices\"\nversion = \"1.0.0\"\ndescription = \"Best practices.\"\nkind = \"instruction\"\nnamespace = \"best\"\ntags = [\"guide\"]\n";

    fn parsed(text: &str) -> (Option<Manifest>, String) {
        let mut findings = Findings::new("skill.toml", text);
        let manifest = parse(&mut findings).map(|parsed| parsed.manifest);
        let lines: Vec<_> = findings.into_diagnostics().iter().map(ToString::to_string).collect();
        (manifest, lines.join("\n"))
    }

    /// The findings in the complete manifest when `line` replaces `old`.
    fn found(old: &str, line: &str) -> String {
        assert!(COMPLETE.contains(old), "{old}");
        parsed(&COMPLETE.replacen(old, line, 1)).1
    }

    #[test]
    fn the_documented_manifest_is_understood() {
        let (manifest, found) = parsed(COMPLETE);
        assert_eq!(found, "");
        let manifest = manifest.unwrap();
        assert_eq!(
            (manifest.name.as_str(), manifest.version.as_str()),
            ("salesforce.leads.sync", "0.1.0")
        );
        assert_eq!((manifest.kind, manifest.tags.len()), (SkillKind::Action, 3));
        assert_eq!(manifest.namespace.as_deref(), Some("salesforce"));
        assert_eq!(manifest.runtime.unwrap().entrypoint, "code/main.py");
        assert_eq!(manifest.permissions.secrets, ["SALESFORCE_API_KEY", "SALESFORCE_ORG_ID"]);
        assert_eq!(manifest.inputs.find("batch_size").unwrap().default, Some(100.into()));
    }

    #[test]
    fn json_is_what_the_author_wrote_in_the_documents_order() {
        let text = "x-own = {b = 1, a = 2}\n[permissions]\nsecrets = []\nnetwork = []\n[inputs]\nz = {type = \"any\"}\na = {description = \"d\", type = \"any\"}\n[runtime]\nexport = \"main\"\nentrypoint = \"m.py\"\nlanguage = \"python\"\n";
        let top = "kind = \"action\"\ndescription = \"d\"\nversion = \"1.0.0\"\nname = \"a.b\"\n";
        insta::assert_snapshot!(parsed(&format!("{top}{text}")).0.unwrap().json().get(), @r#"{"name":"a.b","version":"1.0.0","description":"d","kind":"action","runtime":{"language":"python","entrypoint":"m.py","export":"main"},"inputs":{"z":{"type":"any"},"a":{"description":"d","type":"any"}},"permissions":{"network":[],"secrets":[]},"x-own":{"b":1,"a":2}}"#);
    }

    #[rustfmt::skip]
    const RULES: &[(&str, &str, &str)] = &[
        ("name = \"salesforce.leads.sync\"\n", "", " error: `name` is missing; add `name = \"acme.sales.report\"`"),
        ("\"salesforce.leads.sync\"", "\"SalesforceLeadsSync\"", "1:8: error: skill name must be segments of a-z and 0-9 joined by dots, such as `acme.sales.report` (it is \"SalesforceLeadsSync\")"),
        ("\"salesforce.leads.sync\"", "\"gdrive_sheets\"", "1:8: error: skill name must be segments of a-z and 0-9 joined by dots, such as `acme.sales.report` (it is \"gdrive_sheets\")"),
        ("\"salesforce.leads.sync\"", "12", "1:8: error: `name` must be a string, not an integer; write `name = \"acme.sales.report\"`"),
        ("\"salesforce.leads.sync\"", "\"best-practices.x\"", "1:8: warning: the name \
            `best-practices.x` has a dash; other runtimes may accept only lowercase letters, \
            digits and dots"),
        ("\"salesforce.leads.sync\"", "\"leads\"", "1:8: warning: the name `leads` has a single \
            segment, so no namespace contains it; use the form `namespace.domain.action`, such as \
            `acme.files.leads`"),
        ("\"salesforce.leads.sync\"", "\"acme.import.x\"", "1:8: warning: `import` is not a \
            Python name, so `import skills.acme.import.x` is a syntax error"),
        ("version = \"0.1.0\"\n", "", " error: `version` is missing; add `version = \"0.1.0\"`"),
        ("\"0.1.0\"", "0.1", "2:11: error: `version` must be a string, not a float; write `version = \"0.1.0\"`"),
        ("\"0.1.0\"", "\"1.0\"", "2:11: error: version must be `major.minor.patch`, such as `0.1.0` (it is \"1.0\")"),
        ("\"0.1.0\"", "\"1.0.0-../../\"", "2:11: error: version must be `major.minor.patch`, such as `0.1.0` (it is \"1.0.0-../../\")"),
        ("\"0.1.0\"", "\"1.0.0+b\"", "2:11: error: version must not contain build metadata \
            (`+...`) (it is \"1.0.0+b\")"),
        ("\"Sync leads from a sheet blob into Salesforce.\"", "\"\"", "3:15: error: `description` must not be empty; long explanations belong in SKILL.md"),
        ("\"Sync leads from a sheet blob into Salesforce.\"", "\"a\\nb\"", "3:15: error: `description` must be one line without control characters; long explanations belong in SKILL.md"),
        ("\"Sync leads from a sheet blob into Salesforce.\"", "\"\\u001b[31m\"", "3:15: error: `description` must be one line without control characters; long explanations belong in SKILL.md"),
        ("kind = \"action\"\n", "", " error: `kind` is missing; add `kind = \"action\"`"),
        ("\"action\"", "\"Action\"", "4:8: error: `kind` must be \"action\" or \"instruction\", not \"Action\"; did you mean `action`?"),
        ("\"action\"", "\"tool\"", "4:8: error: `kind` must be \"action\" or \"instruction\", not \"tool\""),
        ("namespace = \"salesforce\"", "namespace = \"\"", "5:13: error: `namespace` must be segments of a-z and 0-9 joined by dots, not \"\""),
        ("[\"crm\", \"leads\", \"sync\"]", "\"crm\"", "6:8: error: `tags` must be a list of strings, not a string"),
        ("[\"crm\", \"leads\", \"sync\"]", "[\"crm\", 1]", "6:16: error: `tags` must contain only \
            strings, not an integer"),
        ("\"crm\"", "\" \"", "6:9: error: a tag must be one line of 1 to 64 characters"),
        ("[runtime]", "[runtimes]", "7:2: warning: unknown key \"runtimes\"; did you mean `runtime`?"),
        ("namespace", "namespase", "5:1: warning: unknown key \"namespase\"; did you mean `namespace`?"),
        ("namespace", "homepage", "5:1: warning: unknown key \"homepage\""),
        ("[permissions]", "[[permissions]]", "15:1: error: `permissions` must be a table, not a list"),
        ("secrets =", "secret =", "17:1: warning: unknown key \"permissions.secret\"; did you mean `secret_hosts` or `secrets`?"),
        ("secrets =", "secret_hosts = [\"A\"]\nsecrets =", "17:16: error: `permissions.secret_hosts` must be a table, not a list"),
        ("secrets =", "secret_hosts = { A = [\"https://*.salesforce.com\"] }\nsecrets =", "17:16: \
            warning: `secrets` does not list the brokered secret `A`; other runtimes may read only \
            `secrets`"),
        ("secrets =", "secret_hosts = { SALESFORCE_API_KEY = [\"https://api.acme.com\"] }\nsecrets =", "17:16: warning: `network` grants no request to `https://api.acme.com`; add \"https://api.acme.com\" to `network`"),
        ("secrets =", "secret_hosts = { SALESFORCE_API_KEY = [] }\nsecrets =", "17:39: error: \
            `permissions.secret_hosts.SALESFORCE_API_KEY` does not name a host; write \
            `SALESFORCE_API_KEY = [\"https://api.acme.com\"]`"),
        ("\"SALESFORCE_ORG_ID\"", "\"LD_PRELOAD\"", "17:34: error: the secret \"LD_PRELOAD\" is a \
            variable that changes how programs run"),
        ("secrets =", "env = [\"MODE\", \"PYTHONPATH\"]\nsecrets =", "17:16: error: the variable \"PYTHONPATH\" is a variable that changes how programs run"),
        ("\"https://*.salesforce.com\"", "\"https://*\"", "16:12: error: the URL pattern \"https://*\" must name a host, such as `https://api.acme.com`"),
        ("\"https://*.salesforce.com\"", "\"http://a.example\"", "16:12: warning: \
            `http://a.example` is not encrypted; use https if the host offers it"),
        ("\"https://*.salesforce.com\"", "\"*\"", "16:12: error: the URL pattern \"*\" must begin with `https://`"),
    ];

    #[test]
    fn each_broken_rule_of_the_manifest_is_reported() {
        for &(old, line, expected) in RULES {
            assert_eq!(found(old, line), format!("skill.toml:{expected}"));
        }
    }

    #[test]
    fn values_beyond_their_limits_are_refused() {
        let long = format!("description = \"{}\"", "x".repeat(1_025));
        let (_, found) = parsed(&INSTRUCTION.replace("description = \"Best practices.\"", &long));
        assert_eq!(
            found,
            "skill.toml:3:15: error: `description` has 1025 characters, more than 1024; long explanations belong in SKILL.md"
        );
        let tags = format!("tags = [{}]", "\"a\",".repeat(33));
        let (_, found) = parsed(&INSTRUCTION.replace("tags = [\"guide\"]", &tags));
        assert_eq!(found, "skill.toml:6:8: error: `tags` has 33 entries, more than 32");
    }

    #[test]
    fn instruction_skills_have_no_runtime() {
        assert_eq!(parsed(INSTRUCTION).1, "");
        let (manifest, found) = parsed(&format!("{INSTRUCTION}[inputs]\n[permissions]\n"));
        assert!(manifest.is_some() && found.lines().count() == 2, "{found}");
        let (manifest, found) = parsed(&COMPLETE.replace("\"action\"", "\"instruction\""));
        assert!(manifest.is_none());
        assert!(found.starts_with("skill.toml:7:2: error: an instruction skill must not have a `[runtime]` section; remove it, or write `kind = \"action\"`"), "{found}");
    }

    #[test]
    fn several_mistakes_are_reported_at_once() {
        let (_, found) = parsed(
            "name = 1\nkind = \"x\"\n[runtime]\nlanguage = \"ruby\"\nexport = \"__import__\"\n",
        );
        insta::assert_snapshot!(found, @r#"
        skill.toml: error: `version` is missing; add `version = "0.1.0"`
        skill.toml: error: `description` is missing; add `description = "Writes the monthly sales report."`
        skill.toml:1:8: error: `name` must be a string, not an integer; write `name = "acme.sales.report"`
        skill.toml:2:8: error: `kind` must be "action" or "instruction", not "x"
        skill.toml:3:1: error: `runtime.entrypoint` is missing; add `entrypoint = "code/main.py"`
        skill.toml:4:12: error: `runtime.language` must be "python", not "ruby"
        skill.toml:5:10: error: `runtime.export` must be the name of a function, not "__import__"; letters, digits and `_`, not a keyword, and without `__` at the start
        "#);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), at in 0..COMPLETE.len(), cut in 0_usize..40) {
            parsed(&text);
            let end = (at + cut).min(COMPLETE.len());
            let mut edited = COMPLETE.to_owned();
            edited.replace_range(at..end, &text);
            parsed(&edited);
        }
    }
}
