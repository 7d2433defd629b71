//! Finds the tests below the paths of a command, before anything is executed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::commands::skill_cases::run_case::CaseOptions;
use crate::cli::commands::skill_cases::skill_tests::{SkillTests, read_tests};
use crate::cli::commands::test::notebook::notebook_file::NotebookFile;
use crate::cli::commands::test::notebook::notebook_tests::NotebookTests;
use crate::cli::commands::test::packed_files::PackedFiles;
use crate::cli::commands::test::project::{
    Project, WrittenFiles, entries_of, is_test_file, root_of,
};
use crate::cli::commands::test::pytest_bytecode::PytestBytecode;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;
use crate::cli::test_args::TestArgs;

/// Maximum number of files and cases of one command.
const MAX_UNITS: usize = 20_000;

/// The manifest that makes a folder a skill.
const MANIFEST: &str = "skill.toml";

/// Tests that are executed together, in one run or more.
#[derive(Debug)]
pub(crate) enum Unit {
    /// A case of a skill, by the numbers of both.
    Case { skill: usize, case: usize },
    /// The tests of a Python file.
    File(FileTests),
    /// The cells of a notebook.
    Notebook(Box<NotebookTests>),
}

/// The tests of a Python file.
#[derive(Debug)]
pub(crate) struct FileTests {
    /// The file as the user would type it.
    pub(crate) shown: String,
    /// Its path in its project.
    pub(crate) path: String,
    pub(crate) common: Arc<PackedFiles>,
    pub(crate) own: PackedFiles,
    /// Folders that modules are imported from.
    pub(crate) places: Vec<&'static str>,
    /// The skill that the project is, by its number.
    pub(crate) skill: Option<usize>,
    /// False if pytest is not needed, as far as the text of the file tells.
    pub(crate) may_use_pytest: bool,
    /// The part of a name that its tests must have; empty for all.
    pub(crate) keyword: String,
}

/// All tests of a command.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) units: Vec<Unit>,
    pub(crate) skills: Vec<SkillTests>,
    /// The working folder.
    pub(crate) here: PathBuf,
    /// Paths that the user named and that have no tests.
    pub(crate) without_tests: Vec<String>,
}

/// A command, as all its units see it.
#[derive(Debug)]
pub(crate) struct TestSession {
    pub(crate) plan: Plan,
    pub(crate) options: CaseOptions,
    pub(crate) bytecode: PytestBytecode,
    pub(crate) list: bool,
    pub(crate) update: bool,
    /// The part of the kept results that is compared with new ones, in per cent.
    pub(crate) verify: u8,
}

/// Finds tests, and reads what they need.
struct Finder<'a> {
    /// Where copies of skills are made.
    copies: &'a Path,
    keyword: Option<&'a str>,
    /// True if notebooks in folders are tests. Those that are named always are.
    has_notebooks: bool,
    /// The folder of all projects, if the user names it.
    root: Option<PathBuf>,
    here: PathBuf,
    written: WrittenFiles,
    plan: Plan,
    malformed: Vec<String>,
    /// Numbers of skills by their folders.
    skills: BTreeMap<PathBuf, usize>,
    projects: BTreeMap<PathBuf, Arc<Project>>,
    /// Files that were found, with the folder that is their project if there is no better one.
    files: BTreeMap<PathBuf, PathBuf>,
    /// The same of notebooks.
    notebooks: BTreeMap<PathBuf, PathBuf>,
    /// Packed files that several tests share.
    shared: BTreeMap<(PathBuf, Vec<String>), Arc<PackedFiles>>,
}

impl Plan {
    /// Finds the tests below `paths`. Nothing is executed if one of them is malformed.
    pub(crate) fn of(args: &TestArgs, copies: &Path) -> Result<Self, Failed> {
        let mut finder = Finder {
            copies,
            keyword: args.keyword.as_deref().filter(|keyword| !keyword.is_empty()),
            has_notebooks: args.notebooks,
            root: args.root.as_deref().map(whole).transpose()?,
            here: whole(Path::new("."))?,
            written: WrittenFiles::of(args.junit.as_deref()),
            plan: Self::default(),
            malformed: Vec::new(),
            skills: BTreeMap::new(),
            projects: BTreeMap::new(),
            files: BTreeMap::new(),
            notebooks: BTreeMap::new(),
            shared: BTreeMap::new(),
        };
        for path in &args.paths {
            let resolved = whole(path)?;
            if resolved.is_file() {
                finder.add_file(&resolved, resolved.parent().unwrap_or(&resolved))?;
            } else if !finder.walk(&resolved)? {
                finder.plan.without_tests.push(shown(&path.display().to_string()));
            }
        }
        finder.finish()
    }
}

