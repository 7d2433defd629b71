//! Blobs expire, and what was left half done is ended.

use std::time::Duration;

use tracing::{debug, warn};

use crate::blobs::error::BlobError;
use crate::blobs::local::retention::SweepReport;
use crate::blobs::remote::parts::RemoteParts;
use crate::blobs::remote::remote_blobs::RemoteBlobs;
use crate::blobs::remote::rows::{BlobRow, RowState};
use wardian_vocabulary::ids::{BlobId, TenantId};

/// How long an upload or a removal goes on at most. What is older was left by a server that has ended.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Rows that are looked at in one statement.
const ROWS: u64 = 500;

impl RemoteParts {
    /// Removes a blob, if it was not used after `unused_since`. False if there is none. What cannot be removed
    /// from the object store now is removed later.
    pub(super) async fn remove(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        unused_since: Option<Duration>,
    ) -> Result<bool, BlobError> {
        let begun = self.rows.begin_removal(tenant, id, unused_since, self.clock.now()).await;
        if !begun.map_err(BlobError::from_database("write to"))? {
            return Ok(false);
        }
        if let Err(fault) = self.end_removal(tenant, id).await {
            warn!(tenant.id = %tenant, blob.id = %id, error = %fault, "its object is removed later");
        }
        Ok(true)
    }

    /// Removes the object of a blob that does not exist any more, then its row.
    async fn end_removal(&self, tenant: &TenantId, id: &BlobId) -> Result<(), BlobError> {
        self.forget_copy(tenant, id).await;
        let removed = self.place.objects.remove(&self.key(tenant, id)).await;
        removed.map_err(BlobError::Unreachable)?;
        self.rows.end_removal(tenant, id).await.map_err(BlobError::from_database("write to"))
    }

    /// Ends an upload whose server has ended: the blob exists if its object does.
    async fn end_upload(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        row: &BlobRow,
    ) -> Result<(), BlobError> {
        let found = self.place.objects.version(&self.key(tenant, id)).await;
        match found.map_err(BlobError::Unreachable)? {
            Some(version) => {
                let now = self.clock.now();
                let noted = self.rows.note_stored((tenant, id), &row.tag, &version, now).await;
                noted.map(drop).map_err(BlobError::from_database("write to"))
            }
            None => {
                self.rows.give_up(tenant, id).await.map_err(BlobError::from_database("write to"))
            }
        }
    }
}

impl RemoteBlobs {
    /// Removes all blobs that were not used for the time to live before `now`, and ends what servers that are gone
    /// have left half done. Blobs that this server holds stay.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the database cannot be read or written. A blob that cannot be removed is logged
    /// and counted, and the sweep continues.
    pub async fn sweep(&self, now: Duration) -> Result<SweepReport, BlobError> {
        let Self(remote) = self;
        let mut report = SweepReport::default();
        for (tenant, id) in remote.pins.all() {
            let noted =
                remote.rows.note_use(&tenant, &id, remote.clock.now(), Duration::ZERO).await;
            noted.map_err(BlobError::from_database("write to"))?;
        }
        self.end_left(now, &mut report).await?;
        let Some(ttl) = remote.config.ttl else { return Ok(report) };
        let since = now.saturating_sub(ttl);
        loop {
            let unused = remote.rows.unused_since(since, ROWS).await;
            let unused = unused.map_err(BlobError::from_database("read"))?;
            let mut removed = 0_u64;
            for (tenant, id) in unused {
                if remote.pins.holds(&tenant, &id) {
                    continue;
                }
                if remote.remove(&tenant, &id, Some(since)).await? {
                    removed = removed.saturating_add(1);
                }
            }
            report.expired = report.expired.saturating_add(removed);
            if removed == 0 {
                break;
            }
        }
        debug!(expired = report.expired, failed = report.failed, "swept the blob store of {ttl:?}");
        Ok(report)
    }

    async fn end_left(&self, now: Duration, report: &mut SweepReport) -> Result<(), BlobError> {
        let Self(remote) = self;
        let left = remote.rows.left_since(now.saturating_sub(LONGEST), ROWS).await;
        for (tenant, id, row) in left.map_err(BlobError::from_database("read"))? {
            let ended = match row.state {
                RowState::Removing => remote.end_removal(&tenant, &id).await,
                RowState::Uploading => remote.end_upload(&tenant, &id, &row).await,
                RowState::Stored => Ok(()),
            };
            if let Err(fault) = ended {
                report.failed = report.failed.saturating_add(1);
                warn!(tenant.id = %tenant, blob.id = %id, error = %fault, "what was left of it stays");
            }
        }
        Ok(())
    }
}
