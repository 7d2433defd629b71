//! A server under attack, with a second client that runs programs and a third one that polls the
//! server's health.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::attack::Attack;
use crate::canary::{self, Canaries};
use crate::end::{End, repeated};
use crate::support::{Client, SkillFolder, TestServer};
use crate::traces::{Traces, contents};

/// How much later than its deadline the answer to a run may come. The time for which the server and
/// its workers waited for a processor is not counted: a machine may be busy with other tests.
const MARGIN: Duration = Duration::from_secs(2);

/// Longest time of a health check, without the time of waiting for a processor.
const PULSE: Duration = Duration::from_secs(3);

/// The time of a run whose program states none.
const TIMEOUT_MS: u64 = 30_000;

/// Two workers, one for the attacker and one for the neighbour, and a limit that keeps attacks
/// small.
const SETTINGS: [&str; 8] = [
    "--workers",
    "2",
    "--set",
    "workers.spares=0",
    "--set",
    "limits.host_bytes=32 MiB",
    "--log-level",
    "debug",
];

/// The images that attacks begin as. What the server holds must not depend on what it has run
/// before, so all of them are there when the attacks begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Images {
    /// The base image alone.
    Base,
    /// Those that are made because runs need them: the skill that all attacks mount asks for some
    /// packages, and some attacks import others.
    ByNeed,
}

/// The packages that the skill preloads, and the image that is made for them.
const PRELOAD: &str = "preload = [\"PIL.Image\", \"lxml.etree\"]\n";

/// Further packages that attacks import, and the images that are made for them.
const NEEDS: [(&str, &str); 5] = [
    ("", "lxml+pillow"),
    ("sympy", "lxml+pillow+sympy"),
    ("yaml", "documents+lxml+pillow"),
    ("ssl", "http+lxml+pillow"),
    ("pydantic", "lxml+pillow+pydantic"),
];

/// Most rounds of warming up a server.
const MOST_ROUNDS: usize = 12;

/// The skill that programs may import, read, and try to change.
const SKILL: &str = "acme.victim";

/// Touches memory, workspace and stack up to what a worker keeps ready for the next run, and sleeps
/// for long enough that two runs are on two workers.
const WARM_UP: &str = "
import time

def main(args):
    touched = b'x' * (13 << 20)
    with open('/workspace/file', 'wb') as file:
        file.write(touched)
    time.sleep(0.5)
    nested = iter([])
    for _ in range(100_000):
        nested = filter(None, nested)
    return next(nested)
";

/// A server with secrets in it.
#[derive(Debug)]
pub(crate) struct Siege {
    server: TestServer,
    /// The connections of the attacker, of the second client and of the health check. Each has its
    /// own, so that the server always holds three.
    clients: [Client; 3],
    canaries: Canaries,
    skills: SkillFolder,
    temporary: TempDir,
    blob_id: String,
    images: Images,
    before: Traces,
    overshoots: Mutex<Overshoots>,
}

impl Siege {
    /// Starts a server whose runs begin as the base image.
    pub(crate) fn begin() -> Self {
        Self::begin_with(Images::Base)
    }

    /// Starts one whose guests are stopped by epochs.
    pub(crate) fn begin_with_epochs() -> Self {
        Self::begin_as(Images::Base, "epochs")
    }

    /// Starts a server and warms it up, so that later growth is a leak.
    pub(crate) fn begin_with(images: Images) -> Self {
        Self::begin_as(images, "polls")
    }

