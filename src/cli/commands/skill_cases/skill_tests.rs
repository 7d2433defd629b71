//! Reads the tests that a skill brings along, and copies the skill for their runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::commands::skill_cases::case_file::{case_name, parse_case, resource};
use crate::cli::commands::skill_cases::test_case::TestCase;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;
use wardian_skills::packages::LOCK_FILE;
use wardian_skills::packages::lock::Lock;
use wardian_skills::registry::check_folder;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_vocabulary::ids::Digest;

/// The tests of one skill.
#[derive(Debug)]
pub(crate) struct SkillTests {
    /// The skill's folder, without links.
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) digest: Digest,
    /// Names the packages that it has locked; empty for none.
    pub(crate) layer: String,
    pub(crate) cases: Vec<SkillCase>,
    /// What the skill is for a server. Nothing of a test is read elsewhere: not all names of the
    /// folder are part of the skill, and those that are not may lead to any file of this machine.
    snapshot: Arc<Snapshot>,
}

/// A test, and what identifies it.
#[derive(Debug)]
pub(crate) struct SkillCase {
    pub(crate) name: String,
    /// Digest of its text.
    pub(crate) digest: Digest,
    pub(crate) case: TestCase,
}

impl SkillTests {
    /// The content of a file below `resources` that a case names.
    ///
    /// INVARIANT(case-files): a case reads files of its skill, and no others.
    ///
    /// # Errors
    ///
    /// Says why there is none, with its path.
    pub(crate) fn file_of_case(&self, path: &str) -> Result<&[u8], String> {
        let whole = resource(path)?;
        self.snapshot.read_file(&whole).map_err(|fault| format!("{path}: {fault}"))
    }
}

/// Reads the tests of the skill in `folder`, and copies the skill below `root`. The mistakes of all
/// tests go to `malformed`.
pub(crate) fn read_tests(
    folder: &Path,
    root: &Path,
    malformed: &mut Vec<String>,
) -> Result<SkillTests, Failed> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the user's own folder; nothing is contained in it"
    )]
    let whole =
        fs::canonicalize(folder).map_err(|fault| Failed::named(folder.display(), &fault))?;
    let check = check_folder(&whole).map_err(|fault| Failed::named(folder.display(), &fault))?;
    let Some(snapshot) = &check.snapshot else {
        let folder = folder.display();
        return Err(Failed::usage(format!("{folder}: has errors; see `wardian skills check`")));
    };
    copy(snapshot, root)?;
    let mut cases = Vec::new();
    for file in snapshot.files() {
        let Some(name) = case_name(&file.path) else { continue };
        let text = snapshot.read_file(&file.path)?;
        match parse_case(text) {
            Ok(case) => {
                cases.push(SkillCase { name: name.to_owned(), digest: Digest::of(text), case });
            }
            Err(mistakes) => {
                let shown_path = folder.join(&file.path);
                let line = |mistake: &String| format!("{}: {mistake}", shown_path.display());
                malformed.extend(mistakes.iter().map(line).map(|line| shown(&line)));
            }
        }
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    let (name, version) = (snapshot.name().to_string(), snapshot.version().to_string());
    let lock = snapshot.read_file(LOCK_FILE).ok().and_then(|text| Lock::parse(text).ok());
    let layer = lock.and_then(|lock| lock.layer()).map(|key| key.to_string()).unwrap_or_default();
    let (digest, snapshot) = (snapshot.digest(), Arc::clone(snapshot));
    Ok(SkillTests { folder: whole, name, version, digest, layer, cases, snapshot })
}

/// Writes the files of a skill below `root`, in a folder that has the skill's name and version. Two
/// skills of one name and version are refused: the tests of both would run the same files.
fn copy(snapshot: &Snapshot, root: &Path) -> Result<(), Failed> {
    let folder = root.join(format!("{}@{}", snapshot.name(), snapshot.version()));
    let made = fs::create_dir_all(root).and_then(|()| fs::create_dir(&folder));
    made.map_err(|fault| match fault.kind() {
        io::ErrorKind::AlreadyExists => {
            let (name, version) = (snapshot.name(), snapshot.version());
            Failed::usage(format!("two folders have version {version} of the skill `{name}`"))
        }
        _ => Failed::at("copy the skill", &fault),
    })?;
    for file in snapshot.files() {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(&folder);
        let content = snapshot.read_file(&file.path)?;
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, content))
            .map_err(|fault| Failed::at("copy the skill", &fault))?;
    }
    Ok(())
}
