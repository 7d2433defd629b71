//! The schema of a method's result as a document of its own, with the parts that it refers to.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::protocol::openrpc::components::SCHEMAS;
use crate::protocol::openrpc::method::result_names;

/// The place of parts in the OpenRPC document, and in a schema by itself.
const PARTS: &str = "#/components/schemas/";
const OWN_PARTS: &str = "#/$defs/";

/// Returns the schema of the results of a method, as the members of a JSON Schema whose type is an
/// object. Empty if the schemas were not built in.
#[must_use]
pub fn output_schema(method: &str) -> Map<String, Value> {
    let all: Map<String, Value> = serde_json::from_str(SCHEMAS).unwrap_or_default();
    let names = result_names(method);
    let mut used = BTreeSet::new();
    for name in names {
        collect(name, &all, &mut used);
    }
    let part = |name: &str| all.get(name).cloned().map(with_own_parts).unwrap_or_default();
    let mut schema = match names {
        [only] => {
            used.remove(*only);
            part(only).as_object().cloned().unwrap_or_default()
        }
        several => {
            let one_of = several.iter().map(|name| json!({"$ref": format!("{OWN_PARTS}{name}")}));
            let one_of = one_of.collect::<Value>();
            Map::from_iter([("type".to_owned(), "object".into()), ("anyOf".to_owned(), one_of)])
        }
    };
    if !used.is_empty() {
        let parts = used.iter().map(|name| (name.clone(), part(name)));
        schema.insert("$defs".to_owned(), Value::Object(parts.collect()));
    }
    schema
}

/// Adds a part and all that it refers to.
fn collect(name: &str, all: &Map<String, Value>, used: &mut BTreeSet<String>) {
    if !used.insert(name.to_owned()) {
        return;
    }
    let mut pending: Vec<&Value> = all.get(name).into_iter().collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(members) => {
                if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                    collect(target.trim_start_matches(PARTS), all, used);
                }
                pending.extend(members.values());
            }
            Value::Array(elements) => pending.extend(elements),
            _ => {}
        }
    }
}

fn with_own_parts(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let renamed = members.into_iter().map(|(name, value)| {
                let value = match value {
                    Value::String(target) if name == "$ref" => {
                        Value::String(target.replace(PARTS, OWN_PARTS))
                    }
                    other => with_own_parts(other),
                };
                (name, value)
            });
            Value::Object(renamed.collect())
        }
        Value::Array(elements) => elements.into_iter().map(with_own_parts).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::tools::TOOLS;

    #[test]
    fn every_method_has_a_schema_that_stands_by_itself() {
        for tool in &TOOLS {
            let schema = output_schema(tool.name);
            assert_eq!(schema.get("type"), Some(&json!("object")), "{}", tool.name);
            let parts = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
            let text = Value::Object(schema).to_string();
            assert!(!text.contains("components"), "{text}");
            for target in text.split("\"$ref\":\"").skip(1) {
                let name = target.split('"').next().unwrap().trim_start_matches(OWN_PARTS);
                assert!(parts.contains_key(name), "{}: {name}", tool.name);
            }
        }
    }

    #[test]
    fn a_schema_has_only_the_parts_that_it_needs() {
        let guide = output_schema("load_skills_protocol_guide");
        assert!(!guide.contains_key("$defs"), "{guide:?}");
        let run = output_schema("run_code");
        let parts: Vec<_> = run["$defs"].as_object().unwrap().keys().cloned().collect();
        assert!(parts.contains(&"RunError".to_owned()), "{parts:?}");
        assert!(!parts.contains(&"ListedSkill".to_owned()), "{parts:?}");
    }
}
