//! Shows the profile of a run: as a table, and in the forms of other programs.

mod exports;
mod sums;
mod table;
#[cfg(test)]
mod testing;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::commands::whole_file::write_whole;
use crate::cli::failed::Failed;
use crate::cli::program_args::ProfileOptions;
use crate::cli::terminal::output::print_error;
use wardian_formats::job::profile::{FuelProfile, ProfileOrder};
use wardian_service::{LocalProgram, LocalResult};
use wardian_vocabulary::units::Fuel;

/// The value of `--fuel-profile` for the table alone.
const TABLE_ALONE: &str = "-";

/// The forms of a profile as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProfileForm {
    Folded,
    Speedscope,
    Json,
}

impl ProfileForm {
    /// The forms, with the ends of the names of their files.
    const ENDS: [(&'static str, Self); 3] =
        [(".folded", Self::Folded), (".speedscope.json", Self::Speedscope), (".json", Self::Json)];

    fn of(file: &Path) -> Option<Self> {
        let name = file.file_name()?.to_str()?.to_ascii_lowercase();
        let mut ends = Self::ENDS.into_iter();
        ends.find_map(|(end, form)| (name.ends_with(end) && name != end).then_some(form))
    }
}

/// The profile that a command is to show.
#[derive(Debug)]
pub(crate) struct ProfileRequest {
    pub(crate) order: ProfileOrder,
    files: Vec<(PathBuf, ProfileForm)>,
}

impl ProfileRequest {
    /// Reads the options; `None` if no profile is asked for.
    pub(crate) fn of(options: &ProfileOptions) -> Result<Option<Self>, Failed> {
        if options.fuel_profile.is_empty() {
            return Ok(None);
        }
        let mut files = Vec::new();
        for file in &options.fuel_profile {
            if file.as_os_str() == TABLE_ALONE {
                continue;
            }
            let form = ProfileForm::of(file).ok_or_else(|| {
                Failed::usage(format!(
                    "`--fuel-profile={}`: the name of the file must end with `.folded`, \
                     `.speedscope.json` or `.json`",
                    file.display()
                ))
            })?;
            files.push((file.clone(), form));
        }
        let interval = options.fuel_profile_interval.map(Fuel);
        let interval = interval.unwrap_or(ProfileOrder::DEFAULT_INTERVAL);
        Ok(Some(Self { order: ProfileOrder { interval }, files }))
    }

    /// Writes the files, and prints the table to standard error. `program` is the title.
    pub(crate) fn show(&self, ended: &LocalResult, program: &str) -> Result<(), Failed> {
        let profile = read(ended)?;
        print_error(&table::table(&profile));
        self.write(&profile, program)
    }

    /// Writes the files, and returns the profile as JSON.
    pub(crate) fn to_json(&self, ended: &LocalResult, program: &str) -> Result<Value, Failed> {
        let profile = read(ended)?;
        self.write(&profile, program)?;
        Ok(exports::json(&profile))
    }

    fn write(&self, profile: &FuelProfile, program: &str) -> Result<(), Failed> {
        for (file, form) in &self.files {
            let content = match form {
                ProfileForm::Folded => exports::folded(profile),
                ProfileForm::Speedscope => format!("{}\n", exports::speedscope(profile, program)),
                ProfileForm::Json => format!("{:#}\n", exports::json(profile)),
            };
            write_whole(file, content.as_bytes())?;
        }
        Ok(())
    }
}

/// The name of a program, for the titles of its profiles.
pub(crate) fn title_of(program: &LocalProgram) -> String {
    match program {
        LocalProgram::File { file_name, .. } => file_name.clone(),
        LocalProgram::Skill { name, .. } => name.clone(),
    }
}

/// The profile of a run that has ended.
fn read(ended: &LocalResult) -> Result<FuelProfile, Failed> {
    let text = ended.profile.as_ref();
    let text =
        text.ok_or_else(|| Failed::because("the run left no profile: its worker was lost"))?;
    text.read().map_err(|fault| Failed::because(format!("the worker sent no profile: {fault}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_decides_the_form() {
        for (name, form) in [
            ("a.folded", Some(ProfileForm::Folded)),
            ("folder/A.FOLDED", Some(ProfileForm::Folded)),
            ("a.b.folded", Some(ProfileForm::Folded)),
            ("a.json", Some(ProfileForm::Json)),
            ("a.speedscope.json", Some(ProfileForm::Speedscope)),
            (".folded", None),
            ("a.png", None),
            ("a", None),
            ("folder/", None),
            ("..", None),
        ] {
            assert_eq!(ProfileForm::of(Path::new(name)), form, "{name}");
        }
    }

    #[test]
    fn files_of_other_forms_are_refused_before_the_run() {
        let options = |file: &str| ProfileOptions {
            fuel_profile: vec!["-".into(), file.into()],
            fuel_profile_interval: None,
        };
        let refused = ProfileRequest::of(&options("a.png")).unwrap_err();
        assert!(refused.to_string().contains("must end with `.folded`"), "{refused}");
        let taken = ProfileRequest::of(&options("a.folded")).unwrap().unwrap();
        assert_eq!(taken.files, [("a.folded".into(), ProfileForm::Folded)]);
        assert_eq!(taken.order.interval, ProfileOrder::DEFAULT_INTERVAL);
    }
}
