//! Workers that are forked from a template, on real processes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, pidfd_send_signal};
use tokio::runtime::Runtime;

use crate::tests::{
    SCRIPTED, WrittenBlobs, command, error_type, forked, forked_by, has_ended, job, logs, plays,
    run_script, start, until, watch,
};
use crate::{Isolation, Pool, PoolConfig, PoolReport};
use wardian_vocabulary::ids::TenantId;

/// The numbers of a process in `/proc`; nothing if it has ended and was waited for.
fn stat(process: u32) -> Option<(u32, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut behind_name = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
    let mut number = || behind_name.next()?.parse().ok();
    Some((number()?, number()?))
}

/// A line of `/proc/PID/status`.
fn status(process: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(&format!("{name}:")));
    line.unwrap().split_once(':').unwrap().1.trim().to_owned()
}

fn kill(process: u32) {
    let watched = watch(process);
    pidfd_send_signal(&watched, Signal::KILL).unwrap();
    assert!(has_ended(&watched));
}

fn processes(pool: &Pool) -> Vec<u32> {
    pool.report().workers.iter().map(|worker| worker.process).collect()
}

#[tokio::test]
async fn forked_workers_serve_like_others_with_all_walls() {
    let forked = start(forked(2)).await;
    let spawned = start(super::config(2)).await;
    assert!(forked.template().is_some() && spawned.template().is_none());
    let finished = run_script(&forked, "log hello\nreturn {}").await;
    assert_eq!((error_type(&finished), logs(&finished)), ("completed", vec!["hello"]));

    let (one, other) = (&forked.report().workers[0], &spawned.report().workers[0]);
    assert!(one.is_forked && !other.is_forked);
    // The test harness has its own thread, which a forked worker does not have.
    assert_eq!((one.report.lockdown.len(), &one.report.missing[..]), (10, &[][..]));
    let (one, other) = (one.process, other.process);
    for name in ["Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp"] {
        assert_eq!(status(one, name), status(other, name), "{name}");
    }
    let limits = |process| fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    assert_eq!(limits(one), limits(other));
    let read = |process, name| fs::read_to_string(format!("/proc/{process}/{name}")).unwrap();
    for name in ["oom_score_adj", "environ"] {
        assert_eq!(read(one, name), read(other, name), "{name}");
    }
    let own = std::process::id();
    assert_eq!(stat(one), Some((own, one)), "a child of the gateway, in a group of its own");
    assert_eq!(stat(other), Some((own, other)));
    let descriptors = |process| {
        let entries = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
        let kind = |path: std::path::PathBuf| {
            let target = fs::read_link(path).unwrap().to_string_lossy().into_owned();
            target.split([':', '[']).next().unwrap().to_owned()
        };
        let mut kinds: Vec<String> = entries.map(|entry| kind(entry.unwrap().path())).collect();
        kinds.sort();
        kinds
    };
    assert_eq!(descriptors(one), descriptors(other));
}

#[tokio::test]
async fn a_template_has_no_descriptor_of_a_worker() {
    let pool = start(forked(3)).await;
    let template = pool.template().unwrap();
    assert!(!status(template, "Uid").split_whitespace().any(|uid| uid == "0"));
    // Its own socket, `/dev/null` as standard output, and the log.
    let open = fs::read_dir(format!("/proc/{template}/fd")).unwrap().count();
    assert_eq!(open, 3);
}

#[tokio::test]
async fn no_memory_that_can_be_written_is_shared_between_forked_workers() {
    let pool = start(forked(2)).await;
    for process in processes(&pool).into_iter().chain(pool.template()) {
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
        let shared = maps.lines().filter(|line| {
            let rights = line.split_whitespace().nth(1).unwrap();
            rights.contains('w') && rights.ends_with('s')
        });
        assert_eq!(shared.count(), 0, "{maps}");
    }
}

#[tokio::test]
async fn workers_outlive_their_template_and_another_one_follows() {
    let pool = start(forked(2)).await;
    let (template, before) = (pool.template().unwrap(), processes(&pool));
    kill(template);
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
    assert_eq!(processes(&pool), before, "no worker was lost");

    kill(before[0]);
    let is_refilled = |report: &PoolReport| {
        report.workers.len() == 2 && report.workers.iter().all(|one| one.process != before[0])
    };
    let report = until(&pool, "refilled", is_refilled).await;
    assert!(report.workers.iter().all(|worker| worker.is_forked), "{report:?}");
    assert_ne!(pool.template(), Some(template));
    assert_eq!(stat(template), None, "it was waited for");
}

#[tokio::test]
async fn a_crash_is_never_followed_by_a_worker_with_the_same_addresses() {
    let pool = start(forked(1)).await;
    let template = pool.template().unwrap();
    run_script(&pool, "panic").await;
    pool.ready().await.unwrap();
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
    assert_eq!(pool.template(), Some(template), "a panic ends a process by its own decision");
    run_script(&pool, "abort").await;
    pool.ready().await.unwrap();
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
    assert_ne!(pool.template(), Some(template));
    assert_eq!(stat(template), None);
}

