//! The settings `telemetry.*`: where traces go, and which there are.

use std::path::PathBuf;

use toml::Value as Toml;

use crate::environment::Surroundings;
use crate::reader::Reader;
use crate::value::SettingValue;
use wardian_telemetry::traces::{CollectorAddress, ParentTrust, TracesConfig};

/// Longest name of a service.
const MAX_NAME: usize = 100;

/// Reads the settings of traces. Without a collector there are none, whatever the others say.
pub(crate) fn read_traces(
    reader: &mut Reader,
    surroundings: &Surroundings,
) -> Option<TracesConfig> {
    let collector: Option<CollectorAddress> = reader.read_optional("telemetry.otlp_endpoint");
    let headers: Option<PathBuf> = reader.read_optional("telemetry.headers_file");
    let authorities: Option<PathBuf> = reader.read_optional("telemetry.ca_file");
    let ratio = reader.read_within("telemetry.sample_ratio", 1.0, 0.0..=1.0);
    let parents = reader.read("telemetry.parents", ParentTrust::default());
    let service_name =
        reader.read_checked("telemetry.service_name", "wardian".to_owned(), |name: &String| {
            let is_fine = (1..=MAX_NAME).contains(&name.len()) && !name.contains(char::is_control);
            (!is_fine).then(|| format!("must have 1 to {MAX_NAME} bytes, without line breaks"))
        });
    Some(TracesConfig {
        collector: collector?,
        headers: headers.map(|path| surroundings.absolute(path)),
        authorities: authorities.map(|path| surroundings.absolute(path)),
        ratio,
        parents,
        service_name,
    })
}

impl SettingValue for CollectorAddress {
    const EXPECTED: &'static str = "the URL of a collector, such as \"http://127.0.0.1:4318\", \
        without user, query and fragment; a key belongs in `telemetry.headers_file`";

    fn from_text(text: &str) -> Option<Self> {
        Self::parse(text)
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        value.as_str().and_then(Self::parse)
    }

    fn to_toml(&self) -> Toml {
        Toml::String(self.to_string())
    }
}

impl SettingValue for f64 {
    const EXPECTED: &'static str = "a number such as 0.25";

    fn from_text(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|number: &Self| number.is_finite())
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        let whole = value.as_integer().and_then(|whole| i32::try_from(whole).ok()).map(Self::from);
        value.as_float().filter(|number| number.is_finite()).or(whole)
    }

    fn to_toml(&self) -> Toml {
        Toml::Float(*self)
    }
}

impl SettingValue for ParentTrust {
    const EXPECTED: &'static str = "\"link\", \"join\" or \"follow\"";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "link" => Some(Self::Link),
            "join" => Some(Self::Join),
            "follow" => Some(Self::Follow),
            _ => None,
        }
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        value.as_str().and_then(Self::from_text)
    }

    fn to_toml(&self) -> Toml {
        let word = match self {
            Self::Link => "link",
            Self::Join => "join",
            Self::Follow => "follow",
        };
        Toml::String(word.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ConfigError, Flags};

    fn load(settings: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let surroundings = Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            working_dir: Some("/here".into()),
            ..Surroundings::default()
        };
        let settings = settings.iter().map(|(key, text)| {
            let key = format!("telemetry.{key}");
            (key, (*text).to_owned())
        });
        Config::load(&surroundings, Flags { file: None, settings: settings.collect() })
    }

    #[test]
    fn there_are_no_traces_without_a_collector() {
        assert_eq!(load(&[]).unwrap().traces, None);
        let others = [("sample_ratio", "0.5"), ("parents", "follow"), ("service_name", "x")];
        assert_eq!(load(&others).unwrap().traces, None);
        let collector = ("otlp_endpoint", "https://collector.example/base/");
        let headers = ("headers_file", "headers");
        let traces = load(&[&others[..], &[collector, headers]].concat()).unwrap().traces.unwrap();
        assert_eq!(traces.collector.to_string(), "https://collector.example/base/");
        assert_eq!((traces.ratio, traces.parents), (0.5, ParentTrust::Follow));
        assert_eq!(traces.headers, Some("/here/headers".into()));
        assert_eq!(traces.service_name, "x");
    }

    #[test]
    fn settings_of_traces_that_cannot_be_are_refused_with_one_line() {
        for (key, text, expected) in [
            ("otlp_endpoint", "127.0.0.1:4318", "must be the URL of a collector"),
            ("otlp_endpoint", "ftp://127.0.0.1", "must be the URL of a collector"),
            ("otlp_endpoint", "http://", "must be the URL of a collector"),
            ("otlp_endpoint", "http://user:key@host", "belongs in `telemetry.headers_file`"),
            ("otlp_endpoint", "http://host:0", "must be the URL of a collector"),
            ("otlp_endpoint", "http://host:99999", "must be the URL of a collector"),
            ("otlp_endpoint", "http://host?key=1", "must be the URL of a collector"),
            ("otlp_endpoint", "http://ho st", "must be the URL of a collector"),
            ("sample_ratio", "1.01", "must be between 0.0 and 1.0"),
            ("sample_ratio", "-1", "must be between 0.0 and 1.0"),
            ("sample_ratio", "nan", "must be a number such as 0.25"),
            ("parents", "all", "must be \"link\", \"join\" or \"follow\""),
            ("service_name", "a\nb", "must have 1 to 100 bytes"),
            ("endpoint", "x", "is not a setting"),
        ] {
            let told = match load(&[(key, text)]) {
                Err(ConfigError::Settings { problems }) => problems.join("\n"),
                other => panic!("{key}={text}: {other:?}"),
            };
            assert!(told.contains(expected) && told.lines().count() == 1, "{key}={text}: {told}");
        }
    }
}
