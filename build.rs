//! Embeds the bundled skills and the conformance suite: tables of every file below `skills/` and
//! `conformance/`, for a program that is installed alone.

#![expect(clippy::disallowed_methods, reason = "cargo speaks to build scripts through variables")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let checkout = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("bundled_skills.rs"), bundled_skills(&checkout.join("skills"))?)?;
    fs::write(out.join("conformance_suite.rs"), conformance_suite(&checkout.join("conformance"))?)
}

/// The skills, each with its files.
fn bundled_skills(root: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-changed=skills");
    let mut table = String::from("&[\n");
    for skill in sorted(root)? {
        let mut files = Vec::new();
        collect(&skill, &skill, &mut files)?;
        let name = text(skill.file_name().map(Path::new).unwrap_or(&skill))?;
        writeln!(table, "    ({name:?}, &[").map_err(io::Error::other)?;
        for path in files {
            add(&mut table, &path, &format!("/skills/{name}/{path}"))?;
        }
        table.push_str("    ]),\n");
    }
    table.push_str("]\n");
    Ok(table)
}

/// The Python package of the suite with its skills inside, as it is when it is installed.
fn conformance_suite(root: &Path) -> io::Result<String> {
    let mut table = String::from("&[\n");
    for (folder, place) in
        [("skills_protocol_conformance", ""), ("skills", "skills_protocol_conformance/")]
    {
        println!("cargo::rerun-if-changed=conformance/{folder}");
        let mut files = Vec::new();
        collect(root, &root.join(folder), &mut files)?;
        for path in files {
            add(&mut table, &format!("{place}{path}"), &format!("/conformance/{path}"))?;
        }
    }
    table.push_str("]\n");
    Ok(table)
}

/// Adds a file to a table: its path, and its content.
fn add(table: &mut String, path: &str, source: &str) -> io::Result<()> {
    // Relative to the checkout that is compiled: checkouts may share a target folder.
    writeln!(
        table,
        "        ({path:?}, \
         include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {source:?})).as_slice()),"
    )
    .map_err(io::Error::other)
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
