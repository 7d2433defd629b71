//! The results of runs: output, summary, logs and blobs.

use serde_json::{Value, json};

use crate::support::{Client, TestServer, failed, output};

fn client() -> Client {
    TestServer::shared().client()
}

/// The function `main` with this body.
fn main_of(body: &str) -> String {
    format!("def main(args):\n    {}\n", body.replace('\n', "\n    "))
}

#[test]
fn a_result_has_exactly_its_members() {
    let completed = client().run(&main_of("return {'n': 1}"));
    let members: Vec<&str> = completed.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "duration_ms",
        "logs_preview",
        "logs_truncated",
        "memory_peak_bytes",
        "output",
        "output_blobs",
        "output_truncated",
        "run_id",
        "status",
        "summary",
    ];
    assert_eq!(members, expected);
    assert!(completed["duration_ms"].as_u64().unwrap() >= 1);
    assert!(completed["memory_peak_bytes"].as_u64().unwrap() > 64 << 20);

    let failure = client().run(&main_of("raise ValueError('no')"));
    assert_eq!(failure["output"], Value::Null);
    let error = failure["error"].as_object().unwrap();
    let members: Vec<&str> = error.keys().map(String::as_str).collect();
    assert_eq!(members, ["message", "traceback", "type"]);
}

/// The log and the output travel in one frame, the output as a descriptor.
#[test]
fn a_printed_table_and_three_thousand_rows_come_together() {
    let client = client();
    let code = "
import pandas as pd

def main(args):
    table = pd.DataFrame({'n': range(args['rows']), 'text': ['some words'] * args['rows']})
    print(table.to_string())
    return {'rows': table.to_dict('records')}
";
    for round in 0..40 {
        let rows = 2_980 + round;
        let ended = client.run_with(code, json!({"args": {"rows": rows}, "timeout_ms": 20_000}));
        assert_eq!(ended["status"], "completed", "{rows} rows: {}", ended["error"]);
    }
}

#[test]
fn every_run_has_an_id_of_its_own_that_the_program_knows() {
    let client = client();
    let mut ids = Vec::new();
    for _ in 0..5 {
        let result = client.run("from runtime import run\ndef main(args):\n    return run.id\n");
        let id = result["run_id"].as_str().unwrap().to_owned();
        assert_eq!(output(&result)["result"], id.as_str());
        let digits = id.strip_prefix("run_").unwrap();
        assert_eq!(digits.len(), 32);
        assert!(digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')), "{id}");
        ids.push(id);
    }
    assert!(ids.is_sorted_by(|one, other| one < other), "ids sort by time: {ids:?}");
}

#[test]
fn a_dict_is_the_output_and_any_other_value_is_its_result() {
    for (value, expected) in [
        ("{}", json!({})),
        (
            "{'a': [1, 2.5, 'x', None, True, {'b': []}]}",
            json!({"a": [1, 2.5, "x", null, true, {"b": []}]}),
        ),
        ("{'result': 1}", json!({"result": 1})),
        ("None", Value::Null),
        ("[]", json!({"result": []})),
        ("[1, 'a']", json!({"result": [1, "a"]})),
        ("(1, (2, 3))", json!({"result": [1, [2, 3]]})),
        ("'text'", json!({"result": "text"})),
        ("''", json!({"result": ""})),
        ("0", json!({"result": 0})),
        ("-1.5", json!({"result": -1.5})),
        ("False", json!({"result": false})),
        ("{1: 'a', 2.5: 'b', None: 'c'}", json!({"1": "a", "2.5": "b", "null": "c"})),
        ("'é 😀 \\x00 \\u2028 \\\"'", json!({"result": "é 😀 \0 \u{2028} \""})),
    ] {
        let result = client().run(&main_of(&format!("return {value}")));
        assert_eq!(*output(&result), expected, "{value}");
    }
}

#[test]
fn subclasses_and_the_scalars_of_numpy_are_what_they_stand_for() {
    let code = "
import collections, enum
import numpy as np

class Level(enum.IntEnum):
    HIGH = 3

def main(args):
    point = collections.namedtuple('Point', 'x y')(1, 2)
    return {
        'ordered': collections.OrderedDict(b=1, a=2), 'counter': collections.Counter('aab'),
        'point': point, 'level': Level.HIGH, 'int': np.int64(7), 'float': np.float32(0.5),
        'bool': np.bool_(True), 'text': np.str_('x'), np.int8(4): 'key',
    }
";
    let expected = json!({
        "ordered": {"b": 1, "a": 2}, "counter": {"a": 2, "b": 1}, "point": [1, 2], "level": 3,
        "int": 7, "float": 0.5, "bool": true, "text": "x", "4": "key",
    });
    assert_eq!(*output(&client().run(code)), expected);
}

#[test]
fn numbers_come_out_digit_by_digit() {
    let code =
        main_of("return [2**70, -2**63, 0.1, 1.0, -0.0, 1e300, 5e-324, 1e16, 123456789.123456789]");
    let params = json!({"language": "python", "code": code});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params});
    let body = String::from_utf8(client().post(call.to_string()).body).unwrap();
    let expected = "\"output\":{\"result\":[1180591620717411303424,-9223372036854775808,0.1,1.0,-0.0,\
        1e+300,5e-324,1e+16,123456789.12345679]}";
    assert!(body.contains(expected), "{body}");
}

