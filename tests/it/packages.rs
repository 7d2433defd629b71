//! Packages of skills: locked, fetched, imported, and refused. And the batteries.
//!
//! The wheels are made here, so nothing but the batteries needs a network. Locking needs a Python
//! with pip, as the installation of the engine does.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Cursor, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use wardian_skills::packages::GuestPlatform;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::{
    Command, SkillFolder, TestServer, eventually, failed, make_pipe, output, repository,
};

/// A folder with wheels.
pub(crate) struct Wheels(TempDir);

impl Wheels {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    /// Writes a wheel of pure Python.
    pub(crate) fn add(
        &self,
        name: &str,
        version: &str,
        requires: &[&str],
        files: &[(&str, &str)],
    ) -> &Self {
        self.add_as(name, version, "py3-none-any", requires, files)
    }

    fn add_as(
        &self,
        name: &str,
        version: &str,
        tag: &str,
        requires: &[&str],
        files: &[(&str, &str)],
    ) -> &Self {
        let info = format!("{name}-{version}.dist-info");
        let mut metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        for line in requires {
            metadata += &format!("Requires-Dist: {line}\n");
        }
        let kind = format!("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n");
        let mut all: Vec<(String, Vec<u8>)> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect();
        all.push((format!("{info}/METADATA"), metadata.into_bytes()));
        all.push((format!("{info}/WHEEL"), kind.into_bytes()));
        let mut record = String::new();
        for (path, content) in &all {
            let digest = BASE64URL_NOPAD.encode(&Sha256::digest(content));
            record += &format!("{path},sha256={digest},{}\n", content.len());
        }
        record += &format!("{info}/RECORD,,\n");
        all.push((format!("{info}/RECORD"), record.into_bytes()));
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (path, content) in &all {
            // Stored, so that the digest does not depend on a compressor.
            let options =
                SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
            writer.start_file(path.as_str(), options).unwrap();
            writer.write_all(content).unwrap();
        }
        let bytes = writer.finish().unwrap().into_inner();
        fs::write(self.0.path().join(format!("{name}-{version}-{tag}.whl")), bytes).unwrap();
        self
    }
}

/// A text that no other test run has, so that its layer is not there yet.
pub(crate) fn unique() -> String {
    format!("MARK = {:?}\n", tempfile::tempdir().unwrap().path().file_name().unwrap())
}

/// Removes the layer of a lock when the test ends.
pub(crate) struct LayerGuard(Vec<PathBuf>);

impl LayerGuard {
    pub(crate) fn of(command: &Command, locked: &Value) -> Self {
        let config = command.run(&["config", "--json"]).with(0).json();
        let settings = config.as_array().unwrap_or_else(|| config["settings"].as_array().unwrap());
        let cache = settings.iter().find(|one| one["key"] == "cache_dir").unwrap();
        let cache = cache["value"].as_str().unwrap();
        let layers = Path::new(cache).join("layers");
        let layer = layers.join(format!("{}.layer", locked["layer"].as_str().unwrap()));
        let head = fs::read(&layer).unwrap();
        let digest: String = head[16..48].iter().map(|byte| format!("{byte:02x}")).collect();
        let all = fs::read_dir(&layers).unwrap().map(|entry| entry.unwrap().path());
        let of_it =
            |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(&digest);
        let mut files: Vec<PathBuf> = all.filter(of_it).collect();
        files.push(PathBuf::from(format!("{}.seen", layer.display())));
        files.push(layer);
        Self(files)
    }

    fn remove(&self) {
        self.0.iter().for_each(|file| drop(fs::remove_file(file)));
    }
}

impl Drop for LayerGuard {
    fn drop(&mut self) {
        self.remove();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).map(drop).unwrap();
        }
    }
}

/// The wheels of the example skill, the same in every run.
fn slug_wheels() -> Wheels {
    let wheels = Wheels::new();
    let code = "import tiny_base\n\n__version__ = \"1.2.0\"\n\n\ndef slug(text):\n    return tiny_base.join(text)\n";
    let requires = [
        "tiny-base>=2",
        "numpy>=2.1",
        "not-for-guests; sys_platform == 'linux'",
        "native-speedups; platform_machine == 'x86_64' or platform_machine == 'aarch64'",
        "old-python; python_version < '3.15'",
    ];
    let base = "import re\n\n\ndef join(text):\n    return \"-\".join(re.findall(\"[a-z0-9]+\", text.lower()))\n";
    wheels.add("tiny_slug", "1.2.0", &requires, &[("tiny_slug/__init__.py", code)]);
    wheels.add("tiny_slug", "2.0.0", &[], &[("tiny_slug/__init__.py", "")]);
    wheels.add("tiny_base", "2.0.0", &[], &[("tiny_base.py", base)]);
    wheels
}

