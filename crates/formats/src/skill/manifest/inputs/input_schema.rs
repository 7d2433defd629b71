//! The inputs of a skill as a JSON Schema (2020-12, <https://json-schema.org/draft/2020-12>).
//!
//! INVARIANT(schema-is-enforced): the schema and the check of arguments accept the same calls. Two
//! differences remain: a misspelt input is refused although a schema cannot say so, and `1.0` is
//! an integer for a schema but reaches Python as a float, so it is refused.

use serde_json::{Map, Value as Json, json};

use crate::skill::manifest::inputs::declared::Inputs;
use crate::skill::manifest::inputs::shape::{InputShape, InputType};

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
fn schema_of(shape: &InputShape, may_be_null: bool) -> Map<String, Json> {
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
    use proptest::prelude::*;
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::skill::diagnostic::Findings;
    use crate::skill::manifest::fields::Fields;
    use crate::skill::manifest::inputs::declared::is_same;
    use crate::skill::manifest::inputs::fit::{ArgumentPlace, Fit};
    use crate::skill::source::from_toml;
    use wardian_vocabulary::ids::{BlobId, Digest};

    fn inputs(section: &str) -> Inputs {
        let text = format!("[inputs]\n{section}");
        let mut findings = Findings::new("skill.toml", &text);
        let root = from_toml::parse(&mut findings).unwrap();
        let inputs = Inputs::read(&Fields::of_file(&root).unwrap(), &mut findings);
        assert_eq!(findings.into_diagnostics(), []);
        inputs
    }

    #[test]
    fn a_schema_states_the_enforced_rules() {
        let inputs = inputs(
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
        assert_eq!(inputs.json_schema(), expected);
        assert_eq!(schema_of_nothing()["properties"], json!({}));
    }

    fn schema_of_nothing() -> Json {
        Inputs::default().json_schema()
    }

    /// True if a value is valid by the keywords of JSON Schema that schemas of inputs have.
    fn is_valid(schema: &Json, value: &Json) -> bool {
        let is = |word: &Json| match word.as_str().unwrap() {
            "null" => value.is_null(),
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            _ => value.is_object(),
        };
        let size = match value {
            Json::String(text) => text.chars().count(),
            Json::Array(items) => items.len(),
            _ => 0,
        };
        schema.as_object().unwrap().iter().all(|(key, rule)| match (key.as_str(), value) {
            ("type", _) => rule.as_array().map_or_else(|| is(rule), |words| words.iter().any(is)),
            ("enum", _) => rule.as_array().unwrap().iter().any(|one| is_same(one, value)),
            ("minimum", Json::Number(number)) => number.as_f64() >= rule.as_f64(),
            ("maximum", Json::Number(number)) => number.as_f64() <= rule.as_f64(),
            ("minLength", Json::String(_)) | ("minItems", Json::Array(_)) => {
                size >= usize::try_from(rule.as_u64().unwrap()).unwrap()
            }
            ("maxLength", Json::String(_)) | ("maxItems", Json::Array(_)) => {
                size <= usize::try_from(rule.as_u64().unwrap()).unwrap()
            }
            ("items", Json::Array(items)) => items.iter().all(|item| is_valid(rule, item)),
            ("properties", Json::Object(members)) => members
                .iter()
                .all(|(name, member)| rule.get(name).is_none_or(|schema| is_valid(schema, member))),
            ("required", Json::Object(members)) => rule
                .as_array()
                .unwrap()
                .iter()
                .all(|name| members.contains_key(name.as_str().unwrap())),
            _ => true,
        })
    }

    /// Values that often fit and often miss by little.
    fn value() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            (-2_i64..6).prop_map(Json::from),
            (-4_i32..8).prop_map(|half| Json::from(f64::from(half) / 2.0 + 0.25)),
            "[abé]{0,4}".prop_map(Json::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                proptest::collection::btree_map("[abc]", inner, 0..3)
                    .prop_map(|map| Json::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_schema_is_enforced(value in value()) {
            let inputs = inputs(
                "a = { type = \"string\", minLength = 1, maxLength = 3, required = true }\n\
                 b = { type = \"array\", minItems = 1, maxItems = 2, items = { type = \"integer\", \
                 minimum = 0, maximum = 4 } }\n\
                 c = { type = \"object\", properties = { a = { type = \"number\", required = true }, \
                 b = { type = \"array\", items = { type = \"object\", properties = { a = { type = \
                 \"boolean\", required = true } } } }, c = { type = \"string\", enum = [\"a\", \"b\"] } } }",
            );
            let schema = inputs.json_schema();
            for input in &inputs {
                let text = to_raw_value(&value).unwrap();
                let mut fit = Fit::default();
                let is_given = input.is_required || !value.is_null();
                if is_given {
                    fit.examine(&ArgumentPlace::Argument(&input.name), &input.shape, &text);
                }
                let is_valid = is_valid(&schema["properties"][&input.name], &value);
                prop_assert_eq!(fit.problems.is_empty(), is_valid, "{} {:?}", value, fit.problems);
            }
        }
    }

    #[test]
    fn the_pattern_of_blobs_knows_their_last_letter() {
        for content in 0..200_u32 {
            let id = BlobId::of_digest(&Digest::of(&content.to_le_bytes())).to_string();
            assert!(id.ends_with(['a', 'q']) && id.len() == "blob:".len() + 52, "{id}");
        }
    }
}
