//! The place in an object store belongs to one database.
//!
//! The table decides when an object goes. With two tables, one would remove what the other one has: an object
//! `<prefix>/database` names the database to which the place belongs, and another one is refused.

use std::fs::File;
use std::io::{self, Write as _};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::blobs::error::BlobError;
use crate::blobs::remote::objects::{ObjectContent, Overwrite};
use crate::blobs::remote::parts::RemoteParts;
use crate::blobs::remote::remote_blobs::RemoteBlobs;
use wardian_vocabulary::units::ByteCount;

/// Longest id of a database that is read, in bytes.
const MAX_ID: usize = 200;

/// Whose a place becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceOwner {
    /// That of the database to which it belongs, or of this one if it belongs to none.
    First,
    /// That of this database: the other one is lost, and its servers are stopped.
    This,
}

impl RemoteBlobs {
    /// Makes sure that the place belongs to this database.
    ///
    /// # Errors
    ///
    /// [`BlobError::OtherDatabase`] if it belongs to another one, and [`BlobError::Storage`].
    pub async fn take_place(&self, owner: PlaceOwner) -> Result<(), BlobError> {
        let Self(remote) = self;
        let id = remote.rows.database_id().await.map_err(BlobError::from_database("write to"))?;
        let overwrite = match owner {
            PlaceOwner::First => Overwrite::Never,
            PlaceOwner::This => Overwrite::Always,
        };
        if remote.owner_of_place().await?.is_none_or(|_| owner == PlaceOwner::This) {
            let content = content_of(&id).map_err(BlobError::Unreachable)?;
            let key = remote.key_of_owner();
            let written = remote.place.objects.write(&key, content, overwrite).await;
            written.map_err(BlobError::Unreachable)?;
        }
        match remote.owner_of_place().await? {
            Some(found) if found == id => Ok(()),
            _ => Err(BlobError::OtherDatabase),
        }
    }
}

impl RemoteParts {
    fn key_of_owner(&self) -> String {
        self.place.key_of("database")
    }

    async fn owner_of_place(&self) -> Result<Option<String>, BlobError> {
        let object = self.place.objects.read(&self.key_of_owner()).await;
        let Some(mut object) = object.map_err(BlobError::Unreachable)? else {
            return Ok(None);
        };
        let mut text = Vec::new();
        while let Some(piece) = object.next().await.map_err(BlobError::Unreachable)? {
            text.extend_from_slice(&piece);
            if text.len() > MAX_ID {
                return Err(BlobError::OtherDatabase);
            }
        }
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }
}

fn content_of(id: &str) -> io::Result<ObjectContent> {
    let mut file = File::from(memfd_create(c"database", MemfdFlags::CLOEXEC)?);
    file.write_all(id.as_bytes())?;
    let (size, kind) = (ByteCount::from(id.len()), "text/plain".to_owned());
    Ok(ObjectContent { file, size, kind })
}
