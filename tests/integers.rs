//! Integers of NumPy and pandas: values and types as on 64-bit Linux.
//!
//! `scripts/record-expressions` evaluates the expressions natively; here the engine evaluates them.
//! An expression may differ only if `differences.tsv` names it with a reason.
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

#[test]
fn integers_have_the_values_and_types_of_64_bit_linux() {
    let mut known: BTreeMap<&str, &str> =
        DIFFERENCES.lines().filter_map(|line| line.split_once('\t')).collect();
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
        for ((text, expected), found) in batch.iter().zip(found.as_array().unwrap()) {
            assert_eq!(text, &found[0]);
            let is_known = known.remove(text.as_str()).is_some();
            match is_same(expected, &found[1]) {
                true if is_known => wrong.push(format!("{text} is no longer different")),
                false if !is_known => wrong.push(format!("{text}: {expected} became {}", found[1])),
                _ => {}
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
            "import numpy as np\ndef main(args):\n    try:\n        {program}\n    except (OverflowError, SystemError) as e:\n        return [type(e).__name__, str(e), str(e.__cause__)]\n    return 'no error'\n"
        );
        let found = output(&client.run(&code)).clone();
        eprintln!("{program}: {found}");
        if !found.to_string().contains("astype('int64')") && !found.to_string().contains("bounds") {
            wrong.push(format!("{program}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let fits = "import numpy as np\ndef main(args):\n    p = np.flatnonzero([0, 1, 1])\n    p += 2**31 - 3\n    q = np.array([-2**31, 2**31 - 1]).astype(np.intp)\n    return [int(x) for x in [*p, *q]]\n";
    let limits = [(1i64 << 31) - 2, (1 << 31) - 1, -(1 << 31), (1 << 31) - 1];
    assert_eq!(output(&client.run(fits)), &json!(limits));
}
