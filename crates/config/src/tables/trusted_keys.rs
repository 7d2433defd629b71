//! The settings `skills.require_signatures` and `skills.trusted_keys`: who may sign which skills.
//!
//! INVARIANT(own-keys): which key a configuration file trusts does not depend on the working folder of the process, because
//! a command may be typed in a folder of somebody else. So a relative path in the file is below the folder of the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::{Table, Value as Toml};

use crate::effective::SettingOrigin;
use crate::environment::Surroundings;
use crate::reader::Reader;
use crate::settings::TrustedKey;
use crate::value::SettingValue;
use wardian_formats::provenance::skill_signature::SkillKey;
use wardian_skills::registry::NamePattern;

/// The setting that names the keys.
pub(crate) const TRUSTED_KEYS: &str = "skills.trusted_keys";

/// Maximum number of patterns, and of keys of one. Each key may be tried with each signature of a skill.
const MAX_PATTERNS: usize = 1_000;
const MAX_KEYS: usize = 16;

/// Reads the keys by the names of the skills that they may sign.
pub(crate) fn read_trusted_keys(
    reader: &mut Reader,
    surroundings: &Surroundings,
) -> BTreeMap<NamePattern, Vec<TrustedKey>> {
    let mut keys = BTreeMap::new();
    let folder = reader.file().parent().map(Path::to_owned).unwrap_or_default();
    reader.read_resolved_tables(TRUSTED_KEYS, |written: KeysByPattern, origin| {
        let whole = |path: PathBuf| match origin {
            SettingOrigin::File => surroundings.absolute(folder.join(path)),
            SettingOrigin::Default | SettingOrigin::Environment | SettingOrigin::Flag => {
                surroundings.absolute(path)
            }
        };
        keys = keys_of(&written, whole)?;
        let resolved = written.0.into_iter().map(|(pattern, keys)| {
            let keys = keys.into_iter().map(|key| match SkillKey::is_inline(&key) {
                true => key,
                false => whole(PathBuf::from(key)).to_string_lossy().into_owned(),
            });
            (pattern, keys.collect())
        });
        Ok(KeysByPattern(resolved.collect()))
    });
    keys
}

fn keys_of(
    written: &KeysByPattern,
    whole: impl Fn(PathBuf) -> PathBuf,
) -> Result<BTreeMap<NamePattern, Vec<TrustedKey>>, String> {
    if written.0.len() > MAX_PATTERNS {
        return Err(format!("must have at most {MAX_PATTERNS} patterns"));
    }
    let mut found = BTreeMap::new();
    for (text, keys) in &written.0 {
        let shown = text.escape_debug();
        let pattern = NamePattern::parse(text).ok_or_else(|| {
            format!(
                "has `{shown}`, which must be the name of a skill, the names below one such as \
                `acme.*`, or `*`"
            )
        })?;
        if !(1..=MAX_KEYS).contains(&keys.len()) {
            return Err(format!("has `{shown}`, which must have 1 to {MAX_KEYS} keys"));
        }
        let keys = keys.iter().map(|key| trusted_key(key, &whole));
        let keys = keys.collect::<Result<Vec<_>, _>>();
        found.insert(pattern, keys.map_err(|why| format!("has a key of `{shown}`: {why}"))?);
    }
    Ok(found)
}

fn trusted_key(text: &str, whole: impl Fn(PathBuf) -> PathBuf) -> Result<TrustedKey, String> {
    if SkillKey::is_inline(text) {
        return SkillKey::parse(text).map(TrustedKey::Inline).map_err(|fault| fault.to_string());
    }
    match text.is_empty() {
        true => Err("it must be `ed25519:…` or the path of a PEM file".to_owned()),
        false => Ok(TrustedKey::File(whole(PathBuf::from(text)))),
    }
}

/// Keys as they are written, by the pattern of their skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct KeysByPattern(BTreeMap<String, Vec<String>>);

/// In flags and the environment entries `PATTERN=KEY;KEY` with `,` between them.
impl SettingValue for KeysByPattern {
    const EXPECTED: &'static str = "a table of patterns such as { \"acme.*\" = [\"ed25519:…\", \
        \"/etc/wardian/cosign.pub\"] } (in flags and the environment entries PATTERN=KEY;KEY joined \
        by `,`)";

