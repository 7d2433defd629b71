//! The requests that are being answered, for clients that give one of them up in another request.
//!
//! In the revisions before 2026-07-28 a client cancels with a notification, which is a request of its
//! own over HTTP. The server keeps no sessions: the id of a session is a random text that it hands
//! out, and all that it does is to keep apart the requests of clients with one key.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::mcp::wire::exchange::McpExchange;
use wardian_formats::protocol::request_id::RequestId;
use wardian_vocabulary::crypto::fill_random;
use wardian_vocabulary::ids::TenantId;

/// Longest id of a session, in bytes. Those that are handed out have 32.
const MAX_SESSION: usize = 128;

/// The session of a caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    tenant: TenantId,
    credential: Option<String>,
    session: String,
}

impl SessionKey {
    /// The session of this name; `None` if no session has such a name.
    pub(crate) fn of(tenant: &TenantId, credential: Option<&str>, session: &str) -> Option<Self> {
        (session.len() <= MAX_SESSION).then(|| Self {
            tenant: tenant.clone(),
            credential: credential.map(str::to_owned),
            session: session.to_owned(),
        })
    }
}

/// The name of a new session.
pub(crate) fn new_session() -> io::Result<String> {
    let mut bytes = [0; 16];
    fill_random(&mut bytes)?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

type Key = (SessionKey, String);

/// The requests that are being answered.
#[derive(Debug, Default)]
pub(crate) struct ActiveRequests(Arc<Mutex<HashMap<Key, Weak<McpExchange>>>>);

/// A request that can be given up as long as this value lives.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    table: Arc<Mutex<HashMap<Key, Weak<McpExchange>>>>,
    key: Key,
    exchange: Arc<McpExchange>,
}

impl ActiveRequests {
    /// Notes a request. One of the same session and id takes the place of another.
    pub(crate) fn enter(
        &self,
        session: SessionKey,
        id: &RequestId,
        exchange: &Arc<McpExchange>,
    ) -> ActiveRequest {
        let key = (session, text_of(id));
        self.0.lock().insert(key.clone(), Arc::downgrade(exchange));
        ActiveRequest { table: Arc::clone(&self.0), key, exchange: Arc::clone(exchange) }
    }

    /// Gives a request up. Nothing happens if it is over.
    pub(crate) fn give_up(&self, session: SessionKey, id: &RequestId) {
        let found = self.0.lock().get(&(session, text_of(id))).and_then(Weak::upgrade);
        found.iter().for_each(|exchange| exchange.give_up());
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut table = self.table.lock();
        let is_own =
            |found: &Weak<McpExchange>| std::ptr::eq(found.as_ptr(), Arc::as_ptr(&self.exchange));
        if table.get(&self.key).is_some_and(is_own) {
            table.remove(&self.key);
        }
    }
}

/// The id as JSON: `1` and `"1"` are two.
fn text_of(id: &RequestId) -> String {
    serde_json::to_string(id).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use wardian_service::Caller;
    use wardian_vocabulary::budget::{CallMemory, MemoryBudget};
    use wardian_vocabulary::units::ByteCount;

    fn exchange() -> Arc<McpExchange> {
        let budget = MemoryBudget::new(ByteCount::mebibytes(1));
        let caller = Caller::known_by("req_1".to_owned(), CallMemory::new(&budget));
        McpExchange::new(caller, &budget, None).unwrap()
    }

    async fn was_given_up(exchange: &McpExchange) -> bool {
        timeout(Duration::from_millis(20), exchange.given_up()).await.is_ok()
    }

    #[tokio::test]
    async fn a_request_is_given_up_by_its_own_session() {
        let active = ActiveRequests::default();
        let tenant = |name: &str| TenantId::parse(name).unwrap();
        let session = |tenant: &TenantId, key, name| SessionKey::of(tenant, key, name).unwrap();
        let own = session(&tenant("acme"), Some("k1"), "s");
        let (one, id) = (exchange(), RequestId::Integer(1));
        let entered = active.enter(own.clone(), &id, &one);
        for other in [
            session(&tenant("other"), Some("k1"), "s"),
            session(&tenant("acme"), Some("k2"), "s"),
            session(&tenant("acme"), Some("k1"), "t"),
        ] {
            active.give_up(other, &id);
        }
        active.give_up(own.clone(), &RequestId::Text("1".to_owned()));
        assert!(!was_given_up(&one).await);
        active.give_up(own.clone(), &id);
        assert!(was_given_up(&one).await);
        drop(entered);
        assert!(active.0.lock().is_empty());
        active.give_up(own, &id);
    }

    #[tokio::test]
    async fn the_end_of_one_request_leaves_a_later_one_of_its_id() {
        let active = ActiveRequests::default();
        let own = SessionKey::of(&TenantId::parse("acme").unwrap(), None, "s").unwrap();
        let (first, second, id) = (exchange(), exchange(), RequestId::Integer(1));
        let entered = active.enter(own.clone(), &id, &first);
        let _later = active.enter(own.clone(), &id, &second);
        drop(entered);
        active.give_up(own, &id);
        assert!(was_given_up(&second).await && !was_given_up(&first).await);
    }

    #[test]
    fn names_of_sessions_are_short() {
        let tenant = TenantId::parse("acme").unwrap();
        assert!(SessionKey::of(&tenant, None, &"s".repeat(MAX_SESSION + 1)).is_none());
        assert_ne!(new_session().unwrap(), new_session().unwrap());
    }
}
