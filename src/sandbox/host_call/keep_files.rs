//! Stores the files that a program left in its workspace, after its end.
//!
//! The host finds the files and their sizes in its own file system, without the guest. Stored files
//! count against the run's limits on calls and bytes like any blob that it writes.

use crate::job::KeepFiles;
use crate::job::outcome::{
    KeptFile, LeftFile, LeftFiles, MAX_LEFT_FILES, MAX_LEFT_PATH, MAX_NOT_KEPT,
};
use crate::sandbox::host_call::account::HostCallAccount;
use crate::sandbox::vfs::{FileSystem, WorkspaceFile};
use crate::units::ByteCount;

/// Most files that are kept by default: a program may draw a thousand frames.
const MAX_FIGURES: usize = 20;

/// Kind of a file with an unknown ending.
const ANY_KIND: &str = "application/octet-stream";

/// Lists the files of the workspace, and stores those that `keep` selects. The guest's memory may
/// still grow by `room` bytes.
pub(crate) fn keep_files(
    files: &FileSystem,
    account: &mut HostCallAccount,
    keep: &KeepFiles,
    room: u64,
) -> LeftFiles {
    let (mut found, total) = files.workspace_files(MAX_LEFT_PATH);
    let before = found.len();
    found.retain(|file| !is_cache(&file.path));
    let caches = u64::try_from(before.saturating_sub(found.len())).unwrap_or(0);
    let total = total.saturating_sub(caches);
    if found.is_empty() {
        return LeftFiles { listed: Vec::new(), total };
    }
    let most = if *keep == KeepFiles::Figures { MAX_FIGURES } else { MAX_LEFT_FILES };
    let (mut wanted, mut others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|file| is_wanted(keep, &file.path));
    others.splice(0..0, wanted.split_off(most.min(wanted.len())));
    others.truncate(MAX_LEFT_FILES.saturating_sub(wanted.len()));

    let is_cancelled = account.is_cancelled();
    let mut listed = Vec::with_capacity(wanted.len().saturating_add(others.len()));
    for file in wanted {
        let kept = if is_cancelled() {
            Err("the run was cancelled".to_owned())
        } else {
            store(files, account, &file, room)
        };
        listed.push(listed_file(file, kept.map(Some)));
    }
    listed.extend(others.into_iter().map(|file| listed_file(file, Ok(None))));
    LeftFiles { listed, total }
}

/// True for caches of libraries, such as the list of fonts.
fn is_cache(path: &str) -> bool {
    const FOLDERS: [&str; 3] = [".matplotlib/", ".cache/", ".config/"];
    FOLDERS.iter().any(|folder| path.starts_with(folder)) || path.contains("__pycache__/")
}

fn listed_file(file: WorkspaceFile, kept: Result<Option<KeptFile>, String>) -> LeftFile {
    let WorkspaceFile { path, size } = file;
    let (kept, problem) = match kept {
        Ok(kept) => (kept, None),
        Err(mut problem) => {
            let end = (0..=MAX_NOT_KEPT.min(problem.len())).rev();
            let end = end.into_iter().find(|at| problem.is_char_boundary(*at)).unwrap_or(0);
            problem.truncate(end);
            (None, Some(problem))
        }
    };
    LeftFile { path, size: ByteCount::bytes(size), kept, problem }
}

fn store(
    files: &FileSystem,
    account: &mut HostCallAccount,
    file: &WorkspaceFile,
    room: u64,
) -> Result<KeptFile, String> {
    let kind = kind_of(&file.path);
    if file.size > account.bytes_left() {
        return Err("it is larger than the rest of the run's limit on sent bytes".to_owned());
    }
    let path = format!("/workspace/{}", file.path);
    let mut content = files
        .open_file(&path, account.bytes_left())
        .map_err(|_errno| "it cannot be read".to_owned())?;
    let room = files.free_bytes().saturating_add(room);
    account.charge(ByteCount::bytes(content.size).as_usize()).map_err(|refusal| refusal.message)?;
    let stored = account.write_blob_from(kind, &mut content, room);
    let id = stored.map_err(|refusal| refusal.message)?;
    Ok(KeptFile { id, kind: kind.to_owned() })
}

fn is_wanted(keep: &KeepFiles, path: &str) -> bool {
    match keep {
        KeepFiles::Nothing => false,
        KeepFiles::All => true,
        KeepFiles::Figures => FIGURES.contains(&ending(path).as_str()),
        KeepFiles::Matching(patterns) => patterns.iter().any(|pattern| fits(pattern, path)),
    }
}

/// True if the glob `pattern` fits `path`, or if it has no slash, the last part of `path`.
///
/// `*` and `?` stop at slashes, `**` does not. Patterns may begin with `/workspace/`, `/tmp/` or
/// `./`, and one that names a folder fits all that is in it.
fn fits(pattern: &str, path: &str) -> bool {
    let pattern = ["/workspace/", "/tmp/", "./"]
        .iter()
        .find_map(|prefix| pattern.strip_prefix(prefix))
        .unwrap_or(pattern);
    if let Some(folder) = pattern.strip_suffix('/') {
        return glob(&format!("{folder}/**"), path);
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let by_name = !pattern.contains('/') && glob(pattern, name);
    by_name || glob(pattern, path)
}

/// A piece of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Letter(char),
    /// `?`
    One,
    /// `*`
    Many,
    /// `**`, with a slash behind it if there is one.
    Deep,
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        pieces.push(match letter {
            '?' => Piece::One,
            '*' if letters.next_if_eq(&'*').is_some() => {
                letters.next_if_eq(&'/');
                Piece::Deep
            }
            '*' => Piece::Many,
            letter => Piece::Letter(letter),
        });
    }
    pieces
}