#[test]
fn the_example_skill_is_locked_synced_tested_and_executed() {
    let (command, wheels) = (Command::new(), slug_wheels());
    let skill = command.folder().join("skills/acme.text.slug");
    copy(&repository("tests/fixtures/packages/acme.text.slug"), &skill);
    let folder = skill.to_str().unwrap();
    let lock = skill.join("code/pylock.toml");
    let before = fs::read_to_string(&lock).unwrap();

    let locked =
        command.run(&["skills", "deps", "lock", folder, "--from", wheels.path(), "--json"]);
    let locked = locked.with(0).json();
    let now = fs::read_to_string(&lock).unwrap();
    assert_eq!(now, before, "the lock depends on the machine:\n{now}");
    let names = |list: &Value| -> Vec<String> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&locked["packages"]), ["tiny-base", "tiny-slug"]);
    assert_eq!(names(&locked["engine"]), ["numpy"]);

    let guard = LayerGuard::of(&command, &locked);
    guard.remove();
    let check = command.run(&["skills", "check", folder]).with(0);
    assert!(check.stderr.contains("layer-missing"), "{}", check.stderr);
    // A pipe is no wheel, and nothing is waited for.
    let pipes = command.folder().join("pipes");
    fs::create_dir(&pipes).unwrap();
    for wheel in fs::read_dir(wheels.path()).unwrap() {
        make_pipe(&pipes.join(wheel.unwrap().file_name()));
    }
    let pipes = pipes.to_str().unwrap();
    let refused = command.run(&["skills", "deps", "sync", folder, "--from", pipes]);
    assert!(refused.code != Some(0) && refused.stdout.contains("the folder has no"), "{refused:?}");
    let synced = command.run(&["skills", "deps", "sync", folder, "--from", wheels.path()]).with(0);
    assert!(synced.stdout.contains("its packages were fetched"), "{}", synced.stdout);
    let synced = command.run(&["skills", "deps", "sync", folder, "--json"]).with(0).json();
    assert_eq!(synced[0]["state"], "present");
    let check = command.run(&["skills", "check", folder]).with(0);
    assert!(check.stdout.contains("(no warnings)"), "{}\n{}", check.stdout, check.stderr);
    let tested = command.run(&["test", "--no-cache", folder]).with(0);
    assert!(tested.stdout.contains("ok      acme.text.slug::plain"), "{}", tested.stdout);
}

#[test]
fn no_silent_lack_of_packages_a_skill_fails_before_the_run() {
    let (command, wheels, skills) = (Command::new(), Wheels::new(), SkillFolder::new());
    wheels.add("tiny_mark", "1.0", &[], &[("tiny_mark.py", &unique())]);
    let source =
        "import tiny_mark\ndef main(args):\n    return [tiny_mark.MARK, tiny_mark.__file__]\n";
    skills
        .action("acme.mark", "1.0.0", source)
        .file("acme.mark/code/requirements.txt", "tiny-mark\n");
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let folder = skills.at("acme.mark");
    let folder = folder.to_str().unwrap();
    let refusal = |expected: &str| {
        eventually(Duration::from_secs(20), || {
            // A change on the disk takes a moment to be seen.
            let error = client.call("execute_skill", json!({"name": "acme.mark"})).err()?;
            assert_eq!(error.kind, "packages_missing", "{error:?}");
            error.message.contains(expected).then_some(())
        });
    };
    refusal(
        "needs `tiny-mark`, but code/pylock.toml does not exist: `wardian skills deps lock FOLDER`",
    );
    let check = command.run(&["skills", "check", folder]).with(1);
    assert!(check.stderr.contains("lock-missing"), "{}", check.stderr);

    let arguments = ["skills", "deps", "lock", folder, "--from", wheels.path(), "--json"];
    let locked = command.run(&arguments).with(0).json();
    let guard = LayerGuard::of(&command, &locked);
    guard.remove();
    refusal(
        "are not installed on this server: `wardian skills deps sync` fetches them \
        (tiny-mark 1.0)",
    );

    // A server that runs needs no restart.
    let lost = command.run(&["skills", "deps", "sync", folder]).with(1);
    assert!(
        lost.stdout.contains("was locked from a folder: sync with `--from`"),
        "{}",
        lost.stdout
    );
    command.run(&["skills", "deps", "sync", folder, "--from", wheels.path()]).with(0);
    let ran = value(&client.execute("acme.mark", json!({})));
    let path = ran[1].as_str().unwrap();
    assert!(
        path.starts_with("/usr/local/lib/layers/") && path.ends_with("/tiny_mark.py"),
        "{path}"
    );

    skills.file("acme.mark/code/requirements.txt", "tiny-mark\nidna\n");
    refusal("requirements.txt has changed since it was locked: `wardian skills deps lock FOLDER`");
    let check = command.run(&["skills", "check", folder]).with(1);
    assert!(check.stderr.contains("lock-stale"), "{}", check.stderr);
}

