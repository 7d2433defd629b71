//! The settings that change while a server runs, and those that need another start.

use crate::effective::SettingOrigin;
use crate::setting_table::is_live;
use crate::settings::Config;
use wardian_edges::http::share_of_an_address;

/// The setting whose default follows from another one, which needs a restart.
const PER_ADDRESS: &str = "http.max_connections_per_address";

/// The configuration of a running server after its settings were read again.
#[derive(Debug, Clone)]
pub struct ReloadedConfig {
    /// The configuration as it applies from now on.
    pub config: Config,
    /// The settings that apply with a new value from now on.
    pub changed: Vec<&'static str>,
    /// The settings whose new value needs another start.
    pub waiting: Vec<&'static str>,
}

impl Config {
    /// Takes over those settings of `read` that a running server can change.
    #[must_use]
    pub fn taking_over(&self, read: &Self) -> ReloadedConfig {
        let mut config = self.clone();
        let read = &self.with_own_share_of_an_address(read);
        let (mut changed, mut waiting) = (Vec::new(), Vec::new());
        // Connections are encrypted or not from the start to the end.
        let keeps_scheme = self.http.tls.is_some() == read.http.tls.is_some();
        for (now, new) in config.effective.iter_mut().zip(&read.effective) {
            if now.value == new.value {
                continue;
            }
            let is_fixed = new.key.starts_with("http.tls.") && !keeps_scheme;
            if is_live(new.key) && !is_fixed {
                changed.push(new.key);
                now.clone_from(new);
            } else {
                waiting.push(new.key);
            }
        }
        let (to, from) = (&mut config.http, &read.http);
        to.max_connections_per_address = from.max_connections_per_address;
        to.unlimited_addresses.clone_from(&from.unlimited_addresses);
        if keeps_scheme {
            to.tls.clone_from(&from.tls);
            to.handshake_timeout = from.handshake_timeout;
        }
        to.header_timeout = from.header_timeout;
        to.write_timeout = from.write_timeout;
        to.stall_timeout = from.stall_timeout;
        to.idle_timeout = from.idle_timeout;
        to.drain_timeout = from.drain_timeout;
        config.tenant_skills.roots.clone_from(&read.tenant_skills.roots);
        config.log.level = read.log.level;
        ReloadedConfig { config, changed, waiting }
    }

