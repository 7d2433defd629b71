//! The skills that one tenant sees: its own, and behind them the shared ones.
//!
//! INVARIANT(own-skills): a tenant sees the skills of its own folders, and the shared skills of other
//! names. The skills of other tenants do not exist for it: no lookup reads them.

use std::sync::Arc;

use crate::registry::RegistryError;
use crate::registry::folders::snapshot::Snapshot;
use crate::registry::index::{Index, Page};
use wardian_vocabulary::ids::{SkillName, SkillVersion};

/// The skills that a tenant sees, at one moment.
#[derive(Debug, Clone)]
pub struct SkillView {
    /// Its own skills; `None` for a tenant without folders.
    pub own: Option<Arc<Index>>,
    pub(crate) shared: Arc<Index>,
}

/// A skill, and whether it comes from a folder of the tenant.
#[derive(Debug, Clone)]
pub struct SeenSkill {
    /// The skill.
    pub snapshot: Arc<Snapshot>,
    /// True if no other tenant sees this skill, unless it names the same folder.
    pub is_own: bool,
}

impl SkillView {
    /// The skills from the tenant's own folders.
    #[must_use]
    pub fn own(&self) -> Option<&Index> {
        self.own.as_deref()
    }

    /// The skills that all tenants share.
    #[must_use]
    pub fn shared(&self) -> &Index {
        &self.shared
    }

    /// As [`Index::find`]. A skill of the tenant hides all versions of a shared one of its name.
    ///
    /// # Errors
    ///
    /// No such skill, or no such version of it.
    pub fn find(
        &self,
        name: &SkillName,
        version: Option<&SkillVersion>,
    ) -> Result<SeenSkill, RegistryError> {
        let snapshot = Arc::clone(self.shared.find_below(self.own(), name, version)?);
        let is_own = self.own().is_some_and(|own| own.has(name));
        Ok(SeenSkill { snapshot, is_own })
    }

    /// As [`Index::list`].
    ///
    /// # Errors
    ///
    /// A wrong `namespace`, `limit` or `cursor`.
    pub fn list(
        &self,
        namespace: Option<&str>,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page, RegistryError> {
        self.shared.list_below(self.own(), namespace, limit, cursor)
    }
}
