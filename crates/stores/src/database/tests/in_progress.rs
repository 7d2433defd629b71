//! Runs in the background, their names, and the servers that have them.

use std::time::Duration;

use crate::database::tests::{
    Place, detached, fill, id, key, limits, listed, numbers, row, tenant, trim,
};
use crate::records::row::Row;
use crate::records::servers::LEASE;
use crate::records::{
    KnownKey, NotedRun, RecordTable, RecordsConfig, RequestKey, RunElsewhere, RunFilter, RunHolder,
    RunOutcomeKind, RunRecord, ServerId, ServerRecords,
};
use wardian_cluster::LeaseRules;
use wardian_vocabulary::ids::{RunId, TenantId};

#[tokio::test]
async fn names_of_calls_that_store_blobs_are_bounded_and_expire() {
    for place in Place::all().await {
        let (server, acme) = (place.server().await, tenant("acme"));
        let table = &place.table;
        let note = async |name: &str, call: &str, now| {
            table.note_blob_key(&acme, &key(name, call), now).await.unwrap()
        };
        assert!(note("a", "one", 10).await && note("a", "one", 11).await);
        assert!(!note("a", "two", 12).await, "another call has the name");
        assert_eq!(
            table.find_key(&acme, &key("a", "one")).await.unwrap(),
            Some(KnownKey::SameBlob)
        );
        let run = server.note_detached(&detached("acme", 1), Some(&key("a", "one"))).await.unwrap();
        assert!(run.is_some(), "a run has the name of a blob");
        server.note_detached(&detached("acme", 2), Some(&key("run", "three"))).await.unwrap();
        assert!(!note("run", "three", 13).await, "a blob has the name of a run");
        for number in 0..5 {
            assert!(note(&format!("b{number}"), "x", 20 + number).await);
        }
        let there = async |name: &str| {
            table.find_key(&acme, &key(name, "x")).await.unwrap() == Some(KnownKey::SameBlob)
        };
        assert!(!table.trim_names(3, None).await.unwrap(), "there is no more to remove");
        assert!(!there("b1").await && there("b2").await);
        table.trim_names(3, Some(24)).await.unwrap();
        assert!(!there("b3").await && there("b4").await);
        assert!(table.find_key(&tenant("beta"), &key("b4", "x")).await.unwrap().is_none());
    }
}

/// A run with a name continues while its tenant makes so many others that its record is the oldest.
#[tokio::test]
async fn kept_names_outlive_the_records_of_their_runs_and_expire_by_themselves() {
    for place in Place::all().await {
        let (server, acme) = (place.server().await, tenant("acme"));
        let table = &place.table;
        let named = detached("acme", 1);
        let there =
            async |name: &str| table.find_key(&acme, &key(name, "x")).await.unwrap().is_some();
        server.note_detached(&named, Some(&key("long", "x"))).await.unwrap();
        let others: Vec<Row> = (10..30).map(|number| row("acme", number, 0)).collect();
        table.insert(&others, 100).await.unwrap();
        let config = RecordsConfig { max_count: 5, ..RecordsConfig::default() };
        let trim = async |oldest| {
            while table.trim_to_limits(&config).await.unwrap().has_more {}
            while table.trim_names(config.max_count, oldest).await.unwrap() {}
        };
        trim(Some(1_000)).await;
        assert!(there("long").await, "the run goes on");
        table.insert(&[Row::of(&named, None, None).unwrap()], 2_000).await.unwrap();
        trim(Some(1_999)).await;
        assert_eq!(numbers(table, "acme").await.len(), 5);
        assert!(there("long").await, "it has just ended");
        trim(Some(2_001)).await;
        assert!(!there("long").await);
        // Beyond their number the oldest names go, in the order in which their runs ended.
        for number in 40..50 {
            let run = detached("acme", number);
            server.note_detached(&run, Some(&key(&number.to_string(), "x"))).await.unwrap();
        }
        for number in (40..49).rev() {
            let ended = Row::of(&detached("acme", number), None, None).unwrap();
            table.insert(&[ended], 10_000 - number).await.unwrap();
        }
        trim(None).await;
        for number in 40..50 {
            let is_kept = number < 45 || number == 49;
            assert_eq!(there(&number.to_string()).await, is_kept, "{number}");
        }
    }
}

