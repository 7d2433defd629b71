//! `wardian config`: prints the effective configuration.

use serde_json::{Value, json};
use toml::Table;

use crate::cli::exit_code::Exit;
use crate::cli::terminal::output::{print, print_json, print_line};
use wardian_config::{Config, GatewayMemory};

/// Prints the settings as a configuration file.
pub(crate) fn as_toml(config: &Config, is_explained: bool) -> Exit {
    if let Some(file) = &config.file {
        print_line(&format!("# read from {}", file.display()));
    }
    print(&if is_explained { config.to_explained_toml() } else { config.to_toml() });
    let most = GatewayMemory::of(config).total();
    print_line(&format!(
        "\n# the gateway takes at most {most} of memory, in addition to the files of skills"
    ));
    Exit::Done
}

/// Prints the settings for programs.
pub(crate) fn as_json(config: &Config) -> Exit {
    let settings = config.effective.iter().map(|setting| {
        let value = setting.value.as_deref().map_or(Value::Null, json_of);
        json!({ "key": setting.key, "value": value, "origin": setting.origin.to_string() })
    });
    let settings: Vec<Value> = settings.collect();
    print_json(&json!({ "file": config.file, "settings": settings }));
    Exit::Done
}

/// Converts a value in the form of a configuration file to JSON.
fn json_of(text: &str) -> Value {
    let read = format!("value = {text}").parse::<Table>().ok();
    let value = read.and_then(|mut table| table.remove("value"));
    value.and_then(|value| serde_json::to_value(value).ok()).unwrap_or_else(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_file_become_values_of_json() {
        for (text, value) in [
            ("\"30 s\"", json!("30 s")),
            ("16", json!(16)),
            ("true", json!(true)),
            ("[\"a\", \"b\"]", json!(["a", "b"])),
            ("not toml", json!("not toml")),
        ] {
            assert_eq!(json_of(text), value, "{text}");
        }
    }
}
