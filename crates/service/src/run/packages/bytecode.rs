//! Compiles the Python of skills once, so that runs load bytecode instead of compiling.
//!
//! INVARIANT(own-bytecode): the bytecode of a skill is used for the snapshot that it was made from
//! and no other; that of a tenant's own skill, in runs of this tenant and no other. The compiling run sees nothing but the skill. So hostile source can at most make
//! the bytecode differ from that source.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::caller::{Caller, sole_tenant};
use crate::run::execute::host::OutputRoom;
use crate::run::packages::compiler::Compiler;
use crate::run::prepare::compiled::NotCompiled;
use crate::run::prepare::mounted_skill::{MountedSkill, is_python, most_bytecode};
use crate::run::prepare::plan::Planned;
use crate::run::prepare::purpose::RunPurpose;
use crate::run::result::log_line::RunLog;
use wardian_dispatch::{CheckedPayload, FinishedRun, GuestSpec, Job, RunHost, SkillContent};
use wardian_formats::job::attachment::{Owner, PackedFile};
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::Refusal;
use wardian_formats::job::{Program, Setup, SkillMount, Turn};
use wardian_vocabulary::ids::{BlobId, Digest};
use wardian_vocabulary::units::ByteCount;

/// The program that compiles.
const COMPILER: &str = "from _wardian import bytecode\n\n\ndef main(name):\n    \
    return bytecode.compile_skill(name)\n";

/// The time limit for compiling one skill.
pub(crate) const COMPILE_TIMEOUT: Duration = Duration::from_secs(10);

/// The compiler's arguments.
#[derive(Serialize)]
struct Arguments<'a> {
    name: &'a str,
}

impl Compiler {
    /// Adds the bytecode of its skills to the plan. Skills without bytecode are compiled now.
    pub(crate) async fn with_bytecode(&self, caller: &Caller, mut plan: Planned) -> Planned {
        for skill in &mut plan.skills {
            // Without bytecode the run compiles the code itself.
            let compile = || self.compile_skill(caller, skill);
            let bytecode = skill.compiled.get_or_compile(Instant::now(), compile).await;
            skill.mount.bytecode = bytecode.as_ref().map(|content| content.digest());
            skill.bytecode = bytecode;
        }
        plan
    }

    async fn compile_skill(
        &self,
        caller: &Caller,
        skill: &MountedSkill,
    ) -> Result<Option<Arc<SkillContent>>, NotCompiled> {
        let is_code = |file: &PackedFile| is_python(&file.path);
        if skill.mount.entrypoint.is_none() || !skill.content.files().iter().any(is_code) {
            return Ok(None);
        }
        let job = self.compilation(skill);
        let mut log = RunLog::open(&job.turn.id, &job.guest.setup.tenant, RunPurpose::Compilation);
        let mut host = NoBlobs(OutputRoom::of_call(caller.memory.clone()));
        // A tenant's own skill is compiled where its runs are: no run of others may follow it there.
        // A shared one is compiled for all, so no tenant pays for it, and none that is at its limits
        // delays it.
        let finished = match skill.content.owner() {
            Owner::Shared => self.pool.run_own(&job, &mut host).await?,
            Owner::Tenant(_) => self.pool.run(&job, &mut host).await?,
        };
        log.note(&finished);
        let FinishedRun { outcome, output, .. } = finished;
        let name = &skill.mount.name;
        if let Err(failure) = outcome.end {
            let reason = failure.error_type();
            warn!(skill.name = %name, "the code of skill `{name}` was not compiled ({reason}); \
                this is retried later");
            return Err(NotCompiled::Failed);
        }
        let (content, permit) = (Arc::clone(&skill.content), host.0.into_permit());
        let read = move || {
            let output = output.and_then(|output| output.into_bytes().ok()).unwrap_or_default();
            let packed = packed(&content, &output);
            packed.iter().for_each(|content| content.share_ahead());
            drop(permit);
            packed
        };
        let bytecode = caller.memory.on_thread(read).await.map_err(|_panic| NotCompiled::Failed)?;
        if bytecode.is_none() {
            warn!(skill.name = %name, "the compiled code of skill `{name}` cannot be kept");
        }
        Ok(bytecode)
    }

    /// The run that compiles the code of a skill, in the name of its owner.
    fn compilation(&self, skill: &MountedSkill) -> Job {
        let (tenant, image) = match skill.content.owner() {
            Owner::Shared => (sole_tenant(), self.images.shared.base()),
            Owner::Tenant(tenant) => (tenant.clone(), self.images.of(tenant).base()),
        };
        let arguments = Arguments { name: skill.mount.name.as_str() };
        let default = self.limits.default;
        let limits =
            RunLimits { wall_time: COMPILE_TIMEOUT.min(default.wall_time), fuel: None, ..default };
        let (limits, turn_limits) = limits.split();
        let setup = Setup {
            tenant,
            image: image.digest(),
            skills: vec![SkillMount { bytecode: None, ..skill.mount.clone() }],
            layers: Vec::new(),
            blobs: Vec::new(),
            hides_modules: false,
            environment: BTreeMap::new(),
            reproducible: None,
            counts_fuel: false,
            limits,
        };
        let (source, file_name) = (COMPILER.to_owned(), "compiler.py".to_owned());
        let args = serde_json::value::to_raw_value(&arguments).unwrap_or_default();
        let turn = Turn {
            entrypoint: Some("main".to_owned()),
            strict_output: true,
            ..Turn::new(Program::Code { source, file_name }, args, turn_limits)
        };
        let (setup, skills) = (Box::new(setup), vec![Arc::clone(&skill.content)]);
        let guest = GuestSpec { setup, image, skills, layers: Vec::new(), blobs: Vec::new() };
        Job { guest, turn: Box::new(turn) }
    }
}