#[test]
fn strict_output_names_the_place_of_what_json_cannot_hold() {
    for (value, place, advice) in [
        ("{'rows': [1, (i for i in range(3))]}", "output[\"rows\"][1] is a generator", "list(...)"),
        ("{'a': {'b': [float('nan')]}}", "output[\"a\"][\"b\"][0] is NaN", "None"),
        ("[float('-inf')]", "output[0] is -Infinity", "None"),
        ("b'x'", "output is a bytes", "write_bytes"),
        ("{'s': {1, 2}}", "output[\"s\"] is a set", "sorted(...)"),
        ("{(1, 2): 3}", "output has a key that is a tuple", "str(key)"),
        ("__import__('datetime').date(2026, 1, 1)", "output is a datetime.date", "isoformat()"),
        ("__import__('decimal').Decimal(1)", "output is a decimal.Decimal", "str(...)"),
        ("{'o': object()}", "output[\"o\"] is an object", "return a dict"),
        ("[print]", "output[0] is a builtin_function_or_method", "call it"),
        ("10 ** 10000", "output is an int with too many digits", "str"),
        ("__import__('numpy').zeros(3)", "output is a numpy.ndarray", ".tolist()"),
        ("__import__('pandas').DataFrame({'a': [1]})", "output is a pandas.DataFrame", "to_dict"),
        ("[__import__('pandas').Timestamp('2026-01-01')]", "pandas.Timestamp", "isoformat()"),
    ] {
        let code = main_of(&format!("return {value}"));
        let result = client().run_with(&code, json!({"strict_output": true}));
        let (error_type, message) = failed(&result);
        assert_eq!(error_type, "TypeError", "{value}: {message}");
        assert!(message.contains(place) && message.contains(advice), "{value}: {message}");
        assert_eq!(result["converted"], Value::Null);
    }
    let plain = main_of("return {'rows': [(1, 2.5)], 'n': None}");
    let result = client().run_with(&plain, json!({"strict_output": true}));
    assert_eq!(*output(&result), json!({"rows": [[1, 2.5]], "n": null}));
}

