//! The members `converted` and `converted_total` of a result.

use crate::run::result::output::Wrapping;
use wardian_formats::job::outcome::{Conversion, Conversions};
use wardian_formats::protocol::methods::execution::ConvertedValue;
use wardian_formats::skill::text::is_invisible;
use wardian_stores::secrets::mask::Masks;

/// Translates the report of the guest's runner about the value that became the output. Paths begin
/// at the output, so those of a value that was put into the member `result` go through it.
///
/// The report comes from the guest, and its paths have keys of the program: no text of it has
/// control characters or a secret.
pub(crate) fn shown(
    conversions: Conversions,
    wrapping: Wrapping,
    masks: Option<&Masks>,
) -> (Vec<ConvertedValue>, Option<u64>) {
    let Conversions { listed, total } = conversions;
    let clean = |text: String| {
        let mut text: String =
            text.chars().filter(|letter| !letter.is_control() && !is_invisible(*letter)).collect();
        if let Some(masks) = masks {
            masks.cover_text(&mut text);
        }
        text
    };
    let mut counted: u64 = 0;
    let mut converted = Vec::with_capacity(listed.len());
    for Conversion { path, from, to, count } in listed {
        let Some(rest) = path.strip_prefix('$').filter(|_| count > 0) else { continue };
        let path = match wrapping {
            Wrapping::InResult => format!("$.result{rest}"),
            Wrapping::None => path,
        };
        counted = counted.saturating_add(count);
        let count = Some(count).filter(|count| *count > 1);
        let (path, from, to) = (clean(path), clean(from), clean(to));
        converted.push(ConvertedValue { path, from, to, count });
    }
    (converted, Some(total).filter(|total| *total > counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversion(path: &str, count: u64) -> Conversion {
        Conversion { path: path.into(), from: "set".into(), to: "list".into(), count }
    }

    fn paths(wrapping: Wrapping, paths: &[&str]) -> Vec<String> {
        let listed = paths.iter().map(|path| conversion(path, 1)).collect();
        let (shown, _) = shown(Conversions { listed, total: 0 }, wrapping, None);
        shown.into_iter().map(|one| one.path).collect()
    }

    #[test]
    fn paths_begin_at_the_output() {
        assert_eq!(paths(Wrapping::None, &["$", "$.a[0]"]), ["$", "$.a[0]"]);
        assert_eq!(paths(Wrapping::InResult, &["$", "$[0].a"]), ["$.result", "$.result[0].a"]);
    }

    #[test]
    fn a_hostile_report_is_cleaned() {
        assert_eq!(paths(Wrapping::None, &["", "result", "$.a\n\u{202e}b\u{1b}[2J"]), ["$.ab[2J"]);
        let listed = vec![conversion("$", 0), conversion("$.a", 3)];
        let (converted, total) = shown(Conversions { listed, total: 5 }, Wrapping::None, None);
        assert_eq!((converted.len(), converted[0].count, total), (1, Some(3), Some(5)));
    }

    #[test]
    fn a_total_is_shown_if_it_says_more_than_the_list() {
        let of = |total| {
            let listed = vec![conversion("$", 1), conversion("$.a", 2)];
            shown(Conversions { listed, total }, Wrapping::None, None).1
        };
        assert_eq!((of(3), of(4), of(0)), (None, Some(4), None));
    }
}
