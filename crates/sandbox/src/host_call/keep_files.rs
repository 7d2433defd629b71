//! Stores the files that a program left in its workspace, after its end.
//!
//! The host finds the files and their sizes in its own file system, without the guest. Files that a
//! call asks for count against the run's limits on calls and bytes like any blob that it writes.
//! Those that are kept by default have their own bounds, so that a program that has used up its
//! limits loses none.
//!
//! INVARIANT(named-or-kept): by default each file that is listed is kept or says why not.

use crate::host_call::account::HostCallAccount;
use crate::vfs::{FileSystem, Harvest, WorkspaceFile};
use wardian_formats::job::outcome::{
    HIDDEN_NOT_KEPT, KeptFile, LeftFile, LeftFiles, MAX_LEFT_FILES, MAX_LEFT_PATH, MAX_NOT_KEPT,
};
use wardian_formats::job::{KeepBounds, KeepFiles};
use wardian_vocabulary::units::ByteCount;

/// Most figures that records of earlier versions keep.
const MAX_FIGURES: usize = 20;

/// Kind of a file with an unknown ending.
const ANY_KIND: &str = "application/octet-stream";

/// Lists the files of the workspace that `harvest` means, and stores those that `keep` selects. The
/// guest's memory may still grow by `room` bytes.
pub(crate) fn keep_files(
    files: &FileSystem,
    account: &mut HostCallAccount,
    (keep, harvest): (&KeepFiles, Harvest),
    room: u64,
) -> LeftFiles {
    let (mut found, total) = files.workspace_files(MAX_LEFT_PATH, harvest);
    let before = found.len();
    found.retain(|file| !is_cache(&file.path));
    let caches = u64::try_from(before.saturating_sub(found.len())).unwrap_or(0);
    let total = total.saturating_sub(caches);
    if found.is_empty() {
        return LeftFiles { listed: Vec::new(), total };
    }
    let verdicts = match keep {
        KeepFiles::Usual(bounds) => judge_by_bounds(&mut found, bounds),
        keep => judge_by_wish(&found, keep),
    };
    let is_cancelled = account.is_cancelled();
    let is_charged = !matches!(keep, KeepFiles::Usual(_));
    let (mut listed, mut others, mut hidden) = (Vec::new(), Vec::new(), Vec::new());
    for (file, verdict) in found.into_iter().zip(verdicts) {
        match verdict {
            Verdict::Keep if is_cancelled() => {
                listed.push(listed_file(file, Err("the run was cancelled".to_owned())));
            }
            Verdict::Keep => {
                let stored = store(files, account, &file, (room, is_charged));
                listed.push(listed_file(file, stored.map(Some)));
            }
            Verdict::Beyond(reason) => others.push(listed_file(file, Err(reason))),
            Verdict::Hidden => hidden.push(listed_file(file, Err(HIDDEN_NOT_KEPT.to_owned()))),
            Verdict::Unasked => hidden.push(listed_file(file, Ok(None))),
        }
    }
    listed.append(&mut others);
    listed.append(&mut hidden);
    listed.truncate(MAX_LEFT_FILES);
    LeftFiles { listed, total }
}

/// What happens to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// It passes a bound; the reason, with the way out.
    Beyond(String),
    /// Its name, or that of a folder above it, begins with a dot.
    Hidden,
    /// The call did not ask for it.
    Unasked,
}

/// Judges files that nobody asked for, and orders them: results lie at the top, and what was
/// unpacked or generated in thousands lies in folders. A file that does not fit leaves its room to
/// those behind it.
fn judge_by_bounds(found: &mut [WorkspaceFile], bounds: &KeepBounds) -> Vec<Verdict> {
    let depth = |path: &str| path.split('/').count();
    found.sort_by(|one, other| {
        (depth(&one.path), &one.path).cmp(&(depth(&other.path), &other.path))
    });
    let (mut count, mut total) = (0_u32, 0_u64);
    let judge = |file: &WorkspaceFile| {
        if file.path.split('/').any(|part| part.starts_with('.')) {
            return Verdict::Hidden;
        }
        let sum = total.saturating_add(file.size);
        if file.size > bounds.max_size.as_u64() {
            let most = bounds.max_size;
            return Verdict::Beyond(format!(
                "only files up to {most} are kept by default (`limits.keep_files.max_size`); name \
                 it in `keep_files` to keep it"
            ));
        }
        if count >= bounds.count {
            let most = bounds.count;
            return Verdict::Beyond(format!(
                "only {most} files are kept by default (`limits.keep_files.count`); choose them \
                 with patterns in `keep_files`, or leave one archive"
            ));
        }
        if sum > bounds.total_size.as_u64() {
            let most = bounds.total_size;
            return Verdict::Beyond(format!(
                "only {most} in all are kept by default (`limits.keep_files.total_size`); name it \
                 in `keep_files` to keep it"
            ));
        }
        (count, total) = (count.saturating_add(1), sum);
        Verdict::Keep
    };
    found.iter().map(judge).collect()
}

