//! The files of a project that its tests can read.
//!
//! They come from a checkout that nobody has reviewed. Links are not followed: one that leaves the
//! project would hand a file of this machine to the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;

/// Maximum number of files of a project.
const MAX_FILES: usize = 5_000;

/// Maximum number of bytes of all files of a project.
const MAX_TOTAL: u64 = 64 << 20;

/// Deepest folder of a project.
const MAX_DEPTH: usize = 40;

/// Files that mark the folder of a project. A skill is a project of its own.
const MARKS: [&str; 7] =
    ["skill.toml", "pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini", ".git"];

/// Folders with what was made from a project.
const MADE: [&str; 2] = ["__pycache__", "node_modules"];

/// Files that mark folders with what can be made again: virtual environments and caches.
const MADE_MARKS: [&str; 2] = ["pyvenv.cfg", "CACHEDIR.TAG"];

/// A project: the files below one folder.
#[derive(Debug)]
pub(crate) struct Project {
    files: BTreeMap<String, ProjectFile>,
}

/// A file of a project.
#[derive(Debug)]
struct ProjectFile {
    content: Vec<u8>,
    /// The words of Python's source, by which it may name a file with tests.
    words: BTreeSet<String>,
}

/// The files that the tests of one file can read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Readable {
    /// Files that every test of the project can read.
    pub(crate) common: Vec<String>,
    /// The file itself, and other files with tests that it names.
    pub(crate) own: Vec<String>,
}

/// True for the name of a file with tests.
pub(crate) fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".py")
        .is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

/// The folder of the project that `file` belongs to: the nearest one with a mark, or `given`.
pub(crate) fn root_of(file: &Path, given: &Path) -> PathBuf {
    let is_marked =
        |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).symlink_metadata().is_ok());
    file.ancestors().skip(1).find(is_marked).unwrap_or(given).to_owned()
}

/// The entries of a folder that count, by name: no links, nothing hidden, nothing made.
pub(crate) fn entries_of(folder: &Path) -> Result<Vec<(String, PathBuf, fs::Metadata)>, Failed> {
    let named = |fault: &std::io::Error| Failed::named(folder.display(), fault);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(|fault| named(&fault))? {
        let path = entry.map_err(|fault| named(&fault))?.path();
        let metadata =
            path.symlink_metadata().map_err(|fault| Failed::named(path.display(), &fault))?;
        let name = path.file_name().unwrap_or_default();
        let Some(name) = name.to_str() else {
            let path = shown(&path.display().to_string());
            return Err(Failed::usage(format!("{path}: its name is not UTF-8")));
        };
        let is_made = MADE.contains(&name) || name.starts_with('.');
        if is_made || !(metadata.is_file() || metadata.is_dir()) {
            continue;
        }
        let is_made_folder = metadata.is_dir()
            && MADE_MARKS.iter().any(|mark| path.join(mark).symlink_metadata().is_ok());
        if !is_made_folder {
            entries.push((name.to_owned(), path.clone(), metadata));
        }
    }
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(entries)
}

/// The files that reports of the command go to. They are no part of a project: its tests would depend on
/// what the command has written before.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles(BTreeSet<(u64, u64)>);

impl WrittenFiles {
    /// The standard output, the standard errors and `report`, as far as they are files that exist.
    pub(crate) fn of(report: Option<&Path>) -> Self {
        let streams = ["/proc/self/fd/1", "/proc/self/fd/2"].map(Path::new);
        let found = streams.into_iter().chain(report).filter_map(|path| fs::metadata(path).ok());
        Self(found.map(|file| (file.dev(), file.ino())).collect())
    }

    fn has(&self, file: &fs::Metadata) -> bool {
        self.0.contains(&(file.dev(), file.ino()))
    }
}

impl Project {
    /// Reads the files below `root`, but those that the command itself writes.
    pub(crate) fn read(root: &Path, written: &WrittenFiles) -> Result<Self, Failed> {
        let mut project = Self { files: BTreeMap::new() };
        let mut room = MAX_TOTAL;
        let mut pending = vec![(root.to_owned(), String::new(), 0)];
        while let Some((folder, prefix, depth)) = pending.pop() {
            for (name, path, metadata) in entries_of(&folder)? {
                let place = format!("{prefix}{name}");
                if written.has(&metadata) {
                    continue;
                }
                if metadata.is_file() {
                    project.add(root, place, &path, &metadata, &mut room)?;
                } else if depth < MAX_DEPTH {
                    pending.push((path, format!("{place}/"), depth.saturating_add(1)));
                } else {
                    return Err(too_large(root, "folders that are nested too deeply"));
                }
            }
        }
        Ok(project)
    }

