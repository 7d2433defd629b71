//! Dates of the Gregorian calendar, in UTC and from 1970 on.

use std::time::Duration;

/// Seconds of a day: UTC is counted without leap seconds.
pub const SECONDS_OF_A_DAY: u64 = 86_400;

/// Days from 1 March of the year 0 to 1 January 1970.
const EPOCH: u64 = 719_468;

/// The year, month and day so many days after 1 January 1970.
#[must_use]
pub const fn date(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that the leap day is their last one. An era has 400 years.
    let days = days.saturating_add(EPOCH);
    let (era, day) = (days / 146_097, days % 146_097);
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// Days from 1 January 1970 to a date. `None` if it is earlier, beyond the year 9999, or no date,
/// such as 30 February.
#[must_use]
pub fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // As in `date`, years are counted from March.
    let (from_march, month_from_march) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = from_march / 4 - from_march / 100 + from_march / 400;
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days = (365 * from_march + leap_days + of_year).checked_sub(EPOCH);
    days.filter(|days| date(*days) == (year, month, day))
}

/// The time since the Unix epoch as RFC 3339 writes it: `2026-09-21T14:13:20.042Z`.
#[must_use]
pub fn rfc3339(time: Duration) -> String {
    // Years beyond 9999 have no form; a clock that is so wrong shows the last moment that has one.
    const LAST: u64 = 253_402_300_799;
    let seconds = time.as_secs().min(LAST);
    let (days, second) = (seconds / SECONDS_OF_A_DAY, seconds % SECONDS_OF_A_DAY);
    let (year, month, day) = date(days);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    let (second, millisecond) = (second % 60, time.subsec_millis());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000Z"),
            (u64::MAX, "9999-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), text);
        }
    }

    /// Each day has the date that follows the one before, and each date its day.
    #[test]
    fn no_day_is_missing() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(date(days), (year, month, day));
            assert_eq!(days_since_epoch(year, month, day), Some(days));
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                assert_eq!(days_since_epoch(year, month, day), None, "{year}-{month}-{day}");
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }

    proptest! {
        #[test]
        fn what_has_days_is_a_date(
            year in prop_oneof![1_900_u64..10_100, any::<u64>()],
            month in prop_oneof![0_u64..15, any::<u64>()],
            day in prop_oneof![0_u64..35, any::<u64>()],
        ) {
            if let Some(days) = days_since_epoch(year, month, day) {
                prop_assert_eq!(date(days), (year, month, day));
            }
        }
    }
}
