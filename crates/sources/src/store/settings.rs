//! How object stores are reached: the variables that other clients of S3 read, too.

use std::fs::File;
use std::io::Read as _;

use crate::error::SourceError;
use crate::store::credentials_file::{self, DEFAULT_PROFILE};
use crate::web_url::WebUrl;
use wardian_vocabulary::secret_text::SecretText;

/// The variables of the environment that say how object stores are reached.
pub const STORE_VARIABLES: [&str; 13] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ENDPOINT_URL_STS",
];

/// The region of a store that has none.
const DEFAULT_REGION: &str = "us-east-1";

/// Largest file with the token of an identity.
const MAX_TOKEN: u64 = 64 << 10;

/// The variables that are set, by their names.
#[derive(Debug, Clone, Default)]
pub struct StoreSettings {
    variables: Vec<(&'static str, SecretText)>,
}

/// Who asks a store.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoreIdentity<'a> {
    /// A key, and a token if it is valid for a time.
    Key { id: &'a str, secret: &'a str, token: Option<&'a str> },
    /// A role that is taken on with the token in a file.
    Role { arn: &'a str, token_file: &'a str, session: Option<&'a str> },
    /// Nobody: requests are not signed.
    Nobody,
}

impl StoreSettings {
    /// Those of these variables, each one of [`STORE_VARIABLES`].
    #[must_use]
    pub const fn new(variables: Vec<(&'static str, SecretText)>) -> Self {
        Self { variables }
    }

    /// The same with the key in the file that `AWS_SHARED_CREDENTIALS_FILE` names, unless there is a key already.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no key.
    pub fn with_credentials_file(mut self) -> Result<Self, SourceError> {
        let has_key = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| self.find(name));
        if let ([None, None], Some(path)) = (has_key, self.find("AWS_SHARED_CREDENTIALS_FILE")) {
            let profile = self.find("AWS_PROFILE").unwrap_or(DEFAULT_PROFILE);
            let found = credentials_file::read(path, profile)?;
            self.variables.extend(found);
        }
        Ok(self)
    }

    /// The address of the store, if it is not that of AWS.
    ///
    /// # Errors
    ///
    /// `AWS_ENDPOINT_URL` is not the address of a server.
    pub fn endpoint(&self) -> Result<Option<WebUrl>, SourceError> {
        self.address(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])
    }

    /// The address of the server that gives credentials for roles.
    pub(crate) fn token_server(&self) -> Result<WebUrl, SourceError> {
        let named = self.address(&["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"])?;
        match named {
            Some(url) => Ok(url),
            None => Ok(WebUrl::parse(&format!("https://sts.{}.amazonaws.com", self.region()?))?.0),
        }
    }

    /// The region, which is a part of signatures and of AWS's addresses.
    pub(crate) fn region(&self) -> Result<&str, SourceError> {
        let region = self.find("AWS_REGION").or_else(|| self.find("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or(DEFAULT_REGION);
        if is_region(region) {
            return Ok(region);
        }
        let wrong = "AWS_REGION is no name of a region, such as `eu-central-1`";
        Err(SourceError::NotASource(wrong.to_owned()))
    }

    /// Who asks.
    pub(crate) fn identity(&self) -> Result<StoreIdentity<'_>, SourceError> {
        let (id, secret) = (self.find("AWS_ACCESS_KEY_ID"), self.find("AWS_SECRET_ACCESS_KEY"));
        match (id, secret) {
            (Some(id), Some(secret)) => {
                let token = self.find("AWS_SESSION_TOKEN");
                let is_sendable = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
                if !is_sendable(id) || !token.is_none_or(is_sendable) {
                    return Err(SourceError::NotASource(
                        "AWS_ACCESS_KEY_ID or AWS_SESSION_TOKEN has characters that cannot be sent"
                            .to_owned(),
                    ));
                }
                return Ok(StoreIdentity::Key { id, secret, token });
            }
            (None, None) => {}
            _ => {
                return Err(SourceError::NotASource(
                    "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set: set both, or none".to_owned(),
                ));
            }
        }
        match (self.find("AWS_ROLE_ARN"), self.find("AWS_WEB_IDENTITY_TOKEN_FILE")) {
            (Some(arn), Some(token_file)) => {
                ensure_readable(token_file)?;
                let session = self.find("AWS_ROLE_SESSION_NAME");
                Ok(StoreIdentity::Role { arn, token_file, session })
            }
            _ => Ok(StoreIdentity::Nobody),
        }
    }

    fn address(&self, names: &[&str]) -> Result<Option<WebUrl>, SourceError> {
        let found = names.iter().find_map(|name| Some((name, self.find(name)?)));
        let Some((name, text)) = found else { return Ok(None) };
        let wrong = |why: &str| SourceError::NotASource(format!("{name}: {why}"));
        let (url, credentials) = WebUrl::parse(text).map_err(|fault| wrong(&fault.to_string()))?;
        if credentials.is_some() {
            return Err(wrong(
                "it has credentials: give them in AWS_ACCESS_KEY_ID and \
                              AWS_SECRET_ACCESS_KEY",
            ));
        }
        if url.path != "/" {
            return Err(wrong("it has a path or a query: write `https://HOST[:PORT]`"));
        }
        Ok(Some(url))
    }

    /// The text of a variable that is set and not empty.
    fn find(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| text.expose()).filter(|text| !text.is_empty())
    }
}

/// True for what can be the name of a region. It becomes a part of a host.
pub(crate) fn is_region(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=40).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Refuses a file that has no token, before the library reads it.
fn ensure_readable(path: &str) -> Result<(), SourceError> {
    let named = |cause| SourceError::File { path: path.to_owned(), cause };
    let mut token = String::new();
    let file = File::open(path).map_err(named)?;
    let most = MAX_TOKEN.saturating_add(1);
    file.take(most).read_to_string(&mut token).map_err(named)?;
    if u64::try_from(token.len()).is_ok_and(|size| size <= MAX_TOKEN) {
        return Ok(());
    }
    Err(SourceError::TooLarge(format!("the token in {path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&'static str, &str)]) -> StoreSettings {
        let texts =
            variables.iter().map(|(name, text)| (*name, SecretText::from((*text).to_owned())));
        StoreSettings::new(texts.collect())
    }

    #[test]
    fn the_environment_says_which_store_and_who_asks() {
        let plain = settings(&[]);
        assert!(plain.endpoint().unwrap().is_none());
        assert_eq!(plain.region().unwrap(), "us-east-1");
        assert_eq!(
            plain.token_server().unwrap().to_string(),
            "https://sts.us-east-1.amazonaws.com/"
        );
        assert!(matches!(plain.identity().unwrap(), StoreIdentity::Nobody));
        let own = settings(&[
            ("AWS_ENDPOINT_URL", "https://all.example"),
            ("AWS_ENDPOINT_URL_S3", "https://s3.example:9000/"),
            ("AWS_REGION", ""),
            ("AWS_DEFAULT_REGION", "eu-1"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ]);
        assert_eq!(own.endpoint().unwrap().unwrap().origin(), "https://s3.example:9000");
        assert_eq!(own.token_server().unwrap().origin(), "https://all.example");
        assert_eq!(own.region().unwrap(), "eu-1");
        let identity = own.identity().unwrap();
        assert!(matches!(identity, StoreIdentity::Key { id: "id", secret: "secret", token: None }));
        assert!(!format!("{own:?}").contains("secret\""), "{own:?}");
    }

    #[test]
    fn a_file_has_the_key_unless_the_environment_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        let text = "[default]\naws_access_key_id=file\naws_secret_access_key=f\n[two]\naws_access_key_id=two\n\
                    aws_secret_access_key=t\n";
        std::fs::write(&path, text).unwrap();
        let file = ("AWS_SHARED_CREDENTIALS_FILE", path.to_str().unwrap());
        let id_of = |variables: &[(&'static str, &str)]| {
            let settings = settings(variables).with_credentials_file().unwrap();
            match settings.identity().unwrap() {
                StoreIdentity::Key { id, .. } => id.to_owned(),
                other => format!("{other:?}"),
            }
        };
        assert_eq!(id_of(&[file]), "file");
        assert_eq!(id_of(&[file, ("AWS_PROFILE", "two")]), "two");
        let own = [file, ("AWS_ACCESS_KEY_ID", "own"), ("AWS_SECRET_ACCESS_KEY", "x")];
        assert_eq!(id_of(&own), "own");
        assert!(settings(&[file, ("AWS_PROFILE", "three")]).with_credentials_file().is_err());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_without_secrets() {
        for (variables, expected) in [
            (&[("AWS_ENDPOINT_URL", "http://a.example")][..], "only for this machine"),
            (&[("AWS_ENDPOINT_URL", "https://id:hunter2@a.example")], "has credentials"),
            (&[("AWS_ENDPOINT_URL", "https://a.example/x?hunter2")], "has a path"),
            (&[("AWS_REGION", "x.evil.example/")], "no name of a region"),
            (&[("AWS_ACCESS_KEY_ID", "hunter2")], "only one is set"),
            (
                &[("AWS_ACCESS_KEY_ID", "hunter2\n"), ("AWS_SECRET_ACCESS_KEY", "x")],
                "cannot be sent",
            ),
            (
                &[("AWS_ROLE_ARN", "x"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/no/such/file")],
                "/no/such/file",
            ),
        ] {
            let settings = settings(variables);
            let refused =
                [settings.endpoint().err(), settings.region().err(), settings.identity().err()];
            let refused = refused.into_iter().flatten().next().unwrap().to_string();
            assert!(refused.contains(expected), "{refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }
}
