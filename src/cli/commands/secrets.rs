//! `wardian secrets list`: the secrets that skills can have here, without their values; with
//! `--tenant`, those that they can have in runs of a tenant.

use serde_json::json;

use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_line, print_table, shown};
use wardian_config::Config;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_stores::secrets::{ListedProvider, ListedSecret, SecretScope, Secrets};
use wardian_vocabulary::ids::TenantId;

/// Lists names and providers. Ends as failed if something cannot be used.
pub(crate) fn list(config: &Config, tenant: Option<&str>, as_json: bool) -> Result<Exit, Failed> {
    let tenant = tenant.map(TenantId::parse).transpose();
    let tenant = tenant.map_err(|invalid| Failed::usage(invalid.to_string()))?;
    let is_own = |tenant: &&TenantId| **tenant != TenantId::local();
    let scope = tenant.as_ref().filter(is_own).map_or(SecretScope::Server, SecretScope::Tenant);
    let (secrets, providers) = Secrets::new(&config.secrets).list(scope);
    let is_good = secrets.iter().all(|secret| secret.fault.is_none())
        && providers.iter().all(|provider| provider.fault.is_none());
    if as_json {
        print_json(&json!({
            "secrets": secrets.iter().map(|secret| as_value(config, secret)).collect::<Vec<_>>(),
            "providers": providers.iter().map(|one| {
                json!({ "provider": one.provider, "place": one.place, "fault": one.fault })
            }).collect::<Vec<_>>(),
        }));
    } else {
        print_all(config, &secrets, &providers);
    }
    Ok(if is_good { Exit::Done } else { Exit::OurFault })
}

fn hosts_of(config: &Config, name: &str) -> Vec<String> {
    let hosts = config.secrets.hosts.of(name);
    hosts
        .map(|hosts| hosts.patterns.iter().map(UrlPattern::to_string).collect())
        .unwrap_or_default()
}

fn as_value(config: &Config, secret: &ListedSecret) -> serde_json::Value {
    json!({
        "name": secret.name, "provider": secret.provider, "hosts": hosts_of(config, &secret.name),
        "masked": !secret.is_short && secret.fault.is_none(), "fault": secret.fault,
    })
}

fn print_all(config: &Config, secrets: &[ListedSecret], providers: &[ListedProvider]) {
    let rows = secrets.iter().map(|secret| {
        let hosts = hosts_of(config, &secret.name);
        let brokered = if hosts.is_empty() { String::new() } else { hosts.join(" ") };
        vec![secret.name.clone(), secret.provider.to_owned(), brokered]
    });
    if secrets.is_empty() {
        print_line("no provider lists a secret");
    } else {
        print_table(&["name", "provider", "only sent to"], rows.collect());
    }
    for secret in secrets {
        if let Some(fault) = &secret.fault {
            note(&format!("`{}` cannot be used: {}", secret.name, shown(fault)));
        } else if secret.is_short {
            let name = &secret.name;
            note(&format!(
                "`{name}` has less than 6 bytes: it is not redacted in logs and \
                results"
            ));
        }
    }
    for ListedProvider { provider, place, fault } in providers {
        if let Some(fault) = fault {
            note(&format!("the provider `{provider}` cannot be used: {}", shown(fault)));
        } else if ["command", "tenant command"].contains(provider) {
            let place = shown(place);
            note(&format!("`{place}` is queried by name for others, when a skill needs them"));
        }
    }
}
