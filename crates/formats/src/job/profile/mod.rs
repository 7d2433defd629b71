//! Profiles of fuel: how much of it which functions of a guest used.
//!
//! A profile is a tree of calls, sampled each time that the guest has used so much more fuel. Guests
//! repeat their instructions exactly, so a repetition has the same samples. It travels as a text that
//! only its reader takes apart: the gateway hands it on and makes no tree of it.

mod text;

use wardian_vocabulary::units::Fuel;

pub use crate::job::profile::text::ProfileText;

/// The order to profile a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProfileOrder {
    /// Fuel from one sample to the next.
    pub interval: Fuel,
}

impl ProfileOrder {
    /// A prime number, so that few loops run in step with the samples: a loop whose rounds take a
    /// divisor of the interval would be met at the same instruction each time. A sample takes a few
    /// microseconds, and this much fuel some fifty.
    pub const DEFAULT_INTERVAL: Fuel = Fuel(100_003);

    /// The shortest interval. Samples take most of the time of the run then.
    pub const MIN_INTERVAL: Fuel = Fuel(1_000);

    /// The longest interval: less often than that tells nothing.
    pub const MAX_INTERVAL: Fuel = Fuel(1_000_000_000_000);
}

/// The fuel of a run by calls. The sum over all calls is the fuel of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FuelProfile {
    /// Fuel from one sample to the next.
    pub interval: Fuel,
    /// The functions that were met.
    pub functions: Vec<ProfiledFunction>,
    /// The calls; a caller stands before those that it calls.
    pub calls: Vec<ProfiledCall>,
}

/// A function of a guest. The guest chooses its names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProfiledFunction {
    /// Qualified name, such as `Table.rows`. In parentheses, and without a file, if it stands for
    /// fuel that no function of Python used.
    pub name: String,
    /// The file that defines it, as the guest sees it; empty for what is not a function.
    pub file: String,
    /// The line on which it begins, or 0.
    pub line: u32,
}

/// Whose a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionOrigin {
    /// The program's, or that of a skill.
    Program,
    /// Python's library, or a package.
    Library,
    /// The guest's runner, or the importer that loads modules for it.
    Runner,
    /// The interpreter's own frame around a method `__init__` that it calls in the quick way: no call of a
    /// program.
    InitFrame,
    /// It is none: see [`ProfiledFunction::name`].
    NoFunction,
}

impl ProfiledFunction {
    /// Whose function it is, by its file.
    #[must_use]
    pub fn origin(&self) -> FunctionOrigin {
        let begins = |starts: &[&str]| starts.iter().any(|start| self.file.starts_with(start));
        match self.file.as_str() {
            "" => FunctionOrigin::NoFunction,
            // `_Py_InitCleanup` in `Objects/codeobject.c` of CPython.
            "__init__" => FunctionOrigin::InitFrame,
            _ if begins(&RUNNER_FILES) => FunctionOrigin::Runner,
            _ if begins(&LIBRARY_FILES) => FunctionOrigin::Library,
            _ => FunctionOrigin::Program,
        }
    }
}

/// Beginnings of the files of the guest's runner, and of those that it is loaded by.
const RUNNER_FILES: [&str; 4] = ["<wardian>/", "<frozen importlib", "<reactor>", "<turn "];

/// Beginnings of the files of Python's library and of packages.
const LIBRARY_FILES: [&str; 2] = ["/usr/local/lib/", "<frozen "];

/// One way to a function: the function and the callers that led there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfiledCall {
    /// The caller, as its place in [`FuelProfile::calls`]; none for an outermost function.
    pub caller: Option<usize>,
    /// The function, as its place in [`FuelProfile::functions`].
    pub function: usize,
    /// Fuel that the function itself used here.
    pub fuel: Fuel,
    /// Samples that met it here.
    pub samples: u64,
}

impl FuelProfile {
    /// Longest profile as text, in bytes. The shortest limit on the outcomes of workers has room for
    /// it, whatever else an outcome has.
    pub const MAX_TEXT: usize = 896 << 10;

    /// Most functions. Fuel of further ones counts for [`OTHER`].
    pub const MAX_FUNCTIONS: usize = 4_096;

    /// Maximum number of calls. Fuel of further ones counts for [`OTHER`].
    pub const MAX_CALLS: usize = 12_288;

    /// The fuel of the run.
    #[must_use]
    pub fn fuel(&self) -> Fuel {
        Fuel(self.calls.iter().fold(0, |sum, call| sum.saturating_add(call.fuel.0)))
    }

    /// The number of samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.calls.iter().fold(0, |sum, call| sum.saturating_add(call.samples))
    }
}

/// The name for fuel that was used before the program began.
pub const START: &str = "(start of the run)";

/// The name for fuel of the guest's runner after the program began: its end, above all.
pub const RUNNER: &str = "(runner)";

/// The name for the fuel of what does not fit into the profile.
pub const OTHER: &str = "(other)";

/// The name for fuel that was used while the stack could not be read.
pub const UNKNOWN: &str = "(unknown)";

/// The name for calls that are left out of a deep stack.
pub const LEFT_OUT: &str = "(calls left out)";

/// The name for the garbage collector, which works for the function that it stands below.
pub const COLLECTOR: &str = "(garbage collector)";
