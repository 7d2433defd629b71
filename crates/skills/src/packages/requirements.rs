//! Reads `requirements.txt`: a list of packages with versions and markers (PEP 508).
//!
//! The options of pip are refused: a list that pulls in other files, other registries or paths
//! would mean something else on another machine.

use std::str::FromStr as _;

use pep508_rs::{MarkerEnvironment, Requirement, VersionOrUrl};

use wardian_vocabulary::ids::Digest;

/// Largest file, in bytes.
pub const MAX_REQUIREMENTS: usize = 64 << 10;

/// Most packages that a file may name.
const MAX_PACKAGES: usize = 500;

/// The reason why a list of packages cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("requirements.txt, line {line}: {problem}")]
pub struct RequirementsError {
    /// The line, from 1.
    pub line: usize,
    /// The problem, with its solution.
    pub problem: String,
}

/// A list of packages.
#[derive(Debug, Clone)]
pub struct Requirements {
    list: Vec<Requirement>,
    digest: Digest,
}

impl Requirements {
    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// A line is not a requirement, or more than a requirement.
    pub fn parse(bytes: &[u8]) -> Result<Self, RequirementsError> {
        let refuse = |line, problem: &str| RequirementsError { line, problem: problem.to_owned() };
        if bytes.len() > MAX_REQUIREMENTS {
            return Err(refuse(1, "the file has more than 64 KiB"));
        }
        let text =
            std::str::from_utf8(bytes).map_err(|_invalid| refuse(1, "the file is not UTF-8"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut list = Vec::new();
        for (number, line) in joined_lines(text) {
            let line = without_comment(&line).trim().to_owned();
            if line.is_empty() {
                continue;
            }
            let requirement =
                parse_line(&line).map_err(|problem| RequirementsError { line: number, problem })?;
            list.push(requirement);
            if list.len() > MAX_PACKAGES {
                return Err(refuse(number, "there are more than 500 packages"));
            }
        }
        let digest = digest_of(&list);
        Ok(Self { list, digest })
    }

    /// Identifies the requirements, whatever their order, comments and spaces.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The requirements that apply to guests.
    pub fn that_apply<'a>(
        &'a self,
        markers: &'a MarkerEnvironment,
    ) -> impl Iterator<Item = &'a Requirement> {
        self.list.iter().filter(|one| one.evaluate_markers(markers, &[]))
    }

    /// True if nothing is required.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// The lines with their numbers. A backslash at the end joins a line with the next.
fn joined_lines(text: &str) -> Vec<(usize, String)> {
    let mut joined: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (line, number) in text.lines().zip(1..) {
        let (part, continues) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        match joined.last_mut().filter(|_| goes_on) {
            Some((_, whole)) => whole.push_str(part),
            None => joined.push((number, part.to_owned())),
        }
        goes_on = continues;
    }
    joined
}

/// Cuts a comment off. A `#` within a word is none.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        if letter == '#' && before.is_whitespace() {
            return line.get(..at).unwrap_or_default();
        }
        before = letter;
    }
    line
}

fn parse_line(line: &str) -> Result<Requirement, String> {
    let word = line.split_whitespace().next().unwrap_or_default();
    if word.starts_with('-') {
        let option = word.split('=').next().unwrap_or(word);
        return Err(format!(
            "`{}` is an option of pip; only packages can be listed, such as `idna>=3`",
            shown(option)
        ));
    }
    if line.contains(" --") {
        return Err("options and hashes do not belong here: the lock file has the \
            hashes"
            .to_owned());
    }
    if line.contains("://") || line.contains('@') || is_path(word) {
        return Err(format!(
            "`{}` is a location; packages are required by name, such as `idna>=3`, and \
             `wardian skills deps lock --from FOLDER` finds its wheel in a folder",
            shown(word)
        ));
    }
    let requirement = parse_requirement(line)
        .map_err(|problem| format!("`{}` is not a requirement: {problem}", shown(line)))?;
    match requirement.version_or_url {
        Some(VersionOrUrl::Url(_)) => Err("packages are required by name".to_owned()),
        _ => Ok(requirement),
    }
}

/// Reads one requirement (PEP 508). All code of `packages` that does so calls this function: the
/// library panics if the name or an extra ends with punctuation, and cuts other characters than
/// those of ASCII in two.
pub(super) fn parse_requirement(text: &str) -> Result<Requirement, String> {
    if !text.is_ascii() {
        return Err("requirements must be ASCII".to_owned());
    }
    let plain = text.split(';').next().unwrap_or_default();
    let in_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name = plain.trim_start().split(|letter| !in_name(letter)).next();
    let extras = plain.split_once('[').map_or("", |(_, extras)| extras);
    let extras = extras.split(']').next().unwrap_or_default();
    let extras = extras.split(|letter| !in_name(letter));
    if name.into_iter().chain(extras).any(|word| word.ends_with(['-', '_', '.'])) {
        return Err("names of packages and extras end with a letter or a digit".to_owned());
    }
    Requirement::from_str(text).map_err(|error| error.message.to_string())
}

