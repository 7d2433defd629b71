//! What the remote store needs of an object store.

use std::fmt::Debug;
use std::fs::File;
use std::io;

use async_trait::async_trait;

use crate::blobs::local::local_blobs::read_file_part;
use wardian_vocabulary::units::ByteCount;

/// The objects of a place in an object store.
///
/// A version tells apart what was written under one key at different times. A failure is told in words that an
/// operator may read, without anything secret.
#[async_trait]
pub trait BlobObjects: Debug + Send + Sync + 'static {
    /// Writes an object. When this is done, the object is durable. With [`Overwrite::Never`] an object that exists stays
    /// as it is.
    async fn write(
        &self,
        key: &str,
        content: ObjectContent,
        overwrite: Overwrite,
    ) -> io::Result<WrittenObject>;

    /// The version of an object; `None` if there is none.
    async fn version(&self, key: &str) -> io::Result<Option<String>>;

    /// Begins to read an object; `None` if there is none.
    async fn read(&self, key: &str) -> io::Result<Option<Box<dyn ObjectReader>>>;

    /// Copies an object to another key.
    async fn copy(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes an object, if there is one.
    async fn remove(&self, key: &str) -> io::Result<()>;

    /// Some objects whose keys begin with `prefix`, in any order, and a token for those after them. It begins
    /// without a token.
    async fn list(&self, prefix: &str, token: Option<String>) -> io::Result<ObjectPage>;
}

/// An object that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenObject {
    /// Its version.
    pub version: String,
    /// False if there was one, which has stayed.
    pub is_new: bool,
}

/// Some objects of a list.
#[derive(Debug, Default)]
pub struct ObjectPage {
    /// Keys and sizes.
    pub objects: Vec<(String, ByteCount)>,
    /// The token for the next objects; `None` at the end.
    pub next: Option<String>,
}

/// The content of an object that is read.
#[async_trait]
pub trait ObjectReader: Debug + Send {
    /// The MIME type that it was written with, if the store tells one.
    fn kind(&self) -> Option<&str>;

    /// The next piece; `None` at the end. An object that is cut short is an error.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>>;
}

/// The content of an object that is written: the first bytes of a file.
#[derive(Debug)]
pub struct ObjectContent {
    /// The file.
    pub file: File,
    /// How many bytes.
    pub size: ByteCount,
    /// The MIME type, which is kept beside the content.
    pub kind: String,
}

impl ObjectContent {
    /// The bytes from `at` on, as many as `size`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is shorter.
    pub async fn part(&self, at: u64, size: u64) -> io::Result<Vec<u8>> {
        let file = self.file.try_clone()?;
        read_file_part(file, at, size).await
    }
}

/// What becomes of an object that has the key already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// It stays.
    Never,
    /// It is replaced.
    Always,
}