#[test]
fn a_lock_notes_the_batteries_that_its_packages_require() {
    let (command, wheels, skills) = (Command::new(), Wheels::new(), SkillFolder::new());
    wheels.add("tiny_reader", "1.0", &["pdfminer.six"], &[("tiny_reader.py", &unique())]);
    wheels.add("tiny_old", "1.0", &["pdfminer.six<2000"], &[("tiny_old.py", "X = 1\n")]);
    skills.action("acme.read", "1.0.0", "def main(args):\n    return 1\n");
    skills.file("acme.read/code/requirements.txt", "tiny-reader\n");
    let folder = skills.at("acme.read");
    let folder = folder.to_str().unwrap();
    let lock = ["skills", "deps", "lock", folder, "--from", wheels.path(), "--json"];
    let locked = command.run(&lock).with(0).json();
    let _guard = LayerGuard::of(&command, &locked);
    assert_eq!(locked["batteries"][0]["name"], "pdfminer-six", "{locked:#}");
    let text = fs::read_to_string(skills.at("acme.read").join("code/pylock.toml")).unwrap();
    assert!(text.contains("batteries = [\"pdfminer-six=="), "{text}");
    let other = text.replace("batteries = [\"pdfminer-six==", "batteries = [\"pdfminer-six==1");
    skills.file("acme.read/code/pylock.toml", &other);
    let said = command.run(&["skills", "check", folder]).with(1).stderr.replace('\u{2502}', " ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("it was made with the battery pdfminer-six 1"), "{said}");

    skills.file("acme.read/code/requirements.txt", "tiny-old\n");
    let refused = command.run(&lock).with(1).stderr;
    assert!(refused.contains("`pdfminer-six` is a battery, which stays at"), "{refused}");
    assert!(refused.contains("or list `pdfminer-six` in the version that you need"), "{refused}");
}

#[test]
fn layers_are_compiled_once_and_their_files_are_read_only() {
    let (command, wheels, skills) = (Command::new(), Wheels::new(), SkillFolder::new());
    let stale = "raise SystemExit('bytecode of the wheel was used')\n";
    wheels.add(
        "tiny_code",
        "1.0",
        &[],
        &[
            ("tiny_code/__init__.py", &unique()),
            ("tiny_code/__pycache__/__init__.cpython-315.pyc", stale),
        ],
    );
    let source = "import os, sys, tiny_code\ndef main(args):\n    \
        folder = os.path.dirname(tiny_code.__file__)\n    \
        try:\n        open(folder + '/x.py', 'w')\n    except OSError as error:\n        refused = error.errno\n    \
        at = [i for i, path in enumerate(sys.path) if 'layers' in path or 'batteries' in path or 'zip' in path]\n    \
        return [os.path.exists(tiny_code.__spec__.cached), refused, sys.path[at[0]:]]\n";
    skills
        .action("acme.code", "1.0.0", source)
        .file("acme.code/code/requirements.txt", "tiny-code\n");
    let folder = skills.at("acme.code");
    let arguments =
        ["skills", "deps", "lock", folder.to_str().unwrap(), "--from", wheels.path(), "--json"];
    let locked = command.run(&arguments).with(0).json();
    let _guard = LayerGuard::of(&command, &locked);
    let server = TestServer::start(&["--skills", skills.path()]);
    let ran = value(&server.client().execute("acme.code", json!({})));
    assert_eq!(
        (&ran[0], &ran[1]),
        (&json!(true), &json!(30)),
        "compiled by the lock, and read-only"
    );
    let path: Vec<&str> =
        ran[2].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert!(path[0].ends_with("python315.zip") && path[1].contains("/layers/"), "{path:?}");
    assert!(path[2].ends_with("/batteries") && path[3] == "/workspace", "{path:?}");

    // A server compiles a layer whose bytecode is missing, beside its first run.
    let digest = LayerGuard::of(&command, &locked);
    for file in digest.0.iter().filter(|file| file.extension().unwrap() == "bytecode") {
        fs::remove_file(file).unwrap();
    }
    drop(server);
    let server = TestServer::start(&["--skills", skills.path()]);
    eventually(Duration::from_secs(30), || {
        let ran = server.client().execute("acme.code", json!({}));
        (value(&ran)[0] == true).then_some(())
    });
}

#[test]
fn a_bundle_carries_the_packages_of_a_skill() {
    let (command, wheels, skills) = (Command::new(), Wheels::new(), SkillFolder::new());
    let mark = unique();
    wheels.add("tiny_bundled", "1.0", &[], &[("tiny_bundled/__init__.py", &mark)]);
    let source = "import random, tiny_bundled\ndef main(args):\n    \
        return [len(tiny_bundled.MARK), tiny_bundled.__file__, random.random()]\n";
    skills
        .action("acme.bundled", "1.0.0", source)
        .file("acme.bundled/code/requirements.txt", "tiny-bundled\n");
    let folder = skills.at("acme.bundled");
    let folder = folder.to_str().unwrap();
    let lock = ["skills", "deps", "lock", folder, "--from", wheels.path(), "--json"];
    let locked = command.run(&lock).with(0).json();
    let guard = LayerGuard::of(&command, &locked);
    let at = ["--skills", skills.path()];
    let exec = ["exec", "acme.bundled", "--reproducible", "--record", "run.json"];
    command.run(&[&exec[..], &at, &["--timeout-ms", "300000"]].concat()).with(0);
    command.run(&[&["bundle", "run.json", "-o", "run.tar"][..], &at].concat()).with(0);
    let verify = |file: &str, more: &[&str]| command.run(&[&["verify", file], more].concat());
    assert_eq!(verify("run.json", &at).with(0).stdout, "identical\n");

    guard.remove();
    let ended = verify("run.json", &at);
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("skills deps sync"), "{}", ended.stderr);
    skills.remove("acme.bundled");
    assert_eq!(verify("run.tar", &[]).with(0).stdout, "identical\n", "from the bundle alone");
    let layer = guard.0.last().unwrap();
    assert!(!layer.try_exists().unwrap(), "the layer of a bundle stays in it");

    // The last occurrence is in the layer: the skill does not have the text.
    let mut bytes = fs::read(command.folder().join("run.tar")).unwrap();
    let mark = mark.trim().as_bytes();
    let place = bytes.windows(mark.len()).rposition(|part| part == mark).unwrap();
    bytes[place + mark.len() - 2] ^= 1;
    command.file("bad.tar", &bytes);
    let ended = verify("bad.tar", &[]);
    assert_ne!(ended.code, Some(0), "{}", ended.stdout);
    assert_eq!(ended.stdout, "", "a changed layer is never executed");
    assert_eq!(ended.stderr.lines().filter(|line| line.starts_with("error: ")).count(), 1);
    assert!(ended.stderr.contains("layer"), "{}", ended.stderr);
}

#[test]
fn the_engine_wins_over_layers_and_layers_win_over_batteries() {
    batteries();
    let (command, wheels, skills) = (Command::new(), Wheels::new(), SkillFolder::new());
    let mark = unique();
    wheels.add(
        "idna",
        "99.0",
        &[],
        &[
            ("idna/__init__.py", &mark),
            ("numpy/__init__.py", "raise SystemExit\n"),
            ("json.py", "raise SystemExit\n"),
        ],
    );
    let source = "import json, numpy, idna, colorama\ndef main(args):\n    return [idna.MARK, numpy.__version__[0], colorama.__file__]\n";
    skills
        .action("acme.order", "1.0.0", source)
        .file("acme.order/code/requirements.txt", "idna>=99\n");
    let folder = skills.at("acme.order");
    let arguments =
        ["skills", "deps", "lock", folder.to_str().unwrap(), "--from", wheels.path(), "--json"];
    let locked = command.run(&arguments).with(0).json();
    let _guard = LayerGuard::of(&command, &locked);
    let server = TestServer::start(&["--skills", skills.path()]);
    let ran = value(&server.client().execute("acme.order", json!({})));
    assert!(mark.contains(ran[0].as_str().unwrap()), "{ran}");
    assert_eq!(ran[1], "2");
    assert!(ran[2].as_str().unwrap().starts_with("/usr/local/lib/batteries/"), "{ran}");
}

