//! Results of tests that would end in the same way again: files in the cache folder.
//!
//! An entry counts if it is whole and its tests passed. Anything else is as good as no entry: failures
//! are always executed again.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::NamedTempFile;

use crate::cli::commands::test::project::hashed;
use crate::cli::commands::test::pytest_bytecode::FILE as BYTECODE;
use crate::cli::commands::test::report::outcomes::UnitReport;
use wardian_vocabulary::clock::Clock;

/// The folder in the cache folder.
const FOLDER: &str = "tests";

/// The name of the files of entries.
const ENDING: &str = ".result";

/// Largest entry, in bytes.
const MAX_ENTRY: u64 = 2 << 20;

/// Maximum number of entries, and of bytes of all of them. Beyond it those go that were used least
/// recently.
const MAX_ENTRIES: usize = 20_000;
const MAX_TOTAL: u64 = 128 << 20;

/// How old a file has to be that is not an entry yet, or never became one, before it is removed.
const UNFINISHED: Duration = Duration::from_secs(3_600);

/// The kept results.
#[derive(Debug)]
pub(crate) struct ResultCache {
    folder: PathBuf,
    clock: Clock,
    max_entries: usize,
    max_total: u64,
}

impl ResultCache {
    /// The results in the cache folder.
    pub(crate) fn new(cache_dir: &Path) -> Self {
        let folder = cache_dir.join(FOLDER);
        Self { folder, clock: Clock::System, max_entries: MAX_ENTRIES, max_total: MAX_TOTAL }
    }

    /// The folder of the entries, and of what else tests keep.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The result of this key, if it is kept and whole.
    pub(crate) fn find(&self, key: &str) -> Option<UnitReport> {
        let path = self.path(key);
        if !path.symlink_metadata().ok()?.is_file() {
            return None;
        }
        let file = File::open(&path).ok()?;
        let mut text = String::new();
        (&file).take(MAX_ENTRY.saturating_add(1)).read_to_string(&mut text).ok()?;
        let (sum, content) = text.split_once('\n')?;
        if sum != sum_of(key, content) {
            return None;
        }
        let report: UnitReport = serde_json::from_str(content).ok()?;
        if !report.is_good() || report.tests.is_empty() {
            return None;
        }
        // The time of the last use; an entry that cannot be marked is used nevertheless.
        file.set_modified(self.now()).ok();
        Some(UnitReport { is_cached: true, is_lasting: true, ..report })
    }

    /// Keeps a result whose tests passed and would pass again.
    pub(crate) fn keep(&self, key: &str, report: &UnitReport) -> io::Result<()> {
        if !report.is_lasting || !report.is_good() || report.tests.is_empty() {
            return Ok(());
        }
        let content = serde_json::to_string(report)?;
        let text = format!("{}\n{content}", sum_of(key, &content));
        if u64::try_from(text.len()).is_ok_and(|size| size > MAX_ENTRY) {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(self.path(key)).map(drop).map_err(|fault| fault.error)
    }

    /// Forgets a result.
    pub(crate) fn forget(&self, key: &str) {
        fs::remove_file(self.path(key)).ok();
    }

    /// Removes the entries that were used least recently until the rest is small enough.
    pub(crate) fn tidy(&self) -> io::Result<()> {
        let (mut entries, mut total) = (Vec::new(), 0_u64);
        let listed = match fs::read_dir(&self.folder) {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(()),
            listed => listed?,
        };
        for entry in listed {
            let path = entry?.path();
            // Another command may have removed it.
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let used = metadata.modified()?;
            let is_entry = path.to_string_lossy().ends_with(ENDING);
            let age = self.now().duration_since(used).unwrap_or_default();
            let is_bytecode = path.ends_with(BYTECODE);
            if !is_entry && !is_bytecode && age > UNFINISHED && metadata.is_file() {
                fs::remove_file(&path).ok();
            } else if is_entry {
                total = total.saturating_add(metadata.len());
                entries.push((used, metadata.len(), path));
            }
        }
        entries.sort();
        let mut count = entries.len();
        for (_, size, path) in entries {
            if count <= self.max_entries && total <= self.max_total {
                break;
            }
            fs::remove_file(&path).ok();
            count = count.saturating_sub(1);
            total = total.saturating_sub(size);
        }
        Ok(())
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}{ENDING}"))
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH.checked_add(self.clock.now()).unwrap_or(UNIX_EPOCH)
    }
}

