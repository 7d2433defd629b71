//! The immutable index of skills: finds them by name and lists them by page. The skills of a tenant
//! are an index of their own, which hides those of the same names in the shared one.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use crate::registry::RegistryError;
use crate::registry::cursor::CursorKey;
use crate::registry::folders::scan::{SkillFolder, SkillRoot, full};
use crate::registry::folders::snapshot::Snapshot;
use wardian_formats::skill::GUIDE_NAME;
use wardian_formats::skill::diagnostic::{Diagnostic, Problem, Severity};
use wardian_formats::skill::similar::closest;
use wardian_vocabulary::ids::{SkillName, SkillVersion};
use wardian_vocabulary::units::ByteCount;

/// Most skills on one page.
pub const MAX_PAGE: usize = 500;

/// Maximum number of bytes of all shared skills together, because they are kept in memory.
pub const MAX_SHARED: ByteCount = ByteCount::mebibytes(1_024);

/// Most versions that a message lists.
const MAX_LISTED: usize = 10;

/// Names before and after an unknown name that are compared with it.
const MAX_NEAR: usize = 500;

/// All skills at one moment. Immutable.
#[derive(Debug)]
pub struct Index {
    /// Versions of each skill, highest first.
    skills: BTreeMap<SkillName, Vec<Arc<Snapshot>>>,
    /// Skills that belong to a namespace by their manifest and not by their name.
    declared: BTreeMap<Box<str>, BTreeSet<SkillName>>,
    rejected: Vec<RejectedSkill>,
    left_out: Vec<LeftOut>,
    replaced: Vec<SkillName>,
    size: u64,
    most: ByteCount,
    key: CursorKey,
}

/// A folder whose skill is not served, or whose current state is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedSkill {
    /// The number of its root, counted from 1 in the order of the settings.
    pub root: usize,
    /// The folder's name.
    pub folder: String,
    /// The reason.
    pub diagnostics: Vec<Diagnostic>,
}

/// A root with more folders than its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// The root, counted from 1 in the order of the settings.
    pub root: usize,
    /// Number of ignored folders, at least.
    pub folders: usize,
    /// Number of folders that are read.
    pub most: usize,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { root, folders, most } = self;
        write!(f, "root {root} has more than {most} folders: at least {folders} are left out")
    }
}

/// Part of a list.
#[derive(Debug)]
pub struct Page {
    /// The latest version of each skill, sorted by name.
    pub skills: Vec<Arc<Snapshot>>,
    /// The cursor for the next page; `None` on the last page.
    pub next_cursor: Option<String>,
}

impl Index {
    /// Builds the index of the built-in skills and those of the roots, whose files have `most` bytes
    /// together. Earlier roots win over later ones, and roots win over built-in skills, except for
    /// the guide.
    pub fn build(
        built_in: &[Arc<Snapshot>],
        roots: &[&SkillRoot],
        most: ByteCount,
        key: CursorKey,
    ) -> Self {
        let index = Self {
            skills: BTreeMap::new(),
            declared: BTreeMap::new(),
            rejected: Vec::new(),
            left_out: Vec::new(),
            replaced: Vec::new(),
            size: 0,
            most,
            key,
        };
        let mut builder = Builder { index, owners: HashMap::new() };
        for (number, root) in (1..).zip(roots) {
            for (name, folder) in &root.folders {
                builder.add(Owner { root: number, folder: name }, folder);
            }
            if root.left_out > 0 {
                let (folders, most) = (root.left_out, root.folders.len());
                builder.index.left_out.push(LeftOut { root: number, folders, most });
            }
        }
        let mut index = builder.index;
        for snapshot in built_in {
            if index.skills.contains_key(snapshot.name()) {
                index.replaced.push(snapshot.name().clone());
            } else {
                index.insert(snapshot);
            }
        }
        for versions in index.skills.values_mut() {
            versions.sort_by(|one, other| other.version().cmp(one.version()));
        }
        index.declared = declared(&index.skills);
        index
    }