/// Packs the bytecode that the compiler returned. Returns `None` if any of it belongs to no file
/// of the skill.
fn packed(skill: &SkillContent, output: &[u8]) -> Option<Arc<SkillContent>> {
    let known: HashSet<&str> = skill.files().iter().map(|file| file.path.as_str()).collect();
    let Packed { files, pack } = read_packed(known, output)?;
    if pack.len() > most_bytecode(skill.pack().len()) {
        return None;
    }
    // The digest covers the skill's own digest as well, so equal bytecode of two skills makes two
    // attachments.
    let digest = Digest::of(&[skill.digest().to_string().as_bytes(), &pack].concat());
    Some(Arc::new(SkillContent::new(skill.owner().clone(), digest, files, pack.into())))
}

/// Reads what a compiler returned. Returns `None` if any of it belongs to no file in `known`.
pub(crate) fn read_packed(known: HashSet<&str>, output: &[u8]) -> Option<Packed> {
    let mut text = serde_json::Deserializer::from_slice(output);
    let mut packed = PackedVisitor { known }.deserialize(&mut text).ok()?;
    text.end().ok()?;
    packed.files.sort_by(|one, other| one.path.cmp(&other.path));
    Some(packed)
}

/// Bytecode files, concatenated.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    pub files: Vec<PackedFile>,
    pub pack: Vec<u8>,
}

/// Reads an object of paths and base64. Stops at the first member that is not a file of the skill,
/// because a guest wrote the object and could have written any number of members.
struct PackedVisitor<'a> {
    known: HashSet<&'a str>,
}

impl<'de> DeserializeSeed<'de> for PackedVisitor<'_> {
    type Value = Packed;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Packed, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PackedVisitor<'_> {
    type Value = Packed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of paths and base64")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Packed, A::Error> {
        let mut packed = Packed::default();
        while let Some(Text(path)) = map.next_key()? {
            if !self.known.remove(path.as_ref()) || !is_python(&path) {
                return Err(A::Error::custom("not a file of the skill, or not for the first time"));
            }
            let Text(code) = map.next_value()?;
            let code = BASE64.decode(code.as_bytes()).map_err(A::Error::custom)?;
            let length = |bytes: usize| u64::try_from(bytes).map_err(A::Error::custom);
            let (offset, size) = (length(packed.pack.len())?, length(code.len())?);
            packed.files.push(PackedFile { path: path.into_owned(), offset, size });
            packed.pack.extend(code);
        }
        Ok(packed)
    }
}

/// A string, borrowed unless it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The host of a compiling run, which stores no blobs.
pub(crate) struct NoBlobs(pub(crate) OutputRoom);

impl RunHost for NoBlobs {
    async fn write_blob(
        &mut self,
        _kind: &str,
        _content: CheckedPayload,
    ) -> Result<BlobId, Refusal> {
        let message = "a run that compiles a skill cannot store blobs".to_owned();
        Err(Refusal { error_type: "PolicyDenied".to_owned(), message })
    }

    async fn make_room(&mut self, output: ByteCount) {
        self.0.make(output).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill() -> SkillContent {
        let file = |path: &str| PackedFile { path: path.to_owned(), offset: 0, size: 0 };
        let files = vec![file("code/main.py"), file("SKILL.md")];
        SkillContent::new(Owner::Shared, Digest::of(b"skill"), files, Arc::from([]))
    }

    #[test]
    fn own_bytecode_is_that_of_the_skills_own_files() {
        let packed = |output: &str| packed(&skill(), output.as_bytes());
        let good = packed(r#"{"code/main.py": "AAEC"}"#).unwrap();
        assert_eq!((good.pack(), good.files().len()), ([0, 1, 2].as_slice(), 1));
        assert_ne!(good.digest(), skill().digest());
        let acme = Owner::Tenant(wardian_vocabulary::ids::TenantId::parse("acme").unwrap());
        let own =
            SkillContent::new(acme.clone(), good.digest(), skill().files().to_vec(), Arc::from([]));
        let own = super::packed(&own, br#"{"code/main.py": "AAEC"}"#).unwrap();
        assert_eq!((own.owner(), good.owner()), (&acme, &Owner::Shared));
        for hostile in [
            r#"{"code/other.py": "AAEC"}"#,
            r#"{"../main.py": "AAEC"}"#,
            r#"{"SKILL.md": "AAEC"}"#,
            r#"{"code/main.py": "no base64"}"#,
            r#"{"code/main.py": 7}"#,
            r#"{"code/main.py": "AAEC", "code/main.py": "AAEC"}"#,
            r#"{"code/main.py": "AAEC"} {}"#,
            "",
            "[]",
            "null",
        ] {
            assert!(packed(hostile).is_none(), "{hostile}");
        }
    }
}
