//! Runs of a fleet that wait for a server: one begins each, one end is written, and nothing is lost.

use std::time::Duration;

use proptest::prelude::*;

use crate::database::tests::{Place, detached, id, key, tenant};
use crate::records::named_call::RequestKey;
use crate::records::row::Row;
use crate::records::server_id::{RunHolder, ServerId};
use crate::records::store::RecordStore;
use crate::records::waiting::run_queue::{NewRun, Queued};
use crate::records::{
    KnownKey, QueueCounts, QueuedOrder, RunElsewhere, RunOutcomeKind, RunRecord, ServerFacts,
    ServerRecords, Submitted, TenantQueue, UnrecordedState,
};
use wardian_vocabulary::ids::{RunId, TenantId};

const WAIT: Duration = Duration::from_secs(60);
const LEASE: Duration = Duration::from_millis(100);

fn order(owner: &str, number: u64, name: Option<RequestKey>) -> QueuedOrder {
    QueuedOrder {
        record: detached(owner, number),
        key: name,
        sealed: format!("order {number}"),
        most: 100,
        longest_wait: WAIT,
        claims: false,
    }
}

fn runs(owner: &str, numbers: &[u64]) -> Vec<(TenantId, RunId)> {
    numbers.iter().map(|number| (tenant(owner), id(*number))).collect()
}

fn ids(numbers: &[u64]) -> Vec<RunId> {
    numbers.iter().map(|number| id(*number)).collect()
}

/// The end of a run of this server.
fn ended(owner: &str, number: u64, holder: &RunHolder) -> Row {
    let record = RunRecord { outcome: RunOutcomeKind::Completed, ..detached(owner, number) };
    Row { holder: Some(holder.clone()), ..Row::of(&record, None, None).unwrap() }
}

async fn outcome(server: &ServerRecords, owner: &str, number: u64) -> Option<String> {
    let text = server.find(&tenant(owner), None, &id(number)).await.unwrap()?;
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    Some(record["outcome"].as_str().unwrap().to_owned())
}

/// Renews so often that a server judges others.
async fn judge(server: &ServerRecords) {
    for _ in 0..8 {
        server.renew().await.unwrap();
    }
}

#[tokio::test]
async fn a_run_waits_is_claimed_begins_and_ends() {
    for place in Place::all().await {
        let (one, other) = (place.server().await, place.server().await);
        let epoch = one.holder().epoch;
        let orders: Vec<_> = [3, 1, 2].map(|number| order("acme", number, None)).into();
        let submitted = one.submit(&orders).await.unwrap();
        assert_eq!(submitted, [Submitted::Waiting, Submitted::Waiting, Submitted::Waiting]);
        one.submit(&[order("beta", 4, None)]).await.unwrap();
        let tenants = other.waiting_tenants(9).await.unwrap();
        assert_eq!(tenants, [tenant("acme"), tenant("beta")], "{}", place.name());
        assert_eq!(other.waiting_tenants(1).await.unwrap().len(), 1);
        let found = other.find_elsewhere(&tenant("acme"), None, &id(3)).await.unwrap();
        assert!(matches!(found, Some(RunElsewhere::Waiting(_))));
        // The oldest first, by their submission.
        let claimed = one.claim(epoch, &tenant("acme"), 2, &ids(&[1])).await.unwrap();
        let order_of = |claimed: &[crate::records::ClaimedRun]| {
            claimed.iter().map(|one| (one.run.clone(), one.sealed.clone())).collect::<Vec<_>>()
        };
        let mut claimed = order_of(&claimed);
        claimed.sort();
        assert_eq!(claimed, [(id(2), "order 2".to_owned()), (id(3), "order 3".to_owned())]);
        assert_eq!(one.claimed(epoch, 9).await.unwrap().len(), 2);
        assert_eq!(
            other.claim(other.holder().epoch, &tenant("acme"), 9, &[]).await.unwrap().len(),
            1
        );
        // Only its own claims, and each as often as it asks.
        for _ in 0..2 {
            let mut begun = one.begin(epoch, &runs("acme", &[1, 2, 3])).await.unwrap();
            begun.sort();
            assert_eq!(begun, ids(&[2, 3]), "{}", place.name());
        }
        let found = other.find_elsewhere(&tenant("acme"), None, &id(3)).await.unwrap();
        assert!(matches!(found, Some(RunElsewhere::GoesOn(_))));
        other.give_back(other.holder().epoch, &runs("acme", &[1, 2])).await.unwrap();
        let states: Vec<_> = one.unrecorded(&tenant("acme"), None, 9).await.unwrap();
        let states: Vec<_> = states.into_iter().map(|run| (run.run, run.state)).collect();
        assert_eq!(
            states,
            [
                (id(3), UnrecordedState::Begun),
                (id(2), UnrecordedState::Begun),
                (id(1), UnrecordedState::Waiting)
            ]
        );
        let counts = QueueCounts { waiting: 2, claimed: 0, begun: 2 };
        assert_eq!(one.queue_counts().await.unwrap(), counts);
    }
}

