//! The configuration as a whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use wardian_formats::job::limits::RunLimits;
use wardian_vocabulary::units::{ByteCount, Fuel};

fn surroundings() -> Surroundings {
    Surroundings {
        variables: Vec::new(),
        config_dir: None,
        data_dir: Some("/home/ada/.local/share".into()),
        cache_dir: Some("/home/ada/.cache".into()),
        working_dir: Some("/here".into()),
        ..Surroundings::default()
    }
}

fn from_file(text: &str) -> Result<Config, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wardian.toml");
    fs::write(&file, text).unwrap();
    Config::load(&surroundings(), Flags { file: Some(file), settings: Vec::new() })
}

/// The problems of a file, each after its line.
fn problems(text: &str) -> String {
    let relative = |problem: &String| match problem.split_once("wardian.toml:") {
        Some((_, rest)) => rest.to_owned(),
        None => problem.clone(),
    };
    match from_file(text) {
        Err(ConfigError::Settings { problems }) => {
            problems.iter().map(relative).collect::<Vec<_>>().join("\n")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_any_setting_there_is_a_whole_configuration() {
    let config = Config::load(&surroundings(), Flags::default()).unwrap();
    assert_eq!(config.http.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.data_dir, Path::new("/home/ada/.local/share/wardian"));
    assert_eq!(config.cache_dir, Path::new("/home/ada/.cache/wardian"));
    assert_eq!(config.skills.roots, [PathBuf::from("/home/ada/.local/share/wardian/skills")]);
    assert_eq!(config.limits.default, RunLimits::DEFAULT);
    assert_eq!(config.limits.max, RunLimits::DEFAULT_CAP);
    assert_eq!(config.workers.require_lockdown, RequireLockdown::Auto);
    assert!(!config.requires_lockdown() && config.workers.uid != 0);
    assert!(config.effective.iter().all(|setting| setting.origin == SettingOrigin::Default));
}

#[test]
fn the_printed_configuration_is_one_that_gives_the_same() {
    let first =
        from_file("listen = \"0.0.0.0:9000\"\n[blobs]\nttl = 0\n[limits]\nfuel = 7").unwrap();
    let printed = first.to_toml();
    let explained = from_file(&first.to_explained_toml()).unwrap();
    assert_eq!(explained.limits, first.limits);
    let second = from_file(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(second.http.listen, first.http.listen);
    assert_eq!((second.blobs.ttl, second.limits), (first.blobs.ttl, first.limits));
    assert_eq!(second.workers, first.workers);
    assert!(printed.contains("listen = \"0.0.0.0:9000\""), "{printed}");
    assert!(
        printed.contains("# engine.source is not set") || printed.contains("# source is not set")
    );
}

#[test]
fn the_workers_can_never_be_root() {
    insta::assert_snapshot!(
        problems("[workers]\nuid = 0"),
        @"2: `workers.uid` must be between 1 and 4294967294"
    );
}

#[test]
fn the_whole_lockdown_is_required_as_soon_as_others_can_call() {
    for (address, setting, is_required) in [
        ("127.0.0.1:80", "\"auto\"", false),
        ("127.8.0.1:80", "\"auto\"", false),
        ("[::1]:80", "\"auto\"", false),
        ("0.0.0.0:80", "\"auto\"", true),
        ("[::]:80", "\"auto\"", true),
        ("10.0.0.7:80", "\"auto\"", true),
        ("[::ffff:127.0.0.1]:80", "\"auto\"", true),
        ("127.0.0.1:80", "true", true),
        ("127.0.0.1:80", "\"true\"", true),
        ("0.0.0.0:80", "false", false),
    ] {
        let text = format!("listen = \"{address}\"\n[workers]\nrequire_lockdown = {setting}");
        let config = from_file(&text).unwrap();
        assert_eq!(config.requires_lockdown(), is_required, "{text}");
        let again = from_file(&config.to_toml()).unwrap();
        assert_eq!(again.workers.require_lockdown, config.workers.require_lockdown, "{text}");
    }
    let everywhere = from_file("listen = \"0.0.0.0:80\"").unwrap();
    assert!(everywhere.requires_lockdown(), "without any setting");
    insta::assert_snapshot!(
        problems("[workers]\nrequire_lockdown = \"maybe\""),
        @r#"2: `workers.require_lockdown` must be "auto", true or false"#
    );
}

/// The documents that have tables of settings.
const DOCUMENTS: &[(&str, &str)] = &[
    ("README.md", include_str!("../../../README.md")),
    ("SPECIFICATION.md", include_str!("../../../SPECIFICATION.md")),
    ("docs/operators.md", include_str!("../../../docs/operators.md")),
    ("docs/security.md", include_str!("../../../docs/security.md")),
    ("docs/performance.md", include_str!("../../../docs/performance.md")),
    ("docs/protocol.md", include_str!("../../../docs/protocol.md")),
    ("docs/skills.md", include_str!("../../../docs/skills.md")),
];

/// A default in the words of a table, as a file would have it.
fn in_toml(key: &str, told: &str) -> Option<String> {
    let told = told.trim_matches('`').trim_matches('"');
    Some(match (key, told) {
        ("limits.fuel", "not counted")
        | ("engine.source", "the package registry")
        | ("engine.native", "the modules that are built in")
        | (_, "not set") => return None,
        ("http.unlimited_addresses", "loopback") => r#"["127.0.0.0/8", "::1/128"]"#.to_owned(),
        ("workers.max", _) => return None,
        ("workers.count", "one for each core") => {
            std::thread::available_parallelism().map_or(1, usize::from).to_string()
        }
        (
            "secrets.hosts" | "tenants.limits" | "tenants.skills" | "skills.trusted_keys" | "tools",
            "none",
        ) => "{}".to_owned(),
        (_, "none") => "[]".to_owned(),
        ("auth.jwt.algorithms", "all but ES384") => {
            let names = wardian_stores::tenants::TokenAlgorithm::USUAL
                .map(|one| format!("\"{}\"", one.name()));
            format!("[{}]", names.join(", "))
        }
        ("skills.roots", root) => format!("[\"{root}\"]"),
        (_, other) => {
            let number = other.replace(',', "");
            if number.parse::<f64>().is_ok() || ["true", "false"].contains(&other) {
                number
            } else {
                format!("\"{other}\"")
            }
        }
    })
}

/// Keys and defaults of the rows in a document that state the default of a setting.
fn told_defaults(document: &str, is_key: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut told = Vec::new();
    let mut is_table_of_settings = false;
    for line in document.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        if line.starts_with("| key | default |") {
            is_table_of_settings = true;
        } else if !line.starts_with('|') {
            is_table_of_settings = false;
        }
        let Some(default) = cells.get(1).filter(|_| is_table_of_settings) else { continue };
        for key in cells[0].split(", ").map(|key| key.trim_matches('`')).filter(|key| is_key(key)) {
            told.push((key.to_owned(), (*default).to_owned()));
        }
    }
    told
}

#[test]
fn documents_state_the_defaults_that_there_are() {
    let config = Config::load(&surroundings(), Flags::default()).unwrap();
    let home = |value: &String| {
        value.replace("/home/ada/.local/share/wardian/", "<data_dir>/").replace("/home/ada/", "~/")
    };
    let real: std::collections::BTreeMap<&str, Option<String>> =
        config.effective.iter().map(|one| (one.key, one.value.as_ref().map(home))).collect();
    let mut stated = std::collections::BTreeSet::new();
    for (name, text) in DOCUMENTS {
        for (key, told) in told_defaults(text, |key| real.contains_key(key)) {
            assert_eq!(in_toml(&key, &told), real[key.as_str()], "`{key}` in {name}");
            stated.insert(key);
        }
    }
    // Maxima that are as their defaults have one row together.
    for key in real.keys().filter(|key| !key.starts_with("limits.max.")) {
        assert!(stated.contains(*key), "no document states the default of `{key}`");
    }
}

#[test]
fn a_wrong_default_in_a_document_would_be_noticed() {
    let row = "| key | default | range | what it sets |\n| --- | --- | --- | --- |\n\
               | `workers.uid`, `workers.gid` | 65,535 | | A user. |\n\n| `workers.uid` | 7 |\n";
    let told = told_defaults(row, |key| key.starts_with("workers."));
    let expected = ["uid", "gid"].map(|name| (format!("workers.{name}"), "65,535".to_owned()));
    assert_eq!(told, expected);
    assert_eq!(in_toml("workers.uid", "65,535").unwrap(), "65535");
    assert_eq!(in_toml("http.idle_timeout", "1 min").unwrap(), "\"1 min\"");
}

#[test]
fn a_default_limit_above_the_maximum_is_refused() {
    insta::assert_snapshot!(
        problems("[limits]\ntimeout = \"60 s\"\n[limits.max]\ntimeout = \"10 s\""),
        @r#"2: `limits.timeout` ("1 min") must not exceed `limits.max.timeout` ("10 s")"#
    );
}

#[test]
fn each_default_limit_above_its_maximum_is_named() {
    for (key, default, max) in [
        ("fuel", "9", "7"),
        ("timeout", "\"2 s\"", "\"1 s\""),
        ("memory", "\"256 MiB\"", "\"128 MiB\""),
        ("workspace", "\"2 MiB\"", "\"1 MiB\""),
        ("workspace_entries", "20", "10"),
        ("open_files", "20", "10"),
        ("logs", "\"2 KiB\"", "\"1 KiB\""),
        ("host_calls", "20", "10"),
        ("host_bytes", "\"2 MiB\"", "\"1 MiB\""),
    ] {
        let both =
            |default, max| format!("[limits]\n{key} = {default}\n[limits.max]\n{key} = {max}\n");
        let expected =
            format!("2: `limits.{key}` ({default}) must not exceed `limits.max.{key}` ({max})");
        assert_eq!(problems(&both(default, max)), expected);
        assert!(from_file(&both(max, max)).is_ok(), "{key}");
    }
    let unset = problems("[limits.max]\ntimeout = \"10 s\"\nopen_files = 9\n");
    assert_eq!(unset.lines().count(), 2, "every key is named: {unset}");
    assert!(unset.contains("`limits.timeout` (\"30 s\")"), "the default is told: {unset}");
}

/// INVARIANT(times-have-units)
#[test]
fn times_have_units_wherever_they_are_set() {
    let expected = "`limits.timeout` must have a unit: \"30 s\" for seconds, \"30 ms\" for";
    for value in ["30", "\"30\""] {
        let told = problems(&format!("[limits]\n\ntimeout = {value}"));
        assert!(told.starts_with(&format!("3: {expected}")), "{told}");
    }
    let told = problems("[tenants.limits.acme]\nrun_time = 30");
    assert!(told.contains("has `acme.run_time`, which must have a unit"), "{told}");
    let settings = vec![("limits.timeout".to_owned(), "30".to_owned())];
    let flag = Config::load(&surroundings(), Flags { file: None, settings }).unwrap_err();
    assert!(flag.to_string().contains("`limits.timeout` on the command line must have a unit"));
    let variables = vec![("WARDIAN_LIMITS_TIMEOUT".to_owned(), "30".to_owned())];
    let variable = Surroundings { variables, ..surroundings() };
    let variable = Config::load(&variable, Flags::default()).unwrap_err().to_string();
    assert!(
        variable.contains("environment variable `WARDIAN_LIMITS_TIMEOUT` must have a unit"),
        "{variable}"
    );
    // Every setting whose default is a time, as nothing else ends in such a unit.
    let config = Config::load(&surroundings(), Flags::default()).unwrap();
    let is_time = |value: &str| {
        let number = value.trim_matches('"').split_once(' ');
        number.is_some_and(|(_, unit)| ["ms", "s", "min", "h", "d"].contains(&unit))
    };
    let times = config.effective.iter().filter(|one| one.value.as_deref().is_some_and(is_time));
    let times: Vec<&str> = times.map(|setting| setting.key).collect();
    assert!(times.len() > 20, "{times:?}");
    for key in times {
        let settings = vec![(key.to_owned(), "77".to_owned())];
        let told = Config::load(&surroundings(), Flags { file: None, settings }).unwrap_err();
        assert!(told.to_string().contains("must have a unit"), "{key}: {told}");
    }
}

#[test]
fn problems_between_settings_name_the_place_of_the_one_that_is_set() {
    let told = problems("listen = \"[::1]:1\"\n[http]\nmemory = \"32 MiB\"\nmax_body = \"20 MiB\"");
    assert_eq!(told, "3: `http.memory` must be at least five times `http.max_body`");
    let variables = vec![("WARDIAN_HTTP_TLS_KEY".to_owned(), "k".to_owned())];
    let variable = Surroundings { variables, ..surroundings() };
    let told = Config::load(&variable, Flags::default()).unwrap_err().to_string();
    assert!(
        told.contains("environment variable `WARDIAN_HTTP_TLS_KEY`: `http.tls.key` is"),
        "{told}"
    );
}

#[test]
fn mistakes_that_others_make_are_answered_with_the_right_setting() {
    for (text, expected) in [
        (
            "[http]\nlisten = 1",
            "2: `http.listen` is not a setting: `listen` is a top-level setting",
        ),
        ("prot = 8080", "1: `prot` is not a setting: the address and the port of the server are"),
        (
            "[tenants.acme]\nweight = 3",
            "2: `tenants.acme.weight` is not a setting: a tenant is created",
        ),
        (
            "[limits]\ntimout = 3",
            "2: `limits.timout` is not a setting: did you mean `limits.timeout`?",
        ),
    ] {
        let told = problems(text);
        assert!(told.starts_with(expected), "{told}");
    }
    assert!(problems("\"a\\u001b[31m\" = 1").starts_with("1: `a\\u{1b}[31m` is not"));
}

#[test]
fn a_raised_default_raises_the_maximum_that_nobody_set() {
    let limits = from_file("[limits]\nmemory = \"1 GiB\"").unwrap().limits;
    assert_eq!(limits.max.memory, ByteCount::mebibytes(1024));
    assert_eq!(limits.max.wall_time, Duration::from_secs(300));
}

#[test]
fn a_maximum_of_fuel_applies_to_everybody() {
    let limits = from_file("[limits.max]\nfuel = 1000").unwrap().limits;
    assert_eq!(limits.default.fuel, Some(Fuel(1000)));
}

#[test]
fn a_named_file_must_be_there_and_the_usual_one_need_not() {
    let folder = tempfile::tempdir().unwrap();
    let named = Flags { file: Some(folder.path().join("none.toml")), settings: Vec::new() };
    let error = Config::load(&surroundings(), named).unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }), "{error}");
    let usual = Surroundings { config_dir: Some(folder.path().into()), ..surroundings() };
    assert_eq!(Config::load(&usual, Flags::default()).unwrap().file, None);

    fs::create_dir(folder.path().join("wardian")).unwrap();
    fs::write(folder.path().join("wardian/config.toml"), "listen = \"[::1]:1\"").unwrap();
    let config = Config::load(&usual, Flags::default()).unwrap();
    assert_eq!(config.http.listen.to_string(), "[::1]:1");
    assert!(config.file.is_some());
}

