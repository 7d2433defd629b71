//! `wardian doctor`: checks this machine and gives advice.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::assembly::{self, AssemblyError, MeteredCode, Runtime, WorkerBounds};
use crate::cli::commands::diagnosis::{Diagnosis, State};
use crate::cli::commands::engine::diagnosis;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{block_on, block_on_until_interrupted, start_once};
use crate::cli::terminal::output::{print_json, print_line, shown};
use crate::cli::terminal::readable::readable;
use wardian_config::{CgroupUse, Config, RequireLockdown};
use wardian_edges::http::TlsEndpoint;
use wardian_formats::job::message::WorkerReport;
use wardian_formats::protocol::methods::execution::RunStatus;
use wardian_service::{Caller, LocalProgram, LocalRun, sole_tenant};
use wardian_stores::blobs::BlobError;
use wardian_stores::secrets::{SecretScope, Secrets};
use wardian_vocabulary::cgroup::{CgroupPlace, CgroupUnavailable, Controller};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::units::ByteCount;

/// Free disk space below which the engine or a blob may not fit.
const ENOUGH: ByteCount = ByteCount::mebibytes(1024);

/// Checks everything that runs depend on.
pub(crate) fn doctor(config: Config, as_json: bool) -> Result<Exit, Failed> {
    let mut findings = vec![kernel(), user(&config), configuration(&config), address(&config)];
    let place = CgroupPlace::find();
    let bounded =
        place.as_ref().is_ok_and(|place| place.controllers().contains(&Controller::Memory));
    let bounded = bounded && config.workers.cgroups != CgroupUse::Off;
    findings.push(cgroups(config.workers.cgroups, place));
    findings.push(worker_memory(WorkerBounds::of(&config), bounded));
    findings.extend(certificate(&config));
    findings.extend(database(&config)?);
    findings.push(blobs(&config));
    findings.extend(object_store(&config)?);
    findings.push(disk(&config));
    findings.push(skills(&config));
    findings.push(secrets(&config));
    let (engine, is_ready) = diagnosis(&config);
    findings.push(engine);
    findings.push(batteries(&config));
    if is_ready {
        let ended = block_on_until_interrupted(Box::pin(async {
            findings.extend(Box::pin(workers(config)).await);
            Ok(Exit::Done)
        }))?;
        if ended == Exit::Interrupted {
            return Ok(ended);
        }
    }
    let worst = findings.iter().map(|finding| finding.state).max();
    if as_json {
        print_json(&findings);
    } else {
        print_findings(&findings);
    }
    Ok(if worst == Some(State::Bad) { Exit::OurFault } else { Exit::Done })
}

fn print_findings(findings: &[Diagnosis]) {
    for Diagnosis { what, state, says, advice } in findings {
        print_line(&format!("{state:<9} {what:<14} {}", shown(says)));
        if let Some(advice) = advice {
            print_line(&format!("{:<24} -> {advice}", ""));
        }
    }
}

fn batteries(config: &Config) -> Diagnosis {
    match assembly::batteries(config) {
        Ok(found) if found.is_there => {
            Diagnosis::good("batteries", format!("{} packages", found.packages.len()))
        }
        Ok(_) => Diagnosis::degraded(
            "batteries",
            "not fetched: runs lack packages such as requests",
            "`wardian engine install` fetches them",
        ),
        Err(error) => {
            let says = CauseChain(&error).to_string();
            Diagnosis::bad("batteries", says, "this program was built incorrectly")
        }
    }
}

fn kernel() -> Diagnosis {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let says = format!("Linux {release}, {cores} cores");
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (6, 7) {
        return Diagnosis::good("kernel", says);
    }
    let advice = "Linux 6.7 can report which pages a run has changed; without that, runs clean up \
        more slowly";
    Diagnosis::degraded("kernel", says, advice)
}

fn user(config: &Config) -> Diagnosis {
    let (uid, gid) = (config.workers.uid, config.workers.gid);
    if rustix::process::getuid().is_root() {
        let says = format!("root; workers switch to user {uid}, group {gid}");
        let advice = "start the server as a dedicated user, so that the server itself is not root \
            either";
        return Diagnosis::degraded("user", says, advice);
    }
    Diagnosis::good("user", "not root")
}

