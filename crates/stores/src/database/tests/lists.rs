//! Records are found and listed.

use proptest::prelude::*;

use crate::database::tests::{
    Place, START, fill, id, limits, listed, numbers, record, row, tenant, trim,
};
use crate::records::row::Row;
use crate::records::table::read::SCANNED;
use crate::records::{RunFilter, RunKind, RunOutcomeKind, RunRecord, RunSearch, WhoseRuns};
use wardian_vocabulary::ids::{BlobId, Digest, SkillName};

#[tokio::test]
async fn own_records_only_are_found() {
    for place in Place::all().await {
        fill(&place.table, "acme", 0..3, 10).await;
        fill(&place.table, "beta", 3..5, 10).await;
        assert_eq!(numbers(&place.table, "acme").await, [2, 1, 0]);
        assert_eq!(numbers(&place.table, "beta").await, [4, 3]);
        assert_eq!(numbers(&place.table, "nobody").await, [0_u64; 0]);
        let (acme, beta) = (tenant("acme"), tenant("beta"));
        for (run, is_found) in [(1, false), (3, true), (99, false)] {
            let found = place.table.find(&beta, None, &id(run)).await.unwrap();
            assert_eq!(found.is_some(), is_found, "{run}");
            let found = place.table.find_log(&beta, None, &id(run)).await.unwrap();
            assert_eq!(found.is_some(), is_found, "{run}");
            let found = place.table.read_log(&beta, &id(run)).await.unwrap();
            assert_eq!(found.is_some(), is_found, "{run}");
        }
        let code_only = place.table.find(&acme, Some(RunKind::RunCode), &id(2)).await.unwrap();
        assert_eq!(code_only, None, "it executed a skill");
    }
}

#[tokio::test]
async fn filters_and_times_narrow_a_list() {
    for place in Place::all().await {
        fill(&place.table, "acme", 0..40, 0).await;
        let found_by = |filter: RunFilter| {
            let table = place.table.clone();
            async move { listed(&table, "acme", &filter, 7).await.0 }
        };
        let timeout = Some(RunOutcomeKind::Timeout);
        let skill = Some(SkillName::parse("acme.report").unwrap());
        let found = found_by(RunFilter { outcome: timeout, ..RunFilter::default() }).await;
        assert_eq!(found, [30, 20, 10, 0]);
        let since_ms = Some(START + 37);
        let found = found_by(RunFilter { since_ms, ..RunFilter::default() }).await;
        assert_eq!(found, [39, 38, 37]);
        let found =
            found_by(RunFilter { skill: skill.clone(), since_ms, ..RunFilter::default() }).await;
        assert_eq!(found, [38]);
        let kind = Some(RunKind::RunCode);
        let found =
            found_by(RunFilter { kind, outcome: timeout, skill, ..RunFilter::default() }).await;
        assert_eq!(found, [0_u64; 0]);
    }
}

/// A filter that fits next to nothing reads a bounded number of records for each page.
#[tokio::test]
async fn a_rare_filter_costs_many_short_pages() {
    for place in Place::all().await {
        let count = SCANNED * 2 + 10;
        fill(&place.table, "acme", 0..count, 0).await;
        let rows = vec![Row { outcome: "sandbox_crash", ..row("acme", count, 0) }];
        place.table.insert(&rows, 0).await.unwrap();
        fill(&place.table, "acme", count + 1..count + 2, 0).await;
        let crash = Some(RunOutcomeKind::SandboxCrash);
        let filter = RunFilter { outcome: crash, ..RunFilter::default() };
        assert_eq!(listed(&place.table, "acme", &filter, 10).await, (vec![count], 3));
    }
}

