//! Names that a run looked up: each is looked up once and checked once.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::egress::error::NetworkError;
use crate::egress::meter::Meter;
use crate::egress::policy::target::HostName;
use crate::egress::world::dial::Dialer;

/// How long an answer is used.
const LIFETIME: Duration = Duration::from_secs(60);

/// Names that are kept.
const MAX_NAMES: usize = 64;

/// Checked addresses of names.
#[derive(Debug, Default)]
pub(crate) struct KnownNames(Mutex<BTreeMap<HostName, (Instant, Vec<IpAddr>)>>);

impl KnownNames {
    /// The checked addresses of `host`.
    pub(crate) async fn resolve(
        &self,
        dialer: &Dialer,
        meter: &Meter,
        host: &HostName,
    ) -> Result<Vec<IpAddr>, NetworkError> {
        if let Some((when, known)) = self.0.lock().get(host)
            && when.elapsed() < LIFETIME
        {
            return Ok(known.clone());
        }
        meter.add_lookup()?;
        let found = dialer.resolve(host, meter.limits().connect_timeout).await?;
        let mut names = self.0.lock();
        if names.len() < MAX_NAMES {
            names.insert(host.clone(), (Instant::now(), found.clone()));
        }
        Ok(found)
    }
}
