//! Sources as the options of a command let them be reached. What was fetched once is kept for the command.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use zeroize::Zeroizing;

use crate::cli::commands::skills::skills_lock::{LockedOrigin, LockedSkill};
use crate::cli::commands::skills::sources::args::ReachArgs;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;
use wardian_config::{Config, secret_variables};
use wardian_sources::{
    Fetched, NPM_REGISTRY, Publication, STORE_VARIABLES, SkillPackage, SkillSource, SourceError,
    SourceKind, StoreSettings, UrlCredentials, Web, WebOptions, WebUrl,
};
use wardian_vocabulary::files::regular_file::open_regular;
use wardian_vocabulary::ids::SkillName;

/// Largest file with a token.
const MAX_TOKEN: u64 = 64 << 10;

/// The network for sources, and the registry for packages.
#[derive(Debug)]
pub(in crate::cli::commands::skills) struct Reach {
    web: Web,
    registry: WebUrl,
    /// Those in the URL of `--npm-registry`.
    registry_credentials: Option<UrlCredentials>,
    has_own_registry: bool,
    /// The user's token, until it is known whose it is.
    token: Option<UrlCredentials>,
    /// Whether an option names its file.
    is_token_named: bool,
    kept: Vec<(SourceOrder, Fetched)>,
}

/// What is asked of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli::commands::skills) struct SourceOrder {
    pub(in crate::cli::commands::skills) source: SkillSource,
    /// The revision that is wanted, whatever the reference means now; empty for what it means.
    pub(in crate::cli::commands::skills) pinned: String,
    /// The registry of the package, if it was another one. Of an object store that a lock names, its address; empty for
    /// that of AWS.
    pub(in crate::cli::commands::skills) registry: Option<String>,
}

impl Reach {
    /// Sets the network up. `token` is the one of the environment.
    pub(in crate::cli::commands::skills) fn open(
        config: &Config,
        args: &ReachArgs,
        token: Option<&str>,
    ) -> Result<Self, Failed> {
        let token = match &args.token_file {
            Some(path) => Some(read_token(path)?),
            None => token.map(|token| Zeroizing::new(token.to_owned())),
        };
        let token = token.map(|token| UrlCredentials::of_token(&token));
        if token.as_ref().is_some_and(|token| !token.is_sendable()) {
            return Err(Failed::usage("the token is empty, or has characters that cannot be sent"));
        }
        let options = WebOptions { allows_private: args.allow_private };
        let stores = StoreSettings::new(secret_variables(&STORE_VARIABLES));
        let stores = stores.with_credentials_file().map_err(of_source)?;
        let web = Web::new(&config.network.egress, options, stores).map_err(of_source)?;
        let registry = args.npm_registry.as_deref().unwrap_or(NPM_REGISTRY);
        let (registry, registry_credentials) = WebUrl::parse(registry).map_err(of_source)?;
        Ok(Self {
            web,
            registry,
            registry_credentials,
            has_own_registry: args.npm_registry.is_some(),
            token,
            is_token_named: args.token_file.is_some(),
            kept: Vec::new(),
        })
    }

