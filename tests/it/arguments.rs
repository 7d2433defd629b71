//! The inputs of a run: arguments, blobs, mounted skills.

use serde_json::{Value, json};

use crate::support::{Client, TestServer, contained, failed, output};

fn client() -> Client {
    TestServer::shared().client()
}

#[test]
fn arguments_arrive_as_they_were_sent() {
    let args = json!({
        "text": "é 😀 \u{0} \"", "int": 9_007_199_254_740_993_i64, "float": 0.1, "null": null,
        "list": [1, [2, {"x": []}]], "true": true, "": "no name", "large": u64::MAX,
    });
    let result = client().execute("acme.echo", args.clone());
    assert_eq!(output(&result)["args"], args);
    assert_eq!(output(&result)["run_args"], args);
    let code = "def main(args):\n    return args\n";
    let result = client().run_with(code, json!({"args": args}));
    assert_eq!(*output(&result), args);
    let types = "def main(args):\n    return {k: type(v).__name__ for k, v in args.items()}\n";
    let result =
        client().run_with(types, json!({"args": {"a": 1, "b": 1.0, "c": "1", "d": None::<u8>}}));
    assert_eq!(*output(&result), json!({"a": "int", "b": "float", "c": "str", "d": "NoneType"}));
}

#[test]
fn without_arguments_a_program_gets_an_empty_dict() {
    let client = client();
    for params in [json!({}), json!({"args": {}}), json!({"args": null})] {
        let result = client.run_with("def main(args):\n    return [args]\n", params.clone());
        assert_eq!(output(&result)["result"], json!([{}]), "{params}");
        let mut params = params;
        params["name"] = "acme.echo".into();
        let result = client.call("execute_skill", params).unwrap();
        assert_eq!(output(&result)["args"], json!({}));
    }
}

#[test]
fn large_arguments_arrive_whole() {
    let text = "é".repeat(3 << 20);
    let code = "def main(args):\n    return [len(args['text']), args['text'][-1]]\n";
    let result = client().run_with(code, json!({"args": {"text": text}}));
    assert_eq!(output(&result)["result"], json!([3 << 20, "é"]));
}

#[test]
fn a_skill_sees_itself_and_nothing_else() {
    let result = client().execute("acme.echo", json!({}));
    let seen = output(&result);
    assert_eq!(seen["skills"], json!(["acme.echo"]));
    assert_eq!(seen["blobs"], json!([]));
    assert_eq!(seen["file"], "/skills/acme.echo/code/main.py");
    assert_eq!(seen["argv"], json!(["/skills/acme.echo/code/main.py"]));
    assert_eq!(seen["name"], "skills.acme.echo");
    let environment =
        json!({"HOME": "/workspace", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "TMPDIR": "/tmp"});
    assert_eq!(seen["environment"], environment);
}

#[test]
fn the_version_decides_which_code_runs() {
    let client = client();
    for (version, expected) in
        [(None, "0.2.0"), (Some("0.1.0"), "0.1.0"), (Some("1.0.0-beta.1"), "1.0.0-beta.1")]
    {
        let params =
            json!({"name": "acme.sales.report", "version": version, "args": {"amounts": [1, 2]}});
        let result = client.call("execute_skill", params).unwrap();
        let expected = json!({"summary": "report: total is 3", "total": 3, "version": expected});
        assert_eq!(*output(&result), expected);
        assert_eq!(result["summary"], "report: total is 3");
    }
}

#[test]
fn entrypoint_and_export_are_those_of_the_manifest() {
    let client = client();
    let result = client.execute("acme.payments.process", json!({"amount": 12}));
    assert_eq!(*output(&result), json!({"paid": 12}));
    let result = client.execute("acme.named", json!({"amount": 3}));
    assert_eq!(*output(&result), json!({"amount": 3, "months": 12}));
    assert_eq!(*output(&client.execute("acme-labs.tool", json!({}))), json!({"result": 42}));
    assert_eq!(*output(&client.execute("beta.data", json!({}))), Value::Null);
}