    fn from_text(text: &str) -> Option<Self> {
        let mut found = BTreeMap::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (pattern, keys) = entry.split_once('=')?;
            let keys = keys.split(';').map(|key| key.trim().to_owned()).collect();
            if found.insert(pattern.to_owned(), keys).is_some() {
                return None;
            }
        }
        Some(Self(found))
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        let keys = |value: &Toml| match value {
            Toml::String(key) => Some(vec![key.clone()]),
            _ => value.as_array()?.iter().map(|key| Some(key.as_str()?.to_owned())).collect(),
        };
        let found = value.as_table()?.iter();
        let found = found.map(|(pattern, value)| Some((pattern.clone(), keys(value)?)));
        Some(Self(found.collect::<Option<_>>()?))
    }

    fn to_toml(&self) -> Toml {
        let keys = |keys: &[String]| keys.iter().cloned().map(Toml::String).collect();
        let found = self.0.iter().map(|(pattern, all)| (pattern.clone(), Toml::Array(keys(all))));
        Toml::Table(found.collect::<Table>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ConfigError, Flags};

    const KEY: &str = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

    fn load_at(path: &Path, file: &str, flags: &[(&str, &str)]) -> Result<Config, ConfigError> {
        std::fs::write(path, file).unwrap();
        let surroundings = Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            working_dir: Some("/here".into()),
            ..Surroundings::default()
        };
        let settings = flags.iter().map(|(key, text)| ((*key).into(), (*text).into())).collect();
        Config::load(&surroundings, Flags { file: Some(path.to_owned()), settings })
    }

    fn load(file: &str, flags: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        load_at(&folder.path().join("wardian.toml"), file, flags)
    }

    /// INVARIANT(own-keys)
    #[test]
    fn own_keys_of_a_file_lie_beside_it_and_those_of_a_flag_in_the_working_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.toml");
        let file = format!(
            "[skills]\nrequire_signatures = true\n[skills.trusted_keys]\n\
             \"acme.*\" = [\"{KEY}\", \"cosign.pub\"]\n\"*\" = \"/etc/key.pem\"\n"
        );
        let config = load_at(&path, &file, &[]).unwrap();
        assert!(config.skills.require_signatures);
        let pattern = |text: &str| NamePattern::parse(text).unwrap();
        let keys_of = |config: &Config, cosign: PathBuf| {
            let inline = TrustedKey::Inline(SkillKey::parse(KEY).unwrap());
            let keys = &config.skills.trusted_keys;
            assert_eq!(keys[&pattern("acme.*")], [inline, TrustedKey::File(cosign)]);
            assert_eq!(keys[&pattern("*")], [TrustedKey::File("/etc/key.pem".into())]);
        };
        keys_of(&config, folder.path().join("cosign.pub"));
        // What is printed means the same, wherever it is written.
        let printed = config.to_toml();
        assert_eq!(load(&printed, &[]).unwrap().skills, config.skills, "{printed}");
        let flag = format!("acme.*={KEY};cosign.pub,*=/etc/key.pem");
        let flag = load("[skills]\nrequire_signatures = true", &[(TRUSTED_KEYS, &flag)]).unwrap();
        keys_of(&flag, "/here/cosign.pub".into());
        let usual = load("", &[]).unwrap();
        assert!(!usual.skills.require_signatures && usual.skills.trusted_keys.is_empty());
    }

    #[test]
    fn a_wrong_table_of_keys_is_one_line() {
        for (value, expected) in [
            ("3", "`skills.trusted_keys` must be a table of patterns such as"),
            ("{ \"acme.*\" = 3 }", "`skills.trusted_keys` must be a table of patterns"),
            ("{ \"acme.*\" = [] }", "has `acme.*`, which must have 1 to 16 keys"),
            ("{ \"acme.*\" = \"\" }", "has a key of `acme.*`: it must be `ed25519:…` or the path"),
            ("{ \"acme*\" = \"/x\" }", "has `acme*`, which must be the name of a skill"),
            ("{ x = \"ed25519:AAAA\" }", "has a key of `x`: the key cannot be used"),
        ] {
            let told = load(&format!("[skills]\ntrusted_keys = {value}\n"), &[]).unwrap_err();
            let ConfigError::Settings { problems } = told else { panic!("{told:?}") };
            assert!(problems.len() == 1 && problems[0].contains(expected), "{problems:?}");
        }
        assert!(load("", &[(TRUSTED_KEYS, "a=/x,a=/y")]).is_err(), "a pattern twice");
    }
}