#[test]
fn a_value_that_has_no_form_in_json_is_named_by_its_place() {
    for (value, place, advice) in [
        ("{'o': object()}", "output[\"o\"] is an object", "return a dict"),
        ("[print]", "output[0] is a builtin_function_or_method", "call it"),
        ("10 ** 10000", "output is an int with too many digits", "str"),
        ("[{1}, ValueError('x')]", "output[1] is a ValueError", "str(...)"),
        ("{'a': {frozenset('x'): {2}}}", "output[\"a\"] has a key that is a frozenset", "str(key)"),
        ("range(10**12)", "output is a range with more than 1,000,000 items", "fewer"),
        ("(n for n in iter(int, 1))", "output is a generator with more than 1,000,000", "fewer"),
        (
            "__import__('pandas').DataFrame([[1, 2]], columns=['a', 'a'])",
            "output is a pandas.DataFrame with two columns `a`",
            "rename",
        ),
        (
            "__import__('pandas').DataFrame({'a': [1]}).groupby('a')",
            "DataFrameGroupBy, which JSON cannot hold",
            ".sum()",
        ),
    ] {
        let result = client().run(&main_of(&format!("return {value}")));
        let (error_type, message) = failed(&result);
        assert_eq!(error_type, "TypeError", "{value}: {message}");
        assert!(message.contains(place) && message.contains(advice), "{value}: {message}");
    }
}

#[test]
fn a_value_that_is_nested_without_end_fails_the_run_and_no_more() {
    for (body, message) in [
        ("x = {}\nx['x'] = x\nreturn x", "contains itself"),
        ("x = []\nfor _ in range(100_000): x = [x]\nreturn x", "nested more than 64 levels deep"),
        ("x = []\nfor _ in range(70): x = [x]\nreturn x", "nested more than 64 levels deep"),
    ] {
        let result = client().run(&main_of(body));
        assert!(failed(&result).1.contains(message), "{result}");
    }
    let deep = client().run(&main_of("x = 1\nfor _ in range(60): x = [x]\nreturn x"));
    output(&deep);
}

#[test]
fn a_value_like_the_marker_of_a_large_output_is_told_from_it() {
    let value = json!({"truncated": true, "blob_id": "blob:x", "size_bytes": 9, "preview": "{}"});
    let code = "def main(args): return args";
    let forged = client().run_with(code, json!({"args": value}));
    assert_eq!((output(&forged), &forged["output_truncated"]), (&value, &json!(false)));
}

#[test]
fn values_that_readers_would_understand_differently_fail_the_run() {
    for (value, expected, place) in [
        ("{'a': {1: 1, '1': 2}}", "TypeError", "output[\"a\"] has the keys 1 and \"1\""),
        ("{None: 1, 'null': 2}", "TypeError", "has the keys"),
        ("[10 ** 309]", "ValueError", "the number at `[0]`"),
        ("10 ** 309", "ValueError", "the returned number is too large"),
        // The server checks what the guest's own check misses.
        (
            "type('D', (dict,), {'items': lambda self: [('a', 1), ('a', 2)]})(a=1)",
            "ValueError",
            "the key `a` twice",
        ),
    ] {
        let result = client().run(&main_of(&format!("return {value}")));
        let (error_type, message) = failed(&result);
        assert_eq!(error_type, expected, "{value}: {message}");
        assert!(message.contains(place), "{value}: {message}");
    }
    output(&client().run(&main_of("return [10 ** 308, 1.7e308, {1: 1, '2': 2}]")));
}

