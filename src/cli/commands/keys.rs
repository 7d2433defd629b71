//! `wardian keys`: the keys of a server, also while it runs.

use std::time::Duration;

use serde_json::json;

use crate::assembly;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::key_args::KeysCommand;
use crate::cli::prepare::block_on;
use crate::cli::terminal::output::{note, print_json, print_line, print_table};
use crate::cli::terminal::readable::{age, span};
use wardian_config::{AuthMode, Config, parse_duration};
use wardian_stores::audit::{self, AuditEvent, AuditKind};
use wardian_stores::tenants::{ApiKey, KeyName, KeyOrder, KeyPrefix, KeyTable, Revocation, Rights};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::TenantId;

/// Executes a command on keys.
pub(crate) fn keys(config: &Config, command: &KeysCommand) -> Result<Exit, Failed> {
    match command {
        KeysCommand::Create { tenant, name, scopes, expires, json } => {
            let now = Clock::System.now();
            let order = KeyOrder {
                tenant: TenantId::parse(tenant)?,
                name: KeyName::parse(name)?,
                rights: scopes.as_deref().map_or(Ok(Rights::USUAL), Rights::parse)?,
                expires: expires.as_deref().map(|text| end_of(text, now)).transpose()?,
            };
            block_on(create(config, order, now, *json))
        }
        KeysCommand::List { json } => block_on(list(config, *json)),
        KeysCommand::Revoke { keys } => {
            let prefixes = keys.iter().map(|key| KeyPrefix::parse(key));
            block_on(revoke(config, prefixes.collect::<Result<_, _>>()?))
        }
    }
}

/// The end of a key that is made now.
fn end_of(text: &str, now: Duration) -> Result<Duration, Failed> {
    let time = parse_duration(text)
        .map_err(|fault| Failed::usage(format!("`--expires` {fault}; such as `90d` or `12h`")))?;
    let end = now.saturating_add(time);
    // The database keeps milliseconds in 64 bits.
    if time.is_zero() || i64::try_from(end.as_millis()).is_err() {
        return Err(Failed::usage("`--expires` must be a time from now such as `90d` or `12h`"));
    }
    Ok(end)
}

async fn create(
    config: &Config,
    order: KeyOrder,
    now: Duration,
    as_json: bool,
) -> Result<Exit, Failed> {
    let table = assembly::open_keys(config).await?;
    let (token, key) = table.create(&order, now).await?;
    table.close().await;
    let (scopes, prefix) = (key.rights.names().join(","), key.prefix.to_string());
    audited(
        config,
        &AuditEvent {
            tenant: Some(key.tenant.as_str()),
            key: Some(&prefix),
            ..AuditEvent::new(AuditKind::KeyCreated).about(&scopes)
        },
    );
    if as_json {
        let mut value = as_value(&key, now);
        if let Some(object) = value.as_object_mut() {
            object.insert("key".to_owned(), token.reveal().into());
        }
        print_json(&value);
    } else {
        print_line(token.reveal());
    }
    note("the key is shown only once: only its hash is stored");
    if !accepts_keys(config) {
        note("servers accept keys once `auth.mode` is `keys`, or with `auth.jwt.accept_keys`");
    }
    Ok(Exit::Done)
}

/// True if a server with this configuration lets callers with keys in.
fn accepts_keys(config: &Config) -> bool {
    config.auth.mode == AuthMode::Keys
        || config.auth.jwt.as_ref().is_some_and(|jwt| jwt.accepts_keys)
}

/// The keys, if the data folder has a database, or there is one elsewhere. Looking makes none.
async fn existing(config: &Config) -> Result<Option<KeyTable>, Failed> {
    if config.database.url_file.is_some() {
        return Ok(Some(assembly::open_keys(config).await?));
    }
    if !config.data_dir.try_exists().unwrap_or(true) {
        return Err(Failed::usage(format!(
            "`{}` does not exist: give the data folder of a server with `--data-dir` (`data_dir`)",
            config.data_dir.display()
        )));
    }
    if !assembly::database_path(config).try_exists().unwrap_or(true) {
        return Ok(None);
    }
    Ok(Some(assembly::open_keys(config).await?))
}

