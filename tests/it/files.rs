//! Files that a run leaves in its workspace: listed, kept, bounded.

use std::fs;

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
    assert_eq!(paths(&result), ["a.csv", "b.txt", "e.png", "out/c.csv", "out/deep/d.bin"]);
    let first = &result["files"][2];
    assert_eq!((&first["size_bytes"], &first["kind"]), (&json!(5), &json!("image/png")));
    assert_eq!(result["output_blobs"].as_array().unwrap().len(), 5);
    assert_eq!(client().run("x = 1").get("files"), None);
    let result = client().run_with(SOME, json!({"keep_files": ["*.png"]}));
    assert_eq!(result["files"][1], json!({"path": "a.csv", "size_bytes": 5}));
}

#[test]
fn what_a_run_leaves_is_kept_under_its_name() {
    let code = "import os\nos.makedirs('out/__pycache__')\nos.makedirs('.cache')\nos.makedirs('.git')\n\
                for path in ('report.xlsx', 'out/täglich.csv', '.env', '.git/x', '.cache/x', 'out/__pycache__/a.pyc'):\n    open(path, 'w').write(path)\n";
    let result = client().run(code);
    assert_eq!(paths(&result), ["report.xlsx", "out/täglich.csv", ".env", ".git/x"]);
    let files = result["files"].as_array().unwrap();
    for (file, name) in files.iter().zip(["report.xlsx", "täglich.csv"]) {
        let id = file["blob_id"].as_str().unwrap();
        let read = client().call("read_blob", json!({"blob_id": id})).unwrap();
        assert_eq!((&read["name"], &read["content"]), (&json!(name), &file["path"]));
    }
    for file in &files[2..] {
        assert!(file["not_kept"].as_str().unwrap().contains("hidden"), "{file}");
    }
    let summary = result["summary"].as_str().unwrap();
    assert!(summary.starts_with("Completed in ") && !summary.contains("not kept"), "{summary}");
    let failed = client().run("open('half.csv', 'w').write('1')\n1 / 0\n");
    assert!(failed["files"][0]["blob_id"].is_string(), "{failed:#}");
    assert_eq!(failed["summary"], "division by zero");
}

#[test]
fn what_passes_a_bound_is_named_with_the_remedy() {
    let settings = ["count=3", "max_size=1 KiB", "total_size=1500 B"];
    let settings = settings.map(|setting| format!("limits.keep_files.{setting}"));
    let arguments: Vec<&str> =
        settings.iter().flat_map(|setting| ["--set", setting.as_str()]).collect();
    let server = TestServer::start(&arguments);
    let client = server.client();
    let code = "for n, size in enumerate([1000, 2000, 400, 200, 100, 10]):\n    open(f'{n}.bin', 'wb').write(b'x' * size)\n";
    let result = client.run(code);
    let kept = |result: &Value| -> Vec<String> {
        let files = result["files"].as_array().unwrap().iter();
        let kept = files.filter(|file| file["blob_id"].is_string());
        kept.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kept(&result), ["0.bin", "2.bin", "4.bin"]);
    let why = |path: &str| {
        let files = result["files"].as_array().unwrap();
        let file = files.iter().find(|file| file["path"] == path).unwrap();
        file["not_kept"].as_str().unwrap().to_owned()
    };
    for (path, setting) in [("1.bin", "max_size"), ("3.bin", "total_size"), ("5.bin", "count")] {
        let why = why(path);
        assert!(why.contains(setting) && why.contains("`keep_files`"), "{path}: {why}");
    }
    let summary = result["summary"].as_str().unwrap();
    let expected =
        " ms. 1.bin (1.9 KiB), 3.bin (200 bytes), 5.bin (10 bytes) were not kept: only files up";
    assert!(summary.contains(expected), "{summary}");
    let result = client.run_with(code, json!({"keep_files": ["1.bin"]}));
    assert_eq!(kept(&result), ["1.bin"], "the remedy works");
}

