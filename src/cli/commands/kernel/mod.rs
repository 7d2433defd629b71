//! `wardian kernel`: the kernel of the Python client, as Jupyter finds it.
//!
//! A kernel is a folder with `kernel.json`, which names the program that Jupyter starts: here
//! `python -m wardian.jupyter`. `clients/python/src/wardian/jupyter/install.py` writes the same file.

pub(crate) mod args;
mod python;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cli::commands::kernel::args::{InstallArgs, KernelCommand};
use crate::cli::commands::kernel::python::KernelPython;
use crate::cli::commands::whole_file::write_whole;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{print_json, print_line, shown};
use wardian_config::Config;

/// The module that Python runs as the kernel.
const MODULE: &str = "wardian.jupyter";

/// The name of a kernel that is named `wardian`.
const DISPLAY_NAME: &str = "Python (Wardian)";

/// A kernel that was installed.
#[derive(Debug, Serialize)]
struct InstalledKernel<'a> {
    name: &'a str,
    display_name: &'a str,
    folder: PathBuf,
    python: PathBuf,
    url: Option<&'a str>,
}

/// The command of an installed kernel.
#[derive(Deserialize)]
struct OtherKernel {
    #[serde(default)]
    argv: Vec<String>,
}

/// Executes a command on kernels.
pub(crate) fn kernel(config: &Config, command: &KernelCommand) -> Result<Exit, Failed> {
    let KernelCommand::Install(args) = command;
    let python = python::ask(args.python.as_deref().unwrap_or(&config.engine.python))?;
    let installed = install(args, &python)?;
    if args.json {
        print_json(&installed);
    } else {
        let folder = shown(&installed.folder.display().to_string());
        print_line(&format!("installed the kernel `{}` in {folder}", installed.name));
    }
    Ok(Exit::Done)
}

fn install<'a>(
    args: &'a InstallArgs,
    python: &KernelPython,
) -> Result<InstalledKernel<'a>, Failed> {
    check_name(&args.name)?;
    let display_name = display_name(args);
    let command = command(args, &python.executable)?;
    let jupyter = match &args.prefix {
        // For this user and below a folder exclude each other.
        Some(prefix) if !args.user => {
            let prefix = std::path::absolute(prefix);
            prefix
                .map_err(|fault| Failed::usage(format!("--prefix: {fault}")))?
                .join("share/jupyter")
        }
        _ => python.jupyter_data.clone(),
    };
    // Jupyter finds kernels by names in small letters.
    let folder = jupyter.join("kernels").join(args.name.to_ascii_lowercase());
    let file = folder.join("kernel.json");
    ensure_replaceable(&file, &args.name)?;
    let named = |fault: &io::Error| Failed::named(folder.display(), fault);
    fs::create_dir_all(&folder).map_err(|fault| named(&fault))?;
    let content = json!({
        "argv": command,
        "display_name": display_name,
        "language": "python",
        "interrupt_mode": "message",
        "metadata": { "debugger": false, "supported_encryption": ["curve"] },
    });
    write_whole(&file, format!("{content:#}\n").as_bytes())?;
    let python = python.executable.clone();
    Ok(InstalledKernel { name: &args.name, display_name, folder, python, url: args.url.as_deref() })
}

/// Refuses a name that Jupyter would not find.
fn check_name(name: &str) -> Result<(), Failed> {
    let is_known = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if !name.is_empty() && name.chars().all(is_known) && name.chars().any(|letter| letter != '.') {
        return Ok(());
    }
    let name = shown(name);
    Err(Failed::usage(format!("`{name}` cannot name a kernel: use letters, digits and `-_.`")))
}

/// The name that Jupyter shows.
fn display_name(args: &InstallArgs) -> &str {
    match &args.display_name {
        Some(name) => name,
        None if args.name == "wardian" => DISPLAY_NAME,
        None => &args.name,
    }
}

/// The command line of the kernel. It never contains a key, since others may be able to read it.
fn command(args: &InstallArgs, python: &Path) -> Result<Vec<String>, Failed> {
    let mut words: Vec<OsString> = vec![python.into(), "-m".into(), MODULE.into()];
    words.extend(["-f".into(), "{connection_file}".into()]);
    if let Some(url) = &args.url {
        check_url(url)?;
        words.push(format!("--WardianKernel.url={url}").into());
    }
    if let Some(key_file) = &args.key_file {
        let named = |fault: &io::Error| Failed::named(key_file.display(), fault);
        let path = std::path::absolute(key_file).map_err(|fault| named(&fault))?;
        if !fs::metadata(&path).map_err(|fault| named(&fault))?.is_file() {
            let path = shown(&path.display().to_string());
            return Err(Failed::usage(format!("`{path}` is not a file")));
        }
        let mut word = OsString::from("--WardianKernel.key_file=");
        word.push(path);
        words.push(word);
    }
    let words = words.into_iter().map(OsString::into_string).collect::<Result<_, _>>();
    words.map_err(|path| {
        let path = shown(&path.to_string_lossy());
        Failed::usage(format!("`{path}` is not UTF-8, so it cannot stand in the kernel's file"))
    })
}

