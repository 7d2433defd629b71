//! The objects of a bucket as a store of blobs has them.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::process;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::list::{PaginatedListOptions, PaginatedListStore as _};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, BackoffConfig, Error, GetOptions, ObjectStore as _, ObjectStoreExt as _,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, RetryConfig,
};
use parking_lot::Mutex;

use crate::error::SourceError;
use crate::store::bucket::identified;
use crate::store::connector::{BodyBound, StoreConnector, StreamedBody};
use crate::store::network::ServerNetwork;
use crate::store::place;
use crate::store::settings::{StoreIdentity, StoreSettings};
use crate::web_url::WebUrl;
use wardian_egress::config::EgressConfig;
use wardian_stores::blobs::{
    BlobObjects, ObjectContent, ObjectPage, ObjectReader, Overwrite, WrittenObject,
};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::units::ByteCount;

/// Attempts at a request after the first one, and the time after which none begins.
const REPEATS: usize = 2;
const REPEAT_TIME: std::time::Duration = std::time::Duration::from_secs(20);

/// The size from which on an object is written in parts, and that of a part, which is in memory meanwhile.
const PART: u64 = 8 << 20;

/// Largest page of a list of objects, in bytes.
const MAX_PAGE: usize = 8 << 20;

/// The objects of a bucket.
pub struct StoreObjects {
    store: AmazonS3,
    /// The address of the bucket, for messages.
    url: WebUrl,
}

/// Shows no credentials.
impl fmt::Debug for StoreObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreObjects").field("url", &self.url).finish_non_exhaustive()
    }
}

impl StoreObjects {
    /// Opens the place `s3://BUCKET[/PREFIX]`, and returns it with the prefix. Nothing is sent. Objects have at most
    /// `largest` bytes.
    ///
    /// # Errors
    ///
    /// It names no place, or the settings are wrong.
    pub fn open<'p>(
        text: &'p str,
        settings: &StoreSettings,
        network: &EgressConfig,
        largest: ByteCount,
    ) -> Result<(Self, &'p str), SourceError> {
        let place = place::parse(text.strip_prefix("s3://").unwrap_or(text))?;
        let (identity, region) = (settings.identity()?, settings.region()?);
        let mut url = match settings.endpoint()? {
            Some(url) => url,
            None => WebUrl::parse(&format!("https://s3.{region}.amazonaws.com"))?.0,
        };
        let mut named = vec![url.clone()];
        if matches!(identity, StoreIdentity::Role { .. }) {
            named.push(settings.token_server()?);
        }
        let connector = StoreConnector {
            network: Arc::new(ServerNetwork::new(network, largest)?),
            named,
            is_signed: !matches!(identity, StoreIdentity::Nobody),
            trouble: Arc::new(Mutex::new(None)),
        };
        let builder = AmazonS3Builder::new()
            .with_bucket_name(place.bucket)
            .with_region(region)
            .with_endpoint(url.origin())
            // Not all stores have the request that removes several objects.
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: REPEATS,
                retry_timeout: REPEAT_TIME,
            })
            .with_http_connector(connector);
        url.path = format!("/{}", place.bucket);
        let store = identified(builder, settings, &identity)?.build();
        let store = store.map_err(|_fault| SourceError::Server {
            url: url.named(),
            problem: "cannot be used with the variables `AWS_…` of the environment".to_owned(),
        })?;
        Ok((Self { store, url }, place.key))
    }

    /// Checks that objects can be written below `prefix`, read and removed, and that a second one under the same key is
    /// refused: two servers that store the same blob must make one.
    ///
    /// # Errors
    ///
    /// What is wrong, and what to do.
    pub async fn prove(&self, prefix: &str) -> io::Result<()> {
        let number = Clock::System.now().as_nanos();
        let between = if prefix.is_empty() { "" } else { "/" };
        let key = format!("{prefix}{between}checks/{}-{number}", process::id());
        let path = self.path(&key)?;
        let write = || {
            let content = PutPayload::from_static(b"written to check the store; it can be removed");
            self.store.put_opts(&path, content, PutMode::Create.into())
        };
        write().await.map_err(|fault| self.failed(&key, fault))?;
        let again = write().await;
        let found = self.version(&key).await;
        self.remove(&key).await?;
        let is_found = found?.is_some();
        if self.version(&key).await?.is_some() {
            return Err(self.failed(&key, "was removed, and is still there"));
        }
        match again {
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) if is_found => Ok(()),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                Err(self.failed(&key, "was written, and is not found"))
            }
            Err(fault) => Err(self.failed(&key, fault)),
            Ok(_) => Err(self.failed(
                &key,
                "was written twice: the store ignores `If-None-Match: *`, without which two servers can \
                 damage each other's blobs; use one that has it",
            )),
        }
    }

    fn path(&self, key: &str) -> io::Result<Path> {
        Path::parse(key).map_err(|_fault| self.failed(key, "has a key that cannot be sent"))
    }

    /// The failure of a request about an object. Of what the library says, the answer of the store is enough.
    fn failed(&self, key: &str, problem: impl fmt::Display) -> io::Error {
        let problem = problem.to_string();
        let answer = problem.rsplit_once("status code: ").map_or(&*problem, |(_, answer)| answer);
        io::Error::other(format!("{}/{key}: {answer}", self.url.named()))
    }

    async fn write_parts(
        &self,
        (key, path): (&str, &Path),
        content: &ObjectContent,
    ) -> io::Result<Option<String>> {
        let failed = |fault: Error| self.failed(key, fault);
        let attributes = attributes_of(&content.kind);
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let mut upload = self.store.put_multipart_opts(path, options).await.map_err(failed)?;
        let (size, mut at) = (content.size.as_u64(), 0);
        let written = loop {
            if at >= size {
                break upload.complete().await.map_err(failed);
            }
            let part = PART.min(size.saturating_sub(at));
            let bytes = content.part(at, part).await?;
            if let Err(fault) = upload.put_part(PutPayload::from(bytes)).await {
                break Err(failed(fault));
            }
            at = at.saturating_add(part);
        };
        if written.is_err() {
            // What is left of it otherwise is for the rules of the bucket.
            upload.abort().await.ok();
        }
        Ok(written?.e_tag)
    }
}