#[test]
fn defaults_of_inputs_are_filled_in() {
    let client = client();
    let result = client.execute("acme.inputs", json!({"text": "x"}));
    let filled = json!({"text": "x", "count": 3, "ratio": 0.5, "flag": false, "mode": "fast"});
    assert_eq!(output(&result)["args"], filled);
    let given = json!({
        "text": "", "count": 0, "ratio": 2, "flag": true, "options": {"a": 1}, "rows": [],
        "mode": "exact", "extra": [null], "unknown": "is passed on",
    });
    let result = client.execute("acme.inputs", given.clone());
    assert_eq!(output(&result)["args"], given);
    let nulls = json!({"text": "x", "count": null, "rows": null});
    let result = client.execute("acme.inputs", nulls);
    assert_eq!(output(&result)["args"]["count"], 3, "null counts as not given");
}

#[test]
fn arguments_that_do_not_fit_are_refused_before_anything_runs() {
    let client = client();
    let blob = client.create_text("x", "text/plain");
    for (args, wanted) in [
        (json!({}), vec!["`text` is required: a string (Any text)"]),
        (json!({"text": 5}), vec!["`text` must be a string, not 5"]),
        (json!({"text": null}), vec!["`text` must be a string, not null"]),
        (json!({"text": "x", "count": 1.5}), vec!["`count` must be an integer, not 1.5"]),
        (json!({"text": "x", "count": "1"}), vec!["`count` must be an integer, not \"1\""]),
        (json!({"text": "x", "flag": 1}), vec!["`flag` must be true or false, not 1"]),
        (json!({"text": "x", "options": []}), vec!["`options` must be an object, not an array"]),
        (json!({"text": "x", "rows": {}}), vec!["`rows` must be an array, not an object"]),
        (json!({"text": "x", "mode": "slow"}), vec!["`mode` must be \"fast\" or \"exact\""]),
        (json!({"text": "x", "sheet": "sheet-1"}), vec!["`sheet` must be the id of a blob"]),
        (json!({"text": "x", "cuont": 1}), vec!["did you mean `count`?"]),
        (json!({"ratio": "a", "flag": "b"}), vec!["`text`", "`ratio`", "`flag`"]),
        (json!({"text": blob, "sheet": [blob]}), vec!["`sheet`"]),
    ] {
        let params = json!({"name": "acme.inputs", "args": args});
        let error = client.refusal("execute_skill", params);
        assert_eq!((error.code, error.kind.as_str()), (-32602, "invalid_params"), "{args}");
        assert_eq!(error.data["parameter"], "args", "{error:?}");
        assert!(contained(&error.message, wanted).is_empty(), "{args}: {}", error.message);
        assert!(error.message.contains("`acme.inputs`"), "{}", error.message);
    }
}

#[test]
fn a_blob_input_is_mounted_by_itself() {
    let client = client();
    let blob = client.create_text("Grüße", "text/plain");
    let args = json!({"text": "x", "sheet": blob});
    for input_blobs in [json!([]), json!([blob]), Value::Null] {
        let params = json!({"name": "acme.inputs", "args": args, "input_blobs": input_blobs});
        let result = client.call("execute_skill", params).unwrap();
        assert_eq!(output(&result)["sheet"], "Grüße");
        assert_eq!(output(&result)["mounted"], json!([blob]), "once");
    }
}

#[test]
fn blobs_in_other_arguments_are_only_text() {
    let client = client();
    let blob = client.create_text("not mounted", "text/plain");
    let code =
        "from runtime import blobs\ndef main(args):\n    return blobs.read_text(args['id'])\n";
    let result = client.run_with(code, json!({"args": {"id": blob}}));
    let (error_type, message) = failed(&result);
    assert_eq!(error_type, "BlobNotFound");
    assert!(contained(message, [blob.as_str(), "`input_blobs`"]).is_empty(), "{message}");
    let result = client.run_with(code, json!({"args": {"id": blob}, "input_blobs": [blob]}));
    assert_eq!(output(&result)["result"], "not mounted");
}

