//! Hostile folders: none hides another, costs more than the limits, or shows files of the host.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::registry::folders::walk::MAX_FILES;
use crate::registry::tests::{DOCUMENT, Disk, rejected, served};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::SkillName;

/// The diagnostics of the skill `bad`, which lies next to a good one.
fn found(make: impl FnOnce(&Disk)) -> Vec<String> {
    let disk = Disk::new();
    disk.skill("bad", "1.0.0").skill("good", "1.0.0");
    make(&disk);
    let index = disk.open().current();
    assert_eq!(served(&index), ["good 1.0.0"], "{:?}", rejected(&index));
    rejected(&index).into_iter().map(|line| line.replace("bad: ", "")).collect()
}

#[test]
fn contained_means_that_no_link_is_followed() {
    const HELP: &str = "a skill may contain only regular files and folders";
    let link = |path: &str, target: &str| {
        found(|disk| {
            let at = disk.path(&format!("bad/{path}"));
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            drop(fs::remove_file(&at));
            symlink(target, at).unwrap();
        })
    };
    for (path, target) in [
        ("SKILL.md", "/etc/passwd"),
        ("res/x", "../../good/SKILL.md"),
        ("res/dangling", "nowhere"),
        ("code", "/"),
        ("a", "a"),
        ("inside", "SKILL.md"),
    ] {
        assert_eq!(link(path, target), [format!("{path}: error: is a symbolic link; {HELP}")]);
    }
}

#[test]
fn a_hard_link_to_a_file_of_the_host_is_refused() {
    let disk = Disk::new();
    disk.skill("bad", "1.0.0").skill("good", "1.0.0").write("outside", "host");
    fs::hard_link(disk.path("outside"), disk.path("bad/x.md")).unwrap();
    let index = disk.open().current();
    assert_eq!(served(&index), ["good 1.0.0"]);
    assert_eq!(
        rejected(&index),
        ["bad: x.md: error: has another name elsewhere (a hard link); put a copy here"]
    );
}

#[test]
fn special_files_are_refused_without_waiting_for_them() {
    const HELP: &str = "a skill may contain only regular files and folders";
    let pipe = found(|disk| {
        fs::remove_file(disk.path("bad/SKILL.md")).unwrap();
        let path = disk.path("bad/SKILL.md");
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    });
    assert_eq!(pipe, [format!("SKILL.md: error: is a pipe; {HELP}")]);
    let socket = found(|disk| drop(UnixListener::bind(disk.path("bad/s")).unwrap()));
    assert_eq!(socket, [format!("s: error: is a socket; {HELP}")]);
    let set_id = found(|disk| {
        let path = disk.path("bad/tool");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o4755)).unwrap();
    });
    assert_eq!(set_id, ["tool: error: has a set-user-id or set-group-id bit"]);
    let folder = found(|disk| {
        fs::remove_file(disk.path("bad/SKILL.md")).unwrap();
        fs::create_dir(disk.path("bad/SKILL.md")).unwrap();
    });
    assert_eq!(folder, ["SKILL.md: error: every skill must have this file"]);
}