/// Records that are lost are written from their notes, and then removed like all others.
#[tokio::test]
async fn notes_of_runs_whose_records_are_lost_count_against_the_limits() {
    for place in Place::all().await {
        let (server, acme) = (place.server().await, tenant("acme"));
        let table = &place.table;
        for number in 0..30 {
            let key = key(&format!("k{number}"), "a");
            server.note_detached(&detached("acme", number), Some(&key)).await.unwrap();
        }
        server.note_detached(&detached("beta", 3), None).await.unwrap();
        trim(table, &limits(10, 1 << 20)).await;
        let is_noted = async |owner: &TenantId, number: u64| {
            table.find_detached(owner, None, &id(number)).await.unwrap().is_some()
        };
        assert!(is_noted(&acme, 0).await && numbers(table, "acme").await.is_empty());
        // Two go on.
        let goes_on = |run: &RunId| *run == id(4) || *run == id(29);
        assert_eq!(server.end_lost(&acme, &goes_on).await.unwrap(), 28);
        assert_eq!(server.end_lost(&acme, &goes_on).await.unwrap(), 0);
        assert_eq!(numbers(table, "acme").await.len(), 28);
        let text = table.find(&acme, None, &id(7)).await.unwrap().unwrap();
        assert!(text.contains("interrupted"), "{text}");
        trim(table, &limits(10, 1 << 20)).await;
        assert_eq!(numbers(table, "acme").await.len(), 10);
        for number in [0, 4, 17, 19, 29] {
            let found = table.find_key(&acme, &key(&format!("k{number}"), "a")).await.unwrap();
            assert!(found.is_some(), "{number}");
            assert_eq!(is_noted(&acme, number).await, number == 4 || number == 29);
        }
        assert!(is_noted(&tenant("beta"), 3).await, "it is another's");
    }
}

#[tokio::test]
async fn a_key_belongs_to_one_call_of_one_tenant_longer_than_its_record() {
    for place in Place::all().await {
        let (server, acme) = (place.server().await, tenant("acme"));
        let table = &place.table;
        let note = async |owner: &'static str, number: u64, key: RequestKey| {
            server.note_detached(&detached(owner, number), Some(&key)).await.unwrap()
        };
        assert_eq!(note("acme", 0, key("k", "a")).await, None);
        assert_eq!(note("acme", 1, key("k", "a")).await, Some(KnownKey::Run(id(0))));
        assert_eq!(note("acme", 1, key("k", "b")).await, Some(KnownKey::OtherCall));
        assert_eq!(note("beta", 2, key("k", "b")).await, None);
        assert_eq!(
            table.find_detached(&acme, None, &id(1)).await.unwrap(),
            None,
            "nothing is noted"
        );
        table.forget_detached(&acme, &id(0)).await.unwrap();
        assert_eq!(table.find_key(&acme, &key("k", "a")).await.unwrap(), None);
        assert_eq!(note("acme", 3, key("k", "c")).await, None);
        server.end_lost(&acme, &|_: &RunId| false).await.unwrap();
        assert_eq!(note("acme", 4, key("k", "c")).await, Some(KnownKey::Run(id(3))));
        assert_eq!(note("acme", 5, key("goes on", "d")).await, None);
        fill(table, "acme", 10..20, 0).await;
        trim(table, &limits(10, 70)).await;
        assert_eq!(table.find(&acme, None, &id(3)).await.unwrap(), None, "its record is gone");
        assert_eq!(note("acme", 21, key("k", "c")).await, Some(KnownKey::Run(id(3))));
        assert!(table.find_key(&tenant("beta"), &key("k", "b")).await.unwrap().is_some());
        table.trim_names(u64::MAX, Some(u64::MAX)).await.unwrap();
        assert_eq!(table.find_key(&acme, &key("k", "c")).await.unwrap(), None, "its time is over");
        // The run in progress is as old, and its call may come again.
        assert_eq!(note("acme", 21, key("goes on", "d")).await, Some(KnownKey::Run(id(5))));
    }
}

