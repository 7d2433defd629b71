//! The failure of a command, and its exit code.

use std::error::Error;
use std::{fmt, io};

use crate::assembly::AssemblyError;
use crate::cli::exit_code::Exit;
use crate::cli::terminal::output::shown;
use wardian_config::ConfigError;
use wardian_edges::http::HttpError;
use wardian_engine::EngineError;
use wardian_formats::protocol::CallError;
use wardian_formats::provenance::ProvenanceError;
use wardian_service::ServiceError;
use wardian_skills::registry::RegistryError;
use wardian_stores::blobs::BlobError;
use wardian_stores::database::DatabaseError;
use wardian_stores::tenants::InvalidKey;
use wardian_vocabulary::error::{CauseChain, ErrorKind};
use wardian_vocabulary::ids::InvalidId;

/// A message for the user, with its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) exit: Exit,
    message: String,
}

impl Failed {
    /// The arguments or the configuration are wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::WrongUsage, message: message.into() }
    }

    /// The request is valid but cannot be satisfied.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self { exit: Exit::GuestFailed, message: message.into() }
    }

    /// A file or folder that the user named cannot be used.
    pub(crate) fn named(what: impl fmt::Display, error: &(dyn Error + 'static)) -> Self {
        Self::usage(format!("{what}: {}", CauseChain(error)))
    }

    /// The same, with all control characters of its message escaped: a part of it may be from a file of
    /// somebody else.
    pub(crate) fn harmless(self) -> Self {
        Self { message: shown(&self.message), ..self }
    }

    /// Wardian or the machine failed.
    pub(crate) fn ours(error: &(dyn Error + 'static)) -> Self {
        Self { exit: Exit::OurFault, message: CauseChain(error).to_string() }
    }

    /// Wardian or the machine failed, and there is no underlying error.
    pub(crate) fn because(message: impl Into<String>) -> Self {
        Self { exit: Exit::OurFault, message: message.into() }
    }

    /// Wardian or the machine failed to do `what`.
    pub(crate) fn at(what: &str, error: &(dyn Error + 'static)) -> Self {
        Self { exit: Exit::OurFault, message: format!("could not {what}: {}", CauseChain(error)) }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ConfigError> for Failed {
    fn from(error: ConfigError) -> Self {
        Self::usage(CauseChain(&error).to_string())
    }
}

impl From<CallError> for Failed {
    fn from(error: CallError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<InvalidId> for Failed {
    fn from(error: InvalidId) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<ServiceError> for Failed {
    fn from(error: ServiceError) -> Self {
        let exit = match error.kind() {
            ErrorKind::Internal | ErrorKind::Overloaded => Exit::OurFault,
            _ => Exit::WrongUsage,
        };
        // The user is the operator here and may see the causes.
        Self { exit, message: CauseChain(&error).to_string() }
    }
}

/// An unreadable folder of skills, a database that cannot be used and a lock of native modules that cannot be
/// merged are errors of the settings. All
/// others are Wardian's.
impl From<AssemblyError> for Failed {
    fn from(error: AssemblyError) -> Self {
        match error {
            AssemblyError::Registry(error) => error.into(),
            AssemblyError::Database(error) => error.into(),
            AssemblyError::Network(error) => Self::usage(CauseChain(&error).to_string()),
            AssemblyError::Traces(error) => Self::usage(CauseChain(&error).to_string()),
            AssemblyError::TokenKeys(error) => Self::usage(CauseChain(&error).to_string()),
            error @ AssemblyError::Engine(EngineError::NativeLock(_) | EngineError::Merge(_)) => {
                Self::usage(CauseChain(&error).to_string())
            }
            error @ (AssemblyError::TrustedKey { .. }
            | AssemblyError::ObjectStore(_)
            | AssemblyError::FleetKey { .. }) => Self::usage(error.to_string()),
            AssemblyError::Blobs(BlobError::InUse) => Self::usage(
                "another server or a command of `wardian blobs` is using the blob store: stop it, \
                or use another folder with `--data-dir` (`data_dir`) or `blobs.folder`",
            ),
            error => Self::ours(&error),
        }
    }
}

impl From<ProvenanceError> for Failed {
    fn from(error: ProvenanceError) -> Self {
        Self::usage(CauseChain(&error).to_string())
    }
}

impl From<DatabaseError> for Failed {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Full(_) | DatabaseError::Failed(_) => Self::ours(&error),
            _ => Self::usage(CauseChain(&error).to_string()),
        }
    }
}

impl From<InvalidKey> for Failed {
    fn from(error: InvalidKey) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<RegistryError> for Failed {
    fn from(error: RegistryError) -> Self {
        match &error {
            RegistryError::Root(_) => Self::usage(format!(
                "{}; create the folder, or give others with `--skills` (`skills.roots`)",
                CauseChain(&error)
            )),
            RegistryError::TenantRoot { .. } => Self::usage(format!(
                "{}; create the folder, or set others (`tenants.skills`)",
                CauseChain(&error)
            )),
            RegistryError::TenantRootInCommon { .. } => Self::usage(error.to_string()),
            _ => Self::ours(&error),
        }
    }
}

impl From<HttpError> for Failed {
    fn from(error: HttpError) -> Self {
        let advice = match &error {
            HttpError::Listen { cause, setting, .. } => {
                let flag = format!("`--{}` (`{setting}`)", setting.replace('_', "-"));
                match cause.kind() {
                    io::ErrorKind::AddrInUse => format!(
                        "; another program listens there: stop it, or choose another address with \
                         {flag}"
                    ),
                    io::ErrorKind::AddrNotAvailable => {
                        format!("; this machine has no such address: choose another with {flag}")
                    }
                    io::ErrorKind::PermissionDenied => format!(
                        "; choose a port from 1024 on with {flag}, or start the server with the \
                         capability `CAP_NET_BIND_SERVICE`"
                    ),
                    _ => return Self::ours(&error),
                }
            }
            HttpError::Tls(_) => String::new(),
        };
        Self::usage(format!("{}{advice}", CauseChain(&error)))
    }
}

/// Errors that are always Wardian's or the machine's.
macro_rules! ours {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Failed {
            fn from(error: $error) -> Self {
                Self::ours(&error)
            }
        })+
    };
}

ours!(EngineError, BlobError);

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::protocol::params_error::ParamsError;

    #[test]
    fn mistakes_of_the_user_and_faults_of_ours_end_differently() {
        let mistake = ServiceError::from(ParamsError::wrong("name", "a name", "7"));
        assert_eq!(Failed::from(mistake).exit, Exit::WrongUsage);
        let cause = io::Error::other("disk full");
        let fault = BlobError::Storage { what: "write to", cause };
        let failed = Failed::from(ServiceError::from(fault));
        assert_eq!(failed.exit, Exit::OurFault);
        assert_eq!(failed.to_string(), "could not write to the blob store: disk full");
    }
}
