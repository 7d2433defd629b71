//! The architecture, as a test: layers, fences around dependencies, file shape.
//!
//! No dependencies and no build of the server behind it, so it runs in milliseconds.
//! To change the architecture, change [`LAYERS`] or [`FENCES`] in the same commit.

#![expect(clippy::unwrap_used, reason = "a test may panic; that is how it fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
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
    ("secret_text", &[]),
    ("client_tls", &[]),
    ("crypto",    &[]),
    ("private_file", &[]),
    ("regular_file", &[]),
    ("user_folder", &[]),
    ("subprocess", &[]),
    ("cgroup",    &["units"]),
    // 1 formats: bytes in, typed values out
    ("skill",     &["error", "ids", "units"]),
    ("protocol",  &["error", "ids", "units"]),
    ("job",       &["ids", "units", "secret_text"]),
    ("provenance", &["ids", "units", "skill", "job", "protocol"]),
    ("framing",   &[]),
    ("quotas",    &["ids"]),
    ("telemetry", &["ids", "clock", "client_tls", "crypto"]),
    // 2 engines: strangers to each other, except where a row says otherwise
    ("blobs",     &["error", "ids", "units", "clock", "crypto"]),
    ("registry",  &["error", "ids", "units", "crypto", "job", "skill"]),
    ("packages",  &["error", "ids", "units", "subprocess", "job"]),
    ("engine",    &["ids", "units", "clock", "subprocess"]),
    ("sandbox",   &["ids", "units", "clock", "heap", "job", "secret_text", "engine"]),
    ("images",    &["error", "ids", "units", "clock", "job"]),
    ("image_builder", &["ids", "units", "clock", "crypto", "job", "engine", "sandbox", "images"]),
    ("worker",    &["error", "ids", "units", "heap", "job", "secret_text", "engine", "sandbox"]),
    ("dispatch",  &["error", "ids", "units", "cgroup", "job", "quotas"]),
    ("egress",    &["error", "ids", "units", "clock", "budget", "skill", "provenance", "framing", "quotas"]),
    ("secrets",   &["error", "regular_file", "ids", "secret_text", "skill"]),
    ("database",  &["error", "private_file"]),
    ("tenants",   &["error", "regular_file", "ids", "clock", "client_tls", "crypto", "database"]),
    ("records",   &["error", "ids", "units", "clock", "job", "database"]),
    ("audit",     &["clock"]),
    ("results",   &["ids", "units", "clock"]),
    // 3 use cases: the only place where the engines meet
    ("service",   &["error", "ids", "units", "clock", "budget", "skill", "protocol", "job", "provenance", "blobs",
                    "registry", "packages", "images", "dispatch", "egress", "secrets", "secret_text", "quotas",
                    "telemetry", "database", "tenants", "records", "audit", "results"]),
    // 4 edges: translate, never decide
    ("net",       &["error", "units", "budget", "protocol", "telemetry", "audit", "service"]),
    ("http",      &["error", "regular_file", "ids", "units", "budget", "protocol", "framing", "quotas", "telemetry", "audit", "service", "net"]),
    ("mcp",       &["error", "user_folder", "ids", "units", "clock", "budget", "crypto", "protocol", "telemetry", "audit", "service", "net"]),
    ("console",   &["ids"]),
    // 5 program: reads the world, builds the rest
    ("config",    &["error", "regular_file", "ids", "units", "budget", "skill", "job", "blobs", "registry", "engine",
                    "images", "dispatch", "egress", "secrets", "quotas", "telemetry", "tenants", "records", "audit", "results", "http", "mcp"]),
    ("assembly",  &["error", "ids", "units", "clock", "budget", "heap", "cgroup", "job", "skill", "provenance", "blobs", "registry", "packages", "engine",
                    "sandbox", "images", "image_builder", "worker", "dispatch", "egress", "secrets", "quotas", "telemetry", "database", "tenants",
                    "records", "audit", "service", "net", "http", "mcp", "config"]),
    ("cli",       &["error", "ids", "units", "clock", "budget", "heap", "cgroup", "client_tls", "private_file", "subprocess", "job", "skill", "protocol", "provenance", "blobs", "egress",
                    "registry", "packages", "engine", "sandbox", "images", "worker", "dispatch", "secrets", "telemetry", "database", "tenants", "records", "audit", "service",
                    "net", "http", "mcp", "console", "config", "assembly"]),
];

