"""The parameters of calls, by their names in the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from wardian.results import Blob


class Limits(TypedDict, total=False):
    """Limits of a run. Each is within the bounds of the server."""

    timeout_ms: int
    fuel: int
    memory_bytes: int
    workspace_bytes: int
    host_calls: int


class Reproducible(TypedDict, total=False):
    """What a reproducible run begins from."""

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
    """The parameters of `execute_skill` beside the skill and its arguments."""

    version: str


class CodeOptions(RunOptions, total=False):
    """The parameters of `run_code` beside the code and its arguments."""

    language: Literal["python"]
    entrypoint: str
    mount_skills: list[str]


ListDetail = Literal["names", "summary"]
DescribeDetail = Literal["manifest", "summary", "full"]
SampleMode = Literal["sample_head", "sample_tail", "full"]
Encoding = Literal["utf-8", "base64"]
ToolFormat = Literal["plain", "openai", "anthropic"]
FrameFormat = Literal["csv", "parquet"]