#[test]
fn mounted_blobs_are_read_in_every_way() {
    let client = client();
    let text = client.create_text("a,b\r\n1,é\r\n", "text/csv");
    let data = client.create_text("{\"k\": [1]}", "application/json");
    let bytes = client.create_bytes(&[0, 255, 10, 13], "application/octet-stream");
    let empty = client.create_text("", "text/plain");
    let code = "
import os
from runtime import blobs

def main(args):
    text, data, raw, empty = args['text'], args['data'], args['bytes'], args['empty']
    with blobs.open(text, 'r') as file:
        lines = file.readlines()
    with blobs.open(raw) as file:
        file.seek(1)
        part = file.read(1)
    listed = blobs.list()
    assert blobs.read_text(listed[0]) == blobs.read_text(text)
    assert open('/blobs/' + raw, 'rb').read() == blobs.read_bytes(raw)
    return {
        'text': blobs.read_text(text), 'latin': blobs.read_text(text, encoding='latin-1'),
        'lines': lines, 'json': blobs.read_json(data), 'bytes': list(blobs.read_bytes(raw)),
        'part': list(part), 'path': blobs.path(data), 'empty': blobs.read_text(empty),
        'list': [[blob.id, blob.kind, blob.size_bytes] for blob in listed],
        'folder': sorted(os.listdir('/blobs')),
    }
";
    let ids = [&text, &data, &bytes, &empty];
    let params = json!({
        "args": {"text": text, "data": data, "bytes": bytes, "empty": empty}, "input_blobs": ids,
    });
    let result = client.run_with(code, params);
    let mut folder = ids.map(String::as_str);
    folder.sort_unstable();
    let expected = json!({
        "text": "a,b\r\n1,é\r\n", "latin": "a,b\r\n1,Ã©\r\n", "lines": ["a,b\n", "1,é\n"],
        "json": {"k": [1]}, "bytes": [0, 255, 10, 13], "part": [255],
        "path": format!("/blobs/{data}"), "empty": "",
        "list": [[text, "text/csv", 11], [data, "application/json", 10],
            [bytes, "application/octet-stream", 4], [empty, "text/plain", 0]],
        "folder": folder,
    });
    assert_eq!(*output(&result), expected);
}

#[test]
fn written_blobs_are_read_at_once_and_by_the_next_run() {
    let client = client();
    let code = "
from pathlib import Path
from runtime import blobs

def main(args):
    Path('table.csv').write_text('a,b\\n')
    ids = [
        blobs.write_text('Grüße', kind='text/markdown'), blobs.write_bytes(bytearray(b'\\xff')),
        blobs.write_json({'a': [1.5]}), blobs.write_file('table.csv'),
        blobs.write_file('/tmp/table.csv', kind='text/plain'),
    ]
    assert blobs.read_text(ids[0]) == 'Grüße' and blobs.read_bytes(ids[1]) == b'\\xff'
    assert blobs.read_json(ids[2]) == {'a': [1.5]} and blobs.read_text(ids[3]) == 'a,b\\n'
    return ids
";
    let first = client.run(code);
    let ids = output(&first)["result"].clone();
    let again = "from runtime import blobs\ndef main(args):\n    return [[blob.kind, blob.size_bytes] for blob in blobs.list()]\n";
    let second = client.run_with(again, json!({"input_blobs": ids}));
    let expected = json!([
        ["text/markdown", 7],
        ["application/octet-stream", 1],
        ["application/json", 11],
        ["text/csv", 4],
        ["text/plain", 4],
    ]);
    assert_eq!(output(&second)["result"], expected);
}

#[test]
fn a_mounted_skill_is_a_module() {
    let client = client();
    let code = "
import os
from skills.acme.sales.report import main as report, VERSION
from skills.acme.sales.report.utils import label
import skills.acme.payments.process
from skills.acme_labs import tool

def main(args):
    return {
        'report': report({'amounts': [1, 2, 3]})['total'], 'version': VERSION,
        'label': label('a', 1), 'answer': tool.ANSWER,
        'paid': skills.acme.payments.process.process_payment({'amount': 7}),
        'skills': sorted(os.listdir('/skills')),
        'note': open('/skills/acme.sales.report/resources/empty.txt').read(),
    }
";
    let mounts =
        json!(["acme.sales.report", "acme.payments.process", "acme-labs.tool", "acme.guide"]);
    let result = client.run_with(code, json!({"mount_skills": mounts}));
    let expected = json!({
        "report": 6, "version": "0.2.0", "label": "report: a is 1", "answer": 42,
        "paid": {"paid": 7}, "note": "",
        "skills": ["acme-labs.tool", "acme.guide", "acme.payments.process", "acme.sales.report"],
    });
    assert_eq!(*output(&result), expected);
}