#[test]
fn an_output_beyond_four_kilobytes_goes_to_a_blob() {
    let client = client();
    // {"a":"…"} has 8 bytes beside the letters.
    let fits = client.run(&main_of("return {'a': 'x' * 4088}"));
    assert_eq!(output(&fits)["a"].as_str().unwrap().len(), 4088);
    assert_eq!(fits["output_truncated"], false);
    assert_eq!(fits["output_blobs"], json!([]));

    let code = "from runtime import blobs\ndef main(args):\n    own = blobs.write_text('own')\n    \
                return {'summary': 'Large.', 'own': own, 'a': 'é' * 3000}\n";
    let large = client.run(code);
    assert_eq!(large["summary"], "Large.");
    assert_eq!(large["output_truncated"], true);
    let stand_in = output(&large);
    let members: Vec<&str> = stand_in.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["blob_id", "preview", "size_bytes", "truncated"]);
    assert_eq!(stand_in["truncated"], true);
    let id = stand_in["blob_id"].as_str().unwrap();
    assert_eq!(large["output_blobs"][1], id, "what the program wrote comes first: {large}");

    let read = client.call("read_blob", json!({"blob_id": id, "mode": "full"})).unwrap();
    assert_eq!((&read["kind"], &read["truncated"]), (&json!("application/json"), &json!(false)));
    let content = read["content"].as_str().unwrap();
    assert_eq!(stand_in["size_bytes"], content.len());
    assert!(content.starts_with(stand_in["preview"].as_str().unwrap()));
    let whole: Value = serde_json::from_str(content).unwrap();
    assert_eq!(whole["a"], "é".repeat(3000));
    assert_eq!(whole["own"], large["output_blobs"][0]);
}

#[test]
fn a_large_output_that_is_no_dict_keeps_its_form_in_the_blob() {
    let client = client();
    let result = client.run(&main_of("return list(range(2000))"));
    let id = output(&result)["blob_id"].as_str().unwrap();
    let content: Value = serde_json::from_slice(&client.read_bytes(id)).unwrap();
    assert_eq!(content["result"][1999], 1999);
}

#[test]
fn an_output_beyond_any_result_fails_and_says_what_to_do() {
    let client = client();
    let code = "from runtime import blobs\ndef main(args):\n    value = {'a': 'x' * (33 << 20)}\n    \
                if not args['blob']:\n        return value\n    return blobs.write_json(value)\n";
    let refused = client.run_with(code, json!({"args": {"blob": false}}));
    let (error_type, message) = failed(&refused);
    assert_eq!(error_type, "ValueError");
    assert!(message.contains("32 MiB") && message.contains("runtime.blobs"), "{message}");
    assert_eq!(refused["output_blobs"], json!([]));

    let followed = client.run_with(code, json!({"args": {"blob": true}}));
    let id = output(&followed)["result"].as_str().unwrap();
    let read = client.call("read_blob", json!({"blob_id": id, "max_bytes": 10})).unwrap();
    assert_eq!(read["size_bytes"], (33 << 20) + 8);
}

#[test]
fn a_summary_is_the_programs_own_or_made_for_it() {
    let long = format!("{}…", "é".repeat(250));
    for (value, expected) in [
        ("{'summary': 'Synced 742 leads (5 failed).'}", "Synced 742 leads (5 failed)."),
        ("{'summary': '  first \\nsecond'}", "first "),
        ("{'summary': 'a\\x1b[31mb'}", "a[31mb"),
        ("{'summary': 'é' * 400}", long.as_str()),
    ] {
        let result = client().run(&main_of(&format!("return {value}")));
        assert_eq!(result["summary"].as_str().unwrap().trim(), expected.trim(), "{value}");
    }
    for value in ["{}", "None", "5", "{'summary': 5}", "{'summary': None}", "{'summary': ' \\n'}"] {
        let result = client().run(&main_of(&format!("return {value}")));
        let expected = format!("Completed in {} ms.", result["duration_ms"]);
        assert_eq!(result["summary"], expected, "{value}");
    }
}

#[test]
fn a_failed_run_is_summed_up_by_its_message() {
    let result = client().run(&main_of("raise ValueError('first line\\nsecond line')"));
    assert_eq!(result["summary"], "first line");
    assert_eq!(failed(&result), ("ValueError", "first line\nsecond line"));
    let silent = client().run(&main_of("assert False"));
    assert_eq!(silent["summary"], "AssertionError", "a summary is never empty");
    assert_eq!(failed(&silent), ("AssertionError", ""));
}

