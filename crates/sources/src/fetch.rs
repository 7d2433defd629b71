//! Gets the files of a source, whatever kind it is.

use std::collections::BTreeSet;

use crate::error::{SourceError, shown};
use crate::network::WebRequest;
use crate::package::shelf;
use crate::package::skill_package::PackagedSkill;
use crate::source::{SkillSource, SourceKind};
use crate::store::place::StorePlace;
use crate::tree::Tree;
use crate::web::Web;
use crate::web_url::{UrlCredentials, WebUrl};
use crate::{archive, discover, folder, git, npm, oci, store};
use wardian_vocabulary::ids::Digest;

/// Largest archive, packed.
const MAX_ARCHIVE: u64 = 256 << 20;

/// What came from a source.
#[derive(Debug)]
pub struct Fetched {
    /// Its files, or those of the skills in it.
    pub tree: Tree,
    /// What the reference meant: a commit, a version and its digest, or a digest; empty for folders.
    pub revision: String,
    /// The folder that was asked for, as it is in the tree.
    path: String,
    notes: Vec<String>,
    packages: Vec<PackagedSkill>,
}

/// A skill in a source.
#[derive(Debug)]
pub struct FoundSkill<'t> {
    /// Its folder; empty for the root of the source.
    pub folder: String,
    /// Its files by their paths in the folder.
    pub files: Vec<(&'t str, &'t [u8])>,
}

impl Fetched {
    /// The skills in it, by their folders.
    ///
    /// # Errors
    ///
    /// There are too many.
    pub fn skills(&self) -> Result<Vec<FoundSkill<'_>>, SourceError> {
        let paths = self.tree.files().map(|(path, _)| path);
        let folders = discover::skill_folders(paths, &self.path)?;
        let skills = folders.into_iter().map(|folder| {
            let files = self.tree.files();
            let files = files
                .filter_map(|(path, content)| Some((discover::below(path, &folder)?, content)));
            FoundSkill { files: files.collect(), folder }
        });
        Ok(skills.collect())
    }

    /// The package whose root is a folder of the source; `None` if that did not come as one.
    #[must_use]
    pub fn package(&self, folder: &str) -> Option<&PackagedSkill> {
        self.packages.iter().find(|package| package.folder == folder)
    }

    /// What a user should know about it: entries that were left out, for example.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        [self.notes.clone(), self.tree.notes()].concat()
    }
}

/// Gets the files of a source. `npm_registry` is where packages of npm come from; `pinned` is a revision that is wanted
/// instead of the source's reference.
///
/// # Errors
///
/// The source cannot be reached, is not what it claims, or is too large.
pub fn fetch(
    web: &Web,
    source: &SkillSource,
    npm_registry: &WebUrl,
    pinned: Option<&str>,
) -> Result<Fetched, SourceError> {
    let mut tree = Tree::default();
    let (mut notes, mut packages) = (Vec::new(), Vec::new());
    let reference = pinned.filter(|text| !text.is_empty()).or(source.reference.as_deref());
    let place = source.url().unwrap_or(npm_registry);
    let credentials = web.credentials(source.credentials.as_ref(), place);
    let credentials = credentials.as_ref();
    let revision = match &source.kind {
        SourceKind::Git(url) => {
            git::fetch(web, url, reference, &source.path, credentials, &mut tree)?
        }
        SourceKind::Npm { package } => {
            let fetched = npm::fetch(web, npm_registry, package, reference, credentials)?;
            archive::unpack(&fetched.bytes, &mut tree)?;
            notes = fetched.notes;
            fetched.revision
        }
        SourceKind::Oci { registry, repository } => {
            let reference = reference.unwrap_or("latest");
            let place = oci::artifact::OciPlace { registry, repository, credentials };
            packages.push(oci::fetch::fetch(web, &place, reference, &mut tree, &mut notes)?);
            packages.iter().map(|package| package.revision.clone()).collect()
        }
        SourceKind::Archive(url) => {
            let mut request = WebRequest::get(url.clone());
            request.authorization = credentials.map(UrlCredentials::of_header);
            let bytes = web.send(request, url)?.expect_ok()?.whole(MAX_ARCHIVE)?;
            archive::unpack(&bytes, &mut tree)?;
            format!("sha256:{}", Digest::of(&bytes))
        }
        SourceKind::File(path) => {
            packages.push(shelf::fetch_file(path, &mut tree, &mut notes)?);
            packages.iter().map(|package| package.revision.clone()).collect()
        }
        SourceKind::Store { bucket, key } => {
            let place = StorePlace { bucket, key };
            packages = store::shelf::fetch(web, &place, pinned, &mut tree, &mut notes)?;
            revision_of_all(&packages)
        }
        SourceKind::Folder(path) => match shelf::fetch(path, pinned, &mut tree, &mut notes)? {
            Some(found) => {
                packages = found;
                revision_of_all(&packages)
            }
            None => {
                folder::read_folder(path, &mut tree)?;
                String::new()
            }
        },
    };
    check_pinned(source, pinned, &revision)?;
    let path = folder_in(&tree, &source.path)?;
    Ok(Fetched { tree, revision, path, notes, packages })
}

/// The revision of a source that is one package; empty if each of several has its own.
fn revision_of_all(packages: &[PackagedSkill]) -> String {
    let of_all = packages.iter().filter(|package| package.folder.is_empty());
    of_all.map(|package| package.revision.clone()).collect()
}

/// Refuses what is not the pinned revision. Of commits and digests the servers have no choice; archives and packages
/// can be replaced.
fn check_pinned(
    source: &SkillSource,
    pinned: Option<&str>,
    found: &str,
) -> Result<(), SourceError> {
    match pinned {
        Some(pinned) if !pinned.is_empty() && pinned != found => Err(SourceError::Digest {
            what: format!("`{source}`"),
            expected: shown(pinned),
            found: found.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// The folder that was asked for: at that path, or in the one folder that an archive has at its top.
fn folder_in(tree: &Tree, path: &str) -> Result<String, SourceError> {
    let has = |folder: &str| tree.files().any(|(file, _)| discover::below(file, folder).is_some());
    if path.is_empty() || has(path) {
        return Ok(path.to_owned());
    }
    let tops: BTreeSet<&str> =
        tree.files().map(|(file, _)| file.split('/').next().unwrap_or_default()).collect();
    let below = tops
        .first()
        .map(|top| format!("{top}/{path}"))
        .filter(|below| tops.len() == 1 && has(below));
    below.ok_or_else(|| {
        SourceError::NotASource(format!("the source has no skill below `{}`", shown(path)))
    })
}
