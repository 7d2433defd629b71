//! The network of a run: answers the requests of its guest through [`Egress`], under the rules that
//! the run is granted.
//!
//! INVARIANT(own-grant): a run has the network of its own program and of nothing that it mounts. A
//! skill that is executed has that of its manifest. Code that came with a call has what the
//! operator grants to such code: its author could otherwise mount any skill to reach that skill's
//! hosts, with content of its own choice.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::run::access::secrets::RunSecrets;
use wardian_egress::Egress;
use wardian_egress::error::{NetworkError, errno};
use wardian_egress::guest::pipe::StreamRead;
use wardian_egress::meter::{HostSummary, NetworkSummary};
use wardian_egress::network::{ClosedPart, ConnectionHandle, RunNetwork, StreamReadiness};
use wardian_egress::policy::RunPolicy;
use wardian_egress::recorded::Recording;
use wardian_egress::rewrite::RequestRewriter;
use wardian_egress::scripted::NetworkScript;
use wardian_formats::job::network::{NetworkReply, NetworkRequest, PIECE_MAX, Wish};
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_stores::audit::{AuditEvent, AuditKind, AuditLog};
use wardian_stores::records::{NetworkUse, RecordedHost};
use wardian_stores::secrets::mask::Masks;
use wardian_telemetry::RunTraffic;
use wardian_vocabulary::ids::{RunId, TenantId};

/// Length of a list of hosts, in bytes, beyond which a log line names no further host.
const HOSTS_SHOWN: usize = 1_000;

/// The limit of a wait that the guest gave none. The run's deadline ends it sooner.
const FAR: Duration = Duration::from_hours(24);

/// The message to a reproducible run for each request.
const REPRODUCIBLE_HAS_NONE: &str = "a reproducible run has no network access, because network \
    responses do not repeat: run it without `reproducible`";

/// The network that runs may get.
#[derive(Debug, Clone)]
pub struct NetworkAccess {
    egress: Egress,
    code: Vec<UrlPattern>,
}

/// The rules that a run is granted.
#[derive(Debug, Clone)]
pub enum NetworkGrant {
    /// Those of the manifest of the skill that is executed.
    Manifest(Vec<UrlPattern>),
    /// Those of a manifest, and a recording in place of the world.
    Recorded(Vec<UrlPattern>, Arc<Recording>),
    /// Those of the operator for code that came with a call.
    Operator,
    /// No network: network replies cannot be reproduced.
    Reproducible,
    /// Those of a manifest, or those of the operator, for a reproducible run that records what it
    /// exchanges with the world or is answered from such a record.
    Scripted(Option<Vec<UrlPattern>>, Arc<NetworkScript>),
}

impl NetworkAccess {
    /// The network of `egress`; code that came with a call may reach what `code` names.
    #[must_use]
    pub const fn new(egress: Egress, code: Vec<UrlPattern>) -> Self {
        Self { egress, code }
    }

    /// The network of one run of `tenant`.
    pub fn open(
        &self,
        tenant: &TenantId,
        grant: NetworkGrant,
        secrets: &RunSecrets,
    ) -> GuestNetwork {
        let brokered = |policy: RunPolicy| match &secrets.broker {
            Some(broker) => policy.rewritten_by(Arc::clone(broker) as Arc<dyn RequestRewriter>),
            None => policy,
        };
        let is_reproducible = matches!(grant, NetworkGrant::Reproducible);
        let scripted = |policy: RunPolicy, count: usize, script: Arc<NetworkScript>| {
            let rules = match &*script {
                NetworkScript::Records(recorder) => {
                    recorder.note_grant(count > 0);
                    count
                }
                NetworkScript::Replays(player) => usize::from(player.granted()),
            };
            (self.egress.open_scripted(tenant, policy, script), rules)
        };
        let (network, rules) = match grant {
            NetworkGrant::Manifest(patterns) => {
                let count = patterns.len();
                (self.egress.open(tenant, brokered(RunPolicy::of_manifest(patterns))), count)
            }
            NetworkGrant::Recorded(patterns, recording) => {
                let count = patterns.len();
                let policy = RunPolicy::of_manifest(patterns);
                (self.egress.open_recorded(tenant, policy, recording), count)
            }
            NetworkGrant::Operator => {
                let policy = RunPolicy::of_operator(self.code.clone());
                (self.egress.open(tenant, policy), self.code.len())
            }
            NetworkGrant::Scripted(Some(patterns), script) => {
                let count = patterns.len();
                scripted(RunPolicy::of_manifest(patterns), count, script)
            }
            NetworkGrant::Scripted(None, script) => {
                scripted(RunPolicy::of_operator(self.code.clone()), self.code.len(), script)
            }
            NetworkGrant::Reproducible => {
                (self.egress.open(tenant, RunPolicy::of_manifest(Vec::new())), 0)
            }
        };
        let masks = secrets.masks.clone();
        GuestNetwork { network, has_rules: rules > 0, is_reproducible, masks }
    }
}

