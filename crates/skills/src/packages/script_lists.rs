//! The lists of packages of a skill, and its lock, wherever its form keeps them.
//!
//! A skill with an entrypoint lists its packages in `code/requirements.txt`. Agent Skills have a
//! `requirements.txt` anywhere, or name the packages of a script in its first comment (PEP 723). Those are
//! gathered: one lock, `pylock.toml` at the top of the folder, is for all scripts of the skill.

use std::borrow::Cow;

use serde::Deserialize;

use crate::packages::guest::GuestPlatform;
use crate::packages::lock::Lock;
use crate::packages::needs::{NeedsError, SkillNeeds};
use crate::packages::requirements::{Requirements, RequirementsError};
use crate::packages::{LOCK_FILE, REQUIREMENTS_FILE};

/// The name of a list in any folder.
const LIST: &str = "requirements.txt";

/// The lock of gathered lists.
const GATHERED_LOCK_FILE: &str = "pylock.toml";

/// Bytes at the beginning of a script in which its list is looked for.
const MAX_HEADER: usize = 16 << 10;

/// The lists of packages of a skill, and its lock.
#[derive(Debug, Clone, Default)]
pub struct SkillLists {
    /// The lists, each with the path of its file.
    lists: Vec<(String, Vec<u8>)>,
    lock: Option<Vec<u8>>,
    is_gathered: bool,
}

/// One of several lists cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}, line {line}: {problem}")]
pub struct ListError {
    /// The file.
    pub path: String,
    /// The line in its list, from 1.
    pub line: usize,
    /// The problem, with its solution.
    pub problem: String,
}

impl SkillLists {
    /// Those of a skill with these files.
    pub fn of<'f>(files: impl Iterator<Item = (&'f str, &'f [u8])>) -> Self {
        let mut own = Self::default();
        let (mut gathered, mut gathered_lock) = (Vec::new(), None);
        for (path, content) in files {
            match path {
                REQUIREMENTS_FILE => own.lists.push((path.to_owned(), content.to_vec())),
                LOCK_FILE => own.lock = Some(content.to_vec()),
                GATHERED_LOCK_FILE => gathered_lock = Some(content.to_vec()),
                _ => gathered.extend(list_of(path, content).map(|list| (path.to_owned(), list))),
            }
        }
        if !own.lists.is_empty() {
            return own;
        }
        Self { lists: gathered, lock: gathered_lock, is_gathered: true }
    }

    /// True if nothing is listed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// The path of the lock.
    #[must_use]
    pub const fn lock_file(&self) -> &'static str {
        if self.is_gathered { GATHERED_LOCK_FILE } else { LOCK_FILE }
    }

    /// The text of the lock.
    #[must_use]
    pub fn lock(&self) -> Option<&[u8]> {
        self.lock.as_deref().filter(|_| !self.is_empty())
    }

    /// The paths of the lists.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.lists.iter().map(|(path, _)| path.as_str())
    }

    /// All requirements together.
    ///
    /// # Errors
    ///
    /// A line of a list is not a requirement.
    pub fn requirements(&self) -> Result<Requirements, ListError> {
        let mut all: Vec<u8> = Vec::new();
        for (path, list) in &self.lists {
            let named = |RequirementsError { line, problem }| {
                let path = path.clone();
                ListError { path, line, problem }
            };
            Requirements::parse(list).map_err(named)?;
            all.extend_from_slice(list.strip_prefix("\u{feff}".as_bytes()).unwrap_or(list));
            all.push(b'\n');
        }
        Requirements::parse(&all).map_err(|RequirementsError { line, problem }| {
            let path = "all lists of packages together".to_owned();
            ListError { path, line, problem }
        })
    }

    /// What the skill needs before it can run. Gathered lists that are not locked are no reason to refuse a
    /// skill: a script may need none of them, and the import of a package that is missing says what to do.
    #[must_use]
    pub fn needs(&self, guest: &GuestPlatform, batteries: &Lock) -> SkillNeeds {
        if self.is_empty() {
            return SkillNeeds::Nothing;
        }
        let list = match self.lists.as_slice() {
            [(_, only)] => Cow::Borrowed(only),
            lists => {
                let parts = lists.iter().map(|(_, list)| list.as_slice());
                Cow::Owned(parts.collect::<Vec<_>>().join(&b'\n'))
            }
        };
        match SkillNeeds::of(Some(&list), self.lock(), guest, batteries) {
            SkillNeeds::Unknown(NeedsError::NotLocked { .. } | NeedsError::Requirements(_))
                if self.is_gathered =>
            {
                SkillNeeds::Batteries
            }
            needs => needs,
        }
    }
}

/// The list of packages that a file is, or has in its first comment.
fn list_of(path: &str, content: &[u8]) -> Option<Vec<u8>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name == LIST {
        return Some(content.to_vec());
    }
    if !name.ends_with(".py") {
        return None;
    }
    let start = content.get(..MAX_HEADER).unwrap_or(content);
    let list = header(&String::from_utf8_lossy(start))?;
    Some(list.into_bytes())
}