#[test]
fn logs_come_in_the_order_in_which_they_were_written() {
    let code = "
import os, sys
from runtime import log

def main(args):
    print('printed')
    print('to stderr', file=sys.stderr)
    log.info('read %d rows', 3, page=4)
    log.warning('odd', reason='no date')
    log.error('bad')
    log.debug('small')
    os.write(1, b'raw \\xff\\n')
    sys.stdout.write('no end')
    log.info('two\\nlines')
    print('last')
";
    let expected = "printed\nto stderr\n[info] read 3 rows page=4\n[warning] odd reason='no date'\n\
        [error] bad\n[debug] small\nraw \u{fffd}\nno end[info] two\n    lines\nlast\n";
    let result = client().run(code);
    output(&result);
    assert_eq!(result["logs_preview"], expected);
    assert_eq!(result["logs_truncated"], false);
}

#[test]
fn logs_of_two_kilobytes_are_shown_whole() {
    let result = client().run(&main_of("print('x' * 2047)"));
    assert_eq!(result["logs_preview"].as_str().unwrap().len(), 2048);
    assert_eq!(result["logs_truncated"], false);
}

#[test]
fn longer_logs_show_their_beginning_and_their_end() {
    let result = client().run(&main_of("for i in range(1000): print('line', i)"));
    let preview = result["logs_preview"].as_str().unwrap();
    assert!(preview.len() <= 2048, "{}", preview.len());
    assert!(preview.starts_with("line 0\nline 1\n"), "{preview}");
    assert!(preview.ends_with("line 998\nline 999\n"), "{preview}");
    let (first, rest) = preview.split_once("\n[").unwrap();
    let (count, last) = rest.split_once(" bytes left out]\n").unwrap();
    let written: usize = (0..1000).map(|i| format!("line {i}\n").len()).sum();
    assert_eq!(count.parse::<usize>().unwrap() + first.len() + last.len(), written);
    assert_eq!(result["logs_truncated"], true);
}

#[test]
fn logs_are_cut_between_characters() {
    for letter in ["é", "€", "😀"] {
        let result = client().run(&main_of(&format!("print('{letter}' * 3000, end='')")));
        let preview = result["logs_preview"].as_str().unwrap();
        assert!(preview.len() <= 2048 && preview.len() > 1900, "{}", preview.len());
        let letters = preview.split("\n[").next().unwrap();
        assert!(letters.chars().all(|one| letter.starts_with(one)), "{letters}");
    }
}

#[test]
fn a_program_that_never_stops_printing_is_no_error() {
    let result = client().run(&main_of("for _ in range(300): print('x' * 99_999)\nreturn 'done'"));
    assert_eq!(output(&result)["result"], "done");
    let preview = result["logs_preview"].as_str().unwrap();
    assert!(preview.len() <= 2048, "{}", preview.len());
    let left_out = preview.split_once("\n[").unwrap().1.split_once(' ').unwrap().0;
    assert!(left_out.parse::<usize>().unwrap() > 29_000_000, "what was dropped is counted");
}

#[test]
fn output_beyond_the_limit_of_logs_says_what_is_lost_and_keeps_its_end() {
    let client = client();
    let result = client.run("for n in range(400_000): print(n)\nprint('THE END')");
    let preview = result["logs_preview"].as_str().unwrap();
    assert!(preview.len() <= 2048 && preview.starts_with("0\n1\n"), "{preview}");
    assert!(preview.ends_with("\n399999\nTHE END\n"), "{preview}");
    let id = result["run_id"].as_str().unwrap();
    let record = client.get(&format!("/v1/runs/{id}?wait_ms=9000")).json();
    let log = client.get(&format!("/v1/runs/{id}/log"));
    let log = String::from_utf8(log.body).unwrap();
    let lost = record["log"]["dropped_bytes"].as_u64().unwrap();
    assert!(
        lost > 1_000_000 && record["log"]["cut_bytes"].as_u64().unwrap() < 20_000,
        "{record:#}"
    );
    let line = format!(
        "\n[{lost} bytes of both streams together are beyond the limit of logs, and lost]\n"
    );
    assert!(log.contains(&line) && log.ends_with("\n399999\nTHE END\n"), "{line}");
}

