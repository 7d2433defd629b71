//! Finds similar names: those within a few keystrokes.

use strsim::osa_distance;

/// Longest text that is compared, in bytes.
const MAX_COMPARED: usize = 128;

/// Most suggestions of one message.
const MAX_SUGGESTIONS: usize = 3;

/// Returns the candidates that are similar to `text`, nearest first, at most three.
///
/// A candidate is similar if few keystrokes separate the two, ignoring case, or if `text` is its
/// beginning (`lang` for `language`) or its last part (`sync` for `acme.leads.sync`).
#[must_use]
pub fn closest<'c>(text: &str, candidates: impl IntoIterator<Item = &'c str>) -> Vec<&'c str> {
    let wanted = text.to_lowercase();
    if wanted.is_empty() || wanted.len() > MAX_COMPARED {
        return Vec::new();
    }
    let allowed = (wanted.chars().count() / 3).clamp(1, 4);
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_COMPARED)
        .filter_map(|candidate| Some((nearness(&wanted, candidate, allowed)?, candidate)))
        .collect();
    near.sort_unstable();
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, candidate)| candidate).collect()
}

/// Returns `did you mean …?` for the nearest candidates, if there are any.
#[must_use]
pub fn did_you_mean<'c, C>(text: &str, candidates: C) -> Option<String>
where
    C: IntoIterator<Item = &'c str>,
{
    let near = closest(text, candidates);
    (!near.is_empty()).then(|| format!("did you mean {}?", listed(&near, "or")))
}

/// Returns the items in backticks, joined by commas and `conjunction`.
#[must_use]
pub fn listed<T: AsRef<str>>(items: &[T], conjunction: &str) -> String {
    match items {
        [] => "nothing".to_owned(),
        [only] => format!("`{}`", only.as_ref()),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(|item| format!("`{}`", item.as_ref())).collect();
            format!("{} {conjunction} `{}`", first.join(", "), last.as_ref())
        }
    }
}

/// True if one text is probably a misspelling of the other: they are equal except for case, `_` and
/// `-`, or they are at least four letters long and one keystroke apart.
#[must_use]
pub(crate) fn is_slip(text: &str, other: &str) -> bool {
    let letters = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    if text.len().max(other.len()) > MAX_COMPARED {
        return false;
    }
    let (text, other) = (letters(text), letters(other));
    text == other || (other.chars().count() >= 4 && keystrokes(&text, &other, 1) == Some(1))
}

fn nearness(wanted: &str, candidate: &str, allowed: usize) -> Option<usize> {
    let candidate = candidate.to_lowercase();
    let is_part = wanted.len() > 2
        && (candidate.starts_with(wanted)
            || candidate.strip_suffix(wanted).is_some_and(|before| before.ends_with(['.', '/'])));
    if is_part {
        return Some(1);
    }
    keystrokes(wanted, &candidate, allowed)
}

/// Keystrokes between two texts, if there are no more than `most`: letters inserted, dropped,
/// replaced, or swapped with their neighbour.
fn keystrokes(from: &str, to: &str, most: usize) -> Option<usize> {
    let least = from.chars().count().abs_diff(to.chars().count());
    let distance = (least <= most).then(|| osa_distance(from, to));
    distance.filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keystrokes_are_counted() {
        for (from, to, distance) in [
            ("kind", "kind", 0),
            ("knid", "kind", 1),
            ("verson", "version", 1),
            ("", "abc", 3),
            ("abc", "", 3),
        ] {
            for most in 0..6 {
                let expected = (distance <= most).then_some(distance);
                assert_eq!(keystrokes(from, to, most), expected, "{from} -> {to}, {most}");
            }
        }
    }

    #[test]
    fn suggestions_are_near_and_few() {
        let keys = ["name", "version", "description", "kind", "namespace", "tags"];
        assert_eq!(closest("Version", keys), ["version"]);
        assert_eq!(closest("descripton", keys), ["description"]);
        assert_eq!(closest("vers", keys), ["version"]);
        assert_eq!(closest("colour", keys), Vec::<&str>::new());
        assert_eq!(
            closest("leads.sync", ["salesforce.leads.sync", "x.y"]),
            ["salesforce.leads.sync"]
        );
        assert_eq!(closest("aaaa", ["aaab", "aaac", "aaad", "aaae"]).len(), 3);
        assert_eq!(closest(&"a".repeat(200), [&*"a".repeat(200)]), Vec::<&str>::new());
        assert_eq!(did_you_mean("tag", keys).unwrap(), "did you mean `tags`?");
    }

    #[test]
    fn a_slip_is_stricter_than_a_suggestion() {
        assert!(is_slip("batchSize", "batch_size") && is_slip("bacth_size", "batch_size"));
        assert!(!is_slip("input_file", "output_file") && !is_slip("max", "max_rows"));
        assert!(!is_slip("x1", "x2"));
    }

    proptest! {
        #[test]
        fn one_keystroke_is_always_near(name in "[a-z]{3,20}", at in 0_usize..20, letter in "[a-z]") {
            let mut typed = name.clone();
            typed.insert_str(at.min(name.len()), &letter);
            prop_assert_eq!(closest(&typed, [&*name]), [&*name]);
        }
    }
}
