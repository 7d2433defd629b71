"""Skills as functions: `client.skills["data.csv.profile"](csv_blob=...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, cast

from wardian._async.runs import AsyncRun, AsyncRunStream
from wardian.options import DescribeDetail, SkillOptions
from wardian.results import DescribedSkill, RunResult, SkillFile

if TYPE_CHECKING:
    from wardian._async.client import AsyncClient


class AsyncSkill:
    """One skill. Calling it executes it."""

    def __init__(self, client: AsyncClient, name: str, options: SkillOptions) -> None:
        self._client = client
        self.name = name
        self._options = options

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def using(self, **options: Unpack[SkillOptions]) -> AsyncSkill:
        """The same skill with options for its calls, such as `timeout_ms` or `version`."""
        return AsyncSkill(self._client, self.name, cast(SkillOptions, {**self._options, **options}))

    async def __call__(self, **args: Any) -> RunResult:
        """Executes the skill with these arguments. Raises `RunFailed` if it fails.

        A `Path`, bytes, an open file or a table is stored as a blob, and the skill gets its id.
        """
        result = await self._client.execute_skill(self.name, args, **self._options)
        return result.completed()

    async def start(self, **args: Any) -> AsyncRun:
        """Executes the skill in the background."""
        return await self._client.start_skill(self.name, args, **self._options)

    def stream(self, **args: Any) -> AsyncRunStream:
        """Executes the skill; its output comes while it runs."""
        return self._client.stream_skill(self.name, args, **self._options)

    async def describe(self, detail: DescribeDetail = "full") -> DescribedSkill:
        """The description of the skill, the schema of its arguments included."""
        version = self._options.get("version")
        return await self._client.describe_skill(self.name, version=version, detail=detail)

    async def read_file(self, path: str) -> SkillFile:
        """A file of the skill."""
        version = self._options.get("version")
        return await self._client.read_skill_file(self.name, path, version=version)


class AsyncSkills:
    """The skills of a server, by their names: `client.skills`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def __getitem__(self, name: str) -> AsyncSkill:
        """The skill of this name, `name@version` or `name@version#digest`. Nothing is sent."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the name of a skill is a str, not {type(name).__name__}")
        return AsyncSkill(self._client, name, {})

    # Without these, Python would ask `__getitem__` for 0, 1, 2 and so on, without end.
    # `client.iter_skills` lists the skills.
    __iter__ = None
    __contains__ = None
