//! What a worker is told: frames from the gateway, and the folders that attached skills make.
//!
//! The gateway is trusted, but what it passes on was written by others: a skill's paths, a run's
//! arguments. Forms and checks are those of `worker_frames`.

#![no_main]

#[path = "shared/stream.rs"]
mod stream;

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use wardian_formats::job::attachment::{AttachedContent, Attachment, PackedFile};
use wardian_formats::job::message::ToWorker;
use wardian_sandbox::vfs::tree::content::{Content, SharedBytes};
use wardian_sandbox::vfs::tree::immutable::ImmutableTree;
use wardian_sandbox::vfs::{MAX_DEPTH, MAX_NAME};

fuzz_target!(|bytes: &[u8]| {
    for (message, _) in stream::received::<ToWorker>(bytes) {
        stream::assert_reads_back(&message);
        match message {
            ToWorker::Attach(Attachment {
                content: AttachedContent::Skill { files, .. }, ..
            }) => {
                check_tree(&files);
            }
            ToWorker::Run(setup, _) | ToWorker::Open(_, setup) | ToWorker::Resume(_, setup) => {
                let printed = format!("{setup:?}");
                let secrets = setup.environment.values().filter(|secret| secret.expose().len() > 60);
                assert!(secrets.into_iter().all(|secret| !printed.contains(secret.expose())));
            }
            _ => {}
        }
    }
});

fn check_tree(files: &[PackedFile]) {
    let content: Arc<dyn Content> = Arc::new(SharedBytes::new(Vec::new()));
    let all = files.iter().map(|file| (file.path.as_str(), Arc::clone(&content)));
    let Ok(tree) = ImmutableTree::from_files(all) else { return };
    for file in files {
        assert!(tree.find_file(&file.path).is_some(), "{:?} is not there", file.path);
        let names: Vec<&str> = file.path.split('/').collect();
        assert!(names.len() <= MAX_DEPTH);
        for name in names {
            assert!(!matches!(name, "" | "." | "..") && name.len() <= MAX_NAME, "{:?}", file.path);
            assert!(!name.contains('\0'));
        }
    }
}