/// The cgroups that a server would have that is started where this command was.
fn cgroups(wanted: CgroupUse, place: Result<CgroupPlace, CgroupUnavailable>) -> Diagnosis {
    const WHAT: &str = "cgroups";
    let finding: fn(_, String, &str) -> Diagnosis = match wanted {
        CgroupUse::Off => return Diagnosis::good(WHAT, "not used: `workers.cgroups` is \"off\""),
        CgroupUse::Require => Diagnosis::bad,
        CgroupUse::Auto => Diagnosis::degraded,
    };
    match place {
        Ok(place) if place.controllers() == Controller::ALL => {
            Diagnosis::good(WHAT, format!("each worker of a server gets its own here: {place}"))
        }
        Ok(place) => {
            let says = format!("each worker of a server gets its own here, with {place} only");
            finding(
                WHAT,
                says,
                "`Delegate=memory pids cpu` in the systemd unit provides all of them",
            )
        }
        Err(error) => {
            let says = format!(
                "a server that is started here gives its workers no cgroups: {}",
                CauseChain(&error)
            );
            finding(WHAT, says, error.advice())
        }
    }
}

/// What a worker could take that was taken over, which a cgroup bounds or only the limits of its process.
fn worker_memory(bounds: WorkerBounds, has_cgroup: bool) -> Diagnosis {
    const WHAT: &str = "worker memory";
    let WorkerBounds { private, taken, machine } = bounds;
    if has_cgroup {
        return Diagnosis::good(
            WHAT,
            format!("the cgroup of each bounds it to {}", readable(taken)),
        );
    }
    let says = format!("the limits of the process of each bound it to {}", readable(private));
    match machine.filter(|machine| private > *machine) {
        None => Diagnosis::good(WHAT, says),
        Some(machine) => Diagnosis::degraded(
            WHAT,
            format!("{says}, and there are {}", readable(machine)),
            "only a cgroup of each worker bounds one that was taken over: see `cgroups`; or bound \
             the service (`MemoryMax`), and lower `limits.max.memory`",
        ),
    }
}

fn configuration(config: &Config) -> Diagnosis {
    let says = match &config.file {
        Some(file) => format!("read from {}", file.display()),
        None => "no file; defaults apply".to_owned(),
    };
    if config.ignored_variables.is_empty() {
        return Diagnosis::good("configuration", says);
    }
    let ignored = config.ignored_variables.join(", ");
    let says = format!("{says}; without effect: {ignored}");
    Diagnosis::degraded("configuration", says, "`wardian config` lists all settings")
}

fn address(config: &Config) -> Diagnosis {
    let address = config.http.listen;
    if let Some(reason) = config.exposure() {
        return Diagnosis::bad("address", reason, "`wardian serve` does not start like this");
    }
    match TcpListener::bind(address) {
        Ok(_) => Diagnosis::good("address", format!("{address} is free")),
        Err(fault) => {
            let advice = "a server may be running already; `--listen` chooses another address";
            Diagnosis::degraded("address", format!("{address}: {fault}"), advice)
        }
    }
}

/// The certificate, if the server has one.
fn certificate(config: &Config) -> Option<Diagnosis> {
    const WHAT: &str = "certificate";
    let endpoint = match TlsEndpoint::load(config.http.tls.as_ref()?) {
        Ok(endpoint) => endpoint,
        Err(error) => {
            let advice = "the server does not start with it; see `http.tls.certificate` and \
                `http.tls.key`";
            return Some(Diagnosis::bad(WHAT, CauseChain(&error).to_string(), advice));
        }
    };
    Some(match endpoint.warning(Clock::System.now()) {
        Some(warning) => {
            Diagnosis::degraded(WHAT, warning, "renew it; the server loads the new one")
        }
        None => Diagnosis::good(WHAT, "it fits its key and is valid"),
    })
}

/// The secrets, and whether their providers work.
fn secrets(config: &Config) -> Diagnosis {
    let (secrets, providers) = Secrets::new(&config.secrets).list(SecretScope::Server);
    let faults = providers.iter().filter_map(|provider| provider.fault.as_ref());
    let faults = faults.chain(secrets.iter().filter_map(|secret| secret.fault.as_ref()));
    let faults: Vec<String> = faults.cloned().collect();
    if !faults.is_empty() {
        let advice = "skills that declare such a secret cannot run: `wardian secrets list`";
        return Diagnosis::bad("secrets", faults.join("; "), advice);
    }
    Diagnosis::good("secrets", format!("{} can be listed", secrets.len()))
}

