//! The inputs of a skill as a JSON Schema (2020-12, <https://json-schema.org/draft/2020-12>).
//!
//! INVARIANT(schema-is-enforced): the schema and the check of arguments accept the same calls. Two
//! differences remain: a misspelt input is refused although a schema cannot say so, and `1.0` is
//! an integer for a schema but reaches Python as a float, so it is refused.

use serde_json::{Map, Value as Json, json};

use crate::skill::manifest::inputs::Inputs;
use crate::skill::manifest::shape::{InputType, Shape};

/// The pattern of blob ids. The last letter holds one bit of the digest.
const BLOB_PATTERN: &str = "^blob:[a-z2-7]{51}[aq]$";

impl Inputs {
    /// The schema of a skill's `args`.
    #[must_use]
    pub fn json_schema(&self) -> Json {
        let mut schema = object(self.iter().map(|input| {
            let mut schema = schema_of(&input.shape, !input.is_required);
            if let Some(default) = &input.default {
                schema.insert("default".to_owned(), default.clone());
            }
            (input.name.clone(), schema, input.is_required)
        }));
        let dialect = "https://json-schema.org/draft/2020-12/schema";
        schema.insert("$schema".to_owned(), dialect.into());
        schema.insert("type".to_owned(), "object".into());
        Json::Object(schema)
    }
}

/// The members `properties` and `required` of an object with these members.
fn object(members: impl Iterator<Item = (String, Map<String, Json>, bool)>) -> Map<String, Json> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, schema, is_required) in members {
        if is_required {
            required.push(Json::from(name.as_str()));
        }
        properties.insert(name, Json::Object(schema));
    }
    let mut schema = Map::from_iter([("properties".to_owned(), Json::Object(properties))]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

/// The schema of one value. `null` stands for a missing value.
fn schema_of(shape: &Shape, may_be_null: bool) -> Map<String, Json> {
    let mut schema = match shape.input_type {
        InputType::Object if !shape.properties.is_empty() => {
            object(shape.properties.iter().map(|property| {
                let schema = schema_of(&property.shape, !property.is_required);
                (property.name.clone(), schema, property.is_required)
            }))
        }
        _ => Map::new(),
    };
    let mut add = |key: &str, value: Json| {
        schema.insert(key.to_owned(), value);
    };
    let word = match shape.input_type {
        InputType::Any => None,
        InputType::Blob => {
            add("pattern", BLOB_PATTERN.into());
            Some("string")
        }
        other => Some(other.as_str()),
    };
    if let Some(word) = word {
        add("type", if may_be_null { json!([word, "null"]) } else { word.into() });
    }
    if let Some(description) = &shape.description {
        add("description", description.as_str().into());
    }
    if !shape.allowed.is_empty() {
        let mut allowed = shape.allowed.clone();
        if may_be_null && !allowed.contains(&Json::Null) {
            allowed.push(Json::Null);
        }
        add("enum", allowed.into());
    }
    if let Some(items) = &shape.items {
        add("items", Json::Object(schema_of(items, false)));
    }
    let (least, most) = match shape.input_type {
        InputType::Array => ("minItems", "maxItems"),
        _ => ("minLength", "maxLength"),
    };
    let (minimum, maximum) = &shape.range;
    for (key, bound) in [
        ("minimum", minimum.clone().map(Json::Number)),
        ("maximum", maximum.clone().map(Json::Number)),
        (least, shape.size.0.map(Json::from)),
        (most, shape.size.1.map(Json::from)),
    ] {
        if let Some(bound) = bound {
            add(key, bound);
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{BlobId, Digest};
    use crate::skill::diagnostic::Findings;
    use crate::skill::manifest::fields::Fields;
    use crate::skill::source::from_toml;

    fn schema(section: &str) -> Json {
        let text = format!("[inputs]\n{section}");
        let mut findings = Findings::new("skill.toml", &text);
        let root = from_toml::parse(&mut findings).unwrap();
        let inputs = Inputs::read(&Fields::of_file(&root).unwrap(), &mut findings);
        assert_eq!(findings.into_diagnostics(), []);
        inputs.json_schema()
    }

    #[test]
    fn a_schema_states_the_enforced_rules() {
        let schema = schema(
            "file = { type = \"blob\", required = true, description = \"A sheet\" }\n\
             mode = { type = \"string\", enum = [\"a\", \"b\"], default = \"a\" }\n\
             rows = { type = \"array\", maxItems = 9, items = { type = \"object\", properties = \
             { n = { type = \"integer\", minimum = 1, required = true }, t = \"string\" } } }\n\
             more = { type = \"any\" }",
        );
        let expected = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "required": ["file"],
            "properties": {
                "file": {"type": "string", "pattern": BLOB_PATTERN, "description": "A sheet"},
                "mode": {"type": ["string", "null"], "enum": ["a", "b", null], "default": "a"},
                "rows": {"type": ["array", "null"], "maxItems": 9, "items": {
                    "type": "object",
                    "required": ["n"],
                    "properties": {
                        "n": {"type": "integer", "minimum": 1},
                        "t": {"type": ["string", "null"]},
                    },
                }},
                "more": {},
            },
        });
        assert_eq!(schema, expected);
        assert_eq!(schema_of_nothing()["properties"], json!({}));
    }

    fn schema_of_nothing() -> Json {
        Inputs::default().json_schema()
    }

    #[test]
    fn the_pattern_of_blobs_knows_their_last_letter() {
        for content in 0..200_u32 {
            let id = BlobId::of_digest(&Digest::of(&content.to_le_bytes())).to_string();
            assert!(id.ends_with(['a', 'q']) && id.len() == "blob:".len() + 52, "{id}");
        }
    }
}