/// A kill at any point leaves a run that was noted with one record, at once when the server starts
/// again.
#[tokio::test]
async fn no_run_stays_in_progress_after_a_kill() {
    for place in Place::all().await {
        let (acme, beta, id_of_server) = (tenant("acme"), tenant("beta"), ServerId::generate());
        let join = async || {
            let joined = ServerRecords::join(place.beside().await, id_of_server.clone()).await;
            joined.unwrap()
        };
        let (server, left) = join().await;
        assert_eq!(left, 0);
        for number in 0..300 {
            assert_eq!(server.note_detached(&detached("acme", number), None).await.unwrap(), None);
        }
        server.note_detached(&detached("beta", 7), None).await.unwrap();
        // Two have ended before the kill.
        let mut ended = detached("acme", 1);
        ended.outcome = RunOutcomeKind::Completed;
        let result = "{\"n\":1}".to_owned();
        let rows = [
            Row::of(&ended, None, Some(result.clone())).unwrap(),
            Row::of(&detached("acme", 2), Some("[]".to_owned()), None).unwrap(),
        ];
        place.table.insert(&rows, 0).await.unwrap();
        let is_noted = async |owner: &TenantId, number: u64| {
            place.table.find_detached(owner, None, &id(number)).await.unwrap().is_some()
        };
        assert!(!is_noted(&acme, 1).await && is_noted(&acme, 3).await);
        assert!(!is_noted(&beta, 3).await);
        server.close().await;
        // The lease of its former life has not ended.
        let (table, left) = join().await;
        assert_eq!(left, 299, "{}", place.name());
        assert_eq!(table.end_interrupted().await.unwrap(), 0);
        assert_eq!(numbers(&table, "acme").await.len(), 300);
        let of = |outcome| RunFilter { outcome: Some(outcome), ..RunFilter::default() };
        let interrupted = of(RunOutcomeKind::Interrupted);
        assert_eq!(listed(&table, "acme", &interrupted, 1_000).await.0.len(), 299);
        assert_eq!(listed(&table, "acme", &of(RunOutcomeKind::Completed), 10).await.0, [1]);
        assert_eq!(table.read_result(&acme, &id(1)).await.unwrap(), Some(result));
        assert_eq!(table.find_result(&acme, &id(1)).await.unwrap(), Some(7));
        assert_eq!(table.find_result(&acme, &id(2)).await.unwrap(), None);
        let text = table.find(&beta, None, &id(7)).await.unwrap().unwrap();
        let read: RunRecord = serde_json::from_str(&text).unwrap();
        assert_eq!((read.outcome, read.detached), (RunOutcomeKind::Interrupted, true));
    }
}

fn nothing_goes_on(_: &RunId) -> bool {
    false
}

async fn elsewhere(server: &ServerRecords, owner: &str, number: u64) -> Option<RunElsewhere> {
    server.find_elsewhere(&tenant(owner), None, &id(number)).await.unwrap()
}

const fn goes_on(found: Option<&RunElsewhere>) -> bool {
    matches!(found, Some(RunElsewhere::GoesOn(_)))
}

async fn outcome(table: &RecordTable, owner: &str, number: u64) -> Option<RunOutcomeKind> {
    let text = table.find(&tenant(owner), None, &id(number)).await.unwrap()?;
    Some(serde_json::from_str::<RunRecord>(&text).unwrap().outcome)
}

/// A second server on the same database starts, looks, and makes runs of the same tenant.
#[tokio::test]
async fn runs_of_others_go_on_when_a_second_server_starts() {
    for place in Place::all().await {
        let first = place.server().await;
        let named = key("k", "call");
        first.note_detached(&detached("acme", 1), Some(&named)).await.unwrap();
        let (second, interrupted) =
            ServerRecords::join(place.beside().await, ServerId::generate()).await.unwrap();
        assert_eq!(interrupted, 0, "it writes off a run of another: {}", place.name());
        assert!(goes_on(elsewhere(&second, "acme", 1).await.as_ref()), "it is reported as ended");
        let acme = tenant("acme");
        assert_eq!(second.end_lost(&acme, &nothing_goes_on).await.unwrap(), 0);
        let known = second.note_detached(&detached("acme", 2), Some(&named)).await.unwrap();
        assert_eq!(known, Some(KnownKey::Run(id(1))), "one call begins one run");
        assert_eq!(outcome(&second, "acme", 1).await, None);
        // The end is written by the first server, and the second one sees it.
        let mut ended = detached("acme", 1);
        ended.outcome = RunOutcomeKind::Completed;
        first.insert(&[Row::of(&ended, None, None).unwrap()], 0).await.unwrap();
        assert_eq!(elsewhere(&second, "acme", 1).await, None);
        assert_eq!(outcome(&second, "acme", 1).await, Some(RunOutcomeKind::Completed));
        // To its own server the same note says that the end was lost, unless the run is active there. It is the end.
        let holder = first.holder();
        first.note_detached(&detached("acme", 3), None).await.unwrap();
        let Some(RunElsewhere::Over(text)) = elsewhere(&first, "acme", 3).await else { panic!() };
        assert!(text.contains("\"interrupted\""), "{text}");
        ended.run_id = id(3);
        let row = Row { holder: Some(holder), ..Row::of(&ended, None, None).unwrap() };
        assert_eq!(first.insert(&[row], 0).await.unwrap(), 1, "it comes too late");
        assert_eq!(outcome(&second, "acme", 3).await, Some(RunOutcomeKind::Interrupted));
    }
}

