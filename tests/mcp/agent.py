"""An agent that builds a report in a session, over many calls of the published Python client.

    agent.py WORK CALLS

WORK is a file with `begin()`, `step(number)` and `finish()`. The agent calls `begin` once, then `step`, and
`finish` at the end. It knows its last checkpoint and the last blob of its report, so it can go on after
anything: a cell that was rolled back is repeated; a call without an answer is repeated under the condition
that it did nothing; a session that has expired is begun anew with the report, and told how far it was.

Before each call it writes a line of JSON with the number of the call and reads one with the address of the
server, which may be another one than before. Its last line has what it met, and the report.
"""

import asyncio
import json
import sys

from mcp import Client

REPORT = "report.md"
PATIENCE = 120
SLOW = "import time; time.sleep(4)\n"
"""Before a call in the middle of which something is to happen."""


class Agent:
    """What the agent knows between two calls."""

    def __init__(self, work):
        self.work = work
        self.session = None
        self.checkpoint = None
        self.blob = None
        self.done = 0
        self.url = None
        self.met = {"rolled_back": 0, "without_answer": 0, "done_without_answer": 0, "expired": 0, "busy": 0}

    def ask(self, what):
        """Tells where the agent is, and learns where the server is."""
        print(json.dumps({"at": self.done, "session": self.session, **what}), flush=True)
        answer = json.loads(sys.stdin.readline())
        self.url = answer["url"]
        return answer

    async def tool(self, name, arguments):
        """The result of a tool, over a connection of its own."""
        async with Client(self.url, mode="auto", read_timeout_seconds=PATIENCE) as client:
            return await client.call_tool(name, arguments)

    async def perform(self, code):
        """Has a cell executed, once."""
        slow = self.ask({"next": code[:40]}).get("slow")
        source = SLOW + code if slow else code
        unanswered = False
        while True:
            if self.session is None:
                await self.begin()
            try:
                result = await self.tool("run_code", {
                    "language": "python", "code": source,
                    "session": {"id": self.session, "if_checkpoint": self.checkpoint},
                })  # fmt: skip
            except Exception as fault:  # whatever a client raises when its server is gone
                self.met["without_answer"] += 1
                if self.met["without_answer"] > 50:
                    raise
                unanswered = True
                await asyncio.sleep(0.5)
                self.ask({"fault": repr(fault)[:200]})
                continue
            kind = error_kind(result)
            if kind is None:
                if self.has_done(result):
                    return result
                self.met["rolled_back"] += 1
                source = code
            elif kind == "session_expired":
                self.met["expired"] += 1
                self.session = None
            elif kind == "session_conflict" and unanswered:
                # The call without an answer was executed.
                self.met["done_without_answer"] += 1
                shown = await self.tool("session", {"action": "show", "id": self.session})
                self.checkpoint = shown.structured_content["checkpoint"]
                return None
            elif kind in ("session_busy", "overloaded", "unavailable"):
                self.met["busy"] += 1
                await asyncio.sleep(0.5)
            else:
                raise SystemExit(f"refused: {result}")

    def has_done(self, result):
        """Notes what a cell has left; false if it has left no trace."""
        content = result.structured_content
        session = content["session"]
        if session["state"] == "rolled_back":
            return False
        if content["status"] != "completed":
            raise SystemExit(f"a cell failed: {content}")
        self.session, self.checkpoint = session["id"], session["checkpoint"]
        for file in content.get("files", []):
            if file["path"] == REPORT:
                self.blob = file["blob_id"]
        return True

    async def begin(self):
        """Begins a session: with the report as far as it is, if there is one."""
        order = {"language": "python", "session": "new", "code": f"{self.work}\nresume({self.done})"}
        if self.blob is not None:
            order["input_blobs"] = [{"blob": self.blob, "path": REPORT}]
        result = await self.tool("run_code", order)
        if error_kind(result) is not None or not self.has_done(result):
            raise SystemExit(f"no session begins: {result}")

    async def build(self, calls):
        """Builds the report, and returns it."""
        self.ask({"next": "begin"})
        await self.begin()
        for number in range(1, calls):
            await self.perform(f"step({number})")
            self.done = number
        await self.perform("finish()")
        self.done = calls
        last = await self.perform(f"open({REPORT!r}).read()")
        return last.structured_content["output"]["result"]


def error_kind(result):
    """The kind of a refusal; `None` for a result."""
    if result.structured_content and "session" in result.structured_content:
        return None
    told = result.model_dump(by_alias=True).get("_meta") or {}
    return told.get("wardian/error", {}).get("kind", "unknown") if result.is_error else None


def main():
    with open(sys.argv[1], encoding="utf-8") as work:
        agent = Agent(work.read())
    report = asyncio.run(agent.build(int(sys.argv[2])))
    print(json.dumps({"met": agent.met, "session": agent.session, "report": report}), flush=True)


main()
