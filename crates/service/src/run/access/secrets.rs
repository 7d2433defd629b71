//! The secrets of a run: looked up before it begins, and handed out as its manifest says.
//!
//! INVARIANT(declared-only): a run has the secrets that the manifest of the executed skill names,
//! and no others. Code that came with a call has none, whatever it mounts. A tenant's own skill has the
//! secrets of the tenant and none of the server.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::Arc;

use tracing::warn;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::access::secret_injection::{Broker, Brokered};
use wardian_egress::rewrite::REWRITING_MEMORY;
use wardian_formats::skill::manifest::Manifest;
use wardian_formats::skill::manifest::secret_hosts::SecretHosts;
use wardian_stores::secrets::mask::Masks;
use wardian_stores::secrets::placeholder::{self, PlaceholderError};
use wardian_stores::secrets::{SecretScope, Secrets, SecretsError};
use wardian_vocabulary::budget::BudgetExhausted;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::secret_text::SecretText;
use wardian_vocabulary::units::ByteCount;

/// The secrets that runs may get.
#[derive(Debug)]
pub struct SecretAccess {
    secrets: Secrets,
    /// Secrets that no skill gets as values, whatever its manifest says.
    hosts: SecretHosts,
}

impl SecretAccess {
    /// The values of `secrets`; those that `hosts` names are brokered for every skill.
    #[must_use]
    pub const fn new(secrets: Secrets, hosts: SecretHosts) -> Self {
        Self { secrets, hosts }
    }

    /// Looks the secrets of a run up. A run without secrets costs nothing here.
    pub(crate) async fn prepare(
        self: &Arc<Self>,
        caller: &Caller,
        declared: Option<DeclaredSecrets>,
    ) -> Result<RunSecrets, ServiceError> {
        let Some(declared) = declared else { return Ok(RunSecrets::default()) };
        if declared.sort == ValueSort::StandIn {
            let names = declared.names.into_iter();
            let stand_ins = names.map(|name| (name.clone(), format!("stand-in-for-{name}").into()));
            return Ok(RunSecrets { environment: stand_ins.collect(), ..RunSecrets::default() });
        }
        let (access, memory) = (Arc::clone(self), caller.memory.clone());
        let (skill, tenant) = (declared.skill.clone(), caller.tenant.clone());
        let prepared = caller.memory.on_thread(move || {
            let scope = scope_of(&tenant, declared.is_own);
            let values = access.secrets.find_all(scope, &declared.names)?;
            let sizes = values.values().map(|value| value.expose().len());
            // One set of masks for what the run leaves, one for responses.
            let masks = Masks::memory_for(sizes).saturating_mul(2);
            let lists = [&declared.hosts, &access.hosts];
            let rewrites = declared.names.iter().any(|name| {
                lists.iter().filter_map(|hosts| hosts.of(name)).any(|hosts| hosts.in_body)
            });
            let bodies = if rewrites { REWRITING_MEMORY } else { 0 };
            memory.reserve(ByteCount::from(masks.saturating_add(bodies)))?;
            Ok(prepared(values, &declared.hosts, &access.hosts)?)
        });
        prepared.await.map_err(ServiceError::Interrupted)?.map_err(|unprepared| {
            let cause = match unprepared {
                Unprepared::Memory(exhausted) => return ServiceError::Memory(exhausted),
                Unprepared::Secrets(cause) => cause,
            };
            if cause.source().is_some() {
                // The operator reads which file or command failed; the caller does not.
                warn!("the secrets of skill `{skill}` are not available: {}", CauseChain(&cause));
            }
            ServiceError::Secrets { skill, cause }
        })
    }
}

/// Tenant `local` uses the server's secrets. A tenant's own skill uses only the tenant's.
fn scope_of(tenant: &TenantId, is_own: bool) -> SecretScope<'_> {
    match is_own {
        true => SecretScope::TenantAlone(tenant),
        false if *tenant == TenantId::local() => SecretScope::Server,
        false => SecretScope::Tenant(tenant),
    }
}

/// The secrets that a skill declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredSecrets {
    /// The skill, for messages.
    skill: String,
    names: Vec<String>,
    hosts: SecretHosts,
    sort: ValueSort,
    /// True for a skill of a tenant's own folders.
    is_own: bool,
}

/// Where the values of declared secrets come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueSort {
    /// From the providers.
    Provided,
    /// From the names: the run is a test, and no host gets them.
    StandIn,
}

impl DeclaredSecrets {
    /// Those of a manifest; none if it declares none.
    pub(crate) fn of(manifest: &Manifest, is_own: bool) -> Option<Self> {
        let permissions = &manifest.permissions;
        let names: Vec<String> =
            permissions.secret_names().into_iter().map(str::to_owned).collect();
        let (skill, hosts) = (manifest.name.to_string(), permissions.secret_hosts.clone());
        let sort = ValueSort::Provided;
        (!names.is_empty()).then_some(Self { skill, names, hosts, sort, is_own })
    }

    /// The same names, each with a text that stands in for the value: for tests of skills, which
    /// must run without the operator's keys and must not send them.
    pub(crate) fn with_stand_ins(self) -> Self {
        Self { sort: ValueSort::StandIn, ..self }
    }
}

/// The secrets of one run.
#[derive(Debug, Default)]
pub struct RunSecrets {
    /// The variables that the guest gets: values, and placeholders.
    pub environment: BTreeMap<String, SecretText>,
    pub(crate) broker: Option<Arc<Broker>>,
    /// What is redacted in all that the run leaves behind.
    pub(crate) masks: Option<Arc<Masks>>,
}

/// Why a run has no secrets.
#[derive(Debug, thiserror::Error)]
enum Unprepared {
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error(transparent)]
    Memory(#[from] BudgetExhausted),
}

fn prepared(
    values: BTreeMap<String, SecretText>,
    declared: &SecretHosts,
    operators: &SecretHosts,
) -> Result<RunSecrets, SecretsError> {
    let too_much = |_too_large| SecretsError::TooMuch;
    let masks = Masks::hiding(values.values().map(SecretText::expose)).map_err(too_much)?;
    let (mut environment, mut brokered) = (BTreeMap::new(), Vec::new());
    for (name, value) in values {
        let lists = [declared, operators].map(|hosts| hosts.of(&name).cloned());
        let hosts: Vec<_> = lists.into_iter().flatten().collect();
        if hosts.is_empty() {
            environment.insert(name, value);
            continue;
        }
        let placeholder =
            placeholder::draw(value.expose()).map_err(|error| not_brokered(&name, &error))?;
        environment.insert(name, SecretText::from(placeholder.clone()));
        brokered.push(Brokered { placeholder, value, hosts });
    }
    let pairs = brokered.iter().map(|one| (one.value.expose(), one.placeholder.as_str()));
    let broker = match brokered.is_empty() {
        true => None,
        false => {
            let back = Arc::new(Masks::exchanging(pairs).map_err(too_much)?);
            Some(Arc::new(Broker::new(brokered, back)))
        }
    };
    Ok(RunSecrets { environment, broker, masks: Some(Arc::new(masks)) })
}

fn not_brokered(name: &str, error: &PlaceholderError) -> SecretsError {
    let fault = match error {
        PlaceholderError::Form => "it must be one line of visible ASCII characters",
        PlaceholderError::Short => "it must have at least 8 letters and digits after its prefix",
        PlaceholderError::Random(_) => "the system provides no random bytes",
    };
    SecretsError::NotBrokered { name: name.to_owned(), fault }
}
