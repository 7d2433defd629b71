//! Skills in a tree: folders with a `SKILL.md` or a `skill.toml`.
//!
//! A skill has all files of its folder. So a folder in a skill is no further skill, except in the root of a source:
//! repositories with a `SKILL.md` of their own often have a collection, too.

use std::collections::BTreeSet;

use crate::error::SourceError;

/// Files that make a folder a skill.
const MARKS: [&str; 2] = ["SKILL.md", "skill.toml"];

/// Most skills of a source.
const MAX_SKILLS: usize = 2_000;

/// The folders of skills among the paths of files, below `below`; empty for the root itself.
///
/// # Errors
///
/// There are too many.
pub(crate) fn skill_folders(
    paths: impl Iterator<Item = impl AsRef<str>>,
    below: &str,
) -> Result<Vec<String>, SourceError> {
    let mut folders = BTreeSet::new();
    for path in paths {
        let path = path.as_ref();
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_below = below.is_empty()
            || folder == below
            || folder.strip_prefix(below).is_some_and(|rest| rest.starts_with('/'));
        let is_hidden = folder.split('/').any(|part| matches!(part, ".git" | "node_modules"));
        if is_below && !is_hidden && MARKS.contains(&name) {
            folders.insert(folder.to_owned());
        }
    }
    let too_many = || SourceError::TooLarge(format!("more than {MAX_SKILLS} skills"));
    if folders.len() > MAX_SKILLS * 5 {
        return Err(too_many());
    }
    // Sorted, so a folder comes before those in it.
    let mut found: Vec<String> = Vec::new();
    for folder in folders {
        let is_in = |other: &String| {
            !other.is_empty()
                && *other != below
                && folder.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        if !found.iter().any(is_in) {
            found.push(folder);
        }
    }
    if found.len() > MAX_SKILLS {
        return Err(too_many());
    }
    Ok(found)
}

/// The path of a file below a folder.
pub(crate) fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    if folder.is_empty() {
        return Some(path);
    }
    path.strip_prefix(folder)?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_are_found_anywhere_and_not_in_skills() {
        let paths = [
            "README.md",
            ".claude/skills/x/SKILL.md",
            "SKILL.md",
            "node_modules/a/SKILL.md",
            "skills/a/SKILL.md",
            "skills/a/assets/template/SKILL.md",
            "skills/ab/skill.toml",
            "skills/ab/SKILL.md",
        ];
        let found = |below| skill_folders(paths.into_iter(), below).unwrap();
        assert_eq!(found(""), ["", ".claude/skills/x", "skills/a", "skills/ab"]);
        assert_eq!(found("skills"), ["skills/a", "skills/ab"]);
        assert_eq!(found("skills/a"), ["skills/a", "skills/a/assets/template"]);
        assert_eq!(below("a/b", "a"), Some("b"));
        assert_eq!(below("ab/b", "a"), None);
    }
}
