//! Runs of a fleet that wait for a server.

use async_trait::async_trait;

use crate::database::engine::Writing;
use crate::database::numbers::{count, number};
use crate::database::records::StoredRecords;
use crate::database::records::names::{add_name, find_name_in};
use crate::database::records::servers::is_present;
use crate::database::records::write::insert_ended;
use crate::database::statement::{Dialect, Statement, statement};
use crate::database_error::DatabaseError;
use crate::records::record::RunKind;
use crate::records::row::Row;
use crate::records::server_id::RunHolder;
use crate::records::waiting::QueueCounts;
use crate::records::waiting::run_queue::{NewRun, Queued, RunQueue, StoredOrder, UnrecordedRow};
use wardian_vocabulary::ids::{RunId, TenantId};

/// Lets submissions of one tenant wait for each other, so that its limit holds.
const LOCK_TENANT: &str =
    "SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended($1, 5))) AS locked";

const COUNT: &str = "SELECT (SELECT COUNT(*) FROM queued_runs WHERE tenant = $1) \
     + (SELECT COUNT(*) FROM detached_runs WHERE tenant = $1)";

const ADD: &str = "INSERT INTO queued_runs \
     (tenant, run_id, kind, record, sealed, queued_us, expires_ms, server, epoch) ";

/// The tenants with runs that wait, each found by the index.
const TENANTS: &str = "WITH RECURSIVE found (tenant) AS \
     (SELECT MIN(tenant) FROM queued_runs WHERE server IS NULL UNION ALL \
      SELECT (SELECT MIN(tenant) FROM queued_runs WHERE server IS NULL AND tenant > found.tenant) \
      FROM found WHERE found.tenant IS NOT NULL) \
     SELECT tenant FROM found WHERE tenant IS NOT NULL LIMIT $1";

const OF_HOLDER: &str = "SELECT tenant, run_id, sealed, record FROM queued_runs \
     WHERE server = $1 AND epoch = $2 ORDER BY queued_us, run_id LIMIT $3";

const RESET: &str = "UPDATE queued_runs SET server = NULL, epoch = NULL WHERE server IS NOT NULL AND NOT EXISTS \
     (SELECT 1 FROM servers WHERE servers.server = queued_runs.server AND servers.epoch = queued_runs.epoch)";

const EXPIRED: &str =
    "SELECT record FROM queued_runs WHERE expires_ms <= $1 ORDER BY expires_ms LIMIT $2";

const CANCELLED: &str = "SELECT tenant, run_id FROM detached_runs \
     WHERE server = $1 AND epoch = $2 AND cancelled = 1";

const COUNTS: &str = "SELECT \
     (SELECT COUNT(*) FROM queued_runs WHERE server IS NULL), \
     (SELECT COUNT(*) FROM queued_runs WHERE server IS NOT NULL), \
     (SELECT COUNT(*) FROM detached_runs)";

#[async_trait]
impl RunQueue for StoredRecords {
    async fn submit(
        &self,
        runs: &[NewRun],
        holder: &RunHolder,
    ) -> Result<Vec<Queued>, DatabaseError> {
        let now = self.now_ms().await?;
        // What is dropped before the commit changes nothing.
        let mut transaction = self.begin().await?;
        let is_present =
            runs.iter().any(|run| run.claims) && is_present(&mut transaction, holder).await?;
        let mut ordered: Vec<(usize, &NewRun)> = runs.iter().enumerate().collect();
        // All submissions take their locks in one order.
        ordered.sort_by_key(|(_, run)| (&run.tenant, run.key.as_ref().map(|key| &key.name)));
        let mut outcomes = Vec::with_capacity(runs.len());
        let mut room: Option<(&TenantId, u64)> = None;
        for (at, run) in ordered {
            let used = match room {
                Some((tenant, used)) if *tenant == run.tenant => used,
                _ => used_by(&mut transaction, &run.tenant).await?,
            };
            let outcome = admitted(&mut transaction, run, (used, is_present)).await?;
            let is_new = matches!(outcome, Queued::Waiting | Queued::Claimed);
            room = Some((&run.tenant, used.saturating_add(u64::from(is_new))));
            outcomes.push((at, outcome));
        }
        outcomes.sort_by_key(|(at, _)| *at);
        let outcomes: Vec<Queued> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
        add_all(&mut transaction, runs, &outcomes, (holder, now)).await?;
        transaction.commit().await?;
        Ok(outcomes)
    }

