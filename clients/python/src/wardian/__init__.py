"""A client of Wardian, which runs skills and model-written Python in sandboxes.

>>> import wardian
>>> with wardian.local() as client:
...     print(client.run_code("6 * 7").output)
{'result': 42}
"""

from __future__ import annotations

import uuid

from wardian._async.client import AsyncClient, AsyncSkill
from wardian._async.runs import AsyncRun, AsyncRunStream
from wardian._async.sessions import AsyncSession
from wardian._local import LocalServer, find_binary, local, local_async
from wardian._retry import RetryPolicy
from wardian._sync.client import Client, Skill
from wardian._sync.runs import Run, RunStream
from wardian._sync.sessions import Session
from wardian.errors import BadAnswer, CallError, ConnectionFailed, RunFailed, WardianError
from wardian.results import (
    Blob,
    BlobSample,
    CallerRequest,
    ConvertedValue,
    DescribedScript,
    DescribedSkill,
    DetachedRun,
    DisplayPart,
    LeftOut,
    ListedSkill,
    Output,
    Page,
    Progress,
    RunError,
    RunFile,
    RunRecord,
    RunResult,
    SessionState,
    SkillFile,
)
from wardian.sessions import (
    Cell,
    Checkpoint,
    FileChange,
    ForkedFrom,
    SessionFile,
    SessionInfo,
    SessionPage,
)

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncRun",
    "AsyncRunStream",
    "AsyncSession",
    "AsyncSkill",
    "BadAnswer",
    "Blob",
    "BlobSample",
    "CallError",
    "CallerRequest",
    "Cell",
    "Checkpoint",
    "Client",
    "ConnectionFailed",
    "ConvertedValue",
    "DescribedScript",
    "DescribedSkill",
    "DetachedRun",
    "DisplayPart",
    "FileChange",
    "ForkedFrom",
    "LeftOut",
    "ListedSkill",
    "LocalServer",
    "Output",
    "Page",
    "Progress",
    "RetryPolicy",
    "Run",
    "RunError",
    "RunFailed",
    "RunFile",
    "RunRecord",
    "RunResult",
    "RunStream",
    "Session",
    "SessionFile",
    "SessionInfo",
    "SessionPage",
    "SessionState",
    "Skill",
    "SkillFile",
    "WardianError",
    "find_binary",
    "local",
    "local_async",
    "new_key",
]


def new_key() -> str:
    """A new, unique `idempotency_key` for a call."""
    return uuid.uuid4().hex