#[test]
fn a_variable_can_name_the_file_and_set_anything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.toml");
    fs::write(&file, "[log]\nformat = \"json\"").unwrap();
    let variables = [
        ("WARDIAN_CONFIG", file.to_str().unwrap()),
        ("WARDIAN_LOG_LEVEL", "debug"),
        ("WARDIAN_SKILLS_ROOTS", "/a:/b"),
        ("WARDIAN_HTTP_ALLOWED_HOSTS", "one.example, two.example"),
        ("WARDIAN_SERVICE_HOST", "10.0.0.1"),
        ("WARDIAN_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("WARDIAN_PROT", "1"),
    ];
    let variables = variables.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec();
    let config = Config::load(&Surroundings { variables, ..surroundings() }, Flags::default());
    let config = config.unwrap();
    assert_eq!((config.log.format, config.log.level), (LogFormat::Json, LogLevel::Debug));
    assert_eq!(config.skills.roots, [PathBuf::from("/a"), PathBuf::from("/b")]);
    assert_eq!(config.http.allowed_hosts, ["one.example", "two.example"]);
    assert_eq!(config.ignored_variables, ["WARDIAN_PROT"]);
}

#[test]
fn without_a_home_the_folders_have_to_be_named() {
    let homeless = Surroundings::default();
    let error = Config::load(&homeless, Flags::default()).unwrap_err().to_string();
    assert!(error.contains("`data_dir` must be set") && error.contains("`cache_dir` must be set"));
    let settings = [("data_dir", "/d"), ("cache_dir", "/c")];
    let settings = settings.map(|(key, text)| (key.to_owned(), text.to_owned())).to_vec();
    assert!(Config::load(&homeless, Flags { file: None, settings }).is_ok());
}

