//! The form in which a call asks for a run, and what makes two calls the same.

use crate::caller::Caller;
use crate::error::ServiceError;
use wardian_formats::protocol::methods::execution::{
    KeepFilesParam, ReproducibleParam, RequestedLimits,
};
use wardian_formats::protocol::methods::input_blob::{BlobAtPath, InputBlob};
use wardian_stores::records::RequestKey;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// The largest program with its arguments of a run that continues without its call. Larger content
/// belongs in blobs, which take no memory while the run waits.
pub(crate) const LARGEST: ByteCount = ByteCount::mebibytes(1);

/// Texts up to this size, in bytes, are hashed on the event loop.
const SMALL_TEXT: usize = 64 << 10;

/// The version of the digest of a call. A digest of another version is of another call.
const VERSION: &str = "wardian call 1";

/// The form in which a call asks for a run.
#[derive(Debug)]
pub(crate) struct CallForm {
    /// True if the call returns while the run is in progress.
    pub(crate) is_detached: bool,
    /// The client's own name for the call, with a digest of the call.
    pub key: Option<RequestKey>,
}

/// What a call says of its run, as it says it. What the server adds, such as the latest version of a
/// skill or the operator's limits, may change between a call and its repetition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallPieces<'a> {
    pub method: &'static str,
    /// The code, or the name of the skill.
    pub program: &'a str,
    /// The function, or the version of the skill.
    pub part: Option<&'a str>,
    pub args: Option<&'a str>,
    /// The call of a script, as text.
    pub script: Option<&'a str>,
    pub mount_skills: &'a [String],
    pub input_blobs: &'a [InputBlob],
    pub limits: RequestedLimits,
    pub keep_files: Option<&'a KeepFilesParam>,
    pub strict_output: bool,
    pub reproducible: Option<ReproducibleParam>,
    pub label: Option<&'a str>,
}

impl CallForm {
    /// The form of a call with these pieces, and with this key if the client gave one.
    ///
    /// # Errors
    ///
    /// A call with a key is too large, or there is no memory for it.
    pub(crate) async fn of(
        caller: &Caller,
        is_detached: bool,
        key: Option<String>,
        pieces: CallPieces<'_>,
    ) -> Result<Self, ServiceError> {
        let Some(name) = key else { return Ok(Self { is_detached, key: None }) };
        let texts = [Some(pieces.program), pieces.args, pieces.script];
        let size = texts.into_iter().flatten().map(str::len).fold(0, usize::saturating_add);
        if ByteCount::from(size) > LARGEST {
            return Err(ServiceError::DetachedTooLarge { largest: LARGEST });
        }
        caller.memory.reserve(ByteCount::from(size.saturating_mul(2)))?;
        let text = pieces.text();
        let call = if text.len() <= SMALL_TEXT {
            Digest::of(text.as_bytes())
        } else {
            let hashed = caller.memory.on_thread(move || Digest::of(text.as_bytes()));
            hashed.await.map_err(ServiceError::Interrupted)?
        };
        Ok(Self { is_detached, key: Some(RequestKey { name, call }) })
    }
}

impl CallPieces<'_> {
    /// All pieces, each with its length, so that no two calls have the same text.
    fn text(&self) -> String {
        let mut text = VERSION.to_owned();
        let mut add = |piece: Option<&str>| match piece {
            Some(piece) => text.push_str(&format!("\n{} {piece}", piece.len())),
            None => text.push_str("\n-"),
        };
        add_all(&mut add, self.mount_skills);
        add(Some(&self.input_blobs.len().to_string()));
        for blob in self.input_blobs {
            match blob {
                InputBlob::Id(id) => add(Some(id)),
                // No id is written as what comes first.
                InputBlob::AtPath(BlobAtPath { blob, path }) => {
                    for piece in [None, Some(blob.as_str()), Some(path.as_str())] {
                        add(piece);
                    }
                }
            }
        }
        match self.keep_files {
            Some(KeepFilesParam::Patterns(patterns)) => add_all(&mut add, patterns),
            Some(KeepFilesParam::Flag(true)) => add(Some("all")),
            // Both mean the same.
            Some(KeepFilesParam::Flag(false)) | None => add(None),
        }
        for piece in [Some(self.method), Some(self.program), self.part, self.args] {
            add(piece);
        }
        // Where the timeout stands makes no difference.
        let RequestedLimits {
            timeout_ms,
            fuel,
            memory_bytes,
            workspace_bytes,
            host_calls,
            timeout_place: _,
        } = self.limits;
        for limit in [timeout_ms, fuel, memory_bytes, workspace_bytes, host_calls] {
            add(limit.map(|limit| limit.to_string()).as_deref());
        }
        match self.reproducible {
            // A call with a key is never answered from the cache.
            Some(ReproducibleParam::Inputs { seed, epoch, cache: _ }) => {
                add(Some(&format!("{seed} {epoch}")));
            }
            Some(ReproducibleParam::Flag(true)) => add(Some("reproducible")),
            Some(ReproducibleParam::Flag(false)) | None => add(None),
        }
        // Calls without it have the text that they had before there was such a parameter.
        if self.strict_output {
            add(Some("strict_output"));
        }
        if let Some(script) = self.script {
            add(Some(&format!("script {script}")));
        }
        // Calls of clients that know no labels keep their digest.
        if let Some(label) = self.label {
            add(Some(&format!("label {label}")));
        }
        text
    }
}

