//! Read-only trees of folders and files, built once and shared by every run that mounts them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::vfs::limits::{MAX_DEPTH, MAX_NAME};
use crate::vfs::tree::content::Content;
use crate::vfs::tree::device::Device;

/// The reason why a list of files does not form a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// A path is empty, absolute, has an empty, `.` or `..` segment, or a segment or depth
    /// beyond the limits.
    #[error("`{0}` is not a relative path of plain names")]
    Path(String),
    /// A path is listed twice, or is a file and a folder at once.
    #[error("`{0}` is listed twice, or as a file and as a folder")]
    Conflict(String),
    /// More nodes than can be numbered.
    #[error("there are too many files in one tree")]
    TooLarge,
}

/// Index of a node in its tree. The root is node 0.
pub(crate) type TreeNode = u32;

/// A folder's entries, sorted by name.
type Entries = Box<[(Arc<str>, TreeNode)]>;

/// The kinds of nodes.
enum Kind {
    Folder(Entries),
    File(Arc<dyn Content>),
    Device(Device),
}

struct Node {
    parent: TreeNode,
    kind: Kind,
}

/// A folder with everything below it, which never changes.
///
/// The memory it takes does not depend on the number of runs: they share it through an `Arc`.
pub struct ImmutableTree {
    nodes: OnceLock<Box<[Node]>>,
    /// Lists the files of a tree that is built when it is first looked into.
    source: Option<Source>,
}

/// Lists the files of a tree.
type Source = Box<dyn Fn() -> Vec<(String, Arc<dyn Content>)> + Send + Sync>;

impl ImmutableTree {
    /// Builds the tree of these files; the folders follow from the paths.
    ///
    /// # Errors
    ///
    /// A path is not a relative path of plain names, or two paths conflict.
    pub fn from_files<P: AsRef<str>>(
        files: impl IntoIterator<Item = (P, Arc<dyn Content>)>,
    ) -> Result<Self, TreeError> {
        let mut builder = Builder::default();
        for (path, content) in files {
            builder.add(path.as_ref(), content)?;
        }
        Ok(Self::of_nodes(builder.finish()))
    }

    /// A tree that is built when it is first looked into. Of files that make no tree it is empty.
    pub(crate) fn lazy(
        files: impl Fn() -> Vec<(String, Arc<dyn Content>)> + Send + Sync + 'static,
    ) -> Self {
        Self { nodes: OnceLock::new(), source: Some(Box::new(files)) }
    }

    /// Builds a folder of devices.
    pub(crate) fn of_devices(devices: &[(&str, Device)]) -> Self {
        let mut nodes = vec![Node { parent: 0, kind: Kind::Folder(Box::default()) }];
        let mut entries: Vec<(Arc<str>, TreeNode)> = Vec::new();
        for ((name, device), node) in devices.iter().zip(1..) {
            nodes.push(Node { parent: 0, kind: Kind::Device(*device) });
            entries.push(((*name).into(), node));
        }
        entries.sort();
        if let Some(root) = nodes.first_mut() {
            root.kind = Kind::Folder(entries.into());
        }
        Self::of_nodes(nodes.into())
    }

    /// The content of the file at `path`, relative to the root.
    #[must_use]
    pub fn find_file(&self, path: &str) -> Option<&Arc<dyn Content>> {
        let mut node = 0;
        for name in path.split('/') {
            node = self.child(node, name)?;
        }
        self.file(node)
    }

    /// The child of that name; `None` also if `node` is not a folder.
    pub fn child(&self, node: TreeNode, name: &str) -> Option<TreeNode> {
        let entries = self.entries(node)?;
        let found = entries.binary_search_by(|(entry, _)| (**entry).cmp(name)).ok()?;
        entries.get(found).map(|&(_, child)| child)
    }

    /// A folder's entries, sorted by name; `None` for files.
    pub fn entries(&self, node: TreeNode) -> Option<&[(Arc<str>, TreeNode)]> {
        match &self.node(node)?.kind {
            Kind::Folder(entries) => Some(entries),
            Kind::File(_) | Kind::Device(_) => None,
        }
    }

    /// A file's content; `None` for anything else.
    pub fn file(&self, node: TreeNode) -> Option<&Arc<dyn Content>> {
        match &self.node(node)?.kind {
            Kind::Folder(_) | Kind::Device(_) => None,
            Kind::File(content) => Some(content),
        }
    }

    /// A device; `None` for anything else.
    pub fn device(&self, node: TreeNode) -> Option<Device> {
        match &self.node(node)?.kind {
            Kind::Device(device) => Some(*device),
            Kind::Folder(_) | Kind::File(_) => None,
        }
    }

    /// The folder that holds `node`; the root is its own parent.
    pub fn parent(&self, node: TreeNode) -> TreeNode {
        self.node(node).map_or(0, |node| node.parent)
    }

    /// Path of `node` from the root, without a leading slash.
    pub(crate) fn path_of(&self, node: TreeNode) -> String {
        let mut names = Vec::new();
        let mut current = node;
        while current != 0 {
            let parent = self.parent(current);
            let entries = self.entries(parent).unwrap_or_default();
            let entry = entries.iter().find(|&&(_, child)| child == current);
            names.extend(entry.map(|(name, _)| &**name));
            current = parent;
        }
        names.reverse();
        names.join("/")
    }

    fn of_nodes(nodes: Box<[Node]>) -> Self {
        Self { nodes: OnceLock::from(nodes), source: None }
    }

