//! The plan of a run: everything is looked up and nothing is started.

use serde_json::value::RawValue;

use crate::ids::BlobId;
use crate::images::PackageSet;
use crate::job::limits::RunLimits;
use crate::job::{KeepFiles, Program};
use crate::service::error::ServiceError;
use crate::service::find::blob_ids;
use crate::service::run::host::LogListener;
use crate::service::run::mounted_skill::MountedSkill;
use crate::service::run::network::NetworkGrant;
use crate::service::run::secrets::DeclaredSecrets;

/// The plan of a run: everything is looked up and nothing is started.
pub(crate) struct RunPlan {
    pub(crate) program: Program,
    pub(crate) entrypoint: Option<String>,
    /// Text of a JSON object.
    pub(crate) args: Box<RawValue>,
    pub(crate) skills: Vec<MountedSkill>,
    pub(crate) blobs: Vec<BlobId>,
    pub(crate) keep_files: KeepFiles,
    pub(crate) network: NetworkGrant,
    /// The secrets that the skill declares; none for code that came with a call.
    pub(crate) secrets: Option<DeclaredSecrets>,
    pub(crate) limits: RunLimits,
    pub(crate) listener: Option<LogListener>,
    /// True if the caller wants the whole logs, not only the preview.
    pub(crate) whole_logs: bool,
}

impl RunPlan {
    /// Adds the blobs that a call names.
    pub(crate) fn with_blobs(mut self, named: &[String]) -> Result<Self, ServiceError> {
        for blob in blob_ids(named)? {
            if !self.blobs.contains(&blob) {
                self.blobs.push(blob);
            }
        }
        Ok(self)
    }

    /// The packages of images that the run is expected to import. A run with fuel has none:
    /// importing costs fuel, and the fuel of a run must not depend on the images that exist.
    pub(crate) fn packages(&self) -> PackageSet {
        if self.limits.fuel.is_some() {
            return PackageSet::NONE;
        }
        let own = match &self.program {
            Program::Code { source, .. } => PackageSet::of_source(source),
            Program::Skill { .. } => PackageSet::NONE,
        };
        self.skills.iter().fold(own, |packages, skill| packages.union(skill.packages))
    }
}