/// The digest of an entry. An entry that was moved to another key is broken.
fn sum_of(key: &str, content: &str) -> String {
    hashed(format!("{key}\n{content}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::test::report::outcomes::{TestEnd, TestReport};

    fn report(outcome: TestEnd) -> UnitReport {
        UnitReport {
            suite: "a.py".to_owned(),
            tests: vec![TestReport::new("a.py::b", outcome, "", "")],
            fuel: Some(7),
            is_cached: false,
            is_lasting: true,
        }
    }

    #[test]
    fn whole_entries_of_tests_that_passed_are_found_and_others_are_misses() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ResultCache::new(folder.path());
        assert_eq!(cache.find("k"), None);
        cache.keep("k", &report(TestEnd::Passed)).unwrap();
        let found = cache.find("k").unwrap();
        assert!(found.is_cached);
        assert_eq!(UnitReport { is_cached: false, ..found }, report(TestEnd::Passed));
        cache.keep("failed", &report(TestEnd::Failed)).unwrap();
        let passing = UnitReport { is_lasting: false, ..report(TestEnd::Passed) };
        cache.keep("passing", &passing).unwrap();
        assert_eq!((cache.find("failed"), cache.find("passing")), (None, None));
        let whole = fs::read_to_string(cache.path("k")).unwrap();
        fs::copy(cache.path("k"), cache.path("moved")).unwrap();
        assert_eq!(cache.find("moved"), None, "an entry is for its key");
        let (sum, content) = whole.split_once('\n').unwrap();
        let forged = content.replace("passed", "failed");
        let failed = format!("{}\n{forged}", sum_of("k", &forged));
        for broken in
            ["", "x", whole.trim_end_matches('}'), &whole.replace("a.py", "b.py"), sum, &failed]
        {
            fs::write(cache.path("k"), broken).unwrap();
            assert_eq!(cache.find("k"), None, "{broken}");
        }
        fs::write(cache.path("k"), [0xff; 100]).unwrap();
        assert_eq!(cache.find("k"), None);
        fs::remove_file(cache.path("k")).unwrap();
        fs::create_dir(cache.path("k")).unwrap();
        assert_eq!(cache.find("k"), None);
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_what_was_used_last() {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = ResultCache { max_entries: 2, ..ResultCache::new(folder.path()) };
        assert!(cache.tidy().is_ok(), "without a folder there is nothing to do");
        for (second, key) in ["a", "b", "c"].iter().enumerate() {
            cache.keep(key, &report(TestEnd::Passed)).unwrap();
            let used = UNIX_EPOCH + Duration::from_secs(1_000 + u64::try_from(second).unwrap());
            File::open(cache.path(key)).unwrap().set_modified(used).unwrap();
        }
        cache.clock = Clock::Fixed(Duration::from_secs(2_000));
        assert!(cache.find("a").is_some(), "its use is noted");
        fs::write(cache.folder.join(BYTECODE), "").unwrap();
        File::open(cache.folder.join(BYTECODE)).unwrap().set_modified(UNIX_EPOCH).unwrap();
        fs::write(cache.folder.join(".tmp1"), "").unwrap();
        let old = File::open(cache.folder.join(".tmp1")).unwrap();
        old.set_modified(UNIX_EPOCH).unwrap();
        cache.clock = Clock::Fixed(UNFINISHED + Duration::from_secs(1));
        cache.tidy().unwrap();
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 3);
        assert!(cache.folder.join(BYTECODE).is_file(), "it stays, of whatever age");
        assert!(cache.find("a").is_some() && cache.find("b").is_none());
        cache.max_total = 0;
        cache.tidy().unwrap();
        assert_eq!(cache.find("a"), None);
    }
}
