//! `wardian migrate`: moves what a server keeps to the database and the object store of another configuration.
//!
//! Nothing of the source is changed before all of it was found in its new place. Then its files get other names, so
//! that no server starts on both. An interrupted command is repeated, and goes on where it was.

mod blobs;
mod databases;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tokio::task::block_in_place;

use crate::assembly;
use crate::cli::args::MigrateArgs;
use crate::cli::commands::blobs::readable;
use crate::cli::commands::serve::folders::DataFolderLock;
use crate::cli::commands::serve::reload::ConfigSource;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::block_on_until_interrupted;
use crate::cli::terminal::output::{print_json, print_line};
use wardian_config::{Config, Flags};
use wardian_vocabulary::ids::{BlobId, TenantId};

/// What the names of files end with whose content was moved.
const MOVED: &str = ".migrated";

/// What was moved.
#[derive(Debug, Default, Serialize)]
struct Migration {
    /// Rows, by their tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<Vec<MovedTable>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blobs: Option<MovedBlobs>,
    /// Files and folders that were renamed: nothing uses them from now on.
    kept: Vec<PathBuf>,
}

/// Rows that are in both databases now.
#[derive(Debug, Serialize)]
struct MovedTable {
    table: &'static str,
    rows: u64,
}

/// Blobs that are in the object store now.
#[derive(Debug, Default, Serialize)]
struct MovedBlobs {
    blobs: u64,
    bytes: u64,
    /// Blobs whose files are damaged. They stay where they were.
    damaged: Vec<DamagedBlob>,
}

/// A blob of a tenant.
#[derive(Debug, Serialize)]
struct DamagedBlob {
    tenant: TenantId,
    blob_id: BlobId,
}

/// Moves what `config` has and the other configuration has elsewhere.
pub(crate) fn migrate(
    config: &Config,
    source: &ConfigSource,
    args: &MigrateArgs,
) -> Result<Exit, Failed> {
    let flags = Flags { file: Some(args.to.clone()), ..source.flags.clone() };
    let target = Config::load(&source.surroundings, flags)?;
    let plan = Plan::of(config, &target, &args.to)?;
    block_on_until_interrupted(Box::pin(async {
        // Nothing is begun that could not be ended.
        assembly::check_database(&target).await?;
        assembly::check_object_store(&target).await?;
        let _lock = block_in_place(|| DataFolderLock::take(&config.data_dir))?;
        let mut done = Migration::default();
        if plan.moves_database {
            done.database = Some(databases::copy(config, &target).await?);
        }
        if plan.moves_blobs && is_there(&config.blobs.folder)? {
            done.blobs = Some(blobs::copy(config, &target).await?);
        }
        done.kept = block_in_place(|| plan.set_aside(config))?;
        if args.json {
            print_json(&done);
        } else {
            done.print(&args.to);
        }
        Ok(Exit::Done)
    }))
}

/// What is to be moved.
#[derive(Debug, Clone, Copy)]
struct Plan {
    moves_database: bool,
    moves_blobs: bool,
}

impl Plan {
    fn of(config: &Config, target: &Config, file: &Path) -> Result<Self, Failed> {
        let file = file.display();
        let refused = |why: String| Err(Failed::usage(why));
        if target.data_dir != config.data_dir {
            return refused(format!(
                "`data_dir` is `{}` in {file} and `{}` now: what is not moved stays in the data folder, so both must \
                 name the same one",
                target.data_dir.display(),
                config.data_dir.display()
            ));
        }
        for (name, is_left) in [
            ("database.url_file", config.database.url_file != target.database.url_file),
            ("blobs.store", config.blobs.store != target.blobs.store),
        ] {
            let is_elsewhere = match name {
                "database.url_file" => config.database.url_file.is_some(),
                _ => config.blobs.store.is_some(),
            };
            if is_left && is_elsewhere {
                return refused(format!(
                    "`{name}` is set already, and is another one in {file}: only what is in the data folder is moved"
                ));
            }
        }
        let plan = Self {
            moves_database: config.database.url_file != target.database.url_file,
            moves_blobs: config.blobs.store != target.blobs.store,
        };
        if !plan.moves_database && !plan.moves_blobs {
            return refused(format!(
                "{file} has neither another `database.url_file` nor another `blobs.store`, so there is nothing to \
                 move; variables of the environment count for both configurations"
            ));
        }
        Ok(plan)
    }

