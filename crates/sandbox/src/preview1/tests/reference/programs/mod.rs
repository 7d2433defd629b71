//! Short programs, one for each topic of preview 1, with the expected answer of every call. The
//! reference must agree except for the listed differences, until one of them leaves the two sides
//! with different files.

mod descriptors;
mod links;
mod names;
mod process;

use std::collections::BTreeMap;

use crate::preview1::tests::reference::calls::{
    Awaited, BOTH, CREATE, Call, DIRECTORY, EXCLUSIVE, GivenTimes, Handle, Opening, Path, READS,
    TRUNCATE, WRITES, base, open, read, write,
};
use crate::preview1::tests::reference::differences::{DIFFERENCES, Then, errno};
use crate::preview1::tests::reference::pair::Pair;
use crate::preview1::tests::reference::session::{TRAP, Value, Vectors};

const FILE: u64 = 4;
const FOLDER: u64 = 3;
const LINK: u64 = 7;

/// A call and its expected answer.
struct Expected {
    call: Call,
    errno: u32,
    fields: Vec<(&'static str, Value)>,
}

impl Expected {
    fn and(mut self, field: &'static str, value: u64) -> Self {
        self.fields.push((field, Value::Number(value)));
        self
    }

    fn and_bytes(mut self, field: &'static str, value: &[u8]) -> Self {
        self.fields.push((field, Value::Bytes(value.to_vec())));
        self
    }

    fn and_names(mut self, names: &[(&str, u64)]) -> Self {
        let named = |(name, kind): &(&str, u64)| ((*name).to_owned(), u8::try_from(*kind).unwrap());
        let dots = [(".", FOLDER), ("..", FOLDER)];
        let names: BTreeMap<String, u8> = names.iter().chain(&dots).map(named).collect();
        self.fields.push(("names", Value::Names(names)));
        self
    }
}

fn ok(call: Call) -> Expected {
    Expected { call, errno: errno::NONE, fields: Vec::new() }
}

fn fails(call: Call, errno: u32) -> Expected {
    Expected { call, errno, fields: Vec::new() }
}

fn run(program: Vec<Expected>) {
    let mut pair = Pair::new(Vectors::OneByOne);
    let mut are_alike = true;
    for Expected { call, errno, fields } in program {
        let step = pair.step(&call);
        assert_eq!(step.ours.errno, errno, "{step:#?}");
        for expected in fields {
            assert!(step.ours.fields.contains(&expected), "{expected:?}, {step:#?}");
        }
        if are_alike {
            let known = pair.known(&step).unwrap_or_else(|unlisted| panic!("{unlisted}"));
            are_alike = known.iter().all(|index| DIFFERENCES[*index].then == Then::GoOn);
        }
    }
}

const fn slot(number: usize) -> Handle {
    Handle::Open(number)
}

fn within(number: usize, text: &str) -> Path {
    Path { at: slot(number), text: text.to_owned() }
}

fn make(text: &str) -> Call {
    Call::MakeFolder(base(text))
}

fn remove(text: &str) -> Call {
    Call::RemoveFolder(base(text))
}

fn unlink(text: &str) -> Call {
    Call::Unlink(base(text))
}

fn stat(text: &str) -> Call {
    Call::PathStat { path: base(text), lookup: 1 }
}

fn stat_link(text: &str) -> Call {
    Call::PathStat { path: base(text), lookup: 0 }
}

fn link(from: &str, to: &str) -> Call {
    Call::Link { from: base(from), lookup: 0, to: base(to) }
}

fn rename(from: &str, to: &str) -> Call {
    Call::Rename { from: base(from), to: base(to) }
}

fn symlink(target: &str, text: &str) -> Call {
    Call::Symlink { target: target.to_owned(), path: base(text) }
}

fn read_link(text: &str, length: u32) -> Call {
    Call::ReadLink { path: base(text), length }
}

fn touch(text: &str) -> Call {
    open(text, CREATE, BOTH)
}

fn seek(number: usize, delta: i64, whence: u32) -> Call {
    Call::Seek { fd: slot(number), delta, whence }
}

fn read_at(number: usize, length: u32, offset: u64) -> Call {
    Call::Read { fd: slot(number), lengths: vec![length], offset: Some(offset) }
}

fn write_at(number: usize, bytes: &[u8], offset: u64) -> Call {
    Call::Write { fd: slot(number), parts: vec![bytes.to_vec()], offset: Some(offset) }
}

fn close(number: usize) -> Call {
    Call::Close(slot(number))
}

fn list(fd: Handle, length: u32) -> Call {
    Call::List { fd, length }
}

/// Opens without following a link at the end.
fn open_itself(text: &str, oflags: u32, rights: u64) -> Call {
    Call::Open { path: base(text), how: Opening { lookup: 0, oflags, rights, fdflags: 0 } }
}

fn open_with_flags(text: &str, fdflags: u32) -> Call {
    let how = Opening { lookup: 1, oflags: CREATE, rights: BOTH, fdflags };
    Call::Open { path: base(text), how }
}