/// What is read of the header of a script.
#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    dependencies: Vec<String>,
}

/// The packages in the header of a script (PEP 723), one a line.
fn header(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| line.trim_end() != "# /// script");
    lines.next()?;
    let mut block = String::new();
    // The block ends with the last such line of the comment.
    let mut whole = None;
    for line in lines.take_while(|line| *line == "#" || line.starts_with("# ")) {
        if line.trim_end() == "# ///" {
            whole = Some(block.clone());
        }
        block.push_str(line.strip_prefix("# ").unwrap_or_default());
        block.push('\n');
    }
    let header: Header = toml::from_str(&whole?).ok()?;
    (!header.dependencies.is_empty()).then(|| header.dependencies.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::guest::testing::guest;
    use crate::packages::lock::LockedPackage;
    use crate::packages::wheel::WheelName;
    use std::collections::BTreeMap;
    use wardian_vocabulary::ids::Digest;

    const SCRIPT: &str = "#!/usr/bin/env python3\n# /// script\n# requires-python = \">=3.11\"\n\
        # dependencies = [\n#   \"tool>=1\",\n#   \"numpy\",\n# ]\n# ///\nimport tool\n";

    fn lists(files: &[(&str, &str)]) -> SkillLists {
        SkillLists::of(files.iter().map(|(path, text)| (*path, text.as_bytes())))
    }

    fn lock(requirements: &Requirements) -> Lock {
        let wheel = WheelName::parse("tool-1-py3-none-any.whl").unwrap();
        let sha256 = Digest::of(b"tool");
        let locked = LockedPackage { wheel, url: None, size: 1, sha256, folders: BTreeMap::new() };
        Lock {
            packages: vec![locked],
            python: "3.15".to_owned(),
            requirements: requirements.digest(),
            engine: Vec::new(),
            batteries: Vec::new(),
        }
    }

    #[test]
    fn the_header_of_a_script_is_a_list() {
        assert_eq!(header(SCRIPT).as_deref(), Some("tool>=1\nnumpy"));
        for none in [
            "",
            "import x\n",
            "# /// script\n# dependencies = [\"a\"]\n",
            "# /// script\n# dependencies = []\n# ///\n",
            "# /// script\n# dependencies = [1]\n# ///\n",
            "# /// other\n# dependencies = [\"a\"]\n# ///\n",
            "# /// script\n#dependencies = [\"a\"]\n# ///\n",
        ] {
            assert_eq!(header(none), None, "{none}");
        }
    }

    #[test]
    fn lists_are_gathered_unless_the_skill_has_its_own() {
        let files = [
            ("scripts/a.py", SCRIPT),
            ("scripts/requirements.txt", "idna\n-r other.txt"),
            ("notes.txt", "x"),
        ];
        let gathered = lists(&files);
        assert_eq!(gathered.lock_file(), "pylock.toml");
        let paths: Vec<&str> = gathered.paths().collect();
        assert_eq!(paths, ["scripts/a.py", "scripts/requirements.txt"]);
        let refused = gathered.requirements().unwrap_err().to_string();
        assert!(refused.starts_with("scripts/requirements.txt, line 2: `-r` is"), "{refused}");
        let own = lists(&[files[0], ("code/requirements.txt", "numpy")]);
        assert_eq!(own.lock_file(), "code/pylock.toml");
        assert_eq!(own.paths().collect::<Vec<_>>(), ["code/requirements.txt"]);
    }

    #[test]
    fn scripts_run_without_a_lock_and_with_the_packages_of_one() {
        let batteries = lock(&Requirements::parse(b"").unwrap());
        let batteries = Lock { packages: Vec::new(), ..batteries };
        let needs = |files: &[(&str, &str)]| lists(files).needs(&guest(), &batteries);
        assert_eq!(needs(&[]), SkillNeeds::Nothing);
        assert_eq!(needs(&[("scripts/a.py", SCRIPT)]), SkillNeeds::Batteries);
        assert_eq!(needs(&[("requirements.txt", "-e .")]), SkillNeeds::Batteries);
        let own = needs(&[("code/requirements.txt", "tool")]);
        assert!(matches!(own, SkillNeeds::Unknown(NeedsError::NotLocked { .. })), "{own:?}");
        let files = [("scripts/a.py", SCRIPT), ("scripts/requirements.txt", "tool")];
        let locked = lock(&lists(&files).requirements().unwrap()).to_text();
        let with_lock = [files[0], files[1], ("pylock.toml", &locked)];
        assert!(matches!(needs(&with_lock), SkillNeeds::Layer { .. }));
        let changed = [files[0], ("scripts/requirements.txt", "tool>1"), with_lock[2]];
        assert_eq!(needs(&changed), SkillNeeds::Unknown(NeedsError::Stale));
    }
}
