//! The secret of Python's hashes: one for all images of a cache, replaced from time to time.
//!
//! A guest can read the secret of the image that it began as, and prepare collisions for every
//! other run with the same secret. So no secret is used forever.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::error::ImageError;
use wardian_engine::cache::entry::{CacheEntry, CacheEntryLock};
use wardian_engine::cache::file::CheckedFile;
use wardian_sandbox::clock_and_random::{ClockAndRandom, ClockAndRandomMode};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::crypto::hmac;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Name of the secret in the cache.
pub(super) const HASH_SECRET: &str = "hash-secret";

/// Name of the entry with the key that the secrets of tenants are derived with.
pub(super) const MASTER: &str = "hash-secret-master";

/// Length of that key.
pub(super) const MASTER_SIZE: ByteCount = ByteCount::bytes(32);

fn storage(cause: std::io::Error) -> ImageError {
    ImageError::Storage { name: HASH_SECRET.to_owned(), cause }
}

/// The secret on `entry`, drawn now if there is none of this size.
pub(super) fn current(entry: &CacheEntry, size: ByteCount) -> Result<Vec<u8>, ImageError> {
    if let Some(secret) = read(entry, size)? {
        return Ok(secret);
    }
    let lock = entry.lock(|| ())?;
    match read(entry, size)? {
        Some(secret) => Ok(secret),
        None => draw(&lock, size),
    }
}

/// The secret of the image of reproducible runs, which everybody knows.
pub(super) fn fixed(size: ByteCount) -> Vec<u8> {
    let digest = Sha256::digest(b"wardian reproducible hashes");
    digest.iter().copied().cycle().take(size.as_usize()).collect()
}

/// The secret of the images of one tenant. It follows from `shared`, so it is replaced with it, and
/// from `master`, which no guest can read: an image has the secrets that were made of it alone.
pub(super) fn of_tenant(
    master: &[u8],
    shared: &[u8],
    tenant: &TenantId,
    size: ByteCount,
) -> Vec<u8> {
    let derived = hmac(master, &[shared, tenant.as_str().as_bytes()].concat());
    derived.iter().copied().cycle().take(size.as_usize()).collect()
}

/// Draws another secret if the one on `entry` was drawn before `oldest`, a time since the Unix
/// epoch. Returns true if a secret was drawn.
pub(super) fn renew(
    entry: &CacheEntry,
    size: ByteCount,
    oldest: Duration,
) -> Result<bool, ImageError> {
    if !is_older(entry, oldest)? {
        return Ok(false);
    }
    let lock = entry.lock(|| ())?;
    // Another server with the same cache may have been faster.
    let is_due = is_older(entry, oldest)?;
    if is_due {
        draw(&lock, size)?;
    }
    Ok(is_due)
}

fn is_older(entry: &CacheEntry, oldest: Duration) -> Result<bool, ImageError> {
    let record = entry.find_record(HASH_SECRET)?;
    Ok(record.is_some_and(|record| record.created_unix_seconds < oldest.as_secs()))
}

fn read(entry: &CacheEntry, size: ByteCount) -> Result<Option<Vec<u8>>, ImageError> {
    let is_whole = |found: &CheckedFile| found.size() == size;
    let Some(found) = entry.open_checked(HASH_SECRET, None)?.filter(is_whole) else {
        return Ok(None);
    };
    let mut secret = Vec::new();
    found.file.take(size.as_u64()).read_to_end(&mut secret).map_err(storage)?;
    Ok(Some(secret))
}

fn draw(lock: &CacheEntryLock<'_>, size: ByteCount) -> Result<Vec<u8>, ImageError> {
    let mut secret = vec![0; size.as_usize()];
    ClockAndRandom::new(ClockAndRandomMode::Live, Clock::System)
        .fill(&mut secret)
        .map_err(storage)?;
    let mut draft = lock.draft(HASH_SECRET)?;
    draft.write_all(&secret).map_err(storage)?;
    draft.commit("the secret of Python's hashes", BTreeMap::new())?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use wardian_engine::cache::entry::{Area, CacheFolder};
    use wardian_vocabulary::ids::Digest;

    use super::*;

    const SIZE: ByteCount = ByteCount::bytes(24);
    const DAY: Duration = Duration::from_hours(24);
    const DRAWN: Duration = Duration::from_hours(1_000);

    fn entry(folder: &std::path::Path, now: Duration) -> CacheEntry {
        let cache = CacheFolder::open(folder, Clock::Fixed(now)).unwrap();
        cache.entry(Area::Images, &Digest::of(b"secret"))
    }

    #[test]
    fn a_secret_is_replaced_when_it_is_too_old_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let first = current(&entry(folder.path(), DRAWN), SIZE).unwrap();
        assert_eq!(first.len(), 24);
        let mut secrets = vec![first];
        for (later, is_due) in [
            (Duration::ZERO, false),
            (DAY, false),
            (DAY + Duration::from_secs(1), true),
            // The age of the secret counts from the moment at which it was replaced.
            (2 * DAY, false),
            (3 * DAY, true),
        ] {
            let now = DRAWN + later;
            let entry = entry(folder.path(), now);
            assert_eq!(renew(&entry, SIZE, now - DAY).unwrap(), is_due, "after {later:?}");
            let secret = current(&entry, SIZE).unwrap();
            assert_eq!(secrets.last() != Some(&secret), is_due, "after {later:?}");
            if is_due {
                assert!(!secrets.contains(&secret));
                secrets.push(secret);
            }
        }
    }

    #[test]
    fn hash_secret_of_a_tenant_is_its_own_and_is_replaced_with_the_shared_one() {
        let [acme, beta] = ["acme", "beta"].map(|name| TenantId::parse(name).unwrap());
        let of =
            |master: u8, shared: u8, tenant| of_tenant(&[master; 32], &[shared; 24], tenant, SIZE);
        let first = of(1, 1, &acme);
        assert_eq!((first.len(), &first), (24, &of(1, 1, &acme)));
        let others = [of(1, 1, &beta), of(1, 2, &acme), of(2, 1, &acme), vec![1; 24]];
        assert!(!others.contains(&first));
    }

    #[test]
    fn a_cache_without_a_secret_renews_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!renew(&entry(folder.path(), DRAWN), SIZE, DRAWN).unwrap());
    }
}
