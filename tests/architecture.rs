//! The architecture, as a test: layers, fences around dependencies, file shape.
//!
//! No dependencies and no build of the server behind it, so it runs in milliseconds.
//! To change the architecture, change [`LAYERS`] or [`FENCES`] in the same commit.

#![expect(clippy::unwrap_used, reason = "a test may panic; that is how it fails")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Top-level modules, lowest first, each with the modules it may use. Those must stand above
/// it in this list, so the graph cannot have a cycle.
#[rustfmt::skip]
const LAYERS: &[(&str, &[&str])] = &[
    // 0 vocabulary: plain values, no I/O
    ("error",     &[]),
    ("ids",       &[]),
    ("units",     &[]),
    ("clock",     &[]),
    ("budget",    &["units"]),
    ("heap",      &[]),
    // 1 formats: bytes in, typed values out
    ("skill",     &["error", "ids", "units"]),
    ("protocol",  &["error", "ids", "units"]),
    ("job",       &["ids", "units"]),
    // 2 engines: strangers to each other, except that each of the last four stands on the one before
    ("blobs",     &["error", "ids", "units", "clock"]),
    ("registry",  &["error", "ids", "units", "job", "skill"]),
    ("engine",    &["ids", "units", "clock"]),
    ("sandbox",   &["ids", "units", "clock", "heap", "job", "engine"]),
    ("images",    &["error", "ids", "units", "clock", "job", "engine", "sandbox"]),
    ("worker",    &["error", "ids", "units", "job", "engine", "sandbox"]),
    ("dispatch",  &["error", "ids", "units", "job"]),
    // 3 use cases: the only place where the engines meet
    ("service",   &["error", "ids", "units", "clock", "budget", "skill", "protocol", "job", "blobs",
                    "registry", "images", "dispatch"]),
    // 4 edges: translate, never decide
    ("http",      &["error", "ids", "units", "budget", "protocol", "service"]),
    // 5 program: reads the world, builds the rest
    ("config",    &["error", "ids", "units", "budget", "job", "blobs", "registry", "engine", "images", "dispatch", "http"]),
    ("assembly",  &["error", "ids", "units", "clock", "budget", "heap", "job", "skill", "blobs", "registry", "engine",
                    "sandbox", "images", "worker", "dispatch", "service", "http", "config"]),
    ("cli",       &["error", "ids", "units", "clock", "budget", "heap", "job", "skill", "protocol", "blobs",
                    "registry", "engine", "sandbox", "images", "worker", "dispatch", "service",
                    "http", "config", "assembly"]),
];

/// Words that may appear only under the given paths: one dependency, one door.
const FENCES: &[(&str, &[&str])] = &[
    ("wasmtime::", &["engine/", "sandbox/", "images/"]),
    ("axum::", &["http/"]),
    ("clap::", &["cli/"]),
    ("std::env", &["config/"]),
    ("unsafe ", &["sandbox/memory/", "engine/compile.rs", "worker/", "heap.rs"]),
    ("println!", &["cli/output.rs"]),
    ("zune_jpeg::", &["sandbox/codecs/"]),
    ("jpeg_encoder::", &["sandbox/codecs/"]),
    ("image_webp::", &["sandbox/codecs/"]),
    ("brotli_decompressor::", &["sandbox/codecs/"]),
    // Only tests compare with these.
    ("wasmtime_wasi::", &[]),
    ("serde_norway::", &[]),
];

const MAX_LINES: usize = 500;

