//! Descriptors in packs, as a hostile guest or somebody who writes to the gateway's disk could have made
//! them. They are open on a tree that has files, folders and links.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "shared/parked.rs"]
mod parked;

const TREE: &[u8] = include_bytes!("../seeds/trees/everything");

fuzz_target!(|descriptors: &[u8]| parked::check(TREE, descriptors));
