//! An order to run a program.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use serde_json::value::RawValue;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::{KeepFiles, Program, Setup, Turn};
use wardian_vocabulary::ids::{Digest, RunId, TenantId};

/// The order to run `main` of `source` without arguments, as `image`.
pub(crate) fn order(source: &str, image: Digest) -> Result<(Arc<Setup>, Turn)> {
    let (limits, turn_limits) = RunLimits::DEFAULT.split();
    let setup = Setup {
        tenant: TenantId::local(),
        image,
        skills: Vec::new(),
        layers: Vec::new(),
        blobs: Vec::new(),
        hides_modules: false,
        environment: BTreeMap::new(),
        reproducible: None,
        counts_fuel: turn_limits.fuel.is_some(),
        limits,
    };
    let turn = Turn {
        id: RunId::generate(),
        program: Program::Code { source: source.to_owned(), file_name: "main.py".to_owned() },
        entrypoint: Some("main".to_owned()),
        args: RawValue::from_string("{}".to_owned())?,
        keep_files: KeepFiles::Nothing,
        strict_output: false,
        stream_logs: false,
        profile: None,
        cell: None,
        files: None,
        limits: turn_limits,
    };
    Ok((Arc::new(setup), turn))
}
