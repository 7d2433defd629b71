//! Errors of the files of sessions.

use wardian_formats::job::session::files::{FilesRefusal, MAX_FILE_PATH};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::InvalidId;
use wardian_vocabulary::units::ByteCount;

/// Errors of the files of sessions. Texts are for callers.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// There is nothing of this path.
    #[error("the workspace of the session has no file `{}`", shown(path))]
    NotFound {
        /// The path as sent.
        path: String,
    },
    /// A path that leads out of the workspace.
    #[error("`{}` leads out of the workspace of the session", shown(path))]
    Outside {
        /// The path as sent.
        path: String,
    },
    /// A path that no file to read or remove can have.
    #[error(
        "path must be relative to the working folder, such as `data/in.csv`: names separated by single \
         slashes, without `.` and `..`, of at most {MAX_FILE_PATH} bytes"
    )]
    Path,
    /// A path that no file to write can have.
    #[error(transparent)]
    WritePath(InvalidId),
    /// The path does not fit what is there.
    #[error("`{}` {problem}", shown(path))]
    Misfit {
        /// The path as sent.
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The content is larger than the workspace.
    #[error(
        "the content has {size}, and the workspace of the session has {limit} \
         (`limits.workspace_bytes`); a blob can be larger"
    )]
    TooLarge {
        /// Its size.
        size: ByteCount,
        /// The most that it may have.
        limit: ByteCount,
    },
    /// The content is larger than the memory that the server has for it.
    #[error(
        "the content has {size}, and this server takes at most {limit} of a session's files at once \
         (`http.memory`); let a cell read it from a blob"
    )]
    NotReceivable {
        /// Its size.
        size: ByteCount,
        /// The most that is received.
        limit: ByteCount,
    },
    /// The content is not as long as was announced.
    #[error("the content must have the {announced} that were announced")]
    WrongLength {
        /// The announced length.
        announced: ByteCount,
    },
    /// The workspace is full.
    #[error(
        "the workspace of the session has no room for it: of its {limit} (`limits.workspace_bytes`) or its \
         files and folders too much is in use"
    )]
    NoSpace {
        /// The quota of the workspace.
        limit: ByteCount,
    },
    /// The content cannot be sent.
    #[error(
        "`{}` is too large to be read now: the interpreter or the server has no memory for a copy; let a \
         cell write it to a blob",
        shown(path)
    )]
    NotTaken {
        /// The path as sent.
        path: String,
    },
    /// The files of a reproducible session are those that its cells leave.
    #[error(
        "the files of a reproducible session change in its cells alone, because a repetition has nothing \
         else: let a cell write or remove `{}`, or begin a session with `input_blobs`",
        shown(path)
    )]
    Reproducible {
        /// The path as sent.
        path: String,
    },
    /// The state after the change is not kept.
    #[error("nothing was changed: {reason}")]
    NotKept {
        /// The reason.
        reason: String,
    },
    /// A worker was lost, or does not work.
    #[error("a worker did not carry out an order for files: {reason}")]
    Failed {
        /// The reason, for the log.
        reason: String,
    },
}

impl FilesError {
    /// The refusal of an order for this path, in a workspace of this size.
    pub(crate) fn of(refusal: FilesRefusal, path: &str, limit: ByteCount) -> Self {
        let path = path.to_owned();
        let misfit = |problem| Self::Misfit { path: path.clone(), problem };
        match refusal {
            FilesRefusal::NotFound => Self::NotFound { path },
            FilesRefusal::Outside => Self::Outside { path },
            FilesRefusal::IsFolder => misfit("is a folder"),
            FilesRefusal::NotFolder => misfit("leads through a file, or is one"),
            FilesRefusal::NotEmpty => misfit("is a folder that is not empty; remove what is in it"),
            FilesRefusal::Dangling => misfit(
                "leads through a link to something that does not exist; write what the link names, or \
                 remove the link",
            ),
            FilesRefusal::TooDeep => misfit("lies too deep, or leads through too many links"),
            FilesRefusal::NoSpace => Self::NoSpace { limit },
            FilesRefusal::NotTaken => Self::NotTaken { path },
            FilesRefusal::Unreadable => {
                Self::Failed { reason: "a file cannot be read or changed".to_owned() }
            }
        }
    }

    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } | Self::Outside { .. } => ErrorKind::FileNotFound,
            Self::Path
            | Self::WritePath(_)
            | Self::Misfit { .. }
            | Self::WrongLength { .. }
            | Self::Reproducible { .. } => ErrorKind::InvalidParams,
            Self::TooLarge { .. } | Self::NotReceivable { .. } | Self::NotTaken { .. } => {
                ErrorKind::TooLarge
            }
            Self::NoSpace { .. } | Self::NotKept { .. } => ErrorKind::QuotaExceeded,
            Self::Failed { .. } => ErrorKind::Internal,
        }
    }

    /// The parameter that caused the error, if one did.
    pub(crate) const fn parameter(&self) -> Option<&'static str> {
        match self {
            Self::Path | Self::WritePath(_) | Self::Misfit { .. } => Some("path"),
            _ => None,
        }
    }
}

/// The beginning of a path, in one line.
fn shown(path: &str) -> String {
    path.chars().take(200).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_path_in_one_line() {
        let limit = ByteCount::mebibytes(1);
        let error = FilesError::of(FilesRefusal::NotFound, "a\n\"b", limit);
        assert_eq!(error.kind(), ErrorKind::FileNotFound);
        assert_eq!(error.to_string(), r#"the workspace of the session has no file `a\n\"b`"#);
        let full = FilesError::of(FilesRefusal::NoSpace, "a", limit);
        assert_eq!(full.kind(), ErrorKind::QuotaExceeded);
        assert!(full.to_string().contains("1 MiB"), "{full}");
        let fixed = FilesError::Reproducible { path: "data/a".to_owned() };
        assert_eq!((fixed.kind(), fixed.parameter()), (ErrorKind::InvalidParams, None));
        assert!(fixed.to_string().contains("let a cell write or remove `data/a`"), "{fixed}");
        let dangling = FilesError::of(FilesRefusal::Dangling, "a", limit);
        assert!(dangling.to_string().contains("`a` leads through a link"), "{dangling}");
        let folder = FilesError::of(FilesRefusal::IsFolder, "a", limit);
        assert_eq!((folder.kind(), folder.parameter()), (ErrorKind::InvalidParams, Some("path")));
    }
}
