//! The text of the job that the guest's runner fetches with a host call.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use wardian_formats::job::session::cell::CellOrder;
use wardian_formats::job::{
    BlobMount, Entrypoint, LayerMount, LayerPlace, Program, Setup, SkillMount, Turn,
};
use wardian_vocabulary::ids::{BlobId, BlobName, RunId, SkillName, SkillVersion};
use wardian_vocabulary::secret_text::SecretText;
use wardian_vocabulary::units::ByteCount;

/// The job for the guest, without tenant, digests and limits.
#[derive(Serialize)]
struct GuestJob<'a> {
    run_id: &'a RunId,
    program: &'a Program,
    entrypoint: Option<&'a str>,
    args: &'a RawValue,
    skills: Vec<Skill<'a>>,
    blobs: Vec<Blob<'a>>,
    /// The folders of the layers of skills.
    packages: Vec<String>,
    environment: &'a BTreeMap<String, SecretText>,
    seed: u64,
    strict_output: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<&'a CellOrder>,
}

#[derive(Serialize)]
struct Skill<'a> {
    name: &'a SkillName,
    version: &'a SkillVersion,
    entrypoint: Option<&'a Entrypoint>,
    has_bytecode: bool,
}

#[derive(Serialize)]
struct Blob<'a> {
    id: &'a BlobId,
    kind: &'a str,
    size_bytes: ByteCount,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a BlobName>,
}

impl<'a> From<&'a SkillMount> for Skill<'a> {
    fn from(mount: &'a SkillMount) -> Self {
        let SkillMount { name, version, entrypoint, bytecode, .. } = mount;
        let has_bytecode = bytecode.is_some();
        Self { name, version, entrypoint: entrypoint.as_ref(), has_bytecode }
    }
}

impl<'a> From<&'a BlobMount> for Blob<'a> {
    fn from(mount: &'a BlobMount) -> Self {
        let name = mount.name.as_ref();
        Self { id: &mount.id, kind: &mount.kind, size_bytes: mount.size, name }
    }
}

/// The folders of the layers that are not in every run.
fn skill_layers(setup: &Setup) -> Vec<String> {
    let layers = setup.layers.iter().filter(|layer| layer.place == LayerPlace::Skill);
    layers.map(LayerMount::path).collect()
}

/// The job of a turn, whose guest is told of this `cell`. The program sees `run_id` as its own, and `seed`
/// seeds Python's non-cryptographic generators.
///
/// # Errors
///
/// A checked order causes none: the signature is that of the serialiser.
pub(crate) fn job_text(
    (setup, turn): (&Setup, &Turn),
    cell: Option<&CellOrder>,
    (run_id, seed): (&RunId, u64),
) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&GuestJob {
        run_id,
        program: &turn.program,
        entrypoint: turn.entrypoint.as_deref(),
        args: &turn.args,
        skills: setup.skills.iter().map(Skill::from).collect(),
        blobs: setup.blobs.iter().map(Blob::from).collect(),
        packages: skill_layers(setup),
        environment: &setup.environment,
        seed,
        strict_output: turn.strict_output,
        cell,
    })
}
