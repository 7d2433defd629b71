//! Parses values of settings: texts of flags and the environment, values of a file.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use ipnet::IpNet;

use crate::settings::{AuthMode, CgroupUse, CompileMetered, LogFormat, LogLevel, RequireLockdown};
use wardian_egress::config::ProxyAddress;
use wardian_engine::code::compile::TargetCpu;
use wardian_engine::code::polls::Interruption;
use wardian_formats::skill::manifest::secret_hosts::{BrokeredHosts, SecretHosts};
use wardian_formats::skill::manifest::secret_name::check_secret_name;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_images::PackageSet;
use wardian_sessions::SessionSync;

/// A type that settings can have.
pub(crate) trait SettingValue: Sized {
    /// The expected form, for the sentence "must be …".
    const EXPECTED: &'static str;

    /// Reads the text of a flag or an environment variable.
    fn from_text(text: &str) -> Option<Self>;

    /// Reads the value of a file.
    fn from_toml(value: &toml::Value) -> Option<Self>;

    /// The value as it would be written into a file.
    fn to_toml(&self) -> toml::Value;

    /// What is wrong with a text that cannot be read, after the name of the setting.
    fn fault_of_text(_text: &str) -> String {
        format!("must be {}", Self::EXPECTED)
    }

    /// What is wrong with a value of a file that cannot be read, after the name of the setting.
    fn fault_of_toml(value: &toml::Value) -> String {
        Self::fault_of_text(value.as_str().unwrap_or_default())
    }
}

impl SettingValue for AuthMode {
    const EXPECTED: &'static str = "\"open\", \"keys\", \"jwt\" or \"proxy\"";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "open" => Some(Self::Open),
            "keys" => Some(Self::Keys),
            "jwt" => Some(Self::Jwt),
            "proxy" => Some(Self::Proxy),
            _ => None,
        }
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_str().and_then(Self::from_text)
    }

    fn to_toml(&self) -> toml::Value {
        let text = match self {
            Self::Open => "open",
            Self::Keys => "keys",
            Self::Jwt => "jwt",
            Self::Proxy => "proxy",
        };
        toml::Value::String(text.to_owned())
    }
}

impl SettingValue for CgroupUse {
    const EXPECTED: &'static str = "\"auto\", \"require\" or \"off\"";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "require" => Some(Self::Require),
            "off" => Some(Self::Off),
            _ => None,
        }
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_str().and_then(Self::from_text)
    }

    fn to_toml(&self) -> toml::Value {
        let text = match self {
            Self::Auto => "auto",
            Self::Require => "require",
            Self::Off => "off",
        };
        toml::Value::String(text.to_owned())
    }
}

impl SettingValue for RequireLockdown {
    const EXPECTED: &'static str = "\"auto\", true or false";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "true" => Some(Self::Always),
            "false" => Some(Self::Never),
            _ => None,
        }
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Boolean(is_required) => Self::from_text(&is_required.to_string()),
            toml::Value::String(text) => Self::from_text(text),
            _ => None,
        }
    }

    fn to_toml(&self) -> toml::Value {
        match self {
            Self::Auto => toml::Value::String("auto".to_owned()),
            Self::Always => toml::Value::Boolean(true),
            Self::Never => toml::Value::Boolean(false),
        }
    }
}

impl SettingValue for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_bool()
    }

    fn to_toml(&self) -> toml::Value {
        toml::Value::Boolean(*self)
    }
}

/// Implements [`SettingValue`] for a sort of whole number.
macro_rules! whole_number {
    ($number:ty) => {
        impl SettingValue for $number {
            const EXPECTED: &'static str = "a whole number";

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn from_toml(value: &toml::Value) -> Option<Self> {
                value.as_integer()?.try_into().ok()
            }

            fn to_toml(&self) -> toml::Value {
                toml::Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    };
}

whole_number!(u32);
whole_number!(u64);
whole_number!(usize);

impl SettingValue for PathBuf {
    const EXPECTED: &'static str = "a path";

    fn from_text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::from(text))
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_str().and_then(Self::from_text)
    }

    fn to_toml(&self) -> toml::Value {
        toml::Value::String(self.display().to_string())
    }
}

impl SettingValue for SocketAddr {
    const EXPECTED: &'static str = "an address and a port, such as \"127.0.0.1:8080\"";

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_str().and_then(Self::from_text)
    }

    fn to_toml(&self) -> toml::Value {
        toml::Value::String(self.to_string())
    }
}

/// Several paths; in flags and the environment with `:` between them, as in `PATH`.
impl SettingValue for Vec<PathBuf> {
    const EXPECTED: &'static str = "a list of paths (in flags and the environment joined by `:`)";

    fn from_text(text: &str) -> Option<Self> {
        Some(text.split(':').filter_map(PathBuf::from_text).collect())
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_array()?.iter().map(PathBuf::from_toml).collect()
    }

    fn to_toml(&self) -> toml::Value {
        toml::Value::Array(self.iter().map(SettingValue::to_toml).collect())
    }
}