/// What runs are found by goes with their records, and is that of their tenant alone.
#[tokio::test]
async fn titles_and_blobs_are_found_and_expire_with_their_runs() {
    for place in Place::all().await {
        let blob = BlobId::of_digest(&Digest::of(b"made"));
        for owner in ["acme", "beta"] {
            let rows: Vec<Row> = (0..4)
                .map(|number| {
                    let title = Some(format!("Sums of {owner} {number}"));
                    let record = RunRecord {
                        title,
                        output_blobs: vec![blob.clone()],
                        ..record(owner, number)
                    };
                    Row::of(&record, None, None).unwrap()
                })
                .collect();
            // A batch that is written again changes nothing.
            place.table.insert(&rows, 0).await.unwrap();
            place.table.insert(&rows, 0).await.unwrap();
        }
        let search = |text| RunFilter { search: RunSearch::of(text), ..RunFilter::default() };
        let by_blob = RunFilter { blob: Some(blob.clone()), ..RunFilter::default() };
        for (filter, found) in [
            (search("SUMS acme"), vec![3, 2, 1, 0]),
            (search("sums 2"), vec![2]),
            (search("beta"), vec![]),
            (search("acme.report 1.0.0"), vec![2, 0]),
            (by_blob.clone(), vec![3, 2, 1, 0]),
        ] {
            assert_eq!(listed(&place.table, "acme", &filter, 3).await.0, found, "{filter:?}");
        }
        trim(&place.table, &limits(1, u64::MAX)).await;
        for owner in ["acme", "beta"] {
            assert_eq!(listed(&place.table, owner, &by_blob, 9).await.0, [3]);
        }
        for count in ["SELECT COUNT(*) FROM run_titles", "SELECT COUNT(*) FROM run_blobs"] {
            assert!(place.number_of(count).await.is_none_or(|found| found == 2), "{count}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the size of pages and whatever is written between them, each run that was there at
    /// the beginning is listed once, in order.
    #[test]
    fn pages_lose_nothing_and_repeat_nothing(
        numbers in proptest::collection::btree_set(0_u64..2_000, 0..200),
        limit in 1_u64..40,
        by_outcome in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for place in Place::all().await {
            let rows: Vec<Row> = numbers.iter().map(|number| row("acme", *number, 0)).collect();
            place.table.insert(&rows, 0).await.unwrap();
            let outcome = by_outcome.then_some(RunOutcomeKind::Timeout);
            let filter = RunFilter { outcome, ..RunFilter::default() };
            let wanted: Vec<u64> = numbers
                .iter()
                .rev()
                .copied()
                .filter(|number| !by_outcome || number.is_multiple_of(10))
                .collect();
            let (mut found, mut cursor, mut newer) = (Vec::new(), None, 3_000);
            loop {
                let page =
                    place.table.list(&tenant("acme"), &filter, cursor.as_ref(), limit).await.unwrap();
                found.extend(page.runs.iter().map(|run| run.started_ms - START));
                newer += 10;
                place.table.insert(&[row("acme", newer, 0)], 0).await.unwrap();
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(found, wanted);
            }
        });
    }
}

/// An operator sees that others have runs, and nothing that these wrote.
#[tokio::test]
async fn an_operator_sees_no_titles_of_others() {
    for place in Place::all().await {
        let rows = ["acme", "beta"].map(|owner| {
            let title = Some(format!("plan of {owner}"));
            Row::of(&RunRecord { title, ..record(owner, 2) }, None, None).unwrap()
        });
        place.table.insert(&rows, 0).await.unwrap();
        let titles = async |whose: &WhoseRuns, text: &str| {
            let search = (!text.is_empty()).then(|| RunSearch::of(text).unwrap());
            let filter = RunFilter { search, ..RunFilter::default() };
            let page = place.table.list_of(whose, &filter, None, 9).await.unwrap();
            let mut found: Vec<_> =
                page.runs.into_iter().map(|run| (run.tenant.unwrap(), run.title)).collect();
            found.sort();
            found
        };
        let own = ("acme".to_owned(), Some("plan of acme".to_owned()));
        let other = ("beta".to_owned(), None);
        let all = WhoseRuns::Operator { tenant: None, reader: Some(tenant("acme")) };
        assert_eq!(titles(&all, "").await, [own.clone(), other.clone()], "{}", place.name());
        assert_eq!(titles(&all, "plan").await, std::slice::from_ref(&own));
        assert_eq!(titles(&all, "acme.report").await, [own, other.clone()]);
        let blind = WhoseRuns::Operator { tenant: Some(tenant("beta")), reader: None };
        assert_eq!(titles(&blind, "").await, [other]);
        assert_eq!(titles(&blind, "plan").await, []);
        assert_eq!(place.table.tenants(9).await.unwrap(), [tenant("acme"), tenant("beta")]);
        assert_eq!(place.table.tenants(1).await.unwrap(), [tenant("acme")]);
    }
}