#[test]
fn files_of_the_same_name_in_two_skills_are_kept_apart() {
    let code = "
from skills.acme.sales.report import main as report
from skills.acme.sales.forecast import main as forecast
from skills.acme.sales.forecast.utils import label
import skills.acme.sales.report.utils as other

def main(args):
    assert label is not other.label
    return [report({})['summary'], forecast({'last': 4})['summary'], label('x', 1)]
";
    let mounts = json!(["acme.sales.report", "acme.sales.forecast"]);
    let result = client().run_with(code, json!({"mount_skills": mounts}));
    let expected = json!(["report: total is 0", "forecast: next year is 8", "forecast: x is 1"]);
    assert_eq!(output(&result)["result"], expected);
}

#[test]
fn a_version_can_be_mounted() {
    let code =
        "from skills.acme.sales.report import VERSION\ndef main(args):\n    return VERSION\n";
    let result = client().run_with(code, json!({"mount_skills": ["acme.sales.report@0.1.0"]}));
    assert_eq!(output(&result)["result"], "0.1.0");
}

#[test]
fn what_is_not_mounted_cannot_be_imported() {
    let client = client();
    for (code, mounts, wanted) in [
        (
            "from skills.acme.sales.report import main\n",
            json!([]),
            vec!["`mount_skills`", "(mounted: none)"],
        ),
        (
            "import skills.acme.echo\n",
            json!(["acme.inputs"]),
            vec!["`mount_skills`", "`acme.inputs`"],
        ),
        (
            "import skills.acme.guide\n",
            json!(["acme.guide"]),
            vec!["instruction skill", "/skills/acme.guide/"],
        ),
        (
            "from skills.acme.sales.report import nothing\n",
            json!(["acme.sales.report"]),
            vec!["nothing"],
        ),
    ] {
        let result = client.run_with(code, json!({"mount_skills": mounts}));
        let (error_type, message) = failed(&result);
        assert!(["ImportError", "ModuleNotFoundError"].contains(&error_type), "{error_type}");
        assert!(contained(message, wanted).is_empty(), "{message}");
    }
}

#[test]
fn what_is_named_and_not_there_is_refused() {
    let client = client();
    let gone = format!("blob:{}", "a".repeat(52));
    let run = |more: Value| {
        let mut params = json!({"language": "python", "code": "def main(args): pass"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.refusal("run_code", params)
    };
    for (more, kind) in [
        (json!({"mount_skills": ["no.such"]}), "skill_not_found"),
        (json!({"mount_skills": ["acme.sales.report@9.0.0"]}), "version_not_found"),
        (json!({"mount_skills": ["acme.sales.report@"]}), "invalid_params"),
        (json!({"mount_skills": ["../etc"]}), "invalid_params"),
        (
            json!({"mount_skills": ["acme.sales.report", "acme.sales.report@0.1.0"]}),
            "invalid_params",
        ),
        (json!({"input_blobs": [gone]}), "blob_not_found"),
        (json!({"input_blobs": ["blob:sheet-123"]}), "blob_not_found"),
        (json!({"input_blobs": ["../../etc/passwd"]}), "blob_not_found"),
        (json!({"input_blobs": [""]}), "blob_not_found"),
    ] {
        let error = run(more.clone());
        assert_eq!((error.code, error.kind.as_str()), (-32602, kind), "{more}");
    }
    for (params, kind) in [
        (json!({"name": "no.such"}), "skill_not_found"),
        (json!({"name": "acme.echo", "version": "2.0.0"}), "version_not_found"),
        (json!({"name": "acme.guide"}), "not_executable"),
        (json!({"name": "skills.protocol.guide"}), "not_executable"),
        (json!({"name": "acme.echo", "input_blobs": [gone]}), "blob_not_found"),
        (json!({"name": "acme.inputs", "args": {"text": "x", "sheet": gone}}), "blob_not_found"),
    ] {
        let error = client.refusal("execute_skill", params.clone());
        assert_eq!((error.code, error.kind.as_str()), (-32602, kind), "{params}");
    }
}

#[test]
fn a_declared_secret_is_not_in_the_environment_of_code() {
    let code = "import os\ndef main(args):\n    return sorted(os.environ)\n";
    let result = client().run_with(code, json!({"mount_skills": ["acme.sales.report"]}));
    assert_eq!(output(&result)["result"], json!(["HOME", "LANG", "PATH", "TMPDIR"]));
}
