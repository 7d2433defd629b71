//! What a call asks for, as it waits in the database: the call as its client made it, who made it, and what the
//! server that took it has found for it. Values of secrets are looked up by the server that executes it.

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::prepare::plan::Planned;
use wardian_formats::job::ScriptCall;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::protocol::methods::execution::{ExecuteSkillParams, RunCodeParams};
use wardian_stores::tenants::{CallerCredential, KeyPrefix, Rights, TokenStamp};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{Digest, SkillName, SkillVersion, TenantId};

/// A call that executes something, with its parameters as the client gave them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OrderedCall {
    /// `execute_skill`, and the script that it executes, taken out of its parameters.
    ExecuteSkill(Box<ExecuteSkillParams>, Option<Box<ScriptCall>>),
    /// `run_code`.
    RunCode(Box<RunCodeParams>),
}

/// An order, before it is sealed and after it was opened.
#[derive(Serialize, Deserialize)]
pub(super) struct RunOrder<C = OrderedCall> {
    pub(super) call: C,
    pub(super) caller: OrderedCaller,
    /// The skills that the server which took the call has found.
    pub(super) skills: Vec<OrderedSkill>,
    /// The engine of that server, if the run is reproducible: another one may leave another document.
    pub(super) engine: Option<Digest>,
}

/// What an order asks for.
pub(super) struct OrderedRun {
    pub(super) call: OrderedCall,
    /// The skills that the run must have.
    pub(super) skills: Vec<OrderedSkill>,
    /// The engine that it must have, if it is reproducible.
    pub(super) engine: Option<Digest>,
}

/// A skill of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OrderedSkill {
    name: SkillName,
    version: SkillVersion,
    digest: Digest,
}

/// Who has made a call.
#[derive(Serialize, Deserialize)]
pub(super) struct OrderedCaller {
    rights: Vec<String>,
    credential: Option<OrderedCredential>,
    address: Option<IpAddr>,
    limits: Option<RunLimits>,
    request_id: String,
}

/// What is known of a credential. None of it is secret.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OrderedCredential {
    Key(String),
    Token { name: String, signer: Digest, ends: Duration },
}

impl RunOrder {
    /// Who has made the call, and the rest of the order.
    pub(super) fn split(self) -> (OrderedCaller, OrderedRun) {
        let Self { call, caller, skills, engine } = self;
        (caller, OrderedRun { call, skills, engine })
    }
}

impl OrderedCall {
    /// The call as text.
    pub(super) fn text(&self) -> Result<Box<RawValue>, ServiceError> {
        serde_json::value::to_raw_value(self).map_err(ServiceError::Unserialisable)
    }

    /// The same call with these skills in place of the newest versions.
    pub(super) fn pinned_to(mut self, skills: &[OrderedSkill]) -> Self {
        if let (Self::ExecuteSkill(params, _), Some(skill)) = (&mut self, skills.first()) {
            params.version = Some(skill.version.to_string());
        }
        self
    }
}

impl OrderedSkill {
    /// The skills of a plan, in its order.
    pub(super) fn all_of(plan: &Planned) -> Vec<Self> {
        let skills = plan.skills.iter().map(|skill| Self {
            name: skill.mount.name.clone(),
            version: skill.mount.version.clone(),
            digest: skill.mount.digest,
        });
        skills.collect()
    }
}

impl OrderedCaller {
    /// The caller as it waits.
    pub(super) fn of(caller: &Caller) -> Self {
        let credential = caller.credential.as_ref().map(|credential| match credential {
            CallerCredential::Key(prefix) => OrderedCredential::Key(prefix.to_string()),
            CallerCredential::Token(TokenStamp { name, signer, ends }) => {
                OrderedCredential::Token { name: name.to_string(), signer: *signer, ends: *ends }
            }
        });
        Self {
            rights: caller.rights.names().into_iter().map(str::to_owned).collect(),
            credential,
            address: caller.address,
            limits: caller.limits,
            request_id: caller.request_id.clone(),
        }
    }

    /// The caller again. `None` if a right or a key has a form that this version does not know.
    pub(super) fn into_caller(self, tenant: TenantId, memory: CallMemory) -> Option<Caller> {
        let Self { rights, credential, address, limits, request_id } = self;
        let credential = match credential {
            None => None,
            Some(OrderedCredential::Key(prefix)) => {
                Some(CallerCredential::Key(KeyPrefix::parse(&prefix).ok()?))
            }
            Some(OrderedCredential::Token { name, signer, ends }) => {
                Some(CallerCredential::Token(TokenStamp { name: name.into(), signer, ends }))
            }
        };
        let rights = match rights.is_empty() {
            true => Rights::NONE,
            false => Rights::parse(&rights.join(",")).ok()?,
        };
        let caller = Caller::known_by(request_id, memory);
        Some(Caller { tenant, rights, credential, address, limits, ..caller })
    }
}