#[test]
fn every_module_imports_only_from_its_own_row() {
    let mut wrong = Vec::new();
    for file in source_files() {
        let owner = owner_of(&file);
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == owner) else {
            if !["lib", "main"].contains(&owner.as_str()) {
                wrong.push(format!("{}: module `{owner}` is not in LAYERS", file.display()));
            }
            continue;
        };
        for used in crate_imports(&code_of(&file)) {
            if used != owner && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{}: `{owner}` may not use `{used}`", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_layer_table_points_downwards_only() {
    for (at, (name, allowed)) in LAYERS.iter().enumerate() {
        let below: BTreeSet<_> = LAYERS[..at].iter().map(|(below, _)| *below).collect();
        for used in *allowed {
            assert!(below.contains(used), "`{name}` uses `{used}`, which is not below it");
        }
    }
}

#[test]
fn dependencies_stay_behind_their_doors() {
    let mut wrong = Vec::new();
    for file in source_files() {
        let code = code_of(&file);
        for (word, doors) in FENCES {
            let allowed = doors.iter().any(|door| relative(&file).starts_with(door));
            if !allowed && code.contains(word) {
                wrong.push(format!("{}: `{word}` belongs in {doors:?}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn files_open_with_a_purpose_and_stay_short() {
    let mut wrong = Vec::new();
    for file in source_files() {
        let text = read(&file);
        if !text.starts_with("//! ") {
            wrong.push(format!("{}: first line must be `//! <purpose>`", file.display()));
        }
        let lines = without_unit_tests(&text).lines().count();
        if lines > MAX_LINES {
            wrong.push(format!("{}: {lines} lines, limit {MAX_LINES}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A comment `INVARIANT(some-name): …` needs a test with `some_name` in its name.
#[test]
fn every_invariant_has_a_test() {
    let files = rust_files(src()).into_iter().chain(test_files());
    let tests: Vec<String> = files.flat_map(|file| test_names(&read(&file))).collect();
    for file in source_files() {
        for rest in read(&file).split("INVARIANT(").skip(1) {
            let name = rest.split(')').next().unwrap_or("").replace('-', "_");
            let kept = tests.iter().any(|test| test.contains(&name));
            assert!(kept, "{}: no test is named after `{name}`", file.display());
        }
    }
}

/// What the security pages name as proof is there: files by their paths, tests by their names.
#[test]
fn proofs_that_documents_name_exist() {
    let files = rust_files(src()).into_iter().chain(test_files());
    let tests: BTreeSet<String> = files.flat_map(|file| test_names(&read(&file))).collect();
    let mut named = 0;
    for document in ["SECURITY.md", "docs/security.md"] {
        for word in quoted_words(&read(&root().join(document))) {
            if TREES.iter().any(|tree| word.starts_with(tree)) {
                assert!(
                    root().join(&word).try_exists().unwrap(),
                    "{document}: there is no file `{word}`"
                );
            } else if is_a_tests_name(&word) {
                assert!(tests.contains(&word), "{document}: there is no test `{word}`");
            } else {
                continue;
            }
            named += 1;
        }
    }
    assert!(named >= MIN_PROOFS, "only {named} proofs were found: is a page gone?");
}

/// Folders whose files documents name as proof.
const TREES: &[&str] = &["src/", "tests/", "docs/", "scripts/", "fuzz/", "wasm/"];

/// Proofs that were named when the pages were written, roughly.
const MIN_PROOFS: usize = 100;

/// First words of what stands in backticks; what is a block of code is left out.
fn quoted_words(text: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2);
    let quoted = prose.flat_map(|part| part.split('`').skip(1).step_by(2));
    quoted.filter_map(|quote| quote.split_whitespace().next().map(str::to_owned)).collect()
}

/// `two_words` or more; settings have dots, and folders of a configuration are known.
fn is_a_tests_name(word: &str) -> bool {
    let is_plain = word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    is_plain && word.contains('_') && !["data_dir", "cache_dir"].contains(&word)
}

/// Names of the functions marked `#[test]` or `#[tokio::test]`.
fn test_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        marked |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        if let Some((_, rest)) = line.split_once("fn ").filter(|_| marked) {
            names.extend(leading_name(rest));
            marked = false;
        }
    }
    names
}

/// Names of the top-level modules that `code` reaches through `crate::`.
fn crate_imports(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => found.extend(group_heads(group)),
            None => found.extend(leading_name(rest)),
        }
    }
    found
}

/// First path segment of each entry of a `{a, b::c, d::{e, f}}` group.
fn group_heads(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut depth = 0;
    let mut entry_starts = true;
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => entry_starts = true,
            _ if entry_starts && letter.is_alphabetic() => {
                heads.extend(group.get(at..).and_then(leading_name));
                entry_starts = false;
            }
            _ => {}
        }
    }
    heads
}

fn leading_name(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let is_module = name.chars().next().is_some_and(char::is_lowercase);
    is_module.then_some(name)
}

/// The file without comments and without its unit tests.
fn code_of(file: &Path) -> String {
    let text = read(file);
    let code = without_unit_tests(&text);
    assert!(!code.contains("super::"), "{}: write `crate::…`", file.display());
    code.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// Everything before the file's own `mod tests { … }`, which by convention comes last.
fn without_unit_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

/// `src/blobs/store.rs` and `src/blobs.rs` both belong to `blobs`.
fn owner_of(file: &Path) -> String {
    let relative = relative(file);
    relative.split('/').next().unwrap_or("").trim_end_matches(".rs").to_owned()
}

fn relative(file: &Path) -> String {
    file.strip_prefix(src()).unwrap().to_string_lossy().replace('\\', "/")
}

fn src() -> PathBuf {
    root().join("src")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Everything but files that are compiled for tests only.
fn source_files() -> Vec<PathBuf> {
    rust_files(src()).into_iter().filter(|file| !is_for_tests(file)).collect()
}

/// `tests.rs`, `something_tests.rs`, a folder `tests`, and the few stand-ins that tests need.
fn is_for_tests(file: &Path) -> bool {
    let relative = relative(file);
    let stem = file.file_stem().unwrap().to_str().unwrap();
    let stands_in = ["testing", "faulty_disk", "tiny"].contains(&stem);
    stem == "tests" || stem.ends_with("_tests") || stands_in || relative.contains("/tests/")
}

fn test_files() -> Vec<PathBuf> {
    rust_files(root().join("tests"))
}

fn rust_files(root: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no Rust files found");
    found.sort();
    found
}