impl NetworkGrant {
    /// The same rules, recorded or replayed.
    pub(crate) fn scripted(self, script: Arc<NetworkScript>) -> Self {
        match self {
            Self::Manifest(rules) | Self::Recorded(rules, _) => Self::Scripted(Some(rules), script),
            Self::Scripted(rules, _) => Self::Scripted(rules, script),
            Self::Operator | Self::Reproducible => Self::Scripted(None, script),
        }
    }

    /// None if the run is reproducible, but for a recording, which repeats its answers.
    pub(crate) fn of_reproducible(self) -> Self {
        match self {
            Self::Recorded(..) | Self::Scripted(..) => self,
            Self::Manifest(_) | Self::Operator | Self::Reproducible => Self::Reproducible,
        }
    }

    /// The same rules, and a recording in place of the world. Rules of the operator stay: they are
    /// for programs that no test brings along.
    pub(crate) fn with_recording(self, recording: Arc<Recording>) -> Self {
        match self {
            Self::Manifest(rules) | Self::Recorded(rules, _) => Self::Recorded(rules, recording),
            Self::Operator | Self::Reproducible | Self::Scripted(..) => self,
        }
    }
}

/// The network of one run.
#[derive(Debug)]
pub struct GuestNetwork {
    network: RunNetwork,
    /// False if nothing is granted: then the guest itself says what to do about it.
    has_rules: bool,
    is_reproducible: bool,
    /// What is redacted in names of hosts.
    masks: Option<Arc<Masks>>,
}

impl GuestNetwork {
    /// Answers a request of a guest.
    ///
    /// Cancellation: a wait ends at once.
    pub async fn answer(&self, request: NetworkRequest<'_>) -> NetworkReply {
        if self.is_reproducible {
            let text = REPRODUCIBLE_HAS_NONE.to_owned();
            return NetworkReply::Failed {
                errno: u16::try_from(errno::EACCES).unwrap_or_default(),
                text,
            };
        }
        let answered = self.answered(request).await;
        self.network.settle().await;
        match answered {
            Ok(reply) => reply,
            Err(error) if error.errno() == errno::EACCES && !self.has_rules => {
                NetworkReply::no_network()
            }
            Err(error) => NetworkReply::Failed {
                errno: u16::try_from(error.errno()).unwrap_or_default(),
                text: error.text().to_owned(),
            },
        }
    }

    async fn answered(&self, request: NetworkRequest<'_>) -> Result<NetworkReply, NetworkError> {
        // Look-ups and connections continue and are refused, so that the log of the run names them.
        if !self.has_rules && !request.is_counted() {
            return Ok(NetworkReply::no_network());
        }
        Ok(match request {
            NetworkRequest::Resolve { name } => {
                if self.network.resolve(name).await? {
                    NetworkReply::Done
                } else {
                    no_such_host()
                }
            }
            NetworkRequest::Start { port, name } => {
                let ConnectionHandle(number) = self.network.start(name, port)?;
                NetworkReply::Number(number)
            }
            NetworkRequest::Poll { timeout, wishes } => {
                let asked: Vec<_> = wishes.iter().map(asked_for).collect();
                let ready = self.network.poll(&asked, Some(timeout.unwrap_or(FAR))).await?;
                NetworkReply::Ready(masks(&wishes, &ready))
            }
            NetworkRequest::Read { handle, max, timeout } => {
                let (handle, max) = (ConnectionHandle(handle), max.min(PIECE_MAX));
                match self.network.read(handle, max, Some(timeout.unwrap_or(FAR))).await? {
                    StreamRead::Bytes(bytes) => NetworkReply::Bytes(bytes),
                    StreamRead::Nothing => NetworkReply::Nothing,
                    StreamRead::End => NetworkReply::End,
                }
            }
            NetworkRequest::Write { handle, bytes } => {
                let taken = self.network.write(ConnectionHandle(handle), bytes)?;
                NetworkReply::Number(u32::try_from(taken).unwrap_or(u32::MAX))
            }
            NetworkRequest::Close { handle, is_half } => {
                let closing = if is_half { ClosedPart::Writing } else { ClosedPart::Everything };
                self.network.close(ConnectionHandle(handle), closing)?;
                NetworkReply::Done
            }
        })
    }

    /// What the run has moved so far.
    pub(crate) fn traffic(&self) -> RunTraffic {
        let summary = self.network.summary();
        RunTraffic {
            requests: summary.requests,
            refusals: summary.refusals,
            sent: summary.sent_bytes,
            received: summary.received_bytes,
        }
    }

    /// The hosts that the run called or was refused, for its log line; none if it did neither.
    pub fn hosts(&self) -> Option<String> {
        let mut hosts = hosts_of(&self.network.summary());
        if let (Some(hosts), Some(masks)) = (&mut hosts, &self.masks) {
            masks.cover_text(hosts);
        }
        hosts
    }
}

