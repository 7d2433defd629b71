//! What people find runs by: their titles, a text to search in, and the blobs that they stored.

use sqlx::{QueryBuilder, Sqlite, Transaction};

use crate::records::record::RunRecord;

/// What a run is found by.
pub(super) struct TitleRow<'a> {
    pub(super) tenant: &'a str,
    pub(super) run_id: &'a str,
    pub(super) title: Option<&'a str>,
    pub(super) search: &'a str,
    /// The blobs that it stored.
    pub(super) blobs: &'a [String],
}

/// Longest message of an error that a search reads, in bytes.
const MAX_MESSAGE: usize = 200;

/// Blobs of one statement. A statement of SQLite takes 32,766 values.
const BLOBS: usize = 4_096;

/// The text that a search reads, in lower case: title, skill, error and id.
pub(super) fn search_text(record: &RunRecord) -> String {
    let mut texts = vec![record.run_id.as_str(), record.kind.name()];
    texts.extend([&record.label, &record.title].into_iter().flatten().map(String::as_str));
    if let Some(skill) = &record.skill {
        texts.extend([skill.name.as_str(), skill.version.as_str()]);
    }
    if let Some(error) = &record.error {
        let end = (0..=MAX_MESSAGE.min(error.message.len())).rev();
        let message = end.into_iter().find_map(|end| error.message.get(..end));
        texts.extend([error.error_type.as_str(), message.unwrap_or_default()]);
    }
    texts.join("\n").to_lowercase()
}

/// Writes what the runs are found by. What already exists stays.
pub(super) async fn insert_titles(
    transaction: &mut Transaction<'static, Sqlite>,
    rows: &[TitleRow<'_>],
) -> Result<(), sqlx::Error> {
    let mut statement: QueryBuilder<Sqlite> =
        QueryBuilder::new("INSERT INTO run_titles (tenant, run_id, title, search) ");
    statement.push_values(rows, |mut values, row| {
        values
            .push_bind(row.tenant)
            .push_bind(row.run_id)
            .push_bind(row.title)
            .push_bind(row.search);
    });
    statement.push(" ON CONFLICT DO NOTHING");
    statement.build().persistent(false).execute(&mut **transaction).await.map(drop)
}

/// Writes which blobs the runs stored.
pub(super) async fn insert_blobs(
    transaction: &mut Transaction<'static, Sqlite>,
    rows: &[TitleRow<'_>],
) -> Result<(), sqlx::Error> {
    let stored: Vec<(&TitleRow<'_>, &String)> =
        rows.iter().flat_map(|row| row.blobs.iter().map(move |blob| (row, blob))).collect();
    for stored in stored.chunks(BLOBS) {
        let mut statement: QueryBuilder<Sqlite> =
            QueryBuilder::new("INSERT INTO run_blobs (tenant, blob_id, run_id) ");
        statement.push_values(stored, |mut values, (row, blob)| {
            values.push_bind(row.tenant).push_bind(blob.as_str()).push_bind(row.run_id);
        });
        statement.push(" ON CONFLICT DO NOTHING");
        statement.build().persistent(false).execute(&mut **transaction).await?;
    }
    Ok(())
}

/// Forgets what the runs of a tenant before `bound` are found by.
pub(super) async fn forget_titles(
    transaction: &mut Transaction<'static, Sqlite>,
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
