//! What the program prints for shells, for `man`, and for lawyers.

use std::fs;
use std::io::Write as _;
use std::process::{Command as Process, Stdio};

use crate::support::{Command, repository};

/// Whether a shell reads a script, if it is installed: Bash always has to be.
fn accepts(shell: &str, script: &str) -> Option<bool> {
    let mut process = match Process::new(shell).arg("-n").stdin(Stdio::piped()).spawn() {
        Ok(process) => process,
        Err(fault) => {
            assert_ne!(shell, "bash", "{fault}");
            return None;
        }
    };
    process.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    Some(process.wait().unwrap().success())
}

#[test]
fn shells_accept_their_completions() {
    let place = Command::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell]).with(0).stdout;
        assert!(script.contains("require-lockdown"), "{shell}");
        assert_ne!(accepts(shell, &script), Some(false), "{shell} refuses its completions");
    }
    assert_eq!(accepts("bash", "if then"), Some(false), "bash looks at what it gets");
}

#[test]
fn bash_completes_commands_and_options() {
    let place = Command::new();
    let script = place.run(&["completions", "bash"]).with(0).stdout;
    for (words, wanted) in [("wardian li", "licenses"), ("wardian serve --admin", "--admin-listen")]
    {
        let typed: Vec<&str> = words.split(' ').collect();
        let asked = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD={}\n\
             _wardian wardian {} {}; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            typed.len() - 1,
            typed.last().unwrap(),
            typed[typed.len() - 2],
        );
        // The script is too long for an argument.
        let mut bash = Process::new("bash");
        let bash = bash.arg("--norc").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut bash = bash.spawn().unwrap();
        bash.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
        let told = bash.wait_with_output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        assert_eq!(told.trim(), wanted, "{words}");
    }
}

#[test]
fn manual_pages_are_printed_or_written_into_a_folder() {
    let place = Command::new();
    let page = place.run(&["man"]).with(0).stdout;
    assert!(page.contains(".TH wardian 1") && page.contains("wardian\\-serve(1)"), "{page}");
    let told = place.run(&["man", "--out", "pages/man1"]).with(0).stdout;
    let folder = place.folder().join("pages/man1");
    let files = fs::read_dir(&folder).unwrap().count();
    assert_eq!(told.lines().count(), files);
    assert!(files > 30, "{told}");
    assert_eq!(fs::read_to_string(folder.join("wardian.1")).unwrap(), page);
    place.file("taken", "");
    assert!(place.run(&["man", "--out", "taken"]).with(2).stderr.contains("taken"));
}

#[test]
fn licences_and_the_list_of_parts_are_those_of_the_repository() {
    let place = Command::new();
    let texts = place.run(&["licenses"]).with(0).stdout;
    let part =
        |name: &str| fs::read_to_string(repository(&format!("deploy/offline/{name}"))).unwrap();
    for name in ["crates.txt", "engine.txt", "batteries.txt"] {
        assert!(texts.contains(&part(name)), "{name}");
    }
    let list = place.run(&["licenses", "--sbom"]).with(0);
    assert_eq!(list.stdout, part("sbom.cdx.json"));
    assert_eq!(list.json()["specVersion"], "1.6");
}
