//! Trees of files in packs, as a hostile guest or somebody who writes to the gateway's disk could have made
//! them. No descriptor is open.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "shared/parked.rs"]
mod parked;

/// A list of descriptors that has none.
const NONE: &[u8] = &[0];

fuzz_target!(|tree: &[u8]| parked::check(tree, NONE));
