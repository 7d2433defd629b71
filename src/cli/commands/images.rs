//! `wardian engine images`: the memory images in the cache, the latest first.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::assembly;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_table};
use crate::cli::terminal::readable::{first_digits, readable};
use wardian_config::Config;
use wardian_engine::cache::entry::Area;
use wardian_engine::report::FileReport;
use wardian_images::ImageUsage;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// The name of the file with an image's memory.
const MEMORY: &str = "memory.img";

/// The description of an image in a file of the cache.
#[derive(Debug, Serialize)]
struct ImageReport<'a> {
    name: &'a str,
    size_bytes: ByteCount,
    sha256: Digest,
    created_unix_seconds: u64,
    /// Recorded runs of all servers that began with the image.
    hits: u64,
    /// The time of the last one; 0 if there was none.
    last_used_unix_seconds: u64,
    path: &'a Path,
}

/// Lists the images.
pub(crate) fn images(config: &Config, as_json: bool) -> Result<Exit, Failed> {
    let report = assembly::open_engine(config)?.report()?;
    let images = images_in(&report.files);
    if as_json {
        print_json(&images);
        return Ok(Exit::Done);
    }
    if images.is_empty() {
        note("there are no images yet: `wardian engine install` builds one");
        return Ok(Exit::Done);
    }
    let rows = images.iter().map(|image| {
        let age =
            Clock::System.now().saturating_sub(Duration::from_secs(image.created_unix_seconds));
        let path = image.path.strip_prefix(&report.cache_folder).unwrap_or(image.path);
        vec![
            image.name.to_owned(),
            readable(image.size_bytes),
            age_of(age),
            image.hits.to_string(),
            first_digits(&image.sha256),
            path.display().to_string(),
        ]
    });
    print_table(&["image", "size", "made", "runs", "sha256", "file"], rows.collect());
    Ok(Exit::Done)
}

/// The images among the files of the cache, the latest first.
fn images_in(files: &[FileReport]) -> Vec<ImageReport<'_>> {
    let mut images: Vec<ImageReport<'_>> = files
        .iter()
        .filter(|file| {
            let area = file.path.ancestors().nth(2).and_then(Path::file_name);
            area == Some(OsStr::new(Area::Images.as_str()))
                && file.path.file_name() == Some(OsStr::new(MEMORY))
        })
        .map(|file| {
            let usage = file.path.parent().map(ImageUsage::read).unwrap_or_default();
            ImageReport {
                name: file.made_from.get("profile").map_or("unknown", String::as_str),
                size_bytes: file.size_bytes,
                sha256: file.sha256,
                created_unix_seconds: file.created_unix_seconds,
                hits: usage.hits,
                last_used_unix_seconds: usage.last_used_unix_seconds,
                path: &file.path,
            }
        })
        .collect();
    images.sort_by_key(|image| std::cmp::Reverse(image.created_unix_seconds));
    images
}

/// Formats an age in the largest unit that fits.
fn age_of(age: Duration) -> String {
    let seconds = age.as_secs();
    for (length, unit) in [(86_400, "d"), (3_600, "h"), (60, "min")] {
        if seconds >= length {
            return format!("{} {unit} ago", seconds / length);
        }
    }
    format!("{seconds} s ago")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn file(path: &str, created_unix_seconds: u64) -> FileReport {
        FileReport {
            path: path.into(),
            what: "a file".to_owned(),
            sha256: Digest::of(path.as_bytes()),
            size_bytes: ByteCount::mebibytes(83),
            made_from: BTreeMap::from([("profile".to_owned(), "base".to_owned())]),
            created_unix_seconds,
            is_used: true,
        }
    }

    #[test]
    fn images_are_listed_latest_first_and_nothing_else_is() {
        let files = [
            file("/c/images/1/open-files", 1),
            file("/c/images/1/memory.img", 1),
            file("/c/images/2/memory.img", 2),
            file("/c/engine/3/memory.img", 3),
            file("memory.img", 4),
        ];
        let images = images_in(&files);
        let found: Vec<_> = images.iter().map(|image| (image.name, image.path)).collect();
        let path = Path::new;
        assert_eq!(
            found,
            [("base", path("/c/images/2/memory.img")), ("base", path("/c/images/1/memory.img"))]
        );
    }

    #[test]
    fn ages_are_shown_in_the_largest_unit_that_fits() {
        for (seconds, text) in
            [(0, "0 s ago"), (119, "1 min ago"), (7_200, "2 h ago"), (864_000, "10 d ago")]
        {
            assert_eq!(age_of(Duration::from_secs(seconds)), text);
        }
    }
}
