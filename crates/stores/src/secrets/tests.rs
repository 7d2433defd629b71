//! The providers, on real files and with real commands.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::secrets::config::{SecretCommand, SecretsConfig};
use crate::secrets::{ListedSecret, SecretScope, Secrets, SecretsError};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::TenantId;

const VALUE: &str = "s3cr3t-v4lu3-0f-t3sts";

/// Every text that an error or a `Debug` of it may show.
fn shown(error: &SecretsError) -> String {
    format!("{error} / {} / {error:?}", CauseChain(error))
}

fn one(secrets: &Secrets, name: &str) -> Result<String, String> {
    let found = secrets.find_all(SecretScope::Server, [name]);
    let found = found.map(|mut found| found.remove(name).unwrap().expose().to_owned());
    found.map_err(|error| told(&error))
}

fn told(error: &SecretsError) -> String {
    assert!(!shown(error).contains("s3cr3t"), "no value told: {}", shown(error));
    CauseChain(error).to_string()
}

fn of_folder(folder: &Path) -> Secrets {
    Secrets::new(&SecretsConfig { folders: vec![folder.to_owned()], ..SecretsConfig::default() })
}

fn of_file(path: &Path) -> Secrets {
    Secrets::new(&SecretsConfig { file: Some(path.to_owned()), ..SecretsConfig::default() })
}

fn command(arguments: &[&str]) -> SecretCommand {
    SecretCommand {
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        timeout: Duration::from_secs(30),
        max_age: Duration::ZERO,
        hidden_variables: Vec::new(),
    }
}

fn of_command(command: SecretCommand) -> Secrets {
    Secrets::new(&SecretsConfig { command: Some(command), ..SecretsConfig::default() })
}

#[test]
fn a_mount_of_kubernetes_is_read_through_its_links_and_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (version, value) in [("..2026_11_01", "old-value\n"), ("..2026_11_02", "new-value\n")] {
        fs::create_dir(at(version)).unwrap();
        fs::write(at(version).join("ACME_KEY"), value).unwrap();
    }
    symlink("..2026_11_01", at("..data")).unwrap();
    symlink("..data/ACME_KEY", at("ACME_KEY")).unwrap();
    let secrets = of_folder(folder.path());
    assert_eq!(one(&secrets, "ACME_KEY").unwrap(), "old-value");
    symlink("..2026_11_02", at("..data_tmp")).unwrap();
    fs::rename(at("..data_tmp"), at("..data")).unwrap();
    assert_eq!(one(&secrets, "ACME_KEY").unwrap(), "new-value", "the next run has the new value");
    let (listed, _) = secrets.list(SecretScope::Server);
    assert_eq!(listed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["ACME_KEY"]);
    fs::remove_file(at("ACME_KEY")).unwrap();
    assert!(one(&secrets, "ACME_KEY").unwrap_err().contains("has no secret `ACME_KEY`"));
}

