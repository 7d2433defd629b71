//! Answers reproducible runs from results that were kept, if their callers ask for that.
//!
//! The key is a digest of everything that decides the run, as its record would name it, of the
//! programs that execute it here, and of its tenant.
//!
//! INVARIANT(whole-key): two runs have one key only if all of their inputs are the same.
//! INVARIANT(lasting-results): a result is kept only if every repetition gives it.

use serde::Serialize;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::record::document::{DocumentOrder, inputs_of};
use crate::run::result::answered::Answered;
use crate::run::result::make_answer::Answers;
use wardian_dispatch::Job;
use wardian_formats::job::outcome::Logs;
use wardian_formats::protocol::methods::execution::{ConvertedValue, RunResult};
use wardian_formats::provenance::canonical::canonical;
use wardian_formats::provenance::{DocumentProgram, MadeBy, RunInputs};
use wardian_stores::blobs::{BlobPin, BlobStore};
use wardian_vocabulary::ids::{BlobId, Digest, RunId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The type of error of a run that needed more memory. The system may have refused it.
const MEMORY_LIMIT: &str = "MemoryLimit";

/// Memory of an item of a list of a result.
const ITEM: usize = 400;

/// The texts that a key is made of, besides the program and the arguments.
const REST: usize = 64 << 10;

/// Everything that decides a result.
#[derive(Serialize)]
struct ResultKey<'a> {
    tenant: &'a TenantId,
    made_by: &'a MadeBy,
    inputs: &'a RunInputs,
}

/// The key of the result of a run; none if its inputs have no canonical form.
fn key_of(tenant: &TenantId, made_by: &MadeBy, mut inputs: RunInputs) -> Option<Digest> {
    // Their digests stay.
    inputs.arguments.text = None;
    if let DocumentProgram::Code { source, .. } = &mut inputs.program {
        source.text = None;
    }
    let key = canonical(&ResultKey { tenant, made_by, inputs: &inputs }).ok()?;
    Some(Digest::of(key.as_bytes()))
}

impl Answers {
    /// The key of a run whose caller takes a kept result, and the end of the run if one is kept.
    pub(crate) async fn kept_for(
        &self,
        caller: &Caller,
        takes_kept: bool,
        job: &Job,
    ) -> Result<(Option<Digest>, Option<Answered>), ServiceError> {
        if !takes_kept {
            return Ok((None, None));
        }
        let key = self.key_of_result(caller, job)?;
        let kept = self.kept_result(caller, key.as_ref(), &job.turn.id).await?;
        Ok((key, kept))
    }

    /// The key of a run that may be answered from a kept result; none without memory to make it.
    fn key_of_result(&self, caller: &Caller, job: &Job) -> Result<Option<Digest>, ServiceError> {
        let texts = job.turn.args.get().len().saturating_add(job.turn.program.text_size());
        let memory = ByteCount::from(texts.saturating_mul(2).saturating_add(REST));
        if caller.memory.reserve(memory).is_err() {
            return Ok(None);
        }
        let inputs = inputs_of(Some(&DocumentOrder::default()), job, &self.toolchain)?;
        Ok(inputs.and_then(|inputs| key_of(&caller.tenant, &self.toolchain.made_by, *inputs)))
    }

    /// The end of a run whose result is kept. A result whose blobs are gone is forgotten.
    async fn kept_result(
        &self,
        caller: &Caller,
        key: Option<&Digest>,
        run_id: &RunId,
    ) -> Result<Option<Answered>, ServiceError> {
        let Some(key) = key else { return Ok(None) };
        let Some(kept) = self.results.find(&caller.tenant, key) else { return Ok(None) };
        let (blobs, tenant) = (std::sync::Arc::clone(&self.blobs), caller.tenant.clone());
        let ids = kept.output_blobs.clone();
        let pinned = match ids.is_empty() {
            true => Some(Vec::new()),
            false => {
                let pinning = async move { pin_all(&*blobs, &tenant, &ids).await };
                caller.memory.on_task(pinning).await.map_err(ServiceError::Interrupted)?
            }
        };
        let Some(_pins) = pinned else {
            self.results.forget(&caller.tenant, key);
            return Ok(None);
        };
        let (run_id, result) = (run_id.clone(), (*kept).clone());
        let result = RunResult { run_id, cached: true, duration_ms: 0, ..result };
        Ok(Some(Answered {
            result,
            logs: Logs::default(),
            output_blob: None,
            document: None,
            unrepeatable: None,
            profile: None,
            server_calls: Vec::new(),
        }))
    }

