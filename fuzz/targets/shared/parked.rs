//! What the fuzzers of parked files have in common: what holds for all files that are rebuilt.

use std::sync::Arc;

use wardian_formats::job::SetupLimits;
use wardian_sandbox::session::examine_files;
use wardian_sandbox::vfs::Mount;
use wardian_sandbox::vfs::tree::content::{Content, SharedBytes};
use wardian_sandbox::vfs::tree::immutable::ImmutableTree;
use wardian_sandbox::{PackError, SandboxError};
use wardian_vocabulary::units::ByteCount;

const LIMITS: SetupLimits = SetupLimits {
    memory: ByteCount::mebibytes(64),
    workspace: ByteCount::kibibytes(400),
    workspace_entries: 30,
    open_files: 8,
};

/// Files that are rebuilt from these bytes stay within their limits and can be parked again. What is parked
/// then is what is rebuilt from it.
pub fn check(tree: &[u8], descriptors: &[u8]) {
    let mounts = mounts();
    let files = match examine_files(tree, descriptors, &mounts, &LIMITS) {
        Ok(files) => files,
        Err(SandboxError::Pack(fault @ PackError::Unparkable { .. })) => panic!("{fault}"),
        Err(_) => return,
    };
    let (bytes, entries) = files.usage;
    assert!(bytes <= LIMITS.workspace.as_u64() && entries <= LIMITS.workspace_entries);
    let again = examine_files(&files.tree, &files.descriptors, &mounts, &LIMITS);
    assert_eq!(again.expect("what was parked can be rebuilt"), files);
}

fn mounts() -> [Mount; 2] {
    let bytes =
        |text: &str| -> Arc<dyn Content> { Arc::new(SharedBytes::new(text.as_bytes().to_vec())) };
    let skill = ImmutableTree::from_files([("SKILL.md", bytes("# Report"))]).unwrap();
    [Mount::tree("/skills/a.b", Arc::new(skill)), Mount::file("/blobs/blob:a", bytes("a,b"))]
}
