//! The programs of the corpus and the directives in their first lines.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::end::End;
use crate::support::repository;

/// One program and the expected end of its runs.
#[derive(Debug)]
pub(crate) struct Attack {
    /// Path below the corpus, without the ending.
    pub(crate) name: String,
    pub(crate) source: String,
    pub(crate) end: End,
    /// Limits of its runs. Others are the operator's.
    pub(crate) limits: Value,
    /// How many blobs each run makes.
    pub(crate) blobs: usize,
    /// True if more is printed than is kept.
    pub(crate) cuts_logs: bool,
    /// How often it is run.
    pub(crate) runs: u32,
}

impl Attack {
    /// The whole corpus, in the order of its names.
    pub(crate) fn all() -> Vec<Self> {
        let root = repository("tests/fixtures/hostile");
        let mut paths = Vec::new();
        collect(&root, &mut paths);
        paths.sort();
        paths.iter().map(|path| Self::load(&root, path)).collect()
    }

    fn load(root: &Path, path: &Path) -> Self {
        let name = path.strip_prefix(root).unwrap().with_extension("");
        let name = name.to_str().unwrap();
        let source = fs::read_to_string(path).unwrap();
        Self::parse(name, &source).unwrap_or_else(|problem| panic!("{name}: {problem}"))
    }

    /// Reads the comments that a program begins with.
    pub(crate) fn parse(name: &str, source: &str) -> Result<Self, String> {
        let mut lines = source.lines().map_while(|line| line.strip_prefix("# "));
        let first = lines.next().and_then(|line| line.strip_prefix("ends: "));
        let end = End::parse(first.ok_or("the first line must be `# ends: …`")?)?;
        let mut attack = Self {
            name: name.to_owned(),
            source: source.to_owned(),
            end,
            limits: json!({}),
            blobs: 0,
            cuts_logs: false,
            runs: 1,
        };
        for line in lines {
            attack.read(line).map_err(|problem| format!("`{line}`: {problem}"))?;
        }
        Ok(attack)
    }

    fn read(&mut self, line: &str) -> Result<(), String> {
        let (key, value) = line.split_once(": ").ok_or("no `key: value`")?;
        match (key, value) {
            ("limits", limits) => {
                self.limits = serde_json::from_str(limits).map_err(|fault| fault.to_string())?;
            }
            ("blobs", count) => self.blobs = count.parse().ok().ok_or("no number")?,
            ("runs", count) => self.runs = count.parse().ok().ok_or("no number")?,
            ("logs", "cut") => self.cuts_logs = true,
            _ => return Err("no such line".to_owned()),
        }
        Ok(())
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            found.push(path);
        }
    }
}
