//! `--out FOLDER` of `run` and `exec`: writes what a run has left as files.
//!
//! A file of the workspace keeps its path, so `charts/a.png` becomes `FOLDER/charts/a.png`. Other
//! blobs have the name that the program gave them, or that of the member of its output that has their
//! id, or a word for their kind.
//!
//! INVARIANT(inside-the-folder): paths and names come from a program that nobody trusts. Each part of
//! a path is one plain name, no link is followed below the folder, and no existing file is changed:
//! other content gets a name with a number, such as `a (2).png`, and is reported under it.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::cli::commands::blobs::{copy_blob, open_blob};
use crate::cli::failed::Failed;
use wardian_formats::protocol::methods::execution::FileResult;
use wardian_service::sole_tenant;
use wardian_stores::blobs::content::file_name::telling_name;
use wardian_stores::blobs::{LocalBlobStore, OpenBlob, StoredBlob};
use wardian_vocabulary::ids::{BlobId, BlobName};

/// Most names that are tried for one file.
const MAX_NUMBER: u32 = 10_000;

/// Bytes that are compared at a time.
const CHUNK: usize = 256 << 10;

/// A blob that was written as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedFile {
    /// The blob.
    pub(crate) id: BlobId,
    /// The file.
    pub(crate) path: PathBuf,
    /// True if the file already existed, with this content.
    pub(crate) is_unchanged: bool,
    /// True if a file of the same name and other content was left alone.
    pub(crate) is_renamed: bool,
}

/// Writes the files and blobs of a run into a folder. `called` knows what the program calls a blob.
pub(crate) fn save_all(
    store: &LocalBlobStore,
    files: &[FileResult],
    blobs: &[BlobId],
    called: impl Fn(&BlobId) -> Option<String>,
    folder: &Path,
) -> Result<Vec<SavedFile>, Failed> {
    fs::create_dir_all(folder).map_err(|fault| Failed::named(folder.display(), &fault))?;
    let mut saved = Vec::new();
    let name_of = |blob: &StoredBlob| match &blob.name {
        Some(name) => name.to_string(),
        None => telling_name(called(&blob.id).as_deref(), blob.kind.as_str()),
    };
    for file in files {
        let Some(id) = &file.blob_id else { continue };
        let blob = store.stat(&sole_tenant(), id)?;
        let place = place_of(&file.path).unwrap_or_else(|| vec![name_of(&blob)]);
        saved.push(save(store, &blob, folder, &place)?);
    }
    for id in blobs {
        if !files.iter().any(|file| file.blob_id.as_ref() == Some(id)) {
            let blob = store.stat(&sole_tenant(), id)?;
            saved.push(save(store, &blob, folder, &[name_of(&blob)])?);
        }
    }
    Ok(saved)
}

/// The parts of a path of the workspace, if each is a plain name.
fn place_of(path: &str) -> Option<Vec<String>> {
    path.split('/').map(|part| Some(BlobName::parse(part).ok()?.to_string())).collect()
}

fn save(
    store: &LocalBlobStore,
    blob: &StoredBlob,
    folder: &Path,
    place: &[String],
) -> Result<SavedFile, Failed> {
    let (name, folders) =
        place.split_last().ok_or_else(|| Failed::because("a file has no name"))?;
    let mut folder = folder.to_owned();
    for part in folders {
        folder.push(part);
        ensure_folder(&folder)?;
    }
    for number in 1..=MAX_NUMBER {
        let path = folder.join(numbered(name, number));
        let is_renamed = number > 1;
        let done = |is_unchanged| SavedFile {
            id: blob.id.clone(),
            path: path.clone(),
            is_unchanged,
            is_renamed,
        };
        match File::options().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                let opened = open_blob(store, &blob.id)?;
                copy_blob(opened, |piece| file.write_all(piece)).inspect_err(|_| {
                    // Half of a file is worse than none.
                    fs::remove_file(&path).ok();
                })?;
                return Ok(done(false));
            }
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
                if has_content(&path, open_blob(store, &blob.id)?) {
                    return Ok(done(true));
                }
            }
            Err(fault) => return Err(Failed::named(path.display(), &fault)),
        }
    }
    Err(Failed::usage(format!("{} has too many files with this name", folder.display())))
}

/// Makes a folder below the one that the user named. A link there could lead anywhere.
fn ensure_folder(path: &Path) -> Result<(), Failed> {
    match fs::create_dir(path) {
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map_err(|fault| Failed::named(path.display(), &fault)),
    }
    let found =
        fs::symlink_metadata(path).map_err(|fault| Failed::named(path.display(), &fault))?;
    if found.is_dir() {
        return Ok(());
    }
    Err(Failed::usage(format!("{} exists and is not a folder", path.display())))
}

/// A name with its number, which stands before the ending; the first has none.
fn numbered(name: &str, number: u32) -> String {
    if number == 1 {
        return name.to_owned();
    }
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((stem, ending)) => format!("{stem} ({number}).{ending}"),
        None => format!("{name} ({number})"),
    }
}