#[test]
fn files_that_are_no_secrets_are_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("EMPTY"), "\n").unwrap();
    fs::write(at("BINARY"), b"s3cr3t\xff\xfe").unwrap();
    fs::write(at("ZERO"), b"s3cr3t\0").unwrap();
    fs::write(at("LARGE"), VALUE.repeat(50_000)).unwrap();
    fs::write(at("PEM"), "-----BEGIN-----\nabc\n-----END-----\n").unwrap();
    fs::create_dir(at("FOLDER")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("PIPE"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let secrets = of_folder(folder.path());
    for (name, reason) in [
        ("EMPTY", "`EMPTY` of the provider `folder` cannot be used: it is empty"),
        ("BINARY", "is not text in UTF-8"),
        ("ZERO", "has a zero byte"),
        ("LARGE", "is larger than 32 KiB"),
        ("FOLDER", "not a regular file"),
        ("PIPE", "not a regular file"),
    ] {
        let told = one(&secrets, name).unwrap_err();
        assert!(told.contains(reason), "{name}: {told}");
    }
    assert_eq!(one(&secrets, "PEM").unwrap(), "-----BEGIN-----\nabc\n-----END-----");
    for name in ["../PEM", "", ".", "PEM/", "PEM\0"] {
        assert!(one(&secrets, name).unwrap_err().contains("has no secret"), "{name:?}");
    }
}

fn private_file(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("secrets.toml");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path
}

#[test]
fn a_file_is_read_only_if_it_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = private_file(folder.path(), &format!("ACME_KEY = \"{VALUE}\"\n"));
    let secrets = of_file(&path);
    assert_eq!(one(&secrets, "ACME_KEY").unwrap(), VALUE);
    assert!(one(&secrets, "OTHER").unwrap_err().contains("has no secret `OTHER`"));
    for mode in [0o640, 0o604, 0o666, 0o602] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let told = one(&secrets, "ACME_KEY").unwrap_err();
        assert!(told.contains(&format!("its mode is {mode:04o} and must be 0600")), "{told}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    assert_eq!(one(&secrets, "ACME_KEY").unwrap(), VALUE);
    fs::remove_file(&path).unwrap();
    assert!(one(&secrets, "ACME_KEY").unwrap_err().contains("provider `file` failed"));
}

#[test]
fn no_value_told_by_a_file_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    for (text, reason) in [
        (format!("A = 1\nACME_KEY = \"{VALUE}\nB = 2"), "line 2 is not of the form"),
        (format!("ACME_KEY = {VALUE}"), "line 1 is not of the form"),
        (VALUE.to_owned(), "line 1 is not of the form"),
        (format!("ACME_KEY = [\"{VALUE}\"]"), "`ACME_KEY` must be a quoted string"),
        (format!("[ACME_KEY]\nx = \"{VALUE}\""), "`ACME_KEY` must be a quoted string"),
        (format!("A = \"{VALUE}\"\nA = \"{VALUE}\""), "line 2 is not of the form"),
        ("x = 1 #".repeat(200_000), "larger than 1 MiB"),
    ] {
        let secrets = of_file(&private_file(folder.path(), &text));
        let told = one(&secrets, "ACME_KEY").unwrap_err();
        assert!(told.contains(reason), "{told}");
        let (listed, providers) = secrets.list(SecretScope::Server);
        assert!(!format!("{listed:?}{providers:?}").contains("s3cr3t"));
    }
}

#[test]
fn a_command_gets_the_name_and_nothing_of_the_environment_of_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let script = "printf '%s %s %s' \"$0\" \"$#\" \"$1\"";
    let secrets = of_command(command(&["/bin/sh", "-c", script, "{name}", "x{name}y"]));
    assert_eq!(one(&secrets, "ACME_KEY").unwrap(), "ACME_KEY 1 xACME_KEYy");
    let secrets = of_command(command(&["/bin/sh", "-c", "printf %s \"$0\""]));
    assert_eq!(one(&secrets, "ACME_KEY").unwrap(), "ACME_KEY", "it is the last argument");
    let mut hiding = command(&["/bin/sh", "-c", "printf '%s' \"${PATH:-hidden}\""]);
    hiding.hidden_variables = vec!["PATH".to_owned()];
    let seen = one(&of_command(hiding), "A").unwrap();
    assert!(seen == "hidden" || !seen.contains("cargo"), "the shell's own at most: {seen}");
    drop(folder);
}

#[test]
fn no_value_told_by_a_command_that_fails() {
    let print = format!("echo {VALUE}; echo {VALUE} >&2; ");
    for (script, reason) in [
        (print.clone() + "exit 3", "failed with exit status: 3"),
        (print.clone() + "kill -9 $$", "failed with signal: 9"),
        (format!("yes {VALUE}"), "is larger than 32 KiB"),
        ("printf 's3cr3t\\377'".to_owned(), "is not text in UTF-8"),
    ] {
        let told = one(&of_command(command(&["/bin/sh", "-c", &script])), "ACME_KEY").unwrap_err();
        assert!(told.contains(reason), "{told}");
    }
    let told = one(&of_command(command(&["/no/such/program"])), "ACME_KEY").unwrap_err();
    assert!(told.contains("the command cannot be run"), "{told}");
    let silent = of_command(command(&["/bin/true"]));
    assert!(one(&silent, "ACME_KEY").unwrap_err().contains("has no secret `ACME_KEY`"));
}

