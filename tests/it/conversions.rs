//! Values that JSON cannot hold: what they become, and what the result says of it.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Client, SkillFolder, TestServer, failed, output};

fn client() -> Client {
    TestServer::shared().client()
}

const IMPORTS: &str = "
import collections, dataclasses, datetime, decimal, enum, fractions, pathlib, uuid
import numpy as np
import pandas as pd

class Colour(enum.Enum):
    RED = 'r'

@dataclasses.dataclass
class Point:
    x: int
    when: object

day = datetime.date(2026, 1, 2)
frame = pd.DataFrame({'k': ['a', 'a', 'b'], 'v': [1, 2, 3]})
";

/// Runs `main`, which returns this expression.
fn returned(expression: &str) -> Value {
    client().run(&format!("{IMPORTS}\ndef main(args):\n    return {expression}\n"))
}

/// Asserts what each expression becomes, and that the result says so.
fn assert_become<const N: usize>(expected: [(&str, Value); N]) {
    for (expression, expected) in expected {
        let result = returned(expression);
        assert_eq!(output(&result)["result"], expected, "{expression}: {result:#}");
        assert!(result["converted"].is_array(), "{expression}: {result:#}");
    }
}

#[test]
fn values_of_the_standard_library_become_what_everybody_means() {
    assert_become([
        ("day", json!("2026-01-02")),
        (
            "datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC)",
            json!("2026-01-02T03:04:00+00:00"),
        ),
        ("datetime.timedelta(minutes=1.5)", json!(90.0)),
        (
            "[decimal.Decimal('19.99'), decimal.Decimal('0.1000000000000000055')]",
            json!([19.99, "0.1000000000000000055"]),
        ),
        ("[fractions.Fraction(3, 4), fractions.Fraction(1, 3)]", json!([0.75, "1/3"])),
        (
            "[float('nan'), float('inf'), np.float64('nan'), pd.NaT, pd.NA]",
            json!([null, null, null, null, null]),
        ),
        (
            "[1 + 2j, uuid.UUID(int=1), pathlib.Path('/a')]",
            json!([{"real": 1.0, "imag": 2.0}, "00000000-0000-0000-0000-000000000001", "/a"]),
        ),
        (
            "[{3, 1}, frozenset('ba'), collections.deque([1]), range(2), (n for n in 'ab')]",
            json!([[1, 3], ["a", "b"], [1], [0, 1], ["a", "b"]]),
        ),
        (
            "[Colour.RED, Point(1, day), b'abc']",
            json!(["r", {"x": 1, "when": "2026-01-02"}, "YWJj"]),
        ),
        ("[{day: 1, ('a', 1): 2}]", json!([{"2026-01-02": 1, "('a', 1)": 2}])),
    ]);
}

#[test]
fn arrays_and_tables_become_what_everybody_means() {
    assert_become([
        (
            "[np.array([[1, 2], [3, 4]]), np.array([1.5, np.nan]), np.array(5)]",
            json!([[[1, 2], [3, 4]], [1.5, null], 5]),
        ),
        (
            "[np.array(['2026-01-02T03'], 'M8[ns]'), np.array([90], 'm8[s]'), np.datetime64('NaT')]",
            json!([["2026-01-02T03:00:00"], [90.0], null]),
        ),
        (
            "np.array([(1, 'x', 2.5)], [('a', 'i4'), ('b', 'U1'), ('c', 'f8')])",
            json!([{"a": 1, "b": "x", "c": 2.5}]),
        ),
        ("np.ma.array([1.5, 2.5], mask=[0, 1])", json!([1.5, null])),
        ("frame", json!([{"k": "a", "v": 1}, {"k": "a", "v": 2}, {"k": "b", "v": 3}])),
        ("frame[frame.v > 2]", json!([{"index": 2, "k": "b", "v": 3}])),
        ("frame.groupby('k').sum()", json!([{"k": "a", "v": 3}, {"k": "b", "v": 3}])),
        (
            "frame.groupby('k').agg(['min', 'max'])",
            json!([{"k": "a", "v_min": 1, "v_max": 2}, {"k": "b", "v_min": 3, "v_max": 3}]),
        ),
        (
            "[frame.v, frame.set_index('k').v.iloc[1:], frame.set_index('k').v]",
            json!([[1, 2, 3], {"a": 2, "b": 3}, [{"k": "a", "v": 1}, {"k": "a", "v": 2}, {"k": "b", "v": 3}]]),
        ),
        (
            "[frame.columns, pd.Categorical(['x']), pd.Period('2026-01'), pd.Timedelta('1h')]",
            json!([["k", "v"], ["x"], "2026-01", 3600.0]),
        ),
        (
            "pd.DataFrame({'t': pd.to_datetime(['2026-01-02', None]), 'n': pd.array([1, None], 'Int64')})",
            json!([{"t": "2026-01-02T00:00:00", "n": 1}, {"t": null, "n": null}]),
        ),
        ("pd.DataFrame()", json!([])),
    ]);
}

