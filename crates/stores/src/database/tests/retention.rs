//! Records expire.

use crate::database::tests::{Place, START, fill, id, limits, numbers, row, tenant, trim};
use crate::records::row::Row;

#[tokio::test]
async fn own_records_expire_and_never_those_of_another_tenant() {
    for place in Place::all().await {
        fill(&place.table, "acme", 0..2_100, 10).await;
        fill(&place.table, "beta", 0..20, 10).await;
        let rounds = trim(&place.table, &limits(30, u64::MAX / 4)).await;
        assert!(rounds > 3, "many are removed in small steps, not in {rounds}");
        assert_eq!(numbers(&place.table, "acme").await, (2_070..2_100).rev().collect::<Vec<_>>());
        assert_eq!(numbers(&place.table, "beta").await.len(), 20);
        assert_eq!(place.table.read_log(&tenant("acme"), &id(2_069)).await.unwrap(), None);
        assert!(place.table.read_log(&tenant("acme"), &id(2_070)).await.unwrap().is_some());
        // The sums are those of what is left.
        assert_eq!(trim(&place.table, &limits(30, 300)).await, 1);
        assert_eq!(numbers(&place.table, "acme").await.len(), 30);
        assert!(place.table.read_log(&tenant("acme"), &id(2_070)).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn logs_beyond_the_quota_go_before_their_records() {
    for place in Place::all().await {
        fill(&place.table, "acme", 0..1_000, 100).await;
        fill(&place.table, "beta", 0..10, 100).await;
        trim(&place.table, &limits(100_000, 2_050)).await;
        assert_eq!(numbers(&place.table, "acme").await.len(), 1_000);
        let acme = tenant("acme");
        for (run, size) in [(979, None), (980, Some(100)), (999, Some(100))] {
            let found = place.table.find_log(&acme, None, &id(run)).await.unwrap().unwrap();
            assert_eq!((found.bytes, found.size), (100, size), "{run}");
        }
        assert!(place.table.read_log(&tenant("beta"), &id(0)).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn old_records_are_removed_in_small_steps() {
    for place in Place::all().await {
        fill(&place.table, "acme", 0..1_700, 0).await;
        fill(&place.table, "beta", 1_690..1_710, 5).await;
        let mut steps = 0;
        while place.table.trim_to_age(START + 1_695).await.unwrap().has_more {
            steps += 1;
            assert!(steps < 100);
        }
        assert!(steps >= 3, "{steps}");
        assert_eq!(numbers(&place.table, "acme").await, [1_699, 1_698, 1_697, 1_696, 1_695]);
        assert_eq!(numbers(&place.table, "beta").await.len(), 15);
    }
}

/// After an error that came too late, a batch is written again.
#[tokio::test]
async fn a_batch_that_is_written_twice_is_there_once() {
    for place in Place::all().await {
        for _ in 0..3 {
            fill(&place.table, "acme", 0..10, 7).await;
        }
        assert_eq!(numbers(&place.table, "acme").await.len(), 10);
        // With sums that were counted three times, records would be removed here.
        trim(&place.table, &limits(10, 70)).await;
        assert_eq!(numbers(&place.table, "acme").await.len(), 10);
        assert!(place.table.read_log(&tenant("acme"), &id(0)).await.unwrap().is_some());
    }
}

/// Two servers write the same records, as a server and the one that has taken its runs over do, while others are
/// removed: the sums stay those of what is there.
#[tokio::test(flavor = "multi_thread")]
async fn sums_stay_right_when_two_servers_write_the_same_records() {
    for place in Place::all().await {
        let tables = [place.beside().await, place.beside().await, place.beside().await];
        for round in 0..6 {
            let [one, other, third] = tables.clone();
            let numbers = round * 20..round * 20 + 40;
            let same = numbers.clone();
            let writes = [
                tokio::spawn(async move { fill(&one, "acme", numbers, 10).await }),
                tokio::spawn(async move { fill(&other, "acme", same, 10).await }),
                tokio::spawn(async move {
                    trim(&third, &limits(30, u64::MAX / 4)).await;
                }),
            ];
            for written in writes {
                written.await.unwrap();
            }
        }
        let left = u64::try_from(numbers(&place.table, "acme").await.len()).unwrap();
        let totals = place.store.tenants_over(0, 0).await.unwrap();
        assert_eq!((totals[0].runs, totals[0].log_bytes), (left, 10 * left), "{}", place.name());
    }
}

/// PostgreSQL has no NUL in texts. A record with one would otherwise be written again and again.
#[tokio::test]
async fn a_record_with_a_nul_does_not_stop_its_batch() {
    for place in Place::all().await {
        let odd =
            Row { title: Some("a\0b".to_owned()), search: "a\0b".to_owned(), ..row("acme", 1, 3) };
        let odd = Row { result: Some("\0".to_owned()), document: Some("\0".to_owned()), ..odd };
        place.table.insert(&[row("acme", 0, 0), odd, row("acme", 2, 0)], 0).await.unwrap();
        assert_eq!(numbers(&place.table, "acme").await, [2, 1, 0], "{}", place.name());
    }
}
