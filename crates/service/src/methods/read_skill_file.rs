//! `read_skill_file`: returns a file of a skill, and never a file outside of it.

use data_encoding::BASE64;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::start::Discovery;
use wardian_formats::protocol::methods::blobs::Encoding;
use wardian_formats::protocol::methods::discovery::{ReadSkillFileParams, ReadSkillFileResult};

impl Discovery {
    /// Returns a file of a skill, as text if it is UTF-8 and as base64 otherwise.
    ///
    /// # Errors
    ///
    /// No such skill, version or file, or a path that leads elsewhere.
    pub fn read_skill_file(
        &self,
        caller: &Caller,
        params: &ReadSkillFileParams,
    ) -> Result<ReadSkillFileResult, ServiceError> {
        let seen = self.find_skill(caller, &params.name, params.version.as_deref())?;
        let bytes = seen.snapshot.read_file(&params.path)?;
        caller.memory.reserve(BASE64.encode_len(bytes.len()).into())?;
        Ok(match std::str::from_utf8(bytes) {
            Ok(text) => ReadSkillFileResult { content: text.to_owned(), encoding: None },
            Err(_) => {
                let content = BASE64.encode(bytes);
                ReadSkillFileResult { content, encoding: Some(Encoding::Base64) }
            }
        })
    }
}
