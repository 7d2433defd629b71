//! Whether `wardian skills add` will install what is published: looked at before, by the same steps.

use crate::cli::commands::skills::sources::candidate::{check, name_of, write_files};
use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;
use wardian_formats::provenance::skill_signature::SkillClaim;
use wardian_sources::{FoundSkill, SkillPackage};
use wardian_vocabulary::ids::SkillName;

/// Refuses a package that nobody could install, or that would be another skill or version there.
pub(in crate::cli::commands::skills) fn ensure_installable(
    package: &SkillPackage,
) -> Result<(), Failed> {
    let refused = |why: &str| {
        Failed::refused(format!(
            "nothing was published: `wardian skills add` could not install the package: {}",
            shown(why)
        ))
    };
    match installed(package)? {
        Ok(claim) if claim == package.claim => Ok(()),
        Ok(claim) => {
            ensure_same_version(&package.claim, &claim)?;
            Err(refused(&format!("it would be `{claim}` there, with other files or another name")))
        }
        Err(why) => Err(refused(&why)),
    }
}

/// Refuses a skill whose version is only in the name of its folder: it is lost with that name.
pub(in crate::cli::commands::skills) fn ensure_version_in_files(
    package: &SkillPackage,
) -> Result<(), Failed> {
    match installed(package)? {
        Ok(claim) => ensure_same_version(&package.claim, &claim),
        Err(_not_installable) => Ok(()),
    }
}

fn ensure_same_version(here: &SkillClaim, there: &SkillClaim) -> Result<(), Failed> {
    if here.version == there.version {
        return Ok(());
    }
    let version = &here.version;
    Err(Failed::refused(format!(
        "the version {version} is only in the name of the folder, and gets lost with it: write it into `SKILL.md` (in \
         `metadata`: `version: \"{version}\"`), or into a `skill.toml`"
    )))
}

/// What a package is where it is installed. An error within is the reason why it is not.
fn installed(package: &SkillPackage) -> Result<Result<SkillClaim, String>, Failed> {
    let tree = match package.unpacked() {
        Ok(tree) => tree,
        Err(fault) => return Ok(Err(fault.to_string())),
    };
    let found = FoundSkill { folder: String::new(), files: tree.files().collect() };
    let name = match SkillName::parse(&name_of(&found)) {
        Ok(name) => name,
        Err(invalid) => return Ok(Err(invalid.to_string())),
    };
    let place = tempfile::tempdir().map_err(|fault| Failed::at("make a folder", &fault))?;
    let folder = place.path().join(name.as_str());
    write_files(&found, &folder)?;
    Ok(check(&folder)?.map(|snapshot| snapshot.claim()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use wardian_skills::registry::check_folder;

    /// The package of a skill that lies in a folder of this name.
    fn package(folder: &str, files: &[(&str, &str)]) -> SkillPackage {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join(folder);
        for (path, text) in files {
            let file = folder.join(path);
            std::fs::create_dir_all(file.parent().unwrap_or(Path::new(""))).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let skill = check_folder(&folder).unwrap().snapshot.unwrap();
        let files: Vec<(&str, &[u8])> = skill.contents().collect();
        SkillPackage::pack(skill.claim(), &files).unwrap()
    }

    fn document(metadata: &str) -> String {
        format!("---\nname: pdf\ndescription: Reads it.\n{metadata}---\nText.\n")
    }

    #[test]
    fn a_version_that_only_the_folder_has_is_refused_with_where_to_write_it() {
        let (bare, stated) = (document(""), document("metadata:\n  version: \"2.0.0\"\n"));
        let lost = package("pdf@2.0.0", &[("SKILL.md", &bare)]);
        for refused in [ensure_installable(&lost), ensure_version_in_files(&lost)] {
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("the version 2.0.0 is only in the name"), "{refused}");
            assert!(refused.contains("`version: \"2.0.0\"`"), "{refused}");
        }
        for (folder, text) in [("pdf", &bare), ("pdf@2.0.0", &stated)] {
            let good = package(folder, &[("SKILL.md", text)]);
            ensure_installable(&good).unwrap();
            ensure_version_in_files(&good).unwrap();
        }
    }

    #[test]
    fn what_could_not_be_installed_is_refused() {
        let text = document("");
        for others in [&["a:b.txt"][..], &["README", "readme"]] {
            let others = others.iter().map(|path| (*path, "x"));
            let files = others.chain([("SKILL.md", text.as_str())]);
            let package = package("pdf", &files.collect::<Vec<_>>());
            let refused = ensure_installable(&package).unwrap_err().to_string();
            assert!(refused.contains("nothing was published"), "{refused}");
        }
        // The folder gives the name here, which no package has.
        let text = "---\nname: My Tool\ndescription: Reads it.\n---\nText.\n";
        let refused = ensure_installable(&package("pdf", &[("SKILL.md", text)])).unwrap_err();
        assert!(refused.to_string().contains("could not install"), "{refused}");
    }
}
