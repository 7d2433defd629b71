//! The endpoint of a model: its address, its key, requests and refusals.

use std::fmt;
use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;
use ureq::http::{Response, Uri};

use crate::cli::commands::skills::evals::args::{Api, EvalArgs};
use crate::cli::commands::skills::evals::conversation::{ModelAnswer, Question};
use crate::cli::commands::skills::evals::{anthropic, openai};
use crate::cli::failed::Failed;
use wardian_config::named_variable;
use wardian_vocabulary::client_tls::system_tls;
use wardian_vocabulary::secret_text::SecretText;

/// Maximum size of an answer, in bytes.
const MAX_ANSWER: u64 = 16 << 20;

/// Most characters of a refusal that are shown.
const MAX_REFUSAL: usize = 500;

/// The time for connecting.
const CONNECT: Duration = Duration::from_secs(20);

/// Attempts at a request that a busy endpoint refuses.
const ATTEMPTS: u32 = 5;

/// The longest pause before another attempt.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Statuses after which a request is sent again. Some vendors answer 529 when they are overloaded.
const BUSY: [u16; 6] = [408, 429, 500, 502, 503, 529];

/// Where a model is asked.
pub(super) struct Endpoint {
    agent: Agent,
    address: String,
    api: Api,
    model: String,
    key: Option<SecretText>,
    /// The endpoint knows the older name of the limit of an answer only.
    is_older: AtomicBool,
}

/// Shows no key.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The time of the run is over.
    TooLate,
    /// The endpoint refuses, cannot be reached, or does not answer as its interface does.
    Refused(String),
}

impl Endpoint {
    /// The endpoint of the options. Nothing is sent.
    pub(super) fn open(args: &EvalArgs) -> Result<Self, Failed> {
        let base = args.endpoint.as_deref().unwrap_or_default();
        let key = args.key_env.as_deref().map(key_of).transpose()?;
        let address = address_of(base, args.api).map_err(Failed::usage)?;
        if key.is_some() && address.starts_with("http://") && !is_on_this_machine(&address) {
            return Err(Failed::usage(
                "the key would be sent without encryption: use an `https://` endpoint, or one on this machine",
            ));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("wardian/", env!("CARGO_PKG_VERSION")));
        if address.starts_with("https://") {
            config = config.tls_config(system_tls());
        }
        let is_older = AtomicBool::new(false);
        let model = args.model().to_owned();
        Ok(Self { agent: config.build().into(), address, api: args.api, model, key, is_older })
    }

    /// The whole address of requests.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The model that solves the cases.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Asks the model, and asks again while the endpoint is busy and `deadline` allows it.
    pub(super) fn ask(
        &self,
        question: &Question<'_>,
        deadline: Instant,
    ) -> Result<ModelAnswer, NoAnswer> {
        let mut attempt = 1;
        loop {
            let (status, pause, text) = self.send(question, deadline)?;
            if status == 200 {
                let answer = match self.api {
                    Api::Openai => openai::answer(&text),
                    Api::Anthropic => anthropic::answer(&text),
                };
                let misread = "the endpoint does not answer as its interface does: see `--api`";
                return answer.ok_or_else(|| NoAnswer::Refused(misread.to_owned()));
            }
            let is_other_name = matches!(status, 400 | 422)
                && text.contains("max_completion_tokens")
                && !self.is_older.swap(true, Ordering::Relaxed);
            if is_other_name {
                continue;
            }
            if !BUSY.contains(&status) || attempt >= ATTEMPTS {
                return Err(NoAnswer::Refused(self.refusal(status, &text)));
            }
            let pause = pause.unwrap_or(Duration::from_secs(1 << attempt)).min(MAX_PAUSE);
            if Instant::now() + pause >= deadline {
                return Err(NoAnswer::Refused(self.refusal(status, &text)));
            }
            thread::park_timeout(pause);
            attempt += 1;
        }
    }

