//! An API: its document as it was read last, and requests for its operations.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tracing::warn;

use crate::answer::ToolAnswer;
use crate::config::parse_server_url;
use crate::credentials::CredentialSource;
use crate::fault::Fault;
use crate::offered::Listing;
use crate::openapi::arguments::lay_out;
use crate::openapi::document::{ApiDocument, read_document};
use crate::openapi::operation::Operation;
use crate::web_client::{AnswerBound, WebClient};
use wardian_egress::Egress;
use wardian_egress::own_request::OwnRequest;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::files::regular_file::open_regular;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Most reasons that the log names for operations that are left out.
const MAX_LOGGED: usize = 20;

/// Where the API is described, and how it is reached.
#[derive(Debug)]
pub(crate) struct ApiPlace {
    /// The name of the server, for the log.
    pub(crate) name: String,
    pub(crate) egress: Egress,
    pub(crate) document: PathBuf,
    /// The URL below which the paths are, if it is not the first server of the document.
    pub(crate) base: Option<UrlPattern>,
    pub(crate) headers: CredentialSource,
    /// Most operations, and the largest document.
    pub(crate) most: usize,
    pub(crate) largest: ByteCount,
}

/// The API.
#[derive(Debug)]
pub(crate) struct ApiServer {
    place: ApiPlace,
    current: Mutex<Option<Arc<CurrentApi>>>,
}

#[derive(Debug)]
struct CurrentApi {
    client: WebClient,
    /// Without a slash at its end.
    base: String,
    operations: BTreeMap<String, Operation>,
}

impl ApiServer {
    pub(crate) fn new(place: ApiPlace) -> Self {
        Self { place, current: Mutex::default() }
    }

    /// Reads the document, and lists its operations. Calls are of these from now on.
    pub(crate) async fn list(&self, memory: &CallMemory) -> Result<Listing, Fault> {
        let (path, largest) = (self.place.document.clone(), self.place.largest);
        let most = self.place.most;
        let reading = memory.on_thread(move || {
            let text = read_text(&path, largest)?;
            read_document(&text, most)
        });
        let read = reading.await.unwrap_or_else(|_ended| Err("was not read".to_owned()));
        let read = read.and_then(|document| self.take_over(document));
        read.map_err(|problem| Fault::broken(format!("the document of its API {problem}")))
    }

    fn take_over(&self, document: ApiDocument) -> Result<Listing, String> {
        let base = match (&self.place.base, &document.base) {
            (Some(base), _) => base.clone(),
            (None, Some(url)) => parse_server_url(url)
                .map_err(|problem| format!("has a server whose URL {problem}: set `base`"))?,
            (None, None) => return Err("has no URL of a server: set `base`".to_owned()),
        };
        let root = base.as_str().trim_end_matches('/').to_owned();
        // A path with a slash at its end stands for all below it.
        let below = parse_server_url(&format!("{root}/"))
            .map_err(|problem| format!("has a server whose URL {problem}: set `base`"))?;
        let name = &self.place.name;
        for reason in document.left_out.iter().take(MAX_LOGGED) {
            warn!(tools.server = %name, "`{name}` offers no tool for {reason}");
        }
        let mut listing = Listing::new(self.place.most);
        document.left_out.iter().for_each(|_| listing.leave_out_told());
        let mut operations = BTreeMap::new();
        for operation in document.operations {
            listing.add(operation.tool.clone());
            operations.insert(operation.tool.name.clone(), operation);
        }
        let client = WebClient::new(self.place.egress.clone(), below);
        *self.current.lock() = Some(Arc::new(CurrentApi { client, base: root, operations }));
        Ok(listing)
    }

    /// Calls an operation.
    pub(crate) async fn call(
        &self,
        tenant: &TenantId,
        (name, arguments): (&str, &RawValue),
        bound: AnswerBound,
        memory: &CallMemory,
    ) -> Result<ToolAnswer, Fault> {
        let current = self.current.lock().clone();
        let gone = || Fault::broken("its API has changed");
        let current = current.ok_or_else(gone)?;
        let operation = current.operations.get(name).ok_or_else(gone)?;
        let parts = lay_out(operation, arguments).map_err(Fault::Arguments)?;
        let credentials = self.place.headers.find(tenant, memory).await?;
        let mut headers = credentials.values.clone();
        headers.push(("accept".to_owned(), "application/json, */*;q=0.5".to_owned()));
        headers.push(("accept-encoding".to_owned(), "identity".to_owned()));
        // The operator's headers hide those of arguments.
        let is_free = |name: &str| {
            !credentials.values.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        headers.extend(parts.headers.into_iter().filter(|(name, _)| is_free(name)));
        if parts.body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        let url = format!("{}{}", current.base, parts.path);
        let body = parts.body.unwrap_or_default().into_bytes();
        let request = OwnRequest { method: operation.method, url, headers, body };
        let mut answer = Box::pin(current.client.send(tenant, request, bound)).await?;
        let body = Box::pin(answer.whole()).await?;
        let mut text = String::from_utf8_lossy(&body).into_owned();
        credentials.cover(&mut text);
        ToolAnswer::of_response(answer.status(), &answer.content_type(), text.as_bytes())
    }
}

fn read_text(path: &Path, largest: ByteCount) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {}", error.kind());
    let file = open_regular(path).map_err(unreadable)?;
    let mut text = String::new();
    let most = largest.as_u64();
    file.take(most.saturating_add(1)).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() > largest.as_usize() {
        return Err(format!("is larger than {most} bytes"));
    }
    Ok(text)
}
