//! Why a request to an object store failed, in the words of this program: the library's own may quote requests.

use crate::error::SourceError;
use crate::store::settings::is_region;
use crate::web_url::WebUrl;

/// Largest answer of a refusal that is read.
pub(super) const MAX_REFUSAL: usize = 64 << 10;

/// The last refusal or failure.
#[derive(Debug)]
pub(super) struct StoreTrouble {
    /// True if the store answers that an object does not exist.
    pub(super) is_missing_object: bool,
    pub(super) error: SourceError,
}

/// What is known of a refusal.
#[derive(Debug)]
pub(super) struct StoreRefusal<'a> {
    pub(super) url: &'a WebUrl,
    pub(super) status: u16,
    /// The region that the store names.
    pub(super) region: Option<&'a str>,
    pub(super) body: &'a [u8],
    /// Whether requests are signed.
    pub(super) is_signed: bool,
}

impl StoreRefusal<'_> {
    pub(super) fn trouble(&self) -> StoreTrouble {
        let code = code_in(self.body);
        let code = code.as_deref();
        let region = self.region.filter(|region| is_region(region));
        let shown = match code {
            Some(code) => format!("{}, {code}", self.status),
            None => self.status.to_string(),
        };
        let problem = match (self.status, region) {
            (300..=400, Some(region)) => {
                format!("the bucket is in the region `{region}` ({shown}): set AWS_REGION to it")
            }
            (300..400, None) => format!(
                "redirects to another place ({shown}), which is not followed: set AWS_ENDPOINT_URL and AWS_REGION to those \
                 of the bucket"
            ),
            (401 | 403, _) if !self.is_signed => format!(
                "asks for credentials ({shown}): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ),
            (401 | 403, _) => format!("refuses the credentials of the environment ({shown})"),
            (404, _) => format!("does not exist ({shown})"),
            (501, _) => format!("cannot do what packages need ({shown})"),
            _ => format!("answers with status {shown}"),
        };
        StoreTrouble {
            is_missing_object: self.status == 404 && code != Some("NoSuchBucket"),
            error: SourceError::Server { url: self.url.named(), problem },
        }
    }
}

/// The code of an error in the XML of a refusal: a word of letters.
fn code_in(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_word =
        (1..=64).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then(|| code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, region: Option<&str>, body: &str, is_signed: bool) -> (bool, String) {
        let (url, _) = WebUrl::parse("https://s3.example/bucket/key?token=hunter2").unwrap();
        let refusal = StoreRefusal { url: &url, status, region, body: body.as_bytes(), is_signed };
        let trouble = refusal.trouble();
        (trouble.is_missing_object, trouble.error.to_string())
    }

    #[test]
    fn refusals_say_what_to_do_and_repeat_nothing_of_strangers() {
        for (status, region, body, is_signed, expected) in [
            (301, Some("eu-west-1"), "", true, "set AWS_REGION to it"),
            (
                400,
                Some("eu-west-1"),
                "<Code>AuthorizationHeaderMalformed</Code>",
                true,
                "`eu-west-1`",
            ),
            (307, Some("x\nhunter2"), "", true, "which is not followed"),
            (403, None, "<Code>AccessDenied</Code>", true, "(403, AccessDenied)"),
            (403, None, "<Code>AccessDenied</Code>", false, "set AWS_ACCESS_KEY_ID"),
            (404, None, "<Code>NoSuchBucket</Code>", true, "does not exist (404, NoSuchBucket)"),
            (503, None, "<Code>Slow\u{1b}hunter2</Code>", true, "status 503"),
            (500, None, "<Code>SlowDown", true, "status 500"),
        ] {
            let (_, text) = told(status, region, body, is_signed);
            assert!(text.contains(expected), "{text}");
            assert!(text.starts_with("https://s3.example/bucket/key: "), "{text}");
            assert!(!text.contains("hunter2") && !text.contains('\u{1b}'), "{text}");
        }
        assert!(told(404, None, "<Code>NoSuchKey</Code>", true).0);
        assert!(told(404, None, "", true).0);
        assert!(!told(404, None, "<Code>NoSuchBucket</Code>", true).0);
    }
}
