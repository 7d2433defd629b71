//! The architecture, as a test: rooms, fences around dependencies, file shape. What crates may use of
//! each other is kept by Cargo.
//!
//! No dependencies and no build of the server behind it, so it runs in milliseconds.
//! To change the architecture, change [`ROOMS`] or [`FENCES`] in the same commit.

#![expect(clippy::unwrap_used, reason = "a test may panic; that is how it fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms of the crates that have several, lowest first, each with the rooms of its crate that it may
/// use: those must stand above it in this list. What crates may use of each other is in their
/// `Cargo.toml`, and Cargo keeps it.
#[rustfmt::skip]
const ROOMS: &[(&str, &[&str])] = &[
    // plain values and small helpers
    ("vocabulary::error",       &[]),
    ("vocabulary::ids",         &[]),
    ("vocabulary::units",       &[]),
    ("vocabulary::clock",       &[]),
    ("vocabulary::budget",      &["vocabulary::ids", "vocabulary::units"]),
    ("vocabulary::heap",        &[]),
    ("vocabulary::secret_text", &[]),
    ("vocabulary::client_tls",  &[]),
    ("vocabulary::crypto",      &[]),
    ("vocabulary::files",       &[]),
    ("vocabulary::subprocess",  &[]),
    ("vocabulary::cgroup",      &["vocabulary::units"]),
    ("vocabulary::framing",     &[]),
    ("vocabulary::quotas",      &["vocabulary::ids"]),
    // bytes in, typed values out
    ("formats::skill",          &[]),
    ("formats::protocol",       &[]),
    ("formats::job",            &[]),
    ("formats::provenance",     &["formats::skill", "formats::protocol", "formats::job"]),
    // strangers to each other, except where a row says otherwise
    ("stores::database_error",  &[]),
    ("stores::blobs",           &["stores::database_error"]),
    ("stores::secrets",         &[]),
    ("stores::tenants",         &["stores::database_error"]),
    ("stores::records",         &["stores::database_error"]),
    ("stores::sessions",        &["stores::database_error"]),
    // each database knows what is asked of it, and nothing asks for a certain one
    ("stores::database",        &["stores::database_error", "stores::blobs", "stores::tenants",
                                  "stores::records", "stores::sessions"]),
    ("stores::audit",           &[]),
    ("stores::results",         &[]),
    ("skills::registry",        &[]),
    ("skills::packages",        &[]),
    ("skills::scan",            &["skills::registry"]),
    // translate, never decide
    ("edges::net",              &[]),
    ("edges::http",             &["edges::net"]),
    ("edges::mcp",              &["edges::net"]),
    ("edges::console",          &[]),
    // reads the world, builds the rest
    ("program::assembly",       &[]),
    ("program::cli",            &["program::assembly"]),
];

