//! How the guest of a session is made, as the row of the session keeps it.

use serde::{Deserialize, Serialize};

use crate::error::ServiceError;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::protocol::methods::execution::RequestedLimits;
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_vocabulary::ids::Digest;

/// What all cells of a session have in common: what is mounted, and the limits on what lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionSetup {
    /// `name@version#digest` of each skill.
    pub(crate) skills: Vec<String>,
    /// The blobs, as the first call named them: their order and their paths are part of the state.
    pub(crate) blobs: Vec<InputBlob>,
    /// The layers of packages.
    pub(crate) layers: Vec<Digest>,
    /// The limit on memory.
    pub(crate) memory_bytes: u64,
    /// The limit on the files of the workspace.
    pub(crate) workspace_bytes: u64,
    /// The limit on instructions of a cell that names none. Without it, cells do not count them.
    pub(crate) fuel: Option<u64>,
    /// True if the session is that of one run, which waits for its caller.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_run: bool,
}

impl SessionSetup {
    /// Notes what is the same for all cells of a session whose first one has these limits.
    pub(crate) fn of(
        skills: Vec<String>,
        blobs: Vec<InputBlob>,
        layers: Vec<Digest>,
        limits: &RunLimits,
    ) -> Self {
        let (memory_bytes, workspace_bytes) = (limits.memory.as_u64(), limits.workspace.as_u64());
        let fuel = limits.fuel.map(|fuel| fuel.0);
        Self { skills, blobs, layers, memory_bytes, workspace_bytes, fuel, is_run: false }
    }

    /// The limits that a cell asks for, with those that are the session's.
    ///
    /// # Errors
    ///
    /// The cell asks for another limit than the session has.
    pub(crate) fn limits_for(
        &self,
        requested: RequestedLimits,
    ) -> Result<RequestedLimits, ServiceError> {
        for (name, asked, own) in [
            ("limits.memory_bytes", requested.memory_bytes, self.memory_bytes),
            ("limits.workspace_bytes", requested.workspace_bytes, self.workspace_bytes),
        ] {
            if let Some(asked) = asked.filter(|asked| *asked != own) {
                let expected =
                    format!("left out, or the {own} of the session: its first call sets it");
                return Err(ParamsError::wrong(name, expected, asked.to_string()).into());
            }
        }
        if let Some(fuel) = requested.fuel.filter(|_| self.fuel.is_none()) {
            let expected = "left out: the first call of a session decides whether fuel is counted";
            return Err(ParamsError::wrong("limits.fuel", expected, fuel.to_string()).into());
        }
        Ok(RequestedLimits {
            memory_bytes: Some(self.memory_bytes),
            workspace_bytes: Some(self.workspace_bytes),
            fuel: requested.fuel.or(self.fuel),
            ..requested
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::protocol::methods::input_blob::BlobAtPath;
    use wardian_vocabulary::units::Fuel;

    fn setup(fuel: Option<Fuel>) -> SessionSetup {
        let limits = RunLimits { fuel, ..RunLimits::DEFAULT };
        SessionSetup::of(vec!["a@1.0.0#00".to_owned()], Vec::new(), Vec::new(), &limits)
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let setup = setup(Some(Fuel(7)));
        let text = serde_json::to_string(&setup).unwrap();
        assert_eq!(serde_json::from_str::<SessionSetup>(&text).unwrap(), setup);
        let at_path = BlobAtPath { blob: "blob:a".to_owned(), path: "a.csv".to_owned() };
        let blobs = vec![InputBlob::Id("blob:b".to_owned()), InputBlob::AtPath(at_path)];
        let setup = SessionSetup { blobs, ..setup };
        let text = serde_json::to_string(&setup).unwrap();
        assert!(text.contains(r#""blobs":["blob:b",{"blob":"blob:a","path":"a.csv"}]"#), "{text}");
        assert_eq!(serde_json::from_str::<SessionSetup>(&text).unwrap(), setup);
    }

    #[test]
    fn cells_have_the_lasting_limits_of_their_session() {
        let setup = setup(None);
        let own = RequestedLimits { memory_bytes: Some(setup.memory_bytes), ..<_>::default() };
        for asked in [RequestedLimits::default(), own] {
            let limits = setup.limits_for(asked).unwrap();
            assert_eq!(limits.memory_bytes, Some(setup.memory_bytes));
            assert_eq!(limits.workspace_bytes, Some(setup.workspace_bytes));
        }
        let timeout = RequestedLimits { timeout_ms: Some(5), ..RequestedLimits::default() };
        assert_eq!(setup.limits_for(timeout).unwrap().timeout_ms, Some(5), "time is the cell's");
    }

    #[test]
    fn a_cell_cannot_change_what_lasts() {
        let other = |change: fn(&mut RequestedLimits)| {
            let mut limits = RequestedLimits::default();
            change(&mut limits);
            setup(None).limits_for(limits).unwrap_err().to_string()
        };
        assert!(other(|limits| limits.memory_bytes = Some(1)).contains("limits.memory_bytes"));
        assert!(
            other(|limits| limits.workspace_bytes = Some(1)).contains("limits.workspace_bytes")
        );
        assert!(other(|limits| limits.fuel = Some(1)).contains("limits.fuel"));
        let fuel = RequestedLimits { fuel: Some(9), ..RequestedLimits::default() };
        let counting = setup(Some(Fuel(7)));
        assert_eq!(counting.limits_for(fuel).unwrap().fuel, Some(9));
        assert_eq!(counting.limits_for(RequestedLimits::default()).unwrap().fuel, Some(7));
    }
}
