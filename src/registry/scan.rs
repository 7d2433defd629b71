//! Looks at the folders of a root and reads those that changed.
//!
//! A folder is read again when its fingerprint changes, and once more at the next look: a file
//! that was written twice within one tick of the file system's clock has the same fingerprint.
//!
//! While a folder is being written it may be no skill for a moment. So what was served before is
//! served on until the folder has rested from one look to the next; then it is judged as it is.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::ids::{Digest, SkillName};
use crate::registry::snapshot::{Reading, Snapshot, read_folder};
use crate::registry::walk::{Trouble, open_folder, special_kind, walk};
use crate::skill::diagnostic::{Diagnostic, Problem, Severity};
use crate::skill::path::is_left_out;

/// Most folders of one root.
const MAX_FOLDERS: usize = 4_096;

/// A folder of skill folders, and what was last seen in it.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    pub(crate) folders: BTreeMap<String, Folder>,
}

/// What is known of one folder.
#[derive(Debug)]
pub(crate) struct Folder {
    fingerprint: Option<Digest>,
    /// True if it looked the same when it was last read and the time before.
    is_settled: bool,
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Root {
    pub(crate) const fn new(path: PathBuf) -> Self {
        Self { path, folders: BTreeMap::new() }
    }

    /// Looks at every folder and reads those that changed. Returns whether anything did.
    ///
    /// # Errors
    ///
    /// The root cannot be read; everything in it is kept as it was.
    pub(crate) fn refresh(&mut self) -> io::Result<bool> {
        let root = Dir::open_ambient_dir(&self.path, ambient_authority())?;
        let names = folder_names(&root)?;
        let before = self.folders.len();
        self.folders.retain(|name, _| names.contains_key(name));
        let mut has_changed = self.folders.len() != before;
        for (shown, name) in names {
            let known = self.folders.remove(&shown);
            let (folder, is_new) = look(&root, &name, known);
            has_changed |= is_new;
            self.folders.insert(shown, folder);
        }
        Ok(has_changed)
    }
}

/// The names of everything in a root that may be a skill, as text and as it is.
fn folder_names(root: &Dir) -> io::Result<BTreeMap<String, std::ffi::OsString>> {
    let mut names = BTreeMap::new();
    for entry in root.entries()? {
        let entry = entry?;
        let name = entry.file_name();
        let shown = name.to_string_lossy().into_owned();
        // Files beside the folders, such as a README, are nobody's business. A skill may be called
        // like a file that Python leaves behind.
        let is_none = is_left_out(&shown) && SkillName::parse(&shown).is_err();
        if is_none || entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        if names.len() == MAX_FOLDERS {
            return Err(io::Error::other(format!("more than {MAX_FOLDERS} folders")));
        }
        names.insert(shown, name);
    }
    Ok(names)
}

/// Looks at one folder, and reads it unless it is known. Says whether what is known changed.
fn look(root: &Dir, name: &OsStr, known: Option<Folder>) -> (Folder, bool) {
    let folder = match open_skill(root, name) {
        Ok(folder) => folder,
        Err(trouble) => return refused(trouble, known),
    };
    match known {
        Some(known) if known.is_settled => {
            let survey = walk(&folder, &mut |_| Ok(()));
            if known.fingerprint == Some(survey.fingerprint) {
                return (known, false);
            }
            judge(read_folder(&name.to_string_lossy(), &folder), Some(known))
        }
        known => judge(read_folder(&name.to_string_lossy(), &folder), known),
    }
}

/// A folder that cannot be opened. If the machine failed, it keeps what it had.
fn refused(trouble: Trouble, known: Option<Folder>) -> (Folder, bool) {
    let is_interrupted = trouble.is_interruption();
    let diagnostics = vec![Diagnostic::about(Severity::Error, ".", trouble.into_problem())];
    let has_changed = known.as_ref().is_none_or(|known| known.diagnostics != diagnostics);
    let snapshot = known.filter(|_| is_interrupted).and_then(|known| known.snapshot);
    (Folder { fingerprint: None, is_settled: false, snapshot, diagnostics }, has_changed)
}

fn judge(reading: Reading, known: Option<Folder>) -> (Folder, bool) {
    let Reading { snapshot, diagnostics, fingerprint, is_interrupted, .. } = reading;
    let is_rested = known.as_ref().is_some_and(|known| known.fingerprint == Some(fingerprint));
    let is_settled = is_rested && !is_interrupted;
    let before = known.as_ref().and_then(|known| known.snapshot.clone());
    let snapshot = match (snapshot, before) {
        (Some(new), Some(old)) if new.digest() == old.digest() => Some(old),
        (Some(new), _) => Some(new),
        (None, old) => old.filter(|_| !is_settled),
    };
    let digest = |snapshot: Option<&Arc<Snapshot>>| snapshot.map(|snapshot| snapshot.digest());
    let has_changed = known.is_none_or(|known| {
        digest(known.snapshot.as_ref()) != digest(snapshot.as_ref())
            || known.diagnostics != diagnostics
    });
    let fingerprint = Some(fingerprint);
    (Folder { fingerprint, is_settled, snapshot, diagnostics }, has_changed)
}

/// Opens a skill's folder, unless it only points to one.
fn open_skill(root: &Dir, name: &OsStr) -> Result<Dir, Trouble> {
    let seen = root.symlink_metadata(name)?;
    if let Some(kind) = special_kind(seen.file_type()) {
        let problem = Problem::new("special-file", format!("is {kind}"));
        return Err(Trouble::Refused(problem.help("put the skill's folder itself here")));
    }
    Ok(open_folder(root, name)?)
}
