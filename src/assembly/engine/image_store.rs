//! The images of an engine on this machine, with those that have imported batteries.

use std::io;
use std::sync::Arc;

use crate::assembly::error::AssemblyError;
use wardian_config::Config;
use wardian_engine::{EngineArtifacts, EngineStore};
use wardian_formats::job::layer::LayerContent;
use wardian_image_builder::{Batteries, ImageStore};
use wardian_skills::packages::layer::LayerKey;
use wardian_skills::packages::{LayerStore, batteries};
use wardian_vocabulary::ids::Digest;

/// The images that are made from `artifacts`, kept in the cache of `engine`.
///
/// # Errors
///
/// The built-in lock of the batteries is malformed.
pub(in crate::assembly) fn image_store(
    config: &Config,
    engine: &EngineStore,
    artifacts: &Arc<EngineArtifacts>,
) -> Result<ImageStore, AssemblyError> {
    let images = ImageStore::new(engine, artifacts);
    let Some(key) = batteries::lock()?.layer() else { return Ok(images) };
    let (layers, library) = (LayerStore::new(&config.cache_dir), artifacts.library.digest());
    Ok(images.with_batteries(Arc::new(CachedBatteries { layers, key, library })))
}

/// The batteries in the cache.
#[derive(Debug)]
struct CachedBatteries {
    layers: LayerStore,
    key: LayerKey,
    /// Names the interpreter that reads their bytecode.
    library: Digest,
}

impl Batteries for CachedBatteries {
    fn digest(&self) -> Digest {
        Digest::of(self.key.to_string().as_bytes())
    }

    fn open(&self) -> io::Result<Option<(LayerContent, Option<LayerContent>)>> {
        let Some(layer) = self.layers.open(self.key).map_err(io::Error::other)? else {
            return Ok(None);
        };
        let (content, library) = (layer.content, self.library);
        let code = self.layers.open_bytecode(content.digest, library).map_err(io::Error::other)?;
        Ok(Some((content, code)))
    }
}