/// Judges files by what the call asked for.
fn judge_by_wish(found: &[WorkspaceFile], keep: &KeepFiles) -> Vec<Verdict> {
    let most = if *keep == KeepFiles::Figures { MAX_FIGURES } else { MAX_LEFT_FILES };
    let mut count = 0_usize;
    let judge = |file: &WorkspaceFile| {
        if !is_wanted(keep, &file.path) {
            return Verdict::Unasked;
        }
        count = count.saturating_add(1);
        match keep {
            _ if count <= most => Verdict::Keep,
            KeepFiles::Figures => Verdict::Unasked,
            _ => Verdict::Beyond(format!(
                "a run can keep at most at most {most} files: leave one archive"
            )),
        }
    };
    found.iter().map(judge).collect()
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
    (room, is_charged): (u64, bool),
) -> Result<KeptFile, String> {
    let kind = kind_of(&file.path);
    if is_charged && file.size > account.bytes_left() {
        return Err("it is larger than what remains of the run's limit on sent bytes".to_owned());
    }
    let path = format!("/workspace/{}", file.path);
    let mut content =
        files.open_file(&path, file.size).map_err(|_errno| "it cannot be read".to_owned())?;
    let room = files.free_bytes().saturating_add(room);
    if is_charged {
        let size = ByteCount::bytes(content.size).as_usize();
        account.charge(size).map_err(|refusal| refusal.message)?;
    }
    let stored = account.write_blob_from(kind, &mut content, room);
    let id = stored.map_err(|refusal| refusal.message)?;
    Ok(KeptFile { id, kind: kind.to_owned() })
}

fn is_wanted(keep: &KeepFiles, path: &str) -> bool {
    match keep {
        KeepFiles::Nothing => false,
        KeepFiles::All | KeepFiles::Usual(_) => true,
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

/// Endings of figures.
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
    use proptest::prelude::*;

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

    fn judged(sizes: &[(&str, u64)], bounds: KeepBounds) -> Vec<(String, Verdict)> {
        let file = |(path, size): &(&str, u64)| WorkspaceFile { path: (*path).into(), size: *size };
        let mut found: Vec<_> = sizes.iter().map(file).collect();
        let verdicts = judge_by_bounds(&mut found, &bounds);
        found.into_iter().map(|file| file.path).zip(verdicts).collect()
    }

    fn bounds(count: u32, max_size: u64, total_size: u64) -> KeepBounds {
        let (max_size, total_size) = (ByteCount::bytes(max_size), ByteCount::bytes(total_size));
        KeepBounds { count, max_size, total_size }
    }

    #[test]
    fn results_come_before_what_lies_in_folders() {
        let files = [("archive/a", 1), ("archive/b", 1), ("report.xlsx", 1), (".env", 1)];
        let judged = judged(&files, bounds(2, 9, 9));
        let order: Vec<&str> = judged.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(order, [".env", "report.xlsx", "archive/a", "archive/b"]);
        assert_eq!(judged[0].1, Verdict::Hidden);
        assert_eq!((&judged[1].1, &judged[2].1), (&Verdict::Keep, &Verdict::Keep));
        assert!(matches!(&judged[3].1, Verdict::Beyond(why) if why.contains("count")));
    }

    #[test]
    fn what_passes_a_bound_says_which_and_leaves_its_room() {
        let files = [("a", 6), ("b", 9), ("c", 5), ("d", 4)];
        let verdicts: Vec<String> = judged(&files, bounds(9, 8, 10))
            .into_iter()
            .map(|(_, verdict)| match verdict {
                Verdict::Beyond(why) => why,
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!((verdicts[0].as_str(), verdicts[3].as_str()), ("Keep", "Keep"));
        assert!(
            verdicts[1].contains("8 bytes") && verdicts[1].contains("max_size"),
            "{verdicts:?}"
        );
        assert!(
            verdicts[2].contains("10 bytes") && verdicts[2].contains("total_size"),
            "{verdicts:?}"
        );
        assert!(verdicts.iter().all(|why| why.len() <= MAX_NOT_KEPT));
    }

    proptest! {
        #[test]
        fn named_or_kept_within_all_bounds(
            files in prop::collection::vec(("[.a-c]{1,3}(/[.a-c]{1,2}){0,2}", 0_u64..20), 0..30),
            count in 0_u32..6, max_size in 0_u64..20, total_size in 0_u64..40,
        ) {
            let files: Vec<(&str, u64)> =
                files.iter().map(|(path, size)| (path.as_str(), *size)).collect();
            let bounds = bounds(count, max_size, total_size);
            let mut found: Vec<_> = files
                .iter()
                .map(|(path, size)| WorkspaceFile { path: (*path).into(), size: *size })
                .collect();
            let verdicts = judge_by_bounds(&mut found, &bounds);
            prop_assert_eq!(verdicts.len(), files.len());
            let kept = || found.iter().zip(&verdicts).filter(|(_, one)| **one == Verdict::Keep);
            prop_assert!(kept().count() <= count as usize);
            prop_assert!(kept().all(|(file, _)| file.size <= max_size));
            let is_hidden = |path: &str| path.split('/').any(|part| part.starts_with('.'));
            prop_assert!(kept().all(|(file, _)| !is_hidden(&file.path)));
            prop_assert!(kept().map(|(file, _)| file.size).sum::<u64>() <= total_size);
            prop_assert!(!verdicts.contains(&Verdict::Unasked));
            // Whatever was left out would not have fitted.
            let used: u64 = kept().map(|(file, _)| file.size).sum();
            for (file, verdict) in found.iter().zip(&verdicts) {
                if let Verdict::Beyond(why) = verdict {
                    let fits = kept().count() < count as usize
                        && file.size <= max_size && used + file.size <= total_size;
                    prop_assert!(!fits, "{} {why}", file.path);
                }
            }
        }
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
        let source = include_str!("../../../../wasm/guest/runtime/blobs.py");
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
