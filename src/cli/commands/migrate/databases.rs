//! Keys and records are copied to another database.

use crate::assembly;
use crate::cli::commands::blobs::RowProgress;
use crate::cli::commands::migrate::{MovedTable, is_there};
use crate::cli::failed::Failed;
use wardian_config::Config;
use wardian_stores::database::{DatabaseCopy, DatabasePart, DatabasePlace, TableProgress};

/// Copies all rows, and compares both databases.
pub(super) async fn copy(config: &Config, target: &Config) -> Result<Vec<MovedTable>, Failed> {
    let parts = [
        (DatabasePart::Keys, assembly::keys_place(config), assembly::keys_place(target)),
        (DatabasePart::Records, assembly::records_place(config), assembly::records_place(target)),
    ];
    let mut copies = Vec::new();
    for (part, from, to) in parts {
        // What was moved before is not made again.
        if let DatabasePlace::File(path) = &from
            && !is_there(path)?
        {
            continue;
        }
        copies.push(DatabaseCopy::open(&from, &to, part).await?);
    }
    for copy in &copies {
        if let Some(table) = copy.first_surplus().await? {
            return Err(Failed::usage(format!(
                "the database of `database.url_file` has rows in `{table}` that this server has not: it must be empty, \
                 or what an interrupted migration has left"
            )));
        }
    }
    let mut moved: Vec<MovedTable> = Vec::new();
    for copy in copies {
        let mut progress = RowProgress::begin("copying");
        copy.copy(&mut |told| progress.show(told.table, told.rows)).await?;
        let mut progress = RowProgress::begin("comparing");
        let mut compared = |TableProgress { table, rows }| {
            progress.show(table, rows);
            match moved.iter_mut().find(|one| one.table == table) {
                Some(one) => one.rows = rows,
                None => moved.push(MovedTable { table, rows }),
            }
        };
        if let Some(table) = copy.first_difference(&mut compared).await? {
            return Err(Failed::refused(format!(
                "`{table}` differs from what was copied: the database of `database.url_file` is used by somebody \
                 else; nothing was changed here"
            )));
        }
        copy.close().await;
    }
    Ok(moved)
}
