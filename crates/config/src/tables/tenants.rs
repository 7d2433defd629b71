//! The settings `tenants.*`: how far tenants are apart, the limits of all tenants, and those of
//! tenants with their own limits.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::time::Duration;

use toml::{Table, Value as Toml};

use crate::reader::Reader;
use crate::settings::AuthMode;
use crate::value::SettingValue;
use wardian_dispatch::Isolation;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::{CallRate, DETACHED, TenantLimits, TenantPolicy, TimeQuota};

/// Maximum number of tenants with their own images.
const MAX_IMAGE_TENANTS: usize = 16;

const WEIGHTS: RangeInclusive<u32> = 1..=1_000;
const RUNNING: RangeInclusive<usize> = 1..=1_024;
const QUEUED: RangeInclusive<usize> = 0..=1_000_000;
const DETACHED_RUNS: RangeInclusive<usize> = 0..=1_000_000;
const RATES: RangeInclusive<u32> = 1..=1_000_000;
const RUN_TIMES: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(31 * 24);

/// The usual period of quotas.
const PERIOD: Duration = Duration::from_hours(1);

/// The keys of a tenant's own table.
const KEYS: &str = "`weight`, `running`, `queued`, `detached`, `rate`, `burst`, `run_time`, `run_time_period`, \
     `cpu_time`, `cpu_time_period`";

/// The limits of a tenant as they are written.
#[derive(Debug, Clone, Copy)]
struct Written {
    weight: u32,
    running: Option<usize>,
    queued: Option<usize>,
    detached: usize,
    rate: Option<u32>,
    burst: Option<u32>,
    run_time: Option<Duration>,
    run_time_period: Duration,
    cpu_time: Option<Duration>,
    cpu_time_period: Duration,
}

/// Reads how far tenants are apart, and their limits. A server runs `workers` runs at once.
pub(crate) fn read_tenants(
    reader: &mut Reader,
    auth: AuthMode,
    workers: usize,
) -> (Isolation, TenantPolicy) {
    let isolation = read_isolation(reader, auth);
    let usual = Written {
        weight: reader.read_within("tenants.weight", 1, WEIGHTS),
        running: reader.read_optional_within("tenants.running", RUNNING),
        queued: reader.read_optional_within("tenants.queued", QUEUED),
        detached: reader.read_within("tenants.detached", DETACHED, DETACHED_RUNS),
        rate: reader.read_optional_within("tenants.rate", RATES),
        burst: reader.read_optional_within("tenants.burst", RATES),
        run_time: reader.read_optional_within("tenants.run_time", RUN_TIMES),
        run_time_period: reader.read_within("tenants.run_time_period", PERIOD, RUN_TIMES),
        cpu_time: reader.read_optional_within("tenants.cpu_time", RUN_TIMES),
        cpu_time_period: reader.read_within("tenants.cpu_time_period", PERIOD, RUN_TIMES),
    };
    if let Err(problem) = usual.check(workers) {
        reader.complain(format!("`tenants.{}", problem.trim_start_matches('`')));
    }
    let mut named = BTreeMap::new();
    reader.read_named_tables("tenants.limits", |tables: &NamedTables| {
        named = own_limits(&usual, tables, workers)?;
        Ok(())
    });
    (isolation, TenantPolicy { usual: usual.limits(), named })
}

/// Reads the tenants that have their own images. Each image takes memory, so there are few.
pub(crate) fn read_image_tenants(reader: &mut Reader) -> Vec<TenantId> {
    const KEY: &str = "images.tenants";
    let names: Vec<String> = reader.read(KEY, Vec::new());
    let mut tenants = Vec::new();
    for name in &names {
        match TenantId::parse(name) {
            Ok(tenant) if tenant != TenantId::local() && !tenants.contains(&tenant) => {
                tenants.push(tenant);
            }
            _ => reader.complain(format!(
                "`{KEY}` has `{}`: it must name tenants other than `local`, each once",
                name.escape_debug()
            )),
        }
    }
    if tenants.len() > MAX_IMAGE_TENANTS {
        reader.complain(format!(
            "`{KEY}` has {} tenants and may have {MAX_IMAGE_TENANTS}: each has an image of some \
             60 MiB in memory; serve other tenants by servers with separate cache folders",
            tenants.len()
        ));
    }
    tenants
}

/// Reads the setting that says which runs may follow one another in a worker. Without it, callers
/// that are known have their own workers.
fn read_isolation(reader: &mut Reader, auth: AuthMode) -> Isolation {
    let usual = match auth {
        AuthMode::Open | AuthMode::Proxy => Isolation::Shared,
        AuthMode::Keys | AuthMode::Jwt => Isolation::Process,
    };
    reader.read("tenants.isolation", usual)
}