impl Finder<'_> {
    /// Adds the tests below `given`; true if there are any.
    fn walk(&mut self, given: &Path) -> Result<bool, Failed> {
        let mut has_tests = false;
        let mut pending = vec![given.to_owned()];
        while let Some(folder) = pending.pop() {
            let entries = entries_of(&folder)?;
            if entries.iter().any(|(name, _, metadata)| name == MANIFEST && metadata.is_file()) {
                let number = self.skill(&folder)?;
                let skill = self.plan.skills.get(number);
                has_tests |= skill.is_some_and(|skill| !skill.cases.is_empty());
            }
            for (name, path, metadata) in entries {
                if metadata.is_dir() {
                    pending.push(path);
                } else if is_test_file(&name) {
                    has_tests = true;
                    self.files.entry(path).or_insert_with(|| given.to_owned());
                } else if self.has_notebooks && is_notebook(&path) {
                    has_tests = true;
                    self.notebooks.entry(path).or_insert_with(|| given.to_owned());
                }
            }
            if self.files.len().max(self.notebooks.len()) > MAX_UNITS || pending.len() > MAX_UNITS {
                let given = shown(&given.display().to_string());
                return Err(Failed::usage(format!(
                    "{given}: has too many files with tests: give smaller folders"
                )));
            }
        }
        Ok(has_tests)
    }

    fn add_file(&mut self, path: &Path, folder: &Path) -> Result<(), Failed> {
        if is_notebook(path) {
            self.notebooks.entry(path.to_owned()).or_insert_with(|| folder.to_owned());
            return Ok(());
        }
        if path.extension().is_none_or(|ending| ending != "py") {
            let path = shown(&path.display().to_string());
            return Err(Failed::usage(format!(
                "{path}: is neither a Python file, a notebook nor a folder"
            )));
        }
        self.files.entry(path.to_owned()).or_insert_with(|| folder.to_owned());
        Ok(())
    }

    /// The number of the skill in `folder`, whose cases are read with it.
    fn skill(&mut self, folder: &Path) -> Result<usize, Failed> {
        if let Some(number) = self.skills.get(folder) {
            return Ok(*number);
        }
        let tests = read_tests(folder, self.copies, &mut self.malformed)?;
        let number = self.plan.skills.len();
        self.plan.skills.push(tests);
        self.skills.insert(folder.to_owned(), number);
        Ok(number)
    }

    fn finish(mut self) -> Result<Plan, Failed> {
        let found = std::mem::take(&mut self.files);
        // The cases come first, in the order in which their skills were found.
        let tested: Vec<usize> = self.skills.values().copied().collect();
        let mut files = Vec::new();
        for (path, given) in found {
            files.push(Unit::File(self.file_tests(&path, &given)?));
        }
        for (path, given) in std::mem::take(&mut self.notebooks) {
            let tests = self.notebook_tests(&path, &given)?;
            if self.keyword.is_none_or(|keyword| has_ignoring_case(&tests.shown, keyword)) {
                files.push(Unit::Notebook(Box::new(tests)));
            }
        }
        if !self.malformed.is_empty() {
            let lines = self.malformed.join("\n  ");
            return Err(Failed::usage(format!("no test was run; these are malformed:\n  {lines}")));
        }
        for number in tested {
            let Some(skill) = self.plan.skills.get(number) else { continue };
            for (at, case) in skill.cases.iter().enumerate() {
                let id = format!("{}::{}", skill.name, case.name);
                if self.keyword.is_none_or(|keyword| has_ignoring_case(&id, keyword)) {
                    self.plan.units.push(Unit::Case { skill: number, case: at });
                }
            }
        }
        self.plan.units.extend(files);
        if self.plan.units.len() > MAX_UNITS {
            return Err(Failed::usage(format!("there are more than {MAX_UNITS} cases and files")));
        }
        self.plan.here = self.here;
        Ok(self.plan)
    }

    fn file_tests(&mut self, path: &Path, given: &Path) -> Result<FileTests, Failed> {
        let FoundFile { root, inside, shown: shown_path, project, skill } =
            self.found_file(path, given)?;
        let readable = project.readable_by(&inside);
        let unwritable = |fault: serde_json::Error| Failed::at("pack the files", &fault);
        let common = self.packed(root, &project, readable.common)?;
        let own = PackedFiles::new(project.packed(&readable.own).map_err(unwritable)?);
        let keyword = self.keyword.filter(|keyword| !has_ignoring_case(&shown_path, keyword));
        Ok(FileTests {
            shown: shown_path,
            common,
            own,
            may_use_pytest: project.may_use_pytest(&inside),
            path: inside,
            places: places_of(skill),
            skill,
            keyword: keyword.unwrap_or_default().to_owned(),
        })
    }

    /// Finds the project of a file, and reads it.
    fn found_file(&mut self, path: &Path, given: &Path) -> Result<FoundFile, Failed> {
        let root = match &self.root {
            Some(root) if path.starts_with(root) => root.clone(),
            Some(root) => {
                let (path, root) = (path.display().to_string(), root.display().to_string());
                return Err(Failed::usage(format!(
                    "{}: is not below the folder `{}` of `--root`",
                    shown(&path),
                    shown(&root)
                )));
            }
            None => root_of(path, given),
        };
        let is_skill = root.join(MANIFEST).symlink_metadata().is_ok_and(|file| file.is_file());
        let skill = if is_skill { Some(self.skill(&root)?) } else { None };
        let project = match self.projects.get(&root) {
            Some(project) => Arc::clone(project),
            None => {
                let project = Arc::new(Project::read(&root, &self.written)?);
                self.projects.insert(root.clone(), Arc::clone(&project));
                project
            }
        };
        let inside = path.strip_prefix(&root).unwrap_or(path).to_string_lossy().into_owned();
        let shown_path = as_typed(path, &self.here);
        if !project.has(&inside) {
            return Err(Failed::usage(format!("{shown_path}: is hidden in its project")));
        }
        Ok(FoundFile { root, inside, shown: shown_path, project, skill })
    }

    fn notebook_tests(&mut self, path: &Path, given: &Path) -> Result<NotebookTests, Failed> {
        let FoundFile { root, inside, shown, project, skill } = self.found_file(path, given)?;
        // Other notebooks change with their outputs, and are seldom read.
        let mut readable = project.readable_by(&inside).common;
        readable.retain(|path| !is_notebook(Path::new(path)));
        let files = self.packed(root, &project, readable)?;
        let notebook = NotebookFile::read(path)?;
        let places = places_of(skill);
        Ok(NotebookTests {
            shown,
            file: path.to_owned(),
            path: inside,
            notebook,
            files,
            places,
            skill,
        })
    }

    /// Files of a project, packed. Tests that can read the same ones share them.
    fn packed(
        &mut self,
        root: PathBuf,
        project: &Project,
        paths: Vec<String>,
    ) -> Result<Arc<PackedFiles>, Failed> {
        let key = (root, paths);
        if let Some(packed) = self.shared.get(&key) {
            return Ok(Arc::clone(packed));
        }
        let packed = project.packed(&key.1);
        let packed = packed.map_err(|fault| Failed::at("pack the files", &fault))?;
        let packed = Arc::new(PackedFiles::new(packed));
        self.shared.insert(key, Arc::clone(&packed));
        Ok(packed)
    }
}

/// A file with tests in its project.
struct FoundFile {
    /// The folder of the project.
    root: PathBuf,
    /// Its path in the project.
    inside: String,
    /// The file as the user would type it.
    shown: String,
    project: Arc<Project>,
    /// The skill that the project is, by its number.
    skill: Option<usize>,
}

/// The folders of a project that modules are imported from.
fn places_of(skill: Option<usize>) -> Vec<&'static str> {
    if skill.is_some() { vec!["code", ""] } else { vec!["", "src"] }
}

/// True for the name of a notebook.
fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "ipynb")
}

/// A path relative to the working folder, if it is below it.
pub(crate) fn as_typed(path: &Path, here: &Path) -> String {
    shown(&path.strip_prefix(here).unwrap_or(path).to_string_lossy())
}

fn has_ignoring_case(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

/// A path without links, so that each file has one name.
#[expect(clippy::disallowed_methods, reason = "the user's own path; nothing is contained in it")]
fn whole(path: &Path) -> Result<PathBuf, Failed> {
    std::fs::canonicalize(path).map_err(|fault| Failed::named(path.display(), &fault))
}