#[test]
fn blobs_are_listed_in_the_order_of_writing_and_once() {
    let client = client();
    let code = "
from runtime import blobs

def main(args):
    first = blobs.write_text('first')
    second = blobs.write_json({'b': 2})
    again = blobs.write_text('first')
    third = blobs.write_bytes(b'\\x00\\xff')
    assert first == again
    return [first, second, third]
";
    let result = client.run(code);
    assert_eq!(output(&result)["result"], result["output_blobs"]);
    assert_eq!(result["output_blobs"].as_array().unwrap().len(), 3);
    let kind = |index: usize| {
        let id = result["output_blobs"][index].as_str().unwrap();
        client.call("read_blob", json!({"blob_id": id})).unwrap()["kind"].clone()
    };
    assert_eq!(
        [kind(0), kind(1), kind(2)],
        ["text/plain", "application/json", "application/octet-stream"]
    );
}

#[test]
fn what_a_failed_run_has_written_remains() {
    let client = client();
    let code = "from runtime import blobs\ndef main(args):\n    print('said')\n    \
                blobs.write_text('so far')\n    raise RuntimeError('stop')\n";
    let result = client.run(code);
    assert_eq!(failed(&result), ("RuntimeError", "stop"));
    assert_eq!(result["logs_preview"], "said\n");
    let id = result["output_blobs"][0].as_str().unwrap();
    assert_eq!(client.read_bytes(id), b"so far");

    let stopped = client.run_with(
        "from runtime import blobs\nblobs.write_text('before the end')\nwhile True: pass\n",
        json!({"timeout_ms": 300}),
    );
    assert_eq!(failed(&stopped).0, "Timeout");
    let id = stopped["output_blobs"][0].as_str().unwrap();
    assert_eq!(client.read_bytes(id), b"before the end");
}

#[test]
fn a_program_can_only_lie_about_itself() {
    let code = "
import json, sys, builtins
from runtime import run

def main(args):
    json.dumps = json.JSONEncoder.encode = lambda *a, **k: '{\"status\": \"completed\"}'
    builtins.len = builtins.str = builtins.type = None
    sys.stdout.close()
    sys.modules.clear()
    run.id = 'run_forged'
    return {'status': 'forged', 'run_id': 'run_forged', 'summary': 'S'}
";
    let result = client().run(code);
    assert_ne!(result["run_id"], "run_forged");
    assert_eq!(result["status"], "completed");
    let expected = json!({"status": "forged", "run_id": "run_forged", "summary": "S"});
    assert_eq!(*output(&result), expected);
}

#[test]
fn a_broken_end_does_not_spoil_a_result() {
    for (name, code) in [
        (
            "streams closed",
            "import sys\ndef main(args):\n    sys.stdout.close(); sys.stderr.close()\n    return 1\n",
        ),
        (
            "streams replaced",
            "import sys\ndef main(args):\n    sys.stdout = sys.stderr = None\n    return 1\n",
        ),
        (
            "descriptors closed",
            "import os\ndef main(args):\n    os.close(1); os.close(2)\n    return 1\n",
        ),
        (
            "a finalizer raises",
            "class A:\n    def __del__(self): raise ValueError\nkeep = A()\ndef main(args):\n    return 1\n",
        ),
        (
            "an exit handler raises",
            "import atexit\natexit.register(lambda: 1 / 0)\ndef main(args):\n    return 1\n",
        ),
    ] {
        let result = client().run(code);
        assert_eq!(output(&result)["result"], 1, "{name}");
    }
    let result = client()
        .run("import atexit\natexit.register(print, 'bye')\ndef main(args):\n    return 1\n");
    assert_eq!(result["logs_preview"], "bye\n");
}
