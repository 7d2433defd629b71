//! The lines of a configuration file at which its settings stand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A file, and the line of each of its keys.
#[derive(Debug, Default)]
pub(crate) struct FilePlaces {
    path: PathBuf,
    /// By the dotted key of a setting or table, from 1.
    lines: BTreeMap<String, usize>,
}

impl FilePlaces {
    /// Finds the keys of `text`, which was read from `path`. Without lines if it is not TOML.
    pub(crate) fn of(path: &Path, text: &str) -> Self {
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let mut lines = BTreeMap::new();
        if let Ok(table) = DeTable::parse(text) {
            note_lines("", table.get_ref(), &ends, &mut lines);
        }
        Self { path: path.to_owned(), lines }
    }

    /// The path of the file; empty if there is none.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The place of a key, such as `/etc/wardian/config.toml:12`; of its nearest table if the key
    /// itself is not in the file.
    pub(crate) fn place(&self, key: &str) -> String {
        let mut wanted = key;
        loop {
            if let Some(line) = self.lines.get(wanted) {
                return format!("{}:{line}", self.path.display());
            }
            match wanted.rsplit_once('.') {
                Some((table, _)) => wanted = table,
                None => return self.path.display().to_string(),
            }
        }
    }
}

fn note_lines(
    prefix: &str,
    table: &DeTable<'_>,
    ends: &[usize],
    lines: &mut BTreeMap<String, usize>,
) {
    let line_of = |name: &Spanned<DeString<'_>>| {
        ends.partition_point(|end| *end < name.span().start).saturating_add(1)
    };
    for (name, value) in table {
        let text: &str = name.get_ref();
        let key = if prefix.is_empty() { text.to_owned() } else { format!("{prefix}.{text}") };
        lines.insert(key.clone(), line_of(name));
        if let DeValue::Table(inner) = value.get_ref() {
            note_lines(&key, inner, ends, lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_line() {
        let text =
            "# é\nlisten = 1\n\n[http]\nmax_body = 2\ntls.key = 3\n[a.\"b c\"]\nx = { y = 4 }";
        let places = FilePlaces::of(Path::new("/w.toml"), text);
        for (key, place) in [
            ("listen", "/w.toml:2"),
            ("http", "/w.toml:4"),
            ("http.max_body", "/w.toml:5"),
            ("http.tls.key", "/w.toml:6"),
            ("a.b c.x.y", "/w.toml:8"),
            ("http.other", "/w.toml:4"),
            ("other", "/w.toml"),
        ] {
            assert_eq!(places.place(key), place, "{key}");
        }
        assert_eq!(FilePlaces::of(Path::new("/w.toml"), "x =").place("x"), "/w.toml");
    }
}
