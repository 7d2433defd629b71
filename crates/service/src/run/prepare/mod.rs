//! What a run needs, looked up before it waits for a worker.

pub(crate) mod blob_names;
pub(crate) mod call_form;
pub(crate) mod compiled;
pub(crate) mod input_blobs;
pub(crate) mod label;
pub(crate) mod limits;
pub(crate) mod metering;
pub(crate) mod mounted_skill;
pub(crate) mod plan;
pub(crate) mod purpose;
pub(crate) mod run_images;
pub(crate) mod supplies;