/// The database of keys and records, if it is not in the data folder.
fn database(config: &Config) -> Result<Option<Diagnosis>, Failed> {
    const WHAT: &str = "database";
    if config.database.url_file.is_none() {
        return Ok(None);
    }
    let mut found = None;
    block_on(async {
        found = Some(match assembly::check_database(config).await {
            Ok(()) => Diagnosis::good(WHAT, "PostgreSQL answers, and its schema fits"),
            Err(fault) => {
                let advice = "keys and records are there: see `database.url_file`";
                Diagnosis::bad(WHAT, CauseChain(&fault).to_string(), advice)
            }
        });
        Ok(Exit::Done)
    })?;
    Ok(found)
}

/// The object store of blobs, if there is one.
fn object_store(config: &Config) -> Result<Option<Diagnosis>, Failed> {
    const WHAT: &str = "object store";
    let Some(place) = &config.blobs.store else { return Ok(None) };
    let mut found = None;
    block_on(async {
        found = Some(match assembly::check_object_store(config).await {
            Ok(()) => Diagnosis::good(WHAT, format!("{place} can be written to, each key once")),
            Err(fault) => {
                let advice =
                    "a server does not start with it; see `blobs.store` and AWS_ENDPOINT_URL";
                Diagnosis::bad(WHAT, CauseChain(&fault).to_string(), advice)
            }
        });
        Ok(Exit::Done)
    })?;
    Ok(found)
}

fn blobs(config: &Config) -> Diagnosis {
    match assembly::open_blobs(config) {
        Ok(store) => {
            let says = match store.usage(&sole_tenant()) {
                Ok(usage) => {
                    let size = readable(ByteCount::bytes(usage.bytes));
                    format!("{size} in {} blobs", usage.blobs)
                }
                Err(fault) => CauseChain(&fault).to_string(),
            };
            Diagnosis::good("blob store", says)
        }
        Err(AssemblyError::Blobs(BlobError::InUse)) => {
            Diagnosis::good("blob store", "in use by a running server")
        }
        Err(error) => {
            let advice = "the data folder must be writable: see `--data-dir`";
            Diagnosis::bad("blob store", CauseChain(&error).to_string(), advice)
        }
    }
}

/// The free disk space for the engine and for blobs.
fn disk(config: &Config) -> Diagnosis {
    let cache = free_at(&config.cache_dir);
    let blobs = free_at(&config.blobs.folder);
    let shown = |free: Option<ByteCount>| free.map_or_else(|| "unknown".to_owned(), readable);
    let says = format!("free: {} for the cache, {} for blobs", shown(cache), shown(blobs));
    if [cache, blobs].iter().all(|free| free.is_some_and(|free| free >= ENOUGH)) {
        return Diagnosis::good("disk", says);
    }
    let advice =
        "the engine takes 500 MB, with `--metered` 750 MB: see `--cache-dir`, `--data-dir`";
    Diagnosis::degraded("disk", says, advice)
}

/// Free bytes for this user at the folder, or at its closest existing parent.
fn free_at(folder: &Path) -> Option<ByteCount> {
    let found = folder.ancestors().find_map(|folder| rustix::fs::statvfs(folder).ok())?;
    Some(ByteCount::bytes(found.f_bavail.saturating_mul(found.f_frsize)))
}

fn skills(config: &Config) -> Diagnosis {
    let registry = match assembly::open_registry(config) {
        Ok(registry) => registry,
        Err(error) => {
            let advice = "every folder of `skills.roots` and `tenants.skills` must be readable, \
                and the folders of tenants must be separate from all others: see `--skills`";
            return Diagnosis::bad("skills", CauseChain(&error).to_string(), advice);
        }
    };
    let (index, own) = (registry.current(), registry.of_tenants());
    let of_tenants = match own.values().map(|index| index.len()).sum::<usize>() {
        0 if own.is_empty() => String::new(),
        skills => format!(", and {skills} to {} tenants alone", own.len()),
    };
    let served = format!("{} are served{of_tenants}", index.len());
    let all = || own.values().chain([&index]);
    let rejected: usize = all().map(|index| index.rejected().len()).sum();
    if let Some(left_out) = all().find_map(|index| index.left_out().first()) {
        let says = format!("{served}, {rejected} folders are not; {left_out}");
        return Diagnosis::degraded("skills", says, "divide the folders among several roots");
    }
    if rejected == 0 {
        let replaced: Vec<_> = index.replaced().iter().map(|name| format!("`{name}`")).collect();
        let note = match replaced.as_slice() {
            [] => String::new(),
            names => format!("; in place of bundled ones: {}", names.join(", ")),
        };
        return Diagnosis::good("skills", format!("{served}{note}"));
    }
    let says = format!("{served}, {rejected} folders are not");
    let named = own.iter().find(|(_, index)| !index.rejected().is_empty());
    let advice = match named {
        Some((tenant, _)) if index.rejected().is_empty() => {
            format!("`wardian skills list --tenant {tenant}` names them")
        }
        _ => "`wardian skills list` names them".to_owned(),
    };
    Diagnosis::degraded("skills", says, &advice)
}

