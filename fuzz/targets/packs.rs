//! Packs of checkpoints, as somebody could have changed them who writes to the gateway's disk.
//!
//! The first byte says how to read the rest: `r` as a whole pack, `b` as one without the digest at its
//! end, which is added, so that the fuzzer need not guess it. Beyond "no panic" and bounded memory: a
//! pack that is taken has the facts that it is given, and says the same when it is read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use wardian_formats::job::SetupLimits;
use wardian_formats::job::session::checkpoint::PACK_FORMAT;
use wardian_sandbox::session::examine;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

const LIMITS: SetupLimits = SetupLimits {
    memory: ByteCount::mebibytes(64),
    workspace: ByteCount::mebibytes(1),
    workspace_entries: 100,
    open_files: 16,
};

fuzz_target!(|bytes: &[u8]| {
    let pack = match bytes.split_first() {
        Some((b'r', pack)) => pack.to_vec(),
        Some((b'b', body)) => [body, &Sha256::digest(body)].concat(),
        _ => return,
    };
    let Ok(facts) = examine(&[&pack], &LIMITS) else { return };
    assert_eq!(facts.format, PACK_FORMAT);
    assert_eq!(facts.digest, Digest::of(&pack));
    assert_eq!(facts.size, ByteCount::from(pack.len()));
    assert!(facts.is_whole(), "a pack that continues another was taken alone");
    assert_eq!(examine(&[&pack], &LIMITS).ok(), Some(facts));
});
