//! The names that clients gave to calls, of runs and of blobs alike.
//!
//! Names are forgotten by their age, and of each tenant the oldest beyond a number.
//!
//! INVARIANT(kept-names): the name of a run is kept for its time from the end of the run on, however
//! many other runs the tenant makes. So a repeated call is not executed again meanwhile.

use crate::database_error::DatabaseError;
use crate::records::named_call::{NamedCall, RequestKey};
use crate::records::store::NamesOf;
use crate::records::table::RecordTable;
use wardian_vocabulary::ids::{RunId, TenantId};

/// Most names that are forgotten in one transaction.
const AT_ONCE: u64 = 500;

/// The call that has a name already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownKey {
    /// The same call has begun this run.
    Run(RunId),
    /// The same call has stored its blob.
    SameBlob,
    /// Another call has the name.
    OtherCall,
}

impl KnownKey {
    /// What a call with this name and digest is told about the call that has the name.
    pub(in crate::records) fn of(call: &NamedCall, key: &RequestKey) -> Self {
        if call.digest != key.call.to_string() {
            return Self::OtherCall;
        }
        match call.run_id.as_deref().map(RunId::parse) {
            None => Self::SameBlob,
            Some(Ok(run)) => Self::Run(run),
            Some(Err(_)) => Self::OtherCall,
        }
    }
}

impl RecordTable {
    /// Finds the call of a tenant that has this name.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find_key(
        &self,
        tenant: &TenantId,
        key: &RequestKey,
    ) -> Result<Option<KnownKey>, DatabaseError> {
        let found = self.store.find_name(tenant, &key.name).await?;
        Ok(found.map(|call| KnownKey::of(&call, key)))
    }

    /// Notes that a call of this name has stored its blob, at this time in milliseconds since the Unix
    /// epoch. Returns false, and notes nothing, if another call has the name. What a call stores has the
    /// same id each time, so only the call is kept, to tell another call with the same name apart.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn note_blob_key(
        &self,
        tenant: &TenantId,
        key: &RequestKey,
        now_ms: u64,
    ) -> Result<bool, DatabaseError> {
        let named = self.store.name_blob(tenant, key, now_ms).await?;
        Ok(named.is_some_and(|call| KnownKey::of(&call, key) == KnownKey::SameBlob))
    }

    /// Forgets the name of a run in which nothing was executed, so that its call can come again.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn forget_key(&self, tenant: &TenantId, run: &RunId) -> Result<(), DatabaseError> {
        self.store.forget_name(tenant, run).await
    }

    /// Forgets some of the names beyond the newest `most` of each tenant, and some of those from
    /// before this time, in milliseconds since the Unix epoch. Returns true if there may be more.
    pub(crate) async fn trim_names(
        &self,
        most: u64,
        oldest_ms: Option<u64>,
    ) -> Result<bool, DatabaseError> {
        let mut has_more = false;
        for names in [NamesOf::Runs, NamesOf::Blobs] {
            if let Some(oldest) = oldest_ms {
                let forgotten = self.store.forget_old_names(names, oldest, AT_ONCE).await?;
                has_more |= forgotten >= AT_ONCE;
            }
            for tenant in self.store.tenants_with_names(names, most).await? {
                let forgotten =
                    self.store.forget_surplus_names(names, &tenant, most, AT_ONCE).await?;
                has_more |= forgotten >= AT_ONCE;
            }
        }
        Ok(has_more)
    }
}
