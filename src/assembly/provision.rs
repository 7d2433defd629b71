//! Background work of a server: makes missing images, and compiles the metered code when a call
//! first needs it.

use std::error::Error;
use std::sync::Arc;

use tokio::task::{JoinHandle, spawn_blocking};
use tracing::{info, warn};

use crate::assembly::engine_files::EngineFiles;
use crate::assembly::error::{AssemblyError, ProvisionError};
use crate::config::Config;
use crate::dispatch::Pool;
use crate::engine::progress::Silent;
use crate::error::CauseChain;
use crate::images::{ImageMaker, PackageSet};
use crate::service::Metering;

/// Makes images and metered code in a child process. Compiling takes 2 GB of memory and making an
/// image some hundred MB, most of which the process that does it never releases.
pub trait Provision: Send + Sync + 'static {
    /// Makes the image for `packages` in the cache.
    ///
    /// # Errors
    ///
    /// The reason why the image could not be made, for the log.
    fn image(&self, packages: PackageSet) -> Result<(), ProvisionError>;

    /// Compiles the metered code into the cache.
    ///
    /// # Errors
    ///
    /// The reason why it could not be compiled, for the log.
    fn metered_code(&self) -> Result<(), ProvisionError>;
}

/// Adapts [`Provision`] to the image cache.
pub(super) struct ImagesOf(pub(super) Arc<dyn Provision>);

impl ImageMaker for ImagesOf {
    fn make(&self, packages: PackageSet) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.image(packages)
    }
}

/// Compiles the metered code when a call first needs it, and replaces the workers.
pub(super) fn compile_when_asked(
    config: &Config,
    files: &Arc<EngineFiles>,
    pool: &Arc<Pool>,
    metering: &Arc<Metering>,
    provision: Arc<dyn Provision>,
) -> JoinHandle<()> {
    let (files, pool, metering) = (Arc::clone(files), Arc::clone(pool), Arc::clone(metering));
    let config = config.clone();
    tokio::spawn(async move {
        metering.asked().await;
        info!("a call sets a fuel limit: compiling the code that counts fuel in the background");
        match provide(config, files, &pool, provision).await {
            Ok(()) => {
                metering.succeeded();
                info!("fuel can be counted now");
            }
            Err(error) => {
                metering.failed();
                warn!("fuel cannot be counted: {}", CauseChain(&*error));
            }
        }
    })
}

async fn provide(
    config: Config,
    files: Arc<EngineFiles>,
    pool: &Pool,
    provision: Arc<dyn Provision>,
) -> Result<(), ProvisionError> {
    let compiled = spawn_blocking(move || -> Result<_, ProvisionError> {
        provision.metered_code()?;
        files.add_metered(&Silent)?;
        Ok(files.command(&config)?)
    });
    let command = compiled.await??;
    pool.replace_workers(command).await.map_err(AssemblyError::Workers)?;
    Ok(())
}
