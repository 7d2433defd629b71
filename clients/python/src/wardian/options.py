"""The parameters of calls, with their names in the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from wardian.results import Blob


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


class RunOptions(TypedDict, total=False):
    """The parameters that `execute_skill` and `run_code` share."""

    input_blobs: Sequence[str | Blob]
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


class CodeOptions(RunOptions, total=False):
    """The parameters of `run_code`, except the code and its arguments."""

    language: Literal["python"]
    entrypoint: str
    mount_skills: list[str]


ListDetail = Literal["names", "summary"]
DescribeDetail = Literal["manifest", "summary", "full"]
SampleMode = Literal["sample_head", "sample_tail", "full"]
Encoding = Literal["utf-8", "base64"]
ToolFormat = Literal["plain", "openai", "anthropic"]
FrameFormat = Literal["csv", "parquet"]
