//! What the operations of a run's file system cost.

use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use criterion::{Bencher, Criterion, Throughput};
use wardian_formats::job::SetupLimits;
use wardian_sandbox::vfs::tree::content::{Content, SharedBytes};
use wardian_sandbox::vfs::tree::immutable::ImmutableTree;
use wardian_sandbox::vfs::{At, Errno, Fd, FileSystem, Mount, OpenHow};

/// Descriptor of `/`.
const ROOT: Fd = 3;
/// Length of the files.
const LENGTH: usize = 64 << 10;
/// Files in the folder that is listed.
const MANY: usize = 1_000;

fn main() -> Result<()> {
    let mut criterion = Criterion::default().configure_from_args();
    let mounts = mounts()?;
    let mut group = criterion.benchmark_group("filesystem");
    group.bench_function("made for a run", |bencher| {
        bencher.iter(|| FileSystem::for_run(&SetupLimits::DEFAULT, &mounts, 0));
    });
    let mut files = FileSystem::for_run(&SetupLimits::DEFAULT, &mounts, 0)?;
    let path = At { folder: ROOT, path: "/skills/acme.report/data/f500.csv" };
    group.bench_function("open and close", |bencher| {
        repeat(bencher, || open_and_close(&mut files, path));
    });
    group.bench_function("list 1,000", |bencher| {
        repeat(bencher, || list(&mut files, "/skills/acme.report/data"));
    });
    let fd = files.open(path, OpenHow::READ, 0).map_err(shown).context("open")?;
    let mut buffer = vec![0; LENGTH];
    group.throughput(Throughput::Bytes(u64::try_from(LENGTH)?));
    group.bench_function("read 64 KiB", |bencher| {
        repeat(bencher, || files.read_at(fd, &mut buffer, 0));
    });
    let own = At { folder: ROOT, path: "/workspace/out.csv" };
    let fd = files.open(own, OpenHow::REPLACE, 0).map_err(shown).context("create")?;
    group.bench_function("write 64 KiB", |bencher| {
        repeat(bencher, || files.write_at(fd, &buffer, 0, 0));
    });
    group.finish();
    criterion.final_summary();
    Ok(())
}

/// A skill with a folder of many files.
fn mounts() -> Result<Vec<Mount>> {
    let content: Arc<dyn Content> = Arc::new(SharedBytes::new(vec![7; LENGTH]));
    let named = |at| (format!("data/f{at}.csv"), Arc::clone(&content));
    let tree = ImmutableTree::from_files((0..MANY).map(named))?;
    Ok(vec![Mount::tree("/skills/acme.report", Arc::new(tree))])
}

/// Measures an operation that must succeed.
#[expect(clippy::panic, reason = "a failure would be measured as a very fast success")]
fn repeat<T>(bencher: &mut Bencher<'_>, mut operation: impl FnMut() -> Result<T, Errno>) {
    bencher.iter(|| match operation() {
        Ok(done) => done,
        Err(errno) => panic!("{errno:?}"),
    });
}

fn open_and_close(files: &mut FileSystem, path: At<'_>) -> Result<(), Errno> {
    let fd = files.open(path, OpenHow::READ, 0)?;
    files.close(fd)
}

fn list(files: &mut FileSystem, path: &str) -> Result<usize, Errno> {
    let fd = files.open(At { folder: ROOT, path }, OpenHow::READ, 0)?;
    let mut seen = 0;
    files.list(fd, 0, |_| {
        seen += 1;
        ControlFlow::Continue(())
    })?;
    files.close(fd)?;
    Ok(seen)
}

fn shown(errno: Errno) -> anyhow::Error {
    anyhow::anyhow!("{errno:?}")
}