#[test]
fn a_command_that_hangs_is_stopped_with_all_that_it_has_started() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("child");
    // The child keeps the output open and continues alone.
    let script = format!("sleep 1000 & echo $! > {}; wait", mark.display());
    for script in [script.clone(), script.replace("; wait", "; exit 0"), script + "; exec >&-"] {
        let mut late = command(&["/bin/sh", "-c", &script]);
        late.timeout = Duration::from_millis(300);
        let begun = Instant::now();
        let told = one(&of_command(late), "ACME_KEY").unwrap_err();
        assert!(told.contains("took longer"), "{told}");
        assert!(begun.elapsed() < Duration::from_secs(20));
        let child = fs::read_to_string(&mark).unwrap();
        let status = format!("/proc/{}/status", child.trim());
        let is_gone =
            || fs::read_to_string(&status).map_or(true, |status| status.contains("State:\tZ"));
        let until = Instant::now() + Duration::from_secs(10);
        while !is_gone() {
            assert!(Instant::now() < until, "the child goes on");
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

#[test]
fn runs_that_wait_for_a_command_share_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    for (end, expected) in [("sleep 100", "took longer"), ("sleep 0.3; echo value-1", "value-1")] {
        fs::write(&count, "").unwrap();
        let script = format!("echo x >> {}; {end}", count.display());
        let mut slow = command(&["/bin/sh", "-c", &script]);
        slow.timeout = Duration::from_secs(if end == "sleep 100" { 1 } else { 30 });
        let (secrets, begun) = (of_command(slow), Instant::now());
        std::thread::scope(|scope| {
            let ask = || one(&secrets, "ACME_KEY").unwrap_or_else(|told| told);
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            for asked in asking {
                let answer = asked.join().unwrap();
                assert!(answer.contains(expected), "{answer}");
            }
        });
        let started = fs::read_to_string(&count).unwrap().lines().count();
        assert!(started <= 2 && begun.elapsed() < Duration::from_secs(6), "{started} processes");
    }
}

#[test]
fn a_value_of_a_command_is_kept_as_long_as_the_operator_says() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let script = format!("echo x >> {0}; wc -l < {0}", count.display());
    let mut counting = command(&["/bin/sh", "-c", &script]);
    let fresh = of_command(counting.clone());
    assert_eq!([one(&fresh, "A").unwrap(), one(&fresh, "A").unwrap()], ["1", "2"]);
    counting.max_age = Duration::from_secs(3_600);
    let kept = of_command(counting);
    assert_eq!([one(&kept, "A").unwrap(), one(&kept, "A").unwrap()], ["3", "3"]);
    assert_eq!(one(&kept, "B").unwrap(), "4", "each name by itself");
}

#[test]
fn the_first_provider_wins_and_one_that_fails_hides_the_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("BOTH"), "of the folder").unwrap();
    fs::write(folder.path().join("FOLDER_ONLY"), "x").unwrap();
    fs::create_dir(folder.path().join("BROKEN")).unwrap();
    let inner = tempfile::tempdir().unwrap();
    let text = "BOTH = \"of the file\"\nBROKEN = \"of the file\"\nFILE_ONLY = \"of the file\"\n";
    let mut config = SecretsConfig {
        folders: vec![folder.path().to_owned()],
        file: Some(private_file(inner.path(), text)),
        command: Some(command(&["/bin/echo"])),
        ..SecretsConfig::default()
    };
    assert!(config.environment.add("WARDIAN_SECRET_ENV_ONLY", b"of the environment".to_vec()));
    assert!(!config.environment.add("WARDIAN_SECRET_LD_PRELOAD", b"x".to_vec()));
    assert!(!config.environment.add("WARDIAN_SECRET_", b"x".to_vec()));
    let secrets = Secrets::new(&config);
    for (name, value) in [
        ("ENV_ONLY", "of the environment"),
        ("BOTH", "of the folder"),
        ("FILE_ONLY", "of the file"),
        ("COMMAND_ONLY", "COMMAND_ONLY"),
    ] {
        assert_eq!(one(&secrets, name).unwrap(), value);
    }
    assert!(one(&secrets, "BROKEN").unwrap_err().contains("provider `folder` failed"));
    let (listed, providers) = secrets.list(SecretScope::Server);
    let listed: Vec<(&str, &str, bool)> = listed
        .iter()
        .map(|ListedSecret { name, provider, is_short, .. }| (name.as_str(), *provider, *is_short))
        .collect();
    let expected = [
        ("BOTH", "folder", false),
        ("BROKEN", "folder", false),
        ("ENV_ONLY", "environment", false),
        ("FILE_ONLY", "file", false),
        ("FOLDER_ONLY", "folder", true),
    ];
    assert_eq!(listed, expected);
    let kinds: Vec<&str> = providers.iter().map(|one| one.provider).collect();
    assert_eq!(kinds, ["environment", "folder", "file", "command"]);
}