    fn insert(&mut self, snapshot: &Arc<Snapshot>) {
        self.size = self.size.saturating_add(snapshot.memory().as_u64());
        self.skills.entry(snapshot.name().clone()).or_default().push(Arc::clone(snapshot));
    }

    /// Number of skills, versions not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.skills.len()
    }

    /// True if there are no skills.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Folders whose skill is not served, or whose current state is not.
    #[must_use]
    pub fn rejected(&self) -> &[RejectedSkill] {
        &self.rejected
    }

    /// Roots with more folders than their limit.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Built-in skills that are not served, because a root has a skill of the same name.
    #[must_use]
    pub fn replaced(&self) -> &[SkillName] {
        &self.replaced
    }

    /// True if there is a skill called `name`.
    pub fn has(&self, name: &SkillName) -> bool {
        self.skills.contains_key(name)
    }

    /// Every version of every skill, by name, the highest version first.
    pub fn snapshots(&self) -> impl Iterator<Item = &Arc<Snapshot>> {
        self.skills.values().flatten()
    }

    /// The skill called `name`: the given version, or the latest.
    ///
    /// # Errors
    ///
    /// No such skill, or no such version of it.
    pub fn find(
        &self,
        name: &SkillName,
        version: Option<&SkillVersion>,
    ) -> Result<&Arc<Snapshot>, RegistryError> {
        self.find_below(None, name, version)
    }

    /// As [`Self::find`], in the skills of `own` and those of this index that they do not hide.
    pub(crate) fn find_below<'i>(
        &'i self,
        own: Option<&'i Self>,
        name: &SkillName,
        version: Option<&SkillVersion>,
    ) -> Result<&'i Arc<Snapshot>, RegistryError> {
        let hiding = own.and_then(|own| own.skills.get(name));
        let versions = hiding.or_else(|| self.skills.get(name)).ok_or_else(|| {
            let near = self.near(own, name).into_iter().map(str::to_owned).collect();
            RegistryError::SkillNotFound { name: name.clone(), near }
        })?;
        let found = match version {
            Some(version) => versions.iter().find(|one| one.version() == version),
            None => latest(versions),
        };
        found.ok_or_else(|| RegistryError::VersionNotFound {
            name: name.clone(),
            version: version.map_or_else(|| "latest".to_owned(), ToString::to_string),
            existing: versions.iter().take(MAX_LISTED).map(|one| one.version().clone()).collect(),
        })
    }

    /// Similar names. Only neighbours in the alphabet are compared, so the cost does not grow with
    /// the number of skills.
    fn near<'i>(&'i self, own: Option<&'i Self>, name: &SkillName) -> Vec<&'i str> {
        let names = |index: &'i Self| {
            let known = |(name, _): (&'i SkillName, &'i Vec<Arc<Snapshot>>)| name.as_str();
            let before = index.skills.range::<SkillName, _>(..name).rev().map(known);
            (before, index.skills.range::<SkillName, _>(name..).map(known))
        };
        let is_visible = |name: &&str| own.is_none_or(|own| !own.skills.contains_key(*name));
        let (before, after) = names(self);
        let (before, after) = (before.filter(is_visible), after.filter(is_visible));
        let (own_before, own_after) = own.map(names).unzip();
        let own_before = own_before.into_iter().flatten();
        let own_after = own_after.into_iter().flatten();
        let before = merged(own_before, before, |one, other| other.cmp(one)).take(MAX_NEAR);
        let after = merged(own_after, after, Ord::cmp).take(MAX_NEAR);
        closest(name.as_str(), before.chain(after))
    }

    /// The next skills of a list, sorted by name, each in its latest version.
    ///
    /// `namespace` matches the field of that name and the skill's name, each whole or up to a
    /// dot.
    ///
    /// # Errors
    ///
    /// A wrong `namespace`, `limit` or `cursor`.
    pub fn list(
        &self,
        namespace: Option<&str>,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page, RegistryError> {
        self.list_below(None, namespace, limit, cursor)
    }

    /// As [`Self::list`], of the skills of `own` and those of this index that they do not hide. The
    /// cursors are those of `own`.
    pub(crate) fn list_below(
        &self,
        own: Option<&Self>,
        namespace: Option<&str>,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page, RegistryError> {
        let key = own.map_or(&self.key, |own| &own.key);
        let invalid = |parameter: &'static str, problem: &str| RegistryError::InvalidParameter {
            parameter,
            problem: problem.to_owned(),
        };
        if namespace.is_some_and(|text| SkillName::parse(text).is_err()) {
            let problem = "must be segments of a-z and 0-9 joined by dots, such as `acme.sales`";
            return Err(invalid("namespace", problem));
        }
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(invalid("limit", &format!("must be from 1 to {MAX_PAGE}")));
        }
        let after = cursor.map(|cursor| key.open(namespace, cursor)).transpose();
        let after = after.map_err(|problem| invalid("cursor", problem))?;
        let own_matching = own.into_iter().flat_map(|own| own.matching(namespace, after.as_ref()));
        let is_visible =
            |one: &&Arc<Snapshot>| own.is_none_or(|own| !own.skills.contains_key(one.name()));
        let shared = self.matching(namespace, after.as_ref()).filter(is_visible);
        let mut matching = merged(own_matching, shared, |one, other| one.name().cmp(other.name()));
        let skills: Vec<_> = matching.by_ref().take(limit).cloned().collect();
        let next_cursor = match (skills.last(), matching.next()) {
            (Some(last), Some(_)) => Some(key.seal(namespace, last.name())),
            _ => None,
        };
        Ok(Page { skills, next_cursor })
    }

    /// The skills of a namespace, or all, after `after`, by name.
    fn matching<'i>(
        &'i self,
        namespace: Option<&str>,
        after: Option<&SkillName>,
    ) -> Box<dyn Iterator<Item = &'i Arc<Snapshot>> + 'i> {
        match namespace {
            None => Box::new(self.range(Bound::Unbounded, Bound::Unbounded, after)),
            Some(namespace) => Box::new(self.within(namespace, after)),
        }
    }

    /// Skills whose names lie between two bounds and after `after`, by name.
    fn range<'i>(
        &'i self,
        from: Bound<&str>,
        to: Bound<&str>,
        after: Option<&SkillName>,
    ) -> impl Iterator<Item = &'i Arc<Snapshot>> + use<'i> {
        let from = match (from, after) {
            (Bound::Included(from), Some(after)) if after.as_str() < from => Bound::Included(from),
            (_, Some(after)) => Bound::Excluded(after.as_str()),
            (from, None) => from,
        };
        let is_empty = match (from, to) {
            (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to)) => from >= to,
            _ => false,
        };
        let found = (!is_empty).then(|| self.skills.range::<str, _>((from, to)));
        found.into_iter().flatten().filter_map(|(_, versions)| latest(versions))
    }

    /// Skills of a namespace after `after`, by name. Looks at no others.
    fn within<'i>(
        &'i self,
        namespace: &str,
        after: Option<&SkillName>,
    ) -> impl Iterator<Item = &'i Arc<Snapshot>> + use<'i> {
        let itself = self.skills.get(namespace).and_then(|versions| latest(versions));
        let itself = itself.filter(|one| after.is_none_or(|after| one.name() > after));
        // In ASCII the slash follows the dot.
        let (from, to) = (format!("{namespace}."), format!("{namespace}/"));
        let inside = self.range(Bound::Included(&from), Bound::Excluded(&to), after);
        let named = itself.into_iter().chain(inside);

        let from = after.cloned().map_or(Bound::Unbounded, Bound::Excluded);
        let declared = self.declared.get(namespace);
        let declared = declared.map(|names| names.range((from, Bound::Unbounded)));
        let declared = declared
            .into_iter()
            .flatten()
            .filter_map(|name| self.skills.get(name).and_then(|versions| latest(versions)));
        merged(named, declared, |one, other| one.name().cmp(other.name()))
    }
}

