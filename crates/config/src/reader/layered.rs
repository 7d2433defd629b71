//! Reads settings from several layers, records the effective values, and collects all problems.
//!
//! INVARIANT(unknown-keys): an unknown key of the file is a problem and never ignored. Otherwise a
//! misspelt limit would have no effect.

use std::ops::RangeInclusive;
use std::path::Path;

use toml::{Table, Value as Toml};

use crate::effective::{EffectiveSetting, SettingOrigin};
use crate::reader::hints::hint;
use crate::reader::places::FilePlaces;
use crate::value::SettingValue;

/// The layers of settings. Later ones override earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// The file.
    pub file: Table,
    /// Where the keys of the file stand.
    pub places: FilePlaces,
    /// Variables with the prefix `WARDIAN_`.
    pub environment: Vec<(String, String)>,
    /// Key and text of each flag, in order.
    pub flags: Vec<(String, String)>,
}

/// Reads settings from layers.
#[derive(Debug)]
pub(crate) struct Reader {
    layers: Layers,
    asked: Vec<EffectiveSetting>,
    /// Settings that are tables with any keys.
    tables: Vec<&'static str>,
    problems: Vec<String>,
}

/// A value and where it was found.
enum Found<T> {
    Nowhere,
    Value(T, SettingOrigin),
    Wrong,
}

impl Reader {
    pub(crate) const fn new(layers: Layers) -> Self {
        Self { layers, asked: Vec::new(), tables: Vec::new(), problems: Vec::new() }
    }

    /// The setting `key`, or `default`.
    pub(crate) fn read<T: SettingValue>(&mut self, key: &'static str, default: T) -> T {
        self.read_checked(key, default, |_| None)
    }

    /// The setting `key` within `range`, or `default`.
    pub(crate) fn read_within<T: SettingValue + PartialOrd>(
        &mut self,
        key: &'static str,
        default: T,
        range: RangeInclusive<T>,
    ) -> T {
        self.read_checked(key, default, |value| {
            let shown = |bound: &T| bound.to_toml().to_string();
            (!range.contains(value)).then(|| {
                format!("must be between {} and {}", shown(range.start()), shown(range.end()))
            })
        })
    }

    /// The setting `key`, or `default`; `fault` says what is wrong with a value.
    pub(crate) fn read_checked<T: SettingValue>(
        &mut self,
        key: &'static str,
        default: T,
        fault: impl FnOnce(&T) -> Option<String>,
    ) -> T {
        match self.find::<T>(key) {
            Found::Value(value, origin) => {
                if let Some(fault) = fault(&value) {
                    self.problem(key, origin, &fault);
                    return default;
                }
                self.note(key, Some(&value), origin);
                value
            }
            Found::Nowhere | Found::Wrong => {
                self.note(key, Some(&default), SettingOrigin::Default);
                default
            }
        }
    }

    /// The setting `key`, or `default`, as `map` makes it of what was written.
    pub(crate) fn read_mapped<T: SettingValue>(
        &mut self,
        key: &'static str,
        default: T,
        map: impl FnOnce(T) -> T,
    ) -> T {
        let (value, origin) = match self.find::<T>(key) {
            Found::Value(value, origin) => (map(value), origin),
            Found::Nowhere | Found::Wrong => (default, SettingOrigin::Default),
        };
        self.note(key, Some(&value), origin);
        value
    }

    /// The setting `key`, which is a table with any keys, or `default`.
    pub(crate) fn read_table<T: SettingValue>(&mut self, key: &'static str, default: T) -> T {
        self.tables.push(key);
        self.read(key, default)
    }

    /// The setting `key`, which may be absent.
    pub(crate) fn read_optional<T: SettingValue>(&mut self, key: &'static str) -> Option<T> {
        let (value, origin) = match self.find::<T>(key) {
            Found::Value(value, origin) => (Some(value), origin),
            Found::Nowhere | Found::Wrong => (None, SettingOrigin::Default),
        };
        self.note(key, value.as_ref(), origin);
        value
    }

