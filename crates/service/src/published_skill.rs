//! Skills as edges publish them: their description, their inputs, and their files as bytes.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::start::Discovery;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_stores::blobs::content::file_name::kind_of_file;
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::SkillName;

/// A skill that a caller sees, in one version. It does not change.
#[derive(Debug, Clone)]
pub struct PublishedSkill(Arc<Snapshot>);

/// A page of skills.
#[derive(Debug, Clone)]
pub struct PublishedSkills {
    /// The latest versions, sorted by name.
    pub skills: Vec<PublishedSkill>,
    /// The cursor of the next page, if there is one.
    pub next_cursor: Option<String>,
}

impl Discovery {
    /// Returns a page of the skills that the caller sees.
    ///
    /// # Errors
    ///
    /// The caller may not see skills, or the cursor is not of this server.
    pub fn published_skills(
        &self,
        caller: &Caller,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<PublishedSkills, ServiceError> {
        ensure_has(caller, Right::Discover)?;
        let page = self.skills(caller).list(None, limit, cursor)?;
        let skills = page.skills.into_iter().map(PublishedSkill).collect();
        Ok(PublishedSkills { skills, next_cursor: page.next_cursor })
    }

    /// Returns the latest version of a skill that the caller sees.
    ///
    /// # Errors
    ///
    /// The caller may not see skills, or there is no such skill.
    pub fn published_skill(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<PublishedSkill, ServiceError> {
        ensure_has(caller, Right::Discover)?;
        Ok(PublishedSkill(self.find_skill(caller, name, None)?.snapshot))
    }
}

impl PublishedSkill {
    /// The skill's name.
    #[must_use]
    pub fn name(&self) -> &SkillName {
        self.0.name()
    }

    /// One line that describes the skill.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.0.manifest().description
    }

    /// The title of its document: a name for people, or the skill's name.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.0.document().title
    }

    /// True if the skill can be executed.
    #[must_use]
    pub fn is_action(&self) -> bool {
        self.0.manifest().runtime.is_some()
    }

    /// True if its code may reach the network.
    #[must_use]
    pub fn reaches_network(&self) -> bool {
        !self.0.manifest().permissions.network.is_empty()
    }

    /// The JSON Schema of its arguments.
    #[must_use]
    pub fn input_schema(&self) -> Value {
        self.0.manifest().inputs.json_schema()
    }

    /// The frontmatter of its document.
    #[must_use]
    pub fn frontmatter(&self) -> &RawValue {
        self.0.document().frontmatter_json()
    }

    /// The text of its document after the frontmatter.
    #[must_use]
    pub fn document_body(&self) -> &str {
        self.0.document_body()
    }

    /// The paths and sizes of its files, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.files().iter().map(|file| (file.path.as_str(), file.size))
    }

    /// The MIME type of a file, by its name.
    #[must_use]
    pub fn kind_of(path: &str) -> &'static str {
        if path.ends_with(".md") { "text/markdown" } else { kind_of_file(path) }
    }

    /// The content of a file.
    ///
    /// # Errors
    ///
    /// No file has this path.
    pub fn read_file(&self, path: &str) -> Result<&[u8], ServiceError> {
        Ok(self.0.read_file(path)?)
    }
}
