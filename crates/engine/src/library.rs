//! Reads the files of the interpreter's library archive that the host needs.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Component, Path};

use zip::ZipArchive;

use crate::cache::file::PositionedFile;
use crate::error::EngineError;

/// Archive inside of the library with the files that matplotlib opens by path.
const MPL_DATA: &str = "matplotlib/mpl-data.zip";

/// Maximum number of bytes of the inner archive, and of all files in it. Both are about 10 MB.
const MAX_BYTES: u64 = 64 << 20;

/// Maximum number of files in the inner archive. There are some 200.
const MAX_FILES: usize = 4_096;

/// Returns matplotlib's data files: path below its data folder, with `/`, and content.
///
/// matplotlib opens them as files, which it cannot do inside of an archive, so they are mounted
/// as a folder.
///
/// # Errors
///
/// The archive cannot be read, or has entries with unsafe names.
pub fn mpl_data(library: &File) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
    read_all(library, MPL_DATA).map_err(|problem| EngineError::Archive {
        name: MPL_DATA.to_owned(),
        problem: "cannot be read",
        cause: problem.into(),
    })
}

fn read_all(library: &File, inner: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut outer = ZipArchive::new(PositionedFile::new(library))?;
    let bytes = read_bounded(&mut outer.by_name(inner)?, MAX_BYTES)?;
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    if archive.len() > MAX_FILES {
        return Err(io::Error::other("too many files"));
    }
    let mut files = Vec::new();
    let mut left = MAX_BYTES;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        let name = entry.name()?.into_owned();
        if entry.is_dir() {
            continue;
        }
        if !is_plain(&name) {
            return Err(io::Error::other(format!("strange name {name:?}")));
        }
        let content = read_bounded(&mut entry, left)?;
        left = left.saturating_sub(u64::try_from(content.len()).unwrap_or(left));
        files.push((name, content));
    }
    Ok(files)
}

/// True for a relative path of ordinary names.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty()
        && !name.contains(['\\', '\0'])
        && !name.contains("//")
        && !name.ends_with('/')
        && !name.starts_with("./")
        && !name.contains("/./")
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn read_bounded(from: &mut impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= limit) {
        Ok(bytes)
    } else {
        Err(io::Error::other("too long"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn library(inner: &[(&str, &[u8])]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&archive(&[("os.py", b"import sys"), (MPL_DATA, &archive(inner))])).unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn data_files_are_found_and_the_descriptor_is_not_moved() {
        let mut file = library(&[("fonts/a.ttf", b"font"), ("matplotlibrc", b"")]);
        let expected =
            [("fonts/a.ttf".to_owned(), b"font".to_vec()), ("matplotlibrc".to_owned(), vec![])];
        assert_eq!(mpl_data(&file).unwrap(), expected);
        assert_eq!(file.stream_position().unwrap(), 0);
    }

    #[test]
    fn strange_archives_are_refused() {
        for name in ["../x", "/x", "a//b", "a/../b", "./a", "a/./b", "a\\b", ".."] {
            assert!(mpl_data(&library(&[(name, b"")])).is_err(), "accepted {name:?}");
        }
        let many = (0..=MAX_FILES).map(|index| index.to_string()).collect::<Vec<_>>();
        let many = many.iter().map(|name| (name.as_str(), &b""[..])).collect::<Vec<_>>();
        assert!(mpl_data(&library(&many)).is_err());
        assert!(mpl_data(&tempfile::tempfile().unwrap()).is_err());
    }

    #[test]
    fn an_archive_that_unpacks_to_too_much_is_refused() {
        let zeros = vec![0; 1 << 20];
        let names = (0..65).map(|index| index.to_string()).collect::<Vec<_>>();
        let files = names.iter().map(|name| (name.as_str(), &zeros[..])).collect::<Vec<_>>();
        assert!(mpl_data(&library(&files)).is_err());
        assert!(mpl_data(&library(&files[1..])).is_ok());
    }
}