/// Adds a list of pieces, with its length.
fn add_all(mut add: impl FnMut(Option<&str>), pieces: &[String]) {
    add(Some(&pieces.len().to_string()));
    pieces.iter().for_each(|piece| add(Some(piece)));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use wardian_formats::protocol::methods::execution::TimeoutPlace;

    fn base() -> CallPieces<'static> {
        CallPieces {
            method: "run_code",
            program: "1",
            part: None,
            args: None,
            script: None,
            mount_skills: &[],
            input_blobs: &[],
            limits: RequestedLimits::default(),
            keep_files: None,
            strict_output: false,
            reproducible: None,
            label: None,
        }
    }

    #[test]
    fn each_piece_makes_another_call() {
        let one = ["a".to_owned()];
        let (two, joined) = (["a", "b"].map(str::to_owned), ["a\n1 b".to_owned()]);
        let patterns = KeepFilesParam::Patterns(one.to_vec());
        let all = KeepFilesParam::Flag(true);
        let base = base();
        let limits = |change: fn(&mut RequestedLimits)| {
            let mut limits = RequestedLimits::default();
            change(&mut limits);
            CallPieces { limits, ..base }
        };
        let placed = |[blob, path]: [&str; 2]| {
            let [blob, path] = [blob, path].map(str::to_owned);
            InputBlob::AtPath(BlobAtPath { blob, path })
        };
        let [a_at_b, a_at_c, b_at_c] = [["a", "b"], ["a", "c"], ["b", "c"]].map(|at| [placed(at)]);
        let inputs = |seed, epoch| ReproducibleParam::Inputs { seed, epoch, cache: false };
        let calls = [
            base,
            CallPieces { method: "execute_skill", ..base },
            CallPieces { program: "1\n-", ..base },
            CallPieces { part: Some(""), ..base },
            CallPieces { part: Some("main"), ..base },
            CallPieces { args: Some("{}"), ..base },
            CallPieces { script: Some("{}"), ..base },
            CallPieces { script: Some("a"), ..base },
            CallPieces { mount_skills: &one, ..base },
            CallPieces { mount_skills: &two, ..base },
            CallPieces { mount_skills: &joined, ..base },
            CallPieces { input_blobs: &[InputBlob::Id("a".to_owned())], ..base },
            CallPieces { input_blobs: &a_at_b, ..base },
            CallPieces { input_blobs: &a_at_c, ..base },
            CallPieces { input_blobs: &b_at_c, ..base },
            CallPieces { keep_files: Some(&all), ..base },
            CallPieces { keep_files: Some(&patterns), ..base },
            limits(|limits| limits.timeout_ms = Some(1)),
            limits(|limits| limits.fuel = Some(1)),
            limits(|limits| limits.memory_bytes = Some(1)),
            limits(|limits| limits.workspace_bytes = Some(1)),
            limits(|limits| limits.host_calls = Some(1)),
            CallPieces { reproducible: Some(ReproducibleParam::Flag(true)), ..base },
            CallPieces { reproducible: Some(inputs(1, 2)), ..base },
            CallPieces { reproducible: Some(inputs(2, 1)), ..base },
            CallPieces { strict_output: true, ..base },
            CallPieces { label: Some(""), ..base },
            CallPieces { label: Some("a"), ..base },
        ];
        let texts: BTreeSet<String> = calls.iter().map(CallPieces::text).collect();
        assert_eq!(texts.len(), calls.len());
        let same = [
            CallPieces { keep_files: Some(&KeepFilesParam::Flag(false)), ..base },
            CallPieces { reproducible: Some(ReproducibleParam::Flag(false)), ..base },
            limits(|limits| limits.timeout_place = TimeoutPlace::Beside),
        ];
        assert!(same.iter().all(|call| call.text() == base.text()));
    }
}