    async fn waiting_tenants(&self, most: u64) -> Result<Vec<String>, DatabaseError> {
        let found: Vec<(String,)> =
            self.database.fetch_all(statement(TENANTS).bind(number(most))).await?;
        Ok(found.into_iter().map(|(tenant,)| tenant).collect())
    }

    async fn claim(
        &self,
        holder: &RunHolder,
        tenant: &TenantId,
        most: u64,
        except: &[RunId],
    ) -> Result<Vec<StoredOrder>, DatabaseError> {
        let dialect = self.database.dialect();
        let mut claim = Statement::building(
            dialect,
            "WITH picked AS MATERIALIZED (SELECT tenant, run_id FROM queued_runs WHERE tenant = ",
        );
        claim.push_value(tenant.as_str()).push(" AND server IS NULL");
        for run in except {
            claim.push(" AND run_id <> ").push_value(run.as_str());
        }
        claim.push(" ORDER BY queued_us, run_id LIMIT ").push_value(number(most));
        if dialect == Dialect::Postgres {
            claim.push(" FOR UPDATE SKIP LOCKED");
        }
        claim.push(") UPDATE queued_runs SET server = ").push_value(holder.server.as_str());
        claim.push(", epoch = ").push_value(number(holder.epoch));
        claim.push(
            " FROM picked WHERE queued_runs.tenant = picked.tenant \
             AND queued_runs.run_id = picked.run_id AND queued_runs.server IS NULL \
             AND EXISTS (SELECT 1 FROM servers WHERE servers.server = ",
        );
        claim.push_value(holder.server.as_str()).push(" AND servers.epoch = ");
        claim.push_value(number(holder.epoch));
        claim.push(
            ") RETURNING queued_runs.tenant, queued_runs.run_id, queued_runs.sealed, queued_runs.record",
        );
        Ok(orders(self.database.fetch_all(claim).await?))
    }

    async fn claimed(
        &self,
        holder: &RunHolder,
        most: u64,
    ) -> Result<Vec<StoredOrder>, DatabaseError> {
        let found = of_holder(statement(OF_HOLDER), holder).bind(number(most));
        Ok(orders(self.database.fetch_all(found).await?))
    }

    async fn begin(
        &self,
        holder: &RunHolder,
        runs: &[(TenantId, RunId)],
    ) -> Result<Vec<String>, DatabaseError> {
        if runs.is_empty() {
            return Ok(Vec::new());
        }
        let mut transaction = self.begin().await?;
        let dialect = transaction.dialect();
        let mut add = Statement::building(
            dialect,
            "INSERT INTO detached_runs (tenant, run_id, kind, record, server, epoch) \
             SELECT waiting.tenant, waiting.run_id, waiting.kind, waiting.record, \
             waiting.server, waiting.epoch FROM queued_runs AS waiting JOIN servers \
             ON servers.server = waiting.server AND servers.epoch = waiting.epoch WHERE ",
        );
        push_claimed(&mut add, "waiting.", holder, runs);
        if dialect == Dialect::Postgres {
            // A run that is ended at this moment, and an epoch, are waited for.
            add.push(" FOR UPDATE OF waiting FOR SHARE OF servers");
        }
        let begun = transaction.execute(add).await?;
        if begun > 0 {
            let mut remove = Statement::building(
                dialect,
                "DELETE FROM queued_runs WHERE EXISTS (SELECT 1 FROM detached_runs AS begun \
                 WHERE begun.tenant = queued_runs.tenant AND begun.run_id = queued_runs.run_id) AND ",
            );
            push_claimed(&mut remove, "", holder, runs);
            transaction.execute(remove).await?;
        }
        let mut found =
            Statement::building(dialect, "SELECT run_id FROM detached_runs AS begun WHERE ");
        push_claimed(&mut found, "", holder, runs);
        let found: Vec<(String,)> = transaction.fetch_all(found).await?;
        transaction.commit().await?;
        Ok(found.into_iter().map(|(run,)| run).collect())
    }

