//! Secrets in places that no guest may read, and the forms in which they could leak.

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};

use crate::support::Client;

/// Secrets in an operator's places.
#[derive(Debug)]
pub(crate) struct Canaries {
    forms: Vec<String>,
    blob_id: String,
}

/// Bytes of a secret.
const LENGTH: usize = 32;

/// A random secret, as text.
pub(crate) fn secret() -> String {
    let mut bytes = [0; LENGTH];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).unwrap();
    HEXLOWER.encode(&bytes)
}

impl Canaries {
    /// Stores a secret as a blob, and knows one that the server has in its environment.
    pub(crate) fn place(client: &Client, environment: &str) -> Self {
        let stored = secret();
        let blob_id = client.create_text(&stored, "text/plain");
        let secrets = [stored.as_str(), environment];
        Self { forms: secrets.into_iter().flat_map(forms).collect(), blob_id }
    }

    /// The blob with a secret, which no run mounts.
    pub(crate) fn blob_id(&self) -> &str {
        &self.blob_id
    }

    /// Secrets that `text` holds in one form or another.
    pub(crate) fn leaks_in(&self, text: &str) -> Vec<&str> {
        self.forms.iter().filter(|form| text.contains(*form)).map(String::as_str).collect()
    }
}

/// A secret unchanged, encoded, and reversed.
fn forms(secret: &str) -> Vec<String> {
    let (text, bytes) = (secret.as_bytes(), HEXLOWER.decode(secret.as_bytes()).unwrap());
    let mut forms =
        vec![secret.to_owned(), HEXUPPER.encode(&bytes), secret.chars().rev().collect()];
    for content in [text, &bytes] {
        forms.push(BASE64.encode(content).trim_end_matches('=').to_owned());
        forms.push(BASE64URL_NOPAD.encode(content));
        forms.push(HEXLOWER.encode(content));
    }
    forms
}