/// Merges two sequences that have no item in common, each in the order of `order`.
fn merged<T>(
    one: impl Iterator<Item = T>,
    other: impl Iterator<Item = T>,
    order: impl Fn(&T, &T) -> Ordering,
) -> impl Iterator<Item = T> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(first), Some(second)) if order(second, first).is_lt() => other.next(),
        (None, _) => other.next(),
        _ => one.next(),
    })
}

/// The skills of namespaces that differ from their names.
fn declared(
    skills: &BTreeMap<SkillName, Vec<Arc<Snapshot>>>,
) -> BTreeMap<Box<str>, BTreeSet<SkillName>> {
    let mut declared: BTreeMap<Box<str>, BTreeSet<SkillName>> = BTreeMap::new();
    for one in skills.values().filter_map(|versions| latest(versions)) {
        let Some(namespace) = one.manifest().namespace.as_deref() else { continue };
        let ends = namespace.match_indices('.').map(|(at, _)| at).chain([namespace.len()]);
        for prefix in ends.filter_map(|end| namespace.get(..end)) {
            if !is_within(one.name().as_str(), prefix) {
                declared.entry(prefix.into()).or_default().insert(one.name().clone());
            }
        }
    }
    declared
}

/// Builds an index.
struct Builder<'b> {
    index: Index,
    owners: HashMap<(&'b SkillName, &'b SkillVersion), Owner<'b>>,
}