/// Words that may appear only under the given paths: one place for each dependency.
const FENCES: &[(&str, &[&str])] = &[
    ("wasmtime::", &["engine/", "sandbox/"]),
    ("axum::", &["edges/net/", "edges/http/", "edges/mcp/", "edges/console/"]),
    ("rmcp::", &["edges/mcp/"]),
    ("clap::", &["program/cli/"]),
    ("pep508_rs::", &["skills/packages/"]),
    ("pep440_rs::", &["skills/packages/"]),
    (
        "rustls::",
        &[
            "egress/",
            "edges/http/tls/",
            "vocabulary/client_tls.rs",
            // Errors name the fault of a file.
            "stores/tenants/jwt/source.rs",
            "telemetry/traces/collector.rs",
        ],
    ),
    ("rustls_native_certs::", &["egress/", "vocabulary/client_tls.rs"]),
    (
        "ureq::",
        &[
            "vocabulary/client_tls.rs",
            "stores/tenants/jwt/source.rs",
            "telemetry/traces/",
            "program/cli/commands/blobs/",
            "program/cli/commands/top/",
            "program/cli/commands/mcp/",
            "program/cli/commands/skills/evals/",
        ],
    ),
    ("ring::aead", &["sessions/seal.rs", "service/fleet/seal.rs"]),
    (
        "ring::signature",
        &[
            "stores/tenants/jwt/key_set.rs",
            "formats/provenance/ed25519_keys.rs",
            "formats/provenance/skill_signature/skill_key.rs",
        ],
    ),
    ("hyper::client", &["egress/"]),
    ("lookup_host", &["egress/"]),
    // Statements are the same for all databases, and know none.
    ("sqlx", &["stores/database/sqlite/", "stores/database/postgres/", "stores/database/engine/"]),
    ("Sqlite", &["stores/database/"]),
    ("std::env", &["vocabulary/subprocess.rs", "config/"]),
    ("unsafe ", &["sandbox/memory/", "engine/code/compile.rs", "worker/", "vocabulary/heap.rs"]),
    ("println!", &["program/cli/terminal/output.rs"]),
    ("secrecy::", &["vocabulary/secret_text.rs"]),
    ("prometheus_client::", &["telemetry/"]),
    ("prost::", &["telemetry/traces/otlp.rs"]),
    ("zune_jpeg::", &["sandbox/codecs/"]),
    ("jpeg_encoder::", &["sandbox/codecs/"]),
    ("image_webp::", &["sandbox/codecs/"]),
    ("brotli_decompressor::", &["sandbox/codecs/"]),
    ("lz4_flex::", &["sandbox/codecs/", "sandbox/session/pages/frame.rs"]),
    ("gix_hash::", &["sources/git/", "sources/npm.rs"]),
    ("gix_packetline::", &["sources/git/wire.rs"]),
    ("ruzstd::", &["sources/archive.rs", "sources/tests/"]),
    ("object_store::", &["sources/store/"]),
    ("strsim::", &["formats/skill/similar.rs"]),
    ("rustyline::", &["program/cli/commands/repl/terminal.rs"]),
    // A thread keeps the charges of the call that it works for: `CallMemory::on_thread`. The store of
    // blobs leaves that to the tasks of its callers: `CallMemory::on_task`.
    (
        "spawn_blocking",
        &[
            "vocabulary/budget.rs",
            "dispatch/packs.rs",
            "dispatch/scheduler/watch.rs",
            "egress/world/resolver.rs",
            "stores/blobs/store.rs",
            "stores/blobs/local/local_blobs.rs",
            "stores/database/sqlite/sessions/losses.rs",
            "sessions/sessions.rs",
            "program/assembly/",
            "program/cli/",
        ],
    ),
    // Only tests compare with these.
    ("wasmtime_wasi::", &[]),
    ("serde_norway::", &[]),
];

const MAX_LINES: usize = 500;

#[test]
fn every_room_imports_only_from_its_own_row() {
    let mut wrong = Vec::new();
    for file in source_files() {
        let owner = room_of(&module_of(&file));
        let own_crate = owner.split("::").next().unwrap_or("");
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == owner) else {
            let has_rooms =
                ROOMS.iter().any(|(name, _)| name.starts_with(&format!("{own_crate}::")));
            let is_root = ["lib.rs", "main.rs"].iter().any(|root| file.ends_with(root));
            if has_rooms && !is_root {
                wrong.push(format!("{}: room `{owner}` is not in ROOMS", file.display()));
            }
            continue;
        };
        for used in crate_paths(&code_of(&file)).iter().map(|path| room_of(path)) {
            let is_neighbour = used.starts_with(&format!("{own_crate}::"));
            if is_neighbour && used != owner && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{}: `{owner}` may not use `{used}`", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The drawing in `ARCHITECTURE.md` has each crate, and no other.
#[test]
fn the_drawing_has_every_crate() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let drawing = text.split("```").find(|block| block.contains("\n program ")).unwrap();
    let words: BTreeSet<&str> = drawing.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
    let crates = fs::read_dir(root().join("crates")).unwrap();
    for name in crates.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        assert!(words.contains(name.as_str()), "the crate `{name}` is not in the drawing");
    }
}