    fn begin_as(images: Images, interruption: &str) -> Self {
        let skills = SkillFolder::new();
        skills.action(SKILL, "1.0.0", "def main(args):\n    return 7\n");
        let path = format!("{SKILL}/skill.toml");
        if images == Images::ByNeed {
            let manifest = std::fs::read_to_string(skills.at(&path)).unwrap();
            skills.file(&path, manifest + PRELOAD);
        }
        let by_need = format!("images.on_need={}", images == Images::ByNeed);
        let interruption = format!("engine.interruption={interruption}");
        skills.file(&format!("{SKILL}/resources/table.csv"), "a,b\n1,2\n");
        let temporary = tempfile::tempdir().unwrap();
        let secret = canary::secret();
        let server = TestServer::start_in(
            &[
                &SETTINGS[..],
                &["--set", &by_need, "--set", &interruption, "--skills", skills.path()],
            ]
            .concat(),
            &[("CANARY", &secret), ("TMPDIR", temporary.path().to_str().unwrap())],
        );
        let clients = [server.client(), server.client(), server.client()];
        let canaries = Canaries::place(&clients[0], &secret);
        let blob_id = clients[0].create_text("a blob that must stay as it is", "text/plain");
        let mut siege = Self {
            server,
            clients,
            canaries,
            skills,
            temporary,
            blob_id,
            images,
            before: Traces::default(),
            overshoots: Mutex::default(),
        };
        siege.warm_up();
        siege.before = Traces::of(&siege.server);
        siege
    }

    /// Two runs beside each other, so that both workers get what is mounted, and each keeps as much
    /// memory ready for the next run as it ever will.
    fn warm_up(&self) {
        let warm_up = |import: &str| {
            let text =
                format!("# ends: completed null\n{WARM_UP}\nif False:\n    import {import}\n");
            Attack::parse("warm-up", &text).unwrap()
        };
        let needs = if self.images == Images::ByNeed { &NEEDS[..] } else { &[] };
        for (import, image) in needs {
            self.run(&self.clients[0], &warm_up(if import.is_empty() { "time" } else { import }));
            self.server.wait_for_log(&format!("the image `{image}` is ready"));
        }
        let imports = needs.iter().map(|(import, _)| *import).filter(|import| !import.is_empty());
        let warm_ups: Vec<Attack> = ["time"].into_iter().chain(imports).map(warm_up).collect();
        // Until a round has brought no worker an image that it did not have.
        let mut before = Traces::default();
        for round in 0.. {
            assert!(round < MOST_ROUNDS, "there is no end of what is new");
            for warm_up in &warm_ups {
                self.beside_each_other(|client| drop(self.run(client, warm_up)));
            }
            // The neighbour mounts nothing, so its runs begin as the base image whatever there is.
            self.beside_each_other(|client| drop(client.run(WARM_UP)));
            let now = Traces::of(&self.server);
            if round > 0 && !now.holds_more_than(&before) {
                break;
            }
            before = now;
        }
        assert_eq!(self.clients[2].get("/healthz").status, 200);
    }

    /// Does the same with two clients at once, so that both workers are used.
    fn beside_each_other(&self, act: impl Fn(&Client) + Sync) {
        thread::scope(|scope| {
            for client in &self.clients[..2] {
                scope.spawn(|| act(client));
            }
        });
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.clients[0]
    }

    pub(crate) const fn canaries(&self) -> &Canaries {
        &self.canaries
    }

    pub(crate) const fn server_id(&self) -> u32 {
        self.server.process().id
    }

    /// How much later than they had to some runs were stopped.
    pub(crate) fn overshoots(&self) -> Overshoots {
        self.overshoots.lock().unwrap().clone()
    }

    /// Runs an attack as often as it states. Returns the breaches.
    pub(crate) fn endure(&self, attack: &Attack) -> Vec<String> {
        let files = files_of_guests(self.server.data_dir());
        let skills = contents(self.skills.at("").as_path());
        let over = AtomicBool::new(false);
        let mut problems = Vec::new();
        thread::scope(|scope| {
            let neighbour = scope.spawn(|| self.work_beside(&over));
            let pulse = scope.spawn(|| self.feel_pulse(&over));
            problems.extend(self.attack(attack));
            over.store(true, Ordering::Relaxed);
            problems.extend(neighbour.join().unwrap().err());
            problems.extend(pulse.join().unwrap().err());
        });
        problems.extend(self.check_processes());
        problems.extend(Traces::vanish(&self.server, &self.before).err());
        let expected = files.len() + attack.blobs * usize::try_from(attack.runs).unwrap();
        problems.extend(self.check_files(&files, expected));
        if contents(self.skills.at("").as_path()) != skills {
            problems.push("the skills have changed".to_owned());
        }
        problems.extend(self.check_log());
        problems.iter().map(|problem| format!("{}: {problem}", attack.name)).collect()
    }

