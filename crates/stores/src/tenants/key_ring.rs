//! The keys in memory: finds the caller of a request, and follows the changes in the database.
//!
//! A lookup takes a lock for an instant and reads no disk. The last use of keys is written in
//! batches by [`KeyRing::follow`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use tokio::time::{MissedTickBehavior, interval};
use tracing::{debug, info, warn};

use crate::database_error::DatabaseError;
use crate::tenants::api_key::{ApiKey, KeyOrder, StoredKey};
use crate::tenants::caller::{CallerCredential, CallerIdentity, UnknownCaller};
use crate::tenants::key_table::{KeyTable, Revocation};
use crate::tenants::token::{ApiToken, KeyPrefix, prefix_of};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::crypto::is_equal;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::Digest;

/// The interval of asking for changes: a revoked key works no longer than this, and the time of one
/// query, after its revocation.
const POLL: Duration = Duration::from_millis(250);

/// The interval of writing the last use of keys, as a number of polls.
const POLLS_PER_WRITE: u32 = 20;

/// The longest time for which keys are trusted without the database having been read.
pub(crate) const MOST_STALE: Duration = Duration::from_secs(30);

/// Longest credential that is hashed. Longer ones are not keys.
const MAX_CREDENTIAL: usize = 256;

/// The keys of a server.
#[derive(Debug)]
pub struct KeyRing {
    table: KeyTable,
    clock: Clock,
    keys: RwLock<Arc<Keys>>,
    /// The end of the time for which the keys are trusted, unless the database is read before.
    stale_from: Mutex<Instant>,
    /// The last use of each key that is in the database, in milliseconds since the Unix epoch.
    written: tokio::sync::Mutex<HashMap<KeyPrefix, u64>>,
}

/// All keys, as they were at one time.
#[derive(Debug, Default)]
struct Keys {
    changes: i64,
    by_prefix: HashMap<KeyPrefix, KnownKey>,
}

#[derive(Debug)]
struct KnownKey {
    stored: StoredKey,
    /// The last use, in milliseconds since the Unix epoch. Outlives the key's reloading.
    used: Arc<AtomicU64>,
}

