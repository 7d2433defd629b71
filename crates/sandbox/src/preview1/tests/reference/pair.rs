//! Wardian's file system and a real folder behind `wasmtime-wasi`, driven by the same calls.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use tempfile::TempDir;
use wasmtime::{Instance, Linker, Memory, Store};
use wasmtime_wasi::p1::{self, WasiP1Ctx};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::clock_and_random::ClockAndRandomMode;
use crate::preview1::process::StringTable;
use crate::preview1::tests::reference::calls::{Call, Handle, Opening};
use crate::preview1::tests::reference::differences::{DIFFERENCES, Then};
use crate::preview1::tests::reference::session::{
    Answer, SLOTS, Session, Side, TRAP, Value, Vectors,
};
use crate::preview1::tests::{Guest, call_export, compiled, wasi};
use crate::run::deadline::Deadline;
use crate::vfs::{At, FileKind, FileSystem, LastLink, OpenHow, SetTimes};

const ARGUMENTS: [&str; 3] = ["program", "", "-x é"];
const ENVIRONMENT: [(&str, &str); 2] = [("A", "1"), ("B", "x=y")];

/// The preopened descriptor of `/workspace` in Wardian, and of the only folder of `wasmtime-wasi`.
const OUR_BASE: u64 = 4;
const THEIR_BASE: u64 = 3;

/// The module linked with `wasmtime-wasi`.
pub(super) struct Reference {
    store: Store<WasiP1Ctx>,
    instance: Instance,
    memory: Memory,
}

impl Reference {
    fn new(folder: &TempDir) -> Self {
        let context = WasiCtxBuilder::new()
            .args(&ARGUMENTS)
            .envs(&ENVIRONMENT)
            .allow_blocking_current_thread(true)
            .preopened_dir(folder.path(), "/workspace", FsPerms::ReadWrite)
            .unwrap()
            .build_p1();
        let (engine, module) = compiled();
        let mut linker = Linker::new(engine);
        p1::add_to_linker_sync(&mut linker, |context| context).unwrap();
        let mut store = Store::new(engine, context);
        let instance = linker.instantiate(&mut store, module).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        Self { store, instance, memory }
    }
}

impl Side for Reference {
    fn ask(&mut self, name: &str, arguments: &[u64]) -> u32 {
        call_export(&mut self.store, &self.instance, name, arguments).unwrap_or(TRAP)
    }

    fn memory(&mut self) -> &mut [u8] {
        self.memory.data_mut(&mut self.store)
    }
}

impl Side for Guest {
    fn ask(&mut self, name: &str, arguments: &[u64]) -> u32 {
        self.try_call(name, arguments).unwrap_or(TRAP)
    }

    fn memory(&mut self) -> &mut [u8] {
        self.memory()
    }
}

/// The kind of file behind a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Closed,
    Stream,
    Folder,
    File,
}

/// A call and both answers, with the facts that classify a difference.
#[derive(Debug)]
pub(super) struct Step<'c> {
    pub(super) call: &'c Call,
    pub(super) ours: Answer,
    pub(super) theirs: Answer,
    /// The kind of the call's descriptor.
    pub(super) kind: Kind,
    /// The kind of its second descriptor, or of the first if there is no second.
    pub(super) second_kind: Kind,
    /// How the call's descriptor was opened.
    pub(super) opened: Option<Opening>,
    /// Some path of the call, or some symbolic link, contains `..` or begins with a slash.
    pub(super) may_lead_out: bool,
    /// How the reference was given vectors.
    pub(super) vectors: Vectors,
}

pub(super) struct Pair {
    ours: Session<Guest>,
    theirs: Session<Reference>,
    folder: TempDir,
    next_slot: usize,
    /// How Wardian's descriptors were opened.
    opened: BTreeMap<u64, Opening>,
    /// The inode numbers of Wardian, each with the number of the same file in the reference.
    inodes: BTreeMap<u64, u64>,
    /// A symbolic link was made whose target contains `..` or begins with a slash.
    has_odd_links: bool,
}

