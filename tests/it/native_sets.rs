//! Native modules of an operator's choice: `wardian engine build`, its lock, and what is refused. What an engine with
//! such a set does is proved with a small engine, in `crates/engine/src/source/native_wheels.rs`: compiling one of
//! CPython takes minutes.

use std::fs::{self, DirBuilder};
use std::io::{Cursor, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, symlink};

use wardian_engine::native::NativeSet;
use wardian_vocabulary::ids::Digest;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::Command;
use crate::support::cache::own_cache;

/// A folder in which the engine of the tests is there. What a set adds to the cache stays in it.
fn place() -> Command {
    let place = Command::new();
    let cache = place.folder().join("cache");
    for area in ["engine", "native"] {
        DirBuilder::new().recursive(true).mode(0o700).create(cache.join(area)).unwrap();
        for entry in fs::read_dir(own_cache().join(area)).unwrap() {
            let entry = entry.unwrap();
            symlink(entry.path(), cache.join(area).join(entry.file_name())).unwrap();
        }
    }
    place.set("WARDIAN_CACHE_DIR", cache.to_str().unwrap())
}

/// A wheel with this module.
fn wheel(path: &str, module: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file(path, SimpleFileOptions::default()).unwrap();
    writer.write_all(module).unwrap();
    writer.finish().unwrap().into_inner()
}

fn own_module(imports: &str, init: &str) -> Vec<u8> {
    let text = format!(
        r#"(module (@custom "dylink.0" (before first) "\01\04\40\02\00\00")
            (import "env" "memory" (memory 1))
            (import "env" "__indirect_function_table" (table 1 funcref)) {imports}
            (func (export "{init}") (result i32) (i32.const 0)))"#
    );
    wat::parse_str(text).unwrap()
}

const WHEEL: &str = "acme_fast-1.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl";
const FILE: &str = "acme_fast/_speed.cpython-314-wasm32-emscripten.so";

fn digest_in(lock: &str) -> &str {
    let (_, rest) = lock.split_once("[merged_module]\nsha256 = \"").unwrap();
    rest.split_once('"').unwrap().0
}

#[test]
fn a_set_of_the_operators_choice_is_locked_and_shown() {
    let place = place();
    let module = own_module("", "PyInit__speed");
    place.file(&format!("sets/{WHEEL}"), wheel(FILE, &module));
    let build = ["engine", "build", "--only-lock", "--with", "acme-fast,msgpack"];
    let built = place.run(&[&build[..], &["--lock", "sets/native.toml"]].concat()).with(0);
    let lock = fs::read_to_string(place.folder().join("sets/native.toml")).unwrap();
    assert!(built.stdout.contains("native     msgpack 1.2.4, acme-fast 1.0\n"), "{}", built.stdout);
    assert!(built.stdout.contains(&format!("module     {}\n", digest_in(&lock))), "{lock}");
    assert!(built.stderr.contains("the setting `engine.native = \""), "{}", built.stderr);
    assert!(lock.contains(&Digest::of(&module).to_string()), "{lock}");
    let standard = NativeSet::embedded().unwrap().merged_module.sha256.to_string();
    assert_ne!(digest_in(&lock), standard);

    // Without names, the packages of the lock again: the same lock.
    place
        .run(&["--set", "engine.native=sets/native.toml", "engine", "build", "--only-lock"])
        .with(0);
    let again = fs::read_to_string(place.folder().join("sets/native.toml")).unwrap();
    assert_eq!(again, lock);

    let set = ["--set", "engine.native=sets/native.toml"];
    let info = place.run(&[&set[..], &["engine", "info", "--json"]].concat()).with(0).json();
    assert_eq!(info["native"]["module"], digest_in(&lock));
    assert_eq!(info["native"]["modules"][1]["name"], "acme_fast._speed");
    assert_eq!(info["variants"][0]["is_ready"], false, "another engine, which is not compiled");
    let other = place.run(&["engine", "info", "--json"]).with(0).json();
    assert_eq!(other["native"]["module"], standard);
    assert_eq!(other["native"]["lock"], serde_json::Value::Null);
    assert_eq!(other["variants"][0]["is_ready"], true);
    let doctor = place.run(&[&set[..], &["doctor"]].concat());
    assert!(
        doctor.stdout.contains("with native modules: msgpack 1.2.4, acme-fast 1.0"),
        "{doctor:?}"
    );
}

#[test]
fn what_cannot_be_merged_is_refused_with_its_reason() {
    let place = place();
    let build = |with: &str| {
        let arguments = ["engine", "build", "--only-lock", "--lock", "native.toml", "--with", with];
        place.run(&arguments).with(2).stderr
    };
    for (with, expected) in [
        ("numpy", "no native modules exist for `numpy`: this version has those of msgpack"),
        ("none,jiter", "`none` stands for no packages"),
    ] {
        let said = build(with);
        assert!(said.contains(expected), "{said}");
    }
    let unknown = r#"(import "env" "fork" (func (result i32)))"#;
    for (file, module, expected) in [
        (FILE, own_module(unknown, "PyInit__speed"), "it imports `fork`, which the engine lacks"),
        (FILE, own_module("", "PyInit_other"), "its export `PyInit__speed` is missing"),
        (FILE, b"native code".to_vec(), "it is not a valid module"),
        ("acme_fast.libs/libz.so", own_module("", "z"), "which is not a Python module"),
    ] {
        place.file(WHEEL, wheel(file, &module));
        let said = build("acme-fast");
        assert!(said.contains(expected), "{said}");
    }
    assert!(!place.folder().join("native.toml").is_file(), "a lock of what was refused");
    let said = place.run(&["engine", "build", "--lock", "native.toml"]).with(2).stderr;
    assert!(said.contains("name the packages: `--with PACKAGE,…`"), "{said}");
    let said = place.run(&["engine", "build", "--with", "none"]).with(2).stderr;
    assert!(said.contains("name the lock to write: `--lock FILE`"), "{said}");
}

#[test]
fn a_lock_that_is_none_ends_every_start_with_what_to_do() {
    let place = place();
    place.file("native.toml", "modules = []\n");
    for command in [&["run", "-"][..], &["engine", "info"], &["serve"]] {
        let set = ["--set", "engine.native=native.toml"];
        let ended = place.run(&[&set[..], command].concat()).with(2);
        assert!(ended.stderr.contains("`wardian engine build --with …` writes"), "{ended:?}");
    }
    let doctor = place.run(&["--set", "engine.native=missing.toml", "doctor"]).with(3);
    let advice = "`wardian engine build` writes the file that `engine.native` names";
    assert!(doctor.stdout.contains(advice), "{doctor:?}");
}