async fn renew(server: &ServerRecords, times: u32) -> u64 {
    let mut interrupted = 0;
    for _ in 0..times {
        let renewal = server.renew().await.unwrap();
        assert!(!renewal.was_over);
        interrupted += renewal.interrupted;
    }
    interrupted
}

/// A server that is gone for good leaves no run in progress either.
#[tokio::test]
async fn the_runs_of_a_server_end_after_its_lease() {
    for place in Place::all().await {
        let (gone, server) = (place.server().await, place.server().await);
        gone.note_detached(&detached("acme", 1), Some(&key("k", "call"))).await.unwrap();
        place.pass(LEASE - Duration::from_millis(1));
        assert_eq!(renew(&server, 2 * LeaseRules::STEADY).await, 0, "{}", place.name());
        assert!(goes_on(elsewhere(&server, "acme", 1).await.as_ref()));
        place.pass(Duration::from_millis(1));
        assert_eq!(renew(&server, 1).await, 1);
        assert_eq!(elsewhere(&server, "acme", 1).await, None);
        assert_eq!(outcome(&server, "acme", 1).await, Some(RunOutcomeKind::Interrupted));
        assert_eq!(renew(&server, LeaseRules::STEADY).await, 0, "it ends once");
        let known = server.find_key(&tenant("acme"), &key("k", "call")).await.unwrap();
        assert_eq!(known, Some(KnownKey::Run(id(1))), "its call is not executed again");
    }
}

/// No server judges others by a lease that it could not renew itself.
#[tokio::test]
async fn a_server_that_was_held_up_judges_nobody_for_two_leases() {
    for place in Place::all().await {
        let (one, other) = (place.server().await, place.server().await);
        one.note_detached(&detached("acme", 1), None).await.unwrap();
        // A new server.
        place.pass(LEASE);
        assert_eq!(renew(&other, LeaseRules::STEADY - 1).await, 0, "{}", place.name());
        renew(&one, LeaseRules::STEADY).await;
        assert_eq!(renew(&other, 1).await, 0);
        // The machine slept: both leases have ended, and either may be the first to wake.
        place.pass(4 * LEASE);
        assert_eq!(renew(&other, LeaseRules::STEADY - 1).await, 0);
        assert!(goes_on(elsewhere(&other, "acme", 1).await.as_ref()));
        renew(&one, 1).await;
        assert_eq!(renew(&other, LeaseRules::STEADY).await, 0);
        assert_eq!(outcome(&other, "acme", 1).await, None);
    }
}

/// A renewal that failed begins the count again.
#[tokio::test]
async fn a_database_that_was_out_of_reach_ends_no_run() {
    let place = Place::memory();
    let (one, other) = (place.server().await, place.server().await);
    one.note_detached(&detached("acme", 1), None).await.unwrap();
    place.pass(LEASE / 3 * 2);
    renew(&other, LeaseRules::STEADY).await;
    place.set_broken(true).await;
    other.renew().await.unwrap_err();
    // The lease of the one has ended, and that of the other has not.
    place.pass(LEASE / 3 * 2);
    place.set_broken(false).await;
    assert_eq!(renew(&other, LeaseRules::STEADY - 1).await, 0);
    renew(&one, 1).await;
    assert_eq!(renew(&other, LeaseRules::STEADY).await, 0);
    assert!(goes_on(elsewhere(&other, "acme", 1).await.as_ref()));
}