/// The folder that a version of a skill comes from.
#[derive(Clone, Copy)]
struct Owner<'b> {
    root: usize,
    folder: &'b OsStr,
}

impl<'b> Builder<'b> {
    fn add(&mut self, owner: Owner<'b>, folder: &'b SkillFolder) {
        let mut diagnostics = folder.diagnostics.clone();
        if let Some(snapshot) = &folder.snapshot {
            if let Some(obstacle) = self.obstacle(snapshot, owner) {
                diagnostics.push(obstacle);
            } else {
                self.owners.insert((snapshot.name(), snapshot.version()), owner);
                self.index.insert(snapshot);
                // The snapshot has the warnings of a served skill.
                diagnostics.retain(Diagnostic::is_error);
            }
        }
        if !diagnostics.is_empty() {
            let folder = owner.folder.to_string_lossy().into_owned();
            self.index.rejected.push(RejectedSkill { root: owner.root, folder, diagnostics });
        }
    }

    /// The reason why a valid skill cannot be served.
    fn obstacle(&self, snapshot: &Snapshot, owner: Owner<'_>) -> Option<Diagnostic> {
        let (name, version) = (snapshot.name(), snapshot.version());
        let about = |severity, code, message: String| {
            Some(Diagnostic::about(severity, ".", Problem::new(code, message)))
        };
        if name.as_str() == GUIDE_NAME {
            let message = format!("`{name}` is part of the server, so its name cannot be used");
            return about(Severity::Error, "reserved-name", message);
        }
        if let Some(other) = self.owners.get(&(name, version)) {
            let (root, folder) = (other.root, other.folder.to_string_lossy());
            let message =
                format!("{version} of `{name}` is in the folder `{folder}` of root {root}");
            return if root == owner.root {
                about(Severity::Error, "duplicate", message)
            } else {
                about(Severity::Warning, "shadowed", message)
            };
        }
        let size = self.index.size.saturating_add(snapshot.memory().as_u64());
        (size > self.index.most.as_u64()).then(|| full(self.index.most))
    }
}

/// The highest version that is not a pre-release, otherwise the highest pre-release.
fn latest(versions: &[Arc<Snapshot>]) -> Option<&Arc<Snapshot>> {
    versions.iter().find(|one| !one.version().is_prerelease()).or_else(|| versions.first())
}

/// True if `text` is the namespace itself or lies in it.
fn is_within(text: &str, namespace: &str) -> bool {
    text.strip_prefix(namespace).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
