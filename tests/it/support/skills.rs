//! Skills on disk, written by tests.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder with skills, for `--skills`.
#[derive(Debug)]
pub(crate) struct SkillFolder(TempDir);

impl SkillFolder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    /// Where a skill or one of its files lies.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Writes an action skill whose code is `source`.
    pub(crate) fn action(&self, name: &str, version: &str, source: &str) -> &Self {
        let runtime = "\n[runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\nexport = \"main\"\n";
        self.file(&format!("{name}/skill.toml"), manifest(name, version, "action") + runtime);
        self.file(&format!("{name}/SKILL.md"), document(name));
        self.file(&format!("{name}/code/main.py"), source)
    }

    /// Writes an instruction skill.
    pub(crate) fn instruction(&self, name: &str, version: &str) -> &Self {
        self.file(&format!("{name}/skill.toml"), manifest(name, version, "instruction"));
        self.file(&format!("{name}/SKILL.md"), document(name))
    }

    /// Writes any file.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        write(&self.at(path), content.as_ref());
        self
    }

    /// Removes a skill at once: a half of one is never seen.
    pub(crate) fn remove(&self, name: &str) {
        let away = tempfile::tempdir().unwrap();
        fs::rename(self.at(name), away.path().join("skill"))
            .or_else(|_| fs::remove_dir_all(self.at(name)))
            .unwrap();
    }
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The folder may be called `name@version`; the skill is called `name`.
fn manifest(folder: &str, version: &str, kind: &str) -> String {
    let name = folder.split('@').next().unwrap();
    format!(
        "name = \"{name}\"\nversion = \"{version}\"\ndescription = \"Serves a test.\"\nkind = \"{kind}\"\n"
    )
}

fn document(folder: &str) -> String {
    format!(
        "---\nname: Test\nshort_description: Serves a test.\n---\n\n# {folder}\n\nServes a test.\n"
    )
}
