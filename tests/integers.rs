//! Integers of NumPy and pandas: values and types as on 64-bit Linux.
//!
//! `scripts/record-expressions` evaluates the expressions natively; here the engine evaluates them.
//! `differences.tsv` names the expressions that differ,
//! with a reason: `width` if only the type is narrower, `refused` if there is an error instead.
#![expect(dead_code, unused_imports, reason = "the support serves other tests as well")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::needless_pass_by_value,
    clippy::panic_in_result_fn,
    reason = "a test may panic; that is how it fails"
)]

#[path = "it/support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use support::{Client, TestServer, output};

const EVALUATE: &str = include_str!("fixtures/integers/evaluate.py");
const NATIVE: &str = include_str!("fixtures/integers/native.jsonl");
const DIFFERENCES: &str = include_str!("fixtures/integers/differences.tsv");

/// Expressions that one run evaluates.
const BATCH: usize = 100;

/// What a run returned, also if that was too long for its result.
fn whole_output(client: &Client, result: &Value) -> Value {
    let output = output(result);
    match output["blob_id"].as_str() {
        Some(blob) => serde_json::from_slice(&client.read_bytes(blob)).unwrap(),
        None => output.clone(),
    }
}

/// Equal, but for the last digits of floats, which depend on the processor.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| is_same(l, r))
        }
        (Value::String(left), Value::String(right)) => {
            let is_float = |text: &str| text.contains(['.', 'e']);
            left == right
                || (is_float(left) || is_float(right))
                    && left.parse().ok().zip(right.parse().ok()).is_some_and(
                        |(left, right): (f64, f64)| {
                            (left - right).abs() <= 1e-7 * left.abs().max(right.abs())
                        },
                    )
        }
        _ => left == right,
    }
}

/// The same with int64 where it says int32.
fn widened(value: &Value) -> Value {
    serde_json::from_str(&value.to_string().replace("int32", "int64")).unwrap()
}

