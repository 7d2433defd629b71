//! Background work of a server: makes missing images, and compiles the metered code when a call
//! first needs it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::sleep;
use tracing::{info, warn};

use crate::assembly::engine::files::EngineFiles;
use crate::assembly::engine::{MeteredCode, install_engine, install_images_with_batteries};
use crate::assembly::error::{AssemblyError, ProvisionError};
use wardian_config::Config;
use wardian_dispatch::Pool;
use wardian_engine::progress::{Progress, Silent};
use wardian_images::{ImageMaker, PackageSet};
use wardian_service::{Metering, PackageAccess, Service};
use wardian_vocabulary::error::CauseChain;

/// Time that the first calls of a new server have for themselves.
const BATTERIES_DELAY: Duration = Duration::from_secs(3);

/// Makes images and metered code in a child process. Compiling takes 2 GB of memory and making an
/// image some hundred MB, most of which the process that does it never releases.
pub trait Provision: Send + Sync + 'static {
    /// Makes the image for `packages` in the cache.
    ///
    /// # Errors
    ///
    /// The reason why the image could not be made, for the log.
    fn image(&self, packages: PackageSet) -> Result<(), ProvisionError>;

    /// Fetches and compiles the batteries.
    ///
    /// # Errors
    ///
    /// The reason why they could not be fetched, for the log.
    fn batteries(&self) -> Result<(), ProvisionError>;

    /// Compiles the metered code into the cache.
    ///
    /// # Errors
    ///
    /// The reason why it could not be compiled, for the log.
    fn metered_code(&self) -> Result<(), ProvisionError>;
}

/// Adapts [`Provision`] to the image cache.
#[derive(Clone)]
pub(super) struct ImagesOf {
    pub(super) provision: Arc<dyn Provision>,
    /// Held while an image is made: one at a time.
    pub(super) turn: Arc<Mutex<()>>,
}

impl ImageMaker for ImagesOf {
    fn make(&self, packages: PackageSet) -> Result<(), Box<dyn Error + Send + Sync>> {
        let _turn = self.turn.lock();
        self.provision.image(packages)
    }
}

/// Makes images in this process.
pub(super) struct ImagesHere {
    pub(super) config: Config,
    pub(super) progress: Box<dyn Progress>,
}

impl ImageMaker for ImagesHere {
    fn make(&self, packages: PackageSet) -> Result<(), Box<dyn Error + Send + Sync>> {
        let Self { config, progress } = self;
        install_engine(config, MeteredCode::IfThere, &[packages], progress.as_ref())?;
        Ok(install_images_with_batteries(config, &[packages], progress.as_ref())?)
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

/// Fetches the batteries if they are missing, and compiles them if they were not. The start of a
/// server does not wait for either.
pub(super) fn provide_batteries(
    service: &Arc<Service>,
    packages: &Arc<PackageAccess>,
    provision: Arc<dyn Provision>,
) -> JoinHandle<()> {
    let (service, packages) = (Arc::clone(service), Arc::clone(packages));
    packages.set_batteries_on_their_way(true);
    tokio::spawn(async move {
        sleep(BATTERIES_DELAY).await;
        let access = Arc::clone(&packages);
        let fetched = spawn_blocking(move || -> Result<bool, ProvisionError> {
            if packages.open_batteries()? {
                return Ok(true);
            }
            provision.batteries()?;
            Ok(packages.open_batteries()?)
        });
        let ended = fetched.await;
        access.set_batteries_on_their_way(false);
        match ended {
            Ok(Ok(true)) => service.compile_batteries_beside(),
            Ok(Ok(false)) => {
                warn!("runs have no batteries: `wardian engine install` fetches them");
            }
            Ok(Err(error)) => warn!(
                "runs have no batteries, because they could not be fetched: {}; `wardian engine \
                install` tries again",
                CauseChain(&*error)
            ),
            // The server stops.
            Err(_interrupted) => {}
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
