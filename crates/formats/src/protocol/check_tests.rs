//! Tests of the check of parameters.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::protocol::MethodCall;
use crate::protocol::methods::input_blob::{BlobAtPath, InputBlob};
use crate::protocol::methods::limit_bounds::LimitBounds;
use crate::protocol::schema::Published;
use crate::protocol::tools::{TOOLS, find_tool};

fn checked(tool: &str, params: &Value) -> Result<Value, ParamsError> {
    let params = to_raw_value(params).unwrap();
    let checked = check(find_tool(tool).unwrap(), Some(&params))?;
    Ok(serde_json::to_value(&checked).unwrap())
}

fn complaint(tool: &str, params: &Value) -> String {
    checked(tool, params).expect_err(&params.to_string()).to_string()
}

#[test]
fn defaults_are_filled_in() {
    assert_eq!(
        checked("list_skills", &json!({})).unwrap(),
        json!({"detail": "names", "limit": 50})
    );
    assert_eq!(
        checked("read_blob", &json!({"blob_id": "b"})).unwrap(),
        json!({"blob_id": "b", "mode": "sample_head"})
    );
    assert!(check(find_tool("list_skills").unwrap(), None).is_ok());
}

#[test]
fn null_leaves_an_optional_parameter_out() {
    let params = json!({"cursor": null, "namespace": null, "limit": null});
    let left_out = checked("list_skills", &json!({})).unwrap();
    assert_eq!(checked("list_skills", &params).unwrap(), left_out);
    let limits = json!({"language": "python", "code": "", "limits": {"fuel": null}});
    assert_eq!(checked("run_code", &limits).unwrap()["limits"], json!({}));
    assert_eq!(
        complaint("describe_skill", &json!({"name": null})),
        "parameter `name` must be a string of at most 128 characters, got null"
    );
}

#[test]
fn refusals_name_the_expected_value() {
    for (tool, params, message) in [
        (
            "list_skills",
            json!({"limit": "x"}),
            "parameter `limit` must be an integer between 1 and 500, got \"x\"",
        ),
        (
            "list_skills",
            json!({"detail": "all"}),
            "parameter `detail` must be one of `names` or `summary`, got \"all\"",
        ),
        (
            "list_skills",
            json!({"offset": 3, "limit": 0}),
            "unknown parameter `offset`: `list_skills` takes `namespace`, `detail`, `limit` and `cursor`",
        ),
        (
            "load_skills_protocol_guide",
            json!({"x": 1}),
            "unknown parameter `x`: `load_skills_protocol_guide` takes no parameters",
        ),
        (
            "read_skill_file",
            json!({"name": "a"}),
            "parameter `path` is missing: it must be a string of at most 1024 characters",
        ),
        (
            "run_code",
            json!({"language": "rust", "code": ""}),
            "parameter `language` must be \"python\", got \"rust\"",
        ),
        (
            "run_code",
            json!({"language": "python", "code": "", "entrypoint": "a.b"}),
            "parameter `entrypoint` must be an identifier of a-z, A-Z, 0-9 and `_`, \
             at most 128 characters long, got \"a.b\"",
        ),
        (
            "run_code",
            json!({"language": "python", "code": "", "args": [1]}),
            "parameter `args` must be an object, got an array of 1",
        ),
    ] {
        assert_eq!(complaint(tool, &params), message);
    }
}

#[test]
fn refusals_name_the_place_inside_a_parameter() {
    for (tool, params, message) in [
        (
            "run_code",
            json!({"language": "python", "code": "", "limits": {"timeout_ms": -1}}),
            "parameter `limits.timeout_ms` must be an integer of at least 1, got -1",
        ),
        (
            "run_code",
            json!({"language": "python", "code": "", "limits": {"cpu": 1}}),
            "unknown parameter `limits.cpu`: `limits` takes `timeout_ms`, `fuel`, `memory_bytes`, \
             `workspace_bytes` and `host_calls`",
        ),
        (
            "run_code",
            json!({"language": "python", "code": "", "mount_skills": ["a", "b", "a"]}),
            "parameter `mount_skills[2]` repeats \"a\"",
        ),
        (
            "run_code",
            json!({"language": "python", "code": "", "mount_skills": ["a", 7]}),
            "parameter `mount_skills[1]` must be a string of at most 258 characters, got 7",
        ),
        (
            "execute_skill",
            json!({"name": "a", "input_blobs": vec!["b"; 257]}),
            "parameter `input_blobs` must be an array of at most 256 different strings or objects, got an array of 257",
        ),
        (
            "describe_skill",
            json!({"name": "n".repeat(129)}),
            "parameter `name` must be a string of at most 128 characters, got a string of 129 characters",
        ),
    ] {
        assert_eq!(complaint(tool, &params), message);
    }
}

