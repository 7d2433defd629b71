//! The form of a token (RFC 7515): three parts in base64url, and a header that says how it is
//! signed.

use data_encoding::BASE64URL_NOPAD;
use serde_json::value::RawValue;

use crate::tenants::jwt::algorithm::TokenAlgorithm;
use crate::tenants::jwt::fault::TokenFault;
use crate::tenants::jwt::members::{members, read};

/// Longest id of a key, in bytes.
const MAX_KEY_ID: usize = 256;

/// The sorts of tokens that callers present: access tokens (RFC 9068), and tokens without a sort.
const SORTS: [&str; 4] = ["jwt", "application/jwt", "at+jwt", "application/at+jwt"];

/// A token whose signature was not checked yet.
#[derive(Debug)]
pub(crate) struct UncheckedToken<'a> {
    /// The bytes that are signed: header and payload as they were sent.
    pub signed: &'a [u8],
    pub algorithm: TokenAlgorithm,
    /// The id of the key.
    pub(crate) key_id: Option<String>,
    pub signature: Vec<u8>,
    payload: &'a [u8],
}

impl<'a> UncheckedToken<'a> {
    /// Takes a token apart. Its payload is left as it is until the signature was checked.
    pub(super) fn parse(token: &'a [u8], allowed: &[TokenAlgorithm]) -> Result<Self, TokenFault> {
        let mut parts = token.split(|byte| *byte == b'.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(TokenFault::Form);
        };
        let header_text = decoded(header)?;
        let signature = BASE64URL_NOPAD.decode(signature).map_err(|_wrong| TokenFault::Form)?;
        let length = header.len().saturating_add(1).saturating_add(payload.len());
        let signed = token.get(..length).ok_or(TokenFault::Form)?;
        let header = Header::read(&header_text)?;
        let algorithm = TokenAlgorithm::parse(&header.algorithm);
        let algorithm = algorithm.filter(|algorithm| allowed.contains(algorithm));
        let algorithm = algorithm.ok_or(TokenFault::Algorithm)?;
        Ok(Self { signed, algorithm, key_id: header.key_id, signature, payload })
    }

    /// The claims as text. Only claims whose signature was checked may be believed.
    pub(super) fn payload(&self) -> Result<String, TokenFault> {
        decoded(self.payload).map_err(|_form| TokenFault::Claims)
    }
}

/// The members of a header that count.
struct Header {
    algorithm: String,
    key_id: Option<String>,
}

impl Header {
    fn read(text: &str) -> Result<Self, TokenFault> {
        const WANTED: [&str; 8] = ["alg", "kid", "typ", "cty", "crit", "b64", "enc", "zip"];
        let malformed = |_no_object| TokenFault::Header;
        let mut found = members(text, &WANTED).map_err(malformed)?.into_iter();
        let mut next = || found.next().flatten();
        let (algorithm, key_id, sort) = (next(), next(), next());
        let is_nested = next().is_some();
        let has_extensions = [next(), next(), next(), next()].iter().any(Option::is_some);
        let text = |value: Option<&RawValue>| value.map(read::<String>).transpose();
        let algorithm = text(algorithm).map_err(malformed)?.ok_or(TokenFault::Header)?;
        let key_id = text(key_id).map_err(malformed)?;
        let sort = text(sort).map_err(malformed)?;
        if has_extensions {
            return Err(TokenFault::Extension);
        }
        let is_known = |sort: String| SORTS.iter().any(|known| sort.eq_ignore_ascii_case(known));
        if is_nested || !sort.is_none_or(is_known) {
            return Err(TokenFault::Purpose);
        }
        if key_id.as_ref().is_some_and(|id| id.len() > MAX_KEY_ID) {
            return Err(TokenFault::UnknownKey);
        }
        Ok(Self { algorithm, key_id })
    }
}

/// Text in base64url without padding, and without anything else.
fn decoded(part: &[u8]) -> Result<String, TokenFault> {
    let bytes = BASE64URL_NOPAD.decode(part).map_err(|_wrong| TokenFault::Form)?;
    String::from_utf8(bytes).map_err(|_wrong| TokenFault::Form)
}