/// A server that comes back after others have ended its runs joins again, and its late ends change
/// nothing.
#[tokio::test]
async fn a_server_whose_runs_were_taken_over_joins_again() {
    for place in Place::all().await {
        let (late, server) = (place.server().await, place.server().await);
        let before = late.holder();
        late.note_detached(&detached("acme", 1), None).await.unwrap();
        place.pass(LEASE);
        assert_eq!(renew(&server, LeaseRules::STEADY).await, 1, "{}", place.name());
        // The end of the run that others have ended meanwhile.
        let mut ended = detached("acme", 1);
        ended.outcome = RunOutcomeKind::Completed;
        late.insert(&[Row::of(&ended, None, None).unwrap()], 0).await.unwrap();
        assert_eq!(outcome(&late, "acme", 1).await, Some(RunOutcomeKind::Interrupted));
        // What it would note in its old epoch would be over at once.
        let refused = late.table_note(&detached("acme", 2), &before).await;
        assert_eq!(refused, NotedRun::EpochOver);
        assert_eq!(late.note_detached(&detached("acme", 2), None).await.unwrap(), None);
        let after = late.holder();
        assert!(after.epoch > before.epoch && after.server == before.server, "{after:?}");
        assert!(goes_on(elsewhere(&server, "acme", 2).await.as_ref()));
        assert_eq!(renew(&late, 1).await, 0);
        // Noticed by a renewal.
        place.pass(LEASE);
        assert_eq!(renew(&server, LeaseRules::STEADY).await, 1);
        assert!(late.renew().await.unwrap().was_over);
        assert!(late.holder().epoch > after.epoch);
    }
}

impl ServerRecords {
    async fn table_note(&self, record: &RunRecord, holder: &RunHolder) -> NotedRun {
        RecordTable::note_detached(self, record, None, holder).await.unwrap()
    }
}

/// One of eight calls with the same name: two store a blob, the others begin runs. Returns whether the
/// call has the name.
async fn call_of(server: ServerRecords, number: u64) -> bool {
    let named = key(&format!("k{}", number / 8), "call");
    if number % 8 < 2 {
        return server.note_blob_key(&tenant("acme"), &named, number).await.unwrap();
    }
    let noted = server.note_detached(&detached("acme", number), Some(&named)).await;
    noted.unwrap().is_none()
}

/// Many tasks of two servers give names and end runs at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn one_name_has_one_call_however_many_servers_ask() {
    for place in Place::all().await {
        let servers = [place.server().await, place.server().await];
        let mut tasks = Vec::new();
        for number in 0..80_u64 {
            let server = servers[usize::try_from(number % 2).unwrap()].clone();
            tasks.push(tokio::spawn(call_of(server, number)));
        }
        let mut named = [0; 10];
        for (number, task) in tasks.into_iter().enumerate() {
            let is_named = task.await.unwrap();
            // The same call stores the same blob twice.
            named[number / 8] += usize::from(is_named && number % 8 != 1);
        }
        for (name, begun) in named.into_iter().enumerate() {
            assert_eq!(begun, 1, "name {name}: {}", place.name());
        }
        let noted = place.table.count_noted(&tenant("acme")).await.unwrap();
        assert!(noted <= 10, "{noted} runs for 10 names");
    }
}

/// Two servers remove old records at the same time: the sums stay those of what is left.
#[tokio::test(flavor = "multi_thread")]
async fn sums_stay_right_when_two_servers_remove_records() {
    for place in Place::all().await {
        fill(&place.table, "acme", 0..1_000, 10).await;
        let tables = [place.beside().await, place.beside().await];
        let trims = tables.map(|table| {
            tokio::spawn(async move { trim(&table, &limits(30, u64::MAX / 4)).await })
        });
        for trimmed in trims {
            trimmed.await.unwrap();
        }
        let left = numbers(&place.table, "acme").await;
        assert!(left.len() <= 30, "{}", left.len());
        let totals = place.store.tenants_over(0, 0).await.unwrap();
        let count = u64::try_from(left.len()).unwrap();
        assert_eq!((totals[0].runs, totals[0].log_bytes), (count, 10 * count), "{}", place.name());
    }
}
