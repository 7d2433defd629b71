//! Sizes and times, with their units.

use std::time::Duration;

use crate::value::SettingValue;
use wardian_vocabulary::units::ByteCount;

impl SettingValue for ByteCount {
    const EXPECTED: &'static str =
        "a size such as \"256 MiB\" (units: B, KiB, MiB, GiB, TiB), or a number of bytes";

    fn from_text(text: &str) -> Option<Self> {
        const UNITS: [(&str, u64); 6] = [
            ("TiB", 1 << 40),
            ("GiB", 1 << 30),
            ("MiB", 1 << 20),
            ("KiB", 1 << 10),
            ("B", 1),
            ("", 1),
        ];
        let (number, unit) = quantity(text)?;
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        number.checked_mul(*size).map(Self::bytes)
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Integer(count) => u64::try_from(*count).ok().map(Self::bytes),
            toml::Value::String(text) => Self::from_text(text),
            _ => None,
        }
    }

    fn to_toml(&self) -> toml::Value {
        toml::Value::String(self.to_string().replace(" bytes", " B"))
    }
}

/// INVARIANT(times-have-units): a time other than 0 needs its unit. One operator means seconds with
/// `30` and another milliseconds, and a limit that is a thousand times too small stops every run.
impl SettingValue for Duration {
    const EXPECTED: &'static str = "a time such as \"30 s\" (units: ms, s, min, h, d)";

    fn from_text(text: &str) -> Option<Self> {
        let (number, unit) = quantity(text)?;
        let milliseconds = match unit {
            "" if number == 0 => 0,
            "ms" => 1,
            "s" => 1_000,
            "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        number.checked_mul(milliseconds).map(Self::from_millis)
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Integer(0) => Some(Self::ZERO),
            toml::Value::String(text) => Self::from_text(text),
            _ => None,
        }
    }

    fn fault_of_text(text: &str) -> String {
        match quantity(text) {
            Some((number, "")) => format!(
                "must have a unit: \"{number} s\" for seconds, \"{number} ms\" for milliseconds \
                 (units: ms, s, min, h, d)"
            ),
            _ => format!("must be {}", Self::EXPECTED),
        }
    }

    fn fault_of_toml(value: &toml::Value) -> String {
        match value {
            toml::Value::Integer(number) => Self::fault_of_text(&number.to_string()),
            toml::Value::String(text) => Self::fault_of_text(text),
            _ => format!("must be {}", Self::EXPECTED),
        }
    }

    fn to_toml(&self) -> toml::Value {
        const UNITS: [(u128, &str); 4] =
            [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
        let milliseconds = self.as_millis();
        let exact = UNITS
            .iter()
            .find(|(size, _)| milliseconds >= *size && milliseconds.is_multiple_of(*size));
        toml::Value::String(match exact {
            Some((size, unit)) => format!("{} {unit}", milliseconds / size),
            None => format!("{milliseconds} ms"),
        })
    }
}

/// Reads a duration such as `90d` or `30 s`.
///
/// # Errors
///
/// The text is not a time with its unit; the reason is the end of a sentence about it.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    Duration::from_text(text).ok_or_else(|| Duration::fault_of_text(text))
}

/// Splits `256 MiB` into its number and its unit; the space is optional.
fn quantity(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("1 B", 1),
            ("256 MiB", 256 << 20),
            ("16KiB", 16 << 10),
            (" 1 GiB ", 1 << 30),
            ("2 TiB", 2 << 40),
        ] {
            assert_eq!(ByteCount::from_text(text), Some(ByteCount::bytes(bytes)), "{text}");
        }
        for text in
            ["", "MiB", "1 MB", "1 mib", "-1", "1.5 GiB", "18446744073709551615 KiB", "1 MiB x"]
        {
            assert_eq!(ByteCount::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        for (text, milliseconds) in [
            ("0", 0),
            ("1500 ms", 1_500),
            ("30 s", 30_000),
            ("5min", 300_000),
            ("7 d", 604_800_000),
        ] {
            assert_eq!(
                Duration::from_text(text),
                Some(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for number in [1, 30, 1_500] {
            assert_eq!(Duration::from_text(&number.to_string()), None);
            let number = toml::Value::Integer(number);
            assert_eq!(Duration::from_toml(&number), None);
            assert!(Duration::fault_of_toml(&number).contains("must have a unit"));
        }
        for text in ["", "s", "1 m", "1.5 s", "-1 s", "1 y", "18446744073709551615 d"] {
            assert_eq!(Duration::from_text(text), None, "{text}");
        }
    }
}
