"""What a case has in hand: calls to the server, which are kept for the report."""

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from .case import Unmet, expect, shown
from .transport import Reply

LEFT_OUT = object()


@dataclass(frozen=True)
class Exchange:
    """A request and its answer."""

    request: str
    answer: str


class Session:
    """Calls the methods of a server and keeps the exchanges of a case."""

    def __init__(self, transport: Any) -> None:
        self.transport = transport
        self.exchanges: List[Exchange] = []
        self._last_id = 0

    def of_other_tenant(self) -> "Session":
        """Calls as another tenant; their exchanges are among those of the case."""
        other = Session(self.transport.other)
        other.exchanges = self.exchanges
        return other

    def send(
        self,
        body: bytes,
        verb: str = "POST",
        path: Optional[str] = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> Reply:
        """Sends any bytes; the answer can be anything."""
        path = self.transport.path if path is None else path
        if headers is None:
            headers = {"Content-Type": "application/json"} if verb == "POST" else {}
        asked = f"{verb} {path}\n{body.decode('utf-8', 'backslashreplace')}".strip()
        try:
            reply = self.transport.request(verb, path, headers, body)
        except Exception as error:
            self.exchanges.append(Exchange(asked, f"none: {error}"))
            raise
        text = reply.body.decode("utf-8", "backslashreplace")
        self.exchanges.append(Exchange(asked, f"HTTP {reply.status}\n{text}".strip()))
        return reply

    def send_json(self, value: object) -> object:
        """Sends a JSON value and returns the answer's, which must be JSON too."""
        return self.json_of(self.send(json.dumps(value).encode()))

    @staticmethod
    def json_of(reply: Reply) -> object:
        """The body of an answer as JSON."""
        try:
            return json.loads(reply.body.decode("utf-8"))
        except ValueError:
            raise Unmet(f"the answer is JSON in UTF-8, got {shown(reply.body)}") from None

    def request(self, method: str, params: object = LEFT_OUT, id: object = LEFT_OUT) -> dict:
        """A request object with an id of its own."""
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id if id is LEFT_OUT else id, "method": method}
        if params is not LEFT_OUT:
            request["params"] = params
        return request

    def respond(self, method: str, params: object = LEFT_OUT, id: object = LEFT_OUT) -> dict:
        """Calls a method and returns the whole response object."""
        response = self.send_json(self.request(method, params, id))
        expect(isinstance(response, dict), f"the answer is one response object, got {shown(response)}")
        return response

    def call(self, method: str, **params: object) -> dict:
        """Calls a method that must succeed, and returns its result."""
        response = self.respond(method, params)
        error = response.get("error")
        expect(error is None, f"`{method}` succeeds, got the error {shown(error)}")
        result = response.get("result")
        expect(isinstance(result, dict), f"the result of `{method}` is an object, got {shown(result)}")
        return result

    def error(self, method: str, **params: object) -> dict:
        """Calls a method that must be refused with a JSON-RPC error, and returns that."""
        response = self.respond(method, params)
        error = response.get("error")
        expect(
            isinstance(error, dict),
            f"`{method}` is refused with a JSON-RPC error, got {shown(response)}",
        )
        return error

    def run(self, code: str, args: Optional[dict] = None, **params: object) -> dict:
        """Runs Python code; `args` and further parameters are sent as they are."""
        if args is not None:
            params["args"] = args
        return self.call("run_code", language="python", code=code, **params)

    def output_of(self, code: str, args: Optional[dict] = None, **params: object) -> dict:
        """The output of Python code that must complete."""
        return completed(self.run(code, args, **params))

    def execute(self, name: str, args: Optional[dict] = None, **params: object) -> dict:
        """Executes a skill."""
        if args is not None:
            params["args"] = args
        return self.call("execute_skill", name=name, **params)

    def step(self, do: str, **args: object) -> dict:
        """Executes a step of the skill that can do many things."""
        return self.execute("conformance.work.steps", {"do": do, **args})

    def create_blob(self, content: str, kind: str = "text/plain") -> str:
        """Creates a blob and returns its id."""
        blob_id = self.call("create_blob", content=content, kind=kind).get("blob_id")
        expect(isinstance(blob_id, str) and blob_id, f"`blob_id` is a text, got {shown(blob_id)}")
        return blob_id

    def list_all(self, **params: object) -> List[dict]:
        """All skills of a list, page by page."""
        skills: List[dict] = []
        cursors = set()
        while True:
            page = self.call("list_skills", **params)
            expect(isinstance(page.get("skills"), list), "`skills` is an array")
            skills += page["skills"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return skills
            expect(isinstance(cursor, str), f"`next_cursor` is a text or null, got {shown(cursor)}")
            expect(cursor not in cursors, "each page has another `next_cursor`")
            cursors.add(cursor)
            params["cursor"] = cursor


def completed(run: dict) -> dict:
    """The output of a run that must have completed."""
    expect(run.get("status") == "completed", f"the run completes, got {shown(run, 600)}")
    output = run.get("output")
    expect(isinstance(output, dict), f"`output` is an object, got {shown(output)}")
    return output


def failed(run: dict) -> dict:
    """The error of a run that must have failed."""
    expect(run.get("status") == "failed", f'the run has the status "failed", got {shown(run, 600)}')
    error = run.get("error")
    return error if isinstance(error, dict) else {}
