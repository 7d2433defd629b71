"""The parameters of calls, with their names in the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from wardian.results import Blob
from wardian.sessions import Checkpoint


class Limits(TypedDict, total=False):
    """Limits of a run. Each must be within the server's bounds."""

    timeout_ms: int
    fuel: int
    memory_bytes: int
    workspace_bytes: int
    host_calls: int


class Reproducible(TypedDict, total=False):
    """The start of a reproducible run, and whether a cached result will do."""

    seed: int
    epoch: int
    cache: bool


class SessionSeed(TypedDict, total=False):
    """The start of a reproducible session."""

    seed: int
    epoch: int


class SessionChoice(TypedDict, total=False):
    """The session that code runs in, and under which conditions."""

    id: str
    """The id of a session. Left out, or `new`: a new one."""
    if_checkpoint: str
    """Refuse the cell if the session is not at this checkpoint."""
    keep: bool
    """False closes the session after this cell."""
    wait_ms: int
    """How long to wait for the end of another cell, in milliseconds: at most ten minutes."""


class BlobAtPath(TypedDict):
    """A blob as a file in the working folder of the program."""

    blob: str | Blob
    path: str
    """The path of the file, relative to that folder. The program can change the file."""


class RunOptions(TypedDict, total=False):
    """The parameters that `execute_skill` and `run_code` share."""

    input_blobs: Sequence[str | Blob | BlobAtPath]
    keep_files: bool | list[str]
    strict_output: bool
    reproducible: bool | Reproducible
    timeout_ms: int
    limits: Limits
    label: str
    idempotency_key: str


class SkillOptions(RunOptions, total=False):
    """The parameters of `execute_skill`, except the skill and its arguments."""

    version: str
    script: str
    """A Python script of the skill to run instead of its entrypoint, such as `scripts/fill_form.py`."""
    argv: list[str]
    stdin: str
    env: dict[str, str]
    """Environment variables of the script, of names that the skill declares."""
    session: str | SessionChoice
    """Run the script in a session: the files stay for the next call."""


class CodeOptions(RunOptions, total=False):
    """The parameters of `run_code`, except the code and its arguments."""

    language: Literal["python"]
    entrypoint: str
    mount_skills: list[str]
    session: str | SessionChoice


class CellOptions(TypedDict, total=False):
    """The parameters of a cell, except its code."""

    if_checkpoint: str | Checkpoint
    """Refuse the cell if the session is not at this checkpoint."""
    wait_ms: int
    """How long to wait for the end of another cell, in milliseconds: at most ten minutes. Without
    it, a busy session refuses the cell."""
    keep_files: bool | list[str]
    strict_output: bool
    timeout_ms: int
    limits: Limits
    label: str


class SessionOptions(TypedDict, total=False):
    """The parameters of a new session."""

    label: str
    mount_skills: list[str]
    input_blobs: Sequence[str | Blob | BlobAtPath]
    limits: Limits
    """Memory and workspace of the session. `timeout_ms` and `host_calls` are limits of a cell."""
    reproducible: bool | SessionSeed
    """Give each cell the same result, the same fuel and the same memory whenever it is repeated."""
    idle_ms: int
    """How long the session lives without a cell, if that is less than the server's setting."""
    max_age_ms: int
    """How long it lives at most, if that is less than the server's setting."""


ListDetail = Literal["names", "summary"]
DescribeDetail = Literal["manifest", "summary", "full"]
SampleMode = Literal["sample_head", "sample_tail", "full"]
Encoding = Literal["utf-8", "base64"]
ToolFormat = Literal["plain", "openai", "anthropic"]
FrameFormat = Literal["csv", "parquet"]
