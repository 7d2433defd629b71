//! Which runs a list has: whose, and by which filters.

use crate::authorisation::ensure_may_operate;
use crate::caller::Caller;
use crate::error::ServiceError;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::records::{RunFilter, RunKind, RunOutcomeKind, RunSearch, WhoseRuns};
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::{BlobId, SkillName, TenantId};

/// The choice of a list, as a caller wrote it.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunListOrder<'a> {
    /// `next_cursor` of the page before.
    pub cursor: Option<&'a str>,
    /// Maximum number of runs of the page.
    pub limit: u64,
    /// Only runs with this end.
    pub outcome: Option<&'a str>,
    /// Only runs of this skill.
    pub skill: Option<&'a str>,
    /// Only runs from this time on, in milliseconds since the Unix epoch.
    pub since_ms: Option<u64>,
    /// Only runs up to this time, in milliseconds since the Unix epoch.
    pub until_ms: Option<u64>,
    /// Only runs in which these words are found.
    pub search: Option<&'a str>,
    /// Only runs that stored this blob.
    pub blob: Option<&'a str>,
    /// The runs of this tenant, or of all (`*`), for an operator.
    pub tenant: Option<&'a str>,
}

impl RunListOrder<'_> {
    /// The filters, for a caller that sees runs of this kind.
    pub(super) fn filter(&self, kind: Option<RunKind>) -> Result<RunFilter, ServiceError> {
        Ok(RunFilter {
            kind,
            outcome: self.outcome.map(outcome_named).transpose()?,
            skill: self.skill.map(SkillName::parse).transpose()?,
            since_ms: self.since_ms,
            until_ms: self.until_ms,
            search: self.search.map(search_for).transpose()?,
            blob: self.blob.map(blob_named).transpose()?,
        })
    }
}

/// The only kind of runs that the caller sees; `None` if it sees both.
pub(super) fn visible_kind(caller: &Caller) -> Result<Option<RunKind>, ServiceError> {
    let has = |right| caller.rights.contains(right);
    match (has(Right::Execute), has(Right::Code)) {
        (true, true) => Ok(None),
        (true, false) => Ok(Some(RunKind::ExecuteSkill)),
        (false, true) => Ok(Some(RunKind::RunCode)),
        (false, false) => Err(ServiceError::Forbidden { right: Right::Execute.name() }),
    }
}

/// Whose runs a list has, and the only kind of them that the caller sees. The runs of other tenants
/// are for operators.
pub(super) fn whose_runs(
    caller: &Caller,
    tenant: Option<&str>,
) -> Result<(WhoseRuns, Option<RunKind>), ServiceError> {
    let own = || Ok((WhoseRuns::Own(caller.tenant.clone()), visible_kind(caller)?));
    let Some(name) = tenant else { return own() };
    ensure_may_operate(caller)?;
    let tenant = match name {
        "*" => None,
        name => Some(TenantId::parse(name)?),
    };
    if tenant.as_ref() == Some(&caller.tenant) && visible_kind(caller).is_ok() {
        return own();
    }
    let sees_all = matches!(visible_kind(caller), Ok(None));
    let reader = sees_all.then(|| caller.tenant.clone());
    Ok((WhoseRuns::Operator { tenant, reader }, None))
}

fn search_for(text: &str) -> Result<RunSearch, ParamsError> {
    RunSearch::of(text).ok_or_else(|| {
        let (words, bytes) = (RunSearch::MAX_WORDS, RunSearch::MAX_LENGTH);
        let expected = format!("1 to {words} words, of at most {bytes} bytes together");
        ParamsError::wrong("search", expected, "something else")
    })
}

/// The id in a filter. A malformed one is that of no blob.
fn blob_named(text: &str) -> Result<BlobId, ServiceError> {
    BlobId::parse(text).map_err(|_malformed| ServiceError::NoSuchBlob { id: text.to_owned() })
}

fn outcome_named(name: &str) -> Result<RunOutcomeKind, ParamsError> {
    RunOutcomeKind::of_name(name).ok_or_else(|| {
        let names = RunOutcomeKind::ALL.map(|outcome| format!("`{}`", outcome.name()));
        ParamsError::wrong("outcome", format!("one of {}", names.join(", ")), "something else")
    })
}
