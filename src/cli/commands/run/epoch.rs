//! The time of day at which reproducible runs begin.

use std::ffi::OsString;

use crate::cli::failed::Failed;
use wardian_config::{SOURCE_DATE_EPOCH, source_date_epoch};
use wardian_formats::protocol::methods::execution::DEFAULT_EPOCH;
use wardian_formats::protocol::tools::MAX_EPOCH;

/// The epoch that was given, else that of `SOURCE_DATE_EPOCH`, else the usual one. Runs that are not
/// reproducible do not ask: the variable may be there for something else.
pub(crate) fn epoch(given: Option<u64>) -> Result<u64, Failed> {
    match given {
        Some(epoch) => Ok(epoch),
        None => of_variable(source_date_epoch()),
    }
}

fn of_variable(value: Option<OsString>) -> Result<u64, Failed> {
    let Some(value) = value else { return Ok(DEFAULT_EPOCH) };
    let epoch = value.to_str().and_then(|text| text.parse().ok());
    epoch.filter(|epoch| *epoch <= MAX_EPOCH).ok_or_else(|| {
        Failed::usage(format!(
            "the environment variable `{SOURCE_DATE_EPOCH}` must be a number of seconds from 0 to \
             {MAX_EPOCH}: unset it, or pass `--epoch`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_a_time_or_unset() {
        let of = |text: &str| of_variable(Some(text.into())).map_err(|failed| failed.to_string());
        assert_eq!(of_variable(None), Ok(DEFAULT_EPOCH));
        assert_eq!((of("0"), of("9000000000")), (Ok(0), Ok(MAX_EPOCH)));
        for wrong in ["", "-5", "abc", "9000000001", "1.5", " 1"] {
            assert!(of(wrong).unwrap_err().contains("`SOURCE_DATE_EPOCH` must"), "{wrong}");
        }
    }
}