impl SettingValue for Isolation {
    const EXPECTED: &'static str = "\"process\" or \"shared\"";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "process" => Some(Self::Process),
            "shared" => Some(Self::Shared),
            _ => None,
        }
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        value.as_str().and_then(Self::from_text)
    }

    fn to_toml(&self) -> Toml {
        let text = match self {
            Self::Process => "process",
            Self::Shared => "shared",
        };
        Toml::String(text.to_owned())
    }
}

/// Tables of keys, each with a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NamedTables(BTreeMap<String, BTreeMap<String, String>>);

/// In flags and the environment entries `NAME.KEY=VALUE` with `,` between them.
impl SettingValue for NamedTables {
    const EXPECTED: &'static str = "a table of tenants such as { acme = { weight = 2, running = 4 } } \
        (in flags and the environment entries NAME.KEY=VALUE joined by `,`)";

    fn from_text(text: &str) -> Option<Self> {
        let mut tables = Self::default();
        for entry in Vec::<String>::from_text(text)? {
            let (place, value) = entry.split_once('=')?;
            let (name, key) = place.split_once('.')?;
            let table = tables.0.entry(name.to_owned()).or_default();
            table.insert(key.to_owned(), value.trim().to_owned());
        }
        Some(tables)
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        let text = |value: &Toml| match value {
            Toml::String(text) => Some(text.clone()),
            Toml::Integer(number) => Some(number.to_string()),
            _ => None,
        };
        let table = |table: &Table| {
            let values = table.iter().map(|(key, value)| Some((key.clone(), text(value)?)));
            values.collect::<Option<BTreeMap<_, _>>>()
        };
        let tables = value.as_table()?.iter();
        let tables = tables.map(|(name, value)| Some((name.clone(), table(value.as_table()?)?)));
        Some(Self(tables.collect::<Option<_>>()?))
    }

    fn to_toml(&self) -> Toml {
        let value = |text: &String| match text.parse::<i64>() {
            Ok(number) => Toml::Integer(number),
            Err(_) => Toml::String(text.clone()),
        };
        let table = |values: &BTreeMap<String, String>| {
            Toml::Table(values.iter().map(|(key, text)| (key.clone(), value(text))).collect())
        };
        Toml::Table(self.0.iter().map(|(name, values)| (name.clone(), table(values))).collect())
    }
}

/// The limits of tenants with their own limits. A limit that is not written is the usual one.
fn own_limits(
    usual: &Written,
    tables: &NamedTables,
    workers: usize,
) -> Result<BTreeMap<TenantId, TenantLimits>, String> {
    let mut named = BTreeMap::new();
    for (name, values) in &tables.0 {
        let tenant = TenantId::parse(name).map_err(|_invalid| {
            let shown = name.escape_debug();
            format!(
                "has a tenant `{shown}`: a name has 1 to 64 characters of a-z, 0-9 and inner \
                dashes"
            )
        })?;
        let mut own = *usual;
        for (key, text) in values {
            own.set(key, text).map_err(|fault| format!("has `{name}.{key}`, which {fault}"))?;
        }
        own.check(workers).map_err(|fault| format!("has the tenant `{name}`, whose {fault}"))?;
        named.insert(tenant, own.limits());
    }
    Ok(named)
}

impl Written {
    fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        match key {
            "weight" => self.weight = within(text, WEIGHTS)?,
            "running" => self.running = optional(text, RUNNING)?,
            "queued" => self.queued = optional(text, QUEUED)?,
            "detached" => self.detached = within(text, DETACHED_RUNS)?,
            "rate" => self.rate = optional(text, RATES)?,
            "burst" => self.burst = optional(text, RATES)?,
            "run_time" => self.run_time = optional(text, RUN_TIMES)?,
            "run_time_period" => self.run_time_period = within(text, RUN_TIMES)?,
            "cpu_time" => self.cpu_time = optional(text, RUN_TIMES)?,
            "cpu_time_period" => self.cpu_time_period = within(text, RUN_TIMES)?,
            _ => return Err(format!("is not a limit of a tenant; the limits are {KEYS}")),
        }
        Ok(())
    }

    /// Finds limits that contradict each other.
    fn check(&self, workers: usize) -> Result<(), String> {
        if self.burst.is_some() && self.rate.is_none() {
            return Err("`burst` is set without a `rate`".to_owned());
        }
        let workers = u32::try_from(workers).unwrap_or(u32::MAX);
        let quotas = [
            ("run_time", self.run_time, self.run_time_period),
            ("cpu_time", self.cpu_time, self.cpu_time_period),
        ];
        for (key, time, period) in quotas {
            if let Some(time) = time.filter(|time| *time > period.saturating_mul(workers)) {
                return Err(format!(
                    "`{key}` ({}) is more than {workers} workers have in its period ({})",
                    time.to_toml(),
                    period.to_toml()
                ));
            }
        }
        Ok(())
    }

    fn limits(&self) -> TenantLimits {
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let Self { rate, burst, .. } = *self;
        let quota = |time: Option<Duration>, period| time.map(|time| TimeQuota { time, period });
        TenantLimits {
            weight: number(self.weight),
            running: self.running.unwrap_or(usize::MAX),
            queued: self.queued.unwrap_or(usize::MAX),
            detached: self.detached,
            rate: rate.map(|rate| CallRate {
                per_second: number(rate),
                burst: number(burst.unwrap_or(rate)),
            }),
            run_time: quota(self.run_time, self.run_time_period),
            cpu_time: quota(self.cpu_time, self.cpu_time_period),
        }
    }
}

