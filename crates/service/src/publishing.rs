//! Publishes skills of tenants, and removes them.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::sleep;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::start::{Discovery, Gate};
use wardian_skills::registry::publishing::{PublishError, PublishedStore, PublishedVersion};
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::{BlobId, SkillName, SkillVersion};

/// How often, and how long in all, it is looked whether a published skill is seen.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: u32 = 100;

/// The answer to a request that publishes a skill.
#[derive(Debug, Serialize)]
pub struct PublishResult {
    /// The skill.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The digest of its files, as `name@version#digest` takes it.
    pub digest: String,
    /// False if the same content was published before.
    pub is_new: bool,
    /// True if calls find it already; within seconds otherwise.
    pub is_visible: bool,
    /// Findings that are not errors.
    pub warnings: Vec<String>,
}

/// The interface of publishing for the edges.
pub trait Publishing: Send + Sync + 'static {
    /// The skills and blobs; `None` if nothing can be published here.
    fn publishing(&self) -> Option<&Discovery> {
        None
    }
}

impl<T: Publishing> Publishing for Arc<T> {
    fn publishing(&self) -> Option<&Discovery> {
        T::publishing(self)
    }
}

impl Publishing for Gate {
    fn publishing(&self) -> Option<&Discovery> {
        Some(self.discovery())
    }
}

impl Discovery {
    /// Publishes the skill in a blob, which the tenant has stored before.
    ///
    /// # Errors
    ///
    /// The caller lacks a scope, there is no such blob, or a reason of [`PublishError`].
    pub async fn publish_skill(
        &self,
        caller: &Caller,
        (name, version): (&str, &str),
        blob: &str,
    ) -> Result<PublishResult, ServiceError> {
        let (published, name, version) = self.begin(caller, name, version)?;
        ensure_has(caller, Right::Blobs)?;
        let no_blob = |_| ServiceError::NoSuchBlob { id: blob.to_owned() };
        let id = BlobId::parse(blob).map_err(no_blob)?;
        let (files, tenant) = (Arc::clone(&self.blobs.files), caller.tenant.clone());
        let (owner, skill) = (tenant.clone(), (name.clone(), version.clone()));
        let opening = caller.memory.on_task(async move { files.open(&owner, &id).await });
        let mut opened = opening.await.map_err(ServiceError::Interrupted)??;
        let writing = move || -> Result<PublishedVersion, ServiceError> {
            let size = opened.blob.size.as_u64();
            // Behind the content, the file has what belongs to the store.
            let content = std::io::Read::take(&mut opened.file, size);
            let mut content = std::io::BufReader::new(content);
            Ok(published.publish(&tenant, (&skill.0, &skill.1), &mut content, size)?)
        };
        let done = caller.memory.on_thread(writing).await.map_err(ServiceError::Interrupted)??;
        self.registry.look_for_published(&caller.tenant);
        let sees = || {
            let found = self.registry.seen_by(&caller.tenant).find(&name, Some(&version));
            found.is_ok_and(|skill| skill.snapshot.digest().to_string() == done.digest)
        };
        let is_visible = settled(sees).await;
        let PublishedVersion { digest, is_new, warnings } = done;
        let (name, version) = (name.to_string(), version.to_string());
        Ok(PublishResult { name, version, digest, is_new, is_visible, warnings })
    }

    /// Removes a version that the tenant has published.
    ///
    /// # Errors
    ///
    /// The caller lacks the scope, or a reason of [`PublishError`].
    pub async fn unpublish_skill(
        &self,
        caller: &Caller,
        (name, version): (&str, &str),
    ) -> Result<(), ServiceError> {
        let (published, name, version) = self.begin(caller, name, version)?;
        let tenant = caller.tenant.clone();
        let skill = (name.clone(), version.clone());
        let removing = move || published.unpublish(&tenant, (&skill.0, &skill.1));
        caller.memory.on_thread(removing).await.map_err(ServiceError::Interrupted)??;
        self.registry.look_for_published(&caller.tenant);
        settled(|| self.registry.seen_by(&caller.tenant).find(&name, Some(&version)).is_err())
            .await;
        Ok(())
    }

    fn begin(
        &self,
        caller: &Caller,
        name: &str,
        version: &str,
    ) -> Result<(Arc<PublishedStore>, SkillName, SkillVersion), ServiceError> {
        ensure_has(caller, Right::Publish)?;
        let published = self.published.clone().ok_or(PublishError::Off)?;
        Ok((published, SkillName::parse(name)?, SkillVersion::parse(version)?))
    }
}

/// Waits until this is so, or for some seconds.
async fn settled(is_so: impl Fn() -> bool) -> bool {
    for _ in 0..LOOKS {
        if is_so() {
            return true;
        }
        sleep(LOOK).await;
    }
    false
}