impl KeyRing {
    /// Reads all keys.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn load(table: KeyTable, clock: Clock) -> Result<Self, DatabaseError> {
        let ring = Self {
            table,
            clock,
            keys: RwLock::default(),
            stale_from: Mutex::new(stale_from(Instant::now())),
            written: tokio::sync::Mutex::default(),
        };
        ring.reload().await?;
        Ok(ring)
    }

    /// True if no caller can have a valid key now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let (keys, now) = (Arc::clone(&self.keys.read()), self.clock.now());
        !keys.by_prefix.values().any(|known| known.stored.key.is_valid_at(now))
    }

    /// The number of keys, those that ended and were revoked included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.keys.read().by_prefix.len()
    }

    /// All keys with their last use, by tenant and time. None of it is secret.
    #[must_use]
    pub fn list(&self) -> Vec<ApiKey> {
        let keys = Arc::clone(&self.keys.read());
        let listed = keys.by_prefix.values().map(|known| {
            let used = match known.used.load(Ordering::Relaxed) {
                0 => None,
                milliseconds => Some(Duration::from_millis(milliseconds)),
            };
            let key = known.stored.key.clone();
            ApiKey { last_used: key.last_used.max(used), ..key }
        });
        let mut listed: Vec<ApiKey> = listed.collect();
        let text = |text: &str| text.to_owned();
        listed.sort_by_cached_key(|key| {
            (text(key.tenant.as_str()), key.created, text(key.prefix.as_str()))
        });
        listed
    }

    /// The time of day by which keys end.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Makes a key, which is known here when this returns.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn create(
        &self,
        order: &KeyOrder,
        now: Duration,
    ) -> Result<(ApiToken, ApiKey), DatabaseError> {
        let made = self.table.create(order, now).await?;
        self.refresh().await?;
        Ok(made)
    }

    /// Revokes a key, which is refused here when this returns.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn revoke(&self, prefix: &KeyPrefix) -> Result<Revocation, DatabaseError> {
        let ended = self.table.revoke(prefix, self.clock.now()).await?;
        self.refresh().await?;
        Ok(ended)
    }

    /// Finds the caller that presents this credential.
    ///
    /// # Errors
    ///
    /// [`UnknownCaller`], which is the same for every credential that is not valid.
    pub fn identify(&self, credential: &[u8]) -> Result<CallerIdentity, UnknownCaller> {
        self.ensure_fresh()?;
        if credential.len() > MAX_CREDENTIAL {
            return Err(UnknownCaller::Unauthorized);
        }
        // Every credential is hashed and compared, also one whose prefix nobody has.
        let presented = Digest::of(credential);
        let keys = Arc::clone(&self.keys.read());
        let known = prefix_of(credential).and_then(|prefix| keys.by_prefix.get(&prefix));
        let nobody = Digest::from_bytes([0; 32]);
        let expected = known.map_or(&nobody, |known| &known.stored.digest);
        let is_same = is_equal(expected.as_bytes(), presented.as_bytes());
        let now = self.clock.now();
        let is_valid = known.is_some_and(|known| known.stored.key.is_valid_at(now));
        match known.filter(|_| is_same & is_valid) {
            Some(known) => {
                let milliseconds = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
                known.used.fetch_max(milliseconds, Ordering::Relaxed);
                let key = &known.stored.key;
                let (tenant, prefix) = (key.tenant.clone(), key.prefix.clone());
                let credential = Some(CallerCredential::Key(prefix));
                Ok(CallerIdentity { tenant, rights: key.rights, credential })
            }
            None => Err(UnknownCaller::Unauthorized),
        }
    }

    /// Checks that the key of a caller that was found before is still valid.
    ///
    /// # Errors
    ///
    /// As [`identify`](Self::identify).
    pub fn confirm(&self, key: &KeyPrefix) -> Result<(), UnknownCaller> {
        self.ensure_fresh()?;
        let (keys, now) = (Arc::clone(&self.keys.read()), self.clock.now());
        let known = keys.by_prefix.get(key).filter(|known| known.stored.key.is_valid_at(now));
        known.map(|_| ()).ok_or(UnknownCaller::Unauthorized)
    }

    fn ensure_fresh(&self) -> Result<(), UnknownCaller> {
        let is_stale = Instant::now() >= *self.stale_from.lock();
        if is_stale { Err(UnknownCaller::Unavailable) } else { Ok(()) }
    }

    /// Follows the changes of keys, and writes their last use, until it is dropped.
    pub async fn follow(&self) {
        let mut clock = interval(POLL);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut polls = 0_u32;
        let (mut reading, mut writing) = (Told::new("read"), Told::new("written"));
        loop {
            clock.tick().await;
            polls = polls.wrapping_add(1);
            let read = self.refresh().await;
            let is_readable = read.is_ok();
            reading.tell(read);
            if is_readable && polls.is_multiple_of(POLLS_PER_WRITE) {
                writing.tell(self.write_uses().await);
            }
        }
    }

    /// Reads the keys again if they have changed.
    async fn refresh(&self) -> Result<(), DatabaseError> {
        let asked = Instant::now();
        let known = self.keys.read().changes;
        if self.table.changes().await? != known {
            self.reload().await?;
            debug!("the keys have changed");
        }
        *self.stale_from.lock() = stale_from(asked);
        Ok(())
    }

    async fn reload(&self) -> Result<(), DatabaseError> {
        let (changes, stored) = self.table.load().await?;
        let before = Arc::clone(&self.keys.read());
        let known = |stored: StoredKey| {
            let used = before.by_prefix.get(&stored.key.prefix);
            let used = used.map(|known| Arc::clone(&known.used)).unwrap_or_default();
            (stored.key.prefix.clone(), KnownKey { stored, used })
        };
        let by_prefix = stored.into_iter().map(known).collect();
        *self.keys.write() = Arc::new(Keys { changes, by_prefix });
        Ok(())
    }

    /// Writes when keys were last used.
    ///
    /// # Errors
    ///
    /// The database failed. The next call writes what is missing.
    pub async fn write_uses(&self) -> Result<(), DatabaseError> {
        let mut written = self.written.lock().await;
        let keys = Arc::clone(&self.keys.read());
        let mut uses = Vec::new();
        for (prefix, known) in &keys.by_prefix {
            let used = known.used.load(Ordering::Relaxed);
            if used > written.get(prefix).copied().unwrap_or(0) {
                uses.push((prefix.clone(), Duration::from_millis(used)));
            }
        }
        if uses.is_empty() {
            return Ok(());
        }
        self.table.note_uses(&uses).await?;
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        written.extend(uses.into_iter().map(|(prefix, time)| (prefix, milliseconds(time))));
        Ok(())
    }
}

fn stale_from(read: Instant) -> Instant {
    read.checked_add(MOST_STALE).unwrap_or(read)
}