#[async_trait]
impl BlobObjects for StoreObjects {
    async fn write(
        &self,
        key: &str,
        content: ObjectContent,
        overwrite: Overwrite,
    ) -> io::Result<WrittenObject> {
        let path = self.path(key)?;
        let unnamed = || self.failed(key, "is stored, and the store tells no tag of it");
        if content.size.as_u64() > PART {
            // The parts have the content that belongs to the key, whoever writes them.
            if overwrite == Overwrite::Never
                && let Some(version) = self.version(key).await?
            {
                return Ok(WrittenObject { version, is_new: false });
            }
            let version = self.write_parts((key, &path), &content).await?.ok_or_else(unnamed)?;
            return Ok(WrittenObject { version, is_new: true });
        }
        let bytes = content.part(0, content.size.as_u64()).await?;
        let mode = match overwrite {
            Overwrite::Never => PutMode::Create,
            Overwrite::Always => PutMode::Overwrite,
        };
        let attributes = attributes_of(&content.kind);
        let options = PutOptions { mode, attributes, ..PutOptions::default() };
        match self.store.put_opts(&path, PutPayload::from(bytes), options).await {
            Ok(written) => {
                let version = written.e_tag.ok_or_else(unnamed)?;
                Ok(WrittenObject { version, is_new: true })
            }
            // 412, or 409 while somebody else writes it.
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                let version = self.version(key).await?.ok_or_else(unnamed)?;
                Ok(WrittenObject { version, is_new: false })
            }
            Err(fault) => Err(self.failed(key, fault)),
        }
    }

    async fn version(&self, key: &str) -> io::Result<Option<String>> {
        match self.store.head(&self.path(key)?).await {
            Ok(found) => Ok(found.e_tag),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(fault) => Err(self.failed(key, fault)),
        }
    }

    async fn read(&self, key: &str) -> io::Result<Option<Box<dyn ObjectReader>>> {
        let mut options = GetOptions::default();
        options.extensions.insert(StreamedBody);
        match self.store.get_opts(&self.path(key)?, options).await {
            Ok(found) => {
                let kind = found.attributes.get(&Attribute::ContentType);
                let kind = kind.map(|kind| kind.as_ref().to_owned());
                let content = Mutex::new(found.into_stream());
                Ok(Some(Box::new(StreamReader { kind, content })))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(fault) => Err(self.failed(key, fault)),
        }
    }

    async fn copy(&self, from: &str, to: &str) -> io::Result<()> {
        let copied = self.store.copy(&self.path(from)?, &self.path(to)?).await;
        copied.map_err(|fault| self.failed(from, fault))
    }

    async fn remove(&self, key: &str) -> io::Result<()> {
        match self.store.delete(&self.path(key)?).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(fault) => Err(self.failed(key, fault)),
        }
    }

    async fn list(&self, prefix: &str, page_token: Option<String>) -> io::Result<ObjectPage> {
        let mut options = PaginatedListOptions { page_token, ..PaginatedListOptions::default() };
        options.extensions.insert(BodyBound(MAX_PAGE));
        let page = self.store.list_paginated(Some(prefix), options).await;
        let page = page.map_err(|fault| self.failed(prefix, fault))?;
        let objects = page.result.objects.into_iter();
        let objects =
            objects.map(|object| (object.location.to_string(), ByteCount::bytes(object.size)));
        let next = page.page_token.filter(|token| !token.is_empty());
        Ok(ObjectPage { objects: objects.collect(), next })
    }
}

/// The MIME type of an object, beside its content.
fn attributes_of(kind: &str) -> Attributes {
    Attributes::from_iter([(Attribute::ContentType, kind.to_owned())])
}

/// An object that is read.
struct StreamReader {
    kind: Option<String>,
    content: Mutex<Pin<Box<dyn Stream<Item = object_store::Result<Bytes>> + Send>>>,
}

impl fmt::Debug for StreamReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamReader").finish_non_exhaustive()
    }
}

#[async_trait]
impl ObjectReader for StreamReader {
    fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let piece = poll_fn(|context| self.content.get_mut().as_mut().poll_next(context)).await;
        piece.transpose().map_err(io::Error::other).map(|piece| piece.map(Vec::from))
    }
}
