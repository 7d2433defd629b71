//! Embeds the bundled skills: a table of every file below `skills/`, for a program that is
//! installed alone.

#![expect(clippy::disallowed_methods, reason = "cargo speaks to build scripts through variables")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=skills");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("skills");
    let mut table = String::from("&[\n");
    for skill in sorted(&root)? {
        let mut files = Vec::new();
        collect(&skill, &skill, &mut files)?;
        let name = text(skill.file_name().map(Path::new).unwrap_or(&skill))?;
        writeln!(table, "    ({name:?}, &[").map_err(io::Error::other)?;
        for path in files {
            // Relative to the checkout that is compiled: checkouts may share a target folder.
            let source = format!("/skills/{name}/{path}");
            writeln!(
                table,
                "        ({path:?}, \
                 include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {source:?})).as_slice()),"
            )
            .map_err(io::Error::other)?;
        }
        table.push_str("    ]),\n");
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("bundled_skills.rs"), table)
}

/// Adds the files below `folder` with their paths below `root`, hidden ones left out.
fn collect(root: &Path, folder: &Path, files: &mut Vec<String>) -> io::Result<()> {
    for entry in sorted(folder)? {
        if entry.is_dir() {
            collect(root, &entry, files)?;
        } else {
            let path = entry.strip_prefix(root).map_err(io::Error::other)?;
            files.push(text(path)?);
        }
    }
    Ok(())
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with('.') && name != "__pycache__" && !name.ends_with(".pyc") {
            entries.push(entry.path());
        }
    }
    entries.sort();
    Ok(entries)
}

fn text(path: &Path) -> io::Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| io::Error::other("a path is not UTF-8"))
}