#[test]
fn whole_folders_that_are_something_else_are_refused() {
    let disk = Disk::new();
    disk.skill("good", "1.0.0").skill(".hidden", "1.0.0").write("README.md", "beside");
    symlink("good", disk.path("linked")).unwrap();
    mknodat(CWD, disk.path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    fs::create_dir(disk.path("empty")).unwrap();
    let index = disk.open().current();
    assert_eq!(served(&index), ["good 1.0.0"]);
    insta::assert_snapshot!(rejected(&index).join("\n"), @r"
    empty: SKILL.md: error: every skill must have this file
    empty: skill.toml: error: every skill must have this file
    linked: .: error: is a symbolic link; put the skill's actual folder here
    pipe: .: error: is a pipe; put the skill's actual folder here
    ");
}

#[test]
fn hostile_names_of_folders_never_hide_a_good_one() {
    let disk = Disk::new();
    disk.skill("good", "1.0.0");
    let long = "a".repeat(255);
    let names = [
        "CON",
        "a\\b",
        "ＡＢＣ",
        "раypal",
        "e\u{301}",
        "é",
        "a..b",
        "-a",
        "a\u{202e}b",
        "😀",
        "a b",
        "a\nb",
        "good@",
        "good@latest",
        "good@1.0.0@1.0.0",
        "runtime",
        &long,
    ];
    for name in names {
        disk.write(&format!("{name}/SKILL.md"), DOCUMENT).write(
            &format!("{name}/skill.toml"),
            "name = \"good\"\nversion = \"1.0.0\"\ndescription = \"d\"\nkind = \"instruction\"\n",
        );
    }
    let index = disk.open().current();
    assert_eq!(served(&index), ["good 1.0.0"]);
    assert_eq!(index.rejected().len(), names.len());
    assert!(rejected(&index).iter().all(|line| line.contains("error: ")));
}

#[test]
fn walk_bounds_hold_for_files_of_any_size() {
    let sparse = |path: &str, size: u64| {
        found(|disk| {
            File::create(disk.path(&format!("bad/{path}"))).unwrap().set_len(size).unwrap();
        })
    };
    assert_eq!(
        sparse("x.bin", 10 << 30),
        ["x.bin: error: has 10737418240 bytes, more than 16 MiB"]
    );
    assert_eq!(
        sparse("SKILL.md", 4 << 30),
        ["SKILL.md: error: has 4294967296 bytes, more than 16 MiB"]
    );
    assert_eq!(
        sparse("SKILL.md", 2 << 20),
        ["SKILL.md: error: has 2097152 bytes, more than 1048576"]
    );
    assert_eq!(
        sparse("skill.toml", 1 << 20),
        ["skill.toml: error: has 1048576 bytes, more than 65536"]
    );
    let total = found(|disk| {
        for n in 0..5 {
            File::create(disk.path(&format!("bad/{n}.bin"))).unwrap().set_len(14 << 20).unwrap();
        }
    });
    assert_eq!(total, ["4.bin: error: from here on, the skill has more than 64 MiB"]);
}

#[test]
fn walk_bounds_hold_for_any_number_of_files() {
    let many = found(|disk| {
        for n in 0..=MAX_FILES {
            disk.write(&format!("bad/res/{n}"), "");
        }
    });
    assert_eq!(many, [".: error: has more than 1000 files"]);
    let hidden = found(|disk| {
        for n in 0..10_001 {
            disk.write(&format!("bad/.cache{n}"), "");
        }
    });
    assert_eq!(hidden, [".: error: there are more than 10000 entries, hidden ones included"]);
    let deep = found(|disk| {
        disk.write(&format!("bad/{}x", "d/".repeat(200)), "");
    });
    assert_eq!(deep, [format!("{}: error: is deeper than 16 folders", ["d"; 16].join("/"))]);
}

#[test]
fn names_that_cannot_be_asked_for_are_refused() {
    for (name, expected) in [
        (&b"x\xff"[..], "x\u{fffd}: error: has a name that is not UTF-8"),
        (b"x\ny", "x\ny: error: has a control character or `\\` in its name"),
        (b"x\x1b[31m", "x\\u{1b}[31m: error: has a control character or `\\` in its name"),
        (b"a\\b", "a\\b: error: has a control character or `\\` in its name"),
    ] {
        let lines =
            found(|disk| fs::write(disk.path("bad").join(OsStr::from_bytes(name)), "").unwrap());
        assert_eq!(lines, [expected]);
    }
    let long = found(|disk| {
        let part = "p".repeat(250);
        disk.write(&format!("bad/{}", [part.as_str(); 5].join("/")), "");
    });
    assert!(long[0].ends_with("error: has a path longer than 1024 bytes"), "{long:?}");
}

#[test]
fn only_the_skills_own_files_can_be_read() {
    let disk = Disk::new();
    disk.skill("other", "1.0.0")
        .skill("a", "1.0.0")
        .write("a/code/main.py", "pass")
        .write("a/résumé.md", "x");
    disk.write("a/.env", "KEY=1")
        .write("a/.git/config", "x")
        .write("a/code/__pycache__/main.pyc", "x")
        .write("a/code/x.pyc", "x");
    let index = disk.open().current();
    let skill = index.find(&SkillName::parse("a").unwrap(), None).unwrap();
    assert_eq!(skill.read_file("code/main.py").unwrap(), b"pass");
    assert_eq!(skill.read_file("résumé.md").unwrap(), b"x");
    assert_eq!(skill.files().len(), 4);
    for path in [
        "../a/skill.toml",
        "code/../../other/skill.toml",
        "/etc/passwd",
        "code//main.py",
        "code/./main.py",
        "code/main.py/",
        "..\\x",
        "a\0",
        "",
        ".",
        &"x".repeat(5_000),
    ] {
        assert_eq!(
            skill.read_file(path).unwrap_err().kind(),
            ErrorKind::InvalidParams,
            "{path:.40}"
        );
    }
    for path in [
        "%2e%2e/skill.toml",
        "re\u{301}sume\u{301}.md",
        "Code/main.py",
        "code",
        ".env",
        ".git/config",
        "code/__pycache__/main.pyc",
        "code/x.pyc",
        "secrets.json",
    ] {
        assert_eq!(skill.read_file(path).unwrap_err().kind(), ErrorKind::FileNotFound, "{path}");
    }
    let error = skill.read_file("skill.md").unwrap_err().to_string();
    assert_eq!(error, "`a` has no file \"skill.md\"; did you mean `SKILL.md`?");
}
