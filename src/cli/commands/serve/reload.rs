//! Reads the configuration and the certificate again while a server runs: on SIGHUP, and when their
//! files change.
//!
//! INVARIANT(kept-configuration): a file that is missing, unreadable or wrong changes nothing. The
//! log says so in one line, and the configuration and the certificate from before stay.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::task::spawn_blocking;
use tokio::time::MissedTickBehavior;
use tracing::{error, info, warn};

use crate::cli::terminal::logging;
use wardian_config::{Config, Flags, LogLevel, ReloadedConfig, Surroundings};
use wardian_edges::http::{
    LiveHttpConfig, PathStamp, ReloadedCertificate, Server, TlsEndpoint, TlsError,
};
use wardian_skills::registry::{Registry, RegistryError, check_tenant_folders};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::error::CauseChain;

/// The interval of looking at the files.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The interval of warning that a certificate has expired or is about to.
const WARN_INTERVAL: Duration = Duration::from_hours(24);

/// The inputs of the configuration besides its file.
#[derive(Debug, Clone)]
pub(crate) struct ConfigSource {
    pub(crate) surroundings: Surroundings,
    pub(crate) flags: Flags,
}

/// The skills of the server, once they were read.
pub(crate) type SkillsSeat = Arc<OnceLock<Arc<Registry>>>;

/// Reads the configuration and the certificate again.
#[derive(Debug)]
pub(crate) struct Reloader {
    source: ConfigSource,
    running: Config,
    http: LiveHttpConfig,
    tls: Option<Arc<TlsEndpoint>>,
    skills: SkillsSeat,
    /// The state of the file when it was read, and at the last look.
    file_read: Option<PathStamp>,
    file_seen: Option<PathStamp>,
    /// The settings of which the log has said that they wait for another start.
    told: Vec<&'static str>,
    /// The time of the last warning of the certificate's end.
    warned: Option<Duration>,
    /// True if the skills were not read yet when the folders of tenants changed.
    has_other_tenants: bool,
}

impl Reloader {
    pub(crate) fn new(
        source: ConfigSource,
        running: Config,
        server: &Server,
        skills: SkillsSeat,
    ) -> Self {
        let stamp = running.file_stamp;
        Self {
            source,
            running,
            http: server.live_config().clone(),
            tls: server.tls().cloned(),
            skills,
            file_read: stamp,
            file_seen: stamp,
            told: Vec::new(),
            warned: None,
            has_other_tenants: false,
        }
    }