impl Pair {
    pub(super) fn new(vectors: Vectors) -> Self {
        let (mut ours, turn) =
            wasi(ClockAndRandomMode::Live, Deadline::after(Duration::from_secs(3600)));
        let environment = ENVIRONMENT.iter().map(|(name, value)| format!("{name}={value}"));
        ours.arguments = StringTable::new(ARGUMENTS).unwrap();
        ours.environment = StringTable::new(environment).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let reference = Reference::new(&folder);
        let mut guest = Guest::new((ours, turn));
        // Folders of the host have their own times; the workspace has the time of its run.
        let now = guest.store.data_mut().process.now();
        let times = SetTimes { accessed: Some(now), modified: Some(now) };
        guest
            .store
            .data_mut()
            .process
            .files
            .set_times(at("."), LastLink::Keep, times, now)
            .unwrap();
        Self {
            ours: Session::new(guest, OUR_BASE, Vectors::Whole),
            theirs: Session::new(reference, THEIR_BASE, vectors),
            folder,
            next_slot: 0,
            opened: BTreeMap::new(),
            inodes: BTreeMap::new(),
            has_odd_links: false,
        }
    }

    fn files(&mut self) -> &mut FileSystem {
        &mut self.ours.side.store.data_mut().process.files
    }

    fn kind(&mut self, handle: Handle) -> Kind {
        let fd = u32::try_from(self.ours.fd(handle)).unwrap();
        match self.files().descriptor_stat(fd).map(|stat| stat.kind) {
            Err(_) => Kind::Closed,
            Ok(FileKind::Device) => Kind::Stream,
            Ok(FileKind::Folder) => Kind::Folder,
            Ok(FileKind::File | FileKind::Link) => Kind::File,
        }
    }

