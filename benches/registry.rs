//! Tens of thousands of skills: how long a start takes, what a list costs while skills change, when a change
//! shows, and what it costs when nothing changes.
//!
//! `cargo bench --bench registry -- 30000`. Not made with criterion: one start is what counts.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark may panic, and prints")]
#![expect(clippy::indexing_slicing, clippy::expect_used, reason = "a benchmark may panic")]
#![expect(clippy::too_many_lines, reason = "one measurement after another")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wardian_skills::registry::cursor::CursorKey;
use wardian_skills::registry::{Registry, RegistryConfig, TenantFolders, Watching};
use wardian_vocabulary::ids::{SkillName, SkillVersion};

fn main() {
    let skills = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(30_000_usize);
    let root = tempfile::tempdir().unwrap();
    for number in 0..skills {
        write_skill(root.path(), number, "1.0.0");
    }
    let before = resident();
    let started = Instant::now();
    let registry = Registry::open(
        RegistryConfig {
            trust: std::sync::Arc::default(),
            tenants: TenantFolders::default(),
            published: None,
            roots: vec![root.path().to_owned()],
            watching: Watching::default(),
            is_followed: true,
            cursor_key: CursorKey::from_bytes([1; 32]),
        },
        &[],
    )
    .unwrap();
    let took = started.elapsed();
    assert_eq!(registry.current().len(), skills);
    println!("start with {skills} skills: {took:?}, {} MiB", (resident() - before) >> 20);

    registry.follow().unwrap();
    let started = processor_time();
    pause(Duration::from_secs(20));
    println!("processor time for the watches: {:?}", processor_time() - started);
    let started = processor_time();
    pause(Duration::from_secs(10));
    println!("processor time of 10 idle seconds: {:?}", processor_time() - started);

    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..skills).cycle().take_while(|_| !is_done.load(Ordering::Relaxed)) {
                write_skill(root.path(), number, "1.0.1");
                pause(Duration::from_millis(20));
            }
        });
        let mut times = Vec::new();
        for _ in 0..5_000 {
            let started = Instant::now();
            let page = registry.current().list(None, 50, None).unwrap();
            assert_eq!(page.skills.len(), 50);
            times.push(started.elapsed());
            pause(Duration::from_millis(2));
        }
        is_done.store(true, Ordering::Relaxed);
        times.sort_unstable();
        let at = |part: usize| times[times.len() * part / 1_000];
        println!(
            "list while skills change: median {:?}, p99 {:?}, longest {:?}",
            at(500),
            at(990),
            times.last().expect("some")
        );
    });

    pause(Duration::from_secs(5));
    let mut seen = Vec::new();
    for number in 0..20 {
        let version = format!("2.0.{number}");
        let started = Instant::now();
        write_skill(root.path(), number, &version);
        let (name, version) =
            (SkillName::parse(&name(number)).unwrap(), SkillVersion::parse(&version).unwrap());
        while registry.current().find(&name, Some(&version)).is_err() {
            pause(Duration::from_millis(1));
        }
        seen.push(started.elapsed());
    }
    seen.sort_unstable();
    println!("a change shows after: median {:?}, longest {:?}", seen[10], seen[19]);
}

/// Waits as long as that: parking alone may end early.
fn pause(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        thread::park_timeout(left);
    }
}

fn name(number: usize) -> String {
    format!("team{}.skill{number}", number % 100)
}

fn write_skill(root: &Path, number: usize, version: &str) {
    let name = name(number);
    let folder = root.join(&name);
    fs::create_dir_all(folder.join("code")).unwrap();
    fs::write(folder.join("code/main.py"), "def main(args):\n    return args\n".repeat(20))
        .unwrap();
    fs::write(
        folder.join("SKILL.md"),
        format!(
            "---\nname: Skill\nshort_description: Serves a benchmark.\n---\n\n# {name}\n{}\n",
            "Text. ".repeat(200)
        ),
    )
    .unwrap();
    let manifest = format!(
        "name = \"{name}\"\nversion = \"{version}\"\ndescription = \"Serves a benchmark.\"\nkind = \"action\"\n\n[runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\nexport = \"main\"\n"
    );
    fs::write(folder.join("skill.toml"), manifest).unwrap();
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}
