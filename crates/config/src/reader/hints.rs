//! Advice for a setting that does not exist: the one that was probably meant.

use wardian_formats::skill::similar::{closest, did_you_mean, listed};

/// Words that other servers use for their address.
const ADDRESS_WORDS: [&str; 6] = ["port", "ports", "host", "address", "bind", "addr"];

/// Returns what to write instead of `key`. `known` are all settings, `tables` those of them that
/// are tables with any keys.
pub(super) fn hint(key: &str, known: &[&str], tables: &[&str]) -> String {
    let (table, name) = split(key);
    if !table.is_empty() && known.contains(&name) {
        return format!("`{name}` is a top-level setting: in a file, put it above the first table");
    }
    if let Some(tenant) = tenant_in(key, known) {
        return of_tenants(tenant, known, tables);
    }
    let near = of_table(table, known);
    if is_address(table, name, &near) {
        return "the address and the port of the server are `listen`, such as \
                `listen = \"127.0.0.1:8080\"` above the first table"
            .to_owned();
    }
    let meant = closest(name, near.iter().map(|known| split(known).1));
    let meant: Vec<&str> =
        near.iter().copied().filter(|known| meant.contains(&split(known).1)).collect();
    if !meant.is_empty() {
        return format!("did you mean {}?", listed(&meant, "or"));
    }
    let elsewhere = known.iter().copied().filter(|known| {
        let (table, last) = split(known);
        !table.is_empty() && last == name
    });
    let elsewhere: Vec<&str> = elsewhere.collect();
    if (1..=MAX_ELSEWHERE).contains(&elsewhere.len()) {
        return format!("there is {}", listed(&elsewhere, "and"));
    }
    if !table.is_empty() && !near.is_empty() {
        return format!("there are {}", listed(&near, "and"));
    }
    let mut firsts: Vec<&str> = known.iter().filter_map(|known| known.split('.').next()).collect();
    firsts.sort_unstable();
    firsts.dedup();
    let first = key.split('.').next().unwrap_or_default();
    did_you_mean(first, firsts.iter().copied())
        .unwrap_or_else(|| format!("there are {}", listed(&firsts, "and")))
}

/// The table of a setting, which is empty for those at the top, and its name in there.
fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

fn of_table<'k>(table: &str, known: &[&'k str]) -> Vec<&'k str> {
    known.iter().copied().filter(|known| split(known).0 == table).collect()
}

/// True if a word for the server's address, or nearly one, stands where the address could.
fn is_address(table: &str, name: &str, near: &[&str]) -> bool {
    let names = near.iter().map(|known| split(known).1);
    let is_place = table.is_empty() || table == "http" || table == "server";
    let is_word = |word: &&str| ADDRESS_WORDS.contains(word);
    is_place && closest(name, names.chain(ADDRESS_WORDS)).first().is_some_and(is_word)
}

/// Advice for `[tenants.acme]`.
fn of_tenants(tenant: &str, known: &[&str], tables: &[&str]) -> String {
    let tables: Vec<&str> =
        tables.iter().copied().filter(|table| split(table).0 == "tenants").collect();
    let settings = of_table("tenants", known).into_iter().filter(|known| !tables.contains(known));
    format!(
        "a tenant is created by its first key (`wardian keys create --tenant {tenant}`). Limits of \
         one tenant belong in `[tenants.limits.{tenant}]`; tables with an entry for each tenant \
         are {}, and settings of all tenants are {}",
        listed(&tables, "and"),
        listed(&settings.collect::<Vec<_>>(), "and"),
    )
}

/// Most settings of other tables that are named because they end alike.
const MAX_ELSEWHERE: usize = 3;

/// The name of the tenant in a key such as `tenants.acme.weight`.
fn tenant_in<'k>(key: &'k str, known: &[&str]) -> Option<&'k str> {
    let (name, _) = key.strip_prefix("tenants.")?.split_once('.')?;
    let is_table = known.iter().any(|known| {
        known.strip_prefix("tenants.").is_some_and(|rest| rest.split('.').next() == Some(name))
    });
    (!is_table).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 11] = [
        "listen",
        "data_dir",
        "http.max_body",
        "http.idle_timeout",
        "http.tls.key",
        "limits.timeout",
        "limits.max.timeout",
        "tenants.weight",
        "tenants.rate",
        "tenants.limits",
        "network.private_ranges",
    ];

    #[test]
    fn the_setting_that_was_meant_is_named() {
        let address = "the address and the port of the server are `listen`";
        for (key, expected) in [
            (
                "http.listen",
                "`listen` is a top-level setting: in a file, put it above the first table",
            ),
            ("server.data_dir", "`data_dir` is a top-level setting"),
            ("prot", address),
            ("port", address),
            ("http.port", address),
            ("bind", address),
            ("lisen", "did you mean `listen`?"),
            ("http.max_boddy", "did you mean `http.max_body`?"),
            ("idle_timeout", "there is `http.idle_timeout`"),
            ("timeout", "there is `limits.timeout` and `limits.max.timeout`"),
            ("htp.x.y", "did you mean `http`?"),
            ("http.colour", "there are `http.max_body` and `http.idle_timeout`"),
            ("x.y", "there are `data_dir`, `http`, `limits`, `listen`, `network` and `tenants`"),
            (
                "tenants.acme.weight",
                "a tenant is created by its first key (`wardian keys create --tenant acme`). \
                 Limits of one tenant belong in `[tenants.limits.acme]`; tables with an entry for \
                 each tenant are `tenants.limits`, and settings of all tenants are \
                 `tenants.weight` and `tenants.rate`",
            ),
        ] {
            let told = hint(key, &KNOWN, &["tenants.limits", "secrets.hosts"]);
            assert!(told.starts_with(expected), "{key}: {told}");
        }
    }
}