#[test]
fn a_result_tells_what_was_converted() {
    let result = returned("{'rows': [{'when': day}, {'when': day}], 'n': (1, np.int64(2))}");
    let when = json!({"path": "$.rows[0].when", "from": "datetime.date", "to": "ISO 8601 text", "count": 2});
    assert_eq!(result["converted"], json!([when]));
    assert_eq!(result["converted_total"], Value::Null);
    assert_eq!(output(&result)["n"], json!([1, 2]));

    // The path of a value that became a member of the output leads through it.
    let result = returned("frame");
    let table = json!({"path": "$.result", "from": "pandas.DataFrame", "to": "list of records"});
    assert_eq!(result["converted"], json!([table]));
    let result = returned("float('nan')");
    assert_eq!((&result["output"], &result["converted"][0]["path"]), (&Value::Null, &json!("$")));

    let result = returned("{f'key {n}': {n} for n in range(100)}");
    assert_eq!(result["converted"].as_array().unwrap().len(), 20);
    assert_eq!(result["converted"][3]["path"], "$[\"key 3\"]");
    assert_eq!(result["converted_total"], 100);
    assert_eq!(result["output_truncated"], false);

    for plain in ["{'n': 1}", "[1, (2,), np.float64(3)]", "None", "{1: {2.5: None}}"] {
        assert_eq!(returned(plain)["converted"], Value::Null, "{plain}");
    }
    let failure = returned("[day, object()]");
    assert_eq!((failed(&failure).0, &failure["converted"]), ("TypeError", &Value::Null));
}

#[test]
fn a_large_table_becomes_a_blob_as_other_large_values_do() {
    let result = returned("pd.DataFrame({'n': range(3000), 'day': [day] * 3000})");
    assert_eq!(result["output_truncated"], true);
    assert_eq!(result["converted"][0]["path"], "$.result");
    assert_eq!(result["converted"][1]["count"], 3000);
    let blob = result["output"]["blob_id"].as_str().unwrap();
    let whole: Value = serde_json::from_slice(&client().read_bytes(blob)).unwrap();
    assert_eq!(whole["result"][2999], json!({"n": 2999, "day": "2026-01-02"}));
    let bytes = returned("b'\\x89PNG\\r\\n\\x1a\\n' + bytes(5000)");
    assert_eq!(output(&bytes)["result"], bytes["output_blobs"][0]);
    let beyond = returned("pd.DataFrame({'a long name of a column': np.arange(2_000_000)})");
    let (error_type, message) = failed(&beyond);
    assert_eq!(error_type, "TypeError");
    assert!(message.contains("2,000,000 rows, which is too large for a result"), "{message}");
}