    /// Keeps the result of a run with this key, if every repetition gives it.
    pub(crate) fn keep_result(&self, caller: &Caller, key: Option<Digest>, performed: &Answered) {
        let Some(key) = key else { return };
        let result = &performed.result;
        let error = result.error.as_ref().map(|error| error.error_type.as_str());
        if performed.unrepeatable.is_none() && error != Some(MEMORY_LIMIT) {
            self.results.keep(&caller.tenant, key, result.clone(), size_of(result));
        }
    }
}

async fn pin_all(blobs: &dyn BlobStore, tenant: &TenantId, ids: &[BlobId]) -> Option<Vec<BlobPin>> {
    let mut pins = Vec::with_capacity(ids.len());
    for id in ids {
        pins.push(blobs.pin(tenant, id).await.ok()?);
    }
    Some(pins)
}

/// The memory of a result.
fn size_of(result: &RunResult) -> ByteCount {
    let text = |text: Option<&str>| text.map_or(0, str::len);
    let error = result.error.as_ref();
    let texts = [
        text(result.output.as_ref().map(|output| output.get())),
        text(error.map(|error| error.message.as_str())),
        text(error.and_then(|error| error.traceback.as_deref())),
        result.summary.len(),
        result.logs_preview.len(),
        text(result.stdout.as_deref()),
        text(result.stderr.as_deref()),
        result.files.iter().map(|file| file.path.len()).sum(),
        result.converted.iter().map(ConvertedValue::text_size).sum(),
    ];
    let lists = [result.output_blobs.len(), result.files.len(), result.converted.len()];
    let items = lists.iter().fold(0_usize, |sum, length| sum.saturating_add(*length));
    let size = texts.iter().fold(items.saturating_mul(ITEM), |sum, size| sum.saturating_add(*size));
    ByteCount::from(size.saturating_add(ITEM))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use wardian_formats::job::{FuelRules, KeepBounds, KeepFiles, LayerPlace, ScriptCall};
    use wardian_formats::provenance::{
        DocumentBlob, DocumentLayer, DocumentLimits, DocumentSkill, DocumentText, EngineIdentity,
    };
    use wardian_vocabulary::ids::{BlobName, SkillName, SkillVersion, WorkspacePath};

    fn digest(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    fn inputs() -> RunInputs {
        let engine =
            EngineIdentity { module: digest("module"), transform: 1, library: digest("library") };
        RunInputs {
            engine,
            image: digest("image"),
            program: code("main.py", "1"),
            entrypoint: None,
            arguments: DocumentText::of("{}"),
            skills: vec![skill("acme.a", "1.0.0", "a"), skill("acme.b", "1.0.0", "b")],
            layers: vec![layer("x", LayerPlace::Batteries), layer("y", LayerPlace::Skill)],
            blobs: vec![blob("one"), blob("two")],
            keep_files: KeepFiles::default(),
            strict_output: false,
            limits: DocumentLimits {
                fuel: Some(1_000),
                memory_bytes: 1,
                workspace_bytes: 2,
                workspace_entries: 3,
                open_files: 4,
                logs_bytes: 5,
                host_calls: 6,
                host_bytes: 7,
            },
            seed: 0,
            epoch: 1,
            fuel_rules: FuelRules::PRESENT,
            network: None,
            tools: None,
        }
    }

    fn code(file_name: &str, source: &str) -> DocumentProgram {
        DocumentProgram::Code { file_name: file_name.into(), source: DocumentText::of(source) }
    }

    fn skill_program() -> DocumentProgram {
        DocumentProgram::Skill { name: SkillName::parse("acme.a").unwrap(), script: None }
    }

    fn skill(name: &str, version: &str, content: &str) -> DocumentSkill {
        DocumentSkill {
            name: SkillName::parse(name).unwrap(),
            version: SkillVersion::parse(version).unwrap(),
            digest: digest(content),
        }
    }

    fn layer(content: &str, place: LayerPlace) -> DocumentLayer {
        DocumentLayer { digest: digest(content), place }
    }

    fn blob(content: &str) -> DocumentBlob {
        let id = BlobId::of_digest(&digest(content));
        let (kind, other_names, paths) = ("text/plain".into(), Vec::new(), Vec::new());
        DocumentBlob { id, kind, size_bytes: 3, name: None, other_names, paths }
    }

    #[test]
    fn the_call_of_a_script_is_a_part_of_the_key() {
        let key = |change: fn(&mut ScriptCall)| {
            let mut script = ScriptCall::of_path("a.py".to_owned());
            change(&mut script);
            let name = SkillName::parse("acme.a").unwrap();
            let program = DocumentProgram::Skill { name, script: Some(Box::new(script)) };
            let made_by = MadeBy { wardian: "1".into(), wasmtime: "2".into() };
            key_of(&TenantId::local(), &made_by, RunInputs { program, ..inputs() }).unwrap()
        };
        let keys = [
            key(|_| ()),
            key(|script| script.path = "b.py".to_owned()),
            key(|script| script.argv = vec![String::new()]),
            key(|script| script.stdin = Some(String::new())),
            key(|script| drop(script.env.insert("A".to_owned(), String::new()))),
        ];
        let different: BTreeSet<_> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(different.len(), keys.len());
    }

    /// Each ingredient alone makes another key.
    #[test]
    fn whole_key() {
        let changes: [fn(&mut RunInputs); 43] = [
            |i| i.fuel_rules = FuelRules::FIRST,
            |i| i.engine.module = digest("other"),
            |i| i.engine.transform = 2,
            |i| i.engine.library = digest("other"),
            |i| i.image = digest("other"),
            |i| i.program = code("main.py", "2"),
            |i| i.program = code("other.py", "1"),
            |i| i.program = skill_program(),
            |i| i.entrypoint = Some(String::new()),
            |i| i.entrypoint = Some("main".into()),
            |i| i.arguments = DocumentText::of("{ }"),
            |i| i.arguments = DocumentText::of("{\"a\":1}"),
            |i| i.skills[0].digest = digest("other"),
            |i| i.skills[0].version = SkillVersion::parse("1.0.1").unwrap(),
            |i| i.skills[0].name = SkillName::parse("acme.c").unwrap(),
            |i| i.skills.swap(0, 1),
            |i| drop(i.skills.pop()),
            |i| i.layers[1].digest = digest("other"),
            |i| i.layers[1].place = LayerPlace::Batteries,
            |i| i.layers.swap(0, 1),
            |i| i.layers.truncate(1),
            |i| i.blobs[0] = blob("other"),
            |i| i.blobs[0].kind = "text/csv".into(),
            |i| i.blobs.swap(0, 1),
            |i| drop(i.blobs.pop()),
            |i| i.blobs[0].name = Some(BlobName::parse("a.csv").unwrap()),
            |i| i.blobs[0].other_names = vec![BlobName::parse("a.csv").unwrap()],
            |i| i.blobs[0].paths = vec![WorkspacePath::parse("a.csv").unwrap()],
            |i| i.keep_files = KeepFiles::Usual(KeepBounds::NONE),
            |i| i.keep_files = KeepFiles::All,
            |i| i.strict_output = true,
            |i| i.keep_files = KeepFiles::Matching(vec!["*".into()]),
            |i| i.limits.fuel = None,
            |i| i.limits.fuel = Some(1_001),
            |i| i.limits.memory_bytes = 9,
            |i| i.limits.workspace_bytes = 9,
            |i| i.limits.workspace_entries = 9,
            |i| i.limits.open_files = 9,
            |i| i.limits.logs_bytes = 9,
            |i| i.limits.host_calls = 9,
            |i| i.limits.host_bytes = 9,
            |i| i.seed = 1,
            |i| i.epoch = 2,
        ];
        let made_by = MadeBy { wardian: "1".into(), wasmtime: "2".into() };
        let [acme, other] = ["acme", "other"].map(|id| TenantId::parse(id).unwrap());
        let key = |inputs: RunInputs| key_of(&acme, &made_by, inputs).unwrap();
        let mut keys = BTreeSet::from([key(inputs())]);
        for (number, change) in changes.iter().enumerate() {
            let mut changed = inputs();
            change(&mut changed);
            assert!(keys.insert(key(changed)), "change {number} has the key of another one");
        }
        assert!(keys.insert(key_of(&other, &made_by, inputs()).unwrap()));
        for (wardian, wasmtime) in [("2", "2"), ("1", "3"), ("12", "")] {
            let made_by = MadeBy { wardian: wardian.into(), wasmtime: wasmtime.into() };
            assert!(keys.insert(key_of(&acme, &made_by, inputs()).unwrap()));
        }
        assert_eq!(key(inputs()), key(inputs()));
    }
}