    /// The setting `key` within `range`, which may be absent.
    pub(crate) fn read_optional_within<T: SettingValue + PartialOrd>(
        &mut self,
        key: &'static str,
        range: RangeInclusive<T>,
    ) -> Option<T> {
        match self.find::<T>(key) {
            Found::Value(value, origin) if range.contains(&value) => {
                self.note(key, Some(&value), origin);
                Some(value)
            }
            Found::Value(_, origin) => {
                let shown = |bound: &T| bound.to_toml().to_string();
                let (least, most) = (shown(range.start()), shown(range.end()));
                self.problem(key, origin, &format!("must be between {least} and {most}"));
                None
            }
            Found::Nowhere | Found::Wrong => {
                self.note::<T>(key, None, SettingOrigin::Default);
                None
            }
        }
    }

    /// The setting `key`, which is a table with any keys; `check` says what is wrong with it.
    pub(crate) fn read_named_tables<T: SettingValue + Default>(
        &mut self,
        key: &'static str,
        check: impl FnOnce(&T) -> Result<(), String>,
    ) {
        self.tables.push(key);
        self.read_checked(key, T::default(), |value| check(value).err());
    }

    /// The setting `key`, which is a table with any keys, as `resolve` makes it of what was written and where; or what is
    /// wrong with it.
    pub(crate) fn read_resolved_tables<T: SettingValue + Default>(
        &mut self,
        key: &'static str,
        resolve: impl FnOnce(T, SettingOrigin) -> Result<T, String>,
    ) {
        self.tables.push(key);
        let (value, origin) = match self.find::<T>(key) {
            Found::Value(written, origin) => match resolve(written, origin) {
                Ok(value) => (value, origin),
                Err(fault) => return self.problem(key, origin, &fault),
            },
            Found::Nowhere | Found::Wrong => (T::default(), SettingOrigin::Default),
        };
        self.note(key, Some(&value), origin);
    }

    /// The path of the file, as the user named it; empty without one.
    pub(crate) fn file(&self) -> &Path {
        self.layers.places.path()
    }

    /// Returns the effective settings and the ignored variables, or all problems.
    pub(crate) fn finish(mut self) -> Result<(Vec<EffectiveSetting>, Vec<String>), Vec<String>> {
        let mut keys = Vec::new();
        list_keys("", &self.layers.file, &mut keys);
        let of_flags = std::mem::take(&mut self.layers.flags);
        let in_file = keys.into_iter().map(|key| (key, SettingOrigin::File));
        let in_flags = of_flags.into_iter().map(|(key, _)| (key, SettingOrigin::Flag));
        for (key, origin) in in_file.chain(in_flags) {
            if !self.is_known(&key) {
                let known: Vec<&str> = self.asked.iter().map(|setting| setting.key).collect();
                let (place, hint) = (self.place(&key, origin), hint(&key, &known, &self.tables));
                let problem = format!("{place} is not a setting: {hint}");
                self.problems.push(problem.chars().flat_map(without_controls).collect());
            }
        }
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let unknown = self.layers.environment.iter().map(|(name, _)| name);
        let ignored = unknown.filter(|name| !self.is_known_variable(name)).cloned().collect();
        Ok((self.asked, ignored))
    }

    /// The value that `key` will have if it is set and well formed, for defaults that depend on it.
    pub(crate) fn preview<T: SettingValue>(&self, key: &str) -> Option<T> {
        if let Some((_, text)) = self.layers.flags.iter().rev().find(|(name, _)| name == key) {
            return T::from_text(text);
        }
        match self.in_environment(key) {
            Some(text) => T::from_text(text),
            None => find_in(&self.layers.file, key).and_then(T::from_toml),
        }
    }