/// Tells the log when something begins to fail, and when it works again.
struct Told {
    what: &'static str,
    is_failing: bool,
}

impl Told {
    const fn new(what: &'static str) -> Self {
        Self { what, is_failing: false }
    }

    /// Returns true if something was logged.
    fn tell(&mut self, done: Result<(), DatabaseError>) -> bool {
        let was_failing = std::mem::replace(&mut self.is_failing, done.is_err());
        match done {
            Err(error) if !was_failing => {
                warn!("keys cannot be {}: {}", self.what, CauseChain(&error));
            }
            Ok(()) if was_failing => info!("keys can be {} again", self.what),
            Ok(()) | Err(_) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::string_slice, reason = "keys are ASCII")]

    use tempfile::TempDir;

    use super::*;
    use crate::database::open_keys;
    use crate::tenants::{KeyName, Right, Rights};
    use wardian_vocabulary::ids::TenantId;

    const NOW: Duration = Duration::from_secs(1_790_000_000);

    struct Place {
        table: KeyTable,
        folder: TempDir,
    }

    impl Place {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let table = open_keys(&folder.path().join("wardian.db")).await.unwrap();
            Self { table, folder }
        }

        async fn key(&self, tenant: &str, expires: Option<Duration>) -> ApiToken {
            let order = KeyOrder {
                tenant: TenantId::parse(tenant).unwrap(),
                name: KeyName::parse("ci").unwrap(),
                rights: Rights::NONE.with(Right::Code),
                expires,
            };
            self.table.create(&order, NOW).await.unwrap().0
        }

