//! Files of a session between two cells: the host lists, reads, writes and removes them by itself, and no
//! program runs.

use serde::{Deserialize, Deserializer, Serialize};

use crate::job::few::at_most;
use wardian_vocabulary::ids::WorkspacePath;

/// Most files of one page of a list.
pub const MAX_LISTED: usize = 1_000;

/// Longest path of a file that is listed or read, in bytes. A program can make longer ones; they are
/// counted, and their folders can be listed.
pub const MAX_FILE_PATH: usize = 1_024;

/// Bytes of paths after which a page is full.
pub const MAX_PAGE_PATHS: usize = 128 << 10;

/// Longest answer to an order, in bytes of JSON: the longest paths, if each sign is escaped, and their
/// facts.
pub const MAX_ANSWER: usize = 6 * (MAX_PAGE_PATHS + MAX_FILE_PATH) + 160 * MAX_LISTED + 1_024;

/// What becomes of the files of `/workspace` in a turn without a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FilesOrder {
    /// List all that is in a folder, and in the folders below it, in the order of their paths.
    List(FilesPage),
    /// Send the content of a file to the host, as a blob is sent.
    Read {
        /// Its path: see [`is_file_path`].
        path: String,
    },
    /// Give a file the content that comes beside the order. The folders that lead to it are made.
    Write {
        /// Its path.
        path: WorkspacePath,
    },
    /// Remove a file or link, or an empty folder.
    Remove {
        /// Its path: see [`is_file_path`].
        path: String,
    },
}

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesPage {
    /// The folder, as a path below `/workspace`; `None` for all of it.
    pub folder: Option<String>,
    /// The last path of the page before. It need not exist any more.
    pub after: Option<String>,
    /// Most files of the page, at most [`MAX_LISTED`].
    pub limit: u32,
}

impl FilesOrder {
    /// True if the order changes the guest, whose state is saved then.
    #[must_use]
    pub const fn changes(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Remove { .. })
    }
}

/// True for a path below `/workspace` whose names are separated by single slashes. No name leads upwards.
#[must_use]
pub fn is_file_path(path: &str) -> bool {
    !path.is_empty()
        && path.len() <= MAX_FILE_PATH
        && !path.contains('\0')
        && path.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

/// The answer to a [`FilesOrder`]. It comes from a worker, which may lie; the names of files are chosen by
/// programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FilesAnswer {
    /// To [`FilesOrder::List`].
    Listed(ListedFiles),
    /// To [`FilesOrder::Read`]: the content was sent.
    Read {
        /// The time of its last change, in milliseconds since the Unix epoch.
        modified_ms: u64,
    },
    /// To [`FilesOrder::Write`].
    Written {
        /// True if there was a file of this path before.
        replaced: bool,
    },
    /// To [`FilesOrder::Remove`].
    Removed,
    /// It was not done. If the guest can go on, nothing has changed.
    Refused(FilesRefusal),
}

/// A page of the files of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedFiles {
    /// The files, in the order of their paths: at most [`MAX_LISTED`].
    #[serde(deserialize_with = "few_files")]
    pub files: Vec<ListedFile>,
    /// True if others follow.
    pub has_more: bool,
    /// Files and folders within the page that are not listed, because their paths are too long.
    pub unlisted: u64,
}

/// A file of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedFile {
    /// Its path below `/workspace`.
    pub path: String,
    /// Its kind.
    pub kind: WorkspaceFileKind,
    /// Bytes of its content; those of its target for a link, and none for a folder.
    pub size_bytes: u64,
    /// The time of its last change, in milliseconds since the Unix epoch.
    pub modified_ms: u64,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceFileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// The reason why an order was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilesRefusal {
    /// There is nothing of this path in the workspace.
    NotFound,
    /// A folder is where a file is wanted.
    IsFolder,
    /// A file is where a folder is wanted.
    NotFolder,
    /// The folder to remove has entries.
    NotEmpty,
    /// The workspace has no room.
    NoSpace,
    /// The path leads out of the workspace, through a link.
    Outside,
    /// A link on the way to the file to write leads to nothing.
    Dangling,
    /// There are too many folders within one another, or too many links on the way.
    TooDeep,
    /// The content is larger than what the host takes, or the host has no room for it.
    NotTaken,
    /// The content cannot be read.
    Unreadable,
}