    /// Renames what was moved.
    fn set_aside(self, config: &Config) -> Result<Vec<PathBuf>, Failed> {
        let mut moved = Vec::new();
        if self.moves_database {
            moved.extend(assembly::own_databases(config));
        }
        if self.moves_blobs {
            moved.push(config.blobs.folder.clone());
        }
        let mut kept = Vec::new();
        for path in moved {
            let failed = |fault| Failed::named(path.display(), &fault);
            if !is_there(&path)? {
                continue;
            }
            let mut aside = path.clone().into_os_string();
            aside.push(MOVED);
            let aside = PathBuf::from(aside);
            fs::rename(&path, &aside).map_err(failed)?;
            kept.push(aside);
        }
        Ok(kept)
    }
}

/// False for what was moved before.
fn is_there(path: &Path) -> Result<bool, Failed> {
    path.try_exists().map_err(|fault| Failed::named(path.display(), &fault))
}

impl Migration {
    fn print(&self, file: &Path) {
        for MovedTable { table, rows } in self.database.iter().flatten() {
            print_line(&format!("moved  {table}: {rows} rows"));
        }
        if let Some(MovedBlobs { blobs, bytes, damaged }) = &self.blobs {
            print_line(&format!("moved  blobs: {blobs}, {}", readable(*bytes)));
            for DamagedBlob { tenant, blob_id } in damaged {
                print_line(&format!("left   {tenant}  {blob_id}: its file is damaged"));
            }
        }
        print_line("all of it was read again in its new place, and is equal");
        for path in &self.kept {
            print_line(&format!("kept   {}: nothing uses it from now on", path.display()));
        }
        print_line(&format!("next   wardian serve --config {}", file.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_config::Surroundings;

    fn config(text: &str) -> Config {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wardian.toml");
        fs::write(&file, text).unwrap();
        let surroundings = Surroundings {
            data_dir: Some(PathBuf::from("/data")),
            cache_dir: Some(PathBuf::from("/cache")),
            ..Surroundings::default()
        };
        Config::load(&surroundings, Flags { file: Some(file), ..Flags::default() }).unwrap()
    }

    #[test]
    fn only_what_is_in_the_data_folder_is_moved() {
        let plain = config("");
        let store = config("[blobs]\nstore = \"s3://blobs/a\"\n");
        let database = config("[database]\nurl_file = \"/etc/url\"\n");
        let both =
            config("[blobs]\nstore = \"s3://blobs/a\"\n[database]\nurl_file = \"/etc/url\"\n");
        let plan = |one: &Config, other: &Config| {
            let plan = Plan::of(one, other, Path::new("new.toml"));
            plan.map(|plan| (plan.moves_database, plan.moves_blobs)).map_err(|no| no.to_string())
        };
        assert_eq!(plan(&plain, &store), Ok((false, true)));
        assert_eq!(plan(&plain, &both), Ok((true, true)));
        assert_eq!(plan(&store, &both), Ok((true, false)));
        assert_eq!(plan(&database, &both), Ok((false, true)));
        let folder = config("data_dir = \"/elsewhere\"\n");
        for (one, other, why) in [
            (&plain, &plain, "nothing to move"),
            (&both, &store, "`database.url_file` is set already"),
            (&both, &database, "`blobs.store` is set already"),
            (&plain, &folder, "both must name the same one"),
        ] {
            let refused = plan(one, other).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
