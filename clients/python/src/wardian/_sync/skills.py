# Made from `_async/skills.py` by `generate.py`: change that file, not this one.
"""Skills as functions: `client.skills["data.csv.profile"](csv_blob=...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, cast

from wardian._sync.runs import Run, RunStream
from wardian.options import DescribeDetail, SkillOptions
from wardian.results import DescribedSkill, RunResult, SkillFile

if TYPE_CHECKING:
    from wardian._sync.client import Client


class Skill:
    """One skill. Calling it executes it."""

    def __init__(self, client: Client, name: str, options: SkillOptions) -> None:
        self._client = client
        self.name = name
        self._options = options

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def using(self, **options: Unpack[SkillOptions]) -> Skill:
        """The same skill with options for its calls, such as `timeout_ms` or `version`."""
        return Skill(self._client, self.name, cast(SkillOptions, {**self._options, **options}))

    def __call__(self, **args: Any) -> RunResult:
        """Executes the skill with these arguments. Raises `RunFailed` if it fails.

        A `Path`, bytes, an open file or a table is stored as a blob, and the skill gets its id.
        """
        result = self._client.execute_skill(self.name, args, **self._options)
        return result.completed()

    def start(self, **args: Any) -> Run:
        """Executes the skill in the background."""
        return self._client.start_skill(self.name, args, **self._options)

    def stream(self, **args: Any) -> RunStream:
        """Executes the skill; its output comes while it runs."""
        return self._client.stream_skill(self.name, args, **self._options)

    def describe(self, detail: DescribeDetail = "full") -> DescribedSkill:
        """The description of the skill, the schema of its arguments included."""
        version = self._options.get("version")
        return self._client.describe_skill(self.name, version=version, detail=detail)

    def read_file(self, path: str) -> SkillFile:
        """A file of the skill."""
        version = self._options.get("version")
        return self._client.read_skill_file(self.name, path, version=version)


class Skills:
    """The skills of a server, by their names: `client.skills`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getitem__(self, name: str) -> Skill:
        """The skill of this name, `name@version` or `name@version#digest`. Nothing is sent."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the name of a skill is a str, not {type(name).__name__}")
        return Skill(self._client, name, {})

    # Without these, Python would ask `__getitem__` for 0, 1, 2 and so on, without end.
    # `client.iter_skills` lists the skills.
    __iter__ = None
    __contains__ = None
