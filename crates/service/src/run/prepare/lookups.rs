//! What a run needs beside its skills and blobs: code that counts fuel, layers, an image.

use std::sync::Arc;
use std::time::Duration;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::parts::Service;
use crate::run::packages::layers::RunLayers;
use crate::run::prepare::plan::Planned;
use crate::run::prepare::purpose::Bytecode;
use wardian_formats::job::image::ImageContent;

/// The longest time that a reproducible run waits for its image, which is made in seconds, and for
/// the batteries, which are fetched in seconds.
const PATIENCE: Duration = Duration::from_secs(30);

impl Service {
    /// The plan with bytecode, if it is to have some, and with code that counts fuel if it needs it.
    pub(crate) async fn with_code(
        &self,
        caller: &Caller,
        planned: Planned,
    ) -> Result<Planned, ServiceError> {
        let planned = match planned.bytecode() {
            Bytecode::Compiled => self.with_bytecode(caller, planned).await,
            Bytecode::AsItIs | Bytecode::Never => planned,
        };
        if planned.limits.fuel.is_some() {
            self.metering.ensure()?;
        }
        Ok(planned)
    }

    /// The layers of a run, with the bytecode that it may use. A reproducible run waits for the
    /// batteries, which all of them have.
    pub(crate) async fn layers_for(
        &self,
        caller: &Caller,
        planned: &Planned,
    ) -> Result<RunLayers, ServiceError> {
        if planned.reproducible.is_some() {
            self.packages.await_batteries(PATIENCE).await?;
        }
        let mut layers = self.layers_of(caller, &planned.skills).await?;
        match planned.bytecode() {
            Bytecode::Never => layers.mounts.iter_mut().for_each(|layer| layer.bytecode = None),
            Bytecode::Compiled => self.compile_beside(&layers.used),
            Bytecode::AsItIs => {}
        }
        Ok(layers)
    }

    /// The image that the run begins as. A reproducible run waits for its own, which has to be the
    /// same each time.
    pub(crate) async fn image_for(
        &self,
        caller: &Caller,
        planned: &Planned,
    ) -> Result<Arc<ImageContent>, ServiceError> {
        if planned.reproducible.is_some() {
            return Ok(self.images.reproducible_within(PATIENCE).await?);
        }
        let images = self.images_of(&caller.tenant);
        Ok(images.pick(planned.packages(), planned.limits.memory))
    }
}