#[tokio::test]
async fn a_run_is_cancelled_while_it_waits_and_while_it_goes_on() {
    for place in Place::all().await {
        let (one, other) = (place.server().await, place.server().await);
        let epoch = one.holder().epoch;
        one.submit(&[1, 2, 3].map(|number| order("acme", number, None))).await.unwrap();
        one.claim(epoch, &tenant("acme"), 9, &ids(&[1])).await.unwrap();
        one.begin(epoch, &runs("acme", &[2, 3])).await.unwrap();
        let cancelled = RunRecord { outcome: RunOutcomeKind::Cancelled, ..detached("acme", 1) };
        assert!(other.end_queued(&cancelled, None).await.unwrap());
        assert!(!other.end_queued(&cancelled, None).await.unwrap(), "it is over");
        let begun = RunRecord { outcome: RunOutcomeKind::Cancelled, ..detached("acme", 2) };
        assert!(!other.end_queued(&begun, None).await.unwrap(), "it has begun");
        assert!(other.note_cancelled(&tenant("acme"), None, &id(2)).await.unwrap());
        assert!(!other.note_cancelled(&tenant("acme"), None, &id(1)).await.unwrap());
        assert_eq!(one.cancelled().await.unwrap(), [(tenant("acme"), id(2))]);
        assert_eq!(other.cancelled().await.unwrap(), []);
        let holder = one.holder();
        let ends = [ended("acme", 2, &holder), ended("acme", 3, &holder)];
        assert_eq!(place.table.insert(&ends, 5).await.unwrap(), 0);
        assert_eq!(place.table.insert(&ends, 5).await.unwrap(), 0, "the batch is written again");
        assert_eq!(outcome(&one, "acme", 1).await.unwrap(), "cancelled");
        assert_eq!(outcome(&one, "acme", 2).await.unwrap(), "completed");
        assert_eq!(one.unrecorded(&tenant("acme"), None, 9).await.unwrap(), []);
    }
}

#[tokio::test]
async fn names_and_limits_are_decided_as_a_run_is_submitted() {
    for place in Place::all().await {
        let server = place.server().await;
        let named = |number, name: &str, call: &str| order("acme", number, Some(key(name, call)));
        let submitted = server.submit(&[named(1, "k", "a"), named(2, "k", "a")]).await.unwrap();
        assert_eq!(submitted, [Submitted::Waiting, Submitted::Known(KnownKey::Run(id(1)))]);
        let again = server.submit(&[named(3, "k", "b")]).await.unwrap();
        assert_eq!(again, [Submitted::Known(KnownKey::OtherCall)]);
        let note = server.note_detached(&detached("acme", 4), Some(&key("k", "a"))).await.unwrap();
        assert_eq!(note, Some(KnownKey::Run(id(1))));
        server.note_detached(&detached("acme", 5), None).await.unwrap();
        let most = |number, most| QueuedOrder { most, ..order("acme", number, None) };
        let submitted = server.submit(&[most(6, 3), most(7, 3)]).await.unwrap();
        assert_eq!(submitted, [Submitted::Waiting, Submitted::TooMany]);
        let known = QueuedOrder { most: 0, ..named(8, "k", "a") };
        let submitted = server.submit(&[known]).await.unwrap();
        assert_eq!(submitted, [Submitted::Known(KnownKey::Run(id(1)))], "it is the same call");
        // The name of a run that waits is not forgotten.
        while place.table.trim_names(0, Some(u64::MAX >> 2)).await.unwrap() {}
        let found = place.table.find_key(&tenant("acme"), &key("k", "a")).await.unwrap();
        assert_eq!(found, Some(KnownKey::Run(id(1))));
        // A run that is claimed at once, and one whose server is in another epoch.
        let claims = |number| QueuedOrder { claims: true, ..order("beta", number, None) };
        let epoch = server.holder().epoch;
        let submitted = server.submit(&[claims(1)]).await.unwrap();
        assert_eq!(submitted, [Submitted::Claimed { epoch }]);
        assert_eq!(server.begin(epoch, &runs("beta", &[1])).await.unwrap(), ids(&[1]));
        place.store.join(&server.holder().server, LEASE).await.unwrap();
        assert_eq!(server.submit(&[claims(2)]).await.unwrap(), [Submitted::Waiting]);
    }
}