impl GuestNetwork {
    /// What the run did in the network, for its record; none if it did nothing there.
    pub fn used(&self) -> Option<NetworkUse> {
        let NetworkSummary { connections, requests, sent_bytes, received_bytes, refusals, hosts } =
            self.network.summary();
        if hosts.is_empty() && connections == 0 && requests == 0 {
            return None;
        }
        let recorded = |host: HostSummary| RecordedHost {
            host: self.covered(host.host),
            requests: host.requests,
            sent_bytes: host.sent_bytes,
            received_bytes: host.received_bytes,
            refusals: host.refusals,
        };
        let hosts = hosts.into_iter().map(recorded).collect();
        Some(NetworkUse { connections, requests, sent_bytes, received_bytes, refusals, hosts })
    }

    /// Notes the hosts that the run was refused.
    pub(crate) fn report_refusals(&self, audit: &AuditLog, tenant: &TenantId, run: &RunId) {
        for host in self.network.summary().hosts.into_iter().filter(|host| host.refusals > 0) {
            let name = self.covered(host.host);
            audit.note(&AuditEvent {
                tenant: Some(tenant.as_str()),
                run_id: Some(run.as_str()),
                ..AuditEvent::new(AuditKind::HostDenied).about(&name)
            });
        }
    }

    fn covered(&self, mut name: String) -> String {
        if let Some(masks) = &self.masks {
            masks.cover_text(&mut name);
        }
        name
    }
}

fn hosts_of(summary: &NetworkSummary) -> Option<String> {
    let mut text = String::new();
    for host in &summary.hosts {
        if text.len() > HOSTS_SHOWN {
            text.push_str(", ...");
            break;
        }
        let between = if text.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        write!(text, "{between}{}: {}", host.host, host.requests).ok();
        if host.refusals > 0 {
            write!(text, " (refused {})", host.refusals).ok();
        }
    }
    (!text.is_empty()).then_some(text)
}

fn no_such_host() -> NetworkReply {
    const ENOENT: u16 = 2;
    NetworkReply::Failed { errno: ENOENT, text: "there is no such host".to_owned() }
}

fn asked_for(wish: &Wish) -> (ConnectionHandle, StreamReadiness) {
    let readiness = StreamReadiness {
        is_readable: wish.mask & Wish::READ != 0,
        is_writable: wish.mask & Wish::WRITE != 0,
        has_failed: false,
    };
    (ConnectionHandle(wish.handle), readiness)
}

/// One mask for each wish. A connection that failed is ready for all that it was asked for, so that
/// the next call of the guest says how.
fn masks(wishes: &[Wish], ready: &[(ConnectionHandle, StreamReadiness)]) -> Vec<u8> {
    let mask = |wish: &Wish| {
        let found = ready.iter().filter(|(handle, _)| *handle == ConnectionHandle(wish.handle));
        found.fold(0, |mask, (_, state)| {
            let failed = if state.has_failed { wish.mask } else { 0 };
            let read = if state.is_readable { Wish::READ } else { 0 };
            let write = if state.is_writable { Wish::WRITE } else { 0 };
            mask | failed | (wish.mask & (read | write))
        })
    };
    wishes.iter().map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_egress::meter::HostSummary;

    #[test]
    fn readiness_is_told_for_each_wish_in_its_order() {
        let wish = |handle, mask| Wish { handle, mask };
        let wishes = [wish(1, 1), wish(2, 3), wish(3, 2), wish(4, 1)];
        let failed = StreamReadiness { has_failed: true, ..StreamReadiness::default() };
        let ready = [
            (ConnectionHandle(2), StreamReadiness::BOTH),
            (ConnectionHandle(3), failed),
            (ConnectionHandle(4), StreamReadiness::WRITE),
        ];
        assert_eq!(masks(&wishes, &ready), [0, 3, 2, 0]);
    }

    #[test]
    fn the_log_names_hosts_and_no_more_than_fit() {
        let host = |host: String, requests, refusals| HostSummary {
            host,
            requests,
            sent_bytes: 1,
            received_bytes: 1,
            refusals,
        };
        let hosts = vec![host("a.example".into(), 3, 0), host("b.example".into(), 0, 2)];
        let summary = NetworkSummary { hosts, ..NetworkSummary::default() };
        assert_eq!(hosts_of(&summary).unwrap(), "a.example: 3, b.example: 0 (refused 2)");
        assert_eq!(hosts_of(&NetworkSummary::default()), None);
        let hosts = (0..65).map(|at| host(format!("{at}.{}", "a".repeat(240)), 1, 0)).collect();
        let summary = NetworkSummary { hosts, ..NetworkSummary::default() };
        assert!(hosts_of(&summary).unwrap().len() < 2 * HOSTS_SHOWN);
    }
}