#[test]
fn all_missing_names_are_told_at_once() {
    let error = Secrets::new(&SecretsConfig::default())
        .find_all(SecretScope::Server, ["A_KEY", "B_KEY"])
        .unwrap_err();
    let told = "the server has no secret `A_KEY`, `B_KEY`; it searched `environment`";
    assert_eq!(error.to_string(), told);
}

#[test]
fn all_secrets_of_a_run_together_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["A", "B", "C"] {
        fs::write(folder.path().join(name), "x".repeat(30 << 10)).unwrap();
    }
    let secrets = of_folder(folder.path());
    assert_eq!(secrets.find_all(SecretScope::Server, ["A", "B"]).unwrap().len(), 2);
    assert!(matches!(
        secrets.find_all(SecretScope::Server, ["A", "B", "C"]),
        Err(SecretsError::TooMuch)
    ));
}

fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

/// The value that a run of a tenant gets.
fn of_tenant(secrets: &Secrets, owner: &str, name: &str) -> Result<String, String> {
    let owner = tenant(owner);
    let found = secrets.find_all(SecretScope::Tenant(&owner), [name]);
    let found = found.map(|mut found| found.remove(name).unwrap().expose().to_owned());
    found.map_err(|error| told(&error))
}

#[test]
#[expect(clippy::too_many_lines, reason = "one line for each secret")]
fn secrets_of_one_tenant_reach_no_other_and_hide_those_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (path, value) in [
        ("mount/BOTH", "server-folder"),
        ("mount/SERVERS", "server-only"),
        ("mount/tenants/acme/BOTH", "acme-folder"),
        ("mount/tenants/acme/FOLDER_ONLY", "acme-folder-only"),
        ("mount/tenants/beta/BOTH", "beta-folder"),
    ] {
        fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        fs::write(at(path), value).unwrap();
    }
    fs::create_dir(at("private")).unwrap();
    let file = private_file(
        &at("private"),
        "BOTH = \"server-file\"\nIN_FILE = \"server-in-file\"\n\
         [tenants.acme]\nBOTH = \"acme-file\"\nIN_FILE = \"acme-in-file\"\n\
         [tenants.gamma]\nGAMMAS = \"gamma-file\"\n",
    );
    let script = "test \"$2\" = \"$WARDIAN_TENANT\" && case $1 in PRINTED) echo \"of-$2\";; esac";
    let mut config = SecretsConfig {
        folders: vec![at("mount")],
        file: Some(file),
        tenant_command: Some(command(&["/bin/sh", "-c", script, "sh", "{name}", "{tenant}"])),
        shares_with_tenants: true,
        ..SecretsConfig::default()
    };
    config.tenant_command.as_mut().unwrap().max_age = Duration::from_hours(1);
    assert!(config.environment.add("WARDIAN_SECRET_ENVIRONMENTS", b"of-environment".to_vec()));
    let secrets = Secrets::new(&config);
    config.shares_with_tenants = false;
    let apart = Secrets::new(&config);
    for (owner, name, value, is_shared) in [
        ("acme", "BOTH", "acme-folder", false),
        ("beta", "BOTH", "beta-folder", false),
        ("gamma", "BOTH", "server-folder", true),
        ("acme", "FOLDER_ONLY", "acme-folder-only", false),
        ("acme", "IN_FILE", "acme-in-file", false),
        ("beta", "IN_FILE", "server-in-file", true),
        ("gamma", "GAMMAS", "gamma-file", false),
        ("beta", "SERVERS", "server-only", true),
        ("acme", "ENVIRONMENTS", "of-environment", true),
        ("acme", "PRINTED", "of-acme", false),
        ("beta", "PRINTED", "of-beta", false),
        ("acme", "PRINTED", "of-acme", false),
    ] {
        assert_eq!(of_tenant(&secrets, owner, name).unwrap(), value, "{owner} {name}");
        let alone = of_tenant(&apart, owner, name);
        match is_shared {
            true => assert!(alone.unwrap_err().contains("has no secret"), "{owner} {name}"),
            false => assert_eq!(alone.unwrap(), value, "{owner} {name}"),
        }
    }
    // Neither another tenant nor the server finds a tenant's own.
    for name in ["FOLDER_ONLY", "GAMMAS", "PRINTED"] {
        let owner = if name == "GAMMAS" { "acme" } else { "delta" };
        if name != "PRINTED" {
            let told = of_tenant(&secrets, owner, name).unwrap_err();
            assert!(told.contains(&format!("has no secret `{name}`")), "{told}");
        }
        assert!(one(&secrets, name).unwrap_err().contains("has no secret"), "{name}");
    }
    assert_eq!(one(&secrets, "BOTH").unwrap(), "server-folder");
    for name in ["tenants", "tenants/acme/BOTH", "../BOTH", "acme", "tenants.acme"] {
        assert!(one(&secrets, name).unwrap_err().contains("has no secret"), "{name}");
        assert!(of_tenant(&secrets, "acme", name).unwrap_err().contains("has no secret"), "{name}");
    }
    let (acme, servers) = (tenant("acme"), secrets.list(SecretScope::Server).0);
    let names = |listed: &[ListedSecret]| {
        listed.iter().map(|one| format!("{} {}", one.name, one.provider)).collect::<Vec<_>>()
    };
    let expected = ["BOTH folder", "ENVIRONMENTS environment", "IN_FILE file", "SERVERS folder"];
    assert_eq!(names(&servers), expected);
    let own = ["BOTH tenant folder", "FOLDER_ONLY tenant folder", "IN_FILE tenant file"];
    let (listed, providers) = apart.list(SecretScope::Tenant(&acme));
    assert_eq!(names(&listed), own);
    assert!(providers.iter().all(|one| one.fault.is_none()), "{providers:?}");
    let shared = secrets.list(SecretScope::Tenant(&acme)).0;
    assert_eq!(shared.len(), 5, "{shared:?}");
}

