//! What operators decide about tokens.

use std::path::PathBuf;
use std::time::Duration;

use crate::tenants::jwt::algorithm::TokenAlgorithm;
use crate::tenants::rights::Rights;

/// Most names of a path to a claim.
const MAX_DEPTH: usize = 8;

/// How tokens are verified, and what their claims mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtConfig {
    /// Where the keys of the provider are.
    pub keys: KeyPlace,
    /// The text that the claim `iss` must have.
    pub issuer: String,
    /// The texts of which the claim `aud` must have one.
    pub audiences: Vec<String>,
    /// The claim with the tenant.
    pub tenant_claim: ClaimPath,
    /// The claim with the scopes, if tokens have one.
    pub scopes_claim: Option<ClaimPath>,
    /// What stands before the names of scopes in that claim.
    pub scope_prefix: String,
    /// The rights of a token without that claim.
    pub default_rights: Rights,
    /// The allowed algorithms.
    pub algorithms: Vec<TokenAlgorithm>,
    /// How far the clocks of the provider and of this machine may be apart.
    pub leeway: Duration,
    /// Longest token, in bytes.
    pub max_token: usize,
    /// The highest age of a token, whatever its end is.
    pub max_age: Option<Duration>,
    /// The interval of reading the keys again.
    pub refresh: Duration,
    /// How long keys are trusted that could not be read again.
    pub max_stale: Duration,
    /// Whether keys of `wardian keys` are accepted as well.
    pub accepts_keys: bool,
}

/// Where the public keys of the provider are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// A file.
    File(PathBuf),
    /// An `https` address.
    Url {
        /// The address.
        url: String,
        /// Certificates of authorities that are trusted besides those of the system.
        authorities: Option<PathBuf>,
    },
}

/// The names that lead to a claim, from the outermost object on.
///
/// ```
/// use wardian_stores::tenants::ClaimPath;
///
/// assert_eq!(ClaimPath::parse("tenant").unwrap().names(), ["tenant"]);
/// assert_eq!(ClaimPath::parse("/app/tenant~1id").unwrap().names(), ["app", "tenant/id"]);
/// assert_eq!(ClaimPath::parse("https://acme.example/tenant").unwrap().names().len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPath(Vec<String>);

impl ClaimPath {
    /// Reads a JSON pointer (RFC 6901), which begins with `/`, or a name. `None` for an empty name,
    /// a path of more than eight names, and a pointer with a wrong escape.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let names: Option<Vec<String>> = match text.strip_prefix('/') {
            Some(path) => path.split('/').map(unescaped).collect(),
            None => Some(vec![text.to_owned()]),
        };
        let is_usable = |names: &Vec<String>| {
            names.len() <= MAX_DEPTH && names.iter().all(|name| !name.is_empty())
        };
        names.filter(is_usable).map(Self)
    }

    /// The names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

/// A name of a JSON pointer: `~1` stands for `/`, and `~0` for `~`.
fn unescaped(name: &str) -> Option<String> {
    let mut plain = String::new();
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '~' => match letters.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            letter => letter,
        });
    }
    Some(plain)
}