    fn nodes(&self) -> &[Node] {
        self.nodes.get_or_init(|| {
            let files = self.source.as_ref().map(|source| source()).unwrap_or_default();
            let mut builder = Builder::default();
            let built =
                files.into_iter().try_for_each(|(path, content)| builder.add(&path, content));
            let builder = built.map_or_else(|_no_tree| Builder::default(), |()| builder);
            builder.finish()
        })
    }

    fn node(&self, node: TreeNode) -> Option<&Node> {
        self.nodes().get(usize::try_from(node).ok()?)
    }
}

/// Prints the size only: names may belong to a tenant.
impl fmt::Debug for ImmutableTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.nodes.get().map_or(0, |nodes| nodes.len());
        f.debug_struct("ImmutableTree").field("nodes", &nodes).finish_non_exhaustive()
    }
}

/// A node while the tree is being built.
struct Draft {
    parent: TreeNode,
    children: BTreeMap<Arc<str>, TreeNode>,
    content: Option<Arc<dyn Content>>,
}

struct Builder {
    drafts: Vec<Draft>,
}

impl Default for Builder {
    fn default() -> Self {
        Self { drafts: vec![Draft { parent: 0, children: BTreeMap::new(), content: None }] }
    }
}

impl Builder {
    fn add(&mut self, path: &str, content: Arc<dyn Content>) -> Result<(), TreeError> {
        let wrong = || TreeError::Path(path.to_owned());
        let conflict = || TreeError::Conflict(path.to_owned());
        let (folders, name) = path.rsplit_once('/').map_or((None, path), |(f, n)| (Some(f), n));
        if path.split('/').count() > MAX_DEPTH || !path.split('/').all(is_plain_name) {
            return Err(wrong());
        }
        let mut folder = 0;
        for name in folders.iter().flat_map(|folders| folders.split('/')) {
            let draft = self.draft(folder).ok_or_else(wrong)?;
            folder = match draft.children.get(name) {
                Some(&child) => child,
                None => self.push(folder, name, None)?,
            };
            if self.draft(folder).is_none_or(|draft| draft.content.is_some()) {
                return Err(conflict());
            }
        }
        if self.draft(folder).is_none_or(|draft| draft.children.contains_key(name)) {
            return Err(conflict());
        }
        self.push(folder, name, Some(content)).map(|_| ())
    }

    fn push(
        &mut self,
        parent: TreeNode,
        name: &str,
        content: Option<Arc<dyn Content>>,
    ) -> Result<TreeNode, TreeError> {
        let node = TreeNode::try_from(self.drafts.len()).ok().ok_or(TreeError::TooLarge)?;
        self.drafts.push(Draft { parent, children: BTreeMap::new(), content });
        let folder = usize::try_from(parent).ok().and_then(|parent| self.drafts.get_mut(parent));
        if let Some(folder) = folder {
            folder.children.insert(name.into(), node);
        }
        Ok(node)
    }

    fn draft(&self, node: TreeNode) -> Option<&Draft> {
        self.drafts.get(usize::try_from(node).ok()?)
    }

    fn finish(self) -> Box<[Node]> {
        let finished = self.drafts.into_iter().map(|draft| {
            let entries = || draft.children.into_iter().collect();
            let kind = draft.content.map_or_else(|| Kind::Folder(entries()), Kind::File);
            Node { parent: draft.parent, kind }
        });
        finished.collect()
    }
}

/// True for a name that a folder of the guest can hold.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name != "."
        && name != ".."
        && name.len() <= MAX_NAME
        && !name.contains(['/', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::tree::content::SharedBytes;

    fn tree(paths: &[&str]) -> Result<ImmutableTree, TreeError> {
        let content = |path: &str| -> Arc<dyn Content> {
            Arc::new(SharedBytes::new(path.as_bytes().to_vec()))
        };
        ImmutableTree::from_files(paths.iter().map(|path| (*path, content(path))))
    }

    #[test]
    fn a_tree_has_the_files_it_was_built_from() {
        let tree = tree(&["z.txt", "code/main.py", "code/lib/a.py", "SKILL.md"]).unwrap();
        let names = |node| -> Vec<&str> {
            tree.entries(node).unwrap().iter().map(|(name, _)| &**name).collect()
        };
        assert_eq!(names(0), ["SKILL.md", "code", "z.txt"]);
        let code = tree.child(0, "code").unwrap();
        assert_eq!(names(code), ["lib", "main.py"]);
        assert_eq!(tree.find_file("code/lib/a.py").unwrap().size(), 13);
        assert!(tree.find_file("code/lib").is_none() && tree.find_file("code/x").is_none());
        let lib = tree.child(code, "lib").unwrap();
        assert_eq!((tree.parent(lib), tree.parent(code), tree.parent(0)), (code, 0, 0));
        let file = tree.child(lib, "a.py").unwrap();
        assert_eq!((tree.path_of(file), tree.path_of(0)), ("code/lib/a.py".into(), String::new()));
    }

    #[test]
    fn paths_that_are_no_plain_relative_paths_are_refused() {
        let (long, deep) = ("a".repeat(256), "a/".repeat(300) + "b");
        for path in ["", "/a", "a//b", "a/", "./a", "a/../b", "..", "a\0", &long, &deep] {
            assert_eq!(tree(&[path]).unwrap_err(), TreeError::Path(path.to_owned()));
        }
    }

    #[test]
    fn a_path_is_listed_once_and_is_not_both_file_and_folder() {
        for paths in [&["a", "a"][..], &["a", "a/b"], &["a/b", "a"]] {
            assert!(matches!(tree(paths), Err(TreeError::Conflict(_))), "{paths:?}");
        }
    }
}
