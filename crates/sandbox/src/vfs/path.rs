//! Resolves paths step by step as Linux does, in the virtual tree only.
//!
//! INVARIANT(no-outside): a step goes from a folder to one of its entries or to its parent, and
//! the parent of a root is that root; so no path, link or `..` leads out of the tree.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::vfs::errno::Errno;
use crate::vfs::limits::{MAX_LINKS, MAX_NAME, MAX_PATH};
use crate::vfs::tree::immutable::ImmutableTree;
use crate::vfs::tree::node::{FileKind, NodeIndex, NodeKind, Nodes, Place, Region, TreeIndex};

/// A tree that the host mounted.
pub(crate) struct MountedTree {
    pub tree: Arc<ImmutableTree>,
    /// The folder it is mounted in; its own root if it is reachable by its full path only.
    pub parent: Place,
    /// Path of its root.
    pub path: Box<str>,
}

/// All names that a run can see.
#[derive(Default)]
pub(super) struct Names {
    pub(crate) nodes: Nodes,
    pub(crate) trees: Vec<MountedTree>,
    /// Trees whose path leads through a file, which only their full path reaches.
    pub detached: Vec<TreeIndex>,
    /// Names of mounted blobs, which lead to them in the folder of blobs.
    pub blob_names: BTreeMap<Box<str>, Place>,
    /// The names that were looked up.
    pub steps: Cell<u64>,
}

/// The root folder: the first node that is made.
pub(super) const ROOT: Place = Place::Own(0);

/// The treatment of a symbolic link as the last name of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLink {
    /// Go on to its target.
    Follow,
    /// Stop at the link, unless a slash comes after it.
    Keep,
}

/// The purpose of a path's walk, which decides how its last name is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To find an existing file; a name before a slash must be a folder.
    Find(LastLink),
    /// To make or remove the name itself: a link is never followed.
    Name,
    /// To make a file: a link at the end is followed unless a slash comes after it.
    Create,
}

impl Purpose {
    const fn follows(self, has_slash: bool) -> bool {
        match self {
            Self::Find(LastLink::Follow) => true,
            Self::Find(LastLink::Keep) => has_slash,
            Self::Name => false,
            Self::Create => !has_slash,
        }
    }
}

/// The last segment of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Last<'p> {
    /// A name.
    Name(Cow<'p, str>),
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// Nothing but slashes.
    Root,
}

/// The result of walking a path.
#[derive(Debug)]
pub(crate) struct Walked<'p> {
    /// The folder that has, or could have, the last name.
    pub folder: Place,
    pub last: Last<'p>,
    /// The place of the last segment, if it exists.
    pub found: Option<Place>,
    /// True if a slash came after the last name, which must be a folder then.
    pub(crate) wants_folder: bool,
}

impl Walked<'_> {
    fn into_owned(self) -> Walked<'static> {
        let last = match self.last {
            Last::Name(name) => Last::Name(Cow::Owned(name.into_owned())),
            Last::Dot => Last::Dot,
            Last::DotDot => Last::DotDot,
            Last::Root => Last::Root,
        };
        let Self { folder, found, wants_folder, .. } = self;
        Walked { folder, last, found, wants_folder }
    }
}

/// The part of a walk before the next link.
enum Step<'p> {
    Done(Walked<'p>),
    /// `link` was found in `folder`; `rest` is the path after it and its slash.
    Link {
        folder: Place,
        link: NodeIndex,
        rest: Option<&'p str>,
    },
}

/// The first name of a path.
#[derive(Clone, Copy)]
struct Segment<'p> {
    name: &'p str,
    /// The part after the slash behind it, if there is one.
    later: Option<&'p str>,
}

impl<'p> Segment<'p> {
    /// The first segment of a path that does not start with a slash.
    fn first_of(path: &'p str) -> Self {
        match path.split_once('/') {
            None => Self { name: path, later: None },
            Some((name, later)) => Self { name, later: Some(later.trim_start_matches('/')) },
        }
    }

    fn is_last(self) -> bool {
        self.later.is_none_or(str::is_empty)
    }
}

/// The result of walking one name.
enum Entered {
    Folder(Place),
    Link(NodeIndex),
    /// It was the last name.
    Last(Option<Place>),
}

