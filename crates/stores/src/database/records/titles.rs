//! What people find runs by: their titles, a text to search in, and the blobs that they stored.

use crate::database::engine::Writing;
use crate::database::statement::{Statement, statement};
use crate::database_error::DatabaseError;
use crate::records::row::Row;

/// Blobs of one statement. A statement of SQLite takes 32,766 values, one of PostgreSQL 65,535.
const BLOBS: usize = 4_096;

/// Writes what the runs are found by. What already exists stays.
pub(super) async fn insert_titles(
    transaction: &mut Writing,
    rows: &[&Row],
) -> Result<(), DatabaseError> {
    let insert = "INSERT INTO run_titles (tenant, run_id, title, search) ";
    let mut insert = Statement::building(transaction.dialect(), insert);
    insert.push_rows(rows, |row| {
        [
            row.tenant.as_str().into(),
            row.run_id.as_str().into(),
            row.title.as_deref().into(),
            row.search.as_str().into(),
        ]
    });
    insert.push(" ON CONFLICT DO NOTHING");
    transaction.execute(insert).await.map(drop)
}

/// Writes which blobs the runs stored.
pub(super) async fn insert_blobs(
    transaction: &mut Writing,
    rows: &[&Row],
) -> Result<(), DatabaseError> {
    let stored: Vec<(&Row, &String)> =
        rows.iter().flat_map(|row| row.blobs.iter().map(move |blob| (*row, blob))).collect();
    for stored in stored.chunks(BLOBS) {
        let insert = "INSERT INTO run_blobs (tenant, blob_id, run_id) ";
        let mut insert = Statement::building(transaction.dialect(), insert);
        insert.push_rows(stored, |(row, blob)| {
            [row.tenant.as_str().into(), blob.as_str().into(), row.run_id.as_str().into()]
        });
        insert.push(" ON CONFLICT DO NOTHING");
        transaction.execute(insert).await?;
    }
    Ok(())
}

/// Forgets what the runs of a tenant before `bound` are found by.
pub(super) async fn forget_titles(
    transaction: &mut Writing,
    tenant: &str,
    bound: &str,
) -> Result<(), DatabaseError> {
    for text in [
        "DELETE FROM run_titles WHERE tenant = $1 AND run_id < $2",
        "DELETE FROM run_blobs WHERE tenant = $1 AND run_id < $2",
    ] {
        transaction.execute(statement(text).bind(tenant).bind(bound)).await?;
    }
    Ok(())
}