    async fn give_back(
        &self,
        holder: &RunHolder,
        runs: &[(TenantId, RunId)],
    ) -> Result<(), DatabaseError> {
        if runs.is_empty() {
            return Ok(());
        }
        let mut back = Statement::building(
            self.database.dialect(),
            "UPDATE queued_runs SET server = NULL, epoch = NULL WHERE ",
        );
        push_claimed(&mut back, "", holder, runs);
        self.database.execute(back).await.map(drop)
    }

    async fn end_queued(
        &self,
        row: &Row,
        holder: Option<&RunHolder>,
        now_ms: u64,
    ) -> Result<bool, DatabaseError> {
        let mut transaction = self.begin().await?;
        let mut remove =
            Statement::building(transaction.dialect(), "DELETE FROM queued_runs WHERE tenant = ");
        remove
            .push_value(row.tenant.as_str())
            .push(" AND run_id = ")
            .push_value(row.run_id.as_str());
        if let Some(holder) = holder {
            remove.push(" AND server = ").push_value(holder.server.as_str());
            remove.push(" AND epoch = ").push_value(number(holder.epoch));
        }
        if transaction.execute(remove).await? == 0 {
            return Ok(false);
        }
        insert_ended(&mut transaction, &[row], now_ms).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn expired(&self, most: u64) -> Result<Vec<String>, DatabaseError> {
        let now = self.now_ms().await?;
        let expired = statement(EXPIRED).bind(now).bind(number(most));
        let found: Vec<(String,)> = self.database.fetch_all(expired).await?;
        Ok(found.into_iter().map(|(record,)| record).collect())
    }

    async fn note_cancelled(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<bool, DatabaseError> {
        let mut note = Statement::building(
            self.database.dialect(),
            "UPDATE detached_runs SET cancelled = 1 WHERE tenant = ",
        );
        note.push_value(tenant.as_str()).push(" AND run_id = ").push_value(run.as_str());
        push_kind(&mut note, kind);
        Ok(self.database.execute(note).await? > 0)
    }

    async fn cancelled(&self, holder: &RunHolder) -> Result<Vec<(String, String)>, DatabaseError> {
        self.database.fetch_all(of_holder(statement(CANCELLED), holder)).await
    }

    async fn find_queued(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        let mut find = Statement::building(
            self.database.dialect(),
            "SELECT record FROM queued_runs WHERE tenant = ",
        );
        find.push_value(tenant.as_str()).push(" AND run_id = ").push_value(run.as_str());
        push_kind(&mut find, kind);
        let found: Option<(String,)> = self.database.fetch_optional(find).await?;
        Ok(found.map(|(record,)| record))
    }

    async fn unrecorded(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        most: u64,
    ) -> Result<Vec<UnrecordedRow>, DatabaseError> {
        let mut find = Statement::building(
            self.database.dialect(),
            "SELECT run_id, record, begun, claimed FROM \
             (SELECT tenant, run_id, kind, record, 0 AS begun, \
              CASE WHEN server IS NULL THEN 0 ELSE 1 END AS claimed FROM queued_runs UNION ALL \
              SELECT tenant, run_id, kind, record, 1 AS begun, 1 AS claimed FROM detached_runs) \
             AS unrecorded WHERE tenant = ",
        );
        find.push_value(tenant.as_str());
        push_kind(&mut find, kind);
        find.push(" ORDER BY run_id DESC LIMIT ").push_value(number(most));
        let found: Vec<(String, String, i32, i32)> = self.database.fetch_all(find).await?;
        let row = |(run_id, record, begun, claimed)| UnrecordedRow {
            run_id,
            record,
            has_begun: begun != 0,
            is_claimed: claimed != 0,
        };
        Ok(found.into_iter().map(row).collect())
    }

    async fn reset_claims(&self) -> Result<u64, DatabaseError> {
        self.database.execute(statement(RESET)).await
    }

    async fn queue_counts(&self) -> Result<QueueCounts, DatabaseError> {
        let (waiting, claimed, begun): (i64, i64, i64) =
            self.database.fetch_one(statement(COUNTS)).await?;
        let [waiting, claimed, begun] = [waiting, claimed, begun].map(count);
        Ok(QueueCounts { waiting, claimed, begun })
    }
}

/// The runs of a tenant that have no record yet. Nobody else submits some before the end of the transaction.
async fn used_by(transaction: &mut Writing, tenant: &TenantId) -> Result<u64, DatabaseError> {
    if transaction.dialect() == Dialect::Postgres {
        let lock = statement(LOCK_TENANT).bind(tenant.as_str());
        transaction.fetch_all::<(i32,)>(lock).await?;
    }
    let used: Option<(i64,)> =
        transaction.fetch_optional(statement(COUNT).bind(tenant.as_str())).await?;
    Ok(used.map_or(0, |(used,)| count(used)))
}

/// Whether a run may wait. Gives it its name, if it may.
async fn admitted(
    transaction: &mut Writing,
    run: &NewRun,
    (used, is_present): (u64, bool),
) -> Result<Queued, DatabaseError> {
    if let Some(key) = &run.key
        && let Some(call) = find_name_in(transaction, &run.tenant, &key.name).await?
    {
        return Ok(Queued::Known(call));
    }
    if used >= run.most {
        return Ok(Queued::TooMany);
    }
    if let Some(key) = &run.key {
        let call = (&run.tenant, Some(&run.run));
        if let Some(call) = add_name(transaction, call, key, run.started_ms).await? {
            return Ok(Queued::Known(call));
        }
    }
    Ok(if run.claims && is_present { Queued::Claimed } else { Queued::Waiting })
}

/// Adds the runs that were admitted.
async fn add_all(
    transaction: &mut Writing,
    runs: &[NewRun],
    outcomes: &[Queued],
    (holder, now_ms): (&RunHolder, i64),
) -> Result<(), DatabaseError> {
    let is_new =
        |(_, outcome): &(&NewRun, &Queued)| matches!(outcome, Queued::Waiting | Queued::Claimed);
    let added: Vec<_> = runs.iter().zip(outcomes).filter(is_new).collect();
    if added.is_empty() {
        return Ok(());
    }
    let mut add = Statement::building(transaction.dialect(), ADD);
    let mut place = 0_i64;
    add.push("VALUES ");
    for (run, outcome) in added {
        add.push(if place == 0 { "(" } else { ", (" });
        // Those of one millisecond wait in the order in which they came.
        let queued_us = now_ms.saturating_mul(1_000).saturating_add(place);
        let holder = (*outcome == Queued::Claimed).then_some(holder);
        for text in [run.tenant.as_str(), run.run.as_str(), run.kind.name()] {
            add.push_value(text).push(", ");
        }
        add.push_value(run.record.as_str()).push(", ");
        add.push_value(run.sealed.as_str()).push(", ");
        add.push_value(queued_us).push(", ");
        add.push_value(now_ms.saturating_add(number(run.longest_wait_ms))).push(", ");
        add.push_value(holder.map(|holder| holder.server.as_str())).push(", ");
        add.push_value(holder.map(|holder| number(holder.epoch))).push(")");
        place = place.saturating_add(1);
    }
    transaction.execute(add).await.map(drop)
}

fn of_holder(statement: Statement, holder: &RunHolder) -> Statement {
    statement.bind(holder.server.as_str()).bind(number(holder.epoch))
}

/// Adds that a row is of a server in its epoch, and is one of these runs.
fn push_claimed(
    statement: &mut Statement,
    table: &str,
    holder: &RunHolder,
    runs: &[(TenantId, RunId)],
) {
    statement.push(table).push("server = ").push_value(holder.server.as_str());
    statement.push(" AND ").push(table).push("epoch = ").push_value(number(holder.epoch));
    statement.push(" AND (");
    for (at, (tenant, run)) in runs.iter().enumerate() {
        statement.push(if at == 0 { "(" } else { " OR (" });
        statement.push(table).push("tenant = ").push_value(tenant.as_str());
        statement.push(" AND ").push(table).push("run_id = ").push_value(run.as_str()).push(")");
    }
    statement.push(")");
}

fn push_kind(statement: &mut Statement, kind: Option<RunKind>) {
    if let Some(kind) = kind {
        statement.push(" AND kind = ").push_value(kind.name());
    }
}

fn orders(rows: Vec<(String, String, String, String)>) -> Vec<StoredOrder> {
    let order = |(tenant, run_id, sealed, record)| StoredOrder { tenant, run_id, sealed, record };
    rows.into_iter().map(order).collect()
}
