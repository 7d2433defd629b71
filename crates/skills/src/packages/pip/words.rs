//! Reads the words of pip: its log, which names every file that a registry offers, and its errors.
//!
//! The words differ between versions of pip. A text that is not understood makes a message less
//! exact, and never a lock.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::str::FromStr as _;

use pep440_rs::Version;
use pep508_rs::{PackageName, Requirement};

use crate::packages::requirements::parse_requirement;
use crate::packages::wheel::WheelKind;
use wardian_vocabulary::ids::Digest;

/// The file that pip logs to, in its working folder.
pub(in crate::packages) const LOG: &str = "pip.log";

/// Longest part of a log that is read.
const MAX_LOG: u64 = 64 << 20;

/// Maximum number of files that are remembered of a log.
const MAX_FILES: usize = 100_000;

/// Longest file name that is remembered.
const MAX_NAME: usize = 255;

/// Most failures that are remembered of a log.
const MAX_FAULTS: usize = 16;

/// A registry did not answer, or refused to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the registry {registry} {problem}")]
pub struct RegistryFault {
    /// Its address, without credentials.
    pub registry: String,
    /// The problem, as a verb with its object.
    pub problem: String,
}

/// A file that a registry offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::packages) struct Offer {
    pub(in crate::packages) version: Version,
    pub(in crate::packages) kind: OfferKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::packages) enum OfferKind {
    /// A wheel that guests can have.
    Usable,
    /// A wheel with native code, or for another version of Python.
    Native,
    /// A source distribution.
    Source,
    /// A file that its author has withdrawn. pip takes it if exactly its version is required.
    Yanked,
}

/// What pip's log says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Usable,
    Unfit,
    Yanked,
}

/// The parts of pip's log that explain its choice.
#[derive(Debug, Default)]
pub(in crate::packages) struct PipLog {
    /// The names of files, with what pip says of them.
    files: BTreeSet<(String, Verdict)>,
    /// The packages that pip looked for.
    searched: BTreeSet<PackageName>,
    /// The registries that did not answer.
    faults: Vec<RegistryFault>,
    /// False if a part of the log was not read.
    is_whole: bool,
}

impl PipLog {
    /// Reads the log in pip's working folder. A log that cannot be read explains nothing.
    pub(in crate::packages) fn read(folder: &Path) -> Self {
        let mut log = Self::default();
        let Ok(file) = File::open(folder.join(LOG)) else { return log };
        let mut lines = BufReader::new(file.take(MAX_LOG));
        let mut line = Vec::new();
        log.is_whole = loop {
            line.clear();
            match lines.read_until(b'\n', &mut line) {
                Ok(0) => break lines.into_inner().limit() > 0,
                Ok(_) => log.add(&String::from_utf8_lossy(&line)),
                Err(_unreadable) => break false,
            }
        };
        log.is_whole &= log.files.len() < MAX_FILES;
        log
    }

    fn add(&mut self, line: &str) {
        if let Some(link) = line.split("Found link ").nth(1) {
            self.add_file(link, Verdict::Usable);
        } else if let Some(link) = line.split("Skipping link: ").nth(1) {
            let is_unfit = link.starts_with("none of the wheel's tags")
                || link.starts_with("No sources permitted")
                || link.split(": ").next().is_some_and(|why| why.contains(" Requires-Python "));
            if is_unfit {
                self.add_file(link, Verdict::Unfit);
            } else if link.starts_with("yanked for reason") {
                self.add_file(link, Verdict::Yanked);
            }
        } else if let Some(name) = line.split("to search for versions of ").nth(1) {
            self.searched.extend(PackageName::from_str(name.trim().trim_end_matches(':')));
        } else if let Some(failure) = line.split("Could not fetch URL ").nth(1) {
            let (url, reason) = failure.split_once(": ").unwrap_or((failure, ""));
            let reason = reason.trim_end().trim_end_matches(" - skipping");
            // The package does not exist, which is not a failure of the registry.
            if !["404 ", "410 "].iter().any(|status| reason.starts_with(status)) {
                self.add_fault(fault(registry_of(url), reason));
            }
        } else if let Some(host) = line.split("The repository located at ").nth(1) {
            let host = host.split(' ').next().unwrap_or_default();
            let problem = "is ignored by pip, because it is neither encrypted nor trusted: see \
                           pip's `--trusted-host`";
            self.add_fault(RegistryFault { registry: host.into(), problem: problem.into() });
        }
    }

