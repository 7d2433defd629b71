//! Packs that somebody has written who means harm. Their digests are right.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use crate::error::SandboxError;
use crate::session::error::PackError;
use crate::session::files::descriptors::write_descriptors;
use crate::session::files::tree::write_tree;
use crate::session::pack::head::{Head, OpenedPack, PackParts, read_pack, write_pack};
use crate::session::pack::writer::PackWriter;
use crate::session::pages::frame::FrameWriter;
use crate::session::resume::restore_process;
use crate::session::state::mounts_digest;
use crate::session::tests::trees::tree;
use crate::session::tests::{LIMITS, Packs, begun, seen, with_blobs};
use crate::session::{ExaminedFiles, examine, examine_files};
use crate::vfs::parked::{
    ParkedDescriptor, ParkedEntry, ParkedKind, ParkedNode, ParkedOpen, ParkedPlace, ParkedPosition,
    ParkedTree,
};
use crate::vfs::tests::WORKSPACE;
use crate::vfs::tree::content::{Content, SharedBytes};
use crate::vfs::tree::immutable::ImmutableTree;
use crate::vfs::tree::node::Times;
use crate::vfs::{Access, At, Errno, Mount, OpenHow};
use wardian_vocabulary::ids::Digest;

/// A pack with this tree and these descriptors.
fn pack_of(tree: &ParkedTree, descriptors: &[ParkedDescriptor]) -> Vec<u8> {
    let process = begun(&LIMITS, &[]);
    let tree = write_tree(tree);
    let mut frames = FrameWriter::new();
    for (page, bytes) in (0..).zip(tree.chunks(4096)) {
        let mut whole = [0; 4096];
        whole[..bytes.len()].copy_from_slice(bytes);
        frames.add(page, &whole, None);
    }
    let (frames, pages) = frames.finish();
    let mut contents = PackWriter::default();
    contents.number(1);
    contents.number(0);
    contents.count(tree.len().div_ceil(4096));
    contents.raw(&frames);
    let mut files = PackWriter::default();
    files.digest(&mounts_digest(&process.files));
    files.count(tree.len());
    write_descriptors(descriptors, &mut files);
    let clocks = crate::session::clocks::write_clocks(&process.clock_and_random.parked(), 0);
    let digest = Digest::of(b"x");
    let head = Head {
        image: digest,
        order: digest,
        sequence: 1,
        base: None,
        root: digest,
        pages,
        memory: 0,
    };
    let parts = PackParts {
        memory: &[],
        contents: contents.as_slice(),
        files: files.as_slice(),
        clocks: &clocks,
    };
    write_pack(&head, parts).bytes
}

#[expect(
    clippy::panic_in_result_fn,
    reason = "errors are the result, and wrong ones a failed test"
)]
fn end_of(tree: &ParkedTree, descriptors: &[ParkedDescriptor]) -> Result<(), PackError> {
    let pack = pack_of(tree, descriptors);
    let mut process = begun(&LIMITS, &[]);
    restore_process(&mut process, &[read_pack(&pack).unwrap()], &LIMITS)?;
    // What was accepted is whole.
    let (bytes, entries) = process.files.workspace_usage();
    assert!(bytes <= LIMITS.workspace.as_u64() && entries <= LIMITS.workspace_entries);
    Packs::default().park(&process);
    Ok(())
}

const ROOT: u64 = 4;

fn folder(entries: &[(&str, u64)]) -> ParkedNode {
    let entries = entries.iter().zip(3..).map(|((name, inode), cookie)| ParkedEntry {
        name: (*name).into(),
        cookie,
        inode: *inode,
    });
    let kind = ParkedKind::Folder { next_cookie: 90, entries: entries.collect() };
    ParkedNode { times: Times::all(7), kind }
}

fn link(target: &str) -> ParkedNode {
    ParkedNode { times: Times::all(7), kind: ParkedKind::Link(target.into()) }
}

fn tree_of(nodes: Vec<(u64, ParkedNode)>) -> ParkedTree {
    ParkedTree { shown: Vec::new(), nodes, last_inode: 99 }
}

#[test]
fn the_workspace_has_the_number_that_these_tests_use() {
    let process = begun(&LIMITS, &[]);
    assert_eq!(process.files.parked_tree().unwrap().nodes[0].0, ROOT);
    assert_eq!(end_of(&tree_of(vec![(ROOT, folder(&[]))]), &[]), Ok(()));
}

