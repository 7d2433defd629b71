//! The tests themselves: whatever their user has configured and learnt, they do the same.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command as Process;

use crate::support::cache::own_cache;
use crate::support::{Command, WARDIAN};

#[test]
fn a_program_runs_with_a_cache_that_has_learnt_nothing() {
    let ended = Command::new().run(&["run", "-c", "print(6 * 7)"]).with(0);
    assert_eq!(ended.stdout, "42\n", "{}", ended.stderr);
}

#[test]
fn nothing_of_a_user_changes_what_tests_do() {
    let users = own_cache().join("../../..").canonicalize().unwrap();
    let home = tempfile::tempdir_in(&users).unwrap();
    let link = |path: &str| {
        let link = home.path().join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(users.join(path), link).unwrap();
    };
    link("wardian/engine");
    link("wardian/native");
    // It would be made anew, and its packages fetched.
    link("wardian-tests/seed");
    let poison = |path: &str| {
        let file = home.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "no = [\"image\", \"layer\"]").unwrap();
    };
    poison("wardian/images/0123456789abcdef/memory.img");
    poison("wardian/images/0123456789abcdef/memory.img.toml");
    poison("wardian/layers/0123.layer");
    poison("config/wardian/config.toml");
    let hostile = |program: &Path, arguments: &[&str]| {
        let variables = [
            ("WARDIAN_LISTEN", "nowhere"),
            ("WARDIAN_CACHE_DIR", "/proc/nowhere"),
            ("WARDIAN_DATA_DIR", "/proc/nowhere"),
            ("WARDIAN_LIMITS_TIMEOUT", "1ms"),
            ("WARDIAN_SKILLS_ROOTS", "/proc/nowhere"),
        ];
        let ended = Process::new(program)
            .args(arguments)
            .envs(variables)
            .env("XDG_CACHE_HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path().join("config"))
            .output()
            .unwrap();
        let text = [ended.stdout, ended.stderr].concat();
        (ended.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (runs, text) = hostile(Path::new(WARDIAN), &["run", "-c", "print(6 * 7)"]);
    assert!(!runs, "these settings change nothing: {text}");
    let this = std::env::current_exe().unwrap();
    let test = "untouched::a_program_runs_with_a_cache_that_has_learnt_nothing";
    let (passes, text) = hostile(&this, &["--exact", test]);
    assert!(passes && text.contains("1 passed"), "{text}");
}