/// Starts a worker and runs programs in it.
async fn workers(mut config: Config) -> Vec<Diagnosis> {
    let advice = "`--log-level debug` shows more";
    let folder = match TempDir::new() {
        Ok(folder) => folder,
        Err(fault) => return vec![Diagnosis::bad("workers", fault.to_string(), advice)],
    };
    config.blobs.folder = folder.path().join("blobs");
    (config.workers.count, config.workers.spares) = (1, 0);
    // A missing part of the lock-down becomes a finding instead of an error.
    let is_required = config.requires_lockdown();
    config.workers.require_lockdown = RequireLockdown::Never;
    let began = Instant::now();
    let started = match start_once(&config, MeteredCode::IfThere).await {
        Ok(runtime) => runtime.ready().await.map(|()| runtime),
        Err(error) => Err(error),
    };
    let runtime = match started {
        Ok(runtime) => runtime,
        Err(error) => {
            return vec![Diagnosis::bad("workers", CauseChain(&error).to_string(), advice)];
        }
    };
    let says = format!("the first is ready after {} ms", began.elapsed().as_millis());
    let mut findings = vec![Diagnosis::good("workers", says)];
    for worker in runtime.service.workers().workers {
        findings.push(lockdown(&worker.report, is_required));
        findings.push(reset(&worker.report.reset));
        findings.push(huge_pages(&worker.report.huge_pages));
    }
    findings.push(escapes(&runtime).await);
    findings.push(run(&runtime).await);
    runtime.shut_down(Duration::ZERO).await;
    findings
}

async fn escapes(runtime: &Runtime) -> Diagnosis {
    match runtime.service.self_test().await {
        Ok(stopped) => Diagnosis::good("sandbox", format!("stopped {stopped} attempts to escape")),
        Err(error) => {
            let advice = "do not run guests on this machine; this is a defect worth reporting";
            Diagnosis::bad("sandbox", CauseChain(&error).to_string(), advice)
        }
    }
}

fn lockdown(report: &WorkerReport, is_required: bool) -> Diagnosis {
    let WorkerReport { lockdown: standing, missing, partial, .. } = report;
    let says = format!("{} walls are active", standing.len());
    if missing.is_empty() && partial.is_empty() {
        return Diagnosis::good("lock-down", says);
    }
    if missing.is_empty() {
        let says = format!("{says}, in part: {}", partial.join("; "));
        return Diagnosis::degraded("lock-down", says, "Linux 6.12 supports all of Landlock");
    }
    let says = format!("{says}; missing: {}", missing.join("; "));
    if is_required {
        let advice = "the server will not run guests; `--set workers.require_lockdown=false` \
            accepts that, with WebAssembly as the remaining wall";
        return Diagnosis::bad("lock-down", says, advice);
    }
    let advice = "a newer kernel or other container settings provide them; `wardian serve \
        --require-lockdown` does not start without them";
    Diagnosis::degraded("lock-down", says, advice)
}

/// The finding about huge pages in workers and in the system.
fn huge_pages(workers: &str) -> Diagnosis {
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let chosen = |setting: &str| Some(setting.split_once('[')?.1.split_once(']')?.0.to_owned());
    let system = setting.ok().and_then(|setting| chosen(&setting));
    let system = system.unwrap_or_else(|| "not built in".to_owned());
    let says = format!("{workers} in workers; `{system}` on this system");
    if workers == "off" || system == "never" || system == "not built in" {
        return Diagnosis::good("huge pages", says);
    }
    let advice = "the kernel refuses to turn them off for a process: runs are isolated, but clean \
        up more slowly";
    Diagnosis::degraded("huge pages", says, advice)
}

