//! `wardian skills remove`: what `add` has done, undone.

use std::fs;

use serde_json::json;

use crate::cli::commands::skills::sources::args::RemoveArgs;
use crate::cli::commands::skills::sources::files::forget;
use crate::cli::commands::skills::sources::place::InstallPlace;
use crate::cli::commands::skills::sources::plan::check_replaceable;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{print_json, print_line};
use wardian_config::Config;
use wardian_vocabulary::ids::SkillName;

/// Executes the command. Nothing is removed unless all can be.
pub(crate) fn remove(config: &Config, args: &RemoveArgs) -> Result<Exit, Failed> {
    let mut place = InstallPlace::open(config, args.dir.as_deref())?;
    let names = place.added(&args.names)?;
    for name in &names {
        let is_there = place.folder(name).symlink_metadata().is_ok();
        if is_there && !args.force {
            check_replaceable(&place, name)?;
        }
    }
    for name in &names {
        remove_one(&mut place, name)?;
    }
    if args.json {
        print_json(&json!({ "removed": names, "lock": place.lock_path() }));
    } else {
        for name in &names {
            print_line(&format!("`{name}` was removed"));
        }
    }
    Ok(Exit::Done)
}

/// Takes the folder out of the servers' sight at once, and then off the disk.
fn remove_one(place: &mut InstallPlace, name: &SkillName) -> Result<(), Failed> {
    let folder = place.folder(name);
    let staging = place.staging()?;
    let aside = staging.path().join(name.as_str());
    match fs::rename(&folder, &aside) {
        Err(fault) if fault.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failed::named(folder.display(), &fault));
        }
        _ => {}
    }
    let entry = place.entries.remove(name);
    if let Err(failed) = place.write(name) {
        place.entries.extend(entry.map(|entry| (name.clone(), entry)));
        if aside.symlink_metadata().is_ok() {
            fs::rename(&aside, &folder).map_err(|fault| Failed::named(folder.display(), &fault))?;
        }
        return Err(failed);
    }
    forget(&place.dir, name)
}