    /// Runs an attack once. Returns the problems of the answers.
    fn attack(&self, attack: &Attack) -> Vec<String> {
        let mut problems = Vec::new();
        let mut outputs = Vec::new();
        for _ in 0..attack.runs {
            let (start, waited) = (Instant::now(), self.waited_for_processors());
            let result = self.run(&self.clients[0], attack);
            let waited = self.waited_for_processors().saturating_sub(waited);
            let elapsed = start.elapsed().saturating_sub(waited);
            problems.extend(self.judge(attack, &result, elapsed));
            outputs.push(result["output"].clone());
        }
        if matches!(attack.end, End::Differing) {
            let repeated = repeated(&outputs);
            if !repeated.is_empty() || attack.runs < 2 {
                problems.push(format!("the output repeats itself: {repeated:?}"));
            }
        }
        problems
    }

    fn run(&self, client: &Client, attack: &Attack) -> Value {
        let params = json!({
            "args": {"foreign_blob": self.canaries.blob_id()},
            "mount_skills": [SKILL],
            "input_blobs": [self.blob_id],
            "limits": attack.limits,
            // Files would be blobs afterwards, as they should.
            "keep_files": false,
        });
        client.run_with(&attack.source, params)
    }

    /// How long the server and its workers have waited for processors.
    fn waited_for_processors(&self) -> Duration {
        let workers = self.server.workers();
        let waited = workers.iter().map(|worker| waited_for_processors(worker.id));
        waited_for_processors(self.server_id()) + waited.sum::<Duration>()
    }

    /// How many runs began as an image that was made by need, and how many as the base image.
    pub(crate) fn begun(&self) -> (usize, usize) {
        let log = self.server.log();
        let begun = |image: &str| log.matches(&format!("started from the image `{image}`")).count();
        (NEEDS.iter().map(|(_, image)| begun(image)).sum(), begun("base"))
    }

    fn judge(&self, attack: &Attack, result: &Value, elapsed: Duration) -> Vec<String> {
        let mut problems = Vec::new();
        problems.extend(attack.end.check(result).err());
        let cuts_logs = result["logs_truncated"] == true;
        if cuts_logs != attack.cuts_logs {
            problems.push(format!("logs_truncated is {cuts_logs}"));
        }
        let blobs = result["output_blobs"].as_array().unwrap();
        if blobs.len() != attack.blobs {
            problems.push(format!("output_blobs has {}: {result:.600}", blobs.len()));
        }
        let text = result.to_string();
        problems.extend(self.canaries.leaks_in(&text).iter().map(|leak| format!("leaked {leak}")));
        let timeout_ms = attack.limits["timeout_ms"].as_u64().unwrap_or(TIMEOUT_MS);
        let beyond = elapsed.saturating_sub(Duration::from_millis(timeout_ms));
        if beyond > MARGIN {
            problems.push(format!("the answer came {beyond:?} after the deadline"));
        }
        if attack.end.is_timeout() {
            let told = result["duration_ms"].as_u64().unwrap().saturating_sub(timeout_ms);
            self.overshoots.lock().unwrap().0.push((beyond, told, attack.name.clone()));
        }
        problems
    }

    /// Runs a harmless program on the other worker repeatedly.
    fn work_beside(&self, over: &AtomicBool) -> Result<(), String> {
        let source = "def main(args):\n    return sum(n * n for n in range(args['n']))\n";
        for number in 1.. {
            let params = json!({"args": {"n": number}});
            let result = self.clients[1].run_with(source, params);
            let expected: u64 = (0..number).map(|n| n * n).sum();
            if result["output"]["result"] != expected {
                return Err(format!("the neighbour's run went wrong: {result:.600}"));
            }
            if over.load(Ordering::Relaxed) {
                break;
            }
            thread::park_timeout(Duration::from_millis(30));
        }
        Ok(())
    }

