//! The difference of two texts, line by line.

/// Most lines of a text that are compared.
const MAX_COMPARED: usize = 400;

/// Equal lines around a difference that are shown.
const AROUND: usize = 2;

/// The lines of a difference: `-` before those of `old`, `+` before those of `new`, and a space before
/// equal lines around them. `None` if a text has too many lines.
pub(crate) fn line_diff(old: &str, new: &str) -> Option<Vec<String>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old.len() > MAX_COMPARED || new.len() > MAX_COMPARED {
        return None;
    }
    let marked = marked(&old, &new);
    let is_near = |at: usize| {
        let range = at.saturating_sub(AROUND)..at.saturating_add(AROUND).saturating_add(1);
        marked.iter().enumerate().any(|(other, (mark, _))| range.contains(&other) && *mark != ' ')
    };
    let mut lines = Vec::new();
    let mut is_cut = false;
    for (at, (mark, line)) in marked.iter().enumerate() {
        if is_near(at) {
            lines.push(format!("{mark} {line}"));
            is_cut = false;
        } else if !is_cut {
            lines.push("  ...".to_owned());
            is_cut = true;
        }
    }
    Some(lines)
}

/// All lines of both, each with its mark, from a longest common subsequence.
fn marked<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    // `common[i][j]` is the length of the longest one of the lines from `i` and `j` on.
    let width = new.len().saturating_add(1);
    let mut common = vec![0_u32; old.len().saturating_add(1).saturating_mul(width)];
    let place = |i: usize, j: usize| i.saturating_mul(width).saturating_add(j);
    let read = |common: &[u32], i, j| common.get(place(i, j)).copied().unwrap_or_default();
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let length = if old.get(i) == new.get(j) {
                read(&common, i.saturating_add(1), j.saturating_add(1)).saturating_add(1)
            } else {
                read(&common, i.saturating_add(1), j).max(read(&common, i, j.saturating_add(1)))
            };
            if let Some(cell) = common.get_mut(place(i, j)) {
                *cell = length;
            }
        }
    }
    let (mut i, mut j) = (0_usize, 0_usize);
    let mut lines = Vec::new();
    loop {
        match (old.get(i), new.get(j)) {
            (Some(one), Some(other)) if one == other => {
                lines.push((' ', *one));
                (i, j) = (i.saturating_add(1), j.saturating_add(1));
            }
            (Some(one), other)
                if other.is_none()
                    || read(&common, i.saturating_add(1), j)
                        >= read(&common, i, j.saturating_add(1)) =>
            {
                lines.push(('-', *one));
                i = i.saturating_add(1);
            }
            (_, Some(other)) => {
                lines.push(('+', *other));
                j = j.saturating_add(1);
            }
            (_, None) => return lines,
        }
    }
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
        assert_eq!(line_diff(&"x\n".repeat(MAX_COMPARED + 1), ""), None);
    }
}
