//! Wire types of cells: the session that code runs in, and what a cell displayed.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use wardian_vocabulary::ids::{BlobId, CheckpointId, Digest, SessionId};

/// The session in which code is a cell.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum SessionParam {
    /// `new`, or the id of a session, as sent.
    Id(String),
    /// The same with conditions.
    Order(SessionOrderParam),
}

/// A session, and how a cell begins and ends in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionOrderParam {
    /// `new`, or the id of a session, as sent. Without it the session is a new one.
    pub id: Option<String>,
    /// The checkpoint that the session must be at, as sent.
    pub if_checkpoint: Option<String>,
    /// False if the session ends with the cell.
    pub keep: Option<bool>,
    /// How long the call waits while another cell is running, in milliseconds.
    pub wait_ms: Option<u64>,
}

/// A new session.
impl Default for SessionParam {
    fn default() -> Self {
        Self::Order(SessionOrderParam::default())
    }
}

impl SessionParam {
    /// The order that it stands for.
    #[must_use]
    pub fn into_order(self) -> SessionOrderParam {
        match self {
            Self::Id(id) => SessionOrderParam { id: Some(id), ..SessionOrderParam::default() },
            Self::Order(order) => order,
        }
    }
}

/// An object that a cell displayed, in one form or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayedObject(pub Vec<(String, DisplayedForm)>);

/// One form of an object that a cell displayed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisplayedForm {
    /// A text.
    Text(String),
    /// A picture, other bytes, or a long text.
    Blob(BlobId),
}

/// Prints no text: it comes from the program and must not reach a log.
impl fmt::Debug for DisplayedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.debug_struct("Text").field("len", &text.len()).finish(),
            Self::Blob(id) => f.debug_tuple("Blob").field(id).finish(),
        }
    }
}

/// Prints an object with each form under its MIME type. The first one of a type counts.
impl Serialize for DisplayedObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seen = BTreeSet::new();
        let forms: Vec<_> = self.0.iter().filter(|(kind, _)| seen.insert(kind)).collect();
        serializer.collect_map(forms.into_iter().map(|(kind, form)| (kind, form)))
    }
}

/// Reads an object as it was printed.
impl<'de> Deserialize<'de> for DisplayedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;

        impl<'de> Visitor<'de> for Forms {
            type Value = DisplayedObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with forms by their MIME types")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut forms = Vec::new();
                while let Some(form) = map.next_entry()? {
                    forms.push(form);
                }
                Ok(DisplayedObject(forms))
            }
        }

        deserializer.deserialize_map(Forms)
    }
}

/// What has become of a session after a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionResult {
    /// The session.
    pub id: SessionId,
    /// The number of the cell.
    pub cell: u32,
    /// The checkpoint that the session is at; `None` if no cell of it is kept, or if it is closed.
    pub checkpoint: Option<CheckpointId>,
    /// What has become of the cell's effects.
    pub state: CellFate,
    /// Why they were not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The digest of memory and workspace after the cell, if the session is reproducible and they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_digest: Option<Digest>,
}

/// What has become of the effects of a cell: variables, imports and files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CellFate {
    /// The next cell finds them.
    Kept,
    /// The session is where it was before the cell.
    RolledBack,
    /// The cell has not ended: it waits for answers. The session is where it was before, and no other cell
    /// begins.
    Waiting,
    /// The session has ended with the cell.
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displayed_object_is_read_as_it_was_printed() {
        let text = r#"{"text/html":{"text":"<b>"},"a/b":{"text":""}}"#;
        let read: DisplayedObject = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert!(serde_json::from_str::<DisplayedObject>(r#"{"a/b":{"other":1}}"#).is_err());
    }
}
