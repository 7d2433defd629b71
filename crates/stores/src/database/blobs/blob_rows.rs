//! The statements on blobs whose content is in an object store.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::blobs::TenantUsage;
use crate::blobs::content::kind::BlobKind;
use crate::blobs::remote::rows::{BlobRow, BlobRowStore, ReservedRow, RowState};
use crate::database::engine::{Database, Writing};
use crate::database::numbers::{count, number};
use crate::database::statement::{Statement, statement};
use crate::database_error::DatabaseError;
use wardian_vocabulary::ids::{BlobId, BlobName, MAX_NAMES_OF_BLOB, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Kind, bytes, the times of creation and last use, state, tag and names.
type Columns = (String, i64, i64, i64, String, String, String);

/// The same behind the id of the blob.
type Listed = (String, String, i64, i64, i64, String, String, String);

/// The same behind the tenant.
type Left = (String, String, String, i64, i64, i64, String, String, String);

const FIND: &str = "SELECT kind, bytes, created_ms, used_ms, state, tag, names FROM blob_uses \
                    WHERE tenant = $1 AND blob = $2";

const ADD: &str = "INSERT INTO blob_uses (tenant, blob, kind, bytes, created_ms, used_ms, state, changed_ms, \
                   tag, names) VALUES ($1, $2, $3, $4, $5, $5, 'uploading', $5, $6, '[]')";

const TAKE_ROOM: &str = "UPDATE blob_totals SET blobs = blobs + 1, bytes = bytes + $2 \
                         WHERE tenant = $1 AND blobs < $3 AND bytes <= $4";

const GIVE_ROOM: &str =
    "UPDATE blob_totals SET blobs = blobs - 1, bytes = bytes - $2 WHERE tenant = $1";

/// The table of blobs in a database.
#[derive(Debug, Clone)]
pub(super) struct BlobRows {
    database: Database,
}

impl BlobRows {
    /// The table in this database.
    pub(super) const fn new(database: Database) -> Self {
        Self { database }
    }
}

impl BlobRows {
    /// Begins a transaction on the blobs of a tenant, which has them for itself.
    async fn begin(&self, tenant: &TenantId) -> Result<Writing, DatabaseError> {
        const MAKE: &str = "INSERT INTO blob_totals (tenant, blobs, bytes) VALUES ($1, 0, 0) \
                            ON CONFLICT DO NOTHING";
        const TAKE: &str = "UPDATE blob_totals SET blobs = blobs WHERE tenant = $1";
        let mut writing = self.database.begin().await?;
        writing.execute(statement(MAKE).bind(tenant.as_str())).await?;
        writing.execute(statement(TAKE).bind(tenant.as_str())).await?;
        Ok(writing)
    }
}

async fn find_in(
    writing: &mut Writing,
    tenant: &TenantId,
    id: &BlobId,
) -> Result<Option<BlobRow>, DatabaseError> {
    let found = statement(FIND).bind(tenant.as_str()).bind(id.as_str());
    writing.fetch_optional(found).await?.map(row).transpose()
}

/// Removes a row, and gives its room back if it has some.
async fn remove_in(
    writing: &mut Writing,
    tenant: &TenantId,
    id: &BlobId,
    state: RowState,
) -> Result<(), DatabaseError> {
    const REMOVE: &str = "DELETE FROM blob_uses WHERE tenant = $1 AND blob = $2";
    let Some(found) = find_in(writing, tenant, id).await? else { return Ok(()) };
    if found.state != state {
        return Ok(());
    }
    writing.execute(statement(REMOVE).bind(tenant.as_str()).bind(id.as_str())).await?;
    if state != RowState::Removing {
        give_room(writing, tenant, found.size).await?;
    }
    Ok(())
}

/// Adds a row of content that is on its way.
fn adding(tenant: &TenantId, id: &BlobId, new: &BlobRow) -> Statement {
    let add = statement(ADD).bind(tenant.as_str()).bind(id.as_str()).bind(new.kind.as_str());
    let add = add.bind(number(new.size.as_u64())).bind(milliseconds(new.created));
    add.bind(new.tag.as_str())
}

async fn give_room(
    writing: &mut Writing,
    tenant: &TenantId,
    size: ByteCount,
) -> Result<(), DatabaseError> {
    let give = statement(GIVE_ROOM).bind(tenant.as_str()).bind(number(size.as_u64()));
    writing.execute(give).await.map(drop)
}

#[async_trait]
impl BlobRowStore for BlobRows {
    async fn find(&self, tenant: &TenantId, id: &BlobId) -> Result<Option<BlobRow>, DatabaseError> {
        let found = statement(FIND).bind(tenant.as_str()).bind(id.as_str());
        self.database.fetch_optional(found).await?.map(row).transpose()
    }

    async fn reserve(
        &self,
        (tenant, id): (&TenantId, &BlobId),
        new: &BlobRow,
        most: TenantUsage,
    ) -> Result<ReservedRow, DatabaseError> {
        let mut writing = self.begin(tenant).await?;
        if let Some(found) = find_in(&mut writing, tenant, id).await? {
            return Ok(ReservedRow::Known(Box::new(found)));
        }
        let size = new.size.as_u64();
        let Some(left) = most.bytes.checked_sub(size) else { return Ok(ReservedRow::Full) };
        let room = statement(TAKE_ROOM).bind(tenant.as_str()).bind(number(size));
        let room = room.bind(number(most.blobs)).bind(number(left));
        if writing.execute(room).await? == 0 {
            return Ok(ReservedRow::Full);
        }
        writing.execute(adding(tenant, id, new)).await?;
        writing.commit().await?;
        Ok(ReservedRow::New)
    }

    async fn note_stored(
        &self,
        (tenant, id): (&TenantId, &BlobId),
        known: &str,
        tag: &str,
        now: Duration,
    ) -> Result<bool, DatabaseError> {
        const STORED: &str = "UPDATE blob_uses SET state = 'stored', tag = $3, changed_ms = $4 \
                              WHERE tenant = $1 AND blob = $2 AND tag = $5 AND state IN ('uploading', 'stored')";
        let stored = statement(STORED).bind(tenant.as_str()).bind(id.as_str());
        let stored = stored.bind(tag).bind(milliseconds(now)).bind(known);
        Ok(self.database.execute(stored).await? > 0)
    }

    async fn give_up(&self, tenant: &TenantId, id: &BlobId) -> Result<(), DatabaseError> {
        let mut writing = self.begin(tenant).await?;
        remove_in(&mut writing, tenant, id, RowState::Uploading).await?;
        writing.commit().await
    }

    async fn restore(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        new: &BlobRow,
    ) -> Result<bool, DatabaseError> {
        const TAKE_ANY: &str =
            "UPDATE blob_totals SET blobs = blobs + 1, bytes = bytes + $2 WHERE tenant = $1";
        const STORED: &str =
            "UPDATE blob_uses SET state = 'stored' WHERE tenant = $1 AND blob = $2";
        let mut writing = self.begin(tenant).await?;
        if find_in(&mut writing, tenant, id).await?.is_some() {
            return Ok(false);
        }
        let size = number(new.size.as_u64());
        writing.execute(statement(TAKE_ANY).bind(tenant.as_str()).bind(size)).await?;
        writing.execute(adding(tenant, id, new)).await?;
        let stored = statement(STORED).bind(tenant.as_str()).bind(id.as_str());
        writing.execute(stored).await?;
        writing.commit().await?;
        Ok(true)
    }

    async fn next_tenant(&self, after: &str) -> Result<Option<TenantId>, DatabaseError> {
        const NEXT: &str =
            "SELECT tenant FROM blob_totals WHERE tenant > $1 ORDER BY tenant LIMIT 1";
        let next: Option<(String,)> =
            self.database.fetch_optional(statement(NEXT).bind(after)).await?;
        next.map(|(tenant,)| tenant_id(&tenant)).transpose()
    }

    async fn begin_removal(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        unused_since: Option<Duration>,
        now: Duration,
    ) -> Result<bool, DatabaseError> {
        const REMOVING: &str = "UPDATE blob_uses SET state = 'removing', changed_ms = $3 \
                                WHERE tenant = $1 AND blob = $2";
        let mut writing = self.begin(tenant).await?;
        let found = find_in(&mut writing, tenant, id).await?;
        let is_unused = |row: &BlobRow| unused_since.is_none_or(|since| row.used <= since);
        let found = found.filter(|row| row.state == RowState::Stored && is_unused(row));
        let Some(found) = found else { return Ok(false) };
        let removing = statement(REMOVING).bind(tenant.as_str()).bind(id.as_str());
        writing.execute(removing.bind(milliseconds(now))).await?;
        give_room(&mut writing, tenant, found.size).await?;
        writing.commit().await?;
        Ok(true)
    }

    async fn end_removal(&self, tenant: &TenantId, id: &BlobId) -> Result<(), DatabaseError> {
        let mut writing = self.begin(tenant).await?;
        remove_in(&mut writing, tenant, id, RowState::Removing).await?;
        writing.commit().await
    }

    async fn note_use(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        now: Duration,
        often: Duration,
    ) -> Result<(), DatabaseError> {
        // A time in the future comes from a wrong clock. It is replaced, because it would keep the blob too long.
        const USED: &str = "UPDATE blob_uses SET used_ms = $3 WHERE tenant = $1 AND blob = $2 \
                            AND state = 'stored' AND (used_ms < $4 OR used_ms > $5)";
        let used = statement(USED).bind(tenant.as_str()).bind(id.as_str()).bind(milliseconds(now));
        let used = used.bind(milliseconds(now.saturating_sub(often)));
        self.database.execute(used.bind(milliseconds(now.saturating_add(often)))).await.map(drop)
    }

    async fn add_name(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        name: &BlobName,
    ) -> Result<(), DatabaseError> {
        const NAMES: &str = "UPDATE blob_uses SET names = $3 WHERE tenant = $1 AND blob = $2";
        let mut writing = self.begin(tenant).await?;
        let found = find_in(&mut writing, tenant, id).await?;
        let Some(found) = found.filter(|row| row.state == RowState::Stored) else { return Ok(()) };
        let mut names = found.names;
        names.retain(|other| other != name);
        names.insert(0, name.clone());
        names.truncate(MAX_NAMES_OF_BLOB);
        let texts: Vec<&str> = names.iter().map(BlobName::as_str).collect();
        let text = serde_json::to_string(&texts)
            .map_err(|_cause| DatabaseError::failed("names that cannot be written"))?;
        let names = statement(NAMES).bind(tenant.as_str()).bind(id.as_str()).bind(text);
        writing.execute(names).await?;
        writing.commit().await
    }

    async fn page(
        &self,
        tenant: &TenantId,
        after: Option<&BlobId>,
        most: u64,
    ) -> Result<Vec<(BlobId, BlobRow)>, DatabaseError> {
        const PAGE: &str = "SELECT blob, kind, bytes, created_ms, used_ms, state, tag, names FROM blob_uses \
                            WHERE tenant = $1 AND blob > $2 AND state = 'stored' ORDER BY blob LIMIT $3";
        let page = statement(PAGE).bind(tenant.as_str()).bind(after.map_or("", BlobId::as_str));
        let rows = self.database.fetch_all(page.bind(number(most))).await?;
        let rows = rows.into_iter().map(|columns: Listed| {
            let (blob, kind, bytes, created, used, state, tag, names) = columns;
            Ok((blob_id(&blob)?, row((kind, bytes, created, used, state, tag, names))?))
        });
        rows.collect()
    }

    async fn usage(&self, tenant: &TenantId) -> Result<TenantUsage, DatabaseError> {
        let usage = statement("SELECT blobs, bytes FROM blob_totals WHERE tenant = $1");
        let found: Option<(i64, i64)> =
            self.database.fetch_optional(usage.bind(tenant.as_str())).await?;
        let (blobs, bytes) = found.unwrap_or_default();
        Ok(TenantUsage { blobs: count(blobs), bytes: count(bytes) })
    }

    async fn unused_since(
        &self,
        time: Duration,
        most: u64,
    ) -> Result<Vec<(TenantId, BlobId)>, DatabaseError> {
        const UNUSED: &str = "SELECT tenant, blob FROM blob_uses WHERE state = 'stored' AND used_ms <= $1 \
                              ORDER BY used_ms LIMIT $2";
        let unused = statement(UNUSED).bind(milliseconds(time)).bind(number(most));
        let rows: Vec<(String, String)> = self.database.fetch_all(unused).await?;
        rows.iter().map(|(tenant, blob)| Ok((tenant_id(tenant)?, blob_id(blob)?))).collect()
    }

    async fn left_since(
        &self,
        time: Duration,
        most: u64,
    ) -> Result<Vec<(TenantId, BlobId, BlobRow)>, DatabaseError> {
        const LEFT: &str = "SELECT tenant, blob, kind, bytes, created_ms, used_ms, state, tag, names \
                            FROM blob_uses WHERE state IN ('uploading', 'removing') AND changed_ms <= $1 \
                            ORDER BY changed_ms LIMIT $2";
        let left = statement(LEFT).bind(milliseconds(time)).bind(number(most));
        let rows = self.database.fetch_all(left).await?;
        let rows = rows.into_iter().map(|columns: Left| {
            let (tenant, blob, kind, bytes, created, used, state, tag, names) = columns;
            let row = row((kind, bytes, created, used, state, tag, names))?;
            Ok((tenant_id(&tenant)?, blob_id(&blob)?, row))
        });
        rows.collect()
    }

    async fn database_id(&self) -> Result<String, DatabaseError> {
        const MAKE: &str =
            "INSERT INTO blob_database (place, id) VALUES (1, $1) ON CONFLICT DO NOTHING";
        let id = format!("db_{}", Uuid::now_v7().simple());
        self.database.execute(statement(MAKE).bind(id)).await?;
        let find = statement("SELECT id FROM blob_database WHERE place = 1");
        let (id,): (String,) = self.database.fetch_one(find).await?;
        Ok(id)
    }

    async fn close(&self) {
        self.database.close().await;
    }
}

fn row((kind, bytes, created, used, state, tag, names): Columns) -> Result<BlobRow, DatabaseError> {
    let names: Vec<String> = serde_json::from_str(&names).map_err(|_cause| damaged())?;
    let names = names.iter().map(|name| BlobName::parse(name).map_err(|_cause| damaged()));
    Ok(BlobRow {
        kind: BlobKind::parse(&kind).map_err(|_cause| damaged())?,
        size: ByteCount::bytes(count(bytes)),
        created: Duration::from_millis(count(created)),
        used: Duration::from_millis(count(used)),
        state: match state.as_str() {
            "uploading" => RowState::Uploading,
            "stored" => RowState::Stored,
            "removing" => RowState::Removing,
            _ => return Err(damaged()),
        },
        tag,
        names: names.collect::<Result<_, _>>()?,
    })
}

fn tenant_id(text: &str) -> Result<TenantId, DatabaseError> {
    TenantId::parse(text).map_err(|_cause| damaged())
}

fn blob_id(text: &str) -> Result<BlobId, DatabaseError> {
    BlobId::parse(text).map_err(|_cause| damaged())
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn damaged() -> DatabaseError {
    DatabaseError::failed("the row of a blob is damaged")
}
