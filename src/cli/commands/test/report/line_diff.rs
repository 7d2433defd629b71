//! The difference of two texts, line by line.

use similar::{Algorithm, capture_diff_slices, group_diff_ops};

/// Most lines of a text that are compared.
const MAX_COMPARED: usize = 400;

/// Equal lines around a difference that are shown.
const AROUND: usize = 2;

/// The line in place of equal lines that are left out.
const LEFT_OUT: &str = "  ...";

/// The lines of a difference: `-` before those of `old`, `+` before those of `new`, and a space before
/// equal lines around them. `None` if a text has too many lines.
pub(crate) fn line_diff(old: &str, new: &str) -> Option<Vec<String>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old.len() > MAX_COMPARED || new.len() > MAX_COMPARED {
        return None;
    }
    let difference = capture_diff_slices(Algorithm::Myers, &old, &new);
    let (mut lines, mut told) = (Vec::new(), 0);
    for group in group_diff_ops(difference, AROUND) {
        if group.first().is_some_and(|first| first.old_range().start > told) {
            lines.push(LEFT_OUT.to_owned());
        }
        for change in group.iter().flat_map(|part| part.iter_changes(&old, &new)) {
            lines.push(format!("{} {}", change.tag(), change.value()));
        }
        told = group.last().map_or(told, |last| last.old_range().end);
    }
    if told < old.len() {
        lines.push(LEFT_OUT.to_owned());
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_stand_between_the_lines_around_them() {
        let old = "a\nb\nc\nd\ne\nf\ng\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\n";
        let expected = ["  ...", "  c", "  d", "- e", "+ E", "  f", "  g", "+ h"];
        assert_eq!(line_diff(old, new).unwrap(), expected);
        assert_eq!(line_diff("", "a").unwrap(), ["+ a"]);
        assert_eq!(line_diff("a", "").unwrap(), ["- a"]);
        let apart = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let expected = ["- 1", "+ x", "  2", "  3", "  ...", "  7", "  8", "- 9", "+ y"];
        let changed = apart.replace('1', "x").replace('9', "y");
        assert_eq!(line_diff(apart, &changed).unwrap(), expected);
        assert_eq!(line_diff("a\nb", "a\nb\n").unwrap(), ["  ..."], "the lines are equal");
        assert_eq!(line_diff(&"x\n".repeat(MAX_COMPARED + 1), ""), None);
    }
}