#[test]
fn hostile_trees_are_refused() {
    let refused = |what: &str, nodes: Vec<(u64, ParkedNode)>| {
        let end = end_of(&tree_of(nodes), &[]);
        assert!(matches!(end, Err(PackError::Files(_))), "{what}: {end:?}");
    };
    refused("no workspace", vec![]);
    refused("a workspace that is a link", vec![(ROOT, link("x"))]);
    refused("a node without a name", vec![(ROOT, folder(&[])), (7, link("x"))]);
    refused("an entry without a node", vec![(ROOT, folder(&[("a", 7)]))]);
    refused("a folder in itself", vec![(ROOT, folder(&[])), (7, folder(&[("a", 7)]))]);
    let circle = vec![(ROOT, folder(&[])), (7, folder(&[("a", 8)])), (8, folder(&[("a", 7)]))];
    refused("two folders in each other", circle);
    refused("the workspace in itself", vec![(ROOT, folder(&[("a", ROOT)]))]);
    refused(
        "a folder with two names",
        vec![(ROOT, folder(&[("a", 7), ("b", 7)])), (7, folder(&[]))],
    );
    for name in ["", ".", "..", "a/b", "a\0"] {
        refused(name, vec![(ROOT, folder(&[(name, 7)])), (7, link("x"))]);
    }
    refused("a read-only folder", vec![(ROOT, folder(&[("a", 1)]))]);
    refused("the number of a read-only folder", vec![(1, folder(&[])), (ROOT, folder(&[]))]);
    refused("a link to nothing", vec![(ROOT, folder(&[("a", 7)])), (7, link(""))]);
    let mut deep = vec![(ROOT, folder(&[("a", 5)]))];
    deep.extend((5..400).map(|inode| (inode, folder(&[("a", inode + 1)]))));
    deep.push((400, folder(&[])));
    refused("a folder that lies too deep", deep);
    let mut beyond = tree_of(vec![(ROOT, folder(&[("a", 7)])), (7, link("x"))]);
    beyond.last_inode = 6;
    assert_eq!(end_of(&beyond, &[]), Err(PackError::Files(Errno::Invalid)));
    beyond.last_inode = 7;
    assert_eq!(end_of(&beyond, &[]), Ok(()));
}

#[test]
fn hostile_descriptors_are_refused() {
    let tree = tree_of(vec![(ROOT, folder(&[("a", 7)])), (7, link("x"))]);
    let file = |place, reads, position, write| {
        let access = Access { read: true, write };
        ParkedOpen::File { place, reads, position, access, appends: false }
    };
    let open = |place, preopened: Option<&str>| ParkedOpen::Folder {
        place,
        preopened: preopened.map(Into::into),
        listed: None,
    };
    let own = ParkedPlace::Own;
    let at = ParkedPosition::At;
    for (fd, what) in [
        (9, file(own(7), None, at(0), false)),
        (9, file(own(ROOT), None, at(0), false)),
        (9, file(own(55), None, at(0), false)),
        (9, file(own(7), Some(1), at(0), false)),
        (9, file(ParkedPlace::Mounted { tree: 0, path: "null".into() }, None, at(0), false)),
        (9, file(ParkedPlace::Mounted { tree: 4, path: "".into() }, None, at(0), false)),
        (9, file(own(7), None, ParkedPosition::SharedWith(9), false)),
        (9, open(own(7), None)),
        (9, open(own(ROOT), Some("/workspace"))),
        (4, open(own(1), Some("/workspace"))),
        (4, open(own(ROOT), Some("/tmp"))),
        (1 << 17, ParkedOpen::Input),
        (9, ParkedOpen::Device(crate::vfs::tree::device::Device::Null)),
    ] {
        let descriptor = ParkedDescriptor { fd, nonblocking: false, what };
        let is_right =
            descriptor.what == ParkedOpen::Device(crate::vfs::tree::device::Device::Null);
        let end = end_of(&tree, std::slice::from_ref(&descriptor));
        assert_eq!(end.is_ok(), is_right, "{descriptor:?} {end:?}");
        let twice = end_of(&tree, &[descriptor.clone(), descriptor]);
        assert!(twice.is_err(), "one number is open twice");
    }
    let many =
        (9..40).map(|fd| ParkedDescriptor { fd, nonblocking: false, what: ParkedOpen::Input });
    let end = end_of(&tree, &many.collect::<Vec<_>>());
    assert_eq!(end, Err(PackError::Files(Errno::TooManyOpenFiles)));
}

/// Numbers of nodes as a file system gives them, so that most trees fit together.
fn plausible(mut tree: ParkedTree) -> ParkedTree {
    let numbers: Vec<u64> = (ROOT..).take(tree.nodes.len()).collect();
    for ((inode, _), number) in tree.nodes.iter_mut().zip(&numbers) {
        *inode = *number;
    }
    tree.last_inode = 99;
    let mut left: BTreeSet<u64> = numbers.into_iter().skip(1).collect();
    for (_, node) in &mut tree.nodes {
        if let ParkedKind::Folder { next_cookie, entries } = &mut node.kind {
            *next_cookie = 60;
            let mut cookies = 3..;
            entries.retain_mut(|entry| {
                entry.inode += ROOT;
                entry.cookie = cookies.next().unwrap();
                left.remove(&entry.inode)
            });
        }
    }
    tree
}

