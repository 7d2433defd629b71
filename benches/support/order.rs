//! An order to run a program.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::value::RawValue;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::{KeepFiles, Program, RunSpec};
use wardian_vocabulary::ids::{Digest, RunId, TenantId};

/// The order to run `main` of `source` without arguments, as `image`.
pub(crate) fn order(source: &str, image: Digest) -> Result<RunSpec> {
    Ok(RunSpec {
        run_id: RunId::generate(),
        tenant: TenantId::local(),
        program: Program::Code { source: source.to_owned(), file_name: "main.py".to_owned() },
        entrypoint: Some("main".to_owned()),
        args: RawValue::from_string("{}".to_owned())?,
        skills: Vec::new(),
        blobs: Vec::new(),
        layers: Vec::new(),
        image,
        environment: BTreeMap::new(),
        strict_output: false,
        stream_logs: false,
        reproducible: None,
        profile: None,
        keep_files: KeepFiles::Nothing,
        limits: RunLimits::DEFAULT,
    })
}
