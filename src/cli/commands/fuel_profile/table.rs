//! The table of a profile: one row for each function.

use crate::cli::commands::fuel_profile::sums::{
    FunctionSum, by_function, percentage, place, with_commas,
};
use crate::cli::terminal::output::laid_out;
use wardian_formats::job::profile::FuelProfile;

/// Most rows: a screen full. Files have all of them.
const MAX_ROWS: usize = 25;

/// The table, with a line about the whole run before it.
pub(crate) fn table(profile: &FuelProfile) -> String {
    let fuel = profile.fuel().0;
    let sums = by_function(profile);
    let (shown, left) = sums.split_at_checked(MAX_ROWS).unwrap_or((&sums, &[]));
    let mut rows: Vec<_> = shown.iter().map(|sum| row(sum, fuel)).collect();
    if !left.is_empty() {
        rows.push(rest(left, fuel));
    }
    let mut header =
        ["own fuel", "own %", "total %", "samples", "function", "defined at"].map(str::to_owned);
    align_numbers(&mut header, &mut rows);
    let header = header.each_ref().map(String::as_str);
    format!(
        "fuel by function: {} units, {} samples, one for each {} units\n{}",
        with_commas(fuel),
        with_commas(profile.samples()),
        with_commas(profile.interval.0),
        laid_out(&header, rows, None)
    )
}

fn row(sum: &FunctionSum<'_>, fuel: u64) -> Vec<String> {
    vec![
        with_commas(sum.own),
        percentage(sum.own, fuel),
        percentage(sum.total, fuel),
        with_commas(sum.samples),
        sum.function.name.clone(),
        place(sum.function),
    ]
}

/// The row for functions that have no row.
fn rest(left: &[FunctionSum<'_>], fuel: u64) -> Vec<String> {
    let sum =
        |value: fn(&FunctionSum<'_>) -> u64| left.iter().map(value).fold(0, u64::saturating_add);
    let own = sum(|one| one.own);
    vec![
        with_commas(own),
        percentage(own, fuel),
        String::new(),
        with_commas(sum(|one| one.samples)),
        format!("({} more functions)", left.len()),
        String::new(),
    ]
}

/// Aligns the columns of numbers at the right, with their names.
fn align_numbers(header: &mut [String], rows: &mut [Vec<String>]) {
    const NUMBERS: usize = 4;
    for (column, name) in header.iter_mut().enumerate().take(NUMBERS) {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let width = cells.map(String::len).chain([name.len()]).max().unwrap_or(0);
        let cells = rows.iter_mut().filter_map(|row| row.get_mut(column));
        for cell in cells.chain([name]) {
            *cell = format!("{cell:>width$}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::fuel_profile::testing::{LOADS, MODULE, WORK, profile};

    #[test]
    fn the_table_is_aligned_and_sorted_by_own_fuel() {
        let shown = table(&profile(&[
            (&[("(start of the run)", "", 0)], 1_234_567, 12),
            (&[MODULE], 5, 1),
            (&[MODULE, WORK], 2_000_000, 20),
            (&[MODULE, WORK, WORK], 1_000, 1),
            (&[MODULE, WORK, LOADS], 99_999, 2),
        ]));
        insta::assert_snapshot!(shown, @r"
        fuel by function: 3,335,571 units, 36 samples, one for each 100 units
         OWN FUEL  OWN %  TOTAL %  SAMPLES  FUNCTION            DEFINED AT
        2,001,000   60.0     63.0       21  Table.work          main.py:7
        1,234,567   37.0     37.0       12  (start of the run)
           99,999    3.0      3.0        2  loads               json/__init__.py:299
                5    0.0     63.0        1  <module>            main.py:1
        ");
    }

    #[test]
    fn names_stay_on_their_line_and_many_functions_are_a_sum() {
        let names: Vec<String> = (0..40).map(|number| format!("f{number}\u{1b}[2J\n")).collect();
        let stacks: Vec<[(&str, &str, u32); 1]> =
            names.iter().map(|name| [(name.as_str(), "main.py", 1)]).collect();
        let stacks: Vec<_> = stacks.iter().map(|stack| (&stack[..], 10, 1)).collect();
        let shown = table(&profile(&stacks));
        assert_eq!(shown.lines().count(), 2 + MAX_ROWS + 1);
        assert!(!shown.contains('\u{1b}'));
        let last = shown.lines().last().unwrap();
        assert!(last.contains("(15 more functions)") && last.contains("150"), "{last}");
    }
}