        async fn ring(&self) -> KeyRing {
            KeyRing::load(self.table.clone(), Clock::Fixed(NOW)).await.unwrap()
        }
    }

    fn identify(ring: &KeyRing, token: &ApiToken) -> Result<CallerIdentity, UnknownCaller> {
        ring.identify(token.reveal().as_bytes())
    }

    #[tokio::test]
    async fn a_key_names_its_tenant_and_rights() {
        let place = Place::new().await;
        let (acme, beta) = (place.key("acme", None).await, place.key("beta", None).await);
        let ring = place.ring().await;
        let found = identify(&ring, &acme).unwrap();
        assert_eq!((found.tenant.as_str(), found.rights.names()), ("acme", vec!["code"]));
        assert_eq!(identify(&ring, &beta).unwrap().tenant.as_str(), "beta");
    }

    #[tokio::test]
    async fn keys_are_listed_by_tenant_with_their_last_use() {
        let place = Place::new().await;
        let used = place.key("beta", None).await;
        place.key("acme", Some(NOW / 2)).await;
        let ring = place.ring().await;
        identify(&ring, &used).unwrap();
        let listed = ring.list();
        let shown = |key: &ApiKey| (key.tenant.as_str().to_owned(), key.expires, key.last_used);
        assert_eq!(
            listed.iter().map(shown).collect::<Vec<_>>(),
            [("acme".to_owned(), Some(NOW / 2), None), ("beta".to_owned(), None, Some(NOW))]
        );
        assert_eq!(ring.count(), 2);
    }

    #[tokio::test]
    async fn keys_are_not_stored() {
        let place = Place::new().await;
        let token = place.key("acme", None).await;
        place.table.close().await;
        let bytes = std::fs::read(place.folder.path().join("wardian.db")).unwrap();
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(has(token.prefix().as_str()) && has(&token.digest().to_string()));
        assert!(!has(&token.reveal()[17..]), "the secret is in the file");
    }

    #[tokio::test]
    async fn one_refusal_for_every_wrong_key() {
        let place = Place::new().await;
        let good = place.key("acme", None).await;
        let revoked = place.key("acme", None).await;
        let expired = place.key("acme", Some(NOW)).await;
        let later = place.key("acme", Some(NOW + Duration::from_millis(1))).await;
        assert_eq!(place.table.revoke(&revoked.prefix(), NOW).await.unwrap(), Revocation::Revoked);
        assert_eq!(place.table.revoke(&revoked.prefix(), NOW).await.unwrap(), Revocation::Already);
        let unknown = ApiToken::generate().unwrap();
        let nobody = place.table.revoke(&unknown.prefix(), NOW).await.unwrap();
        assert_eq!(nobody, Revocation::Unknown);
        let ring = place.ring().await;
        assert!(identify(&ring, &good).is_ok() && identify(&ring, &later).is_ok());
        let text = good.reveal();
        // The prefix of a good key with the secret of another.
        let mixed = format!("{}{}", &text[..17], &unknown.reveal()[17..]);
        let long = "a".repeat(4 << 20);
        for wrong in [
            revoked.reveal(),
            expired.reveal(),
            unknown.reveal(),
            &mixed,
            "",
            " ",
            &text[..text.len() - 1],
            &format!("{text}a"),
            &format!("{text}\n"),
            &format!(" {text}"),
            &text.to_uppercase(),
            &format!("{text},{text}"),
            &long,
        ] {
            let refused = ring.identify(wrong.as_bytes());
            assert_eq!(refused, Err(UnknownCaller::Unauthorized), "{wrong:.80}");
        }
    }

    #[tokio::test]
    async fn a_caller_is_confirmed_as_long_as_its_key_is_valid() {
        let place = Place::new().await;
        let (kept, revoked) = (place.key("acme", None).await, place.key("acme", None).await);
        let expired = place.key("acme", Some(NOW)).await;
        let ring = place.ring().await;
        let key = revoked.prefix();
        let credential = identify(&ring, &revoked).unwrap().credential;
        assert_eq!(credential, Some(CallerCredential::Key(key.clone())));
        assert_eq!(ring.confirm(&key), Ok(()));
        place.table.revoke(&key, NOW).await.unwrap();
        ring.refresh().await.unwrap();
        assert_eq!(ring.confirm(&kept.prefix()), Ok(()));
        let unknown = ApiToken::generate().unwrap().prefix();
        for wrong in [&key, &expired.prefix(), &unknown] {
            assert_eq!(ring.confirm(wrong), Err(UnknownCaller::Unauthorized), "{wrong}");
        }
    }

    #[test]
    fn a_failure_and_its_end_are_told_once() {
        let mut told = Told::new("read");
        let failed = || {
            let cause = std::io::ErrorKind::PermissionDenied.into();
            Err(DatabaseError::Unusable { path: "wardian.db".into(), cause })
        };
        let tells = [failed(), failed(), Ok(()), Ok(()), failed()].map(|done| told.tell(done));
        assert_eq!(tells, [true, false, true, false, true]);
    }

    #[tokio::test]
    async fn changes_in_the_database_are_followed() {
        let place = Place::new().await;
        let ring = Arc::new(place.ring().await);
        assert!(ring.is_empty());
        let following = tokio::spawn({
            let ring = Arc::clone(&ring);
            async move { ring.follow().await }
        });
        let becomes = async |token: &ApiToken, is_known: bool| {
            let deadline = Instant::now() + Duration::from_secs(20);
            while identify(&ring, token).is_ok() != is_known {
                assert!(Instant::now() < deadline, "it is never noticed");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let token = place.key("acme", None).await;
        becomes(&token, true).await;
        assert!(!ring.is_empty());
        place.table.revoke(&token.prefix(), NOW).await.unwrap();
        becomes(&token, false).await;
        following.abort();
    }

    #[tokio::test]
    async fn the_last_use_is_written_later_and_survives_a_reload() {
        let place = Place::new().await;
        let (used, unused) = (place.key("acme", None).await, place.key("acme", None).await);
        let ring = place.ring().await;
        identify(&ring, &used).unwrap();
        ring.identify(format!("{}x", unused.reveal()).as_bytes()).unwrap_err();
        let last_use = async |token: &ApiToken| {
            let keys = place.table.list().await.unwrap();
            keys.into_iter().find(|key| key.prefix == token.prefix()).unwrap().last_used
        };
        assert_eq!(last_use(&used).await, None, "it is written on the path of a call");
        ring.reload().await.unwrap();
        ring.write_uses().await.unwrap();
        assert_eq!((last_use(&used).await, last_use(&unused).await), (Some(NOW), None));
    }

    #[tokio::test]
    async fn stale_keys_fail_closed() {
        let place = Place::new().await;
        let token = place.key("acme", None).await;
        let ring = place.ring().await;
        let left = |ring: &KeyRing| *ring.stale_from.lock() - Instant::now();
        assert!(left(&ring) <= MOST_STALE && left(&ring) > MOST_STALE / 2);
        *ring.stale_from.lock() = Instant::now();
        assert_eq!(identify(&ring, &token), Err(UnknownCaller::Unavailable));
        assert_eq!(ring.confirm(&token.prefix()), Err(UnknownCaller::Unavailable));
        ring.refresh().await.unwrap();
        assert!(identify(&ring, &token).is_ok());
        assert!(left(&ring) <= MOST_STALE && left(&ring) > MOST_STALE / 2);
        place.table.close().await;
        ring.refresh().await.unwrap_err();
    }
}