fn is_path(word: &str) -> bool {
    word.starts_with(['.', '/', '~']) || word.contains(['/', '\\']) || word.ends_with(".whl")
}

/// The beginning of a text, for a message.
fn shown(text: &str) -> String {
    text.chars().take(80).collect::<String>().escape_debug().to_string()
}

fn digest_of(list: &[Requirement]) -> Digest {
    let mut lines: Vec<String> = list.iter().map(ToString::to_string).collect();
    lines.sort();
    lines.dedup();
    Digest::of(lines.join("\n").as_bytes())
}

/// The versions that a requirement admits.
#[must_use]
pub(crate) fn admits(requirement: &Requirement, version: &pep440_rs::Version) -> bool {
    match &requirement.version_or_url {
        None => true,
        Some(VersionOrUrl::VersionSpecifier(specifiers)) => specifiers.contains(version),
        Some(VersionOrUrl::Url(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let read = Requirements::parse(text.as_bytes()).unwrap();
        read.list.iter().map(ToString::to_string).collect()
    }

    proptest::proptest! {
        #[test]
        fn no_requirement_makes_the_library_panic(
            words in proptest::collection::vec(proptest::sample::select(WORDS), 0..20)
        ) {
            drop(parse_requirement(&words.concat()));
        }
    }

    /// Parts of requirements, in no order.
    const WORDS: &[&str] = &[
        "a",
        "b1",
        "-",
        "_",
        ".",
        "[",
        "]",
        ",",
        ";",
        " ",
        "(",
        ")",
        "'",
        "\"",
        "@",
        "#",
        "<=",
        "==",
        "~=",
        "!=",
        "===",
        "*",
        "1",
        "1.0rc1",
        "999999999999999999999",
        "and",
        "or",
        "in",
        "not in",
        "not",
        "python_version",
        "sys_platform",
        "extra",
        "https://x/y",
        "é",
        "\u{3000}",
        "\u{1e0}",
    ];

    #[test]
    fn names_that_end_with_punctuation_are_refused() {
        let names = ["lock-vock- ", "a-", "a_ >=1", "a. ; python_version > '3'", "a-[x]", "é- "];
        let extras = ["a[x-]", "a[x, y.]", "a [ x_ , y ] >=1", "a[x-", "a[x-,]"];
        for line in names.into_iter().chain(extras) {
            assert!(parse_requirement(line).is_err(), "{line}");
            assert!(Requirements::parse(line.as_bytes()).is_err(), "{line}");
        }
        for line in ["a", " a-b.c_d>=1", "zope.interface [x, y] ; python_version > '3'", "a[]"] {
            assert!(parse_requirement(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn packages_versions_extras_and_markers_are_read() {
        let text = "\u{feff}# tools\nIdna >= 3 , <4  # names\n\nhttpx[http2]==0.28.*\n\
                    a.b_c; python_version < '3.15' \\\n  and os_name == 'posix'\n";
        assert_eq!(lines(text).len(), 3);
        assert_eq!(lines("Idna>=3,<4"), ["idna>=3,<4"]);
        assert!(Requirements::parse(b"# nothing\n").unwrap().is_empty());
    }

    #[test]
    fn the_digest_is_that_of_the_meaning() {
        let digest = |text: &str| Requirements::parse(text.as_bytes()).unwrap().digest();
        assert_eq!(digest("a>=1\nB"), digest("# x\n b \n\nA  >=1 # y\n"));
        assert_ne!(digest("a>=1"), digest("a>=2"));
    }

    #[test]
    fn options_and_places_are_refused_by_line() {
        for (text, expected) in [
            ("a\n-r other.txt", "line 2: `-r` is an option of pip"),
            ("--index-url=https://x/simple", "line 1: `--index-url` is an option"),
            ("-e .", "`-e` is an option"),
            ("a==1 --hash=sha256:00", "hashes do not belong here"),
            ("a @ https://example.com/a.whl", "is a location"),
            ("git+https://example.com/a", "is a location"),
            ("./a.whl", "is a location"),
            ("a-1-py3-none-any.whl", "is a location"),
            ("../../etc/passwd", "is a location"),
            ("a b", "`a b` is not a requirement"),
            ("a>=", "is not a requirement"),
            ("a; nonsense", "is not a requirement"),
        ] {
            let error = Requirements::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(Requirements::parse(&vec![b'#'; MAX_REQUIREMENTS + 1]).is_err());
        assert!(Requirements::parse(b"\xff").is_err());
        let many: String = (0..=MAX_PACKAGES).map(|n| format!("a{n}\n")).collect();
        assert!(Requirements::parse(many.as_bytes()).is_err());
    }
}