#[tokio::test]
async fn single_threaded_or_workers_are_started_one_by_one() {
    let pool = start(forked_by(SCRIPTED, "role-template-with-threads", 2)).await;
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
    assert!(pool.report().workers.iter().all(|worker| !worker.is_forked));
    assert_eq!(pool.template(), None);

    let begun = Instant::now();
    let pool = start(forked_by(SCRIPTED, "role-nobody", 1)).await;
    assert!(!pool.report().workers[0].is_forked);
    assert!(begun.elapsed() < Duration::from_secs(30), "the end of a template was not noticed");
}

/// A template that forks a process and ends before it has named it.
#[test]
fn the_template_that_does_not_answer() {
    if plays("role-template-without-answer") {
        let note = std::env::args().find_map(|one| Some(one.strip_prefix("note-")?.to_owned()));
        wardian_worker::template::forks_and_ends(&mut fs::File::create(note.unwrap()).unwrap());
    }
}

#[tokio::test]
async fn no_zombies_when_a_template_ends_before_it_names_its_child() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("group");
    let test = "tests::templates::the_template_that_does_not_answer";
    let mut template = command(test, "role-template-without-answer").arguments;
    template.push(format!("note-{}", note.display()).into());
    let config = super::config(1);
    let pool = PoolConfig { command: config.command.with_template(template), ..config };
    let pool = start(pool).await;
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
    let group: u32 = fs::read_to_string(&note).unwrap().parse().unwrap();
    let members = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let process = entry.unwrap().file_name().to_str()?.parse().ok()?;
        Some((process, stat(process)?))
    });
    let left: Vec<_> = members.filter(|(_, (_, of))| *of == group).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn no_orphans_of_a_pool_with_a_template_however_it_ends() {
    for end in ["shut down", "drop", "drop the runtime"] {
        let runtime = Runtime::new().unwrap();
        let pool = runtime.block_on(start(forked(2)));
        let all: Vec<u32> = processes(&pool).into_iter().chain(pool.template()).collect();
        let watched: Vec<_> = all.iter().map(|process| watch(*process)).collect();
        assert_eq!(all.len(), 3);
        match end {
            "shut down" => {
                runtime.block_on(pool.shut_down(Duration::from_secs(1)));
                let left: Vec<_> = all.iter().filter(|one| stat(**one).is_some()).collect();
                assert!(left.is_empty(), "{left:?} were not waited for");
            }
            "drop" => drop(pool),
            _ => drop(runtime),
        }
        assert!(watched.iter().all(has_ended), "{end}");
    }
}

/// A gateway in a separate process, with a template and a worker.
#[test]
fn the_process_that_is_a_gateway_with_a_template() {
    if !plays("role-gateway-with-template") {
        return;
    }
    Runtime::new().unwrap().block_on(async {
        let pool = start(forked(1)).await;
        let all = processes(&pool).into_iter().chain(pool.template());
        let all: Vec<String> = all.map(|process| process.to_string()).collect();
        println!("\n> {}", all.join(" "));
        std::io::stdout().flush().unwrap();
        std::future::pending::<()>().await;
    });
}

#[test]
fn no_orphans_when_the_gateway_of_a_template_is_killed() {
    let test = "tests::templates::the_process_that_is_a_gateway_with_a_template";
    let gateway = command(test, "role-gateway-with-template");
    let mut gateway = Command::new(gateway.program)
        .args(gateway.arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut stdout = gateway.stdout.take().unwrap();
    let line = loop {
        let mut byte = [0];
        stdout.read_exact(&mut byte).unwrap();
        said.push(char::from(byte[0]));
        if let Some(line) = said.lines().find_map(|line| line.strip_prefix("> "))
            && said.ends_with('\n')
        {
            break line.to_owned();
        }
    };
    let watched: Vec<_> = line.split(' ').map(|number| watch(number.parse().unwrap())).collect();
    assert_eq!(watched.len(), 2);
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    assert!(watched.iter().all(has_ended));
}

#[tokio::test]
async fn tenants_that_alternate_get_forked_workers_of_their_own() {
    let config = PoolConfig { spares: 1, isolation: Isolation::Process, ..forked(1) };
    let pool = start(config).await;
    let mut workers = BTreeSet::new();
    for round in 0..40 {
        let mut job = job(if round % 7 == 3 { "abort" } else { "return {}" });
        job.guest.setup.tenant = TenantId::parse(&format!("tenant-{}", round % 10)).unwrap();
        let finished = pool.run(&job, &mut WrittenBlobs::default()).await.unwrap();
        assert!(workers.insert(finished.worker), "round {round} has a worker of another tenant");
    }
    assert!(pool.report().workers.iter().all(|worker| worker.is_forked));
}
