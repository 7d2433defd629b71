//! How the guest of a session is made, as the row of the session keeps it, and what calls cannot ask of
//! sessions.

use std::io;

use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::prepare::limits::{LimitPolicy, UNLIMITED};
use crate::sessions::reproducible::session_seed::SessionSeed;
use wardian_dispatch::PackContent;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::protocol::methods::execution::{
    ReproducibleParam, RequestedLimits, RunCodeParams,
};
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_sessions::{ForkParts, SessionsError, StoredSession, UnsealedPack};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{CheckpointId, Digest};
use wardian_vocabulary::units::ByteCount;

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
    /// What clocks and randomness follow from; `None` if they are those of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reproducible: Option<SessionSeed>,
    /// True if its program is that of its only skill, with the rights of the skill.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) runs_skill: bool,
    /// True if the session is that of one run, which waits for its caller.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_run: bool,
}

impl SessionSetup {
    /// Notes what is the same for all cells of a session whose first one has these limits.
    pub(crate) fn of(
        (skills, blobs, layers): (Vec<String>, Vec<InputBlob>, Vec<Digest>),
        limits: &RunLimits,
        reproducible: Option<SessionSeed>,
    ) -> Self {
        let (memory_bytes, workspace_bytes) = (limits.memory.as_u64(), limits.workspace.as_u64());
        // Reproducible cells count it without a limit, too.
        let fuel = limits.fuel.filter(|fuel| *fuel != UNLIMITED).map(|fuel| fuel.0);
        Self {
            skills,
            blobs,
            layers,
            memory_bytes,
            workspace_bytes,
            fuel,
            reproducible,
            runs_skill: false,
            is_run: false,
        }
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
        let counts = self.fuel.is_some() || self.reproducible.is_some();
        if let Some(fuel) = requested.fuel.filter(|_| !counts) {
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

/// The limits of a new session that asks for these.
pub(super) fn limits_of_session(
    policy: &LimitPolicy,
    caller: &Caller,
    requested: &RequestedLimits,
    seed: Option<&SessionSeed>,
) -> Result<RunLimits, ServiceError> {
    let asked = seed.map(|_| ReproducibleParam::Flag(true));
    Ok(policy.for_caller(caller.limits).for_reproducible(asked).resolve(requested)?)
}

/// The limits of a cell that asks for these.
pub(super) fn limits_of_cell(
    policy: &LimitPolicy,
    caller: &Caller,
    (session, setup): (&StoredSession, &SessionSetup),
    requested: RequestedLimits,
) -> Result<RunLimits, ServiceError> {
    let rules = policy.for_caller(caller.limits);
    let with_own = setup.limits_for(requested)?;
    // What the caller asks for is the caller's mistake; what the session has may be beyond what is
    // allowed by now.
    rules.resolve(&requested)?;
    let limits = rules.resolve(&with_own);
    let counts = |limits: &RunLimits| {
        setup.reproducible.is_some() || limits.fuel.is_some() == setup.fuel.is_some()
    };
    limits.ok().filter(counts).ok_or_else(|| {
        let reason = "the server's limits on memory, files or fuel have changed since the session was \
                      made";
        unusable(session, reason)
    })
}

/// How the guest of a session is made.
pub(crate) fn setup_of(session: &StoredSession) -> Result<SessionSetup, ServiceError> {
    serde_json::from_str(&session.setup).map_err(|_other_version| {
        unusable(session, "it was made by another version of this server")
    })
}

/// True for a session that ends with its run.
pub(super) fn is_of_run(session: &StoredSession) -> bool {
    setup_of(session).is_ok_and(|setup| setup.is_run)
}

/// The bytes that the workspace of a session may have.
pub(super) fn workspace_of(session: &StoredSession) -> Result<ByteCount, ServiceError> {
    Ok(ByteCount::bytes(setup_of(session)?.workspace_bytes))
}

/// The error for a session that cannot go on here, for this reason.
pub(super) fn unusable(session: &StoredSession, reason: &str) -> ServiceError {
    match session.head.clone() {
        Some(checkpoint) => ServiceError::StateUnusable { checkpoint, reason: reason.to_owned() },
        None => SessionsError::NotFound { session: session.id.clone() }.into(),
    }
}

/// What forks of a session have for themselves.
pub(super) fn parts_of_fork(
    parent: &StoredSession,
    checkpoint: Option<&CheckpointId>,
    seed: Option<u64>,
) -> Result<ForkParts, ServiceError> {
    let setup = setup_of(parent)?;
    let Some(own) = &setup.reproducible else {
        if let Some(seed) = seed {
            let expected = "left out: the session is not reproducible";
            return Err(ParamsError::wrong("seed", expected, seed.to_string()).into());
        }
        return Ok(ForkParts::default());
    };
    // Without a checkpoint there is no fork.
    let at = checkpoint.or(parent.head.as_ref());
    let seeded = at.zip(seed).map(|(at, seed)| own.of_fork(seed, at.clone())).transpose()?;
    let setup = seeded.map(|seed| SessionSetup { reproducible: Some(seed), ..setup.clone() });
    let setup = setup.map(|setup| serde_json::to_string(&setup)).transpose();
    let setup = setup.map_err(ServiceError::Unserialisable)?;
    Ok(ForkParts { setup, has_cells: true })
}

/// Refuses code in the session of a run that waits for its caller.
pub(super) fn refuse_other_program(session: &StoredSession) -> Result<(), ServiceError> {
    if is_of_run(session) {
        let expected = "a session that a call with `session` has begun: this one is that of a run";
        return Err(ParamsError::wrong("session", expected, session.id.to_string()).into());
    }
    Ok(())
}

/// Refuses parameters that a cell cannot have.
pub(super) fn refuse_what_cells_have_not(params: &RunCodeParams) -> Result<(), ServiceError> {
    for (name, is_set) in [
        ("entrypoint", params.entrypoint.is_some()),
        ("args", params.args.is_some()),
        ("detach", params.detach),
        ("idempotency_key", params.idempotency_key.is_some()),
    ] {
        if is_set {
            return Err(
                ParamsError::wrong(name, "left out in a call with `session`", "a value").into()
            );
        }
    }
    Ok(())
}

/// Refuses a seed in a session that has begun.
pub(super) fn refuse_other_seed(seed: Option<&SessionSeed>) -> Result<(), ServiceError> {
    if seed.is_some() {
        let expected = "left out: the first call of a session decides whether it is reproducible";
        return Err(ParamsError::wrong("reproducible", expected, "a value").into());
    }
    Ok(())
}

/// Refuses limits that each cell has for itself.
pub(super) fn refuse_what_cells_set(limits: &RequestedLimits) -> Result<(), ServiceError> {
    for (name, limit) in
        [("limits.timeout_ms", limits.timeout_ms), ("limits.host_calls", limits.host_calls)]
    {
        if let Some(limit) = limit {
            let expected = "left out: each call in the session sets its own";
            return Err(ParamsError::wrong(name, expected, limit.to_string()).into());
        }
    }
    Ok(())
}

/// Refuses parameters that only the first cell of a session can have.
pub(super) fn refuse_what_first_cells_set(
    skills: &[String],
    blobs: &[InputBlob],
) -> Result<(), ServiceError> {
    for (name, is_empty) in [("mount_skills", skills.is_empty()), ("input_blobs", blobs.is_empty())]
    {
        if !is_empty {
            let expected = "left out: what a session mounts is decided by its first call";
            return Err(ParamsError::wrong(name, expected, "a list").into());
        }
    }
    Ok(())
}

/// Packs for a worker, which keep the account that they are charged to until one has read them. Large ones are
/// copied to memory files.
pub(super) async fn contents_of(
    packs: Vec<UnsealedPack>,
    memory: &CallMemory,
) -> Result<Vec<PackContent>, ServiceError> {
    let charged = memory.clone();
    let contents = memory.on_thread(move || {
        let packs = packs.into_iter().map(|pack| PackContent::new(pack.bytes));
        packs.map(|pack| Ok(pack?.charged_to(&charged))).collect::<io::Result<Vec<_>>>()
    });
    let contents = contents.await.map_err(ServiceError::Interrupted)?;
    contents.map_err(ServiceError::Unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::reproducible::session_seed::SessionSeedParam;
    use wardian_formats::protocol::methods::input_blob::BlobAtPath;
    use wardian_vocabulary::units::Fuel;

    fn setup(fuel: Option<Fuel>) -> SessionSetup {
        let limits = RunLimits { fuel, ..RunLimits::DEFAULT };
        let mounts = (vec!["a@1.0.0#00".to_owned()], Vec::new(), Vec::new());
        SessionSetup::of(mounts, &limits, None)
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let setup = setup(Some(Fuel(7)));
        let text = serde_json::to_string(&setup).unwrap();
        assert_eq!(serde_json::from_str::<SessionSetup>(&text).unwrap(), setup);
        let at_path = BlobAtPath { blob: "blob:a".to_owned(), path: "a.csv".to_owned() };
        let blobs = vec![InputBlob::Id("blob:b".to_owned()), InputBlob::AtPath(at_path)];
        assert!(!text.contains("reproducible"), "{text}");
        let reproducible = SessionSeed::of_order(Some(SessionSeedParam::Flag(true))).unwrap();
        let setup = SessionSetup { blobs, reproducible, ..setup };
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
        // A reproducible session counts it anyway.
        let seed = SessionSeed::of_order(Some(SessionSeedParam::Flag(true))).unwrap();
        let limits = RunLimits { fuel: Some(UNLIMITED), ..RunLimits::DEFAULT };
        let counting = SessionSetup::of((Vec::new(), Vec::new(), Vec::new()), &limits, seed);
        assert_eq!(counting.limits_for(RequestedLimits::default()).unwrap().fuel, None);
        assert_eq!(counting.limits_for(fuel).unwrap().fuel, Some(9));
    }
}