/// True if a regular file has the content of a blob. What cannot be read has other content.
fn has_content(path: &Path, blob: OpenBlob<File>) -> bool {
    let is_file = fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_file() && found.len() == blob.blob.size.as_u64());
    let Ok(mut file) = File::open(path) else { return false };
    if !is_file {
        return false;
    }
    let mut theirs = vec![0; CHUNK];
    let compared = copy_blob(blob, |piece| {
        let theirs = theirs.get_mut(..piece.len()).unwrap_or_default();
        file.read_exact(theirs)?;
        if theirs == piece { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    });
    compared.is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;
    use wardian_stores::blobs::BlobStoreConfig;
    use wardian_stores::blobs::content::kind::BlobKind;
    use wardian_vocabulary::clock::Clock;

    struct Place {
        store: LocalBlobStore,
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let config = BlobStoreConfig::at(folder.path().join("blobs"));
            Self { store: LocalBlobStore::open(config, Clock::System).unwrap(), folder }
        }

        fn file(&self, path: &str, content: &str) -> FileResult {
            let kind = BlobKind::parse("text/plain").unwrap();
            let blob = self.store.put(&sole_tenant(), &kind, content.as_bytes()).unwrap();
            FileResult {
                path: path.to_owned(),
                size_bytes: 1,
                blob_id: Some(blob.id),
                kind: None,
                not_kept: None,
            }
        }

        fn called(&self) -> impl Fn(&BlobId) -> Option<String> {
            let chart = self.file("", "chart").blob_id;
            move |id| (Some(id) == chart.as_ref()).then(|| "chart".to_owned())
        }

        fn save(&self, files: &[FileResult], blobs: &[BlobId]) -> Vec<String> {
            let out = self.folder.path().join("out");
            let saved = save_all(&self.store, files, blobs, self.called(), &out).unwrap();
            let shown =
                |saved: &SavedFile| saved.path.strip_prefix(&out).unwrap().display().to_string();
            saved.iter().map(shown).collect()
        }

        fn read(&self, path: &str) -> String {
            fs::read_to_string(self.folder.path().join("out").join(path)).unwrap()
        }
    }

    #[test]
    fn files_keep_their_paths_and_blobs_their_names() {
        let place = Place::new();
        let files = [place.file("a.txt", "1"), place.file("charts/deep/a.txt", "2")];
        let named = place.file("", "3").blob_id.unwrap();
        let names = [(named.clone(), BlobName::parse("b.csv").unwrap())];
        place.store.set_names(&sole_tenant(), &names).unwrap();
        let unnamed = place.file("", "4").blob_id.unwrap();
        let called = place.file("", "chart").blob_id.unwrap();
        let blobs = [files[0].blob_id.clone().unwrap(), named, unnamed, called];
        let expected = ["a.txt", "charts/deep/a.txt", "b.csv", "text.txt", "chart.txt"];
        assert_eq!(place.save(&files, &blobs), expected);
        for (path, content) in expected.iter().zip(["1", "2", "3", "4", "chart"]) {
            assert_eq!(place.read(path), content);
        }
    }

    #[test]
    fn no_file_is_changed_and_equal_ones_stay() {
        let place = Place::new();
        assert_eq!(place.save(&[place.file("a.txt", "1")], &[]), ["a.txt"]);
        assert_eq!(place.save(&[place.file("a.txt", "2")], &[]), ["a (2).txt"]);
        assert_eq!(place.save(&[place.file("a.txt", "2")], &[]), ["a (2).txt"]);
        assert_eq!(place.save(&[place.file("a.txt", "1")], &[]), ["a.txt"]);
        assert_eq!((place.read("a.txt"), place.read("a (2).txt")), ("1".into(), "2".into()));
        assert_eq!((numbered(".env", 2), numbered("a", 3)), (".env (2)".into(), "a (3)".into()));
    }

    #[test]
    fn inside_the_folder_whatever_a_program_names() {
        let place = Place::new();
        let files =
            ["../a", "/etc/x", "a/../../b", "a//b", "a\nb", ""].map(|path| place.file(path, path));
        for path in place.save(&files, &[]) {
            assert!(!path.contains('/') && path.ends_with(".txt"), "{path}");
        }
        let outside = place.folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let out = place.folder.path().join("out");
        symlink(&outside, out.join("link")).unwrap();
        symlink(outside.join("file"), out.join("dangling")).unwrap();
        let refused =
            save_all(&place.store, &[place.file("link/x", "1")], &[], place.called(), &out);
        assert!(refused.unwrap_err().to_string().contains("is not a folder"));
        assert_eq!(place.save(&[place.file("dangling", "1")], &[]), ["dangling (2)"]);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    proptest! {
        #[test]
        fn parts_of_any_path_are_plain(path in "[./a\\\\\\PC]{0,12}") {
            for part in place_of(&path).unwrap_or_default() {
                prop_assert!(!part.contains('/') && part != ".." && part != "." && !part.is_empty());
            }
        }
    }
}