    fn add_file(&mut self, text: &str, verdict: Verdict) {
        // The reason of a yanked file is free text, which may hold addresses too.
        let text = text.split(" (from ").next().unwrap_or_default();
        let url = text.split_whitespace().rfind(|word| word.contains("://"));
        let path = url.and_then(|url| url.split(['#', '?']).next());
        let file = path.and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        // pip puts a comma right behind the link of a local file.
        let file = file.trim_end_matches(',');
        if !file.is_empty() && file.len() <= MAX_NAME && self.files.len() < MAX_FILES {
            self.files.insert((file.replace("%2B", "+").replace("%2b", "+"), verdict));
        }
    }

    fn add_fault(&mut self, fault: RegistryFault) {
        if self.faults.len() < MAX_FAULTS && !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// The registries that did not answer.
    pub(in crate::packages) fn faults(&self) -> &[RegistryFault] {
        &self.faults
    }

    /// True if pip looked for the package.
    pub(in crate::packages) fn has_searched(&self, name: &PackageName) -> bool {
        self.searched.contains(name)
    }

    /// True if the log shows all files that pip was offered of the package.
    pub(in crate::packages) fn is_complete_for(&self, name: &PackageName) -> bool {
        self.is_whole && self.has_searched(name)
    }

    /// The files of a package that pip was offered.
    pub(in crate::packages) fn offers(&self, name: &PackageName) -> Vec<Offer> {
        let offers = self.files.iter().filter_map(|(file, verdict)| {
            let kind = match WheelKind::of(file) {
                WheelKind::Pure if *verdict == Verdict::Usable => OfferKind::Usable,
                WheelKind::Pure | WheelKind::Native => OfferKind::Native,
                WheelKind::Source => OfferKind::Source,
                WheelKind::Other => return None,
            };
            let version = version_of(file, kind, name)?;
            let is_yanked = *verdict == Verdict::Yanked;
            Some(Offer { version, kind: if is_yanked { OfferKind::Yanked } else { kind } })
        });
        offers.collect()
    }
}

/// The version in the name of a file, if it is a file of the package.
fn version_of(file: &str, kind: OfferKind, name: &PackageName) -> Option<Version> {
    let is_meant = |text: &str| PackageName::from_str(text).is_ok_and(|found| found == *name);
    if kind != OfferKind::Source {
        let mut parts = file.split('-');
        let (package, version) = (parts.next()?, parts.next()?);
        return is_meant(package).then(|| Version::from_str(&version.replace('_', "-")).ok())?;
    }
    let ends = [".tar.gz", ".zip", ".tar.bz2", ".tgz"];
    let stem = ends.iter().find_map(|end| file.strip_suffix(end))?;
    // The name of an old source distribution can contain hyphens.
    stem.match_indices('-').find_map(|(at, _)| {
        let (package, version) = (stem.get(..at)?, stem.get(at + 1..)?);
        is_meant(package).then(|| Version::from_str(version).ok())?
    })
}

/// The registry of a package's page, without credentials.
fn registry_of(page: &str) -> String {
    let page = without_credentials(page);
    let page = page.trim_end_matches('/');
    match page.rsplit_once('/') {
        Some((registry, _)) if !registry.ends_with('/') => registry.to_owned(),
        _ => page.to_owned(),
    }
}

/// Says what a registry did, from the words of pip's HTTP library.
fn fault(registry: String, reason: &str) -> RegistryFault {
    let status = reason.split(' ').next().unwrap_or_default();
    let problem = if status.len() == 3 && status.bytes().all(|digit| digit.is_ascii_digit()) {
        let phrase = reason.split(" for url").next().unwrap_or(reason);
        let phrase = phrase.split_once("Error: ").map_or("", |(_, phrase)| phrase);
        let verb = if status.starts_with('4') { "refuses the request" } else { "fails" };
        let advice = match status {
            "401" | "403" => "; pip's settings on this machine need other credentials for it",
            "407" => "; pip's settings on this machine need other credentials for the proxy",
            _ => "",
        };
        format!("{verb}: {}{advice}", one_line(format!("{status} {phrase}").trim()))
    } else {
        let cause = one_line(&cause_of(reason));
        // What is left of a call means nothing to a reader.
        let is_plain = !cause.is_empty() && !cause.contains("port=") && !cause.contains("host=");
        if reason.contains("timed out") {
            "cannot be reached: it does not answer in time".to_owned()
        } else if is_plain {
            format!("cannot be reached: {cause}")
        } else {
            "cannot be reached".to_owned()
        }
    };
    RegistryFault { registry, problem }
}

/// The innermost cause in the words of pip's HTTP library, which are nested calls.
fn cause_of(reason: &str) -> String {
    let cause = reason.rsplit("Caused by ").next().unwrap_or(reason);
    let is_frame = |letter: char| "'\")( .,".contains(letter);
    let inner = match cause.rsplit_once("] ") {
        Some((_, inner)) => inner,
        None => {
            let quoted = cause.rsplit(['\'', '"']);
            quoted
                .map(|part| part.trim_matches(is_frame))
                .find(|part| !part.is_empty())
                .unwrap_or(cause)
        }
    };
    let inner = inner.split(" (_ssl").next().unwrap_or(inner).trim_matches(is_frame);
    if cause.to_ascii_lowercase().contains("proxy") && !inner.to_ascii_lowercase().contains("proxy")
    {
        return format!("the proxy says {inner}");
    }
    inner.to_owned()
}

/// A text of one line, with at most 200 letters.
fn one_line(text: &str) -> String {
    const MOST: usize = 200;
    text.chars().filter(|letter| !letter.is_control()).take(MOST).collect()
}

/// The failure of a download in the words of pip.
pub(in crate::packages) fn download_fault(said: &str) -> Option<RegistryFault> {
    if let Some(rest) = said.split("HTTP error ").nth(1)
        && let Some((status, rest)) = rest.split_once(" while getting ")
    {
        let url = rest.split_whitespace().next().unwrap_or_default();
        return Some(fault(registry_of(url), &format!("{status} Error: ")));
    }
    let reason = said.split("due to an ").nth(1)?.lines().next()?;
    let (_, rest) = reason.split_once("ConnectionPool(host='")?;
    let host = rest.split('\'').next()?;
    let port = rest.split("port=").nth(1).and_then(|rest| rest.split(')').next())?;
    Some(fault(format!("{host}:{port}"), reason))
}

/// The requirement that no file fulfils, in the words of pip, and the package that has it; `None`
/// for one of the user.
pub(in crate::packages) fn missing_in(said: &str) -> Option<(Requirement, Option<String>)> {
    let missing = said.split("No matching distribution found for ").nth(1)?;
    let text = missing.lines().next()?.trim();
    let by = said.split("satisfies the requirement ").nth(1).and_then(|line| {
        let (_, by) = line.lines().next()?.split_once(" (from ")?;
        by.split(')').next()
    });
    // It is `-r requirements.txt (line 1)` for one of the user, or `versions: ...`.
    let by = by.filter(|by| PackageName::from_str(by).is_ok()).map(str::to_owned);
    Some((parse_requirement(text).ok()?, by))
}

/// The requirements that a conflict is about, each with the package that has it; `None` for one of
/// the user.
pub(in crate::packages) fn conflict_in(said: &str) -> Vec<(Requirement, Option<String>)> {
    let line = |line: &str| {
        let (text, by) = match line.trim().split_once(" depends on ") {
            Some((by, text)) => (text, Some(by.to_owned())),
            None => (line.trim().strip_prefix("The user requested ")?, None),
        };
        Some((parse_requirement(text.trim()).ok()?, by))
    };
    said.lines().filter_map(line).collect()
}

/// The expected and the found digest of a file that is another one, in the words of pip.
pub(in crate::packages) fn mismatch_in(said: &str) -> Option<(Digest, Digest)> {
    let after = |word: &str| {
        let mut words = said.lines().filter_map(|line| line.trim().strip_prefix(word));
        words.next().and_then(|digest| Digest::parse(digest.trim()).ok())
    };
    after("Expected sha256").zip(after("Got"))
}

/// A text whose URLs have no user, no password, no query and no fragment. Any of these can be a
/// credential: links to private registries are often signed.
pub(in crate::packages) fn without_credentials(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = next_url(rest) {
        safe.push_str(before);
        // A password may hold brackets and quotes, so a URL ends at white space alone.
        let end = after.find(char::is_whitespace).unwrap_or(after.len());
        let (url, remains) = after.split_at(end);
        let path = url.find(['/', '?', '#']).unwrap_or(url.len());
        let (authority, path) = url.split_at(path);
        safe.push_str(authority.rsplit('@').next().unwrap_or_default());
        safe.push_str(path.split(['?', '#']).next().unwrap_or_default());
        rest = remains;
    }
    safe.push_str(rest);
    safe
}

/// The text up to the next URL, its scheme included, and the text from its host on. pip's HTTP
/// library names URLs without scheme and host: `with url: /path`.
fn next_url(text: &str) -> Option<(&str, &str)> {
    let marks = ["://", "with url: "];
    let ends = marks.iter().filter_map(|mark| Some(text.find(mark)?.saturating_add(mark.len())));
    text.split_at_checked(ends.min()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> PipLog {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(LOG), text).unwrap();
        PipLog::read(folder.path())
    }

    #[test]
    fn a_log_tells_the_files_of_a_package() {
        let log = log("2026-01-01T00:00:00,001 1 location(s) to search for versions of a.b:\n\
             2026-01-01T00:00:00,001   Found link https://x.example/1/a_b-1.0-py3-none-any.whl#sha256=00 (from https://x.example/a-b/) (requires-python:>=3.8), version: 1.0\n\
             2026-01-01T00:00:00,001   Skipping link: No sources permitted for a-b: https://x.example/a-b-2.0.tar.gz?token=x (from https://x.example/a-b/)\n\
             2026-01-01T00:00:00,001   Skipping link: none of the wheel's tags (cp39-cp39-win32) are compatible (run pip debug --verbose to show compatible tags): https://x.example/a_b-3%2Blocal-cp39-cp39-win32.whl (from x)\n\
             2026-01-01T00:00:00,001   Skipping link: 4.0 Requires-Python <3: https://x.example/a_b-4.0-py3-none-any.whl (from x) (requires-python:<3)\n\
             2026-01-01T00:00:00,001   Skipping link: yanked for reason: see https://y.example/a_b-7.0-py3-none-any.whl: https://x.example/a_b-5.0-py3-none-any.whl (from x)\n\
             2026-01-01T00:00:00,001   Skipping link: in words of a later pip: https://x.example/a_b-6.0-py3-none-any.whl (from x)\n\
             2026-01-01T00:00:00,001 Skipping link: not a file: https://x.example/a-b/\n\
             2026-01-01T00:00:00,001   Found link https://x.example/1/a_b_c-9.0-py3-none-any.whl (from x), version: 9\n");
        let name = PackageName::from_str("A_B").unwrap();
        let offers = log.offers(&name);
        let mut found: Vec<_> =
            offers.iter().map(|one| (one.version.to_string(), one.kind)).collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [
            ("1.0", OfferKind::Usable),
            ("2.0", OfferKind::Source),
            ("3+local", OfferKind::Native),
            ("4.0", OfferKind::Native),
            ("5.0", OfferKind::Yanked),
        ];
        assert_eq!(found, expected.map(|(version, kind)| (version.to_owned(), kind)));
        assert!(log.is_complete_for(&name) && log.faults().is_empty());
        assert!(log.offers(&PackageName::from_str("a").unwrap()).is_empty());
        assert!(!PipLog::read(Path::new("/no/such/folder")).is_whole);
    }

    #[test]
    fn registries_that_fail_are_named_without_credentials() {
        for (line, expected) in [
            (
                "Could not fetch URL http://127.0.0.1:1/simple/a/: connection error: HTTPConnectionPool(host='127.0.0.1', port=1): Max retries exceeded with url: /simple/a/ (Caused by NewConnectionError('<pip._vendor.urllib3.connection.HTTPConnection object at 0x7fee84f28fd0>: Failed to establish a new connection: [Errno 111] Connection refused')) - skipping",
                "the registry http://127.0.0.1:1/simple cannot be reached: Connection refused",
            ),
            (
                "Could not fetch URL http://me:hunter2@x.example/simple/a/: 401 Client Error: Unauthorized for url: http://x.example/simple/a/?k=hunter2 - skipping",
                "the registry http://x.example/simple refuses the request: 401 Unauthorized; pip's settings on this machine need other credentials for it",
            ),
            (
                "Could not fetch URL https://x.example/simple/a/: There was a problem confirming the ssl certificate: HTTPSConnectionPool(host='x', port=443): Max retries exceeded with url: /simple/a/ (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)'))) - skipping",
                "the registry https://x.example/simple cannot be reached: certificate verify failed: self-signed certificate",
            ),
            (
                "Could not fetch URL https://x.example/simple/a/: HTTPSConnectionPool(host='x', port=443): Max retries exceeded with url: /simple/a/ (Caused by ResponseError('too many 503 error responses')) - skipping",
                "the registry https://x.example/simple cannot be reached: too many 503 error responses",
            ),
            (
                "Could not fetch URL https://x.example/simple/a/: connection error: HTTPSConnectionPool(host='x', port=443): Max retries exceeded with url: /simple/a/ (Caused by NameResolutionError(\"<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to resolve 'x.example' ([Errno -2] Name or service not known)\")) - skipping",
                "the registry https://x.example/simple cannot be reached: Name or service not known",
            ),
            (
                "Could not fetch URL https://x.example/simple/a/: connection error: HTTPSConnectionPool(host='x', port=443): Max retries exceeded with url: /simple/a/ (Caused by ProxyError('Cannot connect to proxy.', NewConnectionError('<x>: Failed to establish a new connection: [Errno 111] Connection refused'))) - skipping",
                "the registry https://x.example/simple cannot be reached: the proxy says Connection refused",
            ),
            (
                "Could not fetch URL https://x.example/simple/a/: timed out - skipping",
                "the registry https://x.example/simple cannot be reached: it does not answer in time",
            ),
            (
                "WARNING: The repository located at x.example is not a trusted or secure host and is being ignored. If",
                "the registry x.example is ignored by pip, because it is neither encrypted nor trusted: see pip's `--trusted-host`",
            ),
        ] {
            let log = log(&format!("2026-01-01T00:00:00,001 {line}\n"));
            let found: Vec<String> = log.faults().iter().map(ToString::to_string).collect();
            assert_eq!(found, [expected]);
        }
        let local =
            log("Skipping link: wrong project name (not b): file:///x/a-1-py3-none-any.whl\n\
             Found link file:///x/a-1-py3-none-any.whl, version: 1\n");
        let offers = local.offers(&PackageName::from_str("a").unwrap());
        assert!(matches!(offers.as_slice(), [Offer { kind: OfferKind::Usable, .. }]), "{offers:?}");
        let unknown = "Could not fetch URL https://x.example/simple/a/: 404 Client Error: Not Found for url: https://x.example/simple/a/ - skipping";
        assert!(log(unknown).faults().is_empty());
        let fault = download_fault("ERROR: HTTP error 403 while getting https://u:p@x.example/f/a-1-py3-none-any.whl?sig=1 (from x)").unwrap();
        let expected = "the registry https://x.example/f refuses the request: 403; pip's";
        assert!(fault.to_string().starts_with(expected), "{fault}");
        let fault = download_fault("ERROR: Could not install packages due to an OSError: HTTPConnectionPool(host='x.example', port=80): Max retries exceeded with url: /f (Caused by NewConnectionError('<x>: Failed to establish a new connection: [Errno 111] Connection refused'))\n").unwrap();
        assert_eq!(
            fault.to_string(),
            "the registry x.example:80 cannot be reached: Connection refused"
        );
        assert_eq!(
            download_fault(
                "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
            ),
            None
        );
    }

    #[test]
    fn urls_lose_their_credentials() {
        for (text, expected) in [
            ("https://u:p@a.example/x.whl?token=1#sha256=00", "https://a.example/x.whl"),
            ("from https://u:p@q@a.example (x)", "from https://a.example (x)"),
            ("('http://a.example?k=1') and http://b/#c, d", "('http://a.example and http://b/ d"),
            ("https://u:p>'\")(@a.example/x", "https://a.example/x"),
            ("exceeded with url: /x?token=1 (x)", "exceeded with url: /x (x)"),
            ("no address: a@b?c#d", "no address: a@b?c#d"),
        ] {
            assert_eq!(without_credentials(text), expected);
        }
    }

    #[test]
    fn another_digest_is_found_in_the_words_of_pip() {
        let (one, other) = (Digest::of(b"a"), Digest::of(b"b"));
        let said = format!(
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n    a==1 from x:\n        Expected sha256 {one}\n             Got        {other}\n"
        );
        assert_eq!(mismatch_in(&said), Some((one, other)));
        assert_eq!(mismatch_in("ERROR: no network"), None);
    }
}
