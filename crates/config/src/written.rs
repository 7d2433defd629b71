//! The effective configuration, written as a file.

use crate::reader::variable_of;
use crate::setting_table::{explanation, is_live};
use crate::settings::Config;

impl Config {
    /// Writes the effective settings as a configuration file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.written(|_| String::new())
    }

    /// The same, with a sentence about each setting and the name of its environment variable.
    #[must_use]
    pub fn to_explained_toml(&self) -> String {
        self.written(|key| {
            let reloaded = if is_live(key) { " Read again while a server runs." } else { "" };
            format!("\n# {}{reloaded}\n# {}\n", explanation(key), variable_of(key))
        })
    }

    /// Writes the settings, each after the text that `before` returns for its key.
    fn written(&self, before: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        let mut table = "";
        // Settings of no table stand before the first table.
        let (at_top, in_tables): (Vec<_>, Vec<_>) =
            self.effective.iter().partition(|setting| !setting.key.contains('.'));
        for setting in at_top.into_iter().chain(in_tables) {
            let (in_table, name) = setting.key.rsplit_once('.').unwrap_or(("", setting.key));
            if in_table != table {
                table = in_table;
                text.push_str(&format!("\n[{table}]\n"));
            }
            text.push_str(&before(setting.key));
            match &setting.value {
                Some(value) => {
                    let line = format!("{name} = {value}");
                    text.push_str(&format!("{line:<50} # {}\n", setting.origin));
                }
                None => text.push_str(&format!("# {name} is not set\n")),
            }
        }
        text
    }
}