/// Several images; in flags and the environment with `,` between them.
impl SettingValue for Vec<PackageSet> {
    const EXPECTED: &'static str = "a list of images, each groups of packages joined by `+`, such \
        as \"matplotlib+sklearn\" (groups: documents, http, lxml, matplotlib, networkx, pillow, \
        scipy, sklearn, statsmodels, sympy, pydantic)";

    fn from_text(text: &str) -> Option<Self> {
        Vec::<String>::from_text(text)?.iter().map(|name| name.parse().ok()).collect()
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        Vec::<String>::from_toml(value)?.iter().map(|name| name.parse().ok()).collect()
    }

    fn to_toml(&self) -> toml::Value {
        self.iter().map(PackageSet::to_string).collect::<Vec<_>>().to_toml()
    }
}

/// Several patterns of URLs; in flags and the environment with `,` between them.
impl SettingValue for Vec<UrlPattern> {
    const EXPECTED: &'static str = "a list of patterns such as \"https://api.example.com\" or \
        \"https://*.example.com/v1/\" (in flags and the environment joined by `,`)";

    fn from_text(text: &str) -> Option<Self> {
        Vec::<String>::from_text(text)?.iter().map(|entry| UrlPattern::parse(entry).ok()).collect()
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        Vec::<String>::from_toml(value)?.iter().map(|entry| UrlPattern::parse(entry).ok()).collect()
    }

    fn to_toml(&self) -> toml::Value {
        self.iter().map(UrlPattern::to_string).collect::<Vec<_>>().to_toml()
    }
}

/// Brokered secrets with their hosts; in flags and the environment pairs `NAME=PATTERN` with `,`
/// between them.
impl SettingValue for SecretHosts {
    const EXPECTED: &'static str = "a table such as { ACME_KEY = [\"https://api.acme.com\"] } or \
        { ACME_KEY = { hosts = [\"https://api.acme.com\"], in_body = true } } (in flags and the \
        environment pairs NAME=PATTERN joined by `,`)";

    fn from_text(text: &str) -> Option<Self> {
        let mut hosts = Self::default();
        for pair in Vec::<String>::from_text(text)? {
            let (name, pattern) = pair.split_once('=')?;
            let named = hosts.0.entry(name.to_owned()).or_default();
            named.patterns.push(UrlPattern::parse(pattern).ok()?);
        }
        hosts.0.keys().all(|name| check_secret_name(name).is_ok()).then_some(hosts)
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        let mut hosts = Self::default();
        for (name, value) in value.as_table()? {
            check_secret_name(name).ok()?;
            let in_table = value.as_table();
            let known = ["hosts", "in_body"];
            if in_table.is_some_and(|table| table.keys().any(|k| !known.contains(&k.as_str()))) {
                return None;
            }
            let list = in_table.map_or(Some(value), |table| table.get("hosts"))?;
            let in_body = in_table.and_then(|table| table.get("in_body"));
            let in_body = in_body.map_or(Some(false), toml::Value::as_bool)?;
            let patterns = Vec::<UrlPattern>::from_toml(list)?;
            hosts.0.insert(name.clone(), BrokeredHosts { patterns, in_body });
        }
        Some(hosts)
    }

    fn to_toml(&self) -> toml::Value {
        let entry = |(name, named): (&String, &BrokeredHosts)| {
            let mut value = named.patterns.to_toml();
            if named.in_body {
                let in_body = ("in_body".to_owned(), true.into());
                value = toml::Value::Table(
                    [("hosts".to_owned(), value), in_body].into_iter().collect(),
                );
            }
            (name.clone(), value)
        };
        toml::Value::Table(self.0.iter().map(entry).collect())
    }
}

/// Several ranges of addresses; in flags and the environment with `,` between them.
impl SettingValue for Vec<IpNet> {
    const EXPECTED: &'static str = "a list of ranges of addresses such as \"10.1.0.0/16\" (in flags \
        and the environment joined by `,`)";

    fn from_text(text: &str) -> Option<Self> {
        Vec::<String>::from_text(text)?.iter().map(|entry| entry.parse().ok()).collect()
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        Vec::<String>::from_toml(value)?.iter().map(|entry| entry.parse().ok()).collect()
    }

    fn to_toml(&self) -> toml::Value {
        self.iter().map(IpNet::to_string).collect::<Vec<_>>().to_toml()
    }
}

/// A proxy. It is shown without its password.
impl SettingValue for ProxyAddress {
    const EXPECTED: &'static str =
        "an HTTP proxy: \"http://HOST:PORT\" or \"http://USER:PASSWORD@HOST:PORT\"";

    fn from_text(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_str().and_then(Self::from_text)
    }

    fn to_toml(&self) -> toml::Value {
        let host = self.host();
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        toml::Value::String(format!("http://{host}:{}", self.port()))
    }
}

/// Several words; in flags and the environment with `,` between them.
impl SettingValue for Vec<String> {
    const EXPECTED: &'static str = "a list of texts (in flags and the environment joined by `,`)";