#[test]
fn skills_that_need_different_versions_are_not_mounted_together() {
    let (command, skills) = (Command::new(), SkillFolder::new());
    let mut guards = Vec::new();
    for (skill, version) in [("acme.one", "1.0"), ("acme.two", "2.0")] {
        let wheels = Wheels::new();
        wheels.add("tiny_twin", version, &[], &[("tiny_twin.py", &unique())]);
        skills.action(
            skill,
            "1.0.0",
            "import tiny_twin\ndef main(args):\n    return tiny_twin.MARK\n",
        );
        skills.file(&format!("{skill}/code/requirements.txt"), "tiny-twin\n");
        let folder = skills.at(skill);
        let arguments =
            ["skills", "deps", "lock", folder.to_str().unwrap(), "--from", wheels.path(), "--json"];
        guards.push(LayerGuard::of(&command, &command.run(&arguments).with(0).json()));
    }
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let code = "from skills.acme.one import main as one\ndef main(args):\n    return one(args)\n";
    output(&client.run_with(code, json!({"mount_skills": ["acme.one"]})));
    let error = client.refusal(
        "run_code",
        json!({"language": "python", "code": code, "mount_skills": ["acme.one", "acme.two"]}),
    );
    assert_eq!(error.data["kind"], "invalid_params");
    assert!(error.message.contains("need different versions of package `tiny-twin`"), "{error:?}");
}

#[test]
fn what_cannot_be_locked_says_why() {
    let (command, wheels) = (Command::new(), Wheels::new());
    wheels
        .add("tiny_old", "1.0", &["numpy<2"], &[("tiny_old.py", "")])
        .add_as(
            "tiny_fast",
            "1.0",
            "cp315-cp315-manylinux_2_17_x86_64",
            &[],
            &[("tiny_fast.py", "")],
        )
        .add("tiny_so", "1.0", &[], &[("tiny_so/fast.so", "\u{7f}ELF")])
        .add("tiny_one", "1.0", &["tiny-both<2"], &[])
        .add("tiny_two", "1.0", &["tiny-both>=2"], &[])
        .add("tiny_both", "1.0", &[], &[])
        .add("tiny_both", "2.0", &[], &[]);
    fs::write(wheels.0.path().join("tiny_source-1.0.tar.gz"), "").unwrap();
    for (requirements, expected) in [
        ("numpy<2\n", "`numpy<2` excludes the engine's numpy 2."),
        ("tiny-old\n", "requires a version of numpy 2."),
        ("tiny-fast\n", "`tiny-fast` has only wheels with native code"),
        ("tiny-source\n", "`tiny-source` has only source distributions"),
        ("tiny-typo\n", "`tiny-typo` is unknown"),
        ("tiny-so\n", "contains `tiny_so/fast.so`, which is native code"),
        ("tiny-one\ntiny-two\n", "the requirements contradict each other"),
    ] {
        let list = command.file("skill/code/requirements.txt", requirements);
        let skill = list.parent().unwrap().parent().unwrap().to_str().unwrap().to_owned();
        let ended =
            command.run(&["skills", "deps", "lock", &skill, "--from", wheels.path()]).with(1);
        assert!(ended.stderr.contains(expected), "{requirements}: {}", ended.stderr);
        assert!(
            !list.with_file_name("pylock.toml").try_exists().unwrap(),
            "{requirements} was locked"
        );
    }
    let skill = command.folder().join("skill");
    let skill = skill.to_str().unwrap();
    for (requirements, code, expected) in [
        ("-r other.txt\n", 2, "line 1: `-r` is an option of pip"),
        ("tiny-both @ file:///tmp/x.whl\n", 2, "is a location"),
    ] {
        command.file("skill/code/requirements.txt", requirements);
        let ended =
            command.run(&["skills", "deps", "lock", skill, "--from", wheels.path()]).with(code);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    command.file("skill/code/requirements.txt", "tiny-both\n");
    let python = ["--set", "engine.python=/no/such/python"];
    let lock = ["skills", "deps", "lock", skill, "--from", wheels.path()];
    let ended = command.run(&[&python[..], &lock[..]].concat()).with(3);
    assert!(ended.stderr.contains("`/no/such/python` cannot be run"), "{}", ended.stderr);
}

#[test]
fn pip_gets_no_secrets_of_the_server() {
    let skills = SkillFolder::new();
    skills
        .action("acme.pip", "1.0.0", "def main(args): return 1\n")
        .file("acme.pip/code/requirements.txt", "humanize\n");
    let place = tempfile::tempdir().unwrap();
    let (python, seen) = (place.path().join("python"), place.path().join("seen"));
    fs::write(&python, format!("#!/bin/sh\nenv > '{}'\nexit 1\n", seen.display())).unwrap();
    fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    let setting = format!("engine.python={}", python.display());
    let command = Command::new()
        .set("WARDIAN_SECRET_ACME", "opensesame")
        .set("PIP_INDEX_URL", "https://registry.example/simple");
    let folder = skills.at("acme.pip");
    let arguments = ["--set", &setting, "skills", "deps", "lock", folder.to_str().unwrap()];
    assert_ne!(command.run(&arguments).code, Some(0));
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("registry.example"), "{seen}");
    assert!(!seen.contains("WARDIAN_") && !seen.contains("opensesame"), "{seen}");
}