#[tokio::test]
async fn what_a_dead_server_has_claimed_waits_again_and_what_it_has_begun_is_over() {
    for place in Place::all().await {
        let (dead, judge_of_all) = (place.server().await, place.server().await);
        let epoch = dead.holder().epoch;
        dead.submit(&[1, 2, 3].map(|number| order("acme", number, None))).await.unwrap();
        dead.claim(epoch, &tenant("acme"), 2, &[]).await.unwrap();
        assert_eq!(dead.begin(epoch, &runs("acme", &[1])).await.unwrap(), ids(&[1]));
        place.pass(crate::records::servers::LEASE * 2);
        judge(&judge_of_all).await;
        let counts = QueueCounts { waiting: 2, claimed: 0, begun: 0 };
        assert_eq!(judge_of_all.queue_counts().await.unwrap(), counts, "{}", place.name());
        assert_eq!(outcome(&judge_of_all, "acme", 1).await.unwrap(), "interrupted");
        // It wakes, and can neither begin nor end, nor claim.
        let holder = RunHolder { epoch, ..dead.holder() };
        assert_eq!(dead.begin(epoch, &runs("acme", &[1, 2])).await.unwrap(), []);
        assert_eq!(dead.claim(epoch, &tenant("acme"), 9, &[]).await.unwrap(), []);
        assert_eq!(place.table.insert(&[ended("acme", 1, &holder)], 5).await.unwrap(), 1, "late");
        assert_eq!(outcome(&judge_of_all, "acme", 1).await.unwrap(), "interrupted");
        let other = judge_of_all.holder().epoch;
        let claimed = judge_of_all.claim(other, &tenant("acme"), 9, &[]).await.unwrap();
        assert_eq!(claimed.len(), 2);
    }
}

/// A reader that learns of an end sees no other one later.
#[tokio::test]
async fn one_end() {
    for place in Place::all().await {
        let (server, reader) = (place.server().await, place.server().await);
        let holder = server.holder();
        server.note_detached(&detached("acme", 1), None).await.unwrap();
        place.store.join(&holder.server, LEASE).await.unwrap();
        let found = reader.find_elsewhere(&tenant("acme"), None, &id(1)).await.unwrap();
        let Some(RunElsewhere::Over(record)) = found else { panic!("{found:?}") };
        assert!(record.contains("\"interrupted\""), "{record}");
        assert_eq!(place.table.insert(&[ended("acme", 1, &holder)], 5).await.unwrap(), 1);
        assert_eq!(outcome(&reader, "acme", 1).await.unwrap(), "interrupted");
        // An end that was written first stays as well.
        server.renew().await.unwrap();
        let holder = server.holder();
        server.note_detached(&detached("acme", 2), None).await.unwrap();
        assert_eq!(place.table.insert(&[ended("acme", 2, &holder)], 5).await.unwrap(), 0);
        place.store.join(&holder.server, LEASE).await.unwrap();
        assert_eq!(place.table.end_interrupted().await.unwrap(), 0);
        assert_eq!(outcome(&reader, "acme", 2).await.unwrap(), "completed");
    }
}