#[test]
fn the_table_of_rooms_points_downwards_only() {
    for (at, (name, allowed)) in ROOMS.iter().enumerate() {
        let below: BTreeSet<_> = ROOMS[..at].iter().map(|(below, _)| *below).collect();
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
        *rooms.entry(relative(file.parent().unwrap())).or_default() += 1;
        let lines = without_unit_tests(&read(&file)).lines().count();
        if is_face(&file) && lines > MAX_MOD_LINES {
            wrong.push(format!("{}: {lines} lines, limit {MAX_MOD_LINES}", file.display()));
        }
    }
    let large = rooms.into_iter().filter(|(_, files)| *files > MAX_FILES);
    wrong.extend(large.map(|(room, files)| format!("{room}: {files} files lie flat")));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What may stand at the root, beside what `.gitignore` names. A newcomer reads these names first, and a
/// file that a tool has left there is in everybody's way.
const AT_THE_ROOT: &[&str] = &[
    // of tools
    ".ci",
    ".clippy.toml",
    ".deny.toml",
    ".git",
    ".gitignore",
    ".rustfmt.toml",
    "Cargo.lock",
    "Cargo.toml",
    "build.rs",
    // pages
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "SPECIFICATION.md",
    // the program and its crates
    "crates",
    "src",
    // what they are made with, and what they come with
    "clients",
    "conformance",
    "deploy",
    "docs",
    "skills",
    "wasm",
    // proofs and measurements
    "benches",
    "fuzz",
    "scripts",
    "tests",
];

#[test]
fn only_known_files_stand_at_the_root() {
    let ignored = read(&root().join(".gitignore"));
    let ignored: Vec<&str> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let names = fs::read_dir(root()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let unknown: Vec<String> = names
        .filter(|name| !AT_THE_ROOT.contains(&name.as_str()) && !ignored.contains(&name.as_str()))
        .collect();
    assert!(unknown.is_empty(), "not for the root: {unknown:?}");
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

/// What a `mod.rs` re-exports is no import of its own. Who imports the item from there uses both: the
/// file that defines it, and the face, whose own imports come with it.
#[test]
fn no_files_import_each_other_in_a_circle() {
    let circles = circles_in(&import_graph());
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

/// The room of the commands, each a file or a folder.
const COMMANDS: &str = "program::cli::commands";

#[test]
fn no_commands_use_each_other_in_a_circle() {
    let command = |module: &str| {
        let rest = module.strip_prefix(COMMANDS)?.strip_prefix("::")?;
        rest.split("::").next().map(str::to_owned)
    };
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, used) in import_graph() {
        let Some(owner) = command(&module) else { continue };
        let others = used.iter().filter_map(|used| command(used));
        let others: Vec<String> = others.filter(|other| *other != owner).collect();
        graph.entry(owner).or_default().extend(others);
    }
    assert!(graph.len() > 10, "the commands were found: {graph:?}");
    let circles = circles_in(&graph);
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

/// The clients are read as text: a type that is imported for a checker alone counts too.
#[test]
fn no_files_of_the_clients_import_each_other_in_a_circle() {
    for (folder, ending, imports) in [
        ("clients/python/src/wardian", "py", python_imports as fn(&str) -> Vec<String>),
        ("clients/typescript/src", "ts", typescript_imports),
    ] {
        let folder = root().join(folder);
        let files = files_below(&folder, ending);
        let name = |file: &Path| {
            let path = file.strip_prefix(&folder).unwrap().with_extension("");
            path.to_str().unwrap().trim_end_matches("/__init__").replace('/', ".")
        };
        let names: BTreeSet<String> = files.iter().map(|file| name(file)).collect();
        let graph: BTreeMap<String, BTreeSet<String>> = files
            .iter()
            .map(|file| {
                let own = name(file);
                let used = imports(&read(file)).into_iter();
                (own.clone(), used.filter(|one| names.contains(one) && *one != own).collect())
            })
            .collect();
        assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 30, "imports were found");
        let circles = circles_in(&graph);
        assert!(circles.is_empty(), "{}\n{}", folder.display(), circles.join("\n"));
    }
}

/// The modules that a file of the Python client imports, also within functions: `_async.client` for
/// `from wardian._async.client import AsyncClient`.
fn python_imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let Some(rest) = line.strip_prefix("from wardian") else { continue };
        let Some((module, names)) = rest.split_once(" import ") else { continue };
        let module = module.trim_start_matches('.');
        found.push(module.to_owned());
        let names = names.split(',').filter_map(|name| name.split_whitespace().next());
        found.extend(names.map(|name| format!("{module}.{name}").trim_matches('.').to_owned()));
    }
    found
}

/// The modules that a file of the TypeScript client imports: `client` for `from "./client.js"`.
fn typescript_imports(text: &str) -> Vec<String> {
    let rest = text.split("from \"./").skip(1);
    rest.filter_map(|rest| Some(rest.split_once(".js\"")?.0.to_owned())).collect()
}

/// The circles of a graph, each told once, by the first of its modules.
fn circles_in(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut circles = Vec::new();
    for (file, used) in graph {
        for next in used {
            let back = reachable(graph, next);
            if back.contains(file)
                && back.iter().all(|other| other >= file || !reachable(graph, other).contains(file))
            {
                circles.push(format!("{file} uses {next}, which leads back to it"));
            }
        }
    }
    circles
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
        if is_face(file) {
            code = without_re_exports(&code);
        }
        let own = module_of(file);
        let paths = crate_paths(&code).into_iter();
        let paths = paths.flat_map(|path| places_of(path, &re_exports));
        let homes = paths.filter_map(|path| home_of(&path, &files));
        homes.filter(|home| *home != own).collect()
    };
    files.iter().map(|(module, file)| (module.clone(), imports(file))).collect()
}

