//! The lock of `wardian engine build`: which packages it gets, and where it is.

use std::path::{Path, PathBuf, absolute};

use crate::assembly;
use crate::cli::args::BuildArgs;
use crate::cli::failed::Failed;
use wardian_config::Config;
use wardian_engine::progress::Progress;
use wardian_engine::source::native_choice::standard_packages;
use wardian_engine::source::native_lock::packages_of_lock;

/// The word for no packages.
const NONE: &str = "none";

/// Writes the lock, and returns the configuration that chooses it and its absolute path.
pub(super) fn locked(
    config: &Config,
    args: &BuildArgs,
    progress: &dyn Progress,
) -> Result<(Config, PathBuf), Failed> {
    let lock = args.lock.as_ref().or(config.engine.native.as_ref()).ok_or_else(|| {
        Failed::usage("name the lock to write: `--lock FILE`, or the setting `engine.native`")
    })?;
    let lock = absolute(lock).map_err(|fault| Failed::named(lock.display(), &fault))?;
    let packages = packages_of(args, &lock)?;
    assembly::lock_natives(config, &packages, &lock, progress)?;
    let mut chosen = config.clone();
    chosen.engine.native = Some(lock.clone());
    Ok((chosen, lock))
}

/// The packages that the engine gets.
fn packages_of(args: &BuildArgs, lock: &Path) -> Result<Vec<String>, Failed> {
    if !args.without.is_empty() {
        return packages_without(&args.without);
    }
    match args.with.as_slice() {
        [] if !lock.is_file() => Err(Failed::usage(
            "name the packages: `--with PACKAGE,…`, `--with none` or `--without PACKAGE,…`",
        )),
        [] => packages_of_lock(lock).map_err(|error| Failed::named(lock.display(), &error)),
        [one] if one == NONE => Ok(Vec::new()),
        named if named.iter().any(|one| one == NONE) => {
            Err(Failed::usage("`none` stands for no packages, and cannot be one of several"))
        }
        named => Ok(named.to_vec()),
    }
}

/// All built-in packages but these.
fn packages_without(names: &[String]) -> Result<Vec<String>, Failed> {
    let mut packages = standard_packages().map_err(|error| Failed::ours(&error))?;
    for name in names {
        let Some(place) = packages.iter().position(|one| one == name) else {
            let known = packages.join(", ");
            return Err(Failed::usage(format!("`{name}` is none of the packages {known}")));
        };
        packages.remove(place);
    }
    Ok(packages)
}