/// Words that may appear only under the given paths: one place for each dependency.
const FENCES: &[(&str, &[&str])] = &[
    ("wasmtime::", &["engine/", "sandbox/"]),
    ("axum::", &["net/", "http/", "mcp/", "console/"]),
    ("rmcp::", &["mcp/"]),
    ("clap::", &["cli/"]),
    ("pep508_rs::", &["packages/"]),
    ("pep440_rs::", &["packages/"]),
    (
        "rustls::",
        &[
            "egress/",
            "http/tls/",
            "client_tls.rs",
            // Errors name the fault of a file.
            "tenants/jwt/source.rs",
            "telemetry/traces/collector.rs",
        ],
    ),
    ("rustls_native_certs::", &["egress/", "client_tls.rs"]),
    (
        "ureq::",
        &[
            "client_tls.rs",
            "tenants/jwt/source.rs",
            "telemetry/traces/",
            "cli/commands/blobs/",
            "cli/commands/top/",
            "cli/commands/mcp/",
        ],
    ),
    ("ring::signature", &["tenants/jwt/key_set.rs", "provenance/signature.rs"]),
    ("hyper::client", &["egress/"]),
    ("lookup_host", &["egress/"]),
    ("sqlx::", &["database/", "tenants/key_table.rs", "records/table/"]),
    ("std::env", &["subprocess.rs", "config/"]),
    ("unsafe ", &["sandbox/memory/", "engine/code/compile.rs", "worker/", "heap.rs"]),
    ("println!", &["cli/terminal/output.rs"]),
    ("secrecy::", &["secret_text.rs"]),
    ("prometheus_client::", &["telemetry/"]),
    ("prost::", &["telemetry/traces/otlp.rs"]),
    ("zune_jpeg::", &["sandbox/codecs/"]),
    ("jpeg_encoder::", &["sandbox/codecs/"]),
    ("image_webp::", &["sandbox/codecs/"]),
    ("brotli_decompressor::", &["sandbox/codecs/"]),
    // A thread keeps the charges of the call that it works for: `CallMemory::on_thread`.
    ("spawn_blocking", &["budget.rs", "dispatch/scheduler/watch.rs", "assembly/", "cli/"]),
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
fn dependencies_stay_behind_their_fences() {
    let mut wrong = Vec::new();
    for file in source_files() {
        let code = code_of(&file);
        for (word, places) in FENCES {
            let allowed = places.iter().any(|place| relative(&file).starts_with(place));
            if !allowed && code.contains(word) {
                wrong.push(format!("{}: `{word}` belongs in {places:?}", file.display()));
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

/// A room is its folder: whoever opens it sees what is in it at one glance.
#[test]
fn rooms_are_small_enough_to_survey() {
    const MAX_FILES: usize = 13;
    const MAX_MOD_LINES: usize = 200;
    let mut rooms: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for file in source_files() {
        let room = file.parent().unwrap().to_owned();
        if room.parent() == Some(src().as_path()) {
            *rooms.entry(relative(&room)).or_default() += 1;
        }
        let lines = without_unit_tests(&read(&file)).lines().count();
        if file.ends_with("mod.rs") && lines > MAX_MOD_LINES {
            wrong.push(format!("{}: {lines} lines, limit {MAX_MOD_LINES}", file.display()));
        }
    }
    let large = rooms.into_iter().filter(|(_, files)| *files > MAX_FILES);
    wrong.extend(large.map(|(room, files)| format!("{room}: {files} files lie flat")));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A skill is whole by itself, so a part that several need is in each of them: as one text.
#[test]
fn what_skills_share_is_the_same_in_each() {
    let mut shared: BTreeMap<String, BTreeMap<PathBuf, Vec<u8>>> = BTreeMap::new();
    for skill in fs::read_dir(root().join("skills")).unwrap() {
        let Ok(code) = fs::read_dir(skill.unwrap().path().join("code")) else { continue };
        for file in code.map(|file| file.unwrap().path()) {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            if name != "main.py" && file.is_file() {
                let text = fs::read(&file).unwrap();
                shared.entry(name).or_default().insert(file, text);
            }
        }
    }
    assert!(shared["csv_text.py"].len() > 1, "skills were read");
    for (name, copies) in shared {
        let texts: BTreeSet<&Vec<u8>> = copies.values().collect();
        assert_eq!(texts.len(), 1, "`{name}` differs among {:?}", copies.keys());
    }
}

/// What a `mod.rs` re-exports is no import of its own: an import from there is one from the file that
/// defines the item.
#[test]
fn no_files_import_each_other_in_a_circle() {
    let graph = import_graph();
    let mut circles = Vec::new();
    for (file, used) in &graph {
        for next in used {
            let back = reachable(&graph, next);
            // Each circle is told once, by the first of its files.
            if back.contains(file)
                && back
                    .iter()
                    .all(|other| other >= file || !reachable(&graph, other).contains(file))
            {
                circles.push(format!("{file} uses {next}, which leads back to it"));
            }
        }
    }
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

/// The gateway's use cases run in the process that has all authority: no guest's code belongs there.
#[test]
fn use_cases_reach_no_wasmtime() {
    let graph = import_graph();
    let mut wrong = Vec::new();
    for start in graph.keys().filter(|module| module.split("::").next() == Some("service")) {
        for module in reachable(&graph, start) {
            let room = module.split("::").next().unwrap();
            if ["engine", "sandbox", "image_builder", "worker"].contains(&room) {
                wrong.push(format!("{start} reaches {module}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Modules by path, each with the modules that its file imports from.
fn import_graph() -> BTreeMap<String, BTreeSet<String>> {
    let files: BTreeMap<String, PathBuf> =
        source_files().into_iter().map(|file| (module_of(&file), file)).collect();
    let re_exports = re_exports();
    let imports = |file: &Path| {
        let mut code = code_of(file);
        if file.ends_with("mod.rs") {
            code = without_re_exports(&code);
        }
        let own = module_of(file);
        let homes = crate_paths(&code).into_iter().map(|path| defined_at(path, &re_exports));
        let homes = homes.filter_map(|path| home_of(&path, &files));
        homes.filter(|home| *home != own).collect()
    };
    files.iter().map(|(module, file)| (module.clone(), imports(file))).collect()
}

/// Paths that a `mod.rs` re-exports, each with the path at which the item is defined.
fn re_exports() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for file in source_files().into_iter().filter(|file| file.ends_with("mod.rs")) {
        let (own, code) = (module_of(&file), code_of(&file));
        for statement in code.split(';').filter(|statement| statement.contains(" use crate::")) {
            let Some((_, used)) = statement.split_once("pub") else { continue };
            for target in crate_paths(used) {
                let name = target.rsplit("::").next().unwrap().to_owned();
                if let Some((_, alias)) = used.split_once(&format!("{name} as ")) {
                    found.insert(format!("{own}::{}", alias.trim()), target.clone());
                }
                found.insert(format!("{own}::{name}"), target);
            }
        }
    }
    found
}

fn defined_at(path: String, re_exports: &BTreeMap<String, String>) -> String {
    match re_exports.get(&path) {
        Some(target) => defined_at(target.clone(), re_exports),
        None => path,
    }
}

/// The module in whose file the item at `path` is looked for: the longest beginning that is one.
fn home_of(path: &str, files: &BTreeMap<String, PathBuf>) -> Option<String> {
    let mut path = path;
    loop {
        if files.contains_key(path) {
            return Some(path.to_owned());
        }
        path = path.rsplit_once("::")?.0;
    }
}

fn reachable(graph: &BTreeMap<String, BTreeSet<String>>, start: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::from([start.to_owned()]);
    let mut pending = vec![start.to_owned()];
    while let Some(next) = pending.pop() {
        for used in graph.get(&next).into_iter().flatten() {
            if found.insert(used.clone()) {
                pending.push(used.clone());
            }
        }
    }
    found
}

/// `blobs::store` for `src/blobs/local/store.rs`, `blobs` for `src/blobs/mod.rs`.
fn module_of(file: &Path) -> String {
    let path = relative(file).trim_end_matches(".rs").replace('/', "::");
    path.strip_suffix("::mod").unwrap_or(&path).to_owned()
}

fn without_re_exports(code: &str) -> String {
    let mut kept = String::new();
    let mut is_re_export = false;
    for line in code.lines() {
        is_re_export |= line.starts_with("pub") && line.contains(" use ");
        if !is_re_export {
            kept.push_str(line);
            kept.push('\n');
        }
        is_re_export &= !line.ends_with(';');
    }
    kept
}

/// One name, one meaning: who reads `Origin` need not look up which.
#[test]
fn public_types_have_names_of_their_own() {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in source_files() {
        for name in public_types(&code_of(&file)) {
            homes.entry(name).or_default().push(module_of(&file));
        }
    }
    let mut wrong = Vec::new();
    for (name, homes) in homes.iter().filter(|(_, homes)| homes.len() > 1) {
        if !SHARED_NAMES.iter().any(|(shared, _)| shared == name) {
            wrong.push(format!("`{name}` is defined in {}", homes.join(" and ")));
        }
    }
    let is_shared = |name: &str| homes.get(name).is_some_and(|homes| homes.len() > 1);
    let stale = SHARED_NAMES.iter().filter(|(name, _)| !is_shared(name));
    wrong.extend(stale.map(|(name, _)| format!("`{name}` is not defined twice any more")));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Types whose name is defined more than once, with the reason.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("Decode", "what each codec is asked to read: `jpeg::Decode`"),
    ("Encode", "what each codec is asked to write: `jpeg::Encode`"),
];

/// Names of the types that `code` defines for other files.
fn public_types(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in code.lines().filter(|line| line.starts_with("pub")) {
        let declared = line.split_once(' ').map_or("", |(_, rest)| rest);
        for keyword in ["struct ", "enum ", "trait ", "type ", "union "] {
            if let Some(rest) = declared.strip_prefix(keyword) {
                names.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
            }
        }
    }
    names
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
    let paths = crate_paths(code).into_iter();
    paths.filter_map(|path| path.split("::").next().and_then(leading_name)).collect()
}

/// Every path that `code` names after `crate::`, groups taken apart: `crate::a::{b, c::D}` is
/// `a::b` and `a::c::D`.
fn crate_paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for rest in code.split("crate::").skip(1) {
        read_path(rest, "", &mut paths);
    }
    paths
}

/// Reads one path, or a group of them, at the start of `text`; returns what follows.
fn read_path<'a>(text: &'a str, prefix: &str, paths: &mut Vec<String>) -> &'a str {
    if let Some(mut group) = text.strip_prefix('{') {
        loop {
            group = group.trim_start_matches([',', ' ', '\n']);
            match group.strip_prefix('}') {
                Some(rest) => return rest,
                None if group.is_empty() => return group,
                None => group = read_path(group, prefix, paths),
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}::{name}") };
    match rest.strip_prefix("::") {
        Some(rest) if !name.is_empty() => read_path(rest, &path, paths),
        _ => {
            paths.push(path);
            // What is no path, such as `*`, is stepped over; so is ` as name`.
            let rest = if name.is_empty() { rest.get(1..).unwrap_or("") } else { rest };
            rest.strip_prefix(" as ").map_or(rest, |alias| {
                alias.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
            })
        }
    }
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
    fs::read_to_string(file).unwrap()
}

/// `src/blobs/local/store.rs` and `src/blobs.rs` both belong to `blobs`.
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
        for entry in fs::read_dir(directory).unwrap() {
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
