//! What a cell displays: short texts go with the outcome, everything else is stored as blobs.

use crate::host_call::account::HostCallAccount;
use crate::host_call::cell::{ShownContent, ShownPart};
use wardian_formats::job::message::Refusal;
use wardian_formats::job::session::cell::{
    DisplayBundle, DisplayContent, DisplayPart, MAX_INLINE, json_length,
};

impl HostCallAccount {
    /// Displays an object, and returns the number of its bundle. Short texts are kept as they are;
    /// other forms are stored as blobs, each of which counts as one more call.
    ///
    /// # Errors
    ///
    /// The turn is not a cell, there is no room for the bundle, or a blob cannot be stored.
    pub(crate) fn show(
        &mut self,
        at: Option<usize>,
        parts: &[ShownPart<'_>],
        room: u64,
    ) -> Result<usize, Refusal> {
        let cell = self.cell.as_ref().ok_or_else(no_cell)?;
        cell.ensure_place(at)?;
        let mut left = cell.inline_room(at);
        let mut kept = Vec::with_capacity(parts.len());
        for ShownPart { kind, content } in parts {
            let content = match content {
                ShownContent::Text(text)
                    if text.len() <= MAX_INLINE && json_length(text) <= left =>
                {
                    left = left.saturating_sub(json_length(text));
                    DisplayContent::Text((*text).to_owned())
                }
                ShownContent::Text(text) => self.store_part(kind, text.as_bytes(), room)?,
                ShownContent::Bytes(bytes) => self.store_part(kind, bytes, room)?,
            };
            kept.push(DisplayPart { kind: (*kind).to_owned(), content });
        }
        let cell = self.cell.as_mut().ok_or_else(no_cell)?;
        Ok(cell.put(at, DisplayBundle { parts: kept }))
    }

    fn store_part(
        &mut self,
        kind: &str,
        content: &[u8],
        room: u64,
    ) -> Result<DisplayContent, Refusal> {
        self.charge(0)?;
        self.write_blob(kind, content, room).map(DisplayContent::Blob)
    }
}

/// The refusal for a turn that is not a cell.
pub(crate) fn no_cell() -> Refusal {
    let message = "only cells of a session display something".to_owned();
    Refusal { error_type: "PolicyDenied".to_owned(), message }
}
