//! A bucket: its objects are listed, read as a whole, and created where there is none.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::list::{PaginatedListOptions, PaginatedListStore as _};
use object_store::path::Path;
use object_store::{
    BackoffConfig, Error, GetOptions, ObjectStore as _, PutMode, PutPayload, RetryConfig,
};
use parking_lot::Mutex;

use crate::error::SourceError;
use crate::network::WebNetwork;
use crate::store::connector::{BodyBound, StoreConnector};
use crate::store::network::StoreNetwork;
use crate::store::settings::{StoreIdentity, StoreSettings};
use crate::store::trouble::StoreTrouble;
use crate::tree::MAX_FILES;
use crate::web::Web;
use crate::web_url::WebUrl;

/// Attempts at a request after the first one, and the time after which none begins.
const REPEATS: usize = 2;
const REPEAT_TIME: Duration = Duration::from_secs(20);

/// Largest page of a list, and most pages.
const MAX_PAGE: usize = 8 << 20;
const MAX_PAGES: usize = 200;

/// A bucket of a store.
pub(crate) struct Bucket<'w> {
    web: &'w Web,
    store: AmazonS3,
    /// The address of the bucket, for messages.
    url: WebUrl,
    trouble: Arc<Mutex<Option<StoreTrouble>>>,
}

/// What is directly below the beginning of a key.
#[derive(Debug, Default)]
pub(crate) struct StoreListing {
    /// Names with something below them.
    pub(crate) folders: BTreeSet<String>,
    /// Names of objects.
    pub(crate) objects: BTreeSet<String>,
}

/// What became of an object that was to be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creation {
    /// It was created, as the store says.
    New,
    /// There is one, as the store says.
    Exists,
}

impl<'w> Bucket<'w> {
    /// Opens a bucket of the store that the user's environment names. Nothing is sent.
    pub(crate) fn open(web: &'w Web, name: &str) -> Result<Self, SourceError> {
        let settings = web.stores();
        let identity = settings.identity()?;
        let region = settings.region()?;
        let mut url = match settings.endpoint()? {
            Some(url) => url,
            None => WebUrl::parse(&format!("https://s3.{region}.amazonaws.com"))?.0,
        };
        let mut named = vec![url.clone()];
        if matches!(identity, StoreIdentity::Role { .. }) {
            named.push(settings.token_server()?);
        }
        let trouble = Arc::new(Mutex::new(None));
        let network: Arc<dyn StoreNetwork> = Arc::<WebNetwork>::clone(web.network());
        let connector = StoreConnector {
            network,
            named,
            is_signed: !matches!(identity, StoreIdentity::Nobody),
            trouble: Arc::clone(&trouble),
        };
        let builder = AmazonS3Builder::new()
            .with_bucket_name(name)
            .with_region(region)
            .with_endpoint(url.origin())
            .with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: REPEATS,
                retry_timeout: REPEAT_TIME,
            })
            .with_http_connector(connector);
        let store = identified(builder, settings, &identity)?.build();
        url.path = format!("/{name}");
        let store = store.map_err(|_fault| SourceError::Server {
            url: url.named(),
            problem: "cannot be used with the variables `AWS_…` of the environment".to_owned(),
        })?;
        Ok(Self { web, store, url, trouble })
    }

    /// An object of at most `most` bytes; `None` if there is none.
    pub(crate) fn read(&self, key: &str, most: usize) -> Result<Option<Vec<u8>>, SourceError> {
        let path = self.path(key)?;
        let mut options = GetOptions::default();
        options.extensions.insert(BodyBound(most));
        let reading = async { self.store.get_opts(&path, options).await?.bytes().await };
        match self.web.wait(reading) {
            Ok(content) => Ok(Some(content.into())),
            Err(_) if self.is_missing_object() => Ok(None),
            Err(_) => Err(self.failure()),
        }
    }

    /// Writes an object unless there is one.
    pub(crate) fn create(&self, key: &str, content: &[u8]) -> Result<Creation, SourceError> {
        let path = self.path(key)?;
        let payload = PutPayload::from(content.to_vec());
        match self.web.wait(self.store.put_opts(&path, payload, PutMode::Create.into())) {
            Ok(_) => Ok(Creation::New),
            // 412, or 409 while somebody else writes it: what is there is compared.
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(Creation::Exists),
            Err(_) => Err(self.failure()),
        }
    }

    /// What is directly below a key; below none: in the bucket.
    pub(crate) fn list(&self, key: &str) -> Result<StoreListing, SourceError> {
        let prefix = if key.is_empty() { String::new() } else { format!("{key}/") };
        let mut listing = StoreListing::default();
        let mut page_token = None;
        for _page in 0..MAX_PAGES {
            let mut options = PaginatedListOptions {
                delimiter: Some("/".into()),
                page_token,
                ..PaginatedListOptions::default()
            };
            options.extensions.insert(BodyBound(MAX_PAGE));
            let page = self.web.wait(self.store.list_paginated(Some(&prefix), options));
            let page = page.map_err(|_fault| self.failure())?;
            let name = |path: &Path| path.filename().map(str::to_owned);
            listing.folders.extend(page.result.common_prefixes.iter().filter_map(name));
            let objects = page.result.objects.iter();
            listing.objects.extend(objects.filter_map(|object| name(&object.location)));
            if listing.folders.len().saturating_add(listing.objects.len()) > MAX_FILES {
                break;
            }
            page_token = page.page_token.filter(|token| !token.is_empty());
            if page_token.is_none() {
                return Ok(listing);
            }
        }
        Err(SourceError::TooLarge(format!(
            "more than {MAX_FILES} objects, or {MAX_PAGES} lists of them"
        )))
    }

    /// The failure of something about an object.
    pub(crate) fn strange(&self, key: &str, problem: &str) -> SourceError {
        let url = format!("{}/{key}", self.url.named());
        SourceError::Server { url, problem: problem.to_owned() }
    }

    fn path(&self, key: &str) -> Result<Path, SourceError> {
        Path::parse(key).map_err(|_fault| self.strange(key, "has a key that cannot be sent"))
    }

    fn is_missing_object(&self) -> bool {
        self.trouble.lock().as_ref().is_some_and(|trouble| trouble.is_missing_object)
    }

    /// The last failure. The library's own text may quote what was sent.
    fn failure(&self) -> SourceError {
        let trouble = self.trouble.lock().take();
        trouble.map_or_else(
            || SourceError::Server {
                url: self.url.named(),
                problem: "does not answer as an object store does".to_owned(),
            },
            |trouble| trouble.error,
        )
    }
}

/// Adds who asks.
pub(super) fn identified(
    builder: AmazonS3Builder,
    settings: &StoreSettings,
    identity: &StoreIdentity<'_>,
) -> Result<AmazonS3Builder, SourceError> {
    Ok(match *identity {
        StoreIdentity::Key { id, secret, token } => {
            let builder = builder.with_access_key_id(id).with_secret_access_key(secret);
            match token {
                Some(token) => builder.with_token(token),
                None => builder,
            }
        }
        StoreIdentity::Role { arn, token_file, session } => {
            let server = settings.token_server()?.origin();
            let builder = builder
                .with_config(AmazonS3ConfigKey::RoleArn, arn)
                .with_config(AmazonS3ConfigKey::WebIdentityTokenFile, token_file)
                .with_config(AmazonS3ConfigKey::StsEndpoint, server);
            match session {
                Some(session) => builder.with_config(AmazonS3ConfigKey::RoleSessionName, session),
                None => builder,
            }
        }
        StoreIdentity::Nobody => builder.with_skip_signature(true),
    })
}