    /// Polls the server's health.
    fn feel_pulse(&self, over: &AtomicBool) -> Result<(), String> {
        loop {
            let (start, waited) = (Instant::now(), waited_for_processors(self.server_id()));
            let status = self.clients[2].get("/healthz").status;
            let elapsed = start.elapsed();
            let waited = waited_for_processors(self.server_id()).saturating_sub(waited);
            if status != 200 || elapsed.saturating_sub(waited) > PULSE {
                return Err(format!(
                    "health answered {status} after {elapsed:?}, {waited:?} of it without a processor"
                ));
            }
            if over.load(Ordering::Relaxed) {
                return Ok(());
            }
            thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// Checks that no process of the server was lost.
    fn check_processes(&self) -> Option<String> {
        if self.server.process().ends_within(Duration::ZERO) {
            return Some("the server is gone".to_owned());
        }
        let lost = self.before.lost(&self.server);
        (lost > 0).then(|| format!("{lost} workers were lost"))
    }

    /// The data folder has what it had, and as many blobs more as were made; no file lies
    /// elsewhere.
    fn check_files(&self, before: &BTreeSet<(PathBuf, Vec<u8>)>, expected: usize) -> Vec<String> {
        let mut problems = Vec::new();
        let now = files_of_guests(self.server.data_dir());
        let lost: Vec<_> = before.difference(&now).map(|(path, _)| path).collect();
        if !lost.is_empty() {
            problems.push(format!("files are gone or changed: {lost:?}"));
        }
        if now.len() > expected {
            let new: Vec<_> = now.difference(before).map(|(path, _)| path).collect();
            problems.push(format!("files are left: {new:?}"));
        }
        let elsewhere = contents(self.temporary.path());
        if !elsewhere.is_empty() {
            problems.push(format!("temporary files are left: {elsewhere:?}"));
        }
        problems
    }

    /// Checks that the log has no secrets and no control characters.
    fn check_log(&self) -> Option<String> {
        let log = self.server.log();
        if let Some(leak) = self.canaries.leaks_in(&log).first() {
            return Some(format!("the log has {leak}"));
        }
        let is_harmful =
            |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        log.chars().find(|c| is_harmful(*c)).map(|c| format!("the log has {c:?}"))
    }
}

/// The files of the data folder without the records of runs, which the server itself writes.
fn files_of_guests(folder: &Path) -> BTreeSet<(PathBuf, Vec<u8>)> {
    let is_records = |path: &Path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        path.parent() == Some(folder) && name.is_some_and(|name| name.starts_with("records.db"))
    };
    contents(folder).into_iter().filter(|(path, _)| !is_records(path)).collect()
}

/// How long the threads of a process have waited for a processor since they began, together. A busy
/// machine makes them wait; nothing that the process does makes it longer by itself.
fn waited_for_processors(id: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten();
    let waited = threads.flatten().filter_map(|thread| {
        let figures = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        figures.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    Duration::from_nanos(waited.sum())
}

/// By how much runs were stopped too late: as seen by the client, as told by the server in
/// milliseconds, and which attack it was.
#[derive(Debug, Default, Clone)]
pub(crate) struct Overshoots(Vec<(Duration, u64, String)>);

impl Overshoots {
    /// Describes the largest of them.
    pub(crate) fn report(&self) -> String {
        let seen = self.0.iter().max_by_key(|(seen, ..)| *seen);
        let told = self.0.iter().max_by_key(|(_, told, _)| *told);
        let (Some((seen, _, slowest)), Some((_, told, latest))) = (seen, told) else {
            return "no run was stopped by its deadline".to_owned();
        };
        format!(
            "{} stopped by a deadline, the last answer {} ms after it ({slowest}), \
             the last stop {told} ms after it ({latest})",
            self.0.len(),
            seen.as_millis(),
        )
    }
}
