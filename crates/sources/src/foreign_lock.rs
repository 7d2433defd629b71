//! Locks of other tools, as lists of what to install: `skills-lock.json` of a project, and the list that the tool
//! `skills` keeps for a user.
//!
//! The digests in them are of other things (a listing that depends on a locale, a tree of git), so they pin nothing here.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{SourceError, shown};
use crate::source::SkillSource;

/// Largest lock that is read, in bytes.
pub const MAX_LOCK: usize = 4 << 20;

#[derive(Deserialize)]
struct Lock {
    version: u64,
    skills: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    source: String,
    #[serde(default)]
    source_type: String,
    #[serde(default)]
    source_url: Option<String>,
    #[serde(default, rename = "ref")]
    reference: Option<String>,
    #[serde(default)]
    skill_path: Option<String>,
    /// Of locks that call it so.
    #[serde(default)]
    path: Option<String>,
}

/// A skill that a lock lists.
#[derive(Debug)]
pub struct ForeignSkill {
    /// Its name in the lock.
    pub name: String,
    /// Where it comes from, or why that is not known here.
    pub source: Result<SkillSource, SourceError>,
}

/// Reads a lock of another tool.
///
/// # Errors
///
/// It is no such lock.
pub fn read(text: &str) -> Result<Vec<ForeignSkill>, SourceError> {
    let wrong = |why: String| SourceError::NotASource(format!("the lock {why}"));
    if text.len() > MAX_LOCK {
        return Err(wrong(format!("is longer than {} MiB", MAX_LOCK >> 20)));
    }
    let lock: Lock = serde_json::from_str(text)
        .map_err(|fault| wrong(format!("is not one of skills: {}", shown(&fault.to_string()))))?;
    if !(1..=3).contains(&lock.version) {
        return Err(wrong(format!("has version {}: 1 to 3 are read", lock.version)));
    }
    let listed = lock.skills.into_iter().map(|(name, entry)| {
        let source = source_of(&entry);
        ForeignSkill { name, source }
    });
    Ok(listed.collect())
}

fn source_of(entry: &Entry) -> Result<SkillSource, SourceError> {
    let text = match entry.source_type.as_str() {
        "github" => format!("github:{}", entry.source),
        "gitlab" => format!("gitlab:{}", entry.source),
        "npm" | "node_modules" => format!("npm:{}", entry.source),
        "local" if !entry.source.starts_with(['/', '.']) => format!("./{}", entry.source),
        "local" | "" => entry.source.clone(),
        "git" => match &entry.source_url {
            Some(url) => format!("git+{url}"),
            None => format!("git+{}", entry.source),
        },
        other => {
            return Err(SourceError::NotASource(format!(
                "sources of the kind `{}` are not known",
                shown(other)
            )));
        }
    };
    let mut source = SkillSource::parse(&text)?;
    if let Some(reference) = &entry.reference {
        source.reference = Some(reference.clone());
    }
    // The path of a lock is that of the file.
    let path = entry.skill_path.as_ref().or(entry.path.as_ref());
    match path {
        Some(path) => {
            let folder = path.strip_suffix("SKILL.md").unwrap_or(path);
            source.below(folder)
        }
        None => Ok(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_other_tools_are_lists_of_sources() {
        let text = r#"{"version": 1, "skills": {
            "pdf": {"source": "acme/skills", "ref": "v1", "sourceType": "github", "computedHash": "00"},
            "x": {"source": "acme/skills", "sourceType": "github", "sourceUrl": "https://github.com/acme/skills.git",
                  "skillPath": "skills/x/SKILL.md", "skillFolderHash": "00", "installedAt": "now"},
            "y": {"source": "mintlify/y", "sourceType": "mintlify"},
            "z": {"source": "tools", "sourceType": "local", "computedHash": "00"}}}"#;
        let listed = read(text).unwrap();
        let told: Vec<String> = listed
            .iter()
            .map(|one| match &one.source {
                Ok(source) => format!("{} {source}", one.name),
                Err(why) => format!("{} {why}", one.name),
            })
            .collect();
        assert_eq!(
            told,
            [
                "pdf https://github.com/acme/skills.git, at v1",
                "x https://github.com/acme/skills.git, folder skills/x",
                "y sources of the kind `mintlify` are not known",
                "z ./tools",
            ]
        );
        for text in ["", "{}", r#"{"version": 9, "skills": {}}"#, r#"{"version": 1, "skills": []}"#]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
