//! Sums over the calls of a profile.

use wardian_formats::job::profile::{FuelProfile, FunctionOrigin, ProfiledFunction};

/// A function of a profile, over all of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FunctionSum<'a> {
    pub(crate) function: &'a ProfiledFunction,
    /// Fuel that the function itself used.
    pub(crate) own: u64,
    /// That of the functions that it called, too. Calls of itself count once.
    pub(crate) total: u64,
    /// Samples of the function itself.
    pub(crate) samples: u64,
}

/// The functions of a profile that used fuel, those that used most of it first.
pub(crate) fn by_function(profile: &FuelProfile) -> Vec<FunctionSum<'_>> {
    let empty = |function| FunctionSum { function, own: 0, total: 0, samples: 0 };
    let mut sums: Vec<_> = profile.functions.iter().map(empty).collect();
    for (at, (call, total)) in profile.calls.iter().zip(with_callees(profile)).enumerate() {
        let is_recursion = callers(profile, at).any(|caller| {
            profile.calls.get(caller).is_some_and(|outer| outer.function == call.function)
        });
        let Some(sum) = sums.get_mut(call.function) else { continue };
        sum.own = sum.own.saturating_add(call.fuel.0);
        sum.samples = sum.samples.saturating_add(call.samples);
        if !is_recursion {
            sum.total = sum.total.saturating_add(total);
        }
    }
    sums.retain(|sum| sum.total > 0);
    sums.sort_by(|a, b| {
        let names = |sum: &FunctionSum<'_>| (sum.function.name.clone(), sum.function.file.clone());
        (b.own, b.total)
            .cmp(&(a.own, a.total))
            .then_with(|| names(a).cmp(&names(b)))
            .then_with(|| a.function.line.cmp(&b.function.line))
    });
    sums
}

/// For each call, its fuel and that of the calls below it.
pub(crate) fn with_callees(profile: &FuelProfile) -> Vec<u64> {
    let mut totals: Vec<u64> = profile.calls.iter().map(|call| call.fuel.0).collect();
    // A call stands behind its caller.
    for (at, call) in profile.calls.iter().enumerate().rev() {
        let total = totals.get(at).copied().unwrap_or_default();
        if let Some(caller) = call.caller.and_then(|caller| totals.get_mut(caller)) {
            *caller = caller.saturating_add(total);
        }
    }
    totals
}

/// The callers of a call, the next one first.
pub(crate) fn callers(profile: &FuelProfile, at: usize) -> impl Iterator<Item = usize> {
    let caller = |at: usize| profile.calls.get(at)?.caller;
    std::iter::successors(caller(at), move |at| caller(*at))
}

/// The file and the line of a function, without the folders of libraries; empty for no function.
pub(crate) fn place(function: &ProfiledFunction) -> String {
    let ProfiledFunction { file, line, .. } = function;
    if file.is_empty() {
        return String::new();
    }
    let short = match function.origin() {
        FunctionOrigin::Library => in_library(file),
        _ => file,
    };
    if *line == 0 { short.to_owned() } else { format!("{short}:{line}") }
}

/// The path of a module below the folder in which Python finds it.
fn in_library(file: &str) -> &str {
    let Some(below) = file.strip_prefix("/usr/local/lib/") else { return file };
    let folders = if below.starts_with("layers/") { 2 } else { 1 };
    (0..folders)
        .try_fold(below, |rest, _| rest.split_once('/').map(|(_, rest)| rest))
        .unwrap_or(file)
}

/// A part of a whole as a percentage with one decimal place.
pub(crate) fn percentage(part: u64, whole: u64) -> String {
    let thousandths = u128::from(part).saturating_mul(1_000);
    let half = u128::from(whole) / 2;
    let rounded = thousandths.saturating_add(half).checked_div(u128::from(whole)).unwrap_or(0);
    format!("{}.{}", rounded / 10, rounded % 10)
}

/// A number with commas between its thousands.
pub(crate) fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let place = |at: usize| digits.len().saturating_sub(at);
    let separated = digits.char_indices().flat_map(|(at, digit)| {
        let comma = (at > 0 && place(at).is_multiple_of(3)).then_some(',');
        comma.into_iter().chain([digit])
    });
    separated.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::fuel_profile::testing::{LOADS, MODULE, WORK, profile};

    #[test]
    fn a_function_has_its_own_fuel_and_that_below_it_and_recursion_counts_once() {
        let profile = profile(&[
            (&[("(start of the run)", "", 0)], 100, 1),
            (&[MODULE], 50, 1),
            (&[MODULE, WORK], 300, 3),
            (&[MODULE, WORK, WORK, WORK], 400, 4),
            (&[MODULE, WORK, WORK, LOADS], 150, 2),
        ]);
        let sums = by_function(&profile);
        let shown: Vec<_> = sums
            .iter()
            .map(|sum| (sum.function.name.as_str(), sum.own, sum.total, sum.samples))
            .collect();
        assert_eq!(
            shown,
            [
                ("Table.work", 700, 850, 7),
                ("loads", 150, 150, 2),
                ("(start of the run)", 100, 100, 1),
                ("<module>", 50, 900, 1),
            ]
        );
        assert_eq!(sums.iter().map(|sum| sum.own).sum::<u64>(), profile.fuel().0);
    }

    #[test]
    fn places_are_short() {
        for (file, line, expected) in [
            ("main.py", 3, "main.py:3"),
            ("/skills/acme.a/code/main.py", 3, "/skills/acme.a/code/main.py:3"),
            ("/usr/local/lib/python315.zip/json/decoder.py", 9, "json/decoder.py:9"),
            ("/usr/local/lib/batteries/tabulate/__init__.py", 9, "tabulate/__init__.py:9"),
            ("/usr/local/lib/layers/0123456789abcdef/a.py", 0, "a.py"),
            ("/usr/local/lib/odd", 1, "/usr/local/lib/odd:1"),
            ("<frozen posixpath>", 1, "<frozen posixpath>:1"),
            ("", 0, ""),
        ] {
            let (name, file) = (String::new(), file.to_owned());
            assert_eq!(place(&ProfiledFunction { name, file, line }), expected);
        }
    }

    #[test]
    fn numbers_are_readable() {
        for (number, shown) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(with_commas(number), shown);
        }
        for (part, whole, shown) in [
            (1, 3, "33.3"),
            (2, 3, "66.7"),
            (0, 0, "0.0"),
            (5, 5, "100.0"),
            (u64::MAX, u64::MAX, "100.0"),
            (1, 10_000, "0.0"),
        ] {
            assert_eq!(percentage(part, whole), shown, "{part} of {whole}");
        }
    }
}
