//! A fake guest memory with only the interpreter fields that the sampler reads.

use crate::profile::layout::{COOKIE, VERSION, words};

/// Addresses in the memory.
const RUNTIME: u32 = 4_096;
const INTERPRETER: u32 = 8_192;
const THREAD: u32 = 12_288;
const HEAP: u32 = 16_384;

/// Offsets as the engine's interpreter has them, by their words in the table.
const OFFSETS: [(usize, u64); 19] = [
    (words::VERSION, VERSION),
    (words::IS_FREE_THREADED, 0),
    (words::INTERPRETERS, 0x39c),
    (words::INTERPRETER_NEXT, 0xe3c),
    (words::INTERPRETER_THREADS, 0xe70),
    (words::INTERPRETER_COLLECTOR, 0xe94),
    (words::THREAD_INTERPRETER, 8),
    (words::THREAD_FRAME, 0x38),
    (words::FRAME_PREVIOUS, 4),
    (words::FRAME_EXECUTABLE, 0),
    (words::FRAME_OWNER, 0x26),
    (words::CODE_FILE, 0x50),
    (words::CODE_QUALIFIED_NAME, 0x58),
    (words::CODE_FIRST_LINE, 0x2c),
    (words::TEXT_STATE, 0x10),
    (words::TEXT_LENGTH, 8),
    (words::ASCII_SIZE, 0x14),
    (words::COMPACT_SIZE, 0x1c),
    (words::COLLECTING, 0x4c),
];

/// The memory of a guest.
#[derive(Debug, Clone)]
pub(crate) struct FakePython {
    pub memory: Vec<u8>,
    next: u32,
}

impl FakePython {
    pub(super) fn new() -> Self {
        let mut new = Self { memory: vec![0; HEAP as usize], next: HEAP };
        new.memory[RUNTIME as usize..][..8].copy_from_slice(COOKIE);
        for (word, value) in OFFSETS {
            let at = RUNTIME as usize + 8 + 8 * word;
            new.memory[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        new.write(RUNTIME + 0x39c, INTERPRETER);
        new.write(INTERPRETER + 0xe70, THREAD);
        new.write(THREAD + 8, INTERPRETER);
        new
    }

    pub(super) fn write(&mut self, at: u32, word: u32) {
        self.memory[at as usize..][..4].copy_from_slice(&word.to_le_bytes());
    }

    fn allocate(&mut self, length: usize) -> u32 {
        let at = self.next;
        self.memory.resize(self.memory.len() + length.next_multiple_of(8), 0);
        self.next = u32::try_from(self.memory.len()).unwrap();
        at
    }

    /// A `str`, with letters as narrow as Python has them.
    pub(super) fn text(&mut self, text: &str) -> u32 {
        let highest = text.chars().map(u32::from).max().unwrap_or(0);
        let (width, start) = match highest {
            0..128 => (1, 0x14),
            128..256 => (1, 0x1c),
            256..65_536 => (2, 0x1c),
            _ => (4, 0x1c),
        };
        let letters =
            text.chars().flat_map(|letter| u32::from(letter).to_le_bytes().into_iter().take(width));
        let letters: Vec<u8> = letters.collect();
        let at = self.allocate(start + letters.len());
        self.write(at + 8, u32::try_from(text.chars().count()).unwrap());
        let is_ascii = u32::from(highest < 128);
        self.write(at + 0x10, u32::try_from(width).unwrap() << 2 | 1 << 5 | is_ascii << 6);
        self.memory[at as usize + start..][..letters.len()].copy_from_slice(&letters);
        at
    }

    /// A code object.
    pub(super) fn code(&mut self, name: &str, file: &str, line: u32) -> u32 {
        let (name, file) = (self.text(name), self.text(file));
        let at = self.allocate(0x84);
        self.write(at + 0x58, name);
        self.write(at + 0x50, file);
        self.write(at + 0x2c, line);
        at
    }

    /// A frame of this code; returns its address.
    pub(super) fn frame(&mut self, code: u32, owner: u8, previous: u32) -> u32 {
        let at = self.allocate(0x2c);
        // The lowest bit is a tag.
        self.write(at, code | 1);
        self.write(at + 4, previous);
        self.memory[at as usize + 0x26] = owner;
        at
    }

    /// Makes this the innermost frame.
    pub(super) fn enter(&mut self, frame: u32) {
        self.write(THREAD + 0x38, frame);
    }

    /// Lets the calls of these codes be active, the outermost first.
    pub(super) fn call(&mut self, codes: &[u32]) {
        let mut frame = self.frame(0, 3, 0);
        for code in codes {
            frame = self.frame(*code, 0, frame);
        }
        self.enter(frame);
    }

    pub(super) fn collect(&mut self, is_collecting: bool) {
        self.write(INTERPRETER + 0xe94 + 0x4c, u32::from(is_collecting));
    }
}
