//! The checks of a token's claims (RFC 7519), after its signature was checked.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::tenants::jwt::config::{ClaimPath, JwtConfig};
use crate::tenants::jwt::fault::TokenFault;
use crate::tenants::jwt::members::{members, read};
use crate::tenants::rights::{Right, Rights};
use wardian_vocabulary::ids::TenantId;

/// The last moment that a claim may name, in seconds: the end of the year 9999. A later one is a
/// mistake, such as a number of milliseconds.
const LAST: f64 = 253_402_300_799.0;

/// Most letters of a subject that are kept.
const MAX_SUBJECT: usize = 255;

/// What the claims of a token say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckedClaims {
    pub tenant: TenantId,
    pub rights: Rights,
    /// `token:` and the subject.
    pub name: Arc<str>,
    /// The first moment at which the token is valid no more.
    pub ends: Duration,
}

impl CheckedClaims {
    /// Checks the claims in `payload` at the time `now`.
    pub(super) fn check(
        payload: &str,
        config: &JwtConfig,
        now: Duration,
    ) -> Result<Self, TokenFault> {
        let tenant_path = config.tenant_claim.names();
        let scopes_path = config.scopes_claim.as_ref().map_or(&[][..], ClaimPath::names);
        let mut wanted = vec!["iss", "aud", "exp", "nbf", "iat", "sub"];
        wanted.extend([tenant_path, scopes_path].map(|names| names.first().map_or("", |s| s)));
        let found = members(payload, &wanted).map_err(|_no_object| TokenFault::Claims)?;
        let mut found = found.into_iter();
        let mut next = || found.next().flatten();
        check_issuer(next(), &config.issuer)?;
        check_audience(next(), &config.audiences)?;
        let times = Times { expires: time(next())?, begins: time(next())?, issued: time(next())? };
        let ends = times.check(config, now)?;
        let subject: Option<String> = next().map(read).transpose().map_err(malformed)?;
        let tenant = inner(next(), tenant_path)?.ok_or(TokenFault::MissingClaim)?;
        let tenant = read::<String>(tenant).map_err(|_no_text| TokenFault::Tenant)?;
        let tenant = TenantId::parse(&tenant).map_err(|_invalid| TokenFault::Tenant)?;
        // That of the server itself is given by the operator, with keys.
        if tenant == TenantId::local() {
            return Err(TokenFault::Tenant);
        }
        let scopes = if scopes_path.is_empty() { None } else { inner(next(), scopes_path)? };
        let rights = match scopes {
            Some(scopes) => rights_of(scopes, &config.scope_prefix)?,
            None => config.default_rights,
        };
        let name = subject.map_or_else(
            || "token".to_owned(),
            |subject| format!("token:{}", subject.chars().take(MAX_SUBJECT).collect::<String>()),
        );
        Ok(Self { tenant, rights, name: name.into(), ends })
    }
}

fn malformed<E>(_wrong: E) -> TokenFault {
    TokenFault::MalformedClaim
}

fn check_issuer(claim: Option<&RawValue>, issuer: &str) -> Result<(), TokenFault> {
    let found: String = read(claim.ok_or(TokenFault::MissingClaim)?).map_err(malformed)?;
    if found == issuer { Ok(()) } else { Err(TokenFault::Issuer) }
}

fn check_audience(claim: Option<&RawValue>, audiences: &[String]) -> Result<(), TokenFault> {
    let found = texts(claim.ok_or(TokenFault::MissingClaim)?)?;
    let is_ours = found.iter().any(|audience| audiences.contains(audience));
    if is_ours { Ok(()) } else { Err(TokenFault::Audience) }
}

/// One text, or a list of texts.
fn texts(value: &RawValue) -> Result<Vec<String>, TokenFault> {
    match value.get().as_bytes().first() {
        Some(b'"') => read(value).map(|text| vec![text]).map_err(malformed),
        _ => read(value).map_err(malformed),
    }
}

/// A moment in seconds since the Unix epoch, whole or not.
fn time(claim: Option<&RawValue>) -> Result<Option<Duration>, TokenFault> {
    let Some(claim) = claim else { return Ok(None) };
    let seconds: f64 = read(claim).map_err(malformed)?;
    if !(0.0..=LAST).contains(&seconds) {
        return Err(TokenFault::MalformedClaim);
    }
    Duration::try_from_secs_f64(seconds).map(Some).map_err(malformed)
}

/// The times of a token.
struct Times {
    expires: Option<Duration>,
    begins: Option<Duration>,
    issued: Option<Duration>,
}

impl Times {
    /// Returns the first moment at which the token is valid no more.
    fn check(&self, config: &JwtConfig, now: Duration) -> Result<Duration, TokenFault> {
        let later = now.saturating_add(config.leeway);
        let expires = self.expires.ok_or(TokenFault::MissingClaim)?;
        let mut ends = expires.saturating_add(config.leeway);
        if now >= ends {
            return Err(TokenFault::Expired);
        }
        if self.begins.is_some_and(|begins| begins > later) {
            return Err(TokenFault::NotYetValid);
        }
        if self.issued.is_some_and(|issued| issued > later) {
            return Err(TokenFault::IssuedInFuture);
        }
        if let Some(max_age) = config.max_age {
            let issued = self.issued.ok_or(TokenFault::MissingClaim)?;
            let too_old = issued.saturating_add(max_age).saturating_add(config.leeway);
            if now >= too_old {
                return Err(TokenFault::TooOld);
            }
            ends = ends.min(too_old);
        }
        Ok(ends)
    }
}

/// Follows a path from the value of its first name on. `None` if a name does not exist.
fn inner<'a>(
    first: Option<&'a RawValue>,
    path: &[String],
) -> Result<Option<&'a RawValue>, TokenFault> {
    let mut value = first;
    for name in path.iter().skip(1) {
        let Some(object) = value else { return Ok(None) };
        let found = members(object.get(), &[name.as_str()]).map_err(malformed)?;
        value = found.into_iter().next().flatten();
    }
    Ok(value)
}

/// The rights that a text of scopes with spaces between them, or a list, names. Words that are no
/// scope of ours are those of other services.
fn rights_of(scopes: &RawValue, prefix: &str) -> Result<Rights, TokenFault> {
    let mut rights = Rights::NONE;
    let texts = texts(scopes)?;
    for word in texts.iter().flat_map(|text| text.split(' ')) {
        let name = word.strip_prefix(prefix);
        let right = Right::ALL.into_iter().find(|right| Some(right.name()) == name);
        rights = right.map_or(rights, |right| rights.with(right));
    }
    Ok(rights)
}
