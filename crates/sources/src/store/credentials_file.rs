//! The file with credentials that other clients of S3 read, too: `AWS_SHARED_CREDENTIALS_FILE`.
//!
//! ```text
//! [default]
//! aws_access_key_id = AKIDEXAMPLE
//! aws_secret_access_key = …
//! ```
//!
//! It is read if the variable names it. No file is looked for in the home folder: a server has the credentials that
//! its operator gave it, and no others.

use std::fs::File;
use std::io::Read as _;

use zeroize::Zeroizing;

use crate::error::SourceError;
use wardian_vocabulary::secret_text::SecretText;

/// Largest file that is read.
const MAX_FILE: u64 = 256 << 10;

/// The profile that is meant unless `AWS_PROFILE` names one.
pub(super) const DEFAULT_PROFILE: &str = "default";

/// The variables that a profile stands for, by its names for them.
const NAMES: [(&str, &str); 3] = [
    ("aws_access_key_id", "AWS_ACCESS_KEY_ID"),
    ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
    ("aws_session_token", "AWS_SESSION_TOKEN"),
];

/// The variables of a profile in a file.
pub(super) fn read(
    path: &str,
    profile: &str,
) -> Result<Vec<(&'static str, SecretText)>, SourceError> {
    let unreadable = |cause| SourceError::File { path: path.to_owned(), cause };
    let mut text = Zeroizing::new(String::new());
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE.saturating_add(1)).read_to_string(&mut text).map_err(unreadable)?;
    if u64::try_from(text.len()).is_ok_and(|size| size > MAX_FILE) {
        return Err(SourceError::TooLarge(format!("the credentials in {path}")));
    }
    let found = variables_of(&text, profile);
    if found.len() < 2 {
        return Err(SourceError::NotASource(format!(
            "AWS_SHARED_CREDENTIALS_FILE: {path} has no `aws_access_key_id` and `aws_secret_access_key` in the \
             section `[{profile}]`; AWS_PROFILE names another one"
        )));
    }
    Ok(found)
}

fn variables_of(text: &str, profile: &str) -> Vec<(&'static str, SecretText)> {
    let (mut found, mut is_meant) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_meant = section.trim() == profile;
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| is_meant) else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let known = NAMES.iter().find(|(known, _)| *known == name);
        if let Some((_, variable)) = known.filter(|_| !value.is_empty()) {
            found.retain(|(other, _)| other != variable);
            found.push((*variable, SecretText::from(value.to_owned())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# ours\n[default]\naws_access_key_id = AKID1\naws_secret_access_key=a/b=c\n\
                        region = eu-1\n\n[ other ]\nAWS_ACCESS_KEY_ID=AKID2\naws_secret_access_key = hunter2\n\
                        aws_session_token = token\n[empty]\naws_access_key_id =\n";

    fn texts(profile: &str) -> Vec<(&'static str, String)> {
        let found = variables_of(FILE, profile);
        found.iter().map(|(name, text)| (*name, text.expose().to_owned())).collect()
    }

    #[test]
    fn a_profile_is_read_as_variables() {
        let id = |id: &str| ("AWS_ACCESS_KEY_ID", id.to_owned());
        let secret = |secret: &str| ("AWS_SECRET_ACCESS_KEY", secret.to_owned());
        assert_eq!(texts("default"), [id("AKID1"), secret("a/b=c")]);
        let token = ("AWS_SESSION_TOKEN", "token".to_owned());
        assert_eq!(texts("other"), [id("AKID2"), secret("hunter2"), token]);
        assert_eq!(texts("empty"), []);
        assert_eq!(texts("none"), []);
    }

    #[test]
    fn what_is_missing_is_named_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        std::fs::write(&path, FILE).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(read(path, "other").unwrap().len(), 3);
        let refused = read(path, "empty").unwrap_err().to_string();
        assert!(refused.contains("`[empty]`") && !refused.contains("hunter2"), "{refused}");
        assert!(matches!(read("/no/such/file", "x"), Err(SourceError::File { .. })));
        assert!(matches!(read("/dev/zero", "x"), Err(SourceError::TooLarge(_))));
    }
}
