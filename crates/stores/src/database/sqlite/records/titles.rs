//! What people find runs by: their titles, a text to search in, and the blobs that they stored.

use sqlx::{QueryBuilder, Sqlite};

use crate::database::sqlite::connections::Writing;
use crate::records::row::Row;

/// Blobs of one statement. A statement of SQLite takes 32,766 values.
const BLOBS: usize = 4_096;

/// Writes what the runs are found by. What already exists stays.
pub(super) async fn insert_titles(
    transaction: &mut Writing,
    rows: &[Row],
) -> Result<(), sqlx::Error> {
    let mut statement: QueryBuilder<Sqlite> =
        QueryBuilder::new("INSERT INTO run_titles (tenant, run_id, title, search) ");
    statement.push_values(rows, |mut values, row| {
        values
            .push_bind(row.tenant.as_str())
            .push_bind(row.run_id.as_str())
            .push_bind(row.title.as_deref())
            .push_bind(row.search.as_str());
    });
    statement.push(" ON CONFLICT DO NOTHING");
    statement.build().persistent(false).execute(&mut **transaction).await.map(drop)
}

/// Writes which blobs the runs stored.
pub(super) async fn insert_blobs(
    transaction: &mut Writing,
    rows: &[Row],
) -> Result<(), sqlx::Error> {
    let stored: Vec<(&Row, &String)> =
        rows.iter().flat_map(|row| row.blobs.iter().map(move |blob| (row, blob))).collect();
    for stored in stored.chunks(BLOBS) {
        let mut statement: QueryBuilder<Sqlite> =
            QueryBuilder::new("INSERT INTO run_blobs (tenant, blob_id, run_id) ");
        statement.push_values(stored, |mut values, (row, blob)| {
            values
                .push_bind(row.tenant.as_str())
                .push_bind(blob.as_str())
                .push_bind(row.run_id.as_str());
        });
        statement.push(" ON CONFLICT DO NOTHING");
        statement.build().persistent(false).execute(&mut **transaction).await?;
    }
    Ok(())
}

/// Forgets what the runs of a tenant before `bound` are found by.
pub(super) async fn forget_titles(
    transaction: &mut Writing,
    tenant: &str,
    bound: &str,
) -> Result<(), sqlx::Error> {
    for statement in [
        "DELETE FROM run_titles WHERE tenant = $1 AND run_id < $2",
        "DELETE FROM run_blobs WHERE tenant = $1 AND run_id < $2",
    ] {
        sqlx::query(statement)
            .bind(tenant.to_owned())
            .bind(bound.to_owned())
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}