#[test]
fn a_table_at_the_end_of_a_script_is_shown_and_is_its_output() {
    let result = client().run(&format!("{IMPORTS}frame\n"));
    assert_eq!(output(&result)["result"][2], json!({"k": "b", "v": 3}));
    assert_eq!(result["logs_preview"], "   k  v\n0  a  1\n1  a  2\n2  b  3\n");
    let long = client().run(&format!("{IMPORTS}pd.DataFrame({{'n': range(500)}})\n"));
    let shown = long["logs_preview"].as_str().unwrap();
    assert!(shown.ends_with("[500 rows x 1 columns]\n") && shown.lines().count() < 20, "{shown}");
    // A returned table is not printed, and what has no form in JSON is shown as before.
    assert_eq!(returned("frame")["logs_preview"], "");
    let odd = client().run(&format!("{IMPORTS}frame.groupby\n"));
    assert!(output(&odd)["result"].as_str().unwrap().starts_with("<bound method"), "{odd}");
}

/// Frames of many types, each compared with what pandas itself makes of it.
#[test]
fn tables_are_the_records_that_pandas_makes() {
    let code = r#"
import datetime, decimal, json
import numpy as np
import pandas as pd
from _wardian import conversion

def column(random, rows):
    kind = random.integers(9)
    holes = random.random(rows) < 0.2
    if kind == 0:
        return random.integers(-2**62, 2**62, rows)
    if kind == 1:
        return np.where(holes, np.nan, random.normal(size=rows))
    if kind == 2:
        return random.random(rows) < 0.5
    if kind == 3:
        return [None if hole else f"text {n} \u00e9\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16") for n, hole in enumerate(holes)]
    if kind == 4:
        return pd.Series(pd.to_datetime(random.integers(0, 2**60, rows)).where(~holes))
    if kind == 5:
        return pd.array([None if hole else n for n, hole in enumerate(holes)], dtype="Int64")
    if kind == 6:
        return pd.Categorical([f"c{n % 3}" for n in range(rows)])
    if kind == 7:
        return random.normal(size=rows).astype("float32")
    return [None if hole else [n, {"n": float(n)}] for n, hole in enumerate(holes)]

def expected(value):
    if isinstance(value, (list, dict)):
        return value
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return None
    return value.isoformat() if isinstance(value, pd.Timestamp) else value

def main(args):
    compared = 0
    for seed in range(120):
        random = np.random.default_rng(seed)
        rows = int(random.integers(0, 30))
        table = pd.DataFrame({f"column {n}": column(random, rows) for n in range(random.integers(1, 6))})
        frame = conversion.returned(table, False)
        assert frame[:1] == b"\x0b"
        length = int.from_bytes(frame[1:5], "little")
        records = json.loads(frame[5 + length:])
        wanted = [{name: expected(value) for name, value in row.items()} for row in table.to_dict("records")]
        assert records == wanted, (seed, records[:2], wanted[:2])
        compared += 1
    return compared
"#;
    assert_eq!(output(&client().run_with(code, json!({"timeout_ms": 60_000})))["result"], 120);
}

#[test]
fn hostile_values_end_within_the_limits() {
    for (body, error_type, said) in [
        (
            "class D(dict): pass\n    d = D((n, None) for n in range(10))\n    d[0] = d\n    return [d, {1}]",
            "TypeError",
            "contains itself",
        ),
        (
            "a = np.array([None], object)\n    a[0] = a\n    return a",
            "TypeError",
            "contains itself",
        ),
        (
            "f = pd.DataFrame({'a': [None]}, dtype=object)\n    f.iloc[0, 0] = f\n    return [f]",
            "TypeError",
            "contains itself",
        ),
        (
            "x = {1}\n    for _ in range(80): x = [x]\n    return x",
            "TypeError",
            "nested more than 64 levels deep",
        ),
        (
            "class Z(datetime.tzinfo):\n        def utcoffset(self, t):\n            while True: pass\n    return datetime.datetime(2026, 1, 1, tzinfo=Z())",
            "Timeout",
            "500 ms",
        ),
        (
            "class M:\n        def model_dump(self):\n            raise SystemExit(3)\n    return M()",
            "SystemExit",
            "3",
        ),
        ("return [{n} for n in range(10**7)]", "", ""),
        ("return {n: np.datetime64(n, 's') for n in range(3 * 10**6)}", "", ""),
    ] {
        let code = format!("{IMPORTS}\ndef main(args):\n    {body}\n");
        let result = client().run_with(&code, json!({"timeout_ms": 500}));
        let (found, message) = failed(&result);
        if error_type.is_empty() {
            assert!(
                ["Timeout", "MemoryLimit", "MemoryError", "ValueError"].contains(&found),
                "{result}"
            );
        } else {
            assert_eq!((found, message.contains(said)), (error_type, true), "{body}: {result}");
        }
    }
}

