//! One worker, as the gateway sees it: a process at the other end of a socket.

use std::fmt;
use std::sync::Arc;

use std::os::fd::AsFd as _;

use crate::dispatch::attachments::{AttachmentLimits, Attachments, Key};
use crate::dispatch::channel::{Channel, ChannelError};
use crate::dispatch::content::{BlobSource, SkillContent};
use crate::dispatch::process::Process;
use crate::job::frame::{self, FrameError};
use crate::job::image::ImageContent;
use crate::job::message::{FromWorker, ToWorker, WorkerReport};

/// Number of a worker, counted from the start of the pool; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub(super) u64);

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A worker that is ready. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) id: WorkerId,
    pub(super) channel: Channel,
    pub(super) process: Arc<Process>,
    pub(super) report: Arc<WorkerReport>,
    attachments: Attachments,
}

/// Why content could not be attached.
#[derive(Debug, thiserror::Error)]
pub(super) enum AttachError {
    /// Our own fault; the worker is as before, or must be dropped if it was told half of it.
    #[error("cannot make a memory file for a skill's files")]
    Share(#[source] std::io::Error),
    /// Our own fault as well.
    #[error("cannot describe the content")]
    Describe(#[from] FrameError),
    /// The worker cannot be told.
    #[error("cannot tell the worker")]
    Channel(#[from] ChannelError),
}

impl Worker {
    pub(super) fn new(
        id: WorkerId,
        channel: Channel,
        process: Arc<Process>,
        report: WorkerReport,
        limits: AttachmentLimits,
    ) -> Self {
        let attachments = Attachments::new(limits);
        Self { id, channel, process, report: Arc::new(report), attachments }
    }

    /// True if everything is attached already.
    pub(super) fn has_all(&self, keys: &[Key]) -> bool {
        keys.iter().all(|key| self.attachments.has(key))
    }

    /// Gives the worker what the next run needs, and takes away what is too much.
    pub(super) async fn attach(
        &mut self,
        image: &ImageContent,
        skills: &[Arc<SkillContent>],
        blobs: &[BlobSource],
    ) -> Result<(), AttachError> {
        self.attachments.open_run();
        let is_new_image = self.attachments.note_use(Key::Image(image.digest()), image.length());
        let mut new_skills = Vec::new();
        for skill in skills {
            let size = skill.pack().len().into();
            if self.attachments.note_use(Key::Skill(skill.digest()), size) {
                new_skills.push(skill);
            }
        }
        let mut new_blobs = Vec::new();
        for blob in blobs {
            if self.attachments.note_use(Key::Blob(blob.id.clone()), blob.size) {
                new_blobs.push(blob);
            }
        }
        let mut detaches = Vec::new();
        for key in self.attachments.evict() {
            frame::encode_into(&mut detaches, &key.detach(), &[], false)?;
        }
        if !detaches.is_empty() {
            self.channel.send(&detaches, None).await?;
        }
        if is_new_image {
            let open_files = image.open_files().to_owned();
            let message = ToWorker::AttachImage { digest: image.digest(), open_files };
            let bytes = frame::encode_shared(&message, image.length())?;
            self.channel.send(&bytes, Some(image.memory())).await?;
        }
        for skill in new_skills {
            let (digest, files) = (skill.digest(), skill.files().to_vec());
            let message = ToWorker::AttachSkill { digest, files };
            let bytes = frame::encode_shared(&message, skill.pack().len().into())?;
            let file = skill.shared().map_err(AttachError::Share)?;
            self.channel.send(&bytes, Some(file)).await?;
        }
        for blob in new_blobs {
            let message = ToWorker::AttachBlob { id: blob.id.clone() };
            let bytes = frame::encode_shared(&message, blob.size)?;
            self.channel.send(&bytes, Some(blob.file.as_fd())).await?;
        }
        Ok(())
    }

    /// Stops the run in progress and waits for its end. What the guest asks for meanwhile is
    /// not answered: the worker takes the cancellation for the answer.
    pub(super) async fn cancel(&mut self) -> Result<(), ChannelError> {
        self.channel.send(&frame::encode(&ToWorker::Cancel, &[], false)?, None).await?;
        loop {
            if let (FromWorker::Done(_), _) = self.channel.receive().await? {
                return Ok(());
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.process.kill();
    }
}
