//! The addresses of skills' files: `skill://NAME/FOLDER/PATH`.
//!
//! The extension wants a folder whose name is that of the skill in letters, digits and single dashes.
//! So `data.csv.profile` has the folder `data-csv-profile`; the name before it keeps two skills apart
//! whose folders have one name.

/// The scheme of the addresses.
pub(crate) const SCHEME: &str = "skill://";

/// Longest name of a folder.
const MAX_FOLDER: usize = 64;

/// The place of a file or folder of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillPlace {
    /// The name of the skill.
    pub skill: String,
    /// The path below the skill's folder; empty for the folder itself.
    pub path: String,
}

/// The folder of a skill, if its name can be that of one.
pub(crate) fn folder_of(skill: &str) -> Option<String> {
    let folder = skill.replace('.', "-");
    (folder.len() <= MAX_FOLDER && !folder.contains("--")).then_some(folder)
}

/// The address of a file of a skill, or of its folder for the empty path.
pub(crate) fn uri_of(skill: &str, path: &str) -> Option<String> {
    let folder = folder_of(skill)?;
    Some(format!("{SCHEME}{skill}/{folder}/{}", encoded(path)))
}

/// Reads the address of a file or folder.
pub(crate) fn place_of(uri: &str) -> Option<SkillPlace> {
    let (skill, rest) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let (folder, path) = rest.split_once('/').unwrap_or((rest, ""));
    if folder_of(skill)? != folder {
        return None;
    }
    let path = decoded(path.strip_suffix('/').unwrap_or(path))?;
    Some(SkillPlace { skill: skill.to_owned(), path })
}

pub(crate) fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

pub(crate) fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_ends_in_a_folder_of_the_skills_name() {
        assert_eq!(
            uri_of("data.csv.profile", "SKILL.md").unwrap(),
            "skill://data.csv.profile/data-csv-profile/SKILL.md"
        );
        assert_eq!(uri_of("a", "").unwrap(), "skill://a/a/");
        assert_eq!(uri_of("a--b", ""), None);
        assert_eq!(uri_of(&"a".repeat(65), ""), None);
    }

    #[test]
    fn only_the_address_of_a_skill_is_one() {
        let place = |skill: &str, path: &str| {
            Some(SkillPlace { skill: skill.to_owned(), path: path.to_owned() })
        };
        assert_eq!(place_of("skill://a.b/a-b/x/y.py"), place("a.b", "x/y.py"));
        assert_eq!(place_of("skill://a.b/a-b/x/"), place("a.b", "x"));
        assert_eq!(place_of("skill://a.b/a-b"), place("a.b", ""));
        for other in [
            "",
            "skill://",
            "skill://a.b",
            "skill://a.b/other/x",
            "file:///etc/passwd",
            "skill://a/a/%zz",
        ] {
            assert_eq!(place_of(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn every_path_has_an_address(path in "[^/\u{0}]{1,20}(/[^/\u{0}]{1,20}){0,3}") {
            let uri = uri_of("a.b", &path).unwrap();
            prop_assert!(uri.is_ascii());
            prop_assert_eq!(place_of(&uri).unwrap().path, path);
        }
    }
}