#[test]
fn a_broken_place_of_a_tenant_hides_the_secret_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("tenants/acme/KEY")).unwrap();
    fs::write(at("KEY"), VALUE).unwrap();
    let config = SecretsConfig {
        folders: vec![folder.path().to_owned()],
        shares_with_tenants: true,
        ..SecretsConfig::default()
    };
    let secrets = Secrets::new(&config);
    assert_eq!(of_tenant(&secrets, "beta", "KEY").unwrap(), VALUE);
    let told = of_tenant(&secrets, "acme", "KEY").unwrap_err();
    assert!(told.contains("the provider `tenant folder` failed"), "{told}");
    for (text, reason) in [
        (format!("tenants = \"{VALUE}\""), "`tenants` must be tables: `[tenants.NAME]`"),
        (format!("[tenants]\nacme = \"{VALUE}\""), "`tenants.acme` must be a table"),
        (format!("[tenants.acme]\nKEY = [\"{VALUE}\"]"), "`KEY` must be a quoted string"),
    ] {
        let file = private_file(&at("tenants"), &text);
        let config = SecretsConfig {
            file: Some(file),
            shares_with_tenants: true,
            ..SecretsConfig::default()
        };
        let secrets = Secrets::new(&config);
        let told = of_tenant(&secrets, "acme", "KEY").unwrap_err();
        assert!(told.contains(reason), "{told}");
        assert!(
            !format!("{:?}", secrets.list(SecretScope::Tenant(&tenant("acme")))).contains(VALUE)
        );
    }
}