#[test]
fn blobs_are_ids_or_have_paths() {
    let code = |blobs: Value| json!({"language": "python", "code": "", "input_blobs": blobs});
    let placed = |path: &str| json!({"blob": "b", "path": path});
    let right = json!(["b", placed("x"), placed("y"), "c"]);
    assert_eq!(checked("run_code", &code(right.clone())).unwrap()["input_blobs"], right);
    let raw = to_raw_value(&code(json!(["b", placed("x")]))).unwrap();
    let MethodCall::RunCode(params) = MethodCall::parse("run_code", Some(&raw)).unwrap() else {
        panic!("another method");
    };
    let at_path = BlobAtPath { blob: "b".to_owned(), path: "x".to_owned() };
    assert_eq!(params.input_blobs, [InputBlob::Id("b".to_owned()), InputBlob::AtPath(at_path)]);
    for (blobs, message) in [
        (
            json!(["a", 7]),
            "parameter `input_blobs[1]` must be a string of at most 1024 characters or an object, got 7",
        ),
        (
            json!([{"blob": "b"}]),
            "parameter `input_blobs[0].path` is missing: it must be a string of at most 512 characters",
        ),
        (
            json!([{"blob": "b", "path": "x", "mode": 7}]),
            "unknown parameter `input_blobs[0].mode`: `input_blobs[0]` takes `blob` and `path`",
        ),
        (json!(["a", "b", "a"]), "parameter `input_blobs[2]` repeats \"a\""),
        (
            json!([placed("x"), {"path": "x", "blob": "b"}]),
            "parameter `input_blobs[1]` repeats \"b x\"",
        ),
    ] {
        assert_eq!(
            complaint("execute_skill", &json!({"name": "a", "input_blobs": blobs})),
            message
        );
    }
}