/// Matches in time proportional to both lengths. Patterns come from the caller and paths from the
/// guest, and neither may make the match slow.
fn glob(pattern: &str, path: &str) -> bool {
    let pieces = pieces(pattern);
    let skipped = |reached: &mut [bool]| {
        for (at, piece) in pieces.iter().enumerate() {
            let is_optional = matches!(piece, Piece::Many | Piece::Deep);
            if is_optional && reached.get(at) == Some(&true) {
                mark(reached, at.saturating_add(1));
            }
        }
    };
    let mut reached = vec![false; pieces.len().saturating_add(1)];
    mark(&mut reached, 0);
    skipped(&mut reached);
    for letter in path.chars() {
        let mut next = vec![false; reached.len()];
        for (at, piece) in
            pieces.iter().enumerate().filter(|(at, _)| reached.get(*at) == Some(&true))
        {
            match piece {
                Piece::Letter(wanted) if *wanted == letter => mark(&mut next, at.saturating_add(1)),
                Piece::One if letter != '/' => mark(&mut next, at.saturating_add(1)),
                Piece::Many if letter != '/' => mark(&mut next, at),
                Piece::Deep => mark(&mut next, at),
                _ => {}
            }
        }
        skipped(&mut next);
        reached = next;
    }
    reached.last() == Some(&true)
}

fn mark(reached: &mut [bool], at: usize) {
    if let Some(place) = reached.get_mut(at) {
        *place = true;
    }
}

/// The part behind the last dot of the name, in lowercase.
fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
}

/// Endings of files that are kept by default.
const FIGURES: [&str; 13] =
    ["avif", "bmp", "eps", "gif", "jpeg", "jpg", "pdf", "png", "ps", "svg", "tif", "tiff", "webp"];

/// The MIME type of a file by its name. `runtime.blobs.write_file` has the same table.
fn kind_of(path: &str) -> &'static str {
    let ending = ending(path);
    KINDS.iter().find(|(known, _)| *known == ending).map_or(ANY_KIND, |(_, kind)| kind)
}

const KINDS: [(&str, &str); 46] = [
    ("arrow", "application/vnd.apache.arrow.file"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("db", "application/vnd.sqlite3"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("eps", "application/postscript"),
    ("feather", "application/vnd.apache.arrow.file"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ics", "text/calendar"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("mp3", "audio/mpeg"),
    ("npy", "application/x-npy"),
    ("npz", "application/zip"),
    ("parquet", "application/vnd.apache.parquet"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("ps", "application/postscript"),
    ("py", "text/x-python"),
    ("sqlite", "application/vnd.sqlite3"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("tsv", "text/tab-separated-values"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names_and_paths() {
        for (pattern, path) in [
            ("*.csv", "a.csv"),
            ("*.csv", "out/a.csv"),
            ("out/*.csv", "out/a.csv"),
            ("out/", "out/deep/a.csv"),
            ("**/*.csv", "a.csv"),
            ("**/*.csv", "x/y/a.csv"),
            ("out/**", "out/x/y"),
            ("/workspace/a.csv", "a.csv"),
            ("/tmp/a.csv", "a.csv"),
            ("./a.csv", "a.csv"),
            ("a?.txt", "aé.txt"),
            ("*", "deep/name"),
            ("**", "deep/name"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.csv", "a.csv.gz"),
            ("out/*.csv", "out/deep/a.csv"),
            ("out/*", "a"),
            ("a?.txt", "a.txt"),
            ("", "a"),
            ("A.csv", "a.csv"),
        ] {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn caches_of_libraries_are_not_listed() {
        assert!(is_cache(".matplotlib/fontlist.json") && is_cache("a/__pycache__/b.pyc"));
        assert!(!is_cache(".env") && !is_cache("cache/a") && !is_cache(".matplotlib"));
    }

    #[test]
    fn hostile_patterns_take_no_time() {
        let pattern = "*a".repeat(128);
        assert!(!fits(&pattern, &"a".repeat(127)));
        assert!(fits(&"**".repeat(128), &"a/".repeat(250)));
    }

    #[test]
    fn figures_are_told_by_their_endings() {
        for path in ["a.png", "x/B.SVG", "report.pdf"] {
            assert!(is_wanted(&KeepFiles::Figures, path), "{path}");
        }
        for path in ["png", "a.csv", "a.png.txt", ".png/a"] {
            assert!(!is_wanted(&KeepFiles::Figures, path), "{path}");
        }
    }

    /// The guest's table, read from its source.
    #[test]
    fn kinds_are_those_that_the_guest_would_choose() {
        let source = include_str!("../../../wasm/guest/runtime/blobs.py");
        let table = source.split("_KINDS = {").nth(1).unwrap().split('}').next().unwrap();
        let mut count = 0;
        for line in table.lines().filter(|line| line.contains(':')) {
            let mut texts = line.split('"');
            let (ending, kind) = (texts.nth(1).unwrap(), texts.nth(1).unwrap());
            assert_eq!(kind_of(&format!("x.{ending}")), kind);
            count += 1;
        }
        assert_eq!(count, KINDS.len());
    }
}