#[test]
fn a_forged_report_of_conversions_changes_nothing_of_the_host() {
    // A guest that makes host calls by itself: the report of the runner follows, and counts.
    let code = r#"
import json, _host

def report(listed, total, value=b'{"n":1}', length=None):
    notes = json.dumps({"listed": listed, "total": total}).encode()
    size = len(notes) if length is None else length
    return b"\x0b" + size.to_bytes(4, "little") + notes + value

def main(args):
    entry = {"path": "$.a", "from": "x", "to": "y", "count": 1}
    for frame in [
        report([entry] * 1000, 1), report([{**entry, "path": "$" + "x" * 10**6}], 1), report([], -1),
        report([entry], 1, length=2**31), b"\x0b", b"\x0b\xff\xff\xff\xff", report([entry], 1, b"{"),
    ]:
        try:
            _host.call(frame)
        except OSError:
            pass
    return {"n": 2}
"#;
    let result = client().run(code);
    assert_eq!((output(&result), &result["converted"]), (&json!({"n": 2}), &Value::Null));
    // Texts of the program cannot look like something else in a terminal or a log.
    let result = returned("{'a\\n\\u202e\\x1b[2J': {1}, 'status': {2}}");
    let paths: Vec<_> =
        result["converted"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(paths, [&json!("$[\"a\\n\\u001b[2J\"]"), &json!("$.status")]);
}

#[test]
fn skills_convert_too_and_kept_results_have_it() {
    let code = format!("{IMPORTS}\ndef main(args):\n    return {{'day': day}}\n");
    let inputs =
        json!({"reproducible": {"seed": 71, "epoch": 5, "cache": true}, "timeout_ms": 60_000});
    let first = client().run_with(&code, inputs.clone());
    let again = client().run_with(&code, inputs.clone());
    assert_eq!((&first["converted"][0]["path"], &again["cached"]), (&json!("$.day"), &json!(true)));
    assert_eq!(first["converted"], again["converted"]);
    let mut strict = inputs;
    strict["strict_output"] = json!(true);
    let refused = client().run_with(&code, strict);
    assert_eq!((failed(&refused).0, &refused["cached"]), ("TypeError", &Value::Null));
}

#[test]
fn a_skill_converts_unless_its_manifest_or_its_caller_wants_it_strict() {
    let skills = SkillFolder::new();
    let source =
        "import datetime\ndef main(args):\n    return {'day': datetime.date(2026, 1, 2)}\n";
    skills.action("acme.loose", "1.0.0", source).action("acme.strict", "1.0.0", source);
    let manifest = fs::read_to_string(skills.at("acme.strict/skill.toml")).unwrap();
    skills.file("acme.strict/skill.toml", manifest + "strict_output = true\n");
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let loose = client.execute("acme.loose", json!({}));
    assert_eq!(*output(&loose), json!({"day": "2026-01-02"}));
    assert_eq!(loose["converted"][0]["from"], "datetime.date");
    let asked = json!({"name": "acme.loose", "strict_output": true});
    let refused =
        [client.execute("acme.strict", json!({})), client.call("execute_skill", asked).unwrap()];
    for result in &refused {
        assert!(
            failed(result).1.contains("is a datetime.date, which JSON cannot hold"),
            "{result}"
        );
    }
}
