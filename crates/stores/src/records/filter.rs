//! The records that a list has.

use crate::records::record::{RunKind, RunOutcomeKind};
use wardian_vocabulary::ids::{BlobId, SkillName, TenantId};

/// The records that a list has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs of this method.
    pub kind: Option<RunKind>,
    /// Only runs with this outcome.
    pub outcome: Option<RunOutcomeKind>,
    /// Only runs of this skill.
    pub skill: Option<SkillName>,
    /// Only runs that began at this time or later, in milliseconds since the Unix epoch.
    pub since_ms: Option<u64>,
    /// Only runs that began at this time or earlier, in milliseconds since the Unix epoch.
    pub until_ms: Option<u64>,
    /// Only runs in which all of these words are found.
    pub search: Option<RunSearch>,
    /// Only runs that stored this blob: the newest thousand.
    pub blob: Option<BlobId>,
}

impl RunFilter {
    /// True if a record can be left out although its time fits.
    pub(crate) const fn leaves_out(&self) -> bool {
        self.kind.is_some()
            || self.outcome.is_some()
            || self.skill.is_some()
            || self.search.is_some()
    }
}

/// Words that are searched for: in titles, in names of skills, and in errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSearch(Vec<String>);

impl RunSearch {
    /// Most words of a search.
    pub const MAX_WORDS: usize = 8;

    /// Longest text of a search, in bytes.
    pub const MAX_LENGTH: usize = 200;

    /// The words of a text. `None` if it has none, too many, or is too long.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let words: Vec<String> =
            text.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let fits = text.len() <= Self::MAX_LENGTH && (1..=Self::MAX_WORDS).contains(&words.len());
        fits.then_some(Self(words))
    }

    /// The words, in lower case.
    pub(crate) fn words(&self) -> &[String] {
        &self.0
    }
}

/// Whose runs are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhoseRuns {
    /// Those of one tenant, with their titles.
    Own(TenantId),
    /// Those of one tenant, or of all, for an operator. Titles are shown, and searched, only of the
    /// runs of `reader`: they are a part of what the others wrote.
    Operator {
        /// The tenant; `None` for all.
        tenant: Option<TenantId>,
        /// The tenant of the operator, if its key sees all runs of it.
        reader: Option<TenantId>,
    },
}

impl WhoseRuns {
    /// The one tenant whose runs are listed; `None` for all tenants.
    pub(crate) const fn tenant(&self) -> Option<&TenantId> {
        match self {
            Self::Own(tenant) => Some(tenant),
            Self::Operator { tenant, .. } => tenant.as_ref(),
        }
    }

    /// True if the reader may see what the runs of this tenant wrote.
    pub(crate) fn may_read(&self, tenant: &str) -> bool {
        match self {
            Self::Own(_) => true,
            Self::Operator { reader, .. } => {
                reader.as_ref().is_some_and(|reader| reader.as_str() == tenant)
            }
        }
    }
}