#[test]
fn numbers_at_the_edges_are_judged_exactly() {
    for (number, is_right) in [
        ("1", true),
        ("500", true),
        ("50.0", true),
        ("5e1", true),
        ("0", false),
        ("-0", false),
        ("-1", false),
        ("501", false),
        ("1.5", false),
        ("1e18", false),
        ("500.00000001", false),
        ("5000e-1", true),
        ("0.5E+3", true),
        ("0.5e0", false),
        ("0e99", false),
        ("-5e1", false),
        ("1e99999999999999999999", false),
        ("1e-99999999999999999999", false),
        ("18446744073709551615", false),
        ("9223372036854775808", false),
        ("\"50\"", false),
        ("true", false),
        ("[50]", false),
    ] {
        let text = RawValue::from_string(format!("{{\"limit\":{number}}}")).unwrap();
        let result = check(&TOOLS[0], Some(&text));
        assert_eq!(result.is_ok(), is_right, "{number}");
    }
    let text = RawValue::from_string(r#"{"name":"a","timeout_ms":18446744073709551615}"#.into());
    assert!(check(find_tool("execute_skill").unwrap(), Some(&text.unwrap())).is_ok());
}

#[test]
fn integers_are_read_exactly_however_they_are_written() {
    for (number, expected) in [
        ("1e18", Some(1_000_000_000_000_000_000)),
        ("9007199254740993.0", Some(9_007_199_254_740_993)),
        ("1.8446744073709551615E19", Some(u64::MAX)),
        ("1.8446744073709551616e19", None),
        ("1e20", None),
        ("1e400", None),
        ("120000e-4", Some(12)),
        ("120000e-5", None),
        ("0.000e7", Some(0)),
        ("-0.0", Some(0)),
        ("-1.0", None),
    ] {
        assert_eq!(exact_integer(number), expected, "{number}");
    }
}

#[test]
fn lengths_count_characters_not_bytes() {
    let name = |text: String| checked("describe_skill", &json!({"name": text})).is_ok();
    assert!(name("é".repeat(128)));
    assert!(!name("é".repeat(129)));
    let escaped = format!("{{\"name\":\"{}\"}}", "\\u00e9".repeat(128));
    let escaped = RawValue::from_string(escaped).unwrap();
    assert!(check(find_tool("describe_skill").unwrap(), Some(&escaped)).is_ok());
}

#[test]
fn arguments_keep_their_text() {
    let args = r#"{"z": 1.0, "a": [1e2, 18446744073709551615],  "é": "\u00e9"}"#;
    let params = RawValue::from_string(format!("{{\"name\":\"a\",\"args\":{args}}}")).unwrap();
    match MethodCall::parse("execute_skill", Some(&params)).unwrap() {
        MethodCall::ExecuteSkill(params) => assert_eq!(params.args.unwrap().get(), args),
        other => panic!("{other:?}"),
    }
}

/// Validates `value` by the rules of JSON Schema, with nothing but the published schema.
fn schema_allows(schema: &Value, value: &Value) -> bool {
    let keyword = |name: &str| schema.get(name);
    let number = value.as_f64();
    let has_type = match keyword("type").and_then(Value::as_str) {
        // Without either, any value is right.
        None => keyword("anyOf").is_none_or(|choices| {
            choices.as_array().unwrap().iter().any(|schema| schema_allows(schema, value))
        }),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("integer") => number.is_some_and(|number| number.fract() == 0.0),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        other => panic!("unknown type {other:?}"),
    };
    let length = value.as_str().map(|text| text.chars().count() as u64);
    let items = value.as_array().cloned().unwrap_or_default();
    has_type
        && keyword("enum").is_none_or(|values| values.as_array().unwrap().contains(value))
        && keyword("minimum").is_none_or(|least| number >= least.as_f64())
        && keyword("maximum").is_none_or(|most| number <= most.as_f64())
        && keyword("maxLength").is_none_or(|most| length <= most.as_u64())
        && keyword("pattern").is_none_or(|pattern| {
            let text = value.as_str().unwrap();
            if pattern == "^[A-Za-z0-9._:-]+$" {
                let is_sign = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
                return !text.is_empty() && text.chars().all(is_sign);
            }
            let signs = if pattern == "^[A-Za-z_][A-Za-z0-9_./-]*$" { "_./-" } else { "_" };
            assert!(signs.len() > 1 || pattern == "^[A-Za-z_][A-Za-z0-9_]*$");
            text.chars().all(|c| c.is_ascii_alphanumeric() || signs.contains(c))
                && text.chars().next().is_some_and(|c| !c.is_ascii_digit())
        })
        && keyword("maxItems").is_none_or(|most| items.len() as u64 <= most.as_u64().unwrap())
        && keyword("uniqueItems")
            .is_none_or(|_| items.iter().enumerate().all(|(at, item)| !items[..at].contains(item)))
        && keyword("items")
            .is_none_or(|schema| items.iter().all(|item| schema_allows(schema, item)))
        && keyword("properties").is_none_or(|properties| {
            let required =
                keyword("required").and_then(Value::as_array).cloned().unwrap_or_default();
            required.iter().all(|name| value.get(name.as_str().unwrap()).is_some())
                && value.as_object().unwrap().iter().all(|(name, member)| {
                    properties.get(name).is_some_and(|schema| schema_allows(schema, member))
                })
        })
}

/// A value that some parameter often accepts.
fn any_value() -> impl Strategy<Value = Value> {
    let texts = vec![
        "names",
        "summary",
        "full",
        "manifest",
        "python",
        "utf-8",
        "base64",
        "main",
        "a.b",
        "1x",
        "_x1",
        "sample_head",
        "",
        "é",
    ];
    let text = prop_oneof![
        3 => proptest::sample::select(texts).prop_map(str::to_owned),
        1 => (0usize..2).prop_flat_map(|by| proptest::sample::select(vec![63, 127, 128, 1_023, 1_024])
            .prop_map(move |length: usize| "é".repeat(length + by))),
    ];
    let leaf = prop_oneof![
        4 => text.clone().prop_map(Value::from),
        2 => proptest::sample::select(vec![0u64, 1, 2, 500, 501, 1 << 20, (1 << 20) + 1]).prop_map(Value::from),
        1 => proptest::sample::select(vec![1.0, 1.5, -1.0, 500.0, 501.0]).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
    ];
    let limits = proptest::sample::select(vec!["timeout_ms", "fuel", "memory_bytes", "cpu", "a"]);
    prop_oneof![
        4 => leaf.clone(),
        1 => proptest::collection::vec(text.prop_map(Value::from), 0..4).prop_map(Value::from),
        1 => proptest::sample::select(vec![64, 65, 256, 257]).prop_map(|count| {
            (0..count).map(|item: usize| Value::from(item.to_string())).collect()
        }),
        2 => proptest::collection::btree_map(limits.prop_map(str::to_owned), leaf, 0..3)
            .prop_map(|map| Value::Object(map.into_iter().collect())),
    ]
}

/// A value that the parameter accepts.
fn right_value(parameter: &Parameter) -> BoxedStrategy<Value> {
    match parameter.shape {
        Shape::Text(Text { pattern: Some(_), .. }) => {
            "[A-Z_a-z][0-9A-Z_a-z]{0,9}".prop_map(Value::from).boxed()
        }
        Shape::Flag => any::<bool>().prop_map(Value::from).boxed(),
        Shape::Text(_) => "[a-zé]{0,9}".prop_map(Value::from).boxed(),
        Shape::Choice { values, .. } => {
            proptest::sample::select(values).prop_map(Value::from).boxed()
        }
        Shape::Integer(Integer { minimum, maximum, .. }) => {
            (minimum..=maximum.unwrap_or(1 << 53)).prop_map(Value::from).boxed()
        }
        Shape::Limit(_) => (1..=1_u64 << 53).prop_map(Value::from).boxed(),
        Shape::TextList { max_items, .. } => (0..=max_items)
            .prop_map(|count| (0..count).map(|item| Value::from(item.to_string())).collect())
            .boxed(),
        Shape::WordList { .. } => proptest::collection::vec("[a-c]".prop_map(Value::from), 0..4)
            .prop_map(Value::from)
            .boxed(),
        Shape::TextOrObjectList { members, .. } => {
            let text = || "[a-zé]{0,3}".prop_map(Value::from);
            // A text that is no path is refused by the service, which says why.
            let object = right_object(members, &proptest::bool::weighted(0.1).boxed());
            proptest::collection::vec(prop_oneof![text(), object], 0..4)
                .prop_map(Value::from)
                .boxed()
        }
        Shape::FlagOrList { .. } => prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..3_usize).prop_map(|count| {
                (0..count).map(|item| Value::from(item.to_string())).collect()
            }),
        ]
        .boxed(),
        Shape::FlagOrObject(members) => {
            let flag = any::<bool>().prop_map(Value::from);
            prop_oneof![flag, right_object(members, &Just(false).boxed())].boxed()
        }
        Shape::TextOrObject(_, members) => {
            let text = "[a-zé]{0,9}".prop_map(Value::from);
            prop_oneof![text, right_object(members, &Just(false).boxed())].boxed()
        }
        Shape::AnyObject => any_value().prop_map(|value| json!({ "x": value })).boxed(),
        Shape::Object(members) => right_object(members, &Just(false).boxed()),
        Shape::ObjectList { members, .. } => {
            proptest::collection::vec(right_object(members, &Just(false).boxed()), 0..3)
                .prop_map(Value::from)
                .boxed()
        }
        Shape::Any => any_value().boxed(),
    }
}

