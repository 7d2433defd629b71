//! The name of a skill's folder: `name` or `name@version`.

/// A folder's name, split at its `@`.
#[derive(Debug)]
pub(crate) struct FolderName<'f> {
    pub whole: &'f str,
    pub name: &'f str,
    pub version: Option<&'f str>,
}

impl<'f> FolderName<'f> {
    pub(crate) fn split(whole: &'f str) -> Self {
        match whole.split_once('@') {
            Some((name, version)) => Self { whole, name, version: Some(version) },
            None => Self { whole, name: whole, version: None },
        }
    }
}
