//! Packs that the database does not know, at the start of a server.
//!
//! A crash leaves a few: a pack is written before its row, and removed after it. They are of no use, since
//! the key of a session is in its row. Many of them mean that the database is not the one that belongs to the
//! folder: another one, or an older one. They are of use as soon as somebody puts the right one back, so a
//! start removes none of them.
//!
//! What a single loss leaves cannot be told from what an old database does not know by anything but their
//! number: a backup has no other date than its content.

use std::sync::Arc;

use tracing::warn;

use crate::error::SessionsError;
use crate::pack_folder::ORPHANS;
use crate::sessions::{Inner, on_thread};
use wardian_stores::blobs::local::disk::Disk;
use wardian_stores::sessions::PackId;
use wardian_vocabulary::units::ByteCount;

/// Packs that are compared with their rows in one statement.
const AT_ONCE: usize = 500;

/// Packs that one crash may leave, and that are removed. More than these are set aside.
const MAX_LEFTOVERS: usize = 32;

impl<D: Disk> Inner<D> {
    /// Removes those of these packs that have no row, or sets them aside if they are many. Says how many they
    /// are.
    pub(crate) async fn tidy_up(&self, packs: &[PackId]) -> Result<(), SessionsError> {
        let mut orphans = Vec::new();
        for packs in packs.chunks(AT_ONCE) {
            let known = self.store.known_packs(packs).await?;
            orphans.extend(packs.iter().filter(|pack| !known.contains(pack)).cloned());
        }
        if orphans.is_empty() {
            return Ok(());
        }
        let (count, folder) = (orphans.len(), Arc::clone(&self.folder));
        let is_crash = count <= MAX_LEFTOVERS;
        let bytes: ByteCount = on_thread(move || {
            let bytes = folder.bytes_of(&orphans);
            if is_crash {
                folder.remove(&orphans);
            } else {
                folder.set_aside(&orphans)?;
            }
            Ok(bytes)
        })
        .await?;
        if is_crash {
            warn!(
                packs = count,
                bytes = bytes.as_u64(),
                "{count} states ({bytes}) that the database of sessions does not know were removed"
            );
        } else {
            warn!(
                packs = count,
                bytes = bytes.as_u64(),
                "{count} states ({bytes}) that the database of sessions does not know were moved to \
                 `sessions/{ORPHANS}`: if an older `sessions.db` was put back, stop the server, put the newer \
                 one back and move them to `sessions` again; otherwise remove that folder"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::testing::{Place, acme};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId};

    /// The files of so many packs that no database knows.
    fn add_orphans(place: &Place, count: u32) {
        let origin = SessionId::of_random(&[7; 16]);
        for cell in 1..=count {
            let checkpoint = CheckpointId::new(cell, &Digest::of(b"x"));
            let name = format!("{origin}.{checkpoint}");
            fs::write(place.config.root.join(name), "pack").unwrap();
        }
    }

    #[tokio::test]
    async fn a_start_without_the_database_removes_nothing_and_says_what_to_do() {
        let place = Place::new();
        let sessions = place.open().await;
        let id = sessions.new_session().await;
        sessions.run(&id, b"state").await;
        sessions.shut_down().await.unwrap();
        let keys = sessions.0.keys.clone();
        sessions.0.store.close().await;
        drop(sessions);
        let away = place.folder.path().join("away");
        fs::create_dir(&away).unwrap();
        let name = |path: &Path| path.file_name().unwrap().to_owned();
        let of_database = |folder: &Path| {
            let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            let is_named = |path: &PathBuf| name(path).to_str().unwrap().starts_with("sessions.db");
            files.filter(is_named).collect::<Vec<_>>()
        };
        for file in of_database(place.folder.path()) {
            fs::rename(&file, away.join(name(&file))).unwrap();
        }
        let store = place.store().await;
        let (config, clock) = (place.config.clone(), Clock::System);
        let refused = crate::Sessions::open(config, Arc::clone(&store), keys, clock).await;
        let refused = refused.map(drop).unwrap_err();
        assert!(matches!(refused, SessionsError::OtherDatabase { packs: 1 }), "{refused}");
        assert!(refused.to_string().contains("put the `sessions.db` back"), "{refused}");
        store.close().await;
        // With the database all is as before.
        of_database(place.folder.path()).iter().for_each(|file| fs::remove_file(file).unwrap());
        for file in of_database(&away) {
            fs::rename(&file, place.folder.path().join(name(&file))).unwrap();
        }
        let sessions = place.open().await;
        assert_eq!(sessions.state(&id).await.unwrap(), [b"state"]);
        // A database whose last session has ended is no other one.
        sessions.close(&acme(), &id).await.unwrap();
        drop(sessions);
        add_orphans(&place, 1);
        drop(place.open().await);
        assert_eq!(place.files(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn many_packs_without_rows_are_set_aside() {
        let place = Place::new();
        let sessions = place.open().await;
        let id = sessions.new_session().await;
        sessions.run(&id, b"state").await;
        drop(sessions);
        let few = u32::try_from(MAX_LEFTOVERS).unwrap();
        add_orphans(&place, few);
        drop(place.open().await);
        assert_eq!(place.files().len(), 1, "a crash has left them");
        add_orphans(&place, few + 1);
        let sessions = place.open().await;
        assert_eq!(place.files().len(), 2);
        let aside = fs::read_dir(place.config.root.join(ORPHANS)).unwrap();
        assert_eq!(aside.count(), MAX_LEFTOVERS + 1);
        assert_eq!(sessions.state(&id).await.unwrap(), [b"state"]);
    }
}