proptest! {
    #[test]
    fn hostile_trees_leave_files_that_are_whole(tree in tree(), is_plausible in any::<bool>()) {
        let tree = if is_plausible { plausible(tree) } else { tree };
        end_of(&tree, &[]).ok();
    }

    /// Bytes of a pack are changed below its digest.
    #[test]
    fn bounded_packs_are_examined_to_their_end(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        let mut process = begun(&LIMITS, &[]);
        let how = OpenHow { create: true, access: Access { read: true, write: true }, ..OpenHow::READ };
        for name in ["one", "two"] {
            let fd = process.files.open(At { folder: WORKSPACE, path: name }, how, 5).unwrap();
            process.files.write(fd, &[b'z'; 9_000], 6).unwrap();
        }
        process.files.make_folder(At { folder: WORKSPACE, path: "folder" }, 7).unwrap();
        let mut packs = Packs::default();
        packs.park(&process);
        let pack = &packs.packs[0];
        assert!(examine(&[pack], &LIMITS).is_ok());
        let OpenedPack { head, parts, .. } = read_pack(pack).unwrap();
        let mut all = [parts.contents, parts.files, parts.clocks].map(<[u8]>::to_vec);
        let length: usize = all.iter().map(Vec::len).sum();
        for (at, byte) in changes {
            let mut at = at.index(length);
            for part in &mut all {
                match part.get_mut(at) {
                    Some(place) => { *place = byte; break; }
                    None => at -= part.len(),
                }
            }
        }
        let [contents, files, clocks] = &all;
        let changed = write_pack(&head, PackParts { memory: parts.memory, contents, files, clocks });
        examine(&[&changed.bytes], &LIMITS).ok();
    }
}

#[test]
fn a_pack_with_too_many_pages_is_refused() {
    let process = with_blobs(&LIMITS);
    let mut packs = Packs::default();
    packs.park(&process);
    let opened = read_pack(&packs.packs[0]).unwrap();
    let mut frames = FrameWriter::new();
    let most = 3_000_000;
    for page in 0..most {
        frames.add_pristine(page);
    }
    let mut contents = PackWriter::default();
    contents.number(1);
    contents.number(5);
    contents.number(most);
    contents.raw(&frames.finish().0);
    let parts = PackParts { contents: contents.as_slice(), ..opened.parts };
    let many = write_pack(&opened.head, parts).bytes;
    let mut other = with_blobs(&LIMITS);
    let end = restore_process(&mut other, &[read_pack(&many).unwrap()], &LIMITS).unwrap_err();
    assert!(matches!(end, PackError::Damaged { .. }), "{end}");
    let before = seen(&process);
    let mut whole = with_blobs(&LIMITS);
    packs.resume_into(&mut whole, &LIMITS).unwrap();
    assert_eq!(seen(&whole), before);
}

/// The folder of a fuzzer's seeds.
fn seeds_of(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/../../fuzz/seeds/{target}", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).unwrap().map(|seed| seed.unwrap().path());
    files.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
}

/// As the fuzzers of trees and of descriptors do it.
fn examined(tree: &[u8], descriptors: &[u8]) -> Result<ExaminedFiles, SandboxError> {
    let skill: Arc<dyn Content> = Arc::new(SharedBytes::new(b"# Report".to_vec()));
    let skill = Arc::new(ImmutableTree::from_files([("SKILL.md", skill)]).unwrap());
    let blob: Arc<dyn Content> = Arc::new(SharedBytes::new(b"a,b".to_vec()));
    let mounts = [Mount::tree("/skills/a.b", skill), Mount::file("/blobs/blob:a", blob)];
    examine_files(tree, descriptors, &mounts, &LIMITS)
}

/// The fuzzers begin with these.
#[test]
fn seeds_of_the_fuzzers_are_trees_and_descriptors() {
    let trees = seeds_of("trees");
    for (name, tree) in &trees {
        let files = examined(tree, &[0]).unwrap_or_else(|refused| panic!("{name}: {refused:?}"));
        assert_eq!(&files.tree, tree, "{name} is parked as it was");
    }
    let tree = &trees.iter().find(|(name, _)| name.ends_with("everything")).unwrap().1;
    let descriptors = seeds_of("descriptors");
    for (name, descriptors) in &descriptors {
        let files = examined(tree, descriptors);
        let files = files.unwrap_or_else(|refused| panic!("{name}: {refused:?}"));
        assert_eq!(&files.descriptors, descriptors, "{name} are parked as they were");
    }
    assert_eq!((trees.len(), descriptors.len()), (4, 4));
}

/// The fuzzer begins with these packs. One that is refused teaches it nothing.
#[test]
fn seeds_of_the_fuzzer_are_packs() {
    let seeds = seeds_of("packs");
    for (name, seed) in &seeds {
        let pack = match seed.split_first() {
            Some((b'r', pack)) => pack.to_vec(),
            Some((b'b', body)) => sealed(body),
            _ => panic!("{name} is of no form"),
        };
        if let Err(refused) = examine(&[&pack], &LIMITS) {
            panic!("{name}: {refused}");
        }
    }
    assert_eq!(seeds.len(), 4);
}

fn sealed(body: &[u8]) -> Vec<u8> {
    [body, Digest::of(body).as_bytes()].concat()
}