    /// Sends a question once: the status, the pause that is asked for, and the text of the answer.
    fn send(
        &self,
        question: &Question<'_>,
        deadline: Instant,
    ) -> Result<(u16, Option<Duration>, String), NoAnswer> {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(NoAnswer::TooLate);
        }
        let body = match self.api {
            Api::Openai => openai::request(question, self.is_older.load(Ordering::Relaxed)),
            Api::Anthropic => anthropic::request(question),
        };
        let request = self.agent.post(&self.address).config().timeout_global(Some(rest)).build();
        let mut request = request.header("content-type", "application/json");
        if self.api == Api::Anthropic {
            request = request.header("anthropic-version", anthropic::VERSION);
        }
        if let Some(key) = &self.key {
            request = match self.api {
                Api::Openai => request.header("authorization", format!("Bearer {}", key.expose())),
                Api::Anthropic => request.header("x-api-key", key.expose()),
            };
        }
        let answer = match request.send(body.to_string().as_bytes()) {
            Ok(answer) => answer,
            Err(ureq::Error::Timeout(_)) => return Err(NoAnswer::TooLate),
            Err(fault) => {
                return Err(NoAnswer::Refused(format!(
                    "{} cannot be called: {fault}",
                    self.address
                )));
            }
        };
        let (status, pause) = (answer.status().as_u16(), pause_of(&answer));
        let mut text = Vec::new();
        let content = answer.into_body().into_reader().take(MAX_ANSWER).read_to_end(&mut text);
        content.map_err(|fault| NoAnswer::Refused(format!("the answer broke off: {fault}")))?;
        Ok((status, pause, String::from_utf8_lossy(&text).into_owned()))
    }

    /// What is said of a refusal: some endpoints repeat the key in it.
    fn refusal(&self, status: u16, text: &str) -> String {
        let said: Option<Value> = serde_json::from_str(text).ok();
        let said = said.as_ref().and_then(|said| {
            let error = said.get("error")?;
            error.get("message").unwrap_or(error).as_str()
        });
        let mut said: String = said.unwrap_or(text).trim().chars().take(MAX_REFUSAL).collect();
        if let Some(key) = &self.key {
            said = said.replace(key.expose(), "[key]");
        }
        format!("the endpoint refuses with status {status}: {said}")
    }
}

/// The key in an environment variable.
fn key_of(name: &str) -> Result<SecretText, Failed> {
    let text = named_variable(name).map(|text| text.trim().to_owned());
    let text = text.filter(|text| !text.is_empty());
    let missing = || Failed::usage(format!("the environment variable `{name}` has no key"));
    let text = text.ok_or_else(missing)?;
    if !text.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Failed::usage(format!("the key in `{name}` has characters that no key has")));
    }
    Ok(text.into())
}

/// The address of requests to an interface at `base`.
fn address_of(base: &str, api: Api) -> Result<String, String> {
    let base = base.trim_end_matches('/');
    let uri: Uri = base.parse().map_err(|_not| format!("`{base}` is not a URL"))?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
    if !is_http || uri.query().is_some() {
        return Err(format!("`{base}` is not a URL such as `http://localhost:11434/v1`"));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("a URL with a password is refused: name a variable with `--key-env`".to_owned());
    }
    Ok(match api {
        Api::Openai => format!("{base}/chat/completions"),
        Api::Anthropic if base.ends_with("/v1") => format!("{base}/messages"),
        Api::Anthropic => format!("{base}/v1/messages"),
    })
}

fn is_on_this_machine(address: &str) -> bool {
    let uri: Option<Uri> = address.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

fn pause_of<T>(answer: &Response<T>) -> Option<Duration> {
    let asked = answer.headers().get("retry-after")?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_follows_the_custom_of_each_interface() {
        for (base, api, address) in [
            (
                "http://localhost:11434/v1/",
                Api::Openai,
                "http://localhost:11434/v1/chat/completions",
            ),
            ("https://a.example", Api::Anthropic, "https://a.example/v1/messages"),
            ("https://a.example/v1", Api::Anthropic, "https://a.example/v1/messages"),
        ] {
            assert_eq!(address_of(base, api).as_deref(), Ok(address));
        }
        for wrong in ["", "localhost:1", "ftp://a.example", "https://u:p@a.example", "https://a?b"]
        {
            assert!(address_of(wrong, Api::Openai).is_err(), "{wrong}");
        }
    }

    #[test]
    fn this_machine_is_told_from_others() {
        for here in ["http://localhost:1/v1", "http://127.0.0.9/v1", "http://[::1]:8/v1"] {
            assert!(is_on_this_machine(here), "{here}");
        }
        for other in ["http://localhost.example/v1", "http://10.0.0.1/v1", "http://a.example"] {
            assert!(!is_on_this_machine(other), "{other}");
        }
    }
}