#[test]
fn another_wheel_than_the_locked_one_is_refused() {
    let (command, wheels) = (Command::new(), Wheels::new());
    wheels.add("tiny_swap", "1.0", &[], &[("tiny_swap.py", &unique())]);
    let list = command.file("skill/code/requirements.txt", "tiny-swap\n");
    let skill = list.parent().unwrap().parent().unwrap().to_str().unwrap().to_owned();
    let lock = ["skills", "deps", "lock", &skill, "--from", wheels.path(), "--json"];
    let guard = LayerGuard::of(&command, &command.run(&lock).with(0).json());
    guard.remove();
    let sync = ["skills", "deps", "sync", &skill, "--from", wheels.path()];

    let file = wheels.0.path().join("tiny_swap-1.0-py3-none-any.whl");
    let good = fs::read(&file).unwrap();
    let mut other = good.clone();
    *other.last_mut().unwrap() ^= 1;
    fs::write(&file, other).unwrap();
    let ended = command.run(&sync).with(1);
    assert!(ended.stdout.contains("is not the locked one: its SHA-256 is"), "{}", ended.stdout);
    fs::write(&file, [good.as_slice(), b"x"].concat()).unwrap();
    let ended = command.run(&sync).with(1);
    assert!(ended.stdout.contains("is not the locked one: it has"), "{}", ended.stdout);
    fs::remove_file(&file).unwrap();
    let ended = command.run(&sync).with(1);
    assert!(
        ended.stdout.contains("the folder has no `tiny_swap-1.0-py3-none-any.whl`"),
        "{}",
        ended.stdout
    );
    fs::write(&file, good).unwrap();
    command.run(&sync).with(0);
}

/// What a program returned; a result wraps all but objects.
fn value(result: &Value) -> Value {
    let found = output(result);
    match found.as_object() {
        Some(members) if members.len() == 1 => members.get("result").unwrap_or(found).clone(),
        _ => found.clone(),
    }
}

/// Makes sure that the batteries are on this machine.
pub(crate) fn batteries() {
    static THERE: OnceLock<()> = OnceLock::new();
    THERE.get_or_init(|| {
        let installed = Command::new().run(&["engine", "install"]).with(0);
        assert!(!installed.stderr.contains("have no batteries"), "{}", installed.stderr);
    });
}

#[test]
fn every_battery_is_imported_in_a_guest() {
    batteries();
    let client = TestServer::shared().client();
    // Top-level names of each distribution, from its own list of files.
    let code = "import importlib, importlib.metadata, sys\n\
        def main(args):\n    \
            failed, count = {}, 0\n    \
            for name in args['packages']:\n        \
                files = importlib.metadata.distribution(name).files\n        \
                tops = {str(file).split('/')[0] for file in files}\n        \
                for top in sorted(tops):\n            \
                    top = top.removesuffix('.py')\n            \
                    if not top.isidentifier() or top in ('tests', 'test', 'docs', 'examples', 'COPYING'):\n                \
                        continue\n            \
                    try:\n                \
                        module = importlib.import_module(top)\n                \
                        count += 1\n            \
                    except BaseException as error:\n                \
                        failed[f'{name}: {top}'] = f'{type(error).__name__}: {error}'\n    \
            return {'failed': failed, 'count': count}\n";
    let lock = wardian_skills::packages::batteries::lock().unwrap();
    let packages = lock.packages.iter().filter(|one| one.is_package());
    let names: Vec<String> = packages.map(|one| one.wheel.package.to_string()).collect();
    for part in names.chunks(12) {
        let limits = json!({"timeout_ms": 60_000});
        let result = client.run_with(code, json!({"args": {"packages": part}, "limits": limits}));
        let found = output(&result);
        assert_eq!(found["failed"], json!({}), "{part:?}");
        assert!(found["count"].as_u64().unwrap() >= part.len() as u64 / 2, "{found}");
    }
}

/// Runs each code, and asserts its value.
fn assert_values<const N: usize>(expected: [(&str, Value); N]) {
    batteries();
    let client = TestServer::shared().client();
    for (code, expected) in expected {
        let result = client.run_with(code, json!({"limits": {"timeout_ms": 30_000}}));
        assert_eq!(value(&result), expected, "{code}\n{result}");
    }
}

#[test]
fn batteries_for_documents_and_texts_work_as_models_use_them() {
    assert_values([
        (
            "import docx, io\nd = docx.Document(); d.add_heading('Title'); d.add_paragraph('Text')\nb = io.BytesIO(); d.save(b); b.seek(0)\n[p.text for p in docx.Document(b).paragraphs]",
            json!(["Title", "Text"]),
        ),
        (
            "import pptx, io\np = pptx.Presentation(); s = p.slides.add_slide(p.slide_layouts[0]); s.shapes.title.text = 'Hi'\nb = io.BytesIO(); p.save(b); b.seek(0)\npptx.Presentation(b).slides[0].shapes.title.text",
            json!("Hi"),
        ),
        (
            "import markdown\nmarkdown.markdown('# A\\n\\n*b*', extensions=['tables'])",
            json!("<h1>A</h1>\n<p><em>b</em></p>"),
        ),
        (
            "import feedparser\nfeedparser.parse('<rss version=\"2.0\"><channel><title>T</title><item><title>One</title></item></channel></rss>').entries[0].title",
            json!("One"),
        ),
        (
            "import dateparser\ndateparser.parse('12 March 2024').date().isoformat()",
            json!("2024-03-12"),
        ),
        ("from slugify import slugify\nslugify('Für Élise!')", json!("fur-elise")),
        (
            "import nltk\n[nltk.download(name, quiet=True) for name in ('punkt', ['stopwords', 'punkt_tab'], 'vader_lexicon')]",
            json!([true, true, true]),
        ),
    ]);
}

