//! Promises of the registry that need real folders.

mod changing;
mod finding;
mod fixtures;
mod following;
mod hostile;
mod listing;
mod tenants;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::registry::cursor::CursorKey;
use crate::registry::index::Index;
use crate::registry::{BuiltIn, Registry, RegistryConfig, RegistryError, TenantFolders, Watching};
use wardian_formats::skill::GUIDE_NAME;

const DOCUMENT: &str = "---\nname: Title\nshort_description: Says it.\n---\n\n# Title\n";

const GUIDE: BuiltIn = BuiltIn {
    name: GUIDE_NAME,
    files: &[
        ("skill.toml", b"name = \"skills.protocol.guide\"\nversion = \"0.1.0\"\ndescription = \"The guide.\"\nkind = \"instruction\"\nnamespace = \"skills\"\n"),
        ("SKILL.md", DOCUMENT.as_bytes()),
    ],
};

/// A folder of skill folders that is gone after the test.
struct Disk(TempDir);

impl Disk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn write(&self, below: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Writes a good instruction skill.
    fn skill(&self, folder: &str, version: &str) -> &Self {
        let name = folder.rsplit('/').next().unwrap().split('@').next().unwrap();
        let manifest = format!(
            "name = \"{name}\"\nversion = \"{version}\"\ndescription = \"d\"\nkind = \"instruction\"\n"
        );
        self.write(&format!("{folder}/skill.toml"), manifest);
        self.write(&format!("{folder}/SKILL.md"), DOCUMENT)
    }

    fn remove(&self, below: &str) {
        fs::remove_dir_all(self.path(below)).unwrap();
    }

    fn open(&self) -> Registry {
        open(&[self.0.path()]).unwrap()
    }
}

fn open(roots: &[&Path]) -> Result<Registry, RegistryError> {
    open_within(roots, Watching::default())
}

fn open_within(roots: &[&Path], watching: Watching) -> Result<Registry, RegistryError> {
    let config = RegistryConfig {
        trust: std::sync::Arc::default(),
        is_followed: true,
        roots: roots.iter().map(|root| root.to_path_buf()).collect(),
        tenants: TenantFolders::default(),
        published: None,
        watching,
        cursor_key: CursorKey::from_bytes([1; 32]),
    };
    Registry::open(config, &[GUIDE])
}

/// The skills that are served from folders, as `name version`.
fn served(index: &Index) -> Vec<String> {
    let snapshots = index.snapshots().filter(|one| one.name().as_str() != GUIDE_NAME);
    snapshots.map(|one| format!("{} {}", one.name(), one.version())).collect()
}

/// The diagnostics of folders, as `folder: diagnostic`, but for the warning that the skills of these
/// tests have short names.
fn rejected(index: &Index) -> Vec<String> {
    let one = |folder: &str, line: String| format!("{folder}: {line}");
    index
        .rejected()
        .iter()
        .flat_map(|bad| bad.diagnostics.iter().map(|found| one(&bad.folder, found.to_string())))
        .filter(|line| !line.contains("has a single segment"))
        .collect()
}
