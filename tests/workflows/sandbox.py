"""A session of Wardian through the published MCP client, and a record of the calls of scripts."""

import base64
import dataclasses
import re


@dataclasses.dataclass
class Call:
    """A call of a script, and what became of it."""

    skill: str
    script: str
    argv: list
    outcome: str  # `runs`, or the program or package that does not exist
    exit_code: int | None


class Failed(Exception):
    """Something is not as it has to be."""


def expect(holds, what):
    if not holds:
        raise Failed(str(what)[-2000:])


# Programs and packages that do not exist in the sandbox, and what they are: for these alone may a call fail.
NOT_THERE = {
    "soffice": "an office program",
    "pdfinfo": "a program that draws pages",
    "claude": "a program that calls a model",
    "npm": "Node",
    "anthropic": "the client of a model",
    "playwright": "a browser",
    "pdf2image": "a program that draws pages",
}

# What Python prints when a program or a package does not exist, and what Wardian's message names.
_MISSING = [
    re.compile(r"No such file or directory: '([^/']+)'"),
    re.compile(r"No module named '([^']+)'"),
    re.compile(r"Errno \d+\] [^\n]*`([a-z0-9_-]+)`"),
]


def missing(text):
    """The program or package whose absence ended a script, or `None`."""
    found = [name for pattern in _MISSING for name in pattern.findall(text) if name in NOT_THERE]
    return found[-1] if found else None


class Sandbox:
    """One session. Files are uploaded with its first call, later ones are written by code."""

    def __init__(self, client, calls, skill):
        self.client = client
        self.calls = calls
        self.skill = skill
        self.session = None
        self._uploads = []
        self._last_files = {}

    async def upload(self, path, content):
        """A file for the first call."""
        encoded = base64.b64encode(content).decode()
        made = await self._tool("create_blob", content=encoded, kind="application/octet-stream", encoding="base64")
        self._uploads.append({"blob": made["blob_id"], "path": path})

    async def script(self, script, *argv, is_last=False):
        """Calls a script; its result, whatever its exit code is. The last call closes the session."""
        params = self._in_session(name=self.skill, script=script, argv=list(argv))
        if is_last:
            params["session"] = {"id": params["session"], "keep": False}
        result = self._ended(await self._tool("execute_skill", **params))
        exit_code = result.get("exit_code")
        texts = result.get("stderr", "") + result.get("stdout", "") + str(result.get("error", ""))
        outcome = "runs" if exit_code is not None else str(result.get("error"))
        if exit_code:
            outcome = missing(texts) or "runs"
        self.calls.append(Call(self.skill, script, list(argv), outcome, exit_code))
        return result

    async def good(self, script, *argv):
        """Calls a script that has to end well; what it printed."""
        result = await self.script(script, *argv)
        expect(result.get("exit_code") == 0, f"{script} {argv}: {result}")
        return result["stdout"]

    async def code(self, code):
        """Runs a cell that has to end well; its value."""
        params = self._in_session(language="python", code=code)
        if self.session is None:
            params["mount_skills"] = [self.skill]
        result = self._ended(await self._tool("run_code", **params))
        expect(result["status"] == "completed", result)
        output = result["output"]
        return output["result"] if isinstance(output, dict) and list(output) == ["result"] else output

    async def write(self, path, text):
        await self.code(f"import pathlib\n_ = pathlib.Path({path!r}).write_text({text!r})")

    async def download(self, path):
        """The bytes of a file that a call has left."""
        expect(path in self._last_files, f"{path} is not among {sorted(self._last_files)}")
        blob = await self._tool("read_blob", blob_id=self._last_files[path], mode="full")
        expect(not blob["truncated"], blob["size_bytes"])
        content = blob["content"]
        return base64.b64decode(content) if blob["encoding"] == "base64" else content.encode()

    def _in_session(self, **params):
        params["session"] = self.session or "new"
        if self.session is None and self._uploads:
            params["input_blobs"] = self._uploads
        return params

    def _ended(self, result):
        if "session" in result:
            self.session = result["session"]["id"]
        for file in result.get("files") or ():
            # A file beyond the limits of a call stays in the workspace and has no blob.
            if "blob_id" in file:
                self._last_files[file["path"]] = file["blob_id"]
        return result

    async def _tool(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        expect(result.structured_content is not None, result)
        return result.structured_content