    /// True if the setting `key` was read, and does not have its default.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        let is_it = |setting: &&EffectiveSetting| setting.key == key;
        let found = self.asked.iter().find(is_it);
        found.is_some_and(|setting| {
            setting.value.is_some() && setting.origin != SettingOrigin::Default
        })
    }

    /// Adds a problem between settings. It is shown with the place of the first one that it names
    /// in backticks and that is set.
    pub(crate) fn complain(&mut self, problem: impl Into<String>) {
        let problem = problem.into();
        let named = problem.split('`').skip(1).step_by(2);
        let mut set = named.filter_map(|key| {
            let is_it = |setting: &&EffectiveSetting| {
                setting.key == key && setting.origin != SettingOrigin::Default
            };
            self.asked.iter().find(is_it).map(|setting| (key, setting.origin))
        });
        let place = set.next().map(|(key, origin)| match origin {
            SettingOrigin::Environment => format!("environment variable `{}`: ", variable_of(key)),
            SettingOrigin::Flag => "on the command line: ".to_owned(),
            SettingOrigin::File => format!("{}: ", self.layers.places.place(key)),
            SettingOrigin::Default => String::new(),
        });
        self.problems.push(format!("{}{problem}", place.unwrap_or_default()));
    }

    fn find<T: SettingValue>(&mut self, key: &'static str) -> Found<T> {
        let flag = self.layers.flags.iter().rev().find(|(name, _)| name == key);
        let of_text = |text: &str| T::from_text(text).ok_or_else(|| T::fault_of_text(text));
        let (found, origin) = if let Some((_, text)) = flag {
            (of_text(text), SettingOrigin::Flag)
        } else if let Some(text) = self.in_environment(key) {
            (of_text(text), SettingOrigin::Environment)
        } else if let Some(value) = find_in(&self.layers.file, key) {
            (T::from_toml(value).ok_or_else(|| T::fault_of_toml(value)), SettingOrigin::File)
        } else {
            return Found::Nowhere;
        };
        match found {
            Ok(value) => Found::Value(value, origin),
            Err(fault) => {
                self.problem(key, origin, &fault);
                Found::Wrong
            }
        }
    }

    fn in_environment(&self, key: &str) -> Option<&str> {
        let wanted = variable_of(key);
        let found = self.layers.environment.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, text)| text.as_str()).filter(|text| !text.is_empty())
    }

    fn note<T: SettingValue>(
        &mut self,
        key: &'static str,
        value: Option<&T>,
        origin: SettingOrigin,
    ) {
        let value = value.map(|value| value.to_toml().to_string());
        self.asked.push(EffectiveSetting { key, value, origin });
    }

    fn problem(&mut self, key: &'static str, origin: SettingOrigin, fault: &str) {
        self.problems.push(format!("{} {fault}", self.place(key, origin)));
        self.note::<bool>(key, None, origin);
    }

    /// Names a setting with its place, to be followed by what is wrong with it.
    fn place(&self, key: &str, origin: SettingOrigin) -> String {
        match origin {
            SettingOrigin::Environment => format!("environment variable `{}`", variable_of(key)),
            SettingOrigin::Flag => format!("`{key}` on the command line"),
            SettingOrigin::File | SettingOrigin::Default => {
                format!("{}: `{key}`", self.layers.places.place(key))
            }
        }
    }

    fn is_known(&self, key: &str) -> bool {
        let is_in = |table: &str| key.strip_prefix(table).is_some_and(|k| k.starts_with('.'));
        self.asked.iter().any(|setting| setting.key == key)
            || self.tables.iter().any(|table| is_in(table))
    }

    fn is_known_variable(&self, name: &str) -> bool {
        self.asked.iter().any(|setting| variable_of(setting.key) == name)
    }
}

/// A letter as it is shown: keys of a file may have control characters.
fn without_controls(letter: char) -> Vec<char> {
    if letter.is_control() { letter.escape_default().collect() } else { vec![letter] }
}

/// The environment variable for a key: `WARDIAN_HTTP_MAX_BODY` for `http.max_body`.
pub(crate) fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_ascii_uppercase())
}

/// The prefix of all environment variables of Wardian.
pub(crate) const PREFIX: &str = "WARDIAN_";