    /// Gives the token to the server that all orders are for. Several get none: a lock names servers that the user may
    /// not have thought of.
    pub(in crate::cli::commands::skills) fn bind_token(
        &mut self,
        orders: &[&SourceOrder],
    ) -> Result<(), Failed> {
        let Some(token) = self.token.clone() else { return Ok(()) };
        let is_store = |order: &&SourceOrder| matches!(order.source.kind, SourceKind::Store { .. });
        if self.is_token_named && !orders.is_empty() && orders.iter().all(is_store) {
            return Err(Failed::usage(
                "an object store takes no token: its credentials are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            ));
        }
        let mut places: Vec<WebUrl> = Vec::new();
        for place in orders.iter().filter_map(|order| self.place_of(order)) {
            if !places.iter().any(|known| known.origin() == place.origin()) {
                places.push(place);
            }
        }
        match places.as_slice() {
            [] => {}
            [only] => self.web.bind_token(only, token),
            [first, second, ..] => {
                return Err(Failed::usage(format!(
                    "the token is for one server, and the skills come from several ({}, {}): name the skill \
                     that it is for",
                    first.origin(),
                    second.origin()
                )));
            }
        }
        Ok(())
    }

    /// The server that would get the token for an order; `None` if it needs none.
    fn place_of(&self, order: &SourceOrder) -> Option<WebUrl> {
        if order.source.credentials.is_some() {
            return None;
        }
        match order.source.kind {
            SourceKind::Npm { .. } if self.registry_credentials.is_some() => None,
            SourceKind::Npm { .. } => self.registry_of(order).ok(),
            _ => order.source.url().cloned(),
        }
    }

    /// The registry for the package of an order.
    fn registry_of(&self, order: &SourceOrder) -> Result<WebUrl, Failed> {
        let is_npm = matches!(order.source.kind, SourceKind::Npm { .. });
        let own = order.registry.as_deref().filter(|_| is_npm && !self.has_own_registry);
        let own = own.map(WebUrl::parse).transpose().map_err(of_source)?;
        Ok(own.map_or_else(|| self.registry.clone(), |(url, _)| url))
    }

    /// The address of the object store that the environment names; empty for that of AWS.
    fn store_address(&self) -> Result<String, Failed> {
        let address = self.web.stores().endpoint().map_err(of_source)?;
        Ok(address.map(|url| url.origin()).unwrap_or_default())
    }

    /// Refuses to ask another object store than the one that a lock names. The lock's is not asked by its word either: it
    /// would get the user's credentials.
    fn ensure_same_store(&self, order: &SourceOrder) -> Result<(), Failed> {
        let is_store = matches!(order.source.kind, SourceKind::Store { .. });
        let Some(locked) = order.registry.as_ref().filter(|_| is_store) else { return Ok(()) };
        let here = self.store_address()?;
        if *locked == here {
            return Ok(());
        }
        let at = |address: &str| match address {
            "" => "at AWS".to_owned(),
            address => format!("at {}", shown(address)),
        };
        Err(Failed::usage(format!(
            "the lock has {} {}, and AWS_ENDPOINT_URL leads to the store {}: set it as it was when the skill was added",
            order.source,
            at(locked),
            at(&here)
        )))
    }

    /// The origin that a lock has of a skill.
    pub(super) fn origin(
        &self,
        order: &SourceOrder,
        fetched: &Fetched,
        folder: &str,
    ) -> LockedOrigin {
        let source = &order.source;
        let registry = match source.kind {
            SourceKind::Npm { .. } => {
                let own = self.has_own_registry.then(|| self.registry.named());
                order.registry.clone().or(own)
            }
            SourceKind::Store { .. } => self.store_address().ok().filter(|text| !text.is_empty()),
            _ => None,
        };
        let (mut name, mut revision) = (source.name(), fetched.revision.clone());
        let mut folder = folder.to_owned();
        let shelf = match &source.kind {
            SourceKind::Folder(path) => Some(path.join(&folder).display().to_string()),
            SourceKind::Store { .. } => Some(format!("{name}/{folder}")),
            _ => None,
        };
        // Each skill of a folder of packages has a folder and a revision of its own.
        if let (Some(shelf), Some(package)) = (shelf, fetched.package(&folder)) {
            if !folder.is_empty() {
                name = shelf;
            }
            revision.clone_from(&package.revision);
            folder.clear();
        }
        LockedOrigin {
            source: name,
            reference: source.reference.clone(),
            revision,
            folder,
            registry,
            granted_network: Vec::new(),
            granted_secrets: Vec::new(),
        }
    }

    /// Gets what is ordered, once. Returns its place for [`Reach::fetched`].
    pub(super) fn fetch(&mut self, order: &SourceOrder) -> Result<usize, Failed> {
        if let Some(at) = self.kept.iter().position(|(kept, _)| kept == order) {
            return Ok(at);
        }
        self.ensure_same_store(order)?;
        let registry = self.registry_of(order)?;
        let mut source = order.source.clone();
        if matches!(source.kind, SourceKind::Npm { .. }) && source.credentials.is_none() {
            source.credentials.clone_from(&self.registry_credentials);
        }
        let pinned = Some(order.pinned.as_str()).filter(|pinned| !pinned.is_empty());
        let fetched = wardian_sources::fetch(&self.web, &source, &registry, pinned);
        self.kept.push((order.clone(), fetched.map_err(of_source)?));
        Ok(self.kept.len().saturating_sub(1))
    }

    /// Publishes a package.
    pub(in crate::cli::commands::skills) fn publish(
        &self,
        target: &SkillSource,
        package: &SkillPackage,
    ) -> Result<Publication, Failed> {
        let named = |error: SourceError| match error {
            SourceError::Taken { .. } | SourceError::TagTaken { .. } => {
                Failed::refused(error.to_string())
            }
            error => Failed::named("the target", &error).harmless(),
        };
        wardian_sources::publish(&self.web, target, package).map_err(named)
    }

    /// What should be known about what was fetched.
    pub(super) fn notes(&self, order: &SourceOrder) -> Vec<String> {
        let kept = self.kept.iter().find(|(kept, _)| kept == order);
        let mut notes = kept.map(|(_, fetched)| fetched.notes()).unwrap_or_default();
        if order.source.hides_query() {
            notes.push(format!(
                "the address has a secret, so the lock has it without its query ({}): `update` needs the address \
                 again, with `wardian skills add`",
                order.source
            ));
        }
        notes
    }

    /// What was fetched.
    pub(super) fn fetched(&self, at: usize) -> Result<&Fetched, Failed> {
        let kept = self.kept.get(at).map(|(_, fetched)| fetched);
        kept.ok_or_else(|| Failed::because("a source was not fetched"))
    }
}

/// Which revision of a source is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Revision {
    /// The one of the lock.
    Locked,
    /// What the reference means now.
    Current,
}

/// The order for the source of a skill that a lock has. If others of the lock come from there too, it is for all of the
/// source, which is then asked once.
pub(super) fn order_of(
    origin: &LockedOrigin,
    entries: &BTreeMap<SkillName, LockedSkill>,
    revision: Revision,
) -> Result<SourceOrder, Failed> {
    let mut source = SkillSource::parse(&origin.source).map_err(of_source)?;
    source.reference.clone_from(&origin.reference);
    let is_same = |other: &&LockedOrigin| {
        other.source == origin.source && other.reference == origin.reference
    };
    let all = entries.values().filter_map(|entry| entry.origin.as_ref());
    if all.filter(is_same).count() < 2 {
        source = source.below(&origin.folder).map_err(of_source)?;
    }
    let pinned = match revision {
        Revision::Locked => origin.revision.clone(),
        Revision::Current => String::new(),
    };
    let registry = match source.kind {
        SourceKind::Store { .. } => Some(origin.registry.clone().unwrap_or_default()),
        _ => origin.registry.clone(),
    };
    Ok(SourceOrder { source, pinned, registry })
}

/// True if both are the same place, however a lock has it.
pub(super) fn is_same_source(one: &LockedOrigin, other: &LockedOrigin) -> bool {
    let name = |origin: &LockedOrigin| {
        let parsed = SkillSource::parse(&origin.source).ok();
        parsed.map_or_else(|| origin.source.clone(), |source| source.name())
    };
    let registry = |origin: &LockedOrigin| {
        let registry = origin.registry.as_deref().unwrap_or(NPM_REGISTRY);
        registry.trim_end_matches('/').to_owned()
    };
    name(one) == name(other) && registry(one) == registry(other)
}

fn read_token(path: &Path) -> Result<Zeroizing<String>, Failed> {
    let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
    let mut text = Zeroizing::new(String::new());
    let file = open_regular(path).map_err(|fault| named(&fault))?;
    file.take(MAX_TOKEN).read_to_string(&mut text).map_err(|fault| named(&fault))?;
    Ok(Zeroizing::new(text.trim().to_owned()))
}

/// A source that cannot be used was named wrongly, or is somebody else's fault.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
pub(in crate::cli::commands::skills) fn of_source(error: SourceError) -> Failed {
    Failed::named("the source", &error).harmless()
}