impl FilesAnswer {
    /// Reads an answer of a worker. `None` if it is not the answer to `order`, or is beyond the bounds of
    /// this module.
    #[must_use]
    pub fn read(text: &[u8], order: &FilesOrder) -> Option<Self> {
        if text.len() > MAX_ANSWER {
            return None;
        }
        let answer: Self = serde_json::from_slice(text).ok()?;
        let fits = match (&answer, order) {
            (Self::Listed(listed), FilesOrder::List(page)) => listed.is_of(page),
            (Self::Read { .. }, FilesOrder::Read { .. })
            | (Self::Written { .. }, FilesOrder::Write { .. })
            | (Self::Removed, FilesOrder::Remove { .. })
            | (Self::Refused(_), _) => true,
            _ => false,
        };
        fits.then_some(answer)
    }
}

impl ListedFiles {
    /// True if it can be this page. A page that says that others follow has something to go on after.
    fn is_of(&self, page: &FilesPage) -> bool {
        let most = usize::try_from(page.limit).unwrap_or(usize::MAX).min(MAX_LISTED);
        self.files.len() <= most
            && self.files.iter().all(|file| is_file_path(&file.path))
            && (!self.has_more || !self.files.is_empty())
    }
}

/// Reads a list of at most [`MAX_LISTED`] files.
fn few_files<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ListedFile>, D::Error> {
    at_most(MAX_LISTED, deserializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(limit: u32) -> FilesOrder {
        FilesOrder::List(FilesPage { limit, ..FilesPage::default() })
    }

    fn file(path: &str) -> ListedFile {
        let path = path.to_owned();
        ListedFile { path, kind: WorkspaceFileKind::File, size_bytes: 3, modified_ms: 7 }
    }

    fn listed(files: Vec<ListedFile>, has_more: bool) -> Vec<u8> {
        let listed = ListedFiles { files, has_more, unlisted: 0 };
        serde_json::to_vec(&FilesAnswer::Listed(listed)).unwrap()
    }

    #[test]
    fn paths_stay_below_the_workspace() {
        let longest = "a".repeat(MAX_FILE_PATH);
        for path in ["a", "a/b.csv", ".env", "...", "a\\b", "täglich", &longest] {
            assert!(is_file_path(path), "{path}");
        }
        let long = "a".repeat(MAX_FILE_PATH + 1);
        for path in ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\0b", &long] {
            assert!(!is_file_path(path), "{path}");
        }
    }

    #[test]
    fn an_answer_is_one_to_its_order() {
        let read = FilesOrder::Read { path: "a".to_owned() };
        let answer = FilesAnswer::Read { modified_ms: 5 };
        let text = serde_json::to_vec(&answer).unwrap();
        assert_eq!(FilesAnswer::read(&text, &read), Some(answer));
        assert_eq!(FilesAnswer::read(&text, &page(1)), None);
        let refused = serde_json::to_vec(&FilesAnswer::Refused(FilesRefusal::NotFound)).unwrap();
        for order in [read, page(1), FilesOrder::Remove { path: "a".to_owned() }] {
            assert!(FilesAnswer::read(&refused, &order).is_some());
        }
    }

    #[test]
    fn lists_are_bounded() {
        let ok = listed(vec![file("a"), file("a/b")], true);
        assert!(FilesAnswer::read(&ok, &page(2)).is_some());
        for (text, limit) in [
            (ok, 1),
            (listed(vec![], true), 9),
            (listed(vec![file("../a")], false), 9),
            (listed(vec![file("a"); MAX_LISTED + 1], false), u32::MAX),
            (b"{}".to_vec(), 9),
            (vec![b' '; MAX_ANSWER + 1], 9),
        ] {
            assert_eq!(FilesAnswer::read(&text, &page(limit)), None, "{text:.80?}");
        }
        let longest = format!("{}x", "\u{1}".repeat(MAX_FILE_PATH - 1));
        let count = MAX_PAGE_PATHS / MAX_FILE_PATH + 1;
        let full = listed(vec![file(&longest); count], true);
        assert!(FilesAnswer::read(&full, &page(1_000)).is_some(), "{} bytes", full.len());
    }

    #[test]
    fn only_changes_are_saved() {
        let path = WorkspacePath::parse("a").unwrap();
        assert!(FilesOrder::Write { path }.changes());
        assert!(FilesOrder::Remove { path: "a".to_owned() }.changes());
        assert!(!FilesOrder::Read { path: "a".to_owned() }.changes() && !page(1).changes());
    }
}
