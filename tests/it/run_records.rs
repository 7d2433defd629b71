//! Records of runs that can be executed again: `--record` and `wardian verify`.

use std::fs;
use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::cache::untouched_script;
use crate::support::{Answer, Client, Command, Ended, TestServer, contained, eventually};

/// Commands with engines of their own are slow on a busy machine.
const PATIENT: [&str; 2] = ["--timeout-ms", "300000"];

/// Records a run of `arguments` as `run.json`.
fn record(place: &Command, arguments: &[&str], code: i32) -> Value {
    let options = [&["--reproducible", "--record", "run.json"][..], &PATIENT].concat();
    place.run(&[arguments, &options].concat()).with(code);
    read(place, "run.json")
}

fn read(place: &Command, file: &str) -> Value {
    serde_json::from_slice(&fs::read(place.folder().join(file)).unwrap()).unwrap()
}

/// Writes a changed record in canonical form: its members are sorted, and it has no fractions.
fn write(place: &Command, file: &str, record: &Value) {
    place.file(file, serde_json::to_string(record).unwrap());
}

/// Verifies `run.json`.
fn verify(place: &Command, more: &[&str]) -> Ended {
    place.run(&[&["verify", "run.json"], more].concat())
}

fn said(ended: &Ended, expected: &[&str]) {
    let all = format!("{}{}", ended.stdout, ended.stderr);
    let missing = contained(&all, expected.iter().copied());
    assert!(missing.is_empty(), "{missing:?} in {all}");
}

#[test]
fn whatever_the_end_of_a_run_is_it_repeats() {
    let place = Command::new();
    let args = r#"{"z": 1.50, "a": 18446744073709551615, "é": "\u00e9\ud83d\ude00", "f": 1e-7}"#;
    for (name, code, exit) in [
        ("prints", "import sys\nprint('a\\nb')\nprint('c', file=sys.stderr)\nprint('ü' * 300)", 0),
        ("returns its arguments", "def main(args):\n    return {'keys': list(args), **args}", 0),
        ("returns much", "def main(args):\n    return ['x' * 90] * 900", 0),
        ("returns nothing and keeps files", "open('a.png', 'wb').write(b'1'); open('b', 'w')", 0),
        ("stores blobs", "import runtime\nruntime.blobs.write_text('a,b', 'text/csv')", 0),
        ("raises", "import random\nprint(random.random())\nraise ValueError('é' + '9' * 40)", 1),
        ("exits", "import sys\nprint('bye')\nsys.exit(3)", 1),
        ("is no Python", "def main(:", 1),
        ("recurses", "def f(): return f()\nf()", 1),
        ("returns what is no value", "def main(args):\n    return {1: object()}", 1),
        ("prints more than is kept", "for i in range(30000): print('line', i, 'x' * 40)", 0),
    ] {
        let record = record(&place, &["run", "-c", code, "--args", args], exit);
        let ended = verify(&place, &["--json"]);
        assert_eq!(
            (ended.code, &ended.json()["verdict"]),
            (Some(0), &json!("identical")),
            "{name}"
        );
        assert!(record["ending"]["fuel"].as_u64() > Some(1_000_000), "{name}: {record}");
    }
}

/// A program that has the host work uses fuel for it; records from before that repeat without.
#[test]
fn bytes_that_the_host_moves_use_fuel_and_old_records_repeat() {
    let place = Command::new();
    let fuel = |code: &str| record(&place, &["run", "-c", code], 0)["ending"]["fuel"].as_u64();
    let mut least = fuel("").unwrap();
    for (code, more) in [
        ("open('f', 'wb').write(b'x' * (64 << 20))", 64 << 20),
        (
            "f = open('f', 'wb+'); f.truncate(64 << 20); f.seek(0); f.readinto(bytearray(64 << 20))",
            64 << 20,
        ),
        ("import os; os.urandom(4 << 20)", 64 << 20),
        ("import os; [os.stat('/' + './' * 2000) for _ in range(100)]", 25_000_000),
        ("import sys; sys.stdout.write('x' * (16 << 20))", 16 << 20),
        (
            "import os\nfor n in range(1000): open(f'file-{n}', 'w').close()\n\
             for _ in range(20): os.listdir('.')",
            8 * 20 * 1000 * 24,
        ),
    ] {
        let used = fuel(code).unwrap();
        assert!(used > least + more, "{code}: {used} of {least} + {more}");
    }
    least = 0;
    for code in [
        "f = open('f', 'wb+')\nwhile True: f.seek(0); f.write(b'x' * (16 << 20))",
        "import os\nwhile True: os.urandom(1 << 20)",
    ] {
        let ended = record(&place, &["run", "-c", code, "--fuel", "1000000000"], 1);
        assert_eq!(ended["ending"]["error"]["type"], "FuelExhausted");
        least += ended["ending"]["fuel"].as_u64().unwrap();
    }
    assert_eq!(least, 2_000_000_000);
    let mut old = record(&place, &["run", "-c", "open('f', 'wb').write(b'x' * (1 << 20))"], 0);
    assert_eq!(old["inputs"]["fuel_rules"], 2);
    old["inputs"].as_object_mut().unwrap().remove("fuel_rules");
    write(&place, "run.json", &old);
    let verdict = verify(&place, &["--json"]).with(1).json();
    let differences = verdict["differences"].as_array().unwrap();
    assert_eq!((differences.len(), &differences[0]["what"]), (1, &json!("fuel")), "{verdict}");
    let now: u64 = differences[0]["found"].as_str().unwrap().parse().unwrap();
    assert!(now + (1 << 20) < old["ending"]["fuel"].as_u64().unwrap(), "{verdict}");
    old["ending"]["fuel"] = now.into();
    write(&place, "run.json", &old);
    assert_eq!(verify(&place, &[]).with(0).stdout, "identical\n");
    old["inputs"]["fuel_rules"] = 3.into();
    write(&place, "run.json", &old);
    said(&verify(&place, &[]).with(2), &["belong to a newer Wardian"]);
}