/// The word for a limit that a tenant does not have, although others have it.
const NONE: &str = "none";

fn optional<T: SettingValue + PartialOrd>(
    text: &str,
    range: RangeInclusive<T>,
) -> Result<Option<T>, String> {
    if text == NONE { Ok(None) } else { within(text, range).map(Some) }
}

fn within<T: SettingValue + PartialOrd>(text: &str, range: RangeInclusive<T>) -> Result<T, String> {
    let value = T::from_text(text).ok_or_else(|| T::fault_of_text(text))?;
    if range.contains(&value) {
        return Ok(value);
    }
    let shown = |bound: &T| bound.to_toml().to_string();
    Err(format!("must be between {} and {}", shown(range.start()), shown(range.end())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ConfigError, Flags, Surroundings};

    fn load(file: &str, settings: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.toml");
        std::fs::write(&path, file).unwrap();
        let surroundings = Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            ..Surroundings::default()
        };
        let settings = settings.iter().chain(&[("workers.count", "2")]);
        let settings = settings.map(|(key, text)| ((*key).into(), (*text).into())).collect();
        Config::load(&surroundings, Flags { file: Some(path), settings })
    }

    fn tenants(file: &str) -> TenantPolicy {
        load(file, &[]).unwrap().tenants
    }

    fn problems(file: &str) -> String {
        match load(file, &[]) {
            Err(ConfigError::Settings { problems }) => {
                let problems = problems.join("\n");
                problems.split_once(": ").map_or(problems.clone(), |(_, fault)| fault.to_owned())
            }
            other => panic!("{other:?}"),
        }
    }

    fn of(policy: &TenantPolicy, name: &str) -> TenantLimits {
        policy.of(&TenantId::parse(name).unwrap())
    }

    #[test]
    fn tenants_have_workers_of_their_own_as_soon_as_callers_are_known() {
        for (mode, setting, expected) in [
            ("open", None, Isolation::Shared),
            ("proxy", None, Isolation::Shared),
            ("keys", None, Isolation::Process),
            ("keys", Some("shared"), Isolation::Shared),
            ("open", Some("process"), Isolation::Process),
        ] {
            let isolation = setting.map(|text| ("tenants.isolation", text));
            let settings: Vec<_> = [("auth.mode", mode)].into_iter().chain(isolation).collect();
            assert_eq!(load("", &settings).unwrap().isolation, expected, "{settings:?}");
        }
        let wrong = load("", &[("tenants.isolation", "thread")]).unwrap_err();
        assert!(wrong.to_string().contains("\"process\" or \"shared\""), "{wrong}");
    }

    #[test]
    fn without_settings_no_tenant_has_limits() {
        assert_eq!(tenants(""), TenantPolicy::NONE);
    }

    #[test]
    fn a_tenant_has_its_own_limits_and_otherwise_the_usual_ones() {
        let file = "[tenants]\nrunning = 2\nrate = 10\nrun_time = \"10 min\"\n\
            [tenants.limits.acme]\nweight = 5\nburst = 50\nrun_time = \"none\"\n\
            [tenants.limits.beta]\nrunning = 1\nrate = \"none\"\nrun_time_period = \"1 d\"\n\
            cpu_time = \"5 min\"\n";
        let policy = tenants(file);
        let (usual, acme, beta) = (of(&policy, "x"), of(&policy, "acme"), of(&policy, "beta"));
        let rate = |per_second, burst| {
            let number = |number| NonZeroU32::new(number).unwrap();
            Some(CallRate { per_second: number(per_second), burst: number(burst) })
        };
        assert_eq!((usual.weight.get(), usual.running, usual.queued), (1, 2, usize::MAX));
        assert_eq!((usual.rate, acme.rate, beta.rate), (rate(10, 10), rate(10, 50), None));
        assert_eq!((acme.weight.get(), acme.running, beta.running), (5, 2, 1));
        assert_eq!((acme.run_time, usual.cpu_time), (None, None));
        let cpu_time = TimeQuota { time: Duration::from_mins(5), period: Duration::from_hours(1) };
        assert_eq!(beta.cpu_time, Some(cpu_time));
        let time = Duration::from_secs(600);
        assert_eq!(usual.run_time, Some(TimeQuota { time, period: Duration::from_hours(1) }));
        assert_eq!(beta.run_time, Some(TimeQuota { time, period: Duration::from_hours(24) }));
        let printed = load(file, &[]).unwrap().to_toml();
        assert_eq!(tenants(&printed), policy, "{printed}");
    }

    #[test]
    fn a_flag_names_tenants_too() {
        let flag = [("tenants.limits", "acme.weight=5,acme.run_time=2 min,b.running=1")];
        let policy = load("", &flag).unwrap().tenants;
        assert_eq!((of(&policy, "acme").weight.get(), of(&policy, "b").running), (5, 1));
        assert_eq!(of(&policy, "acme").run_time.unwrap().time, Duration::from_secs(120));
    }

    #[test]
    fn unknown_keys_and_impossible_quotas_are_refused_with_one_line() {
        for (file, expected) in [
            ("[tenants]\nwieght = 2", "`tenants.wieght` is not a setting: did you mean"),
            ("[tenants]\nrunning = 0", "`tenants.running` must be between 1 and 1024"),
            ("[tenants]\nrate = 0", "`tenants.rate` must be between 1 and 1000000"),
            ("[tenants]\nburst = 5", "`tenants.burst` is set without a `rate`"),
            (
                "[tenants]\nrun_time = \"3 h\"",
                "`tenants.run_time` (\"3 h\") is more than 2 workers have in its period (\"1 h\")",
            ),
            (
                "[tenants]\ncpu_time = \"5 min\"\ncpu_time_period = \"2 min\"",
                "`tenants.cpu_time` (\"5 min\") is more than 2 workers have in its period (\"2 min\")",
            ),
            (
                "[tenants.limits.acme]\nwieght = 2",
                "`tenants.limits` has `acme.wieght`, which is not a limit of a tenant; the limits \
                are `weight`, `running`",
            ),
            (
                "[tenants.limits.acme]\nweight = 0",
                "`tenants.limits` has `acme.weight`, which must be between 1 and 1000",
            ),
            (
                "[tenants.limits.acme]\nrunning = \"many\"",
                "`tenants.limits` has `acme.running`, which must be a whole number",
            ),
            (
                "[tenants.limits.acme]\nrun_time = \"9 h\"",
                "`tenants.limits` has the tenant `acme`, whose `run_time` (\"9 h\") is \
                 more than",
            ),
            (
                "[tenants.limits.\"../x\"]\nweight = 2",
                "`tenants.limits` has a tenant `../x`: a name has 1 to 64 characters",
            ),
            ("[tenants]\nlimits = 3", "`tenants.limits` must be a table of tenants"),
            ("[tenants.limits]\nacme = 3", "`tenants.limits` must be a table of tenants such as"),
            (
                "[tenants]\nconnections = 300",
                "`tenants.connections` (300) must not exceed `network.max_connections` (256)",
            ),
        ] {
            let problems = problems(file);
            assert!(problems.starts_with(expected), "{problems}");
            assert_eq!(problems.lines().count(), 1, "{problems}");
        }
    }

    #[test]
    fn few_tenants_can_have_images_of_their_own() {
        let of = |names: &str| load("", &[("images.tenants", names)]);
        assert_eq!(of("acme,beta").unwrap().images.tenants.len(), 2);
        assert!(load("", &[]).unwrap().images.tenants.is_empty());
        let many = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>().join(",");
        assert_eq!(of(&many(16)).unwrap().images.tenants.len(), 16);
        for (names, expected) in [
            (many(17), "`images.tenants` has 17 tenants and may have 16: each has an image"),
            ("local".to_owned(), "`images.tenants` has `local`: it must name tenants other than"),
            ("acme,acme".to_owned(), "`images.tenants` has `acme`: it must name tenants other"),
            ("../x".to_owned(), "`images.tenants` has `../x`: it must name tenants other than"),
        ] {
            let told = of(&names).unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn a_memory_budget_that_holds_no_run_is_refused() {
        let wrong = load("", &[("workers.memory", "512 MiB")]).unwrap_err().to_string();
        let expected = "`workers.memory` (512 MiB) is too small for a run: `limits.memory` and \
            `limits.workspace` together are 768 MiB";
        assert!(wrong.ends_with(expected), "{wrong}");
        assert!(load("", &[("workers.memory", "768 MiB")]).is_ok());
    }
}
