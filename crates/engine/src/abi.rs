//! The application binary interface of a module: imports, exports and layout.
//!
//! The pin states the interface that the engine must have, the transform reads the interface that
//! a module has, and the two are compared. Digests already fix every byte of the engine; this check
//! shows the developer who moves the pin to a new release which parts would break.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use wasmparser::{FuncType, ValType};

/// How many differences an error lists: enough to see the pattern, few enough to read.
const MAX_LISTED: usize = 8;

/// Everything about a module that the code around it relies on.
///
/// Function types are texts such as `(i32, i64) -> i32`, so that the pin can be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleAbi {
    /// Pages of 64 KiB that its only memory has at the start.
    pub memory_min_pages: u64,
    /// Elements of its only table.
    pub(crate) table_elements: u64,
    /// Active data segments; they become the cold image.
    pub(crate) data_segments: u64,
    /// Mutable globals. They are not part of an image, so each of them has to be back at its
    /// initial value whenever no export runs.
    pub(crate) mutable_globals: u64,
    /// Type of each exported function, and `memory` or `table` for these.
    pub exports: BTreeMap<String, String>,
    /// Type of each imported function, by module and name.
    pub imports: BTreeMap<String, BTreeMap<String, String>>,
}

/// Where the interpreter notes signals for its main thread. Addresses are those of 32-bit words in the
/// module's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalPlaces {
    /// The word that is 1 while a signal of number 0 would wait for its handler.
    pub handlers: u32,
    /// Bytes from the word of one signal to that of the next.
    pub handler_size: u32,
    /// The word that is 1 while any signal waits.
    pub any_tripped: u32,
    /// The word that holds the address of the main thread's state.
    pub main_thread: u32,
    /// The offset in that state of the bits for which the thread interrupts itself.
    pub breaker_offset: u32,
    /// The bit among them that stands for signals.
    pub breaker_bit: u32,
}

/// Where the C library notes its free memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeapPlace {
    /// The address of dlmalloc's `malloc_state`.
    pub state: u32,
}

/// Where SQLite notes the state of its random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomPlace {
    /// The address of the first word of the state. While it is 0, the next random number begins a new state with
    /// random bytes of the host.
    pub random_state: u32,
}

impl ModuleAbi {
    /// Compares the interface that is wanted (`self`) with the one that was found.
    ///
    /// # Errors
    ///
    /// Names what differs.
    pub(crate) fn ensure_same(&self, found: &Self) -> Result<(), AbiMismatch> {
        let mut differences = Vec::new();
        let counts = [
            ("pages of memory", self.memory_min_pages, found.memory_min_pages),
            ("table elements", self.table_elements, found.table_elements),
            ("data segments", self.data_segments, found.data_segments),
            ("mutable globals", self.mutable_globals, found.mutable_globals),
        ];
        for (what, wanted, present) in counts {
            if wanted != present {
                differences.push(format!("{present} {what} instead of {wanted}"));
            }
        }
        compare("export", &self.exports, &found.exports, &mut differences);
        let (wanted, present) = (flattened(&self.imports), flattened(&found.imports));
        compare("import", &wanted, &present, &mut differences);

        if differences.is_empty() { Ok(()) } else { Err(AbiMismatch { differences }) }
    }
}

/// The interface of a module is not the one that is pinned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct AbiMismatch {
    differences: Vec<String>,
}

impl fmt::Display for AbiMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = self.differences.iter().take(MAX_LISTED).map(String::as_str);
        write!(f, "{}", listed.collect::<Vec<_>>().join("; "))?;
        match self.differences.len().saturating_sub(MAX_LISTED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

fn flattened(imports: &BTreeMap<String, BTreeMap<String, String>>) -> BTreeMap<String, String> {
    let flat = |(module, names): (&String, &BTreeMap<String, String>)| {
        let module = module.clone();
        let named = |(name, text): (&String, &String)| (format!("{module}.{name}"), text.clone());
        names.iter().map(named).collect::<Vec<_>>()
    };
    imports.iter().flat_map(flat).collect()
}

fn compare(
    what: &str,
    wanted: &BTreeMap<String, String>,
    found: &BTreeMap<String, String>,
    differences: &mut Vec<String>,
) {
    for (name, wanted) in wanted {
        match found.get(name) {
            None => differences.push(format!("no {what} `{name}`")),
            Some(found) if found != wanted => {
                differences.push(format!("{what} `{name}` is `{found}` instead of `{wanted}`"));
            }
            Some(_) => {}
        }
    }
    for name in found.keys().filter(|name| !wanted.contains_key(*name)) {
        differences.push(format!("unknown {what} `{name}`"));
    }
}

/// The text of a function type, such as `(i32, i64) -> i32`, or `(i32) -> ()` without result.
#[must_use]
pub fn signature(of: &FuncType) -> String {
    let list =
        |types: &[ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match of.results() {
        [one] => format!("({}) -> {one}", list(of.params())),
        results => format!("({}) -> ({})", list(of.params()), list(results)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> ModuleAbi {
        let call = [("call".to_owned(), "(i32) -> i32".to_owned())];
        ModuleAbi {
            memory_min_pages: 640,
            exports: [("memory".to_owned(), "memory".to_owned())].into(),
            imports: [("host".to_owned(), call.into())].into(),
            ..ModuleAbi::default()
        }
    }

    #[test]
    fn the_same_interface_passes() {
        assert_eq!(sample().ensure_same(&sample()), Ok(()));
    }

    #[test]
    fn each_difference_is_named() {
        let mut found = sample();
        found.memory_min_pages = 641;
        found.exports = [("turn".to_owned(), "() -> ()".to_owned())].into();
        found.imports.get_mut("host").unwrap().insert("call".into(), "() -> i32".into());
        let text = sample().ensure_same(&found).unwrap_err().to_string();
        assert_eq!(
            text,
            "641 pages of memory instead of 640; no export `memory`; unknown export `turn`; \
             import `host.call` is `() -> i32` instead of `(i32) -> i32`"
        );
    }

    #[test]
    fn a_long_list_of_differences_is_cut() {
        let mut found = sample();
        found.exports.extend((0..20).map(|index| (format!("f{index}"), String::new())));
        let text = sample().ensure_same(&found).unwrap_err().to_string();
        assert!(text.ends_with("; and 12 more"), "{text}");
    }

    #[test]
    fn signatures_read_like_the_text_format() {
        let (int, long) = (ValType::I32, ValType::I64);
        assert_eq!(signature(&FuncType::new([], [])), "() -> ()");
        assert_eq!(signature(&FuncType::new([int, long], [int])), "(i32, i64) -> i32");
        assert_eq!(signature(&FuncType::new([int], [int, long])), "(i32) -> (i32, i64)");
    }
}