#[test]
fn a_file_that_is_no_toml_says_where() {
    for (text, place) in [
        ("listen = ", "line 1, column 10:"),
        ("a = 1\nb = \"hunter2secret\nc = 2", "line 2, column 19:"),
        ("a = \"x\" hunter2secret", "line 1, column 9:"),
        ("a = http://user:hunter2secret@host", "line 1, column "),
        ("é = 1\n\x1b[31m = hunter2secret", "line 2, column 2:"),
    ] {
        let error = from_file(text).unwrap_err().to_string();
        assert!(error.contains(&format!(" is not TOML: {place}")), "{error}");
        assert!(!error.contains("hunter2secret") && !error.contains('\x1b'), "{error}");
    }
}

#[test]
fn relative_folders_are_read_against_the_working_folder() {
    let settings = [
        ("cache_dir", "./cache"),
        ("data_dir", "data"),
        ("skills.roots", "mine:/theirs"),
        ("blobs.folder", "blobs"),
    ];
    let settings = settings.map(|(key, text)| (key.to_owned(), text.to_owned())).to_vec();
    let flags = Flags { settings, ..Flags::default() };
    let config = Config::load(&surroundings(), flags).unwrap();
    assert_eq!(config.cache_dir, Path::new("/here/cache"));
    assert_eq!(config.data_dir, Path::new("/here/data"));
    assert_eq!(config.skills.roots, [Path::new("/here/mine"), Path::new("/theirs")]);
    assert_eq!(config.blobs.folder, Path::new("/here/blobs"));
    assert!(config.to_toml().contains("cache_dir = \"/here/cache\""), "{}", config.to_toml());
}