fn find_in<'a>(table: &'a Table, key: &str) -> Option<&'a Toml> {
    match key.split_once('.') {
        Some((name, rest)) => find_in(table.get(name)?.as_table()?, rest),
        None => table.get(key),
    }
}

/// Keys of all values that are not tables, with dots.
fn list_keys(prefix: &str, table: &Table, keys: &mut Vec<String>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Toml::Table(inner) if !inner.is_empty() => list_keys(&key, inner, keys),
            Toml::Table(_) => {}
            _ => keys.push(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_vocabulary::units::ByteCount;

    fn reader(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Reader {
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        Reader::new(Layers {
            file: file.parse().unwrap(),
            places: FilePlaces::of("w.toml".as_ref(), file),
            environment: owned(environment),
            flags: owned(flags),
        })
    }

    #[test]
    fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
        let file = "[workers]\ncount = 1";
        let environment = [("WARDIAN_WORKERS_COUNT", "2")];
        let flags = [("workers.count", "3"), ("workers.count", "4")];
        let count = |mut reader: Reader| reader.read("workers.count", 0_usize);
        assert_eq!(count(reader("", &[], &[])), 0);
        assert_eq!(count(reader(file, &[], &[])), 1);
        assert_eq!(count(reader(file, &environment, &[])), 2);
        assert_eq!(count(reader(file, &environment, &flags)), 4);
        assert_eq!(count(reader(file, &[("WARDIAN_WORKERS_COUNT", "")], &[])), 1, "empty is unset");
    }

    #[test]
    fn unknown_keys_are_named_with_the_ones_there_are() {
        let mut reader =
            reader("lisen = 1\n[http]\nmax_boddy = 1\n[htp.x]\ny = 1", &[], &[("x.y", "1")]);
        reader.read("listen", String::new().into_bytes().len());
        reader.read("http.max_body", ByteCount::bytes(1));
        reader.read("http.max_header", ByteCount::bytes(1));
        insta::assert_snapshot!(reader.finish().unwrap_err().join("\n"), @r"
        w.toml:5: `htp.x.y` is not a setting: did you mean `http`?
        w.toml:3: `http.max_boddy` is not a setting: did you mean `http.max_body`?
        w.toml:1: `lisen` is not a setting: did you mean `listen`?
        `x.y` on the command line is not a setting: there are `http` and `listen`
        ");
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let file = "[http]\nmax_body = \"1 MB\"\nmax_connections = 0";
        let mut reader = reader(file, &[("WARDIAN_WORKERS_COUNT", "many")], &[("listen", "here")]);
        reader.read("http.max_body", ByteCount::bytes(1));
        reader.read_within("http.max_connections", 5_usize, 1..=100_000);
        reader.read("workers.count", 1_usize);
        reader.read("listen", std::net::SocketAddr::from(([127, 0, 0, 1], 1)));
        insta::assert_snapshot!(reader.finish().unwrap_err().join("\n"), @r#"
        w.toml:2: `http.max_body` must be a size such as "256 MiB" (units: B, KiB, MiB, GiB, TiB), or a number of bytes
        w.toml:3: `http.max_connections` must be between 1 and 100000
        environment variable `WARDIAN_WORKERS_COUNT` must be a whole number
        `listen` on the command line must be an address and a port, such as "127.0.0.1:8080"
        "#);
    }

    #[test]
    fn a_table_where_a_value_should_be_is_a_problem() {
        let mut tables = reader("[listen]\nport = 1", &[], &[]);
        tables.read("listen", 1_u32);
        assert!(tables.finish().is_err());
        let mut values = reader("http = 1", &[], &[]);
        values.read("http.max_body", 1_u32);
        assert!(values.finish().is_err());
    }

    #[test]
    fn variables_that_nobody_knows_are_told_but_do_no_harm() {
        let mut reader = reader("", &[("WARDIAN_LISEN", "x"), ("WARDIAN_LISTEN", "1")], &[]);
        reader.read("listen", 1_u32);
        let (_, ignored) = reader.finish().unwrap();
        assert_eq!(ignored, ["WARDIAN_LISEN"]);
    }
}