    fn from_text(text: &str) -> Option<Self> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        Some(words.map(str::to_owned).collect())
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_array()?.iter().map(|entry| entry.as_str().map(str::to_owned)).collect()
    }

    fn to_toml(&self) -> toml::Value {
        toml::Value::Array(self.iter().map(|word| toml::Value::String(word.clone())).collect())
    }
}

impl SettingValue for TargetCpu {
    const EXPECTED: &'static str = "\"native\" or \"baseline\"";

    fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cpu| cpu.as_str() == text)
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_str().and_then(Self::from_text)
    }

    fn to_toml(&self) -> toml::Value {
        toml::Value::String(self.to_string())
    }
}

/// Implements [`SettingValue`] for a choice between words that is displayed as its word.
macro_rules! choice {
    ($choice:ident, $expected:literal, $($word:literal => $variant:ident),+) => {
        impl SettingValue for $choice {
            const EXPECTED: &'static str = $expected;

            fn from_text(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            fn from_toml(value: &toml::Value) -> Option<Self> {
                value.as_str().and_then(Self::from_text)
            }

            fn to_toml(&self) -> toml::Value {
                toml::Value::String(self.to_string())
            }
        }
    };
}

/// Implements [`SettingValue`] and [`fmt::Display`] for a choice between words.
macro_rules! displayed_choice {
    ($choice:ident, $expected:literal, $($word:literal => $variant:ident),+) => {
        choice!($choice, $expected, $($word => $variant),+);

        impl fmt::Display for $choice {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)+
                })
            }
        }
    };
}

displayed_choice!(
    CompileMetered, "\"on_demand\" or \"never\"", "on_demand" => OnDemand, "never" => Never
);
choice!(SessionSync, "\"second\" or \"always\"", "second" => Second, "always" => Always);
choice!(Interruption, "\"polls\" or \"epochs\"", "polls" => Polls, "epochs" => Epochs);
displayed_choice!(LogFormat, "\"text\" or \"json\"", "text" => Text, "json" => Json);
displayed_choice!(
    LogLevel, "\"error\", \"warn\", \"info\", \"debug\" or \"trace\"",
    "error" => Error, "warn" => Warn, "info" => Info, "debug" => Debug, "trace" => Trace
);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use wardian_vocabulary::units::ByteCount;

    #[test]
    fn a_file_may_not_write_numbers_as_texts_where_units_make_no_sense() {
        assert_eq!(u32::from_toml(&toml::Value::String("8".into())), None);
        assert_eq!(bool::from_toml(&toml::Value::String("true".into())), None);
        assert_eq!(u32::from_toml(&toml::Value::Integer(-1)), None);
        assert_eq!(ByteCount::from_toml(&toml::Value::Integer(-1)), None);
        assert_eq!(Duration::from_toml(&toml::Value::Float(1.5)), None);
    }

    #[test]
    fn hosts_of_secrets_are_a_table_or_pairs() {
        let file: toml::Table =
            "A = [\"https://a.example.com\", \"https://*.b.example.com/v1/\"]".parse().unwrap();
        let read = SecretHosts::from_toml(&toml::Value::Table(file)).unwrap();
        let text = "A=https://a.example.com,A=https://*.b.example.com/v1/";
        assert_eq!(SecretHosts::from_text(text).unwrap(), read);
        assert_eq!(SecretHosts::from_toml(&read.to_toml()).unwrap(), read);
        let body = "A = { hosts = [\"https://a.example.com\"], in_body = true }";
        let body = toml::Value::Table(body.parse().unwrap());
        assert!(SecretHosts::from_toml(&body).unwrap().0["A"].in_body);
        assert_eq!(SecretHosts::from_toml(&body).unwrap().to_toml(), body);
        for wrong in [
            "A = \"https://a.example.com\"",
            "A = [\"*\"]",
            "PATH = [\"https://a.example.com\"]",
            "A = { host = [\"https://a.example.com\"] }",
            "A = { hosts = [\"https://a.example.com\"], in_body = 1 }",
        ] {
            let wrong = toml::Value::Table(wrong.parse().unwrap());
            assert_eq!(SecretHosts::from_toml(&wrong), None, "{wrong}");
        }
        assert_eq!(SecretHosts::from_text("A"), None);
        assert_eq!(SecretHosts::from_text("LD_X=https://a.example.com"), None);
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(count in any::<u64>(), shift in 0_u32..40) {
            let size = ByteCount::bytes(count >> shift << (shift / 2));
            prop_assert_eq!(ByteCount::from_toml(&size.to_toml()), Some(size));
            let time = Duration::from_millis(count >> shift);
            prop_assert_eq!(Duration::from_toml(&time.to_toml()), Some(time));
        }

        #[test]
        fn any_text_is_a_value_or_none(text in "\\PC{0,20}") {
            ByteCount::from_text(&text);
            Duration::from_text(&text);
            <Vec<PathBuf>>::from_text(&text);
        }
    }
}