impl Names {
    /// Walks `path` from the folder `start`.
    pub(super) fn walk<'p>(
        &self,
        start: Place,
        path: &'p str,
        purpose: Purpose,
    ) -> Result<Walked<'p>, Errno> {
        check_path(path)?;
        let mut step = match self.walk_to_link(start, path, purpose)? {
            Step::Done(walked) => return Ok(walked),
            Step::Link { folder, link, rest } => (folder, self.expand(link, rest)?),
        };
        for _ in 1..MAX_LINKS {
            step = match self.walk_to_link(step.0, &step.1, purpose)? {
                Step::Done(walked) => return Ok(walked.into_owned()),
                Step::Link { folder, link, rest } => (folder, self.expand(link, rest)?),
            };
        }
        match self.walk_to_link(step.0, &step.1, purpose)? {
            Step::Done(walked) => Ok(walked.into_owned()),
            Step::Link { .. } => Err(Errno::LinkLoop),
        }
    }

    /// Finds the existing place of `path`.
    pub(super) fn resolve(
        &self,
        start: Place,
        path: &str,
        last_link: LastLink,
    ) -> Result<Place, Errno> {
        self.walk(start, path, Purpose::Find(last_link))?.found.ok_or(Errno::NotFound)
    }

    fn walk_to_link<'p>(
        &self,
        start: Place,
        path: &'p str,
        purpose: Purpose,
    ) -> Result<Step<'p>, Errno> {
        let (mut folder, mut rest) = self.beginning(start, path);
        let done = |folder, last, found, wants_folder| {
            Ok(Step::Done(Walked { folder, last, found, wants_folder }))
        };
        loop {
            self.steps.set(self.steps.get().saturating_add(1));
            let segment = Segment::first_of(rest);
            match segment.name {
                "" => return done(folder, Last::Root, Some(folder), true),
                "." if segment.is_last() => return done(folder, Last::Dot, Some(folder), true),
                "." => {}
                ".." => {
                    folder = self.parent(folder)?;
                    if segment.is_last() {
                        return done(folder, Last::DotDot, Some(folder), true);
                    }
                }
                name => match self.enter(folder, segment, purpose)? {
                    Entered::Folder(next) => folder = next,
                    Entered::Link(link) => {
                        return Ok(Step::Link { folder, link, rest: segment.later });
                    }
                    Entered::Last(found) => {
                        let last = Last::Name(name.into());
                        return done(folder, last, found, segment.later.is_some());
                    }
                },
            }
            rest = segment.later.unwrap_or_default();
        }
    }

    /// Walks one name.
    fn enter(
        &self,
        folder: Place,
        segment: Segment<'_>,
        purpose: Purpose,
    ) -> Result<Entered, Errno> {
        let found = match self.child(folder, segment.name)? {
            None if segment.is_last() && matches!(purpose, Purpose::Find(_)) => {
                self.blob_named(folder, segment.name)?
            }
            found => found,
        };
        let has_slash = segment.later.is_some();
        let follows = !segment.is_last() || purpose.follows(has_slash);
        if let Some(Place::Own(link)) = found
            && follows
            && self.kind(Place::Own(link))? == FileKind::Link
        {
            return Ok(Entered::Link(link));
        }
        let wants_folder = has_slash && matches!(purpose, Purpose::Find(_));
        if let Some(place) = found
            && (wants_folder || !segment.is_last())
            && self.kind(place)? != FileKind::Folder
        {
            return Err(Errno::NotFolder);
        }
        if segment.is_last() {
            return Ok(Entered::Last(found));
        }
        found.map(Entered::Folder).ok_or(Errno::NotFound)
    }

    /// The start of a path, and the rest that is left to walk.
    pub(super) fn beginning<'p>(&self, start: Place, path: &'p str) -> (Place, &'p str) {
        if !path.starts_with('/') {
            return (start, path);
        }
        let detached = self.detached.iter().filter_map(|&tree| {
            let mounted = usize::try_from(tree).ok().and_then(|tree| self.trees.get(tree))?;
            let rest = path.strip_prefix(&*mounted.path)?;
            let whole_name = rest.is_empty() || rest.starts_with('/');
            whole_name.then_some((Place::Mounted { tree, node: 0 }, rest))
        });
        let (place, rest) = detached.min_by_key(|(_, rest)| rest.len()).unwrap_or((ROOT, path));
        (place, rest.trim_start_matches('/'))
    }

    /// The target of a link, joined with the rest of the path after it.
    fn expand(&self, link: NodeIndex, rest: Option<&str>) -> Result<String, Errno> {
        let NodeKind::Link(target) = &self.nodes.find(link)?.kind else {
            return Err(Errno::InputOutput);
        };
        Ok(rest.map_or_else(|| target.to_string(), |rest| format!("{target}/{rest}")))
    }

    /// The entry of that name in a folder.
    pub(super) fn child(&self, folder: Place, name: &str) -> Result<Option<Place>, Errno> {
        if name.len() > MAX_NAME {
            return Err(Errno::NameTooLong);
        }
        match folder {
            Place::Own(index) => {
                Ok(self.nodes.folder(index)?.entries.get(name).map(|entry| entry.place))
            }
            Place::Mounted { tree, node } => {
                let child = self.tree(tree)?.tree.child(node, name);
                Ok(child.map(|node| Place::Mounted { tree, node }))
            }
        }
    }

    /// The place that `..` leads to in a folder.
    pub(super) fn parent(&self, folder: Place) -> Result<Place, Errno> {
        match folder {
            Place::Own(index) => Ok(self.nodes.folder(index)?.parent),
            Place::Mounted { tree, node: 0 } => Ok(self.tree(tree)?.parent),
            Place::Mounted { tree, node } => {
                Ok(Place::Mounted { tree, node: self.tree(tree)?.tree.parent(node) })
            }
        }
    }

    /// The kind of file at a place.
    pub(super) fn kind(&self, place: Place) -> Result<FileKind, Errno> {
        match place {
            Place::Own(index) => Ok(self.nodes.find(index)?.file_kind()),
            Place::Mounted { tree, node } => {
                let tree = &self.tree(tree)?.tree;
                Ok(match (tree.file(node), tree.device(node)) {
                    (Some(_), _) => FileKind::File,
                    (None, Some(_)) => FileKind::Device,
                    (None, None) => FileKind::Folder,
                })
            }
        }
    }

    /// The node of the workspace at a place, or `EROFS`.
    pub(super) fn writable(&self, place: Place) -> Result<NodeIndex, Errno> {
        match place {
            Place::Own(index) if self.nodes.find(index)?.region == Region::Workspace => Ok(index),
            _ => Err(Errno::ReadOnly),
        }
    }

    pub(super) fn tree(&self, tree: TreeIndex) -> Result<&MountedTree, Errno> {
        usize::try_from(tree).ok().and_then(|tree| self.trees.get(tree)).ok_or(Errno::InputOutput)
    }
}