    /// Follows the signal and the files until it is dropped.
    pub(crate) async fn run(mut self, mut hangups: Signal) {
        let mut looks = tokio::time::interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let work: fn(&mut Self) = tokio::select! {
                received = hangups.recv() => match received {
                    Some(()) => Self::reload,
                    None => return,
                },
                _ = looks.tick() => Self::look,
            };
            let done = spawn_blocking(move || {
                if survive(|| work(&mut self)).is_err() {
                    error!("reading the configuration or the certificate failed: a bug in Wardian");
                }
                self
            });
            match done.await {
                Ok(same) => self = same,
                // The server stops.
                Err(_cancelled) => return,
            }
        }
    }

    /// Reads everything again, because the operator asked for it.
    fn reload(&mut self) {
        info!("SIGHUP: reading the configuration, the certificate and the skills again");
        self.file_read = self.running.file.as_deref().and_then(PathStamp::of);
        self.file_seen = self.file_read;
        if self.read_configuration() == Changes::None {
            info!("the configuration has not changed");
        }
        if let (Some(tls), Some(files)) = (&self.tls, &self.running.http.tls) {
            report(&tls.reload(files, Clock::System.now()));
        }
        if let Some(skills) = self.skills.get() {
            skills.walk_soon();
        }
    }

    /// Looks whether a file has changed. A file that is being written is read when it has not
    /// changed between two looks.
    fn look(&mut self) {
        self.replace_tenants();
        if let Some(path) = &self.running.file {
            let found = PathStamp::of(path);
            let is_settled = found == self.file_seen;
            self.file_seen = found;
            if found != self.file_read && is_settled {
                self.file_read = found;
                self.read_configuration();
            }
        }
        let now = Clock::System.now();
        if let (Some(tls), Some(files)) = (&self.tls, &self.running.http.tls) {
            report(&tls.follow(files, now));
            let is_due = self.warned.is_none_or(|at| now.saturating_sub(at) >= WARN_INTERVAL);
            if let Some(warning) = tls.warning(now).filter(|_| is_due) {
                warn!("{warning}");
                self.warned = Some(now);
            }
        }
    }

    /// The reason why the files that `config` names cannot be the certificate, if they are others.
    fn unusable_certificate(&self, config: &Config) -> Option<TlsError> {
        let (tls, files) = (self.tls.as_ref()?, config.http.tls.as_ref()?);
        let is_new = self.running.http.tls.as_ref() != Some(files);
        is_new.then(|| tls.check(files, Clock::System.now()).err()).flatten()
    }

    /// The reason why the folders of tenants cannot be those of `config`, if they are others.
    fn unusable_skills(&self, config: &Config) -> Option<RegistryError> {
        let is_new = self.running.tenant_skills != config.tenant_skills;
        let check = || check_tenant_folders(&config.skills.roots, &config.tenant_skills).err();
        is_new.then(check).flatten()
    }

    /// Hands other folders of tenants on, once the skills were read.
    fn replace_tenants(&mut self) {
        if let Some(skills) = self.skills.get().filter(|_| self.has_other_tenants) {
            skills.replace_tenants(self.running.tenant_skills.clone());
            self.has_other_tenants = false;
        }
    }

    /// Applies the new values of the settings that changed, and says so. `level` is the level of the
    /// log until now.
    ///
    /// What the log says is true when it says so: whoever waits for the line meets the new values.
    /// A level that hides the line applies behind it.
    fn take_effect(&self, level: LogLevel, changed: &[&'static str]) {
        self.http.replace(self.running.http.clone());
        logging::set_level(level.max(self.running.log.level));
        for key in changed {
            info!("`{key}` is now {}", value_of(&self.running, key));
        }
        logging::set_level(self.running.log.level);
    }

    fn read_configuration(&mut self) -> Changes {
        let ConfigSource { surroundings, flags } = &self.source;
        let read = match Config::load(surroundings, flags.clone()) {
            Ok(read) => read,
            Err(error) => {
                let why = one_line(&CauseChain(&error).to_string());
                warn!("the configuration is kept: {why}");
                return Changes::Refused;
            }
        };
        if let (Some(file), None) = (&self.running.file, &read.file) {
            warn!("the configuration is kept: the file {} no longer exists", file.display());
            return Changes::Refused;
        }
        let file = read.file.clone();
        let ReloadedConfig { config, changed, waiting } = self.running.taking_over(&read);
        if let Some(error) = self.unusable_certificate(&config) {
            let why = one_line(&CauseChain(&error).to_string());
            warn!("the configuration is kept: {why}; SIGHUP reads it again");
            return Changes::Refused;
        }
        if let Some(error) = self.unusable_skills(&config) {
            let why = one_line(&CauseChain(&error).to_string());
            warn!("the configuration is kept: {why}; SIGHUP reads it again");
            return Changes::Refused;
        }
        self.has_other_tenants |= self.running.tenant_skills != config.tenant_skills;
        let level = self.running.log.level;
        self.running = Config { file, ..config };
        self.replace_tenants();
        if !changed.is_empty() {
            self.take_effect(level, &changed);
        }
        if !waiting.is_empty() && waiting != self.told {
            let keys: Vec<String> = waiting.iter().map(|key| format!("`{key}`")).collect();
            warn!("changes of {} require a restart of the server", keys.join(", "));
        }
        let is_new = !changed.is_empty() || waiting != self.told;
        self.told = waiting;
        if is_new { Changes::Some } else { Changes::None }
    }
}

/// The result of reading the configuration again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changes {
    /// All settings are as they were.
    None,
    /// Some apply from now on, or wait for another start.
    Some,
    /// The file cannot be used.
    Refused,
}

/// Does some work. A panic in it ends nothing else.
fn survive(work: impl FnOnce()) -> std::thread::Result<()> {
    catch_unwind(AssertUnwindSafe(work))
}

fn report(reloaded: &ReloadedCertificate) {
    match reloaded {
        ReloadedCertificate::Unchanged => {}
        ReloadedCertificate::Replaced => info!("new connections use the new TLS certificate"),
        ReloadedCertificate::Kept(error) => {
            let why = one_line(&CauseChain(error).to_string());
            error!("the TLS certificate is kept, because the new one is invalid: {why}");
        }
    }
}

fn value_of<'a>(config: &'a Config, key: &str) -> &'a str {
    let setting = config.effective.iter().find(|setting| setting.key == key);
    setting.and_then(|setting| setting.value.as_deref()).unwrap_or("not set")
}

/// A message of several lines as one.
fn one_line(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_while_reading_ends_nothing_else() {
        assert!(survive(|| panic!("on purpose")).is_err());
        assert!(survive(|| ()).is_ok());
    }

    #[test]
    fn messages_are_one_line_in_the_log() {
        assert_eq!(one_line("it is wrong:\n  `a` is\n\n  `b` is\n"), "it is wrong: `a` is `b` is");
    }
}