#[test]
fn secrets_are_found_and_their_values_are_in_nothing_that_is_printed() {
    const VALUE: &str = "s3cr3t-v4lu3";
    let mut with_secret = surroundings();
    assert!(with_secret.secrets.add("WARDIAN_SECRET_ACME_KEY", VALUE.into()));
    with_secret.credentials_dir = Some("/run/credentials/wardian.service".into());
    let text = "[secrets]\nfile = \"secrets.toml\"\ncommand = [\"vault\", \"{name}\"]\n\
        [secrets.hosts]\nACME_KEY = [\"https://api.acme.com\"]\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wardian.toml");
    fs::write(&file, text).unwrap();
    let config = Config::load(&with_secret, Flags { file: Some(file), settings: Vec::new() });
    let config = config.unwrap();
    let secrets = &config.secrets;
    assert_eq!(secrets.folders, [Path::new("/run/credentials/wardian.service")]);
    assert_eq!(secrets.file.as_deref(), Some(Path::new("/here/secrets.toml")));
    let command = secrets.command.as_ref().unwrap();
    assert_eq!(command.arguments, ["vault", "{name}"]);
    assert_eq!(command.hidden_variables, ["WARDIAN_SECRET_ACME_KEY"]);
    assert!(secrets.hosts.of("ACME_KEY").is_some() && secrets.hosts.of("OTHER").is_none());
    for printed in
        [config.to_toml(), config.to_explained_toml(), format!("{config:?}{with_secret:?}")]
    {
        assert!(!printed.contains(VALUE), "{printed}");
    }
    assert!(config.to_toml().contains("hosts = { ACME_KEY = [\"https://api.acme.com\"] }"));
    let again = from_file(&config.to_toml()).unwrap();
    assert_eq!(again.secrets.hosts, config.secrets.hosts);
    assert_eq!(
        problems("[secrets.hosts]\nPATH = [\"https://api.acme.com\"]"),
        "1: `secrets.hosts` must be a table such as { ACME_KEY = \
         [\"https://api.acme.com\"] } or { ACME_KEY = { hosts = [\"https://api.acme.com\"], \
         in_body = true } } (in flags and the environment pairs NAME=PATTERN joined by `,`)"
    );
}