#[tokio::test]
async fn a_run_that_waits_too_long_is_found() {
    for place in Place::all().await {
        let server = place.server().await;
        let long = QueuedOrder { longest_wait: WAIT * 2, ..order("acme", 2, None) };
        server.submit(&[order("acme", 1, None), long]).await.unwrap();
        assert_eq!(server.expired(9).await.unwrap().len(), 0);
        place.pass(WAIT);
        let expired = server.expired(9).await.unwrap();
        assert_eq!(expired.iter().map(|one| &one.run_id).collect::<Vec<_>>(), [&id(1)]);
        let refused = RunRecord { outcome: RunOutcomeKind::Refused, ..detached("acme", 1) };
        assert!(server.end_queued(&refused, None).await.unwrap());
        // With a holder only what that one has claimed.
        let holder = server.holder();
        let refused = RunRecord { outcome: RunOutcomeKind::Refused, ..detached("acme", 2) };
        assert!(!server.end_queued(&refused, Some(&holder)).await.unwrap());
        server.claim(holder.epoch, &tenant("acme"), 9, &[]).await.unwrap();
        assert!(server.end_queued(&refused, Some(&holder)).await.unwrap());
        assert_eq!(outcome(&server, "acme", 2).await.unwrap(), "refused");
    }
}

#[tokio::test]
async fn operators_see_servers_and_what_waits() {
    for place in Place::all().await {
        let (one, other) = (place.server().await, place.server().await);
        let facts = |host: &str| ServerFacts {
            host: host.to_owned(),
            version: "0.1.0".to_owned(),
            settings: "abc".to_owned(),
        };
        one.describe(&facts("a")).await.unwrap();
        let epoch = one.holder().epoch;
        one.submit(&[1, 2, 3].map(|number| order("acme", number, None))).await.unwrap();
        one.submit(&[order("beta", 4, None)]).await.unwrap();
        one.claim(epoch, &tenant("acme"), 2, &[]).await.unwrap();
        one.begin(epoch, &runs("acme", &[1])).await.unwrap();
        place.pass(Duration::from_secs(7));
        let queues = place.table.fleet_queues(9).await.unwrap();
        let of = |tenant: &str, [waiting, claimed, begun]: [u64; 3]| TenantQueue {
            tenant: tenant.to_owned(),
            waiting,
            claimed,
            begun,
            oldest_ms: 7_000,
        };
        assert_eq!(queues, [of("acme", [1, 1, 1]), of("beta", [1, 0, 0])], "{}", place.name());
        let servers = place.table.fleet_servers(9).await.unwrap();
        let found = |server: &ServerRecords| {
            let id = server.holder().server.to_string();
            servers.iter().find(|one| one.server == id).unwrap().clone()
        };
        let (one, other) = (found(&one), found(&other));
        assert_eq!((one.host.as_deref(), one.claimed, one.begun), (Some("a"), 1, 1));
        assert_eq!(one.lease_ms, 8_000, "of 15 s");
        assert_eq!((other.host, other.version, other.claimed, other.begun), (None, None, 0, 0));
    }
}

/// Claims and begins runs until none waits, and cancels some as they begin: one of both succeeds. Returns those that it
/// has begun.
async fn begin_all(server: ServerRecords) -> Vec<RunId> {
    let epoch = server.holder().epoch;
    let mut all = Vec::new();
    loop {
        let claimed = server.claim(epoch, &tenant("acme"), 3, &[]).await.unwrap();
        if claimed.is_empty() {
            return all;
        }
        let names: Vec<_> = claimed.into_iter().map(|one| (one.tenant, one.run)).collect();
        let (first, rest) = names.split_at(1);
        let run_id = first[0].1.clone();
        let outcome = RunOutcomeKind::Cancelled;
        let cancelled = RunRecord { run_id: run_id.clone(), outcome, ..detached("acme", 0) };
        let (begun, was_cancelled) =
            tokio::join!(server.begin(epoch, &names), server.end_queued(&cancelled, None));
        let begun = begun.unwrap();
        assert_ne!(begun.contains(&run_id), was_cancelled.unwrap());
        assert!(rest.iter().all(|(_, run)| begun.contains(run)));
        all.extend(begun);
    }
}

/// Several servers at once, each with connections of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn begun_once() {
    for place in Place::of_servers().await {
        let submits = place.server().await;
        let orders: Vec<_> = (0..60).map(|number| order("acme", number, None)).collect();
        for lot in orders.chunks(20) {
            submits.submit(lot).await.unwrap();
        }
        let mut tasks = Vec::new();
        for _ in 0..4 {
            tasks.push(tokio::spawn(begin_all(place.server().await)));
        }
        let mut begun = Vec::new();
        for task in tasks {
            begun.extend(task.await.unwrap());
        }
        let total = begun.len();
        begun.sort();
        begun.dedup();
        assert_eq!(begun.len(), total, "none is begun twice");
        let counts = submits.queue_counts().await.unwrap();
        assert_eq!(counts, QueueCounts { waiting: 0, claimed: 0, begun: counts.begun });
        assert_eq!(usize::try_from(counts.begun).unwrap(), total);
    }
}

