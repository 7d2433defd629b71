//! A store with a hundred thousand blobs: how long a start takes, and the first blob that is stored.
//!
//! `cargo bench --bench blobs -- 100000`. Not made with criterion: one start is what counts.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark may panic, and prints")]

use std::fs;
use std::time::Instant;

use wardian_stores::blobs::content::kind::BlobKind;
use wardian_stores::blobs::{BlobStoreConfig, LocalBlobStore};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, Digest, TenantId};

fn main() {
    let blobs = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(100_000_u32);
    let folder = tempfile::tempdir().unwrap();
    let config =
        BlobStoreConfig { tenant_blobs: 1_000_000, ..BlobStoreConfig::at(folder.path().into()) };
    let tenant = folder.path().join("tenants/local");
    fs::create_dir_all(&tenant).unwrap();
    for number in 0..blobs {
        // Only names and sizes are counted.
        let id = BlobId::of_digest(&Digest::of(&number.to_le_bytes()));
        fs::write(tenant.join(id.letters()), [0; 300]).unwrap();
    }
    let kind = BlobKind::parse("text/plain").unwrap();
    let local = TenantId::local();
    for is_counted in [true, false] {
        let started = Instant::now();
        let store = LocalBlobStore::open(config.clone(), Clock::System).unwrap();
        println!("start with {blobs} blobs: {:?}", started.elapsed());
        if is_counted {
            let started = Instant::now();
            store.count_all().unwrap();
            println!("counting, in the background of a start: {:?}", started.elapsed());
        }
        let started = Instant::now();
        store.put(&local, &kind, format!("{is_counted}").as_bytes()).unwrap();
        let when = if is_counted { "after the count" } else { "that has to count" };
        println!("first blob {when}: {:?}", started.elapsed());
    }
}
