//! The settings `tenants.skills*`: the folders with the own skills of tenants.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use toml::{Table, Value as Toml};

use crate::environment::Surroundings;
use crate::reader::Reader;
use crate::value::SettingValue;
use wardian_skills::registry::TenantFolders;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// The setting that names the folders.
pub(crate) const TENANT_SKILLS: &str = "tenants.skills";

/// Maximum number of tenants with folders, and of folders of one tenant.
const MAX_TENANTS: usize = 10_000;
const MAX_ROOTS: usize = 8;

const FOLDERS: RangeInclusive<usize> = 1..=32_768;
const SIZES: RangeInclusive<ByteCount> = ByteCount::mebibytes(1)..=ByteCount::mebibytes(1_024);

/// Reads the folders of tenants, and how much is read of each.
pub(crate) fn read_tenant_skills(
    reader: &mut Reader,
    surroundings: &Surroundings,
) -> TenantFolders {
    let usual = TenantFolders::default();
    let mut roots = BTreeMap::new();
    reader.read_named_tables(TENANT_SKILLS, |written: &FoldersByName| {
        roots = folders_of(written, surroundings)?;
        Ok(())
    });
    TenantFolders {
        roots,
        max_folders: reader.read_within("tenants.skills_max_folders", usual.max_folders, FOLDERS),
        max_size: reader.read_within("tenants.skills_max_size", usual.max_size, SIZES),
    }
}

fn folders_of(
    written: &FoldersByName,
    surroundings: &Surroundings,
) -> Result<BTreeMap<TenantId, Vec<PathBuf>>, String> {
    if written.0.len() > MAX_TENANTS {
        return Err(format!("must have at most {MAX_TENANTS} tenants"));
    }
    let mut roots = BTreeMap::new();
    for (name, paths) in &written.0 {
        let shown = name.escape_debug();
        let tenant = TenantId::parse(name).map_err(|_invalid| {
            format!(
                "has a tenant `{shown}`: a name has 1 to 64 characters of a-z, 0-9 and inner \
                dashes"
            )
        })?;
        if tenant == TenantId::local() {
            return Err(
                "has the tenant `local`, whose skills are those of `skills.roots`".to_owned()
            );
        }
        if !(1..=MAX_ROOTS).contains(&paths.len()) {
            return Err(format!(
                "has the tenant `{shown}`, which must have 1 to {MAX_ROOTS} folders"
            ));
        }
        let paths = paths.iter().map(|path| surroundings.absolute(path.clone()));
        roots.insert(tenant, paths.collect());
    }
    Ok(roots)
}

/// Paths of folders by the name of their tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FoldersByName(BTreeMap<String, Vec<PathBuf>>);

/// In flags and the environment entries `NAME=PATH:PATH` with `,` between them.
impl SettingValue for FoldersByName {
    const EXPECTED: &'static str = "a table of tenants such as { acme = [\"/srv/acme/skills\"] } (in \
        flags and the environment entries NAME=PATH:PATH joined by `,`)";

    fn from_text(text: &str) -> Option<Self> {
        let mut tenants = BTreeMap::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, paths) = entry.split_once('=')?;
            let is_known = tenants.insert(name.to_owned(), Vec::from_text(paths)?).is_some();
            if is_known {
                return None;
            }
        }
        Some(Self(tenants))
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        let paths = |value: &Toml| match value {
            Toml::String(_) => PathBuf::from_toml(value).map(|path| vec![path]),
            _ => Vec::from_toml(value),
        };
        let tenants = value.as_table()?.iter();
        let tenants = tenants.map(|(name, value)| Some((name.clone(), paths(value)?)));
        Some(Self(tenants.collect::<Option<_>>()?))
    }

    fn to_toml(&self) -> Toml {
        let tenants = self.0.iter().map(|(name, paths)| (name.clone(), paths.to_toml()));
        Toml::Table(tenants.collect::<Table>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ConfigError, Flags};

    fn load(file: &str, flags: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.toml");
        std::fs::write(&path, file).unwrap();
        let surroundings = Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            working_dir: Some("/here".into()),
            ..Surroundings::default()
        };
        let settings = flags.iter().map(|(key, text)| ((*key).into(), (*text).into())).collect();
        Config::load(&surroundings, Flags { file: Some(path), settings })
    }

    fn roots(config: &Config) -> Vec<(String, Vec<PathBuf>)> {
        let roots = config.tenant_skills.roots.iter();
        roots.map(|(tenant, paths)| (tenant.to_string(), paths.clone())).collect()
    }

    #[test]
    fn folders_of_tenants_are_read_from_a_file_and_from_a_flag() {
        let file = "[tenants]\nskills_max_folders = 7\nskills_max_size = \"2 MiB\"\n\
            [tenants.skills]\nacme = [\"/srv/acme\", \"more\"]\nbeta = \"/srv/beta\"\n";
        let expected = [
            ("acme".to_owned(), vec![PathBuf::from("/srv/acme"), PathBuf::from("/here/more")]),
            ("beta".to_owned(), vec![PathBuf::from("/srv/beta")]),
        ];
        let config = load(file, &[]).unwrap();
        assert_eq!(roots(&config), expected);
        assert_eq!(config.tenant_skills.max_folders, 7);
        assert_eq!(config.tenant_skills.max_size, ByteCount::mebibytes(2));
        let printed = config.to_toml();
        assert_eq!(load(&printed, &[]).unwrap().tenant_skills, config.tenant_skills, "{printed}");
        let flag = load("", &[(TENANT_SKILLS, "acme=/srv/acme:more,beta=/srv/beta")]).unwrap();
        assert_eq!(roots(&flag), expected);
        assert_eq!(load("", &[]).unwrap().tenant_skills, TenantFolders::default());
    }

    #[test]
    fn a_wrong_table_of_folders_is_one_line() {
        for (value, expected) in [
            ("skills = 3", "`tenants.skills` must be a table of tenants such as"),
            ("skills = { acme = 3 }", "`tenants.skills` must be a table of tenants such as"),
            ("skills = { acme = [\"\"] }", "`tenants.skills` must be a table of tenants"),
            ("skills = { acme = [] }", "has the tenant `acme`, which must have 1 to 8 folders"),
            ("skills = { local = \"/x\" }", "has the tenant `local`, whose skills are those of"),
            (
                "skills = { \"../x\" = \"/x\" }",
                "has a tenant `../x`: a name has 1 to 64 characters",
            ),
            ("skills_max_folders = 0", "`tenants.skills_max_folders` must be between"),
            ("skills_max_size = \"2 GiB\"", "`tenants.skills_max_size` must be between"),
        ] {
            let told = load(&format!("[tenants]\n{value}\n"), &[]).unwrap_err();
            let ConfigError::Settings { problems } = told else { panic!("{told:?}") };
            assert!(problems.len() == 1 && problems[0].contains(expected), "{problems:?}");
        }
        assert!(load("", &[(TENANT_SKILLS, "acme=/x,acme=/y")]).is_err(), "a tenant twice");
    }
}
