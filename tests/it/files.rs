//! Files that a run leaves in its workspace: listed, kept, bounded.

use serde_json::{Value, json};

use crate::support::{Client, TestServer, failed, output};

fn client() -> Client {
    TestServer::shared().client()
}

fn paths(result: &Value) -> Vec<&str> {
    let files = result["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    files.iter().map(|file| file["path"].as_str().unwrap()).collect()
}

const SOME: &str = "import os\nos.makedirs('out/deep')\nfor path in ('a.csv', 'b.txt', 'out/c.csv', 'out/deep/d.bin', 'e.png'):\n    open(path, 'w').write(path)\n";

#[test]
fn what_a_run_leaves_is_listed_with_its_size() {
    let result = client().run(SOME);
    assert_eq!(result["status"], "completed", "{result:#}");
    assert_eq!(paths(&result), ["e.png", "a.csv", "b.txt", "out/c.csv", "out/deep/d.bin"]);
    let first = &result["files"][0];
    assert_eq!((&first["size_bytes"], &first["kind"]), (&json!(5), &json!("image/png")));
    assert_eq!(result["output_blobs"], json!([first["blob_id"]]));
    assert_eq!(result["files"][1], json!({"path": "a.csv", "size_bytes": 5}));
    assert_eq!(client().run("x = 1").get("files"), None);
}

#[test]
fn files_are_kept_as_the_call_asks_for() {
    for (keep, expected) in [
        (json!(true), vec!["a.csv", "b.txt", "e.png", "out/c.csv", "out/deep/d.bin"]),
        (json!(false), vec![]),
        (json!([]), vec![]),
        (json!(["*.csv"]), vec!["a.csv", "out/c.csv"]),
        (json!(["out/"]), vec!["out/c.csv", "out/deep/d.bin"]),
        (json!(["/workspace/b.txt", "no.thing"]), vec!["b.txt"]),
    ] {
        let result = client().run_with(SOME, json!({"keep_files": keep}));
        let files = result["files"].as_array().unwrap();
        assert_eq!(files.len(), 5, "{keep}");
        let mut kept = Vec::new();
        for file in files.iter().filter(|file| file.get("blob_id").is_some()) {
            let content = client().read_bytes(file["blob_id"].as_str().unwrap());
            assert_eq!(content, file["path"].as_str().unwrap().as_bytes());
            kept.push(file["path"].as_str().unwrap());
        }
        assert_eq!(kept, expected, "{keep}");
    }
    let refusal = client()
        .refusal("run_code", json!({"language": "python", "code": "", "keep_files": "*.csv"}));
    assert!(refusal.message.contains("true, false or an array"), "{}", refusal.message);
}

#[test]
fn files_come_back_from_runs_that_fail_and_files_that_are_open() {
    let code = "file = open('notes.txt', 'w')\nfile.write('not lost')\nraise ValueError('x')\n";
    let result = client().run_with(code, json!({"keep_files": true}));
    assert_eq!(failed(&result).0, "ValueError");
    assert_eq!(result["files"][0]["size_bytes"], 8);
    let content = client().read_bytes(result["files"][0]["blob_id"].as_str().unwrap());
    assert_eq!(content, b"not lost");
    let code = "open('a.png', 'w').write('x')\nwhile True: pass\n";
    let result = client().run_with(code, json!({"timeout_ms": 300}));
    assert_eq!(failed(&result).0, "Timeout");
    assert!(result["files"][0]["blob_id"].is_string(), "{result:#}");
}

#[test]
fn figures_come_back() {
    let code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('chart.png')\nplt.show()\nplt.plot([3])\nplt.figure()\nplt.show()\n";
    let result = client().run_with(code, json!({"timeout_ms": 120_000}));
    assert_eq!(result["status"], "completed", "{result:#}");
    assert_eq!(paths(&result), ["chart.png", "figure-1.png", "figure-2.png", "figure-3.png"]);
    for file in result["files"].as_array().unwrap() {
        let content = client().read_bytes(file["blob_id"].as_str().unwrap());
        assert!(content.starts_with(b"\x89PNG"), "{file}");
    }
    assert_eq!(result["logs_preview"], "");
}

/// Runs a program that draws, and returns its result with the kept files.
fn drawn(code: &str) -> (Value, Vec<String>) {
    let code = format!("import matplotlib.pyplot as plt\n{code}");
    let result = client().run_with(&code, json!({"timeout_ms": 120_000}));
    assert_eq!(result["status"], "completed", "{result:#}");
    let files = result["files"].as_array().cloned().unwrap_or_default();
    let kept = files.iter().filter(|file| file["blob_id"].is_string());
    let kept = kept.map(|file| file["path"].as_str().unwrap().to_owned()).collect();
    (result, kept)
}

#[test]
fn returned_and_open_figures_are_pictures() {
    for (code, value, files) in [
        (
            "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig",
            json!("figure-1.png"),
            &["figure-1.png"][..],
        ),
        (
            "def main(args):\n    fig, ax = plt.subplots()\n    ax.plot([1])\n    return {'a': fig, 'b': ax}",
            json!({"a": "figure-1.png", "b": "figure-1.png"}),
            &["figure-1.png"],
        ),
        ("plt.plot([1, 2])\nNone", Value::Null, &["figure-1.png"]),
        ("def main(args):\n    plt.bar(['a'], [1])\n    return 1", json!(1), &["figure-1.png"]),
        ("plt.plot([1, 2])", json!(["figure-1.png"]), &["figure-1.png"]),
        ("import pandas as pd\npd.Series([1, 2]).plot()", json!("figure-1.png"), &["figure-1.png"]),
        // What was saved or shown is not stored again, and an empty figure is no picture.
        ("plt.plot([1])\nplt.savefig('mine.png')\nNone", Value::Null, &["mine.png"]),
        ("plt.plot([1])\nplt.savefig('mine.png')\nplt.gcf()", json!("mine.png"), &["mine.png"]),
        (
            "fig = plt.figure()\nplt.plot([1])\nplt.show()\nfig",
            json!("figure-1.png"),
            &["figure-1.png"],
        ),
        ("plt.figure()\nplt.subplots()\nNone", Value::Null, &[]),
        // One that has changed since is another picture.
        (
            "plt.plot([1])\nplt.savefig('mine.png')\nplt.title('new')\nplt.gcf()",
            json!("figure-1.png"),
            &["figure-1.png", "mine.png"],
        ),
        (
            "from PIL import Image\nImage.new('CMYK', (3, 3))",
            json!("image-1.png"),
            &["image-1.png"],
        ),
    ] {
        let (result, kept) = drawn(code);
        let expected = match value {
            Value::Null | Value::Object(_) => value,
            value => json!({"result": value}),
        };
        assert_eq!(result["output"], expected, "{code}: {result:#}");
        assert_eq!(kept, files, "{code}: {result:#}");
    }
}

#[test]
fn open_figures_beyond_the_most_are_counted_and_broken_ones_spoil_nothing() {
    let (result, kept) =
        drawn("for n in range(23):\n    plt.figure(figsize=(1, 1))\n    plt.plot([n])\nNone");
    assert_eq!(kept.len(), 20);
    let said = "23 figures were open at the end of the program, and 3 of them were not saved";
    assert!(result["logs_preview"].as_str().unwrap().contains(said), "{result:#}");
    let (result, kept) = drawn("plt.plot([1])\nplt.title(r'$\\frac{$')\n7");
    assert_eq!((&result["output"]["result"], kept.len()), (&json!(7), 0));
    assert!(result["logs_preview"].as_str().unwrap().contains("an open figure could not be drawn"));
}

#[test]
fn limits_hold_for_files_that_are_kept() {
    let code = "for n in range(150): open(f'{n:03}.png', 'w').write(str(n))\n";
    let result = client().run(code);
    assert_eq!(result["files"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&result["files_total"], result["output_blobs"].as_array().unwrap().len()),
        (&json!(150), 20)
    );
    let params = json!({"keep_files": true, "limits": {"host_calls": 2}});
    let result = client().run_with(SOME, params);
    assert_eq!(result["output_blobs"].as_array().unwrap().len(), 2);
    let reason = result["files"][2]["not_kept"].as_str().unwrap();
    assert!(reason.contains("more than 2 host calls"), "{reason}");
}

#[test]
fn hostile_names_and_folders_are_bounded() {
    let code = "import os\nopen('line\\nbreak \\u202e', 'w').close()\nopen('n' * 255, 'w').close()\nos.makedirs('/'.join(['d' * 200] * 4))\nopen('/'.join(['d' * 200] * 4 + ['x']), 'w').close()\nos.symlink('/etc/passwd', 'link')\nos.symlink('.', 'loop')\n";
    let result = client().run_with(code, json!({"keep_files": true}));
    assert_eq!(result["status"], "completed", "{result:#}");
    assert_eq!(paths(&result), ["line\nbreak \u{202e}", &"n".repeat(255)]);
    assert_eq!(result["files_total"], 3);
}

#[test]
fn a_skill_s_files_are_kept_too() {
    let code = "from skills.hello.world import main as greet\nopen('x.txt', 'w').write('1')\n";
    let result =
        client().run_with(code, json!({"mount_skills": ["hello.world"], "keep_files": ["x.txt"]}));
    assert!(result["files"][0]["blob_id"].is_string(), "{result:#}");
    let params = json!({"name": "hello.world", "args": {"name": "Ada"}, "keep_files": true});
    assert_eq!(client().call("execute_skill", params).unwrap()["status"], "completed");
}

#[test]
fn the_id_of_a_blob_is_a_path() {
    let id = client().create_text("a,b\n1,2\n", "text/csv");
    let params = json!({"args": {"csv": id}, "input_blobs": [id]});
    for code in [
        "def main(args): return open(args['csv']).read()",
        "import pathlib\ndef main(args): return pathlib.Path(args['csv']).read_text()",
        "import pandas\ndef main(args): return pandas.read_csv(args['csv']).to_csv(index=False)",
        "import os\ndef main(args): return os.path.exists(args['csv']) and open('/workspace/' + args['csv']).read()",
    ] {
        let result = client().run_with(code, params.clone());
        assert_eq!(output(&result)["result"], "a,b\n1,2\n", "{code}");
    }
    let code = "import os\ndef main(args):\n    return [os.listdir('.'), os.path.exists('blob:x')]";
    assert_eq!(output(&client().run_with(code, params.clone()))["result"], json!([[], false]));
    let code = "def main(args):\n    open(args['csv'], 'w').write('own')\n    return open(args['csv']).read()";
    assert_eq!(output(&client().run_with(code, params))["result"], "own");
}