#[test]
fn integers_have_the_values_and_types_of_64_bit_linux() {
    let rows = DIFFERENCES.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let mut known: BTreeMap<&str, &str> = rows.map(|row| (row[0], row[1])).collect();
    let native = NATIVE.lines().skip(1).map(|line| serde_json::from_str(line).unwrap());
    let native = native.collect::<Vec<(String, Value)>>();
    assert!(native.len() > 600, "the recorded file is not whole");

    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let client = server.client();
    let mut wrong = Vec::new();
    for batch in native.chunks(BATCH) {
        let expressions = batch.iter().map(|(text, _)| text).collect::<Vec<_>>();
        let result = client.run_with(EVALUATE, json!({"args": {"expressions": expressions}}));
        let found = whole_output(&client, &result);
        let found = found["result"].as_array().unwrap();
        assert_eq!(found.len(), batch.len());
        for ((text, expected), found) in batch.iter().zip(found) {
            assert_eq!(text, &found[0]);
            let found = &found[1];
            let is_as_expected = match known.remove(text.as_str()) {
                None => is_same(expected, found),
                Some("width") => expected != found && is_same(expected, &widened(found)),
                Some("refused") => found[0] == "error",
                Some(other) => panic!("unknown kind {other}"),
            };
            if !is_as_expected {
                wrong.push(format!("{text}: {expected} became {found}"));
            }
        }
    }
    wrong.extend(known.keys().map(|text| format!("{text} is not in the recorded file")));
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

/// Programs whose positions leave 32 bits: an error, never a number.
#[test]
fn positions_that_overflow_are_an_error() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let client = server.client();
    let programs = [
        "c = np.bincount([1, 1, 3]); c *= 10**10",
        "c = np.bincount([1, 1, 3]); c += 2**31 - 1",
        "np.flatnonzero([0, 1, 1]) + 2147483647",
        "np.flatnonzero([0, 1, 1]) - 2147483647 - 5",
        "p = np.flatnonzero([0, 1, 1]); np.multiply(p, 2**30, out=p)",
        "np.multiply(np.array([2**20], np.intp), 2**20, dtype=np.intp)",
        "np.array([2**40]).astype(np.intp)",
        "np.array([2**32 - 1], np.uint32).astype(np.intp)",
        "np.array([2**64 - 1], np.uint64).astype(np.intp)",
        "p = np.zeros(9, np.intp); p[::2] = np.full(5, 2**33)",
    ];
    let mut wrong = Vec::new();
    for program in programs {
        let code = format!(
            "import numpy as np\ndef main(args):\n    try:\n        {program}\n    except Exception as e:\n        return [type(e).__name__, str(e)]\n    return 'no error'\n"
        );
        let found = output(&client.run(&code)).clone();
        if found["result"][0] != "OverflowError"
            || !found["result"][1].as_str().unwrap().contains("use x.astype('int64')")
        {
            wrong.push(format!("{program}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let fits = "import numpy as np\ndef main(args):\n    p = np.flatnonzero([0, 1, 1])\n    p += 2**31 - 3\n    q = np.array([-2**31, 2**31 - 1]).astype(np.intp)\n    return [int(x) for x in [*p, *q]]\n";
    let limits = [(1i64 << 31) - 2, (1 << 31) - 1, -(1 << 31), (1 << 31) - 1];
    assert_eq!(output(&client.run(fits)), &json!({"result": limits}));
}

/// Programs that use sizes of the platform, and what they return on 64-bit Linux.
#[test]
fn sizes_are_those_of_64_bit_linux_or_explained() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let client = server.client();
    let cases = [
        ("sys.maxsize == 2**63 - 1", json!(true)),
        ("min(sys.maxsize, 5 * 10**9)", json!(5_000_000_000_i64)),
        ("struct.pack('l', 2**40) == (2**40).to_bytes(8, 'little')", json!(true)),
        ("struct.calcsize('il'), struct.Struct('L').size", json!([16, 8])),
        ("csv.field_size_limit(sys.maxsize)", json!(131_072)),
        ("time.gmtime(2**33).tm_year", json!(2242)),
        ("datetime.datetime(2100, 1, 1).timestamp()", json!(4_102_444_800.0)),
        ("[int(v) for v in scipy.sparse.csr_matrix(counts) @ wide]", json!([10_000_000_000_i64])),
        (
            "(scipy.sparse.csr_matrix(counts) * 10**10).toarray().tolist()",
            json!([[0, 20_000_000_000_i64]]),
        ),
        ("type(counts[1] + 1).__name__, type(2 - counts[1]).__name__", json!(["int64", "int64"])),
        (
            "int(counts[1] * 2**30), int(counts[1] - 2**40), int(counts[1] * counts[1])",
            json!([1_i64 << 31, 2 - (1_i64 << 40), 4]),
        ),
        (
            "float(counts[1] + 1.5), int(counts[1] + np.int64(2**40))",
            json!([3.5, 2 + (1_i64 << 40)]),
        ),
    ];
    let head = "import csv, datetime, struct, sys, time\nimport numpy as np, scipy.sparse\n\
        counts, wide = np.bincount([1, 1]), np.array([1, 5 * 10**9])\n";
    for (expression, expected) in cases {
        let code = format!("{head}def main(args):\n    return {expression}\n");
        assert_eq!(output(&client.run(&code))["result"], expected, "{expression}");
    }
    for expression in [
        "np.zeros((20000, 20000))",
        "np.zeros(2**33)",
        "np.arange(2**33)",
        "np.repeat(np.zeros(2**16), 2**16)",
        "np.tile(np.zeros(2**16), 2**16)",
        "np.broadcast_to(0, (2**16, 2**16)).copy()",
        "np.outer(np.zeros(60000), np.zeros(60000))",
        "b'x' * 2**33",
        "[0] * 2**31",
    ] {
        let result = client.run(&format!("{head}def main(args):\n    return {expression}\n"));
        let (_, message) = support::failed(&result);
        assert!(message.contains("32-bit addresses"), "{expression}: {message}");
        assert!(message.contains("memory_bytes"), "{expression}: {message}");
    }
}