    fn add(
        &mut self,
        root: &Path,
        place: String,
        path: &Path,
        metadata: &fs::Metadata,
        room: &mut u64,
    ) -> Result<(), Failed> {
        if self.files.len() >= MAX_FILES {
            return Err(too_large(root, &format!("more than {MAX_FILES} files")));
        }
        let left = room.checked_sub(metadata.len());
        let content = if left.is_some() { read_file(path, metadata)? } else { None };
        let (Some(content), Some(left)) = (content, left) else {
            return Err(too_large(root, &format!("more than {} MiB", MAX_TOTAL >> 20)));
        };
        *room = left;
        let words = if has_python(&place) { words_of(&content) } else { BTreeSet::new() };
        self.files.insert(place, ProjectFile { content, words });
        Ok(())
    }

    /// True if the project has this file.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// True for a file that pytest may have to run, judged by its text. One that is misjudged has the
    /// same results: pytest is compiled for it, or bytecode is there that it does not use.
    pub(crate) fn may_use_pytest(&self, file: &str) -> bool {
        let has_conftest = file.match_indices('/').map(|(at, _)| at.saturating_add(1)).chain([0]);
        let mut folders = has_conftest.filter_map(|end| file.get(..end));
        if folders.any(|folder| self.has(&format!("{folder}conftest.py"))) {
            return true;
        }
        let Some(found) = self.files.get(file) else { return false };
        let text = String::from_utf8_lossy(&found.content);
        text.contains("pytest")
            || text.lines().any(|line| {
                line.starts_with("def test")
                    || line.starts_with("async def test")
                    || (line.starts_with("class Test") && !line.contains("TestCase"))
            })
    }

    /// The files that the tests of `file` can read: all but other files with tests. Of these it
    /// can read those whose module's name is a word of a file that it can read, since it may import
    /// them.
    pub(crate) fn readable_by(&self, file: &str) -> Readable {
        let is_common = |path: &&String| !is_test_file(path) && path.as_str() != file;
        let mut common: BTreeSet<&str> =
            self.files.keys().filter(is_common).map(String::as_str).collect();
        self.close_over(&mut common, file);
        let mut all = common.clone();
        all.insert(file);
        self.close_over(&mut all, file);
        let own = all.difference(&common).map(|path| (*path).to_owned()).collect();
        Readable { common: common.into_iter().map(str::to_owned).collect(), own }
    }

    /// Adds the files with tests that a file in `found` names, and those that these name.
    fn close_over<'p>(&'p self, found: &mut BTreeSet<&'p str>, but: &str) {
        loop {
            let known: Vec<&ProjectFile> =
                found.iter().filter_map(|path| self.files.get(*path)).collect();
            let is_named = |path: &&String| {
                let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".py");
                is_test_file(path)
                    && path.as_str() != but
                    && !found.contains(path.as_str())
                    && known.iter().any(|file| file.words.contains(name))
            };
            let more: Vec<&str> = self.files.keys().filter(is_named).map(String::as_str).collect();
            if more.is_empty() {
                return;
            }
            found.extend(more);
        }
    }

    /// Files as the runner in the sandbox reads them: a line of JSON with paths and sizes, and then
    /// their contents.
    pub(crate) fn packed(&self, paths: &[String]) -> Result<Vec<u8>, serde_json::Error> {
        let files: Vec<(&String, &ProjectFile)> =
            paths.iter().filter_map(|path| Some((path, self.files.get(path)?))).collect();
        let head: Vec<(&String, usize)> =
            files.iter().map(|(path, file)| (*path, file.content.len())).collect();
        let mut packed = serde_json::to_vec(&head)?;
        packed.push(b'\n');
        for (_, file) in files {
            packed.extend_from_slice(&file.content);
        }
        Ok(packed)
    }
}

fn too_large(root: &Path, what: &str) -> Failed {
    let root = shown(&root.display().to_string());
    Failed::usage(format!(
        "{root}: the tests of this folder could read {what}: give a smaller folder with `--root`"
    ))
}

/// Reads a file that had this size a moment ago; `None` if it has grown.
fn read_file(path: &Path, metadata: &fs::Metadata) -> Result<Option<Vec<u8>>, Failed> {
    let named = |fault: &std::io::Error| Failed::named(shown(&path.display().to_string()), fault);
    let file = File::open(path).map_err(|fault| named(&fault))?;
    let mut content = Vec::new();
    let most = metadata.len();
    file.take(most.saturating_add(1)).read_to_end(&mut content).map_err(|fault| named(&fault))?;
    Ok((u64::try_from(content.len()).is_ok_and(|size| size <= most)).then_some(content))
}

fn has_python(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == "py")
}