impl Names {
    /// The blob whose name is used in the folder of blobs, or whose id is used as a path in the
    /// workspace. Programs often do; a file of that name has precedence. Listings show neither.
    fn blob_named(&self, folder: Place, name: &str) -> Result<Option<Place>, Errno> {
        if let Some(place) = self.blob_names.get(name)
            && self.child(ROOT, BLOBS)? == Some(folder)
        {
            return Ok(Some(*place));
        }
        if !name.starts_with(BLOB_PREFIX) || self.writable(folder).is_err() {
            return Ok(None);
        }
        match self.child(ROOT, BLOBS)? {
            Some(blobs) if self.kind(blobs)? == FileKind::Folder => self.child(blobs, name),
            _ => Ok(None),
        }
    }
}

/// The beginning of every blob's id.
const BLOB_PREFIX: &str = "blob:";

/// The folder of the root where blobs are.
pub(crate) const BLOBS: &str = "blobs";

/// Refuses an invalid path.
pub(crate) fn check_path(path: &str) -> Result<(), Errno> {
    if path.is_empty() {
        return Err(Errno::NotFound);
    }
    if path.len() >= MAX_PATH {
        return Err(Errno::NameTooLong);
    }
    if path.contains('\0') {
        return Err(Errno::Invalid);
    }
    Ok(())
}