#[test]
fn a_run_that_used_up_its_calls_loses_no_file() {
    let code = "from runtime import log\nfor n in range(2):\n    log.info('x')\nopen('a.csv', 'w').write('1')\n";
    let result = client().run_with(code, json!({"limits": {"host_calls": 2}}));
    assert_eq!(result["status"], "completed", "{result:#}");
    assert!(result["files"][0]["blob_id"].is_string(), "{result:#}");
}

#[test]
fn a_full_store_fails_no_run_and_says_what_is_lost() {
    let server = TestServer::start(&["--set", "blobs.quota=1 MiB"]);
    let client = server.client();
    let code = "import os\nopen('a.bin', 'wb').write(os.urandom(900_000))\nopen('b.bin', 'wb').write(os.urandom(900_000))\nopen('c.bin', 'wb').write(b'1')\n'value'\n";
    let result = client.run(code);
    assert_eq!(
        (&result["status"], &result["output"]["result"]),
        (&json!("completed"), &json!("value"))
    );
    let lost: Vec<&Value> = result["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|file| file["blob_id"].is_null())
        .map(|file| &file["path"])
        .collect();
    assert_eq!(lost, ["b.bin"], "{result:#}");
    assert!(
        result["summary"].as_str().unwrap().contains("b.bin (878.9 KiB) was not kept: "),
        "{result:#}"
    );
}

#[test]
fn a_mounted_blob_is_opened_by_its_name() {
    let csv = client()
        .call(
            "create_blob",
            json!({"content": "c,d\n1,2\n", "kind": "text/csv", "name": "sales.csv"}),
        )
        .unwrap();
    assert_eq!(csv["name"], "sales.csv");
    let id = csv["blob_id"].as_str().unwrap();
    for code in [
        "open('sales.csv').read()",
        "open('/workspace/sales.csv').read()",
        "open('/blobs/sales.csv').read()",
        "import pandas\npandas.read_csv('sales.csv').to_csv(index=False)",
        "import glob\n[open(path).read() for path in glob.glob('*.csv')][0]",
        "from runtime import blobs\nblobs.read_text('sales.csv')",
        "import os\nopen(os.path.abspath('./sales.csv')).read()",
    ] {
        let result = client().run_with(code, json!({"input_blobs": [id]}));
        assert_eq!(output(&result)["result"], "c,d\n1,2\n", "{code}");
        assert_eq!(result.get("files"), None, "{code}");
    }
    let code = "import os\n[os.listdir('.'), os.listdir('/blobs') == ['ID'.replace('ID', os.listdir('/blobs')[0])], os.path.getsize('sales.csv')]";
    let result = client().run_with(code, json!({"input_blobs": [id]}));
    assert_eq!(output(&result)["result"], json!([["sales.csv"], true, 8]));
}

#[test]
fn changing_a_mounted_file_changes_no_blob() {
    let csv = client()
        .call("create_blob", json!({"content": "old", "kind": "text/csv", "name": "own.csv"}))
        .unwrap();
    let id = csv["blob_id"].as_str().unwrap();
    for (code, left) in [
        ("open('own.csv', 'w').write('new')", vec![("own.csv", "new")]),
        ("open('own.csv', 'a').write('er')", vec![("own.csv", "older")]),
        ("f = open('own.csv', 'r+')\nf.read()\nf.close()", vec![]),
        ("f = open('own.csv', 'r+')\nf.write('g')\nf.close()", vec![("own.csv", "gld")]),
        ("import os\nos.truncate('own.csv', 1)", vec![("own.csv", "o")]),
        ("import os\nos.remove('own.csv')", vec![]),
        ("import os\nos.rename('own.csv', 'other.csv')", vec![("other.csv", "old")]),
        ("import shutil\nshutil.copy2('own.csv', 'copy.csv')", vec![("copy.csv", "old")]),
        ("import os\nos.link('own.csv', 'link.csv')", vec![("link.csv", "old")]),
        ("import os\nos.utime('own.csv', (1, 1))\nos.chmod('own.csv', 0o600)", vec![]),
    ] {
        let code = format!("{code}\nopen('/blobs/own.csv').read()");
        let result = client().run_with(&code, json!({"input_blobs": [id]}));
        assert_eq!(output(&result)["result"], "old", "{code}");
        let files = result["files"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found: Vec<(String, String)> = files
            .iter()
            .map(|file| {
                let content = client().read_bytes(file["blob_id"].as_str().unwrap());
                let path = file["path"].as_str().unwrap().to_owned();
                (path, String::from_utf8(content).unwrap())
            })
            .collect();
        let left: Vec<(String, String)> =
            left.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        assert_eq!(found, left, "{code}");
        assert_eq!(client().read_bytes(id), b"old", "{code}");
    }
}

#[test]
fn of_two_blobs_with_one_name_the_first_has_it() {
    let create = |content: &str| {
        let params = json!({"content": content, "kind": "text/csv", "name": "twin.csv"});
        client().call("create_blob", params).unwrap()["blob_id"].as_str().unwrap().to_owned()
    };
    let ids = [create("first"), create("second")];
    let code = "from runtime import blobs\ndef main(args): return [open('twin.csv').read()] + [open(id).read() for id in args['ids']] + [blob.name for blob in blobs.list()]";
    let result = client().run_with(code, json!({"input_blobs": ids, "args": {"ids": ids}}));
    assert_eq!(output(&result)["result"], json!(["first", "first", "second", "twin.csv", null]));
    let summary = result["summary"].as_str().unwrap();
    let expected = format!("Mounted blobs share a name: `twin.csv` is {};", ids[0]);
    assert!(summary.contains(&expected), "{summary}");
}

/// Stores a text under a name, and returns the id of its blob.
fn store(content: &str, name: &str) -> String {
    let params = json!({"content": content, "kind": "text/csv", "name": name});
    client().call("create_blob", params).unwrap()["blob_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_blob_is_opened_by_the_names_of_all_files_of_its_content() {
    let id = store("same,bytes\n", "january.csv");
    assert_eq!(store("same,bytes\n", "february.csv"), id);
    let code = "import glob\n[open(path).read() for path in ('january.csv', '/blobs/january.csv', 'february.csv', '/workspace/january.csv')] + glob.glob('*.csv')";
    let result = client().run_with(code, json!({"input_blobs": [id]}));
    let text = "same,bytes\n";
    assert_eq!(output(&result)["result"], json!([text, text, text, text, "february.csv"]));
    assert_eq!(result.get("files"), None, "{result:#}");
    let shown = client().call("read_blob", json!({"blob_id": id})).unwrap();
    assert_eq!(shown["name"], "february.csv");
    // A changed file is the program's own, under a name that is not listed too.
    let code = "open('january.csv', 'a').write('more\\n')\nopen('february.csv').read()";
    let result = client().run_with(code, json!({"input_blobs": [id]}));
    assert_eq!(output(&result)["result"], "same,bytes\n");
    assert_eq!(paths(&result), ["january.csv"]);
}

#[test]
fn callers_with_equal_files_have_their_own_names_at_the_same_time() {
    std::thread::scope(|scope| {
        for name in ["mine.csv", "yours.csv"] {
            scope.spawn(move || {
                for _ in 0..4 {
                    let id = store("race,1\n", name);
                    let code = format!("open('{name}').read()");
                    let result = client().run_with(&code, json!({"input_blobs": [id]}));
                    assert_eq!(output(&result)["result"], "race,1\n", "{result:#}");
                }
            });
        }
    });
}

#[test]
fn a_file_that_is_a_copy_of_a_mounted_one_names_the_blob_too() {
    let id = store("clean,already\n", "in.csv");
    let copying = "import shutil\nshutil.copy('in.csv', 'cleaned.csv')\nNone";
    let result = client().run_with(copying, json!({"input_blobs": [id]}));
    assert_eq!(result["files"][0]["blob_id"].as_str(), Some(&*id), "{result:#}");
    let name = || client().call("read_blob", json!({"blob_id": id})).unwrap()["name"].clone();
    assert_eq!(name(), "cleaned.csv");
    let result = client().run_with("open('in.csv').read()", json!({"input_blobs": [id]}));
    assert_eq!(output(&result)["result"], "clean,already\n");
    assert_eq!(name(), "cleaned.csv", "a mounted file that stays as it is changes no name");
}

#[test]
fn a_missing_file_says_what_is_mounted() {
    let csv = client()
        .call("create_blob", json!({"content": "x", "kind": "text/csv", "name": "here.csv"}))
        .unwrap();
    let id = csv["blob_id"].as_str().unwrap();
    let code = "import pandas\npandas.read_csv('there.csv')";
    let result = client().run_with(code, json!({"input_blobs": [id]}));
    let (kind, message) = failed(&result);
    assert_eq!(kind, "FileNotFoundError");
    assert!(message.contains(&format!("(mounted: `here.csv` = `{id}`)")), "{message}");
    assert!(message.contains("'there.csv'") && message.contains("`input_blobs`"), "{message}");
}

#[test]
fn a_caller_of_a_skill_mounts_no_code_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path().join("files.listing");
    fs::create_dir_all(skill.join("code")).unwrap();
    for (path, text) in [
        (
            "skill.toml",
            "name = \"files.listing\"\nversion = \"1.0.0\"\ndescription = \"Lists.\"\nkind = \"action\"\n[runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\nexport = \"main\"\n",
        ),
        ("SKILL.md", "---\nname: files.listing\ndescription: Lists.\n---\n\n# Lists\n"),
        (
            "code/main.py",
            "import os\n\ndef main(args):\n    return {'found': os.listdir('.'), 'by_path': open('/blobs/helper.py').read()}\n",
        ),
    ] {
        fs::write(skill.join(path), text).unwrap();
    }
    let server = TestServer::start(&["--skills", folder.path().to_str().unwrap()]);
    let client = server.client();
    let create = |name: &str| {
        let params = json!({"content": name, "kind": "text/plain", "name": name});
        client.call("create_blob", params).unwrap()["blob_id"].clone()
    };
    let ids = [create("helper.py"), create("data.txt")];
    let code = "import os\nsorted(os.listdir('.'))";
    let result = client.run_with(code, json!({"input_blobs": ids}));
    assert_eq!(output(&result)["result"], json!(["data.txt", "helper.py"]));
    let result = client.call("execute_skill", json!({"name": "files.listing", "input_blobs": ids}));
    let result = result.unwrap();
    assert_eq!(output(&result)["found"], json!(["data.txt"]), "{result:#}");
    assert_eq!(output(&result)["by_path"], "helper.py");
}

#[test]
fn a_program_names_the_blobs_that_it_stores() {
    let code = "from runtime import blobs\nopen('t.csv', 'w').write('a')\n[blobs.write_text('# x', name='notes.md'), blobs.write_file('t.csv', name='final.csv')]";
    let result = client().run(code);
    let ids = output(&result)["result"].as_array().unwrap().clone();
    let names: Vec<Value> = ids
        .iter()
        .map(|id| client().call("read_blob", json!({"blob_id": id})).unwrap()["name"].clone())
        .collect();
    assert_eq!(names, ["notes.md", "final.csv"], "{result:#}");
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
    assert_eq!(paths(&result), ["chart.png", "figure-1.png", "figure-2.png"]);
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
        (&json!(150), 50)
    );
    let summary = result["summary"].as_str().unwrap();
    assert!(summary.contains(" and 97 others were not kept: only 50 files"), "{summary}");
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