#[test]
fn batteries_for_charts_and_pdf_work_as_models_use_them() {
    assert_values([
        (
            "import pandas as pd, plotly.express as px\npage = px.bar(pd.DataFrame({'a': ['x', 'y'], 'b': [1, 2]}), x='a', y='b').to_html()\n[page[:6], 'Plotly.newPlot' in page]",
            json!(["<!doct", true]),
        ),
        (
            "import imageio, numpy as np\nimageio.mimsave('a.gif', [np.full((8, 8, 3), 80 * i, np.uint8) for i in range(3)])\n[open('a.gif', 'rb').read(4).decode(), len(imageio.mimread('a.gif'))]",
            json!(["GIF8", 3]),
        ),
        (
            "import pdfplumber\nfrom reportlab.platypus import SimpleDocTemplate, Table\nSimpleDocTemplate('t.pdf').build([Table([['a', 'b'], ['1', '2']], style=[('GRID', (0, 0), (-1, -1), 1, 'black')])])\nwith pdfplumber.open('t.pdf') as f:\n    page = f.pages[0]\n    found = [page.extract_text(), page.extract_table()]\nfound",
            json!(["a b\n1 2", [["a", "b"], ["1", "2"]]]),
        ),
        (
            "import docx\nfrom markitdown import MarkItDown\nd = docx.Document(); d.add_heading('Title', 1); d.add_paragraph('Text'); d.save('x.docx')\nMarkItDown().convert('x.docx').text_content",
            json!("# Title\n\nText"),
        ),
    ]);
}

/// plotly opens a browser natively. Here its figures become pages: shown, returned, and not twice.
#[test]
fn charts_of_plotly_come_back_as_pages() {
    batteries();
    let client = TestServer::shared().client();
    let begin = "import plotly.graph_objects as go\nfig = go.Figure(go.Bar(y=[1, 2]))\n";
    for (code, value, pages) in [
        ("fig", json!({"result": "figure-1.html"}), &["figure-1.html"][..]),
        ("fig.show()\nfig", json!({"result": "figure-1.html"}), &["figure-1.html"]),
        (
            "fig.show()\nfig.update_layout(title='T')\nfig.show()",
            Value::Null,
            &["figure-1.html", "figure-2.html"],
        ),
        (
            "def main(args):\n    return {'a': fig, 'b': [fig]}",
            json!({"a": "figure-1.html", "b": ["figure-1.html"]}),
            &["figure-1.html"],
        ),
    ] {
        let result = client.run_with(&format!("{begin}{code}"), json!({"timeout_ms": 60_000}));
        assert_eq!(result["output"], value, "{code}: {result:#}");
        let files = result["files"].as_array().cloned().unwrap_or_default();
        let found: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
        assert_eq!(found, pages, "{code}");
        // With plotly.js in it.
        let sizes = files.iter().map(|file| file["size_bytes"].as_u64().unwrap());
        assert!(sizes.min() > Some(1_000_000), "{result:#}");
    }
}

#[test]
fn batteries_for_data_and_programs_work_as_models_use_them() {
    assert_values([
        (
            "import requests\nrequests.Request('GET', 'https://example.com/', params={'a': 1}).prepare().url",
            json!("https://example.com/?a=1"),
        ),
        (
            "from rich.console import Console\nfrom rich.table import Table\nimport io\nt = Table('a'); t.add_row('1'); f = io.StringIO(); Console(file=f, width=20).print(t); '1' in f.getvalue()",
            json!(true),
        ),
        (
            "import pytz, datetime\ndatetime.datetime(2024, 7, 1, tzinfo=pytz.utc).astimezone(pytz.timezone('Europe/Vienna')).isoformat()",
            json!("2024-07-01T02:00:00+02:00"),
        ),
        ("from faker import Faker\nFaker.seed(1); isinstance(Faker().name(), str)", json!(true)),
        (
            "import jsonschema\njsonschema.Draft7Validator({'type': 'integer'}).is_valid('x')",
            json!(false),
        ),
        (
            "import sqlalchemy as sa\ne = sa.create_engine('sqlite://')\nwith e.connect() as c:\n    value = c.execute(sa.text('select 6 * 7')).scalar()\nvalue",
            json!(42),
        ),
        (
            "import jwt\njwt.decode(jwt.encode({'a': 1}, 'k' * 32, algorithm='HS256'), 'k' * 32, algorithms=['HS256'])",
            json!({"a": 1}),
        ),
        (
            "import click\nfrom click.testing import CliRunner\n@click.command()\n@click.option('--n', default=1)\ndef f(n): click.echo(n + 1)\nCliRunner().invoke(f, ['--n', '2']).output",
            json!("3\n"),
        ),
        ("from sortedcontainers import SortedList\nlist(SortedList([3, 1, 2]))", json!([1, 2, 3])),
        ("import certifi, os\nos.path.getsize(certifi.where()) > 100_000", json!(true)),
    ]);
}

/// NLTK's lexicon of VADER is no longer on any registry: it is made of that of vaderSentiment. These are
/// the answers of native NLTK 3.10.4 with its own lexicon.
#[test]
fn nltk_judges_texts_with_its_own_lexicon() {
    batteries();
    let code = "from nltk.sentiment.vader import SentimentIntensityAnalyzer\n\
        judge = SentimentIntensityAnalyzer()\n\
        words = sorted(judge.lexicon.items())\n\
        import hashlib\n\
        digest = hashlib.sha256(repr(words).encode()).hexdigest()[:16]\n\
        texts = [\"I love this, it's GREAT!!!\", 'The flawed plan broke my heart.', 'Badass move :p']\n\
        [len(words), digest, [judge.polarity_scores(text)['compound'] for text in texts]]";
    let found = value(&TestServer::shared().client().run(code));
    assert_eq!(found, json!([7_502, "5451f05e79246b3b", [0.8981, -0.4215, 0.2023]]));
}