#[test]
fn runs_that_end_by_fuel_repeat_and_runs_that_end_by_time_leave_no_record() {
    let place = Command::new();
    let record = record(&place, &["run", "-c", "while True: pass", "--fuel", "50000000"], 1);
    assert_eq!(record["ending"]["error"]["type"], "FuelExhausted");
    assert_eq!(verify(&place, &[]).with(0).stdout, "identical\n");
    fs::remove_file(place.folder().join("run.json")).unwrap();
    let run = ["run", "--reproducible", "--record", "run.json", "--timeout-ms", "300", "-c"];
    let ended = place.run(&[&run[..], &["while True: pass"]].concat()).with(1);
    said(&ended, &["no document was written: the run timed out"]);
    assert!(!place.folder().join("run.json").try_exists().unwrap());
}

#[test]
fn what_the_machine_decided_leaves_no_record_and_is_not_compared() {
    let place = Command::new();
    let blob = "import runtime\ntry:\n    runtime.blobs.write_text('x' * 90000, 'text/csv')\n\
        except Exception as error:\n    print(error)";
    let large = "def main(args): return ['x' * 90] * 900";
    let abort = "import posix\nposix.abort()";
    let streams = "import sys\nfor _ in range(10002):\n    print(1, flush=True)\n    \
        print(2, file=sys.stderr, flush=True)";
    let full = ["--set", "blobs.quota=1 KiB"];
    for (code, settings, told, exit) in [
        (abort, &[][..], "the sandbox of the run broke", 3),
        (blob, &full, "a blob of the run could not be stored here", 3),
        (large, &full, "a blob of the run could not be stored here", 3),
        (streams, &["--set", "limits.logs=4 MiB"], "too often between its streams", 1),
    ] {
        let run = ["run", "--reproducible", "--record", "run.json", "-c", code];
        let ended = place.run(&[settings, &run, &PATIENT].concat()).with(exit);
        said(&ended, &["error: no document was written: ", told]);
        assert!(!place.folder().join("run.json").try_exists().unwrap(), "{code}");
    }
    // The same run has a record where there is room, and is not compared where there is none.
    let good = record(&place, &["run", "-c", blob], 0);
    assert_eq!(verify(&place, &[]).with(0).stdout, "identical\n");
    let ended = verify(&place, &full).with(3);
    said(&ended, &["the run cannot be compared here: a blob of the run could not be stored here"]);
    assert_eq!(ended.stdout, "");
    // A record of another program, whose repetition breaks its sandbox.
    let mut broken = good.clone();
    let source = json!({"sha256": HEXLOWER.encode(&Sha256::digest(abort)), "size_bytes": abort.len(), "text": abort});
    broken["inputs"]["program"]["code"]["source"] = source;
    write(&place, "broken.json", &broken);
    let ended = place.run(&["verify", "broken.json"]).with(3);
    said(&ended, &["the run cannot be compared here: the sandbox of the run broke"]);
    // Limits of this machine on fuel hold for repetitions.
    let limit = ["verify", "run.json", "--set", "limits.max.fuel=1000000"];
    said(&place.run(&limit).with(3), &["limits.max"]);
}

/// A skill whose files, blobs and arguments a record names.
fn skill(place: &Command, code: &str) {
    let manifest = "name = \"acme.sum.up\"\nversion = \"0.1.0\"\ndescription = \"Adds.\"\n\
        kind = \"action\"\n[runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\n\
        export = \"main\"\n[inputs]\nn = { type = \"number\", default = 0.1 }\n";
    place.file("skills/acme.sum.up/skill.toml", manifest);
    place.file("skills/acme.sum.up/SKILL.md", "---\nname: A\nshort_description: B\n---\nC\n");
    place.file("skills/acme.sum.up/code/main.py", code);
}

