//! Where the interpreter keeps the stack of Python calls.
//!
//! CPython begins its state with a table of the offsets of its structures, for debuggers and profilers
//! of other processes. The table is read from the image, before the program has run.

/// The bytes at the start of the table.
pub(crate) const COOKIE: &[u8; 8] = b"xdebugpy";

/// The version of CPython whose table is known: 3.15.0.
pub(super) const VERSION: u64 = 0x030f_00f0;

/// Largest offset of a member that is believed.
const MAX_OFFSET: u64 = 1 << 20;

/// Longest chain of interpreters that is followed. An image has one.
const MAX_INTERPRETERS: usize = 16;

/// Bytes of a guest's memory, which may say anything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryView<'a>(pub(crate) &'a [u8]);

impl<'a> MemoryView<'a> {
    /// The bytes from `at` on, if the memory has so many.
    pub(super) fn bytes(self, at: u32, length: usize) -> Option<&'a [u8]> {
        let start = usize::try_from(at).ok()?;
        self.0.get(start..start.checked_add(length)?)
    }

    pub(super) fn byte(self, at: u32) -> Option<u8> {
        self.bytes(at, 1)?.first().copied()
    }

    /// A number or a pointer.
    pub(super) fn word(self, at: u32) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(at, 4)?.try_into().ok()?))
    }
}

/// Words of the table after its cookie, in the order of `_Py_DebugOffsets`.
pub(super) mod words {
    pub(crate) const VERSION: usize = 0;
    pub(crate) const IS_FREE_THREADED: usize = 1;
    pub(crate) const INTERPRETERS: usize = 4;
    pub(crate) const INTERPRETER_NEXT: usize = 7;
    pub(crate) const INTERPRETER_THREADS: usize = 8;
    pub(crate) const INTERPRETER_COLLECTOR: usize = 10;
    pub(crate) const THREAD_INTERPRETER: usize = 24;
    pub(crate) const THREAD_FRAME: usize = 25;
    pub(crate) const FRAME_PREVIOUS: usize = 39;
    pub(crate) const FRAME_EXECUTABLE: usize = 40;
    pub(crate) const FRAME_OWNER: usize = 43;
    pub(crate) const CODE_FILE: usize = 47;
    pub(crate) const CODE_QUALIFIED_NAME: usize = 49;
    pub(crate) const CODE_FIRST_LINE: usize = 51;
    pub(crate) const TEXT_STATE: usize = 89;
    pub(crate) const TEXT_LENGTH: usize = 90;
    pub(crate) const ASCII_SIZE: usize = 91;
    pub(crate) const COMPACT_SIZE: usize = 92;
    pub(crate) const COLLECTING: usize = 94;
    /// How many of them are read.
    pub(crate) const COUNT: usize = 95;
}

/// Offsets of members, and the two addresses at which a sample begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PythonLayout {
    /// Holds the address of the innermost frame of the one thread.
    pub(crate) innermost: u32,
    /// Holds a number other than 0 while the garbage collector works.
    pub(crate) collecting: u32,
    pub frame: FrameLayout,
    pub code: CodeLayout,
    pub text: TextLayout,
}

/// Members of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    pub(crate) previous: u32,
    pub executable: u32,
    pub owner: u32,
}

/// Members of a code object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeLayout {
    pub file: u32,
    pub(crate) qualified_name: u32,
    pub(crate) first_line: u32,
}

/// Members of a `str`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextLayout {
    pub state: u32,
    pub length: u32,
    /// Where the letters of an ASCII text begin.
    pub(crate) ascii: u32,
    /// Where those of other texts begin.
    pub(crate) compact: u32,
}

/// Where the interpreter's state is, with the table of offsets.
struct Places<'a> {
    table: &'a [[u8; 8]],
    interpreter: u32,
    /// The state of the one thread.
    thread: u32,
}

impl<'a> Places<'a> {
    /// Finds the interpreter's table. `None` unless it has the known version: offsets are never guessed.
    fn find(memory: &'a [u8]) -> Option<Self> {
        let (words, _) = memory.as_chunks::<8>();
        let mut places = words.iter().enumerate().filter(|(_, word)| *word == COOKIE);
        // A copy of the eight bytes in other data has no table behind it.
        places.find_map(|(at, _)| {
            let at = u32::try_from(at.checked_mul(8)?).ok()?;
            Self::read(MemoryView(memory), at)
        })
    }

    fn read(memory: MemoryView<'a>, runtime: u32) -> Option<Self> {
        let table = memory.bytes(runtime.checked_add(8)?, words::COUNT.checked_mul(8)?)?;
        let (table, _) = table.as_chunks::<8>();
        let mut places = Self { table, interpreter: 0, thread: 0 };
        if places.word(words::VERSION)? != VERSION || places.word(words::IS_FREE_THREADED)? != 0 {
            return None;
        }
        // The first interpreter is the last of the list.
        let list = runtime.checked_add(places.offset(words::INTERPRETERS)?)?;
        let mut interpreter = memory.word(list)?;
        for _ in 0..MAX_INTERPRETERS {
            let next = interpreter.checked_add(places.offset(words::INTERPRETER_NEXT)?)?;
            match memory.word(next)? {
                0 => break,
                next => interpreter = next,
            }
        }
        let threads = interpreter.checked_add(places.offset(words::INTERPRETER_THREADS)?)?;
        let thread = memory.word(threads)?;
        // The thread knows its interpreter: the two were found where they are.
        let owner = thread.checked_add(places.offset(words::THREAD_INTERPRETER)?)?;
        let owner = memory.word(owner)?;
        (places.interpreter, places.thread) = (interpreter, thread);
        (interpreter != 0 && owner == interpreter).then_some(places)
    }

    fn word(&self, at: usize) -> Option<u64> {
        self.table.get(at).copied().map(u64::from_le_bytes)
    }

    fn offset(&self, at: usize) -> Option<u32> {
        self.word(at).filter(|offset| *offset <= MAX_OFFSET).map(u32::try_from)?.ok()
    }
}

impl PythonLayout {
    /// Finds and reads the interpreter's table. `None` unless it has the known version: offsets are
    /// never guessed.
    pub(crate) fn find(memory: &[u8]) -> Option<Self> {
        let places = Places::find(memory)?;
        let offset = |at| places.offset(at);
        let collector = places.interpreter.checked_add(offset(words::INTERPRETER_COLLECTOR)?)?;
        Some(Self {
            innermost: places.thread.checked_add(offset(words::THREAD_FRAME)?)?,
            collecting: collector.checked_add(offset(words::COLLECTING)?)?,
            frame: FrameLayout {
                previous: offset(words::FRAME_PREVIOUS)?,
                executable: offset(words::FRAME_EXECUTABLE)?,
                owner: offset(words::FRAME_OWNER)?,
            },
            code: CodeLayout {
                file: offset(words::CODE_FILE)?,
                qualified_name: offset(words::CODE_QUALIFIED_NAME)?,
                first_line: offset(words::CODE_FIRST_LINE)?,
            },
            text: TextLayout {
                state: offset(words::TEXT_STATE)?,
                length: offset(words::TEXT_LENGTH)?,
                ascii: offset(words::ASCII_SIZE)?,
                compact: offset(words::COMPACT_SIZE)?,
            },
        })
    }
}
