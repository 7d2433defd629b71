//! Any order of statements has the same answers in all databases: the test double is the model.

use std::time::Duration;

use proptest::prelude::*;

use crate::database::tests::{Place, detached, id, key, record, tenant};
use crate::records::row::Row;
use crate::records::store::{
    NamesOf, NotesOf, RecordPart, RecordStore, RunNote, StoredNote, Window,
};
use crate::records::{
    RunFilter, RunHolder, RunKind, RunOutcomeKind, RunSearch, ServerId, WhoseRuns,
};

/// A statement on few tenants, runs, names and servers, so that they meet.
#[derive(Debug, Clone)]
enum Step {
    Insert { tenant: u8, run: u64, detached: bool, log: usize, now: u64 },
    Note { tenant: u8, run: u64, name: Option<u8>, call: u8, server: usize, epoch: u64 },
    NameBlob { tenant: u8, name: u8, call: u8, now: u64 },
    ForgetRun { tenant: u8, run: u64 },
    ForgetName { tenant: u8, run: u64 },
    OldNames { of_runs: bool, oldest: u64, most: u64 },
    SurplusNames { of_runs: bool, tenant: u8, keep: u64, most: u64 },
    RemoveOldest { tenant: u8, bound: Option<u64>, most: u64 },
    RemoveLogs { tenant: u8, excess: u64, most: u64 },
    RemoveNotes,
    Join { server: usize },
    Renew { server: usize, epoch: u64 },
    EndExpired { but: usize },
    Pass { milliseconds: u64 },
    List { whose: u8, filter: u8, newest: u64, oldest: u64, limit: u64 },
    Read { tenant: u8, run: u64, name: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    let (tenant, run, name) = (0_u8..3, 0_u64..12, 0_u8..4);
    let (call, server, epoch, now) = (0_u8..2, 0_usize..2, 1_u64..4, 0_u64..30);
    prop_oneof![
        4 => (tenant.clone(), run.clone(), any::<bool>(), 0_usize..20, now.clone()).prop_map(
            |(tenant, run, detached, log, now)| Step::Insert { tenant, run, detached, log, now }
        ),
        4 => (tenant.clone(), run.clone(), prop::option::of(name.clone()), call.clone(),
              server.clone(), epoch.clone()).prop_map(
            |(tenant, run, name, call, server, epoch)| {
                Step::Note { tenant, run, name, call, server, epoch }
            }
        ),
        2 => (tenant.clone(), name.clone(), call, now.clone())
            .prop_map(|(tenant, name, call, now)| Step::NameBlob { tenant, name, call, now }),
        1 => (tenant.clone(), run.clone()).prop_map(|(tenant, run)| Step::ForgetRun { tenant, run }),
        1 => (tenant.clone(), run.clone()).prop_map(|(tenant, run)| Step::ForgetName { tenant, run }),
        1 => (any::<bool>(), now, 0_u64..3)
            .prop_map(|(of_runs, oldest, most)| Step::OldNames { of_runs, oldest, most }),
        1 => (any::<bool>(), tenant.clone(), 0_u64..3, 0_u64..3).prop_map(
            |(of_runs, tenant, keep, most)| Step::SurplusNames { of_runs, tenant, keep, most }
        ),
        1 => (tenant.clone(), prop::option::of(run.clone()), 0_u64..4)
            .prop_map(|(tenant, bound, most)| Step::RemoveOldest { tenant, bound, most }),
        1 => (tenant.clone(), 0_u64..30, 0_u64..4)
            .prop_map(|(tenant, excess, most)| Step::RemoveLogs { tenant, excess, most }),
        1 => Just(Step::RemoveNotes),
        3 => server.clone().prop_map(|server| Step::Join { server }),
        2 => (server.clone(), epoch).prop_map(|(server, epoch)| Step::Renew { server, epoch }),
        2 => server.prop_map(|but| Step::EndExpired { but }),
        2 => (0_u64..150).prop_map(|milliseconds| Step::Pass { milliseconds }),
        3 => (0_u8..5, 0_u8..8, run.clone(), 0_u64..6, 0_u64..9).prop_map(
            |(whose, filter, newest, oldest, limit)| {
                Step::List { whose, filter, newest, oldest, limit }
            }
        ),
        3 => (tenant, run, name).prop_map(|(tenant, run, name)| Step::Read { tenant, run, name }),
    ]
}

const LEASE: Duration = Duration::from_millis(100);

fn owner(number: u8) -> String {
    format!("t{number}")
}

/// Runs of all tenants differ, as ids do.
fn run_of(tenant: u8, run: u64) -> u64 {
    run * 3 + u64::from(tenant)
}

/// The ids of the servers sort as they are numbered.
fn server(number: usize) -> ServerId {
    ServerId::parse(&format!("srv_{number:032x}")).unwrap()
}

fn names(of_runs: bool) -> NamesOf {
    if of_runs { NamesOf::Runs } else { NamesOf::Blobs }
}

fn whose(number: u8) -> WhoseRuns {
    let reader = Some(tenant("t1"));
    match number {
        0 => WhoseRuns::Own(tenant("t0")),
        1 => WhoseRuns::Own(tenant("t1")),
        2 => WhoseRuns::Operator { tenant: None, reader },
        3 => WhoseRuns::Operator { tenant: Some(tenant("t2")), reader },
        _ => WhoseRuns::Operator { tenant: None, reader: None },
    }
}

fn filter(number: u8) -> RunFilter {
    let search = |text: &str| RunSearch::of(text);
    match number {
        0 => RunFilter { kind: Some(RunKind::RunCode), ..RunFilter::default() },
        1 => RunFilter { outcome: Some(RunOutcomeKind::Timeout), ..RunFilter::default() },
        2 => RunFilter { search: search("TITLE run"), ..RunFilter::default() },
        3 => RunFilter { search: search("acme.report"), ..RunFilter::default() },
        4 => RunFilter { search: search("t1"), ..RunFilter::default() },
        5 => RunFilter { blob: Some(blob(0)), ..RunFilter::default() },
        6 => RunFilter { blob: Some(blob(1)), search: search("title"), ..RunFilter::default() },
        _ => RunFilter::default(),
    }
}

fn blob(number: u64) -> wardian_vocabulary::ids::BlobId {
    wardian_vocabulary::ids::BlobId::of_digest(&wardian_vocabulary::ids::Digest::of(
        &number.to_le_bytes(),
    ))
}

fn row(tenant: u8, run: u64, is_detached: bool, log: usize) -> Row {
    let number = run_of(tenant, run);
    let mut made = match is_detached {
        true => detached(&owner(tenant), number),
        false => record(&owner(tenant), number),
    };
    made.title = (!number.is_multiple_of(3)).then(|| format!("Title {}", owner(tenant)));
    made.output_blobs = (0..number % 3).map(blob).collect();
    made.log.bytes = u64::try_from(log).unwrap();
    let text = |wanted: bool| wanted.then(|| "x".repeat(log));
    let made = Row::of(&made, text(log > 0), text(log % 2 == 1)).unwrap();
    Row { document: text(log % 3 == 1), content: text(log % 5 == 1), ..made }
}

/// Executes a step. The answer is a text that does not depend on orders that no statement promises.
async fn answer(store: &dyn RecordStore, place: &Place, step: &Step) -> String {
    match step.clone() {
        Step::Insert { tenant, run, detached, log, now } => {
            format!("{:?}", store.insert(&[row(tenant, run, detached, log)], now).await.is_ok())
        }
        Step::Note { tenant: of, run, name, call, server: at, epoch } => {
            let number = run_of(of, run);
            let made = detached(&owner(of), number);
            let note = RunNote {
                tenant: tenant(&owner(of)),
                run: id(number),
                kind: made.kind,
                record: serde_json::to_string(&made).unwrap(),
                started_ms: run,
                holder: RunHolder { server: server(at), epoch },
            };
            let key = name.map(|name| key(&format!("k{name}"), &format!("c{call}")));
            // A run is noted once; the error of a second time differs in its text alone.
            format!("{:?}", store.note_run(&note, key.as_ref()).await.ok())
        }
        Step::NameBlob { tenant: of, name, call, now } => {
            let key = key(&format!("k{name}"), &format!("c{call}"));
            format!("{:?}", store.name_blob(&tenant(&owner(of)), &key, now).await.unwrap())
        }
        Step::ForgetRun { tenant: of, run } => {
            store.forget_run(&tenant(&owner(of)), &id(run_of(of, run))).await.unwrap();
            String::new()
        }
        Step::ForgetName { tenant: of, run } => {
            store.forget_name(&tenant(&owner(of)), &id(run_of(of, run))).await.unwrap();
            String::new()
        }
        Step::Join { server: at } => format!("{:?}", store.join(&server(at), LEASE).await.unwrap()),
        Step::Renew { server: at, epoch } => {
            let holder = RunHolder { server: server(at), epoch };
            format!("{:?}", store.renew(&holder, LEASE).await.unwrap())
        }
        Step::EndExpired { but } => {
            format!("{:?}", store.end_expired(&server(but)).await.unwrap())
        }
        Step::Pass { milliseconds } => {
            place.pass(Duration::from_millis(milliseconds));
            String::new()
        }
        removing => answer_of_rest(store, removing).await,
    }
}

async fn answer_of_rest(store: &dyn RecordStore, step: Step) -> String {
    match step {
        // All or nothing: names of the same time may go in any order.
        Step::OldNames { of_runs, oldest, most } => {
            let most = if most == 0 { 0 } else { 1_000 };
            let forgotten = store.forget_old_names(names(of_runs), oldest, most).await;
            format!("{:?}", forgotten.unwrap())
        }
        Step::SurplusNames { of_runs, tenant, keep, most } => {
            let (keep, most) = (if keep == 0 { 0 } else { 1_000 }, most * 1_000);
            let names = names(of_runs);
            let forgotten = store.forget_surplus_names(names, &owner(tenant), keep, most).await;
            format!("{:?}", forgotten.unwrap())
        }
        Step::RemoveOldest { tenant, bound, most } => {
            let bound = bound.map(|run| id(run_of(tenant, run)).to_string());
            let removed = store.remove_oldest(&owner(tenant), bound.as_deref(), most).await;
            format!("{:?}", removed.unwrap())
        }
        Step::RemoveLogs { tenant, excess, most } => {
            format!("{:?}", store.remove_logs(&owner(tenant), excess, most).await.unwrap())
        }
        Step::RemoveNotes => {
            let mut notes: Vec<StoredNote> = store.abandoned_notes(100).await.unwrap();
            notes.sort_by_key(|note| (note.tenant.clone(), note.run_id.clone()));
            let ends: Vec<_> = notes.iter().cloned().map(|note| (note, None)).collect();
            store.end_notes(&ends, NotesOf::Abandoned, 0).await.unwrap();
            format!("{notes:?}")
        }
        Step::List { whose: of, filter: by, newest, oldest, limit } => {
            let (newest, oldest) = (id(newest * 3).to_string(), id(oldest).to_string());
            let window = Window { newest, oldest };
            let listed = store.list(&whose(of), &filter(by), &window, limit).await.unwrap();
            let placed = store.run_at(&whose(of), &window, limit).await.unwrap();
            format!("{listed:?} {placed:?}")
        }
        Step::Read { tenant: of, run, name } => {
            let (of, run) = (tenant(&owner(of)), id(run_of(of, run)));
            let kind = Some(RunKind::RunCode);
            let mut parts = Vec::new();
            for part in
                [RecordPart::Log, RecordPart::Result, RecordPart::Document, RecordPart::Content]
            {
                parts.push(store.read(&of, &run, part).await.unwrap());
            }
            format!(
                "{:?} {:?} {:?} {:?} {:?} {parts:?}",
                store.find(&of, kind, &run).await.unwrap(),
                store.find_log(&of, None, &run).await.unwrap(),
                store.find_result(&of, &run).await.unwrap(),
                store.find_note(&of, None, &run).await.unwrap(),
                store.find_name(&of, &format!("k{name}")).await.unwrap(),
            )
        }
        other => panic!("{other:?} is answered elsewhere"),
    }
}

/// Everything that can be seen, once all steps are done.
async fn all_that_is_seen(store: &dyn RecordStore) -> String {
    let window = Window { newest: "run_g".to_owned(), oldest: String::new() };
    let all = WhoseRuns::Operator { tenant: None, reader: None };
    let mut seen =
        vec![format!("{:?}", store.list(&all, &RunFilter::default(), &window, 100).await.unwrap())];
    let mut totals = store.tenants_over(0, 0).await.unwrap();
    totals.sort_by_key(|totals| totals.tenant.clone());
    seen.push(format!("{totals:?}"));
    let mut before = store.tenants_before("run_g").await.unwrap();
    before.sort();
    seen.push(format!("{before:?} {:?}", store.next_tenant("t0").await.unwrap()));
    for number in 0..3 {
        let of = tenant(&owner(number));
        seen.push(format!("{:?}", store.count_notes(&of).await.unwrap()));
        for (at, epoch) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
            let holder = RunHolder { server: server(at), epoch };
            let mut notes = store.notes_of(&of, &holder, 100).await.unwrap();
            notes.sort();
            seen.push(format!("{notes:?}"));
        }
    }
    for of in [NamesOf::Runs, NamesOf::Blobs] {
        let mut crowded = store.tenants_with_names(of, 1).await.unwrap();
        crowded.sort();
        seen.push(format!("{crowded:?}"));
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
    let expected = all_that_is_seen(&*model.store).await;
    assert_eq!(all_that_is_seen(&*database.store).await, expected, "{}", database.name());
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_order_of_statements_has_the_same_answers_in_all_databases(
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        runtime().block_on(async { compare(&Place::sqlite().await, &steps).await });
    }
}

proptest! {
    // Each case needs a database of its own.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_order_of_statements_has_the_same_answers_in_postgres(
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        runtime().block_on(async {
            if let Some(postgres) = Place::postgres().await {
                compare(&postgres, &steps).await;
            }
        });
    }
}
