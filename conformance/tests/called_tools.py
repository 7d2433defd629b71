"""Runs of the stand-in that call tools of their caller. They are executed again with all answers so far."""

import ast
import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Dict

from .kept import Kept
from .program import Program
from .refused import wrong

# Steps of a loop after which nothing in it can go on without an answer.
PASSES = 100

NOT_WITH_TOOLS = ("detach", "idempotency_key")
KINDS = {"string": str, "integer": int, "array": list, "object": dict}


class ToolError(Exception):
    """A tool has failed."""

    def __init__(self, message, tool):
        super().__init__(message)
        self.message, self.tool = message, tool


class Tools:
    """The module `tools` of a program, or a namespace in it."""

    ToolError = ToolError

    def __init__(self, program, path=""):
        self._program, self._path = program, path

    def __getattr__(self, name):
        return Tools(self._program, f"{self._path}.{name}" if self._path else name)

    def __call__(self, *args, **named):
        return self._program.ask(self._path, args, named)

    def call(self, name, arguments=None):
        return self._program.ask(name, (), arguments or {})


class AskingProgram(Program):
    """A run with the tools that it may call, and the answers so far by the numbers of its requests."""

    def __init__(self, server, skills, blobs, timeout_ms, declared, answers):
        super().__init__(server, skills, blobs, timeout_ms)
        self.declared = {tool["name"]: tool for tool in declared}
        self.answers, self.requests, self.count = answers, {}, 0
        self.modules.update(tools=Tools(self), asyncio=asyncio)

    async def ask(self, name, args, named):
        tool = self.server.declared_tool(self.declared, name)
        if tool is None:
            raise ToolError(f"there is no tool {name!r}", name)
        schema = tool.get("input_schema", {})
        arguments = {**dict(zip(schema.get("required", []), args)), **named}
        fault = self.server.fault_of(schema, arguments, "arguments")
        if fault:
            raise ToolError(fault, name)
        self.count += 1
        number = self.count
        if number not in self.answers:
            self.requests[number] = {"kind": "tool", "name": name, "arguments": arguments}
            await asyncio.get_running_loop().create_future()
        answer = self.answers[number]
        if "error" in answer:
            raise self.server.error_of(answer["error"], name)
        fault = self.server.fault_of(tool.get("output_schema", {}), answer.get("output"), "output")
        if fault:
            raise ToolError(fault, name)
        return answer.get("output")

    def execute(self, source, name, entrypoint, args):
        loop = asyncio.new_event_loop()
        try:
            with contextlib.redirect_stdout(self.log):
                return loop.run_until_complete(self._until_it_waits(source, name, entrypoint, args))
        finally:
            loop.close()

    async def _until_it_waits(self, source, name, entrypoint, args):
        task = asyncio.ensure_future(self._steps(source, name, entrypoint, args))
        for _ in range(PASSES):
            await asyncio.sleep(0)
            if task.done():
                self.requests = {}
                return task.result()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        return None

    async def _steps(self, source, name, entrypoint, args):
        scope = self._scope("__main__")
        if entrypoint is None and "def main(" not in source:
            *body, last = source.strip().split("\n")
            value = eval(self._compiled("\n".join(body), name, "exec"), scope)
            if asyncio.iscoroutine(value):
                await value
            value = eval(self._compiled(last, name, "eval"), scope)
        else:
            exec(self._compiled(source, name, "exec"), scope)
            value = scope[entrypoint or "main"](args)
        return await value if asyncio.iscoroutine(value) else value

    def _compiled(self, source, name, mode):
        return compile(source, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@dataclass
class Asking:
    """A run that waits, with the answers so far by the numbers of its requests."""

    params: dict
    answers: Dict[int, dict] = field(default_factory=dict)
    open: Dict[str, int] = field(default_factory=dict)
    printed: int = 0


class ToolsOfStandIn:
    """The part of the stand-in that lets runs call tools of their callers."""

    def __init__(self):
        self.asking = {}

    def run_with_tools(self, params):
        """The result of a run with tools, which may wait."""
        for name in self.not_with_tools():
            if params.get(name):
                raise wrong(name, "is left out in a call with `tools`")
        session = self.add(Kept(self.new_id(), self.caller.tenant, params.get("input_blobs", [])))
        self.asking[session.id] = Asking(params)
        return self.next_part(session)

    def not_with_tools(self):
        return NOT_WITH_TOOLS

    def next_part(self, session):
        """The result of a run with the answers that it has so far."""
        asking = self.asking[session.id]
        params, answers = asking.params, asking.answers
        skills = [self.find({"name": name}) for name in params.get("mount_skills", [])]
        order = (params.get("input_blobs", []), self.timeout_of(params), params["tools"], answers)
        program = AskingProgram(self, skills, *order)
        args, entrypoint = params.get("args", {}), params.get("entrypoint")
        result = self.run(program, params["code"], "main.py", entrypoint, args, params)
        log = program.log.getvalue()
        result["logs_preview"] = log[asking.printed :]
        asking.printed = len(log)
        if not program.requests:
            self.end_run(session)
            return self.ended_run(result, session, answers)
        requests = [{"id": f"c1-r{number}", **request} for number, request in program.requests.items()]
        state = {"id": session.id, "cell": 1, "checkpoint": None, "state": "waiting"}
        result.update(status="waiting", output=None, requests=requests, session=state)
        asking.open = {request["id"]: number for request, number in zip(requests, program.requests)}
        return self.waiting_run(result)

    def waiting_run(self, result):
        return result

    def ended_run(self, result, session, answers):
        """A run that has waited says that its session is closed."""
        if answers:
            result["session"] = {"id": session.id, "cell": 1, "checkpoint": None, "state": "closed"}
        return result

    def end_run(self, session):
        self.asking.pop(session.id)
        self.close(session)

    def go_on_with(self, session, given):
        """The result of a run that goes on with these answers."""
        asking = self.asking[session.id]
        self.check_answers(asking.open, given)
        known = [answer for answer in given if answer["id"] in asking.open]
        asking.answers.update({asking.open[answer["id"]]: answer for answer in known})
        return self.next_part(session)

    def check_answers(self, ids, given):
        """Refuses answers unless there is one to each request."""
        found = [answer["id"] for answer in given]
        is_right = all("output" not in answer or "error" not in answer for answer in given)
        if sorted(found) != sorted(ids) or not is_right:
            raise wrong("answers", "has one answer to each request")

    def declared_tool(self, declared, name):
        return declared.get(name)

    def error_of(self, message, name):
        return ToolError(message, name)

    def fault_of(self, schema, value, place):
        """Why a value does not fit a schema."""
        kind = KINDS.get(schema.get("type"))
        if kind and not isinstance(value, kind):
            return f"`{place}` must be {schema['type']}"
        for name, member in schema.get("properties", {}).items():
            fault = name in value and self.fault_of(member, value[name], f"{place}.{name}")
            if fault:
                return fault
        return None
