//! What belongs to one message while it is answered: who sent it, what was cut out of it, and what
//! is laid into its answer. It travels next to the message, in the extensions of the protocol
//! library.

use std::io::Write as _;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::request::Parts;
use parking_lot::Mutex;
use rmcp::model::Extensions;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::mcp::wire::splice::{Splices, TooManyContents};
use crate::net::answer::{Answer, AnswerFault};
use crate::net::respond::Failure;
use wardian_service::Caller;
use wardian_vocabulary::budget::{BudgetExhausted, Charge, MemoryBudget};
use wardian_vocabulary::error::ErrorKind;

/// The call of a tool: its name, and its arguments as the text of a JSON value.
#[derive(Debug)]
pub(crate) struct ToolOrder {
    pub tool: String,
    pub arguments: Option<Box<RawValue>>,
}

/// What belongs to one message while it is answered.
#[derive(Debug)]
pub(crate) struct McpExchange {
    pub caller: Caller,
    pub(crate) splices: Arc<Splices>,
    budget: Arc<MemoryBudget>,
    order: Mutex<Option<ToolOrder>>,
    given_up: Notify,
}

/// A content that cannot be laid into an answer.
#[derive(Debug)]
pub(crate) enum LayFault {
    /// There is no memory for it, or the answer has too many contents.
    NoRoom,
    /// It cannot be written as JSON.
    Unwritable(serde_json::Error),
}

impl From<AnswerFault> for LayFault {
    fn from(fault: AnswerFault) -> Self {
        match fault {
            AnswerFault::NoRoom => Self::NoRoom,
            AnswerFault::Unwritable(fault) => Self::Unwritable(fault),
        }
    }
}

impl From<TooManyContents> for LayFault {
    fn from(_: TooManyContents) -> Self {
        Self::NoRoom
    }
}

impl LayFault {
    /// The failure of a call that was executed and cannot be answered.
    pub(crate) fn into_failure(self, caller: &Caller) -> Failure {
        match self {
            Self::NoRoom => {
                let message = format!("{BudgetExhausted}; the call was executed");
                Failure::of_kind(ErrorKind::Overloaded, message)
            }
            Self::Unwritable(fault) => Failure::of(
                &wardian_service::ServiceError::Unserialisable(fault),
                &caller.request_id,
            ),
        }
    }
}

impl McpExchange {
    pub(crate) fn new(
        caller: Caller,
        budget: &Arc<MemoryBudget>,
        order: Option<ToolOrder>,
    ) -> std::io::Result<Arc<Self>> {
        let splices = Splices::new()?;
        let (budget, order) = (Arc::clone(budget), Mutex::new(order));
        Ok(Arc::new(Self { caller, splices, budget, order, given_up: Notify::new() }))
    }

    /// The exchange of a message that the protocol library handles.
    pub(crate) fn of(extensions: &Extensions) -> Option<Arc<Self>> {
        let own = extensions.get::<Arc<Self>>();
        let found = own.or_else(|| extensions.get::<Parts>()?.extensions.get::<Arc<Self>>());
        found.cloned()
    }

    /// Takes the call that was cut out of the message.
    pub(crate) fn take_order(&self) -> Option<ToolOrder> {
        self.order.lock().take()
    }

    /// Ends the work on the message: its client gave it up.
    pub(crate) fn give_up(&self) {
        self.given_up.notify_one();
    }

    /// Resolves when the client has given the message up.
    pub(crate) async fn given_up(&self) {
        self.given_up.notified().await;
    }

    fn answer(&self) -> Answer {
        Answer::charged_to(Charge::none(&self.budget))
    }

    /// Writes a value as JSON, charged until the bytes are dropped.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<Bytes, LayFault> {
        let mut answer = self.answer();
        answer.write_json(value)?;
        Ok(answer.into_bytes())
    }

    /// Lays the text into the answer. Returns what the answer has in its place.
    pub(crate) fn text(&self, text: &str) -> Result<String, LayFault> {
        Ok(self.splices.value(self.json(&text)?)?)
    }

    /// Lays a JSON string into the answer. Returns what the answer has in its place.
    pub(crate) fn text_of(&self, string: &RawValue) -> Result<String, LayFault> {
        Ok(self.splices.value(self.json(&string)?)?)
    }

    /// Lays `bytes` into the answer as a string of base64.
    pub(crate) fn base64<'b, I: IntoIterator<Item = &'b [u8]>>(
        &self,
        pieces: I,
    ) -> Result<String, LayFault> {
        let mut answer = self.answer();
        let mut write = |bytes: &[u8]| answer.write_all(bytes).map_err(|_full| LayFault::NoRoom);
        write(b"\"")?;
        for piece in pieces {
            // Whole groups of three bytes, so that the texts of the parts are that of the whole.
            for part in piece.chunks(3 << 10) {
                write(data_encoding::BASE64.encode(part).as_bytes())?;
            }
        }
        write(b"\"")?;
        Ok(self.splices.value(answer.into_bytes())?)
    }

    /// Lays an object, as the text of JSON, into the answer.
    pub(crate) fn object(&self, json: &Bytes) -> Result<Map<String, Value>, LayFault> {
        Ok(self.splices.object(json)?)
    }
}
