"""The errors of this package.

A call that the server refuses raises a `CallError`; each kind of error has its own class. A program
that fails is a result, not an error: `RunResult.status` is then `failed`.
"""

from __future__ import annotations

from collections.abc import Mapping

from wardian._wire import BadAnswer, WardianError, as_object, integer_or_none, text_or_none
from wardian.results import FileNotKept, NoSuchFile, RunFailed, RunRecord

__all__ = [
    "BadAnswer",
    "BlobNotFound",
    "CallError",
    "CheckpointNotFound",
    "ConnectionFailed",
    "FileNotFound",
    "FileNotKept",
    "Forbidden",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "InvalidSetting",
    "LocalServerError",
    "MethodNotFound",
    "NoSuchFile",
    "NotExecutable",
    "NotJson",
    "Overloaded",
    "PackagesMissing",
    "ParseError",
    "QuotaExceeded",
    "RateLimited",
    "RunFailed",
    "RunNotEnded",
    "RunNotFound",
    "RunWithoutResult",
    "SecretUnavailable",
    "SessionBusy",
    "SessionConflict",
    "SessionDamaged",
    "SessionExpired",
    "SessionNotFound",
    "SkillFileNotFound",
    "SkillNotFound",
    "TooLarge",
    "Unauthorized",
    "VersionNotFound",
    "WardianError",
]


class CallError(WardianError):
    """The server refused a call."""

    kind = ""
    """The stable label of the error, as in the protocol."""

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        kind: str = "",
        parameter: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        http_status: int = 200,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        if kind:
            self.kind = kind
        self.parameter = parameter
        """The parameter that caused the error."""
        self.request_id = request_id
        """Identifies the request in the server's log."""
        self.retry_after = retry_after
        """Seconds after which a repetition can succeed. Set only if nothing was executed."""
        self.http_status = http_status


class ParseError(CallError):
    """The body is not JSON."""

    kind = "parse_error"


class InvalidRequest(CallError):
    """The body is not a request, or the request violates HTTP."""

    kind = "invalid_request"


class MethodNotFound(CallError):
    """The server has no such method."""

    kind = "method_not_found"


class InvalidParams(CallError):
    """A parameter, or an argument of a skill, is invalid: `parameter` names it."""

    kind = "invalid_params"


class NotJson(InvalidParams, ValueError):
    """A parameter has a value that JSON cannot represent, such as NaN, and that is not stored as a
    blob either. The message says what to pass instead. Nothing was sent."""


class SkillNotFound(CallError):
    """No skill with this name exists. The message suggests similar names."""

    kind = "skill_not_found"


class VersionNotFound(CallError):
    """The skill has other versions. The message lists them."""

    kind = "version_not_found"


class FileNotFound(CallError):
    """The skill has no such file, or the working folder of the session has none."""

    kind = "file_not_found"


SkillFileNotFound = FileNotFound
"""The name of `FileNotFound` for files of skills."""


class BlobNotFound(CallError):
    """The blob does not exist, or it has expired."""

    kind = "blob_not_found"


class RunNotFound(CallError):
    """The run does not exist, or its record is no longer kept."""

    kind = "run_not_found"


class NotExecutable(CallError):
    """The skill has no code: it contains only instructions."""

    kind = "not_executable"


class TooLarge(CallError):
    """The request, a blob or a program exceeds a size limit."""

    kind = "too_large"


class Unauthorized(CallError):
    """The server requires a valid key."""

    kind = "unauthorized"


class Forbidden(CallError):
    """The key lacks a scope, or the host or origin is not allowed."""

    kind = "forbidden"


class RateLimited(CallError):
    """The tenant has made too many calls, or has too many runs."""

    kind = "rate_limited"


class Overloaded(CallError):
    """The server cannot take the call now."""

    kind = "overloaded"


class QuotaExceeded(CallError):
    """The quota for blobs or sessions is used up, or the tenant has as many sessions as it may."""

    kind = "quota_exceeded"


class SecretUnavailable(CallError):
    """The server has no value for a secret that the skill declares."""

    kind = "secret_unavailable"


class PackagesMissing(CallError):
    """The server does not have the packages of the skill."""

    kind = "packages_missing"


class SessionNotFound(CallError):
    """The session does not exist: it was closed, or never made."""

    kind = "session_not_found"


class SessionExpired(CallError):
    """The session was idle for too long, or its time was over. The message says since when."""

    kind = "session_expired"


class SessionBusy(CallError):
    """A cell of the session is running. `wait_ms` waits for its end, and `interrupt` stops it."""

    kind = "session_busy"


class SessionConflict(CallError):
    """The session is not at the checkpoint that `if_checkpoint` names, and nothing was executed; or
    the checkpoint to forget is the one that the session is at. The message names where it is."""

    kind = "session_conflict"


class SessionDamaged(CallError):
    """The state of the session cannot be used. An earlier checkpoint may be intact: `restore`."""

    kind = "session_damaged"


class CheckpointNotFound(CallError):
    """The session has no such checkpoint. Those without a name are not kept forever."""

    kind = "checkpoint_not_found"


class InternalError(CallError):
    """The server failed. Its log has the cause under `request_id`."""

    kind = "internal"


CLASSES: Mapping[str, type[CallError]] = {
    found.kind: found
    for found in (
        ParseError,
        InvalidRequest,
        MethodNotFound,
        InvalidParams,
        SkillNotFound,
        VersionNotFound,
        FileNotFound,
        BlobNotFound,
        RunNotFound,
        NotExecutable,
        TooLarge,
        Unauthorized,
        Forbidden,
        RateLimited,
        Overloaded,
        QuotaExceeded,
        SecretUnavailable,
        PackagesMissing,
        SessionNotFound,
        SessionExpired,
        SessionBusy,
        SessionConflict,
        SessionDamaged,
        CheckpointNotFound,
        InternalError,
    )
}
"""The class of each kind of error."""


STATUS_CLASSES: Mapping[int, type[CallError]] = {
    401: Unauthorized,
    403: Forbidden,
    413: TooLarge,
    429: RateLimited,
    503: Overloaded,
}
"""The class of an answer without an error in its body, by status: to `HEAD`, or from a proxy."""


class InvalidSetting(WardianError, ValueError):
    """A client cannot be created with this URL or key."""


class ConnectionFailed(WardianError):
    """The server was not reached, or the connection broke."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent
        """Whether the server may have received the request, and executed it."""


class RunWithoutResult(WardianError):
    """A run in the background ended without a result: it was refused, or the server stopped."""

    def __init__(self, record: RunRecord) -> None:
        super().__init__(f"run {record.run_id} ended as {record.outcome} and has no result")
        self.record = record


class RunNotEnded(WardianError):
    """A run in the background has not ended within the time that the client waited."""

    def __init__(self, record: RunRecord) -> None:
        super().__init__(f"run {record.run_id} is still {record.status}")
        self.record = record


class LocalServerError(WardianError):
    """The server of `wardian.local` was not found, or did not start."""


def error_of(body: object, http_status: int, retry_after: float | None) -> CallError:
    """The error for the `error` member of an answer."""
    error = as_object(body, "error")
    data = as_object(error.get("data") or {}, "error.data")
    kind = text_or_none(data, "kind") or ""
    delay = integer_or_none(data, "retry_after_ms")
    return CLASSES.get(kind, CallError)(
        text_or_none(error, "message") or "the server refused the call",
        code=integer_or_none(error, "code") or 0,
        kind=kind,
        parameter=text_or_none(data, "parameter"),
        request_id=text_or_none(data, "request_id"),
        retry_after=retry_after if delay is None else delay / 1_000,
        http_status=http_status,
    )