/// Each library that public benchmarks ask for is there, or its import says what docs/libraries.md says.
#[test]
fn libraries_of_the_census_answer_as_the_page_says() {
    batteries();
    let page = fs::read_to_string(repository("docs/libraries.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let census = fs::read_to_string(repository("wasm/batteries/census.tsv")).unwrap();
    assert_eq!(rows.len(), census.lines().filter(|line| !line.starts_with('#')).count());
    let client = TestServer::shared().client();
    for row in &rows {
        let name = row[0].trim_matches('`');
        let code = format!("import {name}\ngetattr({name}, '__file__', None)");
        let result = client.run_with(&code, json!({"limits": {"timeout_ms": 60_000}}));
        match row[3] {
            "engine" => {
                let file = value(&result);
                assert!(file.as_str().unwrap().contains("/python315.zip/"), "{name}: {file}");
            }
            "battery" => {
                let file = value(&result);
                assert!(file.as_str().unwrap().contains("/lib/batteries/"), "{name}: {file}");
            }
            "stand-in" => assert_eq!(value(&result), Value::Null, "{name}"),
            "not there" => {
                let (kind, message) = failed(&result);
                let expected = format!("No module named '{name}': it is not installed; {}", row[4]);
                assert_eq!((kind, message), ("ModuleNotFoundError", expected.as_str()));
            }
            other => panic!("{name}: {other}"),
        }
    }
    for state in ["engine", "battery", "stand-in", "not there"] {
        assert!(rows.iter().any(|row| row[3] == state), "{state}");
    }
}

#[test]
fn the_page_of_libraries_is_as_its_script_makes_it() {
    let script = repository("scripts/library-census");
    let ended = std::process::Command::new("python3").arg(script).arg("--check").output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn requests_without_a_network_say_so_and_requirements_of_every_run_need_no_lock() {
    batteries();
    let skills = SkillFolder::new();
    let source =
        "import requests, pandas\ndef main(args):\n    return requests.__version__.split('.')[0]\n";
    skills
        .action("acme.plain", "1.0.0", source)
        .file("acme.plain/code/requirements.txt", "requests>=2\npandas\n");
    let server = TestServer::start(&["--skills", skills.path()]);
    assert_eq!(value(&server.client().execute("acme.plain", json!({}))), json!("2"));
    let result = server.client().run("import requests\nrequests.get('https://example.com/')\n");
    let (kind, message) = failed(&result);
    assert!(kind.ends_with("ConnectionError") && message.contains("network"), "{kind}: {message}");
}

#[test]
fn markers_are_evaluated_as_a_guest_would() {
    let code = "import packaging.markers\npackaging.markers.default_environment()";
    let found = value(&TestServer::shared().client().run(code));
    let python = found["python_full_version"].as_str().unwrap();
    let guest = GuestPlatform::new(python, []).unwrap();
    assert_eq!(json!(guest.marker_values()), found);
}

#[test]
fn the_guest_knows_the_modules_of_the_batteries() {
    batteries();
    let code = "import os\nfrom _wardian import packages\n\
        tops = {name.removesuffix('.py') for name in os.listdir('/usr/local/lib/batteries')}\n\
        tops = {name for name in tops if name.isidentifier() and name not in ('__pycache__', 'COPYING')}\n\
        {'unknown': sorted(tops - packages.BATTERIES), 'gone': sorted(packages.BATTERIES - tops),\n \
         'advised': sorted(tops & packages.SUBSTITUTES.keys())}";
    let found = value(&TestServer::shared().client().run(code));
    assert_eq!(found, json!({"unknown": [], "gone": [], "advised": []}));
}

/// A registry on this machine, which wants a password.
struct Registry {
    port: u16,
    pages: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

/// User and password of [`Registry`], as a URL and as a header have them.
const ACCESS: (&str, &str) = ("me:tokpass4711", "Basic bWU6dG9rcGFzczQ3MTE=");

impl Registry {
    /// A registry that offers the files in `folder`, by links that are signed.
    fn of(folder: &Path) -> Self {
        let mut pages: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            let package = file.split('-').next().unwrap().replace('_', "-");
            let link = format!("<a href=\"/f/{file}?X-Amz-Signature=sig998877\">{file}</a>\n");
            let page = pages.entry(format!("/simple/{package}/")).or_default();
            page.extend_from_slice(link.as_bytes());
            pages.insert(format!("/f/{file}"), fs::read(&path).unwrap());
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let pages = Arc::new(Mutex::new(pages));
        let served = Arc::clone(&pages);
        // The thread ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &served.lock().unwrap()).ok();
            }
        });
        Self { port, pages }
    }

    /// Its address with the user and password `access`.
    fn address(&self, access: &str) -> String {
        format!("http://{access}@127.0.0.1:{}/simple", self.port)
    }
}

fn answer(mut stream: TcpStream, pages: &BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
    let path = head.split(' ').nth(1).unwrap_or_default();
    let page = pages.get(path.split('?').next().unwrap_or_default());
    let (status, body) = match page {
        _ if !head.contains(ACCESS.1) => ("401 Unauthorized", &b""[..]),
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &b""[..]),
    };
    let kind = if path.starts_with("/f/") { "application/octet-stream" } else { "text/html" };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}

