//! Parts that several statements have.

use sqlx::sqlite::SqliteExecutor;

use crate::database::numbers::number;
use crate::database::sqlite::connections::Writing;
use crate::database::sqlite::sessions::columns::{
    self, CheckpointColumns, pack_columns, select_checkpoints,
};
use crate::database_error::DatabaseError;
use crate::sessions::rows::StoredCheckpoint;
use wardian_vocabulary::ids::{CheckpointId, SessionId, TenantId};

/// Changes the bytes of a tenant.
macro_rules! change_bytes {
    ($tenant:literal, $bytes:literal) => {
        concat!(
            "INSERT INTO session_totals (tenant, bytes) VALUES (",
            $tenant,
            ", ",
            $bytes,
            ") ON CONFLICT (tenant) DO UPDATE SET bytes = session_totals.bytes + excluded.bytes"
        )
    };
}

/// Moves the end of a session away from its use at a time.
macro_rules! used_at {
    ($time:literal) => {
        concat!(
            "used_ms = ",
            $time,
            ", expires_ms = MIN(",
            $time,
            " + idle_ms, created_ms + max_age_ms)"
        )
    };
}

pub(super) use {change_bytes, used_at};

/// Notes that the session `$1` is used at the time `$2`.
const USE: &str = concat!("UPDATE sessions SET ", used_at!("$2"), " WHERE session_id = $1");

/// Changes the bytes of a tenant by so many.
pub(super) async fn add_bytes(
    transaction: &mut Writing,
    tenant: &str,
    bytes: i64,
) -> Result<(), DatabaseError> {
    let change = sqlx::query(change_bytes!("$1", "$2")).bind(tenant.to_owned()).bind(bytes);
    change.execute(&mut **transaction).await?;
    Ok(())
}

/// The bytes of a tenant.
pub(super) async fn bytes_of(
    transaction: &mut Writing,
    tenant: &str,
) -> Result<i64, DatabaseError> {
    let bytes = sqlx::query_scalar("SELECT bytes FROM session_totals WHERE tenant = $1");
    let bytes: Option<i64> =
        bytes.bind(tenant.to_owned()).fetch_optional(&mut **transaction).await?;
    Ok(bytes.unwrap_or(0))
}

/// The number of a tenant's sessions that are open at this time.
pub(super) async fn count_open(
    transaction: &mut Writing,
    tenant: &TenantId,
    now_ms: u64,
) -> Result<i64, DatabaseError> {
    let open = "SELECT COUNT(*) FROM sessions \
                WHERE tenant = $1 AND state = 'open' AND expires_ms > $2";
    let open = sqlx::query_scalar(open).bind(tenant.to_string()).bind(number(now_ms));
    Ok(open.fetch_one(&mut **transaction).await?)
}

/// The checkpoint that a session is at, if it is open.
pub(super) async fn head_of_open(
    transaction: &mut Writing,
    session: &SessionId,
) -> Result<Option<Option<String>>, DatabaseError> {
    let head = "SELECT head FROM sessions WHERE session_id = $1 AND state = 'open'";
    let head = sqlx::query_scalar(head).bind(session.to_string());
    Ok(head.fetch_optional(&mut **transaction).await?)
}

/// Notes that a session is used.
pub(super) async fn use_session(
    transaction: &mut Writing,
    session: &SessionId,
    now_ms: u64,
) -> Result<(), DatabaseError> {
    let used = sqlx::query(USE).bind(session.to_string()).bind(number(now_ms));
    used.execute(&mut **transaction).await?;
    Ok(())
}

/// Notes that the caller of a session knows what a loss of power may have undone.
pub(super) async fn forget_loss(
    transaction: &mut Writing,
    session: &SessionId,
) -> Result<(), DatabaseError> {
    sqlx::query("UPDATE sessions SET may_have_gone_back = 0 WHERE session_id = $1")
        .bind(session.to_string())
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

/// A checkpoint of a session.
pub(super) async fn find_checkpoint(
    connection: impl SqliteExecutor<'_>,
    session: &SessionId,
    checkpoint: &CheckpointId,
) -> Result<Option<StoredCheckpoint>, DatabaseError> {
    let found: Option<CheckpointColumns> = sqlx::query_as(concat!(
        select_checkpoints!(),
        "made.session_id = $1 AND made.checkpoint = $2"
    ))
    .bind(session.to_string())
    .bind(checkpoint.to_string())
    .fetch_optional(connection)
    .await?;
    found.map(columns::checkpoint).transpose()
}