/// Refuses a URL that the kernel would refuse in a notebook. Who can read the kernel's file would see a
/// password in it.
fn check_url(url: &str) -> Result<(), Failed> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let host = rest.map(|rest| rest.split('/').next().unwrap_or_default());
    let is_usable = host.is_some_and(|host| !host.is_empty() && !host.contains('@'))
        && !url.contains(|letter: char| letter.is_whitespace() || "?#".contains(letter));
    if is_usable {
        return Ok(());
    }
    Err(Failed::usage("`--url` must be a URL such as `http://127.0.0.1:8080`, without a password"))
}

/// Refuses to replace the kernel of another program.
fn ensure_replaceable(file: &Path, name: &str) -> Result<(), Failed> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(fault) => return Err(Failed::named(file.display(), &fault)),
    };
    let other = serde_json::from_str::<OtherKernel>(&text);
    if other.is_ok_and(|other| other.argv.iter().any(|word| word == MODULE)) {
        return Ok(());
    }
    let file = shown(&file.display().to_string());
    Err(Failed::usage(format!(
        "there is another kernel named `{name}`, in {file}: choose another name with `--name NAME`"
    )))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: InstallArgs,
    }

    fn parse(words: &[&str]) -> InstallArgs {
        Line::try_parse_from(std::iter::once(&"install").chain(words)).unwrap().args
    }

    fn python(folder: &Path) -> KernelPython {
        KernelPython { executable: "/usr/bin/python3".into(), jupyter_data: folder.join("data") }
    }

    #[test]
    fn a_kernel_is_what_the_client_would_install() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        fs::write(&key, "wdn_example").unwrap();
        let args = parse(&[
            "--name=Far",
            "--url=https://wardian.example.com/a",
            &format!("--key-file={}", key.display()),
        ]);
        for _ in 0..2 {
            let installed = install(&args, &python(folder.path())).unwrap();
            assert_eq!(installed.folder, folder.path().join("data/kernels/far"));
            let text = fs::read_to_string(installed.folder.join("kernel.json")).unwrap();
            assert!(!text.contains("wdn_example"));
            let spec: Value = serde_json::from_str(&text).unwrap();
            let expected = json!([
                "/usr/bin/python3",
                "-m",
                "wardian.jupyter",
                "-f",
                "{connection_file}",
                "--WardianKernel.url=https://wardian.example.com/a",
                format!("--WardianKernel.key_file={}", key.display()),
            ]);
            assert_eq!(spec["argv"], expected);
            assert_eq!(
                (&spec["display_name"], &spec["language"]),
                (&json!("Far"), &json!("python"))
            );
            assert_eq!(spec["interrupt_mode"], "message");
        }
        let args = parse(&[&format!("--prefix={}", folder.path().display())]);
        let installed = install(&args, &python(folder.path())).unwrap();
        assert_eq!(installed.folder, folder.path().join("share/jupyter/kernels/wardian"));
        assert_eq!(installed.display_name, DISPLAY_NAME);
    }

    #[test]
    fn what_would_not_work_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("data/kernels/ir");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("kernel.json"), r#"{"argv": ["R", "--slave"]}"#).unwrap();
        for (words, expected) in [
            (&["--name=ir"][..], "another kernel named `ir`"),
            (&["--name=a/b"], "`a/b` cannot name a kernel"),
            (&["--name=.."], "cannot name a kernel"),
            (&["--url=ftp://x"], "must be a URL"),
            (&["--url=http://u:p@x"], "without a password"),
            (&["--url=http://"], "must be a URL"),
            (&["--key-file=/"], "is not a file"),
            (&["--key-file=/none/key"], "/none/key: "),
        ] {
            let refused = install(&parse(words), &python(folder.path())).unwrap_err();
            assert_eq!(refused.exit, Exit::WrongUsage);
            assert!(refused.to_string().contains(expected), "{refused}");
        }
        assert!(Line::try_parse_from(["install", "--user", "--prefix=/x"]).is_err());
    }
}
