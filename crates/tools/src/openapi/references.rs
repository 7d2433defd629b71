//! References within a document: `#/components/…`. None leads outside of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::fault::told;

/// Most references in a row.
const MAX_CHAIN: usize = 16;

/// Most schemas that the schema of one tool takes along.
const MAX_SCHEMAS: usize = 64;

/// Most values of a schema with those that it takes along: a bound on the work for it.
const MAX_VALUES: usize = 20_000;

/// The value itself, or the one that it refers to.
///
/// # Errors
///
/// A reference to another document, to nothing, or in a circle.
pub(crate) fn resolve<'a>(root: &'a Value, value: &'a Value) -> Result<&'a Value, String> {
    let mut value = value;
    for _ in 0..MAX_CHAIN {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok(value) };
        value = target(root, reference)?;
    }
    Err("a reference leads in a circle".to_owned())
}

fn target<'a>(root: &'a Value, reference: &str) -> Result<&'a Value, String> {
    let shown = told(reference);
    let pointer = reference.strip_prefix('#').filter(|pointer| pointer.starts_with('/'));
    let pointer = pointer.ok_or_else(|| format!("`{shown}` leads out of the document"))?;
    root.pointer(pointer).ok_or_else(|| format!("`{shown}` leads to nothing"))
}

/// Makes schemas that do without the document: what they refer to is taken along.
#[derive(Debug)]
pub(crate) struct Schemas<'a> {
    root: &'a Value,
    /// The name in `$defs` of each reference.
    names: BTreeMap<String, String>,
    used: BTreeSet<String>,
    definitions: Map<String, Value>,
    left: usize,
}

impl<'a> Schemas<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self {
            root,
            names: BTreeMap::new(),
            used: BTreeSet::new(),
            definitions: Map::new(),
            left: MAX_VALUES,
        }
    }

    /// The schema with references into `$defs`.
    ///
    /// # Errors
    ///
    /// A reference that leads to nothing or out of the document, or too much behind the references.
    pub(crate) fn standalone(&mut self, schema: &Value) -> Result<Value, String> {
        let mut pending = Vec::new();
        let made = self.rewritten(schema, &mut pending)?;
        while let Some((name, reference)) = pending.pop() {
            let schema = target(self.root, &reference)?;
            let schema = self.rewritten(schema, &mut pending)?;
            self.definitions.insert(name, schema);
        }
        Ok(made)
    }

    /// The `$defs` of all schemas that were made.
    pub(crate) fn into_definitions(self) -> Map<String, Value> {
        self.definitions
    }

    fn rewritten(
        &mut self,
        value: &Value,
        pending: &mut Vec<(String, String)>,
    ) -> Result<Value, String> {
        let left = self.left.checked_sub(1);
        self.left = left.ok_or_else(|| "its schema is too large".to_owned())?;
        Ok(match value {
            Value::Array(items) => {
                let items = items.iter().map(|item| self.rewritten(item, pending));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let mut object = Map::new();
                for (key, member) in members {
                    let member = match (key.as_str(), member) {
                        ("$ref", Value::String(reference)) => {
                            Value::String(self.name_of(reference, pending)?)
                        }
                        _ => self.rewritten(member, pending)?,
                    };
                    object.insert(key.clone(), member);
                }
                Value::Object(object)
            }
            other => other.clone(),
        })
    }

    /// The new text of a reference.
    fn name_of(
        &mut self,
        reference: &str,
        pending: &mut Vec<(String, String)>,
    ) -> Result<String, String> {
        if let Some(name) = self.names.get(reference) {
            return Ok(format!("#/$defs/{name}"));
        }
        if self.names.len() >= MAX_SCHEMAS {
            return Err("its schema refers to too many others".to_owned());
        }
        let last = reference.rsplit('/').next().unwrap_or_default();
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let mut name: String = last.chars().take(64).map(plain).collect();
        while !self.used.insert(name.clone()) {
            name.push('_');
        }
        self.names.insert(reference.to_owned(), name.clone());
        pending.push((name.clone(), reference.to_owned()));
        Ok(format!("#/$defs/{name}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_stay_within_the_document() {
        let root = json!({"a": {"$ref": "#/b"}, "b": {"x": 1}, "c": {"$ref": "#/c"}});
        assert_eq!(resolve(&root, &root["a"]), Ok(&json!({"x": 1})));
        for wrong in ["#/c", "#/none", "other.yaml#/a", "https://evil.example/a", "#", "/etc/x"] {
            assert!(resolve(&root, &json!({"$ref": wrong})).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_schema_takes_along_what_it_refers_to() {
        let root = json!({"components": {"schemas": {
            "Tree": {"properties": {"of": {"$ref": "#/components/schemas/Tree"},
                                    "leaf": {"$ref": "#/components/schemas/Leaf"}}},
            "Leaf": {"type": "string"},
        }}});
        let mut schemas = Schemas::new(&root);
        let made = schemas.standalone(&json!({"$ref": "#/components/schemas/Tree"})).unwrap();
        assert_eq!(made, json!({"$ref": "#/$defs/Tree"}));
        let expected = json!({
            "Tree": {"properties": {"of": {"$ref": "#/$defs/Tree"}, "leaf": {"$ref": "#/$defs/Leaf"}}},
            "Leaf": {"type": "string"},
        });
        assert_eq!(Value::Object(schemas.into_definitions()), expected);
        let outside = json!({"items": {"$ref": "other.json"}});
        assert!(Schemas::new(&root).standalone(&outside).is_err());
        let large = Value::Array(vec![Value::Null; MAX_VALUES]);
        assert!(Schemas::new(&root).standalone(&large).is_err());
    }
}
