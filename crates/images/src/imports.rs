//! Finds the import statements of a Python source without parsing it.
//!
//! The result is a guess that costs one pass over the lines. It includes statements in strings and
//! in code that never runs, and misses modules that are imported by a computed name.

/// Longest part of a source that is searched, in bytes. Imports are usually at the beginning.
const LOOKED_AT: usize = 256 << 10;

/// The part of a source that is searched.
pub(super) fn beginning(source: &str) -> &str {
    let end = source.floor_char_boundary(LOOKED_AT);
    source.get(..end).unwrap_or(source)
}

/// The top-level names of the modules that statements import, in order, with repetitions.
/// Relative imports have none.
pub(super) fn modules(source: &str) -> impl Iterator<Item = &str> {
    source.lines().flat_map(|line| line.split(';')).flat_map(|statement| {
        let statement = statement.trim_start();
        let imported = statement.strip_prefix("import ").map(|modules| modules.split(','));
        let from = statement.strip_prefix("from ").filter(|rest| rest.contains(" import"));
        imported.into_iter().flatten().chain(from).filter_map(root)
    })
}

/// The top-level name of a module: `sklearn` of ` sklearn.linear_model as lm`.
fn root(module: &str) -> Option<&str> {
    let module = module.trim_start();
    let is_part = |character: char| character == '_' || character.is_alphanumeric();
    let end = module.find(|character| !is_part(character)).unwrap_or(module.len());
    module.get(..end).filter(|root| !root.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn statements_are_found_wherever_they_stand() {
        let source = "import a.b as c, d\n\tfrom e.f import (\n  g,\n)\nx = 1; import h # i\n\
            from . import j\nfrom .k import l\nimport\nfrom m\nimport n\r\nif x: import o";
        assert_eq!(modules(source).collect::<Vec<_>>(), ["a", "d", "e", "h", "n"]);
    }

    #[test]
    fn only_the_beginning_is_looked_at() {
        let long = format!("import a\n{}import b", "é".repeat(LOOKED_AT));
        assert_eq!(modules(beginning(&long)).collect::<Vec<_>>(), ["a"]);
    }

    proptest! {
        #[test]
        fn no_source_is_too_strange(source in any::<String>()) {
            for module in modules(beginning(&source)) {
                prop_assert!(!module.is_empty() && !module.contains('.'));
            }
        }
    }
}