/// Submits runs of two tenants, of which one has few. Returns how many of its runs were admitted.
async fn submit_some(server: ServerRecords, submitter: u64) -> usize {
    let mut admitted = 0;
    for round in 0..5 {
        let number = submitter * 10 + round;
        let few = QueuedOrder { most: 7, ..order("acme", number, None) };
        let named = order("beta", number, Some(key(&format!("k{round}"), "a")));
        let outcomes = server.submit(&[few, named]).await.unwrap();
        admitted += usize::from(outcomes[0] == Submitted::Waiting);
        assert!(!matches!(outcomes[1], Submitted::TooMany), "{outcomes:?}");
    }
    admitted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_submissions_at_once_keep_the_limit_and_give_one_name_once() {
    for place in Place::of_servers().await {
        let mut tasks = Vec::new();
        for submitter in 0..8_u64 {
            tasks.push(tokio::spawn(submit_some(place.server().await, submitter)));
        }
        let mut admitted = 0;
        for task in tasks {
            admitted += task.await.unwrap();
        }
        assert_eq!(admitted, 7, "{}", place.name());
        let server = place.server().await;
        assert_eq!(server.unrecorded(&tenant("beta"), None, 99).await.unwrap().len(), 5);
    }
}

/// Begins runs and ends each. Returns how many ends were written.
async fn begin_and_end(server: ServerRecords, numbers: Vec<u64>) -> u64 {
    let holder = server.holder();
    let mut written = 0;
    for number in numbers {
        let begun = server.begin(holder.epoch, &runs("acme", &[number])).await.unwrap();
        if begun.len() == 1 {
            written += 1 - server.insert(&[ended("acme", number, &holder)], 5).await.unwrap();
        }
    }
    written
}

/// The epoch of a server ends while it begins and ends runs: what it has begun is interrupted, or has ended.
async fn end_an_epoch(place: &Place, round: u64) {
    let (server, judge) = (place.server().await, place.server().await);
    let numbers: Vec<u64> = (round * 20..round * 20 + 20).collect();
    let claims = |number: &u64| QueuedOrder { claims: true, ..order("acme", *number, None) };
    let orders: Vec<_> = numbers.iter().map(claims).collect();
    server.submit(&orders).await.unwrap();
    let works = tokio::spawn(begin_and_end(server.clone(), numbers.clone()));
    tokio::time::sleep(Duration::from_millis(round * 7)).await;
    place.store.join(&server.holder().server, LEASE).await.unwrap();
    place.store.reset_claims().await.unwrap();
    judge.end_interrupted().await.unwrap();
    let written = works.await.unwrap();
    judge.end_interrupted().await.unwrap();
    let counts = judge.queue_counts().await.unwrap();
    assert_eq!((counts.claimed, counts.begun), (0, 0), "{}", place.name());
    let mut completed = 0;
    for number in numbers {
        let end = outcome(&judge, "acme", number).await;
        completed += u64::from(end.as_deref() == Some("completed"));
    }
    assert_eq!(completed, written, "{}", place.name());
    let epoch = judge.holder().epoch;
    for claimed in judge.claim(epoch, &tenant("acme"), 99, &[]).await.unwrap() {
        let record = serde_json::from_str(&claimed.record).unwrap();
        judge.end_queued(&record, None).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_epoch_ends_between_statements_and_never_within_one() {
    for place in Place::of_servers().await {
        for round in 0..6 {
            end_an_epoch(&place, round).await;
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Submit { runs: Vec<(u8, u64, Option<u8>, u64, bool)>, server: usize, epoch: u64 },
    Claim { tenant: u8, most: u64, except: u64, server: usize, epoch: u64 },
    Begin { runs: Vec<(u8, u64)>, server: usize, epoch: u64 },
    GiveBack { runs: Vec<(u8, u64)>, server: usize, epoch: u64 },
    EndQueued { run: (u8, u64), holder: Option<(usize, u64)> },
    End { run: (u8, u64), server: usize, epoch: u64 },
    Cancel { run: (u8, u64) },
    Join { server: usize },
    Renew { server: usize, epoch: u64 },
    Judge { but: usize },
    Pass { milliseconds: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let run = (0_u8..2, 0_u64..6);
    let runs = proptest::collection::vec(run.clone(), 1..4);
    let (server, epoch) = (0_usize..3, 1_u64..4);
    let holder = (server.clone(), epoch.clone());
    let new = (0_u8..2, 0_u64..6, proptest::option::of(0_u8..3), 1_u64..6, any::<bool>());
    prop_oneof![
        5 => (proptest::collection::vec(new, 1..3), holder.clone())
            .prop_map(|(runs, (server, epoch))| Step::Submit { runs, server, epoch }),
        4 => (0_u8..2, 1_u64..4, 0_u64..6, holder.clone()).prop_map(
            |(tenant, most, except, (server, epoch))| Step::Claim { tenant, most, except, server, epoch }
        ),
        4 => (runs.clone(), holder.clone())
            .prop_map(|(runs, (server, epoch))| Step::Begin { runs, server, epoch }),
        2 => (runs, holder.clone())
            .prop_map(|(runs, (server, epoch))| Step::GiveBack { runs, server, epoch }),
        2 => (run.clone(), proptest::option::of(holder.clone()))
            .prop_map(|(run, holder)| Step::EndQueued { run, holder }),
        3 => (run.clone(), holder)
            .prop_map(|(run, (server, epoch))| Step::End { run, server, epoch }),
        1 => run.prop_map(|run| Step::Cancel { run }),
        3 => server.clone().prop_map(|server| Step::Join { server }),
        2 => (server.clone(), epoch).prop_map(|(server, epoch)| Step::Renew { server, epoch }),
        2 => server.prop_map(|but| Step::Judge { but }),
        2 => (0_u64..150).prop_map(|milliseconds| Step::Pass { milliseconds }),
    ]
}

fn holder_of((server, epoch): (usize, u64)) -> RunHolder {
    RunHolder { server: ServerId::parse(&format!("srv_{server:032x}")).unwrap(), epoch }
}

fn owner(number: u8) -> String {
    format!("t{number}")
}

fn named((of, run): (u8, u64)) -> (TenantId, RunId) {
    (tenant(&owner(of)), id(run * 2 + u64::from(of)))
}

fn new_run((of, run, name, most, claims): (u8, u64, Option<u8>, u64, bool)) -> NewRun {
    let (tenant, id) = named((of, run));
    let record = RunRecord { run_id: id.clone(), ..detached(&owner(of), 0) };
    NewRun {
        tenant,
        run: id,
        kind: record.kind,
        record: serde_json::to_string(&record).unwrap(),
        sealed: format!("sealed {run}"),
        key: name.map(|name| key(&format!("k{name}"), "c")),
        started_ms: run,
        most,
        longest_wait_ms: 100,
        claims,
    }
}

async fn answer(store: &dyn RecordStore, place: &Place, step: &Step) -> String {
    match step.clone() {
        // A run waits once: the error of a second time differs in its text alone.
        Step::Submit { runs, server, epoch } => {
            let runs: Vec<NewRun> = runs.into_iter().map(new_run).collect();
            let is_twice = runs.len() == 2 && runs[0].run == runs[1].run;
            for run in &runs {
                let is_known =
                    store.find_queued(&run.tenant, None, &run.run).await.unwrap().is_some()
                        || store.find_note(&run.tenant, None, &run.run).await.unwrap().is_some();
                if is_known || is_twice {
                    return "known".to_owned();
                }
            }
            let queued: Vec<Queued> =
                store.submit(&runs, &holder_of((server, epoch))).await.unwrap();
            format!("{queued:?}")
        }
        Step::Claim { tenant: of, most, except, server, epoch } => {
            let (of, except) = (tenant(&owner(of)), [id(except * 2)]);
            let claimed = store.claim(&holder_of((server, epoch)), &of, most, &except).await;
            let mut claimed = claimed.unwrap();
            claimed.sort_by_key(|one| one.run_id.clone());
            format!("{claimed:?}")
        }
        Step::Begin { runs, server, epoch } => {
            let runs: Vec<_> = runs.into_iter().map(named).collect();
            let mut begun = store.begin(&holder_of((server, epoch)), &runs).await.unwrap();
            begun.sort();
            begun.dedup();
            format!("{begun:?}")
        }
        Step::GiveBack { runs, server, epoch } => {
            let runs: Vec<_> = runs.into_iter().map(named).collect();
            store.give_back(&holder_of((server, epoch)), &runs).await.unwrap();
            String::new()
        }
        Step::Join { server } => {
            let server = holder_of((server, 0)).server;
            format!("{:?}", store.join(&server, LEASE).await.unwrap())
        }
        Step::Renew { server, epoch } => {
            format!("{:?}", store.renew(&holder_of((server, epoch)), LEASE).await.unwrap())
        }
        Step::Judge { but } => {
            let ended = store.end_expired(&holder_of((but, 0)).server).await.unwrap();
            format!("{ended:?} {:?}", store.reset_claims().await.unwrap())
        }
        Step::Pass { milliseconds } => {
            place.pass(Duration::from_millis(milliseconds));
            String::new()
        }
        ending => answer_of_ends(store, ending).await,
    }
}

async fn answer_of_ends(store: &dyn RecordStore, step: Step) -> String {
    match step {
        Step::EndQueued { run: (of, run), holder } => {
            let row = row(of, run);
            let holder = holder.map(holder_of);
            format!("{:?}", store.end_queued(&row, holder.as_ref(), 9).await.unwrap())
        }
        Step::End { run: (of, run), server, epoch } => {
            let row = Row { holder: Some(holder_of((server, epoch))), ..row(of, run) };
            format!("{:?}", store.insert(&[row], 9).await.unwrap())
        }
        Step::Cancel { run } => {
            let (tenant, run) = named(run);
            format!("{:?}", store.note_cancelled(&tenant, None, &run).await.unwrap())
        }
        other => panic!("{other:?} is answered elsewhere"),
    }
}

fn row(of: u8, run: u64) -> Row {
    let (_, id) = named((of, run));
    let record =
        RunRecord { run_id: id, outcome: RunOutcomeKind::Completed, ..detached(&owner(of), 0) };
    Row::of(&record, None, None).unwrap()
}

/// Everything that can be seen.
async fn seen(store: &dyn RecordStore) -> String {
    let mut seen = vec![format!("{:?}", store.queue_counts().await.unwrap())];
    seen.push(format!("{:?}", store.servers(9).await.unwrap()));
    seen.push(format!("{:?}", store.queues(9).await.unwrap()));
    seen.push(format!("{:?}", store.waiting_tenants(9).await.unwrap()));
    let mut expired = store.expired(99).await.unwrap();
    expired.sort();
    seen.push(format!("{expired:?}"));
    for of in 0..2 {
        let of = tenant(&owner(of));
        seen.push(format!("{:?}", store.unrecorded(&of, None, 99).await.unwrap()));
        for run in 0..12 {
            seen.push(format!("{:?}", store.find(&of, None, &id(run)).await.unwrap()));
        }
    }
    for server in 0..3 {
        for epoch in 1..4 {
            let holder = holder_of((server, epoch));
            let mut claimed = store.claimed(&holder, 99).await.unwrap();
            claimed.sort_by_key(|one| one.run_id.clone());
            let mut cancelled = store.cancelled(&holder).await.unwrap();
            cancelled.sort();
            seen.push(format!("{claimed:?} {cancelled:?}"));
        }
    }
    seen.join("\n")
}

async fn compare(database: &Place, steps: &[Step]) {
    let model = Place::memory();
    for (at, step) in steps.iter().enumerate() {
        let expected = answer(&*model.store, &model, step).await;
        let found = answer(&*database.store, database, step).await;
        assert_eq!(found, expected, "step {at}: {step:?}: {}", database.name());
    }
    let expected = seen(&*model.store).await;
    assert_eq!(seen(&*database.store).await, expected, "{}", database.name());
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_order_of_statements_of_the_queue_has_the_same_answers(
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        runtime().block_on(async { compare(&Place::sqlite().await, &steps).await });
    }
}

proptest! {
    // Each case needs a database of its own.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_order_of_statements_of_the_queue_has_the_same_answers_in_postgres(
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        runtime().block_on(async {
            if let Some(postgres) = Place::postgres().await {
                compare(&postgres, &steps).await;
            }
        });
    }
}
