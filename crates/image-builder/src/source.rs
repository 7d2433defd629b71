//! The Python source that makes an image: the guest package and the imports of its packages.

use std::fmt::Write as _;

use wardian_images::PackageSet;

/// Embeds files of `wasm/guest` with their path below it.
macro_rules! guest_files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../wasm/guest/", $path)))),*]
    };
}

/// Modules of the guest package. A test compares this list with the folder.
const MODULES: &[(&str, &str)] = guest_files![
    "_wardian/__init__.py",
    "_wardian/accounts.py",
    "_wardian/advice.py",
    "_wardian/amendments.py",
    "_wardian/apart.py",
    "_wardian/arrays.py",
    "_wardian/avif.py",
    "_wardian/blake.py",
    "_wardian/bytecode.py",
    "_wardian/asking.py",
    "_wardian/tool_schemas.py",
    "_wardian/called_tools.py",
    "_wardian/cells.py",
    "_wardian/charts.py",
    "_wardian/child.py",
    "_wardian/child_modules.py",
    "_wardian/child_state.py",
    "_wardian/ciphers.py",
    "_wardian/clock.py",
    "_wardian/codecs.py",
    "_wardian/conversion.py",
    "_wardian/counting.py",
    "_wardian/derive.py",
    "_wardian/descriptors.py",
    "_wardian/display.py",
    "_wardian/documents.py",
    "_wardian/door.py",
    "_wardian/entrypoint.py",
    "_wardian/errors.py",
    "_wardian/event_loop.py",
    "_wardian/failure.py",
    "_wardian/figures.py",
    "_wardian/file_types.py",
    "_wardian/files.py",
    "_wardian/filters.py",
    "_wardian/finding.py",
    "_wardian/floating.py",
    "_wardian/fonts.py",
    "_wardian/foreign.py",
    "_wardian/forks.py",
    "_wardian/grep.py",
    "_wardian/import_hooks.py",
    "_wardian/importer.py",
    "_wardian/interpreter_options.py",
    "_wardian/jpeg.py",
    "_wardian/late.py",
    "_wardian/leaves.py",
    "_wardian/levenshtein.py",
    "_wardian/libraries.py",
    "_wardian/library.py",
    "_wardian/local_sockets.py",
    "_wardian/locks.py",
    "_wardian/magics.py",
    "_wardian/mapping.py",
    "_wardian/names.py",
    "_wardian/network.py",
    "_wardian/notebook.py",
    "_wardian/open_files.py",
    "_wardian/packages.py",
    "_wardian/parquet.py",
    "_wardian/parquet_pages.py",
    "_wardian/patches.py",
    "_wardian/pdf.py",
    "_wardian/pillow.py",
    "_wardian/place.py",
    "_wardian/places.py",
    "_wardian/platform.py",
    "_wardian/popen.py",
    "_wardian/portals.py",
    "_wardian/processes.py",
    "_wardian/program_parts.py",
    "_wardian/programs.py",
    "_wardian/progress.py",
    "_wardian/readiness.py",
    "_wardian/refusals.py",
    "_wardian/rehearsal.py",
    "_wardian/remarks.py",
    "_wardian/result.py",
    "_wardian/runner.py",
    "_wardian/science.py",
    "_wardian/script.py",
    "_wardian/sealing.py",
    "_wardian/shell.py",
    "_wardian/shell_arithmetic.py",
    "_wardian/shell_options.py",
    "_wardian/shell_syntax.py",
    "_wardian/shells.py",
    "_wardian/signals.py",
    "_wardian/sizes.py",
    "_wardian/socket_numbers.py",
    "_wardian/skill_scripts.py",
    "_wardian/sockets.py",
    "_wardian/tables.py",
    "_wardian/threads.py",
    "_wardian/thrift.py",
    "_wardian/time_ordered.py",
    "_wardian/timers.py",
    "_wardian/tls.py",
    "_wardian/tls_constants.py",
    "_wardian/tls_trust.py",
    "_wardian/trace.py",
    "_wardian/utilities.py",
    "_wardian/webp.py",
    "_wardian/whole_programs.py",
    "runtime/__init__.py",
    "runtime/blobs.py",
    "runtime/http.py",
    "runtime/log.py",
    "runtime/run.py",
    "runtime/secrets.py",
    "runtime/tools.py",
];

