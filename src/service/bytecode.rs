//! Compiles the Python of skills once, so that runs only load what the compiler made of it.
//!
//! INVARIANT(own-bytecode): what a skill's code was compiled to is used for that very snapshot
//! alone. It is made by a run that sees nothing but the skill, so whoever wrote the skill could
//! at most make it something else than what the skill's source says.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE64;
use serde::Serialize;
use tokio::sync::OnceCell;
use tracing::{debug, warn};

use crate::dispatch::{self, DispatchError, Finished, Job, Received, SkillContent};
use crate::error::CauseChain;
use crate::ids::{BlobId, Digest, RunId};
use crate::job::limits::RunLimits;
use crate::job::message::{PackedFile, Refusal};
use crate::job::{KeepFiles, Program, RunSpec, SkillMount};
use crate::service::run::{MountedSkill, Plan};
use crate::service::{Caller, Service};

/// The program that compiles.
const COMPILER: &str = "from _wardian import bytecode\n\n\ndef main(name):\n    \
    return bytecode.compile_skill(name)\n";

/// How long the code of one skill may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a skill's code was compiled to; `None` inside if it cannot be.
pub(super) type Compiled = Arc<OnceCell<Option<Arc<SkillContent>>>>;

/// The compiler's arguments.
#[derive(Serialize)]
struct Arguments<'a> {
    name: &'a str,
}

impl Service {
    /// The plan with the bytecode of its skills, compiled now where that was not done before.
    pub(super) async fn with_bytecode(&self, caller: &Caller, mut plan: Plan) -> Plan {
        for skill in &mut plan.skills {
            let compiled = skill.compiled.get_or_try_init(|| self.compile(caller, skill)).await;
            match compiled.cloned() {
                Ok(bytecode) => {
                    skill.mount.bytecode = bytecode.as_ref().map(|content| content.digest());
                    skill.bytecode = bytecode;
                }
                // The run itself will meet the same obstacle, or do without.
                Err(error) => debug!("a skill was not compiled: {}", CauseChain(&error)),
            }
        }
        plan
    }

    async fn compile(
        &self,
        caller: &Caller,
        skill: &MountedSkill,
    ) -> Result<Option<Arc<SkillContent>>, DispatchError> {
        let is_code = |file: &PackedFile| is_python(&file.path);
        if skill.mount.entrypoint.is_none() || !skill.content.files().iter().any(is_code) {
            return Ok(None);
        }
        let job = self.compilation(caller, skill);
        let finished = self.pool.run(&job, &mut NoBlobs).await?;
        let bytecode = packed(&skill.content, &finished);
        if bytecode.is_none() {
            let name = &skill.mount.name;
            warn!(skill.name = %name, "the code of skill `{name}` cannot be kept compiled");
        }
        Ok(bytecode)
    }

    /// The run that compiles the code of a skill.
    fn compilation(&self, caller: &Caller, skill: &MountedSkill) -> Job {
        let image = Arc::clone(self.images.base());
        let arguments = Arguments { name: skill.mount.name.as_str() };
        let default = self.limits.default;
        let limits =
            RunLimits { wall_time: PATIENCE.min(default.wall_time), fuel: None, ..default };
        let spec = RunSpec {
            run_id: RunId::generate(),
            tenant: caller.tenant.clone(),
            program: Program::Code {
                source: COMPILER.to_owned(),
                file_name: "compiler.py".to_owned(),
            },
            entrypoint: Some("main".to_owned()),
            args: serde_json::value::to_raw_value(&arguments).unwrap_or_default(),
            skills: vec![SkillMount { bytecode: None, ..skill.mount.clone() }],
            blobs: Vec::new(),
            image: image.digest(),
            environment: BTreeMap::new(),
            keep_files: KeepFiles::Nothing,
            limits,
        };
        let skills = vec![Arc::clone(&skill.content)];
        Job { spec: Box::new(spec), image, skills, blobs: Vec::new() }
    }
}

/// Packs what the compiler returned, as far as it belongs to files of the skill.
fn packed(skill: &SkillContent, finished: &Finished) -> Option<Arc<SkillContent>> {
    let output = finished.output.as_ref().filter(|_| finished.outcome.end.is_ok())?;
    let compiled: BTreeMap<String, String> = serde_json::from_slice(output).ok()?;
    let known: HashSet<&str> = skill.files().iter().map(|file| file.path.as_str()).collect();
    let (mut files, mut pack) = (Vec::new(), Vec::new());
    for (path, code) in compiled {
        if !known.contains(path.as_str()) || !is_python(&path) {
            return None;
        }
        let code = BASE64.decode(code.as_bytes()).ok()?;
        let (offset, size) = (u64::try_from(pack.len()).ok()?, u64::try_from(code.len()).ok()?);
        files.push(PackedFile { path, offset, size });
        pack.extend(code);
    }
    // The source stays part of the name: equal code of two skills is two attachments.
    let digest = Digest::of(&[skill.digest().to_string().as_bytes(), &pack].concat());
    Some(Arc::new(SkillContent::new(digest, files, pack.into())))
}

pub(super) fn is_python(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "py")
}

/// A compiler has nothing to store.
struct NoBlobs;

impl dispatch::Door for NoBlobs {
    async fn write_blob(&mut self, _kind: &str, _content: Received) -> Result<BlobId, Refusal> {
        let message = "there are no blobs here".to_owned();
        Err(Refusal { error_type: "PolicyDenied".to_owned(), message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::outcome::{LeftFiles, Logs, RunFailure, RunOutcome, RunUsage};

    fn skill() -> SkillContent {
        let file = |path: &str| PackedFile { path: path.to_owned(), offset: 0, size: 0 };
        let files = vec![file("code/main.py"), file("SKILL.md")];
        SkillContent::new(Digest::of(b"skill"), files, Arc::from([]))
    }

    fn finished(output: &str, end: Result<(), RunFailure>) -> Finished {
        let outcome = RunOutcome {
            end,
            logs: Logs::default(),
            files: LeftFiles::default(),
            usage: RunUsage::default(),
        };
        let output = Some(output.as_bytes().to_vec());
        Finished { outcome, output, queued: Duration::ZERO }
    }

    #[test]
    fn own_bytecode_is_that_of_the_skills_own_files() {
        let packed = |output: &str| packed(&skill(), &finished(output, Ok(())));
        let good = packed(r#"{"code/main.py": "AAEC"}"#).unwrap();
        assert_eq!((good.pack(), good.files().len()), ([0, 1, 2].as_slice(), 1));
        assert_ne!(good.digest(), skill().digest());
        for hostile in [
            r#"{"code/other.py": "AAEC"}"#,
            r#"{"../main.py": "AAEC"}"#,
            r#"{"SKILL.md": "AAEC"}"#,
            r#"{"code/main.py": "no base64"}"#,
            r#"{"code/main.py": 7}"#,
            "[]",
            "null",
        ] {
            assert!(packed(hostile).is_none(), "{hostile}");
        }
    }

    #[test]
    fn a_compiler_that_failed_has_made_nothing() {
        let failed = finished("{}", Err(RunFailure::Cancelled));
        assert!(packed(&skill(), &failed).is_none());
    }
}
