//! Names that a run looked up: each is looked up once and checked once.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::NetworkError;
use crate::meter::Meter;
use crate::policy::target::HostName;
use crate::world::dial::Dialer;

/// How long an answer is used.
const LIFETIME: Duration = Duration::from_secs(60);

/// Names that are kept.
const MAX_NAMES: usize = 64;

/// Checked addresses of names.
#[derive(Debug, Default)]
pub(crate) struct KnownNames(Mutex<Answers>);

/// Answers by name, each with the time at which it was given.
#[derive(Debug, Default)]
struct Answers(BTreeMap<HostName, (Instant, Vec<IpAddr>)>);

impl Answers {
    fn find(&self, host: &HostName, now: Instant) -> Option<&Vec<IpAddr>> {
        let (given, addresses) = self.0.get(host)?;
        is_fresh(*given, now).then_some(addresses)
    }

    /// Keeps an answer. If there are too many, those that are too old make room for it.
    fn keep(&mut self, host: &HostName, addresses: &[IpAddr], now: Instant) {
        if self.0.len() >= MAX_NAMES {
            self.0.retain(|_, (given, _)| is_fresh(*given, now));
        }
        if self.0.len() < MAX_NAMES {
            self.0.insert(host.clone(), (now, addresses.to_vec()));
        }
    }
}

fn is_fresh(given: Instant, now: Instant) -> bool {
    now.saturating_duration_since(given) < LIFETIME
}

impl KnownNames {
    /// The checked addresses of `host`.
    pub(crate) async fn resolve(
        &self,
        dialer: &Dialer,
        meter: &Meter,
        host: &HostName,
    ) -> Result<Vec<IpAddr>, NetworkError> {
        if let Some(known) = self.0.lock().find(host, Instant::now()) {
            return Ok(known.clone());
        }
        meter.add_lookup()?;
        let found = dialer.resolve(meter.tenant(), host, meter.limits().connect_timeout).await?;
        self.0.lock().keep(host, &found, Instant::now());
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_answers_make_room_for_new_ones() {
        let name = |number: usize| HostName::parse(&format!("host{number}.example.com")).unwrap();
        let address: IpAddr = "93.184.216.34".parse().unwrap();
        let (mut answers, start) = (Answers::default(), Instant::now());
        for number in 0..MAX_NAMES {
            answers.keep(&name(number), &[address], start);
        }
        answers.keep(&name(MAX_NAMES), &[address], start);
        assert_eq!(
            answers.find(&name(MAX_NAMES), start),
            None,
            "more names than there is room for"
        );

        let later = start + LIFETIME;
        assert_eq!(answers.find(&name(0), later), None, "an answer was used for too long");
        for number in [0, MAX_NAMES] {
            answers.keep(&name(number), &[address], later);
            assert_eq!(answers.find(&name(number), later), Some(&vec![address]));
        }
        assert_eq!(answers.0.len(), 2);
    }
}