/// Files that import and use the packages of an image: `base` and one for each group.
const WARM_UPS: &[(&str, &str)] = guest_files![
    "images/base.py",
    "images/documents.py",
    "images/http.py",
    "images/lxml.py",
    "images/matplotlib.py",
    "images/networkx.py",
    "images/pillow.py",
    "images/pydantic.py",
    "images/scipy.py",
    "images/sklearn.py",
    "images/statsmodels.py",
    "images/sympy.py",
];

/// The program that turns a fresh interpreter into an image.
const BOOTSTRAP: &str = include_str!("../../../wasm/guest/bootstrap.py");

/// The Python text that makes the image of `packages`, in one call of the interpreter.
pub(super) fn text(packages: PackageSet) -> String {
    let mut text = String::from("MODULES = {\n");
    for (path, source) in MODULES {
        let (module, is_package) = module_of(path);
        let (module, source) = (literal(&module), literal(source));
        let is_package = if is_package { "True" } else { "False" };
        // Writing to a string cannot fail.
        writeln!(text, "    {module}: ({is_package}, {source}),").ok();
    }
    let of_batteries = PackageSet::OF_BATTERIES;
    let of_engine = ["base"].into_iter().chain(packages.without(of_batteries).groups());
    let of_batteries = packages.without(PackageSet::ALL.without(of_batteries)).groups();
    text.push_str("}\nWARM_UPS = [\n");
    push_warm_ups(&mut text, of_engine);
    text.push_str("]\nWARM_UPS_WITH_BATTERIES = [\n");
    push_warm_ups(&mut text, of_batteries);
    text.push_str("]\n");
    text.push_str(BOOTSTRAP);
    text
}

fn push_warm_ups(text: &mut String, names: impl Iterator<Item = &'static str>) {
    for name in names {
        let path = format!("images/{name}.py");
        if let Some((path, source)) = WARM_UPS.iter().find(|(known, _)| *known == path) {
            // Writing to a string cannot fail.
            writeln!(text, "    ({}, {}),", literal(path), literal(source)).ok();
        }
    }
}

/// `runtime/blobs.py` is the module `runtime.blobs`; a package is named like its folder.
fn module_of(path: &str) -> (String, bool) {
    let path = path.strip_suffix(".py").unwrap_or(path);
    match path.strip_suffix("/__init__") {
        Some(package) => (package.replace('/', "."), true),
        None => (path.replace('/', "."), false),
    }
}

/// A Python literal: JSON strings are also Python strings.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn files_of(folder: &str) -> BTreeSet<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wasm/guest").join(folder);
        let names = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| format!("{folder}/{}", name.to_str().unwrap()));
        names.filter(|name| name.ends_with(".py")).collect()
    }

    #[test]
    fn every_file_of_the_guest_is_embedded() {
        let embedded = |list: &[(&str, &str)]| -> BTreeSet<String> {
            list.iter().map(|(path, _)| (*path).to_owned()).collect()
        };
        let modules = files_of("_wardian").union(&files_of("runtime")).cloned().collect();
        assert_eq!(embedded(MODULES), modules);
        assert_eq!(embedded(WARM_UPS), files_of("images"));
    }

    #[test]
    fn modules_are_named_as_python_names_them() {
        assert_eq!(module_of("runtime/__init__.py"), ("runtime".to_owned(), true));
        assert_eq!(module_of("runtime/blobs.py"), ("runtime.blobs".to_owned(), false));
    }

    #[test]
    fn the_source_holds_every_module_and_ends_with_the_bootstrap() {
        let source = text(PackageSet::NONE);
        assert!(source.contains("\"_wardian.runner\": (False, "));
        assert!(source.contains("(\"images/base.py\", "));
        assert!(!source.contains("(\"images/sympy.py\", "));
        assert!(source.contains("WARM_UPS_WITH_BATTERIES = [\n]"));
        assert!(source.ends_with(BOOTSTRAP));
    }

    #[test]
    fn every_group_has_a_file_and_every_file_a_group() {
        let source = text(PackageSet::ALL);
        let groups = PackageSet::ALL.groups().chain(["base"]);
        assert!(groups.clone().all(|name| source.contains(&format!("(\"images/{name}.py\", "))));
        assert_eq!(groups.count(), WARM_UPS.len());
    }
}