    /// `read`, with the default for the connections of one address that follows from the setting
    /// that this configuration has, and keeps.
    fn with_own_share_of_an_address(&self, read: &Self) -> Self {
        let mut read = read.clone();
        let setting = read
            .effective
            .iter_mut()
            .find(|setting| setting.key == PER_ADDRESS && setting.origin == SettingOrigin::Default);
        if let Some(setting) = setting {
            let share = share_of_an_address(self.http.max_connections);
            setting.value = Some(share.to_string());
            read.http.max_connections_per_address = share;
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting_table::live_keys;
    use crate::{Flags, Surroundings};

    fn surroundings() -> Surroundings {
        Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            ..Surroundings::default()
        }
    }

    fn config(settings: &[(&str, &str)]) -> Config {
        let settings = settings.iter().map(|(key, text)| ((*key).into(), (*text).into())).collect();
        Config::load(&surroundings(), Flags { file: None, settings }).unwrap()
    }

    const TLS: [(&str, &str); 2] = [("http.tls.certificate", "/c"), ("http.tls.key", "/k")];

    /// Every setting that can be taken over, with a value that is not the default.
    const VALUES: [(&str, &str); 12] = [
        ("http.max_connections_per_address", "7"),
        ("http.unlimited_addresses", "10.0.0.0/8"),
        ("http.header_timeout", "7 s"),
        ("http.write_timeout", "7 s"),
        ("http.stall_timeout", "7 s"),
        ("http.idle_timeout", "7 s"),
        ("http.drain_timeout", "7 s"),
        ("http.tls.certificate", "/c2"),
        ("http.tls.key", "/k2"),
        ("http.tls.handshake_timeout", "7 s"),
        ("tenants.skills", "acme=/srv/acme"),
        ("log.level", "debug"),
    ];

    #[test]
    fn what_is_said_to_be_taken_over_is() {
        assert_eq!(VALUES.map(|(key, _)| key), *live_keys());
        let before = config(&TLS);
        for value in VALUES {
            let read = config(&[&TLS[..], &[value]].concat());
            let taken = before.taking_over(&read);
            assert_eq!((taken.changed, taken.waiting), (vec![value.0], vec![]));
            assert_eq!(taken.config.http, read.http, "{value:?}");
            assert_eq!(taken.config.log, read.log);
            assert_eq!(taken.config.tenant_skills, read.tenant_skills);
            assert_eq!(taken.config.effective, read.effective);
            let (was, is) = ((&before.http, before.log), (&read.http, read.log));
            assert!(was != is || before.tenant_skills != read.tenant_skills, "{value:?}");
        }
    }

    #[test]
    fn everything_else_waits_for_the_next_start() {
        let before = config(&[]);
        let read =
            config(&[("workers.count", "7"), ("listen", "127.0.0.1:1"), ("log.level", "warn")]);
        let taken = before.taking_over(&read);
        assert_eq!(
            (taken.changed, taken.waiting),
            (vec!["log.level"], vec!["listen", "workers.count"])
        );
        assert_eq!(taken.config.workers, before.workers);
        assert_eq!(taken.config.http, before.http);
    }

    /// One value after the other is tried for each setting: one of them is another than the default.
    #[test]
    fn a_setting_that_waits_changes_no_other_that_applies() {
        let candidates =
            ["7", "70", "700", "7 s", "7 MiB", "true", "false", "x", "/x", "127.0.0.1:1", "keys"];
        let before = config(&[]);
        let load = |key: &str, value: &str| {
            let flags = Flags { file: None, settings: vec![(key.into(), value.into())] };
            Config::load(&surroundings(), flags).ok()
        };
        let mut tried = Vec::new();
        for key in before.effective.iter().map(|setting| setting.key) {
            if is_live(key) {
                continue;
            }
            let value = |config: &Config| {
                let found = config.effective.iter().find(|setting| setting.key == key);
                found.and_then(|setting| setting.value.clone())
            };
            let mut read = candidates.iter().filter_map(|value| load(key, value));
            let Some(read) = read.find(|read| value(read) != value(&before)) else { continue };
            let taken = before.taking_over(&read);
            assert_eq!(taken.changed, Vec::<&str>::new(), "{key}");
            assert!(taken.waiting.contains(&key), "{key}");
            assert_eq!((&taken.config.http, taken.config.log), (&before.http, before.log), "{key}");
            tried.push(key);
        }
        assert!(tried.contains(&"http.max_connections") && tried.len() > 40, "{tried:?}");
    }

    #[test]
    fn a_share_that_is_no_longer_set_follows_from_the_connections_of_the_running_server() {
        let before = config(&[(PER_ADDRESS, "7")]);
        let taken = before.taking_over(&config(&[("http.max_connections", "2000")]));
        assert_eq!(
            (taken.changed, taken.waiting),
            (vec![PER_ADDRESS], vec!["http.max_connections"])
        );
        assert_eq!(taken.config.http.max_connections_per_address, 256);
        let shown = taken.config.effective.iter().find(|setting| setting.key == PER_ADDRESS);
        assert_eq!(shown, config(&[]).effective.iter().find(|other| other.key == PER_ADDRESS));
    }

    #[test]
    fn a_server_does_not_begin_or_cease_to_encrypt() {
        let (plain, encrypted) = (config(&[]), config(&TLS));
        for (before, read) in [(&plain, &encrypted), (&encrypted, &plain)] {
            let taken = before.taking_over(read);
            assert_eq!(taken.config.http, before.http);
            assert_eq!(taken.waiting, ["http.tls.certificate", "http.tls.key"]);
        }
    }
}