/// Paths that a `mod.rs` re-exports, each with the path at which the item is defined.
fn re_exports() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for file in source_files().into_iter().filter(|file| is_face(file)) {
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

/// The path of an item, and the paths that it is re-exported from: the last one is where it is defined.
fn places_of(path: String, re_exports: &BTreeMap<String, String>) -> Vec<String> {
    let mut places = vec![path];
    while let Some(target) = places.last().and_then(|path| re_exports.get(path)) {
        assert!(!places.contains(target), "{places:?} are re-exported in a circle");
        places.push(target.clone());
    }
    places
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

/// `stores::blobs::store` for `crates/stores/src/blobs/store.rs`, `stores` for `crates/stores/src/lib.rs`.
fn module_of(file: &Path) -> String {
    let path = relative(file).trim_end_matches(".rs").replace('/', "::");
    let path = path.strip_suffix("::mod").or_else(|| path.strip_suffix("::lib")).unwrap_or(&path);
    path.to_owned()
}

/// The crate and the first module below it: `stores::blobs` for `stores::blobs::local::names`.
fn room_of(path: &str) -> String {
    path.split("::").take(2).collect::<Vec<_>>().join("::")
}

/// True of the file that says what a folder holds.
fn is_face(file: &Path) -> bool {
    file.ends_with("mod.rs") || file.ends_with("lib.rs")
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
    ("Image", "the gateway's, and the one of `embedded`, whose users see no other"),
    ("Sandbox", "a worker's, and the one of `embedded`, whose users see no other"),
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
    let files = all_source_files().into_iter().chain(test_files());
    let tests: Vec<String> = files.flat_map(|file| test_names(&read(&file))).collect();
    for file in source_files() {
        for rest in read(&file).split("INVARIANT(").skip(1) {
            let name = rest.split(')').next().unwrap_or("").replace('-', "_");
            let kept = tests.iter().any(|test| test.contains(&name));
            assert!(kept, "{}: no test is named after `{name}`", file.display());
        }
    }
}

/// Files that the pages name exist, and so do the tests that the security pages name as proof.
#[test]
fn proofs_that_documents_name_exist() {
    let files = all_source_files().into_iter().chain(test_files());
    let tests: BTreeSet<String> = files.flat_map(|file| test_names(&read(&file))).collect();
    let (mut named, mut wrong) = (0, Vec::new());
    for document in pages() {
        let shown = document.strip_prefix(root()).unwrap().display();
        let names_proofs = ["SECURITY.md", "SPECIFICATION.md", "security.md"]
            .iter()
            .any(|page| document.ends_with(page));
        for word in quoted_words(&read(&document)) {
            // A pattern, or one of many.
            let is_pattern = word.contains(['<', '*', '{']);
            if TREES.iter().any(|tree| word.starts_with(tree)) && !is_pattern {
                if !root().join(&word).try_exists().unwrap() {
                    wrong.push(format!("{shown}: there is no file `{word}`"));
                }
            } else if names_proofs && is_a_tests_name(&word) {
                if !tests.contains(&word) {
                    wrong.push(format!("{shown}: there is no test `{word}`"));
                }
            } else {
                continue;
            }
            named += 1;
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(named >= MIN_PROOFS, "only {named} files and proofs were found: is a page gone?");
}

/// A run has few forms, and each is where the table of ARCHITECTURE.md says.
#[test]
fn a_run_has_the_forms_that_the_table_names() {
    let page = read(&root().join("ARCHITECTURE.md"));
    let (_, table) = page.split_once("\n### The forms of a run\n").unwrap();
    let table = table.split("\n#").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let mut forms = BTreeSet::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(quoted_words).collect();
        let [form, home, carried, makers, readers] = cells.as_slice() else {
            panic!("a row has other columns: {row}")
        };
        let (form, home) = (&form[0], &home[0]);
        assert!(forms.insert(form.clone()), "`{form}` has two rows");
        let defines = |name: &str| {
            let code = code_of(&root().join(home));
            ["struct", "enum"].iter().any(|kind| {
                code.contains(&format!("{kind} {name} {{"))
                    || code.contains(&format!("{kind} {name}<"))
            })
        };
        assert!(defines(form), "`{form}` is not defined in {home}");
        assert!(!makers.is_empty() && !readers.is_empty(), "nobody makes or reads `{form}`");
        for user in makers.iter().chain(readers) {
            let is_met = words(&code_of(&root().join(user))).any(|word| word == *form);
            assert!(is_met, "{user} does not name `{form}`");
        }
        for part in carried {
            let is_type = part.starts_with(char::is_uppercase);
            let is_public = source_files()
                .iter()
                .any(|file| public_types(&code_of(file)).iter().any(|name| name == part));
            assert!(!is_type || is_public, "`{form}` carries `{part}`, which is no public type");
        }
    }
    assert!((5..=MOST_FORMS).contains(&forms.len()), "a run has {} forms: {forms:?}", forms.len());
}

/// Forms of a run from the edge to the worker and back. More would have to be learnt.
const MOST_FORMS: usize = 8;

/// All words of a text of which names are made.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Each promise is marked with what holds it: tests, a script of `.ci/run`, or a recorded measurement.
#[test]
fn every_promise_of_the_specification_names_its_proof() {
    let in_ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    let text = read(&root().join("SPECIFICATION.md"));
    let mut counts = BTreeMap::new();
    for row in text.lines() {
        let Some((mark, rest)) = row.strip_prefix("| ").and_then(|row| row.split_once(" | "))
        else {
            continue;
        };
        let proofs = quoted_words(rest.rsplit_once(" | ").map_or("", |(_, proofs)| proofs));
        let is_proven = match mark {
            "T" => proofs.iter().any(|word| is_a_tests_name(word)),
            "S" => !proofs.is_empty() && proofs.iter().all(|word| in_ci.contains(word)),
            "M" => proofs.iter().any(|word| word.starts_with("docs/")),
            _ => continue,
        };
        assert!(is_proven, "nothing holds this as its mark says: {row}");
        *counts.entry(mark).or_insert(0) += 1;
    }
    assert!(counts["T"] > 35 && counts["S"] > 3 && counts["M"] > 10, "{counts:?}");
}

/// A newcomer reads it to its end. What does not fit belongs to a page below `docs`.
#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(lines <= 200, "README.md has {lines} lines");
}

/// The pages at the root and below `docs`, but for the changelog, which names what is gone.
fn pages() -> Vec<PathBuf> {
    let folders = [root().to_owned(), root().join("docs")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let pages = files.map(|entry| entry.unwrap().path());
    pages
        .filter(|page| {
            page.extension().is_some_and(|kind| kind == "md") && !page.ends_with("CHANGELOG.md")
        })
        .collect()
}

/// Folders whose files documents name as proof.
const TREES: &[&str] = &["crates/", "src/", "tests/", "docs/", "scripts/", "fuzz/", "wasm/"];

/// Proofs that were named when the pages were written, roughly.
const MIN_PROOFS: usize = 300;

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

/// The file without comments and without its unit tests. A path begins with `crate::` and the name of
/// its crate, whichever crate the file belongs to.
fn code_of(file: &Path) -> String {
    let text = read(file);
    let code = without_unit_tests(&text);
    assert!(!code.contains("super::"), "{}: write `crate::…`", file.display());
    let module = module_of(file);
    let own_crate = module.split("::").next().unwrap_or("");
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or(""));
    let code = lines.collect::<Vec<_>>().join("\n");
    code.replace("crate::", &format!("crate::{own_crate}::")).replace("wardian_", "crate::")
}

/// Everything before the file's own `mod tests { … }`, which by convention comes last.
fn without_unit_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("")
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

/// The path of a file below the name of its crate; `program` is the crate of `src`.
fn relative(file: &Path) -> String {
    let path = file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
    match path.strip_prefix("crates/").and_then(|path| path.split_once("/src")) {
        Some((name, rest)) => format!("{}{rest}", name.replace('-', "_")),
        None => path.replacen("src", "program", 1),
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of the program and of all crates.
fn all_source_files() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let folders = crates.map(|entry| entry.unwrap().path().join("src"));
    folders.chain([root().join("src")]).flat_map(|folder| rust_files(&folder)).collect()
}

/// Everything but files that are compiled for tests only.
fn source_files() -> Vec<PathBuf> {
    all_source_files().into_iter().filter(|file| !is_for_tests(file)).collect()
}

/// `tests.rs`, `something_tests.rs`, a folder `tests` or `testing`, and the few stand-ins that tests
/// need.
fn is_for_tests(file: &Path) -> bool {
    let relative = relative(file);
    let stem = file.file_stem().unwrap().to_str().unwrap();
    let stands_in = ["testing", "scripted", "faulty_disk", "tiny"].contains(&stem);
    let is_folder = relative.contains("/tests/") || relative.contains("/testing/");
    stem == "tests" || stem.ends_with("_tests") || stands_in || is_folder
}

fn test_files() -> Vec<PathBuf> {
    rust_files(&root().join("tests"))
}

fn rust_files(root: &Path) -> Vec<PathBuf> {
    files_below(root, "rs")
}

/// The files with this ending below a folder, sorted.
fn files_below(root: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no files found below {}", root.display());
    found.sort();
    found
}