#[test]
fn same_inputs_or_nothing_is_executed() {
    let place = Command::new();
    skill(&place, "def main(args):\n    print('of the skill')\n    return args\n");
    place.file("in/sales.csv", "a,b\n1,2\n");
    place.file("in/other.csv", "a,b\n1,3\n");
    let executed =
        record(&place, &["--skills", "skills", "exec", "acme.sum.up", "--blob", "in/sales.csv"], 0);
    assert_eq!(executed["inputs"]["arguments"]["text"], r#"{"n":0.1}"#);
    let sources = ["--skills", "skills", "--blobs", "in"];
    assert_eq!(verify(&place, &sources).with(0).stdout, "identical\n");
    // Mounted by code, which reads the blob by its id.
    let code = "import runtime\nfrom skills.acme.sum.up import main\n\
        def m(args): return [main({}), runtime.blobs.read_text(args['sheet'])]\n";
    place.file("mounts.py", code);
    let run = ["--skills", "skills", "run", "mounts.py", "--entrypoint", "m"];
    let more = ["--mount-skill", "acme.sum.up", "--blob", "sheet=in/sales.csv"];
    let mounted = record(&place, &[&run[..], &more].concat(), 0);
    assert_eq!(mounted["inputs"]["skills"], executed["inputs"]["skills"]);
    assert_eq!(verify(&place, &sources).with(0).stdout, "identical\n");

    // What lies beside the record is found without being named.
    assert_eq!(verify(&place, &["--skills", "skills"]).with(0).stdout, "identical\n");
    let far = fs::read_to_string(place.folder().join("run.json")).unwrap();
    place.file("far/run.json", far);
    let alone = ["--skills", "skills", "verify", "far/run.json"];
    said(&place.run(&alone).with(2), &["the blob `blob:", "--blobs"]);
    said(&verify(&place, &["--blobs", "in"]).with(2), &["`acme.sum.up`"]);
    place.file("in/sales.csv", "a,b\n1,9\n");
    said(&verify(&place, &sources).with(2), &["the blob `blob:"]);
    place.file("in/sales.csv", "a,b\n1,2\n");
    skill(&place, "def main(args):\n    print('changed')\n");
    let refused = verify(&place, &sources).with(2);
    said(&refused, &["`skills[0].digest` is `", "nothing was executed"]);
    assert!(!refused.stdout.contains("identical"));
}

#[test]
fn a_difference_is_shown_where_it_is() {
    let place = Command::new();
    let code = "print('one')\nprint('two')\ndef main(args):\n    return {'a': 1, 'b': [2, 3]}\n";
    place.file("p.py", code);
    let good = record(&place, &["run", "p.py"], 0);
    let changed = |change: fn(&mut Value)| {
        let mut record = good.clone();
        change(&mut record["ending"]);
        write(&place, "changed.json", &record);
        place.run(&["verify", "changed.json"]).with(1)
    };
    let ended = changed(|ending| {
        ending["output"] = json!(r#"{"a":1,"b":[2,4]}"#);
        ending["fuel"] = json!(7);
        ending["log"]["pieces"][0]["text"] = json!("one\ntwo!\n");
        ending["output_blobs"] = json!([format!("blob:{}", "a".repeat(52))]);
    });
    let expected = [
        "different\n",
        "output: - recorded, + now\n",
        "  -     4\n",
        "  +     3\n",
        "fuel: recorded 7, now ",
        "log line 2: recorded two!, now two\n",
        "blob 1: recorded blob:aaaa",
    ];
    said(&ended, &expected);
    let ended = changed(|ending| {
        ending["status"] = json!("failed");
        ending["error"] = json!({"type": "ValueError", "message": "no", "traceback": null});
    });
    said(&ended, &["status: recorded failed, now completed", "error.type: recorded ValueError"]);
    // Two records are compared without an execution.
    let against = place.run(&["verify", "run.json", "--against", "changed.json"]).with(1);
    said(&against, &["status: first completed, second failed"]);
    let same = place.run(&["verify", "run.json", "--against", "run.json"]).with(0);
    assert_eq!(same.stdout, "identical\n");
    // Files differ by their kind, and by a reason that is empty.
    let file = json!({"path": "a", "size_bytes": 1, "blob_id": null, "kind": "text/plain",
        "not_kept": null});
    for (member, value) in [("kind", json!("text/html")), ("not_kept", json!(""))] {
        let mut record = good.clone();
        record["ending"]["files"] = json!([file]);
        write(&place, "one.json", &record);
        record["ending"]["files"][0][member] = value;
        write(&place, "two.json", &record);
        let against = place.run(&["verify", "one.json", "--against", "two.json"]).with(1);
        said(
            &against,
            &["different\n", "file 1: first a (1 bytes, not kept, text/plain), second a"],
        );
    }
    let inputs = {
        let mut record = good.clone();
        record["inputs"]["seed"] = json!(9);
        record
    };
    write(&place, "changed.json", &inputs);
    let against = place.run(&["verify", "run.json", "--against", "changed.json"]).with(1);
    said(&against, &["seed: first 0, second 9"]);
}

#[test]
fn a_record_of_another_machine_is_not_executed() {
    let place = Command::new();
    let good = record(&place, &["run", "-c", "print(1)"], 0);
    let digest = json!("0".repeat(64));
    for (path, named) in [
        ("/inputs/image", "`image` is `"),
        ("/inputs/engine/library", "`engine.library` is `"),
        ("/inputs/engine/module", "`engine.module` is `"),
    ] {
        let mut record = good.clone();
        *record.pointer_mut(path).unwrap() = digest.clone();
        write(&place, "other.json", &record);
        let ended = place.run(&["verify", "other.json"]).with(3);
        said(&ended, &["cannot be repeated here", named, "nothing was executed"]);
    }
    let mut record = good.clone();
    record["inputs"]["limits"]["memory_bytes"] = json!(1_u64 << 40);
    write(&place, "other.json", &record);
    said(&place.run(&["verify", "other.json"]).with(3), &["limits.max"]);
    let mut record = good;
    record["made_by"]["wardian"] = json!("0.0.1");
    write(&place, "other.json", &record);
    let ended = place.run(&["verify", "other.json"]).with(0);
    said(&ended, &["identical", "the document was made by Wardian 0.0.1"]);
}

#[test]
fn hostile_records_are_refused_in_one_line() {
    let place = Command::new();
    let good = record(&place, &["run", "-c", "print(1)"], 0);
    let text = fs::read_to_string(place.folder().join("run.json")).unwrap();
    let set = |path: &str, value: Value| {
        let mut record = good.clone();
        *record.pointer_mut(path).unwrap() = value;
        serde_json::to_string(&record).unwrap()
    };
    let skill = json!({"name": "a.b", "version": "1.0.0", "digest": "0".repeat(64)});
    for (content, expected) in [
        (String::new(), "the body is empty"),
        ("{".to_owned(), "byte 1: expected"),
        ("[".repeat(9_000), "nested more than 64 levels deep"),
        ("\u{1}".to_owned(), "expected"),
        ("{}".to_owned(), "missing field"),
        (format!("{text}\n"), "is not in canonical form"),
        (text.replace("\"seed\":0", "\"seed\":0.0"), "the document: "),
        (text.replace("\"seed\":0", "\"seed\": 0"), "is not in canonical form"),
        (text.replace("\"seed\":0", "\"seed\":0,\"seed\":0"), "appears twice"),
        (text.replace("\"seed\":0", "\"salt\":1,\"seed\":0"), "unknown field `salt`"),
        (set("/format_version", json!(2)), "version 2 of the format"),
        (set("/format_version", json!(0)), "`format_version` must be 1"),
        (set("/format", json!("other")), "is not a run document"),
        (set("/inputs/seed", json!(1_u64 << 53)), "beyond 9007199254740991"),
        (set("/inputs/epoch", json!(9_000_000_001_u64)), "`epoch` is out of its bounds"),
        (set("/inputs/image", json!("0")), "64 lowercase hexadecimal digits"),
        (set("/inputs/arguments/text", json!("{\"a\":1}")), "does not match its digest"),
        (set("/inputs/arguments/text", Value::Null), "the text of `arguments` is missing"),
        (set("/inputs/program/code/source/size_bytes", json!(1)), "does not match its digest"),
        (set("/inputs/program", json!({"skill": {"name": "a.b"}})), "the first of the skills"),
        (set("/inputs/skills", json!([skill, skill])), "a skill appears twice"),
        (set("/inputs/skills", json!(vec![skill; 300])), "too many skills"),
        (set("/inputs/limits/memory_bytes", json!(-1)), "the document: "),
        (
            text.replace("\"seed\":0", "\"\\u001b]0;x\\u0007\u{202e}\":0"),
            "unknown field `\\u{1b}]0;x\\u{7}\\u{202e}`",
        ),
    ] {
        place.file("bad.json", &content);
        let ended = place.run(&["verify", "bad.json"]).with(2);
        said(&ended, &["error: bad.json: ", expected]);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.len() < 500 && ended.stdout.is_empty(), "{}", ended.stderr);
    }
    place.file("bad.json", vec![b' '; (32 << 20) + 1]);
    said(&place.run(&["verify", "bad.json"]).with(2), &["is larger than 32 MiB"]);
    said(&place.run(&["verify", "none.json"]).with(2), &["none.json: "]);
    // Without `--reproducible` there is nothing to repeat.
    place.run(&["run", "-c", "1", "--record", "r.json"]).with(2);
}

#[test]
fn a_record_that_cannot_be_written_is_told_before_the_run() {
    let place = Command::new();
    for (name, text) in [("program.py", "print('ran')"), ("args.json", "{}"), ("a.csv", "a,b\n")] {
        place.file(name, text);
    }
    let run = ["run", "--reproducible", "program.py", "--args", "@args.json", "--blob", "x=a.csv"];
    for (record, says) in [
        ("program.py", "it would replace `program.py`"),
        ("./args.json", "it would replace `args.json`"),
        ("a.csv", "it would replace `a.csv`"),
        ("none/run.json", "No such file"),
        (".", "it is a folder"),
    ] {
        let ended = place.run(&[&run[..], &["--record", record]].concat()).with(2);
        assert_eq!(ended.stdout, "", "{record}");
        said(&ended, &[&format!("`--record {record}`: "), says]);
    }
    assert_eq!(fs::read_to_string(place.folder().join("program.py")).unwrap(), "print('ran')");
}

#[test]
fn a_record_of_what_no_run_leaves_is_refused() {
    let place = Command::new();
    let good = record(&place, &["run", "-c", "print(1)"], 0);
    let set = |path: &str, value: Value| {
        let mut record = good.clone();
        *record.pointer_mut(path).unwrap() = value;
        record
    };
    let piece = |stream: &str| json!({"stream": stream, "text": "x"});
    let mut crashed = good["ending"].clone();
    crashed["status"] = json!("failed");
    crashed["error"] = json!({"type": "SandboxCrash", "message": "", "traceback": null});
    for (record, expected) in [
        (set("/ending/log/pieces", json!([{"stream": "stdout", "text": ""}])), "is empty"),
        (
            set("/ending/log/pieces", json!([piece("stdout"), piece("stdout")])),
            "belong to one stream",
        ),
        (set("/ending/log/pieces", json!([piece("progress")])), "a progress report"),
        (set("/ending/log/pieces", json!(vec![piece("log"); 20_001])), "at most 20000 items"),
        (
            set("/ending/output_blobs", json!(vec![format!("blob:{}", "a".repeat(52)); 20_001])),
            "at most 20000 items",
        ),
        (set("/ending/output", json!("[".repeat(100_000))), "not JSON that a run can return"),
        (
            set("/ending/output", json!(format!("{}{}", "[".repeat(65), "]".repeat(65)))),
            "not JSON that a run can return",
        ),
        (set("/ending/output", json!("{\"a\":1,\"a\":2}")), "not JSON that a run can return"),
        (set("/ending/output", json!("1 2")), "not JSON that a run can return"),
        (set("/inputs/keep_files", json!({"matching": vec!["*"; 65]})), "too many patterns"),
        (set("/inputs/keep_files", json!({"matching": ["*".repeat(257)]})), "is too long"),
        (set("/ending", crashed), "timed out or was ended by the machine"),
    ] {
        write(&place, "bad.json", &record);
        said(&place.run(&["verify", "bad.json"]).with(2), &["error: bad.json: ", expected]);
    }
}

#[test]
fn long_texts_are_found_by_their_digest() {
    let place = Command::new();
    let padding = "#".repeat(1 << 20);
    place.file("in/long.py", format!("print('long')\n{padding}"));
    let record = record(&place, &["run", "in/long.py"], 0);
    assert_eq!(record["inputs"]["program"]["code"]["source"]["text"], Value::Null);
    assert_eq!(verify(&place, &["--blobs", "in"]).with(0).stdout, "identical\n");
    assert_eq!(verify(&place, &[]).with(0).stdout, "identical\n");
    let far = fs::read_to_string(place.folder().join("run.json")).unwrap();
    place.file("far/run.json", far);
    let alone = place.run(&["verify", "far/run.json"]).with(2);
    said(&alone, &["the text of the program (SHA-256", "--blobs"]);
}

#[test]
fn secrets_have_no_place_in_a_record() {
    let place = Command::new().set("WARDIAN_SECRET_ACME_KEY", "s3cr3t-value-1234567890");
    skill(&place, "def main(args): return 1\n");
    let manifest =
        fs::read_to_string(place.folder().join("skills/acme.sum.up/skill.toml")).unwrap();
    let manifest = format!("{manifest}[permissions]\nsecrets = [\"ACME_KEY\"]\n");
    place.file("skills/acme.sum.up/skill.toml", manifest);
    let run = ["--skills", "skills", "exec", "acme.sum.up", "--reproducible", "--record", "r.json"];
    let refused = place.run(&run).with(2);
    said(&refused, &["the run cannot be recorded: it uses secrets"]);
    assert!(!place.folder().join("r.json").try_exists().unwrap());
}

/// The whole form of a document. Digests and fuel belong to the engine, and are left out.
#[test]
fn the_form_of_a_record_is_stable() {
    let place = Command::new();
    let code = "print('hello')\nopen('a.png', 'wb').write(b'1')\nraise ValueError('no')\n";
    place.file("p.py", code);
    let record = record(&place, &["run", "p.py", "--args", r#"{"n": 1.0}"#, "--seed", "7"], 1);
    insta::assert_json_snapshot!(record, {
        ".ending.fuel" => "[fuel]",
        ".ending.memory_peak_bytes" => "[bytes]",
        ".inputs.engine.library" => "[digest]",
        ".inputs.engine.module" => "[digest]",
        ".inputs.engine.transform" => "[number]",
        ".inputs.image" => "[digest]",
        ".inputs.layers[].digest" => "[digest]",
        ".made_by.wardian" => "[version]",
        ".made_by.wasmtime" => "[version]",
    });
}

/// A key pair of Ed25519 in PEM files, as `openssl` would write them.
fn keys(place: &Command, name: &str, seed: u8) {
    let seed = [seed; 32];
    let private =
        [&[0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20][..], &seed];
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
    let public = [
        &[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0][..],
        pair.public_key().as_ref(),
    ];
    for (ending, label, der) in
        [("pem", "PRIVATE", private.concat()), ("pub", "PUBLIC", public.concat())]
    {
        let pem = format!(
            "-----BEGIN {label} KEY-----\n{}\n-----END {label} KEY-----\n",
            BASE64.encode(&der)
        );
        place.file(&format!("{name}.{ending}"), pem);
    }
}

#[test]
fn a_bundle_is_verified_without_anything_else() {
    let place = Command::new();
    skill(&place, "def main(args):\n    return args\n");
    let long = format!("skills/acme.sum.up/resources/{}/{}.txt", "ö".repeat(60), "x".repeat(120));
    place.file(&long, "long");
    place.file("in/sales.csv", "a,b\n1,2\n");
    let padding = "#".repeat(1 << 20);
    let code = "import runtime\nfrom skills.acme.sum.up import main as up\n\
        def main(args): return [up({}), runtime.blobs.read_text(args['sheet'])]\n";
    place.file("in/long.py", format!("{code}{padding}"));
    let run = ["--skills", "skills", "run", "in/long.py", "--mount-skill", "acme.sum.up"];
    record(&place, &[&run[..], &["--blob", "sheet=in/sales.csv"]].concat(), 0);
    let pack = |output: &str| {
        let sources = ["--skills", "skills", "--blobs", "in"];
        place.run(&[&["bundle", "run.json", "-o", output], &sources[..]].concat())
    };
    pack("one.tar").with(0);
    pack("two.tar").with(0);
    let bytes = fs::read(place.folder().join("one.tar")).unwrap();
    assert_eq!(bytes, fs::read(place.folder().join("two.tar")).unwrap());
    // Another machine has the bundle and nothing else.
    let other = Command::new();
    other.file("run.tar", &bytes);
    assert_eq!(other.run(&["verify", "run.tar"]).with(0).stdout, "identical\n");
    // Also where only signed skills are served: the document names the files by their digests.
    let signed = ["--set", "skills.require_signatures=true", "verify", "run.tar"];
    assert_eq!(other.run(&signed).with(0).stdout, "identical\n");
    let against = place.run(&["verify", "one.tar", "--against", "run.json"]).with(0);
    assert_eq!(against.stdout, "identical\n");
    said(&place.run(&["bundle", "one.tar", "-o", "three.tar"]).with(2), &["is already a bundle"]);
    // Whatever fails, the files that are there stay as they are.
    for input in ["run.json", "in/sales.csv", "in/long.py"] {
        let before = fs::read(place.folder().join(input)).unwrap();
        said(&pack(input).with(2), &["is one of the files to pack"]);
        assert!(before == fs::read(place.folder().join(input)).unwrap(), "{input}");
    }
    said(&pack("in").with(2), &["exists and is not a regular file"]);
    pack("two.tar").with(0);
    // Blobs are found beside the record, so they are missing where it stands alone.
    place.file("alone/run.json", fs::read(place.folder().join("run.json")).unwrap());
    let alone = ["--skills", "skills", "bundle", "alone/run.json", "-o", "x.tar"];
    said(&place.run(&alone).with(2), &["the blob `blob:"]);
    fs::write(place.folder().join("skills/acme.sum.up/code/main.py"), "def main(a): ...").unwrap();
    said(&pack("x.tar").with(2), &["`acme.sum.up` differs here"]);
    said(&pack("two.tar").with(2), &["`acme.sum.up` differs here"]);
    assert_eq!(bytes, fs::read(place.folder().join("two.tar")).unwrap());
    assert!(!place.folder().join("x.tar").try_exists().unwrap());
}

#[test]
fn a_run_that_reads_by_name_and_leaves_files_repeats_elsewhere() {
    let place = Command::new();
    place.file("in/sales.csv", "a,b\n1,2\n");
    let code = "open('out.csv', 'w').write(open('sales.csv').read().upper())\nopen('sales.csv', 'a').write('x')\nimport os\n[os.listdir('.'), os.stat('sales.csv').st_ino]";
    let record = record(&place, &["run", "-c", code, "--file", "in/sales.csv"], 0);
    assert_eq!(record["inputs"]["blobs"][0]["name"], "sales.csv");
    assert_eq!(record["inputs"]["keep_files"]["usual"]["count"], 50);
    let kept = record["ending"]["files"].as_array().unwrap();
    assert!(kept.len() == 2 && kept.iter().all(|file| file["blob_id"].is_string()), "{record}");
    place.run(&["bundle", "run.json", "-o", "run.tar", "--blobs", "in"]).with(0);
    let other = Command::new();
    other.file("run.tar", fs::read(place.folder().join("run.tar")).unwrap());
    let others = ["--set", "limits.keep_files.count=0", "verify", "run.tar"];
    assert_eq!(other.run(&others).with(0).stdout, "identical\n", "the document has its own bounds");
}

#[test]
fn a_run_that_reads_equal_files_by_two_names_repeats_elsewhere() {
    let place = Command::new();
    for path in ["in/sales.csv", "in/copy.csv"] {
        place.file(path, "a,b\n1,2\n");
    }
    let code = "open('sales.csv').read() + open('copy.csv').read()";
    let files = ["run", "-c", code, "--file", "in/sales.csv", "--file", "in/copy.csv"];
    let record = record(&place, &files, 0);
    assert_eq!(record["inputs"]["blobs"].as_array().unwrap().len(), 1, "{record}");
    let blob = &record["inputs"]["blobs"][0];
    assert_eq!((&blob["name"], &blob["other_names"]), (&json!("copy.csv"), &json!(["sales.csv"])));
    place.run(&["bundle", "run.json", "-o", "run.tar", "--blobs", "in"]).with(0);
    let other = Command::new();
    other.file("run.tar", fs::read(place.folder().join("run.tar")).unwrap());
    assert_eq!(other.run(&["verify", "run.tar"]).with(0).stdout, "identical\n");
}

/// The header of an entry whose name and size are short.
fn entry(name: &str, content: &[u8], kind: u8) -> Vec<u8> {
    let mut head = vec![0; 512];
    let mut put = |at: usize, text: &[u8]| head[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\x000000000\x000000000\0");
    put(124, format!("{:011o}\x0000000000000\0", content.len()).as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(329, b"0000000\x000000000\0");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    head.extend_from_slice(content);
    head.resize(head.len().next_multiple_of(512), 0);
    head
}

#[test]
fn hostile_bundles_are_refused_and_leave_nothing() {
    let place = Command::new();
    place.file("sales.csv", "a,b\n1,2\n");
    let run = ["run", "-c", "def main(args): return 1", "--blob", "sales.csv"];
    let record = record(&place, &run, 0);
    let text = fs::read(place.folder().join("run.json")).unwrap();
    place.run(&["bundle", "run.json", "--blobs", ".", "-o", "good.tar"]).with(0);
    let good = fs::read(place.folder().join("good.tar")).unwrap();
    let id = record["inputs"]["blobs"][0]["id"].as_str().unwrap().trim_start_matches("blob:");
    let first = entry("RECORD.json", &text, b'0');
    let blob = entry(&format!("blobs/{id}"), b"a,b\n1,2\n", b'0');
    let end = vec![0; 1024];
    assert_eq!(good, [&first[..], &blob, &end].concat());
    let with = |entries: &[&[u8]]| [&entries.concat()[..], &end].concat();
    let marker = "../marker";
    for (bytes, expected) in [
        (with(&[&first]), "is missing"),
        (with(&[&blob]), "its first file must be `RECORD.json`"),
        (
            with(&[&first, &blob, &entry("blobs/x", b"", b'0')]),
            "the document does not refer to a file `blobs/x`",
        ),
        (
            with(&[&first, &blob, &entry("other", b"", b'0')]),
            "the document does not refer to a file `other`",
        ),
        (
            with(&[&first, &blob, &entry("skills/a.b@1.0.0/m.py", b"", b'0')]),
            "does not refer to a file `skills/",
        ),
        (
            with(&[&first, &blob, &entry(&format!("layers/{}.layer", "0".repeat(64)), b"", b'0')]),
            "does not refer to a file `layers/",
        ),
        (with(&[&first, &blob, &blob]), "appears twice"),
        (with(&[&first, &first]), "appears twice"),
        (with(&[&first, &entry(marker, b"x", b'0')]), "`..` segments"),
        (with(&[&first, &entry("/tmp/marker", b"x", b'0')]), "must be relative"),
        (with(&[&first, &entry(&format!("blobs/{id}"), b"", b'2')]), "is a link"),
        (with(&[&first, &entry("blobs", b"", b'5')]), "is a folder"),
        (
            with(&[&first, &entry(&format!("blobs/{id}"), b"longer than it was", b'0')]),
            "of this size",
        ),
        (good[..good.len() - 512].to_vec(), "it ends early"),
        (good[..1000].to_vec(), "shorter than its size"),
        ([&good[..], b"x"].concat(), "bytes after its end"),
    ] {
        place.file("bad.tar", &bytes);
        let ended = place.run(&["verify", "bad.tar"]).with(2);
        said(&ended, &["error: bad.tar: the bundle is malformed: ", expected]);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(!place.folder().join("../marker").try_exists().unwrap());
    }
    // The content of a blob is compared with its id before anything is executed.
    let other = entry(&format!("blobs/{id}"), b"a,b\n1,9\n", b'0');
    place.file("bad.tar", with(&[&first, &other]));
    said(&place.run(&["verify", "bad.tar"]).with(2), &["the blob `blob:"]);
    let changed = String::from_utf8(text).unwrap().replace("\"seed\":0", "\"seed\": 0");
    place.file("bad.tar", with(&[&entry("RECORD.json", changed.as_bytes(), b'0'), &blob]));
    said(&place.run(&["verify", "bad.tar"]).with(2), &["not in canonical form"]);
}

#[test]
fn signed_records_hold_for_their_key_alone() {
    let place = Command::new();
    keys(&place, "mine", 1);
    keys(&place, "other", 2);
    record_signed(&place);
    let ended = place.run(&["verify", "run.json", "--key", "mine.pub"]).with(0);
    said(&ended, &["identical\n", "the signature is valid\n"]);
    let ended = place.run(&["verify", "run.json", "--against", "run.json"]).with(0);
    said(&ended, &["run.json: the signature was not verified: give the public key with `--key`"]);
    place.run(&["bundle", "run.json", "-o", "run.tar"]).with(0);
    let ended = place.run(&["verify", "run.tar", "--key", "mine.pub"]).with(0);
    said(&ended, &["identical\n", "the signature is valid\n"]);
    let wrong = ["verify", "run.tar", "--key", "other.pub"];
    said(&place.run(&wrong).with(2), &["signed with another key"]);

    let good = read(&place, "run.json");
    let signature = good["signatures"][0].clone();
    let payload = BASE64.decode(good["payload"].as_str().unwrap().as_bytes()).unwrap();
    let payload = String::from_utf8(payload).unwrap();
    assert!(payload.starts_with("{\"_type\":\"https://in-toto.io/Statement/v1\","), "{payload}");
    let encoded = |text: String| json!(BASE64.encode(text.as_bytes()));
    for (member, value, key, expected) in [
        ("payload", encoded(payload.replace("\"seed\":0", "\"seed\":1")), true, "was changed"),
        (
            "payload",
            encoded(payload.replace("\"seed\":0", "\"seed\":1")),
            false,
            "its subject is not",
        ),
        (
            "payload",
            encoded(payload.replace("run-record:1", "run-record:2")),
            false,
            "`predicateType`",
        ),
        ("payload", encoded(payload.replace("Statement/v1", "Statement/v2")), false, "`_type`"),
        ("payload", encoded(payload.replace("\"seed\":0", "\"seed\": 0")), false, "canonical form"),
        ("payload", json!("%"), true, "`payload` must be Base64"),
        ("payloadType", json!("text/plain"), true, "`payloadType` must be"),
        (
            "signatures",
            json!([signature, signature]),
            true,
            "it has 2 signatures, but must have exactly one",
        ),
        ("signatures", json!([]), true, "it has 0 signatures"),
        ("signatures", json!([{"keyid": signature["keyid"], "sig": "AAAA"}]), true, "was changed"),
        ("signatures", json!([{"keyid": "x", "sig": "AAAA"}]), true, "another key"),
        ("signatures", json!([{"keyid": "x", "sig": "%"}]), true, "it is not Base64"),
        ("more", json!(1), true, "unknown field `more`"),
    ] {
        let mut bad = good.clone();
        bad[member] = value;
        write(&place, "bad.json", &bad);
        let against = ["verify", "bad.json", "--against", "run.json", "--key", "mine.pub"];
        let ended = place.run(if key { &against } else { &against[..4] }).with(2);
        said(&ended, &["error: bad.json: ", expected]);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

#[test]
fn a_key_is_demanded_of_both_records() {
    let place = Command::new();
    keys(&place, "mine", 1);
    keys(&place, "other", 2);
    record_signed(&place);
    fs::copy(place.folder().join("run.json"), place.folder().join("again.json")).unwrap();
    let both = ["verify", "run.json", "--against", "again.json", "--key", "mine.pub"];
    let ended = place.run(&both).with(0);
    said(&ended, &["run.json: the signature is valid\n", "again.json: the signature is valid\n"]);
    let run = ["run", "--reproducible", "--record", "again.json", "-c", "print(1)"];
    place.run(&run).with(0);
    said(&place.run(&both).with(2), &["error: again.json: ", "the document is not signed"]);
    place.run(&[&run[..], &["--sign", "other.pem"]].concat()).with(0);
    said(&place.run(&both).with(2), &["error: again.json: ", "signed with another key"]);
}

#[test]
fn keys_that_cannot_be_used_and_records_without_a_signature_are_refused() {
    let place = Command::new();
    keys(&place, "mine", 1);
    record_signed(&place);
    let unsigned = ["run", "--reproducible", "--record", "plain.json", "-c", "1"];
    place.run(&unsigned).with(0);
    let ended = place.run(&["verify", "plain.json", "--key", "mine.pub"]).with(2);
    said(&ended, &["the document is not signed"]);
    let ended = place.run(&["verify", "run.json", "--key", "mine.pem"]).with(2);
    said(
        &ended,
        &["mine.pem: the key cannot be used: it must be a PEM file with one `PUBLIC KEY`"],
    );
    let ended = place.run(&[&unsigned[..], &["--sign", "mine.pub"]].concat()).with(2);
    said(
        &ended,
        &["mine.pub: the key cannot be used: it must be a PEM file with one unencrypted `PRIVATE \
             KEY`"],
    );
}

fn record_signed(place: &Command) {
    let run =
        ["run", "--reproducible", "--record", "run.json", "--sign", "mine.pem", "-c", "print(1)"];
    said(&place.run(&run).with(0), &["recorded and signed as run.json (SHA-256 "]);
}

/// The record of a run, once it is on the disk.
fn answer_of(client: &Client, id: &str) -> Answer {
    eventually(Duration::from_secs(60), || {
        let answer = client.get(&format!("/v1/runs/{id}/record"));
        (answer.status != 503).then_some(answer)
    })
}

fn message_of(refused: &Answer) -> String {
    refused.json()["error"]["message"].as_str().unwrap().to_owned()
}

fn id_of(result: &Value) -> &str {
    result["run_id"].as_str().unwrap()
}

#[test]
fn a_server_keeps_the_documents_of_its_runs_if_its_operator_wants_them() {
    let server = TestServer::start(&["--workers", "2", "--set", "records.documents=true"]);
    let client = server.client();
    let place = Command::new();
    let (url, code) = (
        format!("http://{}", server.address),
        "import random\nprint('é', random.random())\n[1.50, 2**70]",
    );
    let params = json!({"reproducible": {"seed": 3}, "timeout_ms": 300_000});
    let done = client.run_with(code, params.clone());
    let answer = answer_of(&client, id_of(&done));
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    // The command line makes the same document of the same run.
    place.file("main.py", code);
    record(&place, &["run", "main.py", "--seed", "3"], 0);
    assert_eq!(fs::read(place.folder().join("run.json")).unwrap(), answer.body);
    for code in [
        "raise ValueError('no')",
        "import sys\nsys.exit(2)",
        "print('x' * 99000)",
        "open('a.png', 'wb').write(b'1')",
        "def main(args): return ['x' * 90] * 900",
    ] {
        let result = client.run_with(code, params.clone());
        answer_of(&client, id_of(&result));
        let remote = ["runs", "document", id_of(&result), "--server", &url, "-o", "run.json"];
        place.run(&remote).with(0);
        assert_eq!(verify(&place, &[]).with(0).stdout, "identical\n", "{code}");
        let data = server.data_dir().to_str().unwrap();
        let local = ["runs", "record", id_of(&result), "--data-dir", data];
        let text = fs::read_to_string(place.folder().join("run.json")).unwrap();
        assert_eq!(place.run(&local).with(0).stdout, text);
    }
    // The preview of a result is not longer because the whole log was needed.
    let many = client.run_with("print('x' * 99000)", params);
    assert!(many["logs_preview"].as_str().unwrap().len() < 9_000);
    let usual = client.run("1");
    let refused = answer_of(&client, id_of(&usual));
    let message = message_of(&refused);
    assert_eq!(refused.status, 404, "{message}");
    assert!(message.contains("it was not reproducible"), "{message}");
    let wrong = client.get(&format!("/v1/runs/{}/record?x=1", id_of(&usual)));
    assert_eq!(wrong.status, 400);
    let long = format!("1\n#{}", "x".repeat(300 << 10));
    let long = client.run_with(&long, json!({"reproducible": true}));
    let message = message_of(&answer_of(&client, id_of(&long)));
    assert!(message.contains("exceed 256 KiB"), "{message}");
}

#[test]
fn a_server_keeps_no_code_and_no_arguments_unless_it_is_told_to() {
    let client = TestServer::shared().client();
    let done = client.run_with("1", json!({"reproducible": true}));
    let refused = answer_of(&client, id_of(&done));
    let message = message_of(&refused);
    assert_eq!(refused.status, 404);
    assert!(message.contains("keeps neither code nor arguments of runs"), "{message}");
    assert!(message.contains("`records.documents`"), "{message}");
    let nobodys = client.get(&format!("/v1/runs/run_{}/record", "0".repeat(32)));
    assert_eq!(nobodys.status, 404);
}

/// `scripts/verify-documents` in short.
#[test]
fn the_runs_of_a_loaded_server_are_identical_when_they_are_executed_again() {
    let folder = tempfile::tempdir().unwrap();
    let ended = untouched_script("scripts/verify-documents", folder.path())
        .args(["--runs", "8", "--clients", "3"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{said}\n{}", String::from_utf8_lossy(&ended.stderr));
    assert!(said.contains("\n8 of 8 identical, "), "{said}");
}