/// A command whose pip asks the registry at `address`, and nothing else.
fn asking(address: &str) -> Command {
    Command::new()
        .set("PIP_INDEX_URL", address)
        .set("PIP_EXTRA_INDEX_URL", "")
        .set("PIP_FIND_LINKS", "")
        .set("PIP_NO_CACHE_DIR", "1")
}

/// The registry of the following tests: `tiny-reg` 2.0 needs a package that has no wheel.
fn tiny_registry() -> Registry {
    let wheels = Wheels::new();
    wheels
        .add("tiny_reg", "1.0", &[], &[("tiny_reg.py", &unique())])
        .add("tiny_reg", "2.0", &["tiny-src>=1"], &[("tiny_reg.py", "")])
        .add_as("tiny_cpu", "3.0", "cp315-cp315-manylinux_2_17_x86_64", &[], &[]);
    fs::write(wheels.0.path().join("tiny_src-1.0.tar.gz"), "").unwrap();
    Registry::of(wheels.0.path())
}

#[test]
fn a_registry_is_explained_and_its_credentials_are_kept_out_of_the_lock() {
    let registry = tiny_registry();
    let command = asking(&registry.address(ACCESS.0));
    let list = command.file("skill/code/requirements.txt", "");
    let skill = list.parent().unwrap().parent().unwrap().to_str().unwrap().to_owned();
    for (requirements, expected) in [
        ("tiny-reg==7\n", "`tiny-reg==7` is unknown, or has no such version: there are 2.0, 1.0"),
        ("tiny-src>=7\n", "`tiny-src>=7` is unknown, or has no such version: there is 1.0"),
        ("tiny-cpu<3\n", "`tiny-cpu<3` is unknown, or has no such version: there is 3.0"),
        ("tiny-cpu\n", "`tiny-cpu` has only wheels with native code"),
        ("tiny-src\n", "`tiny-src` has only source distributions"),
        ("tiny-typo\n", "`tiny-typo` is unknown, or has no such version: check the name"),
        ("tiny-reg>=2\n", "package `tiny-src>=1`, which tiny-reg requires, has only source"),
    ] {
        command.file("skill/code/requirements.txt", requirements);
        let ended = command.run(&["skills", "deps", "lock", &skill]).with(1);
        assert!(ended.stderr.contains(expected), "{requirements}: {}", ended.stderr);
        assert!(!ended.stderr.contains("requirements.txt (line"), "{}", ended.stderr);
    }

    command.file("skill/code/requirements.txt", "tiny-reg\n");
    let locked = command.run(&["skills", "deps", "lock", &skill, "--json"]).with(0);
    let note = "note: tiny-reg 2.0 was passed over for 1.0: package `tiny-src>=1`";
    assert!(locked.stderr.contains(note), "{}", locked.stderr);
    let guard = LayerGuard::of(&command, &locked.json());
    guard.remove();
    let path = list.with_file_name("pylock.toml");
    let lock = fs::read_to_string(&path).unwrap();
    let url =
        format!("url = \"http://127.0.0.1:{}/f/tiny_reg-1.0-py3-none-any.whl\"\n", registry.port);
    assert!(lock.contains(&url), "{lock}");
    assert!(!lock.contains("tokpass4711") && !lock.contains("sig998877"), "{lock}");
    command.run(&["skills", "deps", "sync", &skill]).with(0);

    // The lock has another digest than the registry's file.
    let digest = lock.split("sha256 = \"").nth(1).unwrap().get(..64).unwrap().to_owned();
    let other = "7".repeat(64);
    fs::write(&path, lock.replace(&digest, &other)).unwrap();
    let ended = command.run(&["skills", "deps", "sync", &skill]).with(1);
    let expected = format!(
        "`tiny_reg-1.0-py3-none-any.whl` is not the locked one: its SHA-256 is {digest}, the lock \
         has {other}"
    );
    assert!(ended.stdout.contains(&expected), "{}", ended.stdout);
    assert!(!ended.stdout.contains("HASHES"), "{}", ended.stdout);

    // The file is gone.
    fs::write(&path, lock).unwrap();
    guard.remove();
    registry.pages.lock().unwrap().remove("/simple/tiny-reg/");
    let ended = command.run(&["skills", "deps", "sync", &skill]).with(1);
    let expected = "the registry no longer has `tiny_reg-1.0-py3-none-any.whl`";
    assert!(ended.stdout.contains(expected), "{}", ended.stdout);
}

#[test]
fn a_registry_that_does_not_answer_is_the_fault_of_no_package() {
    let registry = tiny_registry();
    let good = asking(&registry.address(ACCESS.0));
    let list = good.file("skill/code/requirements.txt", "tiny-reg==1.0\n");
    let skill = list.parent().unwrap().parent().unwrap().to_str().unwrap().to_owned();
    let locked = good.run(&["skills", "deps", "lock", &skill, "--json"]).with(0).json();
    let guard = LayerGuard::of(&good, &locked);
    guard.remove();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, expected) in [
        (
            format!("http://me:tokpass4712@{closed}/simple"),
            format!("the registry http://{closed}/simple cannot be reached: Connection refused"),
        ),
        (
            registry.address("me:tokpass4712"),
            format!(
                "the registry http://127.0.0.1:{}/simple refuses the request: 401 Unauthorized",
                registry.port
            ),
        ),
    ] {
        let command = asking(&address);
        let ended = command.run(&["skills", "deps", "lock", &skill]).with(3);
        assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
        let synced = command.run(&["skills", "deps", "sync", &skill]).with(3);
        assert!(synced.stdout.contains(&expected), "{}", synced.stdout);
        for said in [ended.stderr, ended.stdout, synced.stderr, synced.stdout] {
            assert!(!said.contains("tokpass4712") && !said.contains("\\n"), "{said}");
        }
    }
}