/// The words of a source that may be names of files with tests.
fn words_of(content: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(content);
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let words = words.filter(|word| word.starts_with("test_") || word.ends_with("_test"));
    words.map(str::to_owned).collect()
}

/// The digest of bytes, as a key has it.
pub(crate) fn hashed(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let project = Project::read(folder.path(), &WrittenFiles::default()).unwrap();
        (folder, project)
    }

    #[test]
    fn tests_read_the_project_and_only_those_other_tests_that_they_name() {
        let (_folder, project) = project(&[
            ("src/code.py", "x = 1"),
            ("data.csv", "test_never"),
            ("tests/helper.py", "from tests.test_base import Base"),
            ("tests/test_base.py", ""),
            ("tests/test_a.py", "from test_b import x"),
            ("tests/test_b.py", "import c_test"),
            ("tests/c_test.py", ""),
            ("tests/test_never.py", "import test_a"),
        ]);
        let Readable { common, own } = project.readable_by("tests/test_a.py");
        assert_eq!(common, ["data.csv", "src/code.py", "tests/helper.py", "tests/test_base.py"]);
        assert_eq!(own, ["tests/c_test.py", "tests/test_a.py", "tests/test_b.py"]);
        let base = project.readable_by("tests/test_base.py");
        assert_eq!(base.own, ["tests/test_base.py"]);
        assert_eq!(base.common, ["data.csv", "src/code.py", "tests/helper.py"]);
    }

    #[test]
    fn files_that_pytest_runs_are_told_by_their_text() {
        let case = "import unittest\nclass TestA(unittest.TestCase):\n    def test_x(self): pass\n";
        let (_folder, project) = project(&[
            ("a/test_case.py", case),
            ("a/test_import.py", &format!("import pytest\n{case}")),
            ("a/test_function.py", "def test_x(): pass\n"),
            ("a/test_async.py", "async def test_x(): pass\n"),
            ("a/test_class.py", "class TestA:\n    def test_x(self): pass\n"),
            ("b/conftest.py", ""),
            ("b/c/test_case.py", case),
        ]);
        let chosen = |file: &str| project.may_use_pytest(file);
        for file in ["a/test_import.py", "a/test_function.py", "a/test_async.py", "a/test_class.py"]
        {
            assert!(chosen(file), "{file}");
        }
        assert!(chosen("b/c/test_case.py"), "pytest reads the file above it");
        assert!(!chosen("a/test_case.py") && !chosen("a/missing.py"));
    }

    #[test]
    fn a_report_is_no_part_of_the_project_that_it_lies_in() {
        let (folder, _) = project(&[("a.py", ""), ("out/report.xml", "<old/>")]);
        let report = folder.path().join("out/report.xml");
        let project = Project::read(folder.path(), &WrittenFiles::of(Some(&report))).unwrap();
        assert!(project.has("a.py") && !project.has("out/report.xml"));
        let other = WrittenFiles::of(Some(&folder.path().join("missing.xml")));
        let project = Project::read(folder.path(), &other).unwrap();
        assert!(project.has("out/report.xml"));
    }

    #[test]
    fn links_and_hidden_and_made_folders_are_no_part_of_a_project() {
        let folder = tempfile::tempdir().unwrap();
        let secret = tempfile::NamedTempFile::new().unwrap();
        symlink(secret.path(), folder.path().join("link.txt")).unwrap();
        symlink("/etc", folder.path().join("etc")).unwrap();
        for path in [".git/config", "__pycache__/a.pyc", "env/pyvenv.cfg", "env/a.py", "kept.py"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let project = Project::read(folder.path(), &WrittenFiles::default()).unwrap();
        assert_eq!(project.files.keys().collect::<Vec<_>>(), ["kept.py"]);
    }

    #[test]
    fn a_packed_project_is_read_back() {
        let (_folder, project) = project(&[("a.py", "é"), ("b\"\n.py", ""), ("c", "1\n2")]);
        let all: Vec<String> = project.files.keys().cloned().collect();
        let packed = project.packed(&all).unwrap();
        let text = String::from_utf8(packed).unwrap();
        assert_eq!(text, "[[\"a.py\",2],[\"b\\\"\\n.py\",0],[\"c\",3]]\né1\n2");
    }

    #[test]
    fn a_project_is_marked_or_given() {
        let (folder, _) = project(&[("a/pyproject.toml", ""), ("a/b/t.py", ""), ("c/d/t.py", "")]);
        let at = |path: &str| folder.path().join(path);
        assert_eq!(root_of(&at("a/b/t.py"), &at("a/b")), at("a"));
        assert_eq!(root_of(&at("c/d/t.py"), &at("c")), at("c"));
    }
}