/// An object with some of the known members; each of them is wrong if `is_wrong` says so.
fn right_object(
    known: &'static [Parameter],
    is_wrong: &BoxedStrategy<bool>,
) -> BoxedStrategy<Value> {
    known
        .iter()
        .map(|parameter| {
            let value = is_wrong.clone().prop_flat_map(move |is_wrong| {
                if is_wrong { any_value().boxed() } else { right_value(parameter) }
            });
            (Just(parameter.name), proptest::option::weighted(0.9, value))
        })
        .collect::<Vec<_>>()
        .prop_map(|members| {
            let sent =
                |(name, value): (&str, Option<Value>)| value.map(|value| (name.to_owned(), value));
            Value::Object(members.into_iter().filter_map(sent).collect())
        })
        .boxed()
}

fn any_params() -> impl Strategy<Value = (&'static Tool, Value)> {
    let is_unknown = proptest::bool::weighted(0.1);
    (proptest::sample::select(TOOLS.iter().collect::<Vec<_>>()), is_unknown).prop_flat_map(
        |(tool, is_unknown)| {
            right_object(tool.parameters, &proptest::bool::weighted(0.2).boxed()).prop_map(
                move |mut params| {
                    if is_unknown {
                        params["unknown"] = json!(1);
                    }
                    (tool, params)
                },
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn schema_is_behaviour((tool, params) in any_params()) {
        let bounds = &LimitBounds::ANY;
        let published = serde_json::to_value(Published { part: tool, bounds }).unwrap();
        let is_allowed = schema_allows(&published["parameters"], &params);
        let raw = to_raw_value(&params).unwrap();
        prop_assert_eq!(check(tool, Some(&raw)).is_ok(), is_allowed);
        match MethodCall::parse(tool.name, Some(&raw)) {
            Ok(call) => prop_assert!(is_allowed && call.method() == tool.name),
            // A schema of one parameter does not say anything about another one.
            Err(crate::protocol::CallError::Params(
                ParamsError::Contradiction { .. },
            )) => {}
            Err(_) => prop_assert!(!is_allowed),
        }
    }
}