fn reset(method: &str) -> Diagnosis {
    let says = format!("changed pages are found by {method}");
    if method == "pagemap-scan" {
        return Diagnosis::good("clean-up", says);
    }
    Diagnosis::degraded("clean-up", says, "Linux 6.7 has a faster method")
}

/// Runs a program twice: the first run of a worker is slower than all others.
async fn run(runtime: &Runtime) -> Diagnosis {
    const SOURCE: &str =
        "def main(args):\n    import pandas\n    return pandas.Series([40, 2]).sum().item()\n";
    let advice = "`wardian run -c 'print(1)' --log-level debug` shows more";
    let caller = Caller::local("doctor");
    let mut duration = 0;
    for _ in 0..2 {
        let program = LocalProgram::File { source: SOURCE.into(), file_name: "doctor.py".into() };
        match runtime.service.run_file(&caller, LocalRun::new(program)).await {
            Ok(ended) if ended.result.status == RunStatus::Completed => {
                duration = ended.result.duration_ms;
            }
            Ok(ended) => return Diagnosis::bad("run", ended.result.summary, advice),
            Err(error) => return Diagnosis::bad("run", CauseChain(&error).to_string(), advice),
        }
    }
    Diagnosis::good("run", format!("a small pandas program takes {duration} ms"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_that_are_missing_are_bad_only_where_they_are_required() {
        let whole = WorkerReport { lockdown: vec!["seccomp".into()], ..WorkerReport::default() };
        assert_eq!(lockdown(&whole, true).state, State::Good);
        let missing = vec!["landlock: no kernel support".to_owned()];
        let less = WorkerReport { missing, ..whole.clone() };
        let required = lockdown(&less, true);
        assert_eq!(required.state, State::Bad);
        assert!(required.says.contains("landlock: no kernel support"));
        assert_eq!(lockdown(&less, false).state, State::Degraded);

        let partial = WorkerReport { partial: vec!["landlock: ABI 3".into()], ..whole };
        let told = lockdown(&partial, true);
        assert_eq!(told.state, State::Degraded);
        assert!(told.says.contains("landlock: ABI 3"), "{told:?}");
    }

    #[test]
    fn a_worker_that_could_take_more_than_the_machine_has_is_named() {
        let gibibytes = |number: u64| ByteCount::mebibytes(number << 10);
        let bounds = |machine| WorkerBounds { private: gibibytes(9), taken: gibibytes(3), machine };
        let found = worker_memory(bounds(Some(gibibytes(4))), false);
        assert_eq!(found.state, State::Degraded);
        assert!(found.says.contains("9.0 GiB") && found.says.contains("4.0 GiB"), "{found:?}");
        for machine in [None, Some(gibibytes(9))] {
            assert_eq!(worker_memory(bounds(machine), false).state, State::Good);
        }
        let bounded = worker_memory(bounds(Some(gibibytes(4))), true);
        assert_eq!((bounded.state, bounded.says.contains("3.0 GiB")), (State::Good, true));
    }

    #[test]
    fn huge_pages_are_reported() {
        assert_eq!(huge_pages("off").state, State::Good);
        assert!(huge_pages("not controlled").says.contains("not controlled in workers"));
    }

    #[test]
    fn every_finding_that_is_not_good_has_advice() {
        let findings = [
            Diagnosis::good("a", "b"),
            Diagnosis::degraded("a", "b", "c"),
            Diagnosis::bad("a", "b", "c"),
            reset("soft-dirty"),
        ];
        for finding in findings {
            assert_eq!(finding.state == State::Good, finding.advice.is_none(), "{finding:?}");
        }
    }

    #[test]
    fn free_space_is_reported_for_missing_folders_too() {
        let folder = tempfile::tempdir().unwrap();
        let free = free_at(folder.path()).unwrap();
        assert!(free > ByteCount::bytes(0));
        assert!(free_at(&folder.path().join("not/yet/there")).is_some());
        // A file system that has no room at all.
        assert_eq!(free_at(Path::new("/proc/self")), Some(ByteCount::bytes(0)));
    }

    #[test]
    fn a_used_address_is_reported() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let surroundings = wardian_config::Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            ..wardian_config::Surroundings::default()
        };
        let mut config = Config::load(&surroundings, wardian_config::Flags::default()).unwrap();
        config.http.listen = taken.local_addr().unwrap();
        assert_eq!(address(&config).state, State::Degraded);
        drop(taken);
        assert_eq!(address(&config).state, State::Good);
    }
}