    /// Makes the call on both sides.
    pub(super) fn step<'c>(&mut self, call: &'c Call) -> Step<'c> {
        let slot = if let Call::Open { .. } = call { Some(self.free_slot()) } else { None };
        let kind = call.fd().map_or(Kind::Closed, |fd| self.kind(fd));
        let second = match call {
            Call::Renumber { to, .. } => Some(*to),
            _ => call.paths().get(1).map(|path| path.at),
        };
        let second_kind = second.map_or(kind, |fd| self.kind(fd));
        let opened = call.fd().and_then(|fd| self.opened.get(&self.ours.fd(fd)).copied());
        if let Call::Symlink { target, .. } = call {
            self.has_odd_links |= leads_up(target);
        }
        let may_lead_out =
            self.has_odd_links || call.paths().iter().any(|path| leads_up(&path.text));
        let (ours, theirs) = (self.ours.run(call), self.theirs.run(call));
        match call {
            Call::Open { how, .. } => self.keep_opened(slot.unwrap(), *how, &ours, &theirs),
            Call::Close(fd) if ours.errno == 0 && theirs.errno == 0 => self.forget(*fd),
            Call::Renumber { from, to }
                if ours.errno == 0
                    && theirs.errno == 0
                    && self.ours.fd(*from) != self.ours.fd(*to) =>
            {
                if let Some(how) = opened {
                    self.opened.insert(self.ours.fd(*to), how);
                }
                self.forget(*from);
            }
            _ => {}
        }
        let vectors = self.theirs.vectors;
        Step { call, ours, theirs, kind, second_kind, opened, may_lead_out, vectors }
    }

    /// A slot for one more descriptor; if there is none, one is closed.
    fn free_slot(&mut self) -> usize {
        if let Some(free) = self.ours.open.iter().position(Option::is_none) {
            return free;
        }
        self.next_slot = (self.next_slot + 1) % SLOTS;
        let slot = self.next_slot;
        self.close(slot);
        slot
    }

    fn close(&mut self, slot: usize) {
        if let (Some(ours), Some(theirs)) = (self.ours.open[slot], self.theirs.open[slot]) {
            assert_eq!(self.ours.side.ask("fd_close", &[ours]), 0);
            assert_eq!(self.theirs.side.ask("fd_close", &[theirs]), 0);
            self.opened.remove(&ours);
        }
        (self.ours.open[slot], self.theirs.open[slot]) = (None, None);
    }

    fn keep_opened(&mut self, slot: usize, how: Opening, ours: &Answer, theirs: &Answer) {
        match (ours.number("fd"), theirs.number("fd")) {
            (Some(ours), Some(theirs)) => {
                self.opened.insert(ours, how);
                (self.ours.open[slot], self.theirs.open[slot]) = (Some(ours), Some(theirs));
            }
            (Some(ours), None) => assert_eq!(self.ours.side.ask("fd_close", &[ours]), 0),
            (None, Some(theirs)) => assert_eq!(self.theirs.side.ask("fd_close", &[theirs]), 0),
            (None, None) => {}
        }
    }

    fn forget(&mut self, handle: Handle) {
        self.opened.remove(&self.ours.fd(handle));
        if let Some(slot) = self.ours.slot(handle) {
            (self.ours.open[slot], self.theirs.open[slot]) = (None, None);
        }
    }

    /// Names the fields in which the answers differ.
    fn differing(&mut self, step: &Step<'_>) -> Vec<&'static str> {
        if step.ours.errno != step.theirs.errno {
            return vec!["errno"];
        }
        let same_type = step.ours.number("type") == step.theirs.number("type");
        let mut differing = Vec::new();
        for ((field, ours), (_, theirs)) in step.ours.fields.iter().zip(&step.theirs.fields) {
            let same = match (*field, ours, theirs) {
                ("fd", ..) => true,
                ("inode", ..) if !same_type => true,
                // An inode number of Wardian must always match the same number of the reference.
                ("inode", Value::Number(ours), Value::Number(theirs)) => {
                    *ours != 0 && self.inodes.entry(*ours).or_insert(*theirs) == theirs
                }
                _ => ours == theirs,
            };
            if !same {
                differing.push(*field);
            }
        }
        differing
    }

    /// Names the known differences between the answers.
    pub(super) fn known(&mut self, step: &Step<'_>) -> Result<Vec<usize>, String> {
        let mut known = Vec::new();
        for field in self.differing(step) {
            let found = DIFFERENCES.iter().position(|known| (known.accepts)(step, field));
            known.push(
                found.ok_or_else(|| format!("an unlisted difference of {field}: {step:#?}"))?,
            );
        }
        Ok(known)
    }

    /// Makes the calls and compares everything, until a known difference has left the two sides
    /// with different files.
    pub(super) fn compare(mut self, calls: &[Call]) -> Result<(), String> {
        for call in calls {
            let step = self.step(call);
            let known = self.known(&step)?;
            if known.iter().any(|index| DIFFERENCES[*index].then == Then::Stop) {
                return Ok(());
            }
        }
        self.compare_trees()
    }

    /// Compares all remaining files of both sides, and checks that nothing else is charged.
    fn compare_trees(mut self) -> Result<(), String> {
        for slot in 0..SLOTS {
            self.close(slot);
        }
        let mut pending = vec![".".to_owned()];
        while let Some(folder) = pending.pop() {
            for name in self.compare_names(&folder)? {
                let path = format!("{folder}/{name}");
                if self.compare_entry(&path)? == FileKind::Folder {
                    pending.push(path);
                }
            }
        }
        Ok(())
    }

    fn compare_names(&mut self, folder: &str) -> Result<Vec<String>, String> {
        let theirs = std::fs::read_dir(self.folder.path().join(folder)).unwrap();
        let mut theirs: Vec<String> =
            theirs.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        theirs.sort();
        let files = self.files();
        let fd = files.open(at(folder), OpenHow::READ, 0).unwrap();
        let mut ours = Vec::new();
        files
            .list(fd, 2, |entry| {
                ours.push(entry.name.to_owned());
                ControlFlow::Continue(())
            })
            .unwrap();
        files.close(fd).unwrap();
        if ours == theirs { Ok(ours) } else { Err(format!("in {folder}: {ours:?}, {theirs:?}")) }
    }

    fn compare_entry(&mut self, path: &str) -> Result<FileKind, String> {
        let host = self.folder.path().join(path);
        let theirs = std::fs::symlink_metadata(&host).unwrap();
        let files = self.files();
        let ours = files.stat(at(path), LastLink::Keep).unwrap();
        let (same_kind, same_content) = match ours.kind {
            FileKind::Folder => (theirs.is_dir(), true),
            FileKind::Link => {
                let target = std::fs::read_link(&host).ok();
                let target = target.and_then(|target| target.into_os_string().into_string().ok());
                (theirs.is_symlink(), files.read_link(at(path)).ok() == target.as_deref())
            }
            FileKind::File | FileKind::Device => {
                let content = files.read_file(path, u64::MAX).unwrap();
                let theirs_too = std::fs::read(&host).is_ok_and(|text| text == content.as_slice());
                (theirs.is_file(), theirs_too && ours.links == theirs.nlink())
            }
        };
        if same_kind && same_content {
            Ok(ours.kind)
        } else {
            Err(format!("{path}: {ours:?}, {theirs:?}"))
        }
    }
}

fn at(path: &str) -> At<'_> {
    At { folder: u32::try_from(OUR_BASE).unwrap(), path }
}

fn leads_up(path: &str) -> bool {
    path.starts_with('/') || path.split('/').any(|name| name == "..")
}