async fn list(config: &Config, as_json: bool) -> Result<Exit, Failed> {
    let mut keys = Vec::new();
    if let Some(table) = existing(config).await? {
        keys = table.list().await?;
        table.close().await;
    }
    let now = Clock::System.now();
    if as_json {
        print_json(&keys.iter().map(|key| as_value(key, now)).collect::<Vec<_>>());
    } else if keys.is_empty() {
        print_line("there are no keys");
    } else {
        let columns =
            ["prefix", "tenant", "name", "scopes", "state", "created", "last used", "expires"];
        print_table(&columns, keys.iter().map(|key| row(key, now)).collect());
    }
    Ok(Exit::Done)
}

fn row(key: &ApiKey, now: Duration) -> Vec<String> {
    let ago = |time: Duration| age(now.saturating_sub(time));
    let end = |end: Duration| match end.checked_sub(now) {
        Some(left) if !left.is_zero() => format!("in {}", span(left)),
        _ => age(now.saturating_sub(end)),
    };
    vec![
        key.prefix.to_string(),
        key.tenant.to_string(),
        key.name.clone(),
        key.rights.names().join(","),
        state(key, now).to_owned(),
        ago(key.created),
        key.last_used.map_or_else(|| "never".to_owned(), ago),
        key.expires.map_or_else(|| "never".to_owned(), end),
    ]
}

fn state(key: &ApiKey, now: Duration) -> &'static str {
    match (key.revoked, key.is_valid_at(now)) {
        (Some(_), _) => "revoked",
        (None, true) => "valid",
        (None, false) => "expired",
    }
}

fn as_value(key: &ApiKey, now: Duration) -> serde_json::Value {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    json!({
        "prefix": key.prefix.as_str(), "tenant": key.tenant, "name": key.name,
        "scopes": key.rights.names(), "state": state(key, now),
        "created_ms": milliseconds(key.created), "expires_ms": key.expires.map(milliseconds),
        "revoked_ms": key.revoked.map(milliseconds),
        "last_used_ms": key.last_used.map(milliseconds),
    })
}

/// Revokes keys. An unknown one is an error, before which nothing is revoked.
async fn revoke(config: &Config, prefixes: Vec<KeyPrefix>) -> Result<Exit, Failed> {
    let unknown = |prefix: &KeyPrefix| {
        Failed::usage(format!(
            "the key `{prefix}` does not exist: `wardian keys list` lists all keys"
        ))
    };
    let Some(table) = existing(config).await? else {
        return prefixes.first().map_or(Ok(Exit::Done), |prefix| Err(unknown(prefix)));
    };
    let known = table.list().await?;
    for prefix in &prefixes {
        if !known.iter().any(|key| key.prefix == *prefix) {
            table.close().await;
            return Err(unknown(prefix));
        }
    }
    let ended = revoke_all(config, &table, &prefixes).await;
    table.close().await;
    ended
}

async fn revoke_all(
    config: &Config,
    table: &KeyTable,
    prefixes: &[KeyPrefix],
) -> Result<Exit, Failed> {
    for prefix in prefixes {
        match table.revoke(prefix, Clock::System.now()).await? {
            Revocation::Revoked => {
                let event = AuditEvent::new(AuditKind::KeyRevoked);
                audited(config, &AuditEvent { key: Some(prefix.as_str()), ..event });
                print_line(&format!("revoked {prefix}"));
            }
            Revocation::Already => print_line(&format!("{prefix} was already revoked")),
            // Rows are never removed.
            Revocation::Unknown => {
                return Err(Failed::because(format!("the key `{prefix}` no longer exists")));
            }
        }
    }
    Ok(Exit::Done)
}

/// Appends an event to the audit log, if there is one. What was done with the key stays done.
fn audited(config: &Config, event: &AuditEvent<'_>) {
    if let Some(file) = &config.audit.file
        && let Err(fault) = audit::append(file, event)
    {
        note(&format!("warning: the audit log `{}` cannot be written to: {fault}", file.display()));
    }
}
