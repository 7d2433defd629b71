//! Why secrets cannot be handed out.

use std::io;
use std::path::PathBuf;

/// Why a run cannot get its secrets. `Display` is for the caller: it names secrets and providers,
/// no places and no values.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// No provider has them.
    #[error(
        "the server has no secret {}; it searched {}",
        .names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        quoted_all(.looked_in)
    )]
    Missing {
        /// The names.
        names: Vec<String>,
        /// The providers that were asked.
        looked_in: Vec<&'static str>,
    },
    /// The value breaks a rule.
    #[error("the secret `{name}` of the provider `{provider}` cannot be used: it {fault}")]
    Value {
        /// The name.
        name: String,
        /// The provider.
        provider: &'static str,
        /// The rule.
        fault: ValueFault,
    },
    /// The provider failed.
    #[error("the secret `{name}` cannot be read: the provider `{provider}` failed")]
    Provider {
        /// The name.
        name: String,
        /// The provider.
        provider: &'static str,
        /// The reason, for the operator.
        #[source]
        fault: ProviderFault,
    },
    /// The value has no form that can be brokered.
    #[error("the secret `{name}` cannot be brokered: {fault}")]
    NotBrokered {
        /// The name.
        name: String,
        /// The rule.
        fault: &'static str,
    },
    /// All values together are too large.
    #[error("the secrets of the skill have more than 64 KiB in total")]
    TooMuch,
}

fn quoted_all(providers: &[&str]) -> String {
    if providers.is_empty() {
        return "no provider, because none has secrets of tenants".to_owned();
    }
    let providers: Vec<String> = providers.iter().map(|name| format!("`{name}`")).collect();
    providers.join(", ")
}

/// The rule that a value breaks, as the end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueFault {
    /// It has no characters.
    #[error("is empty")]
    Empty,
    /// It is too long.
    #[error("is larger than 32 KiB")]
    TooLong,
    /// It is not UTF-8.
    #[error("is not text in UTF-8")]
    NotText,
    /// It has a zero byte, which environment variables cannot have.
    #[error("has a zero byte")]
    ZeroByte,
}

/// Why a provider failed, for the operator: texts may have paths, and never values.
#[derive(Debug, thiserror::Error)]
pub enum ProviderFault {
    /// A value breaks a rule.
    #[error("the value {0}")]
    Value(ValueFault),
    /// A file or folder cannot be read.
    #[error("cannot read {}", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {fault}", .path.display())]
    WrongFile {
        /// The file.
        path: PathBuf,
        /// The rule that it breaks.
        fault: String,
    },
    /// The command cannot be started or watched.
    #[error("the command cannot be run")]
    CommandStart(#[source] io::Error),
    /// The command failed. What it said is not shown: it may hold the value.
    #[error(
        "the command failed with {status}; its output is not shown, since it may contain the value"
    )]
    CommandFailed {
        /// Its exit status.
        status: String,
    },
    /// The command failed for another run, which this one waited for.
    #[error("{why}")]
    CommandFailedBefore {
        /// The reason.
        why: String,
    },
    /// The command took too long.
    #[error("the command was stopped: it took longer than `secrets.command_timeout`")]
    CommandLate,
}
