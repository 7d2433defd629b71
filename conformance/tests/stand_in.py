"""A server of the Skills Protocol for the tests of the suite: right by default, so that each defect of
`defects.py` makes one thing wrong. It runs programs in this process and is no sandbox."""

import base64
import datetime
import hashlib
import json
import re
import subprocess
import sys
import threading
import types
import uuid

from skills_protocol_conformance.transport import Reply

from .called_tools import ToolsOfStandIn
from .kept import SessionsOfStandIn
from .program import Crashed, Program, Stopped, new_run_id
from .refused import Refused, wrong
from .skill_store import load_skills

METHODS = {
    "list_skills": ({}, {"namespace": str, "detail": str, "limit": int, "cursor": str}),
    "describe_skill": ({"name": str}, {"version": str, "detail": str}),
    "read_skill_file": ({"name": str, "path": str}, {"version": str}),
    "execute_skill": (
        {"name": str},
        {
            "version": str,
            "args": dict,
            "input_blobs": list,
            "timeout_ms": int,
            "script": str,
            "argv": list,
            "stdin": str,
        },
    ),
    "run_code": (
        {"language": str, "code": str},
        {
            "entrypoint": str,
            "args": dict,
            "mount_skills": list,
            "input_blobs": list,
            "limits": dict,
            "timeout_ms": int,
            "keep_files": (list, bool),
            "strict_output": bool,
            "detach": bool,
            "idempotency_key": str,
            "reproducible": (bool, dict),
            "session": (str, dict),
            "tools": list,
            "answers": list,
        },
    ),
    "create_blob": ({"content": str, "kind": str}, {"encoding": str, "name": str}),
    "read_blob": ({"blob_id": str}, {"mode": str, "max_bytes": int}),
    "load_skills_protocol_guide": ({}, {}),
}
LARGEST_TIMEOUT_MS = 300_000
INPUT_TYPES = {"integer": int, "string": str, "blob": str}


class Duplicate(ValueError):
    """An object has a member twice."""


def unique(pairs):
    """Members of an object, each once."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise Duplicate
    return dict(pairs)


class OtherTenant:
    """The transport of a client with the key of another tenant."""

    def __init__(self, server):
        self.path, self.timeout, self._server = server.path, server.timeout, server

    def request(self, verb, path, headers, body):
        """Answers a request."""
        return self._server.request(verb, path, {**headers, "Authorization": "Bearer other"}, body)


class StandIn(SessionsOfStandIn, ToolsOfStandIn):
    """The server, and at once the transport of a client."""

    host, port, path, timeout, url = "127.0.0.1", 8080, "/rpc", 5.0, "stand-in"

    def __init__(self):
        SessionsOfStandIn.__init__(self)
        ToolsOfStandIn.__init__(self)
        self.caller = threading.local()
        self.other = OtherTenant(self)
        self.skills = list(load_skills())
        self.blobs, self.runs, self.pending, self.keys = {}, {}, {}, {}
        self.names = {}
        self.environment = {"PATH": "/bin", "HOME": "/workspace"}
        self.lets_connect = False

    # HTTP

    def request(self, verb, path, headers, body):
        """Answers a request."""
        place, _, query = path.partition("?")
        self.caller.tenant = headers.get("Authorization", "")
        if verb == "POST" and place == "/rpc":
            return self.rpc(headers, body)
        if place.startswith("/v1/sessions"):
            files = place.partition("/files/")
            if files[1]:
                return self.of_file(verb, files, query, headers, body)
            return self.of_sessions(verb, place, query, body)
        status, answer = self.elsewhere(verb, place, query, headers, body)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return Reply(status, {"content-type": "application/json"}, data)

    def rpc(self, headers, body):
        """Answers the body of a request to the endpoint."""
        answer = self.answer(body)
        if answer is None:
            return Reply(204, {}, b"")
        if "text/event-stream" in headers.get("Accept", ""):
            return Reply(200, {"content-type": "text/event-stream"}, self.events(answer))
        return Reply(
            self.status_of(answer), {"content-type": self.content_type()}, json.dumps(answer).encode()
        )

    def content_type(self):
        return "application/json"

    def status_of(self, answer):
        return 200

    def events(self, answer):
        """A response as events."""
        log = answer["result"].get("logs_preview", "")
        told = [("output", {"stream": "stdout", "text": log}), ("response", answer)]
        return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in told).encode()

    def elsewhere(self, verb, place, query, headers, body):
        """Status and answer of all other paths."""
        if place == "/tools":
            return 200, self.tools(query)
        if place in ("/healthz", "/readyz"):
            return 200, {"ready": True, "reasons": []}
        if place == "/version":
            return 200, {"name": "stand-in", "protocol": "0.1"}
        if place == "/v1/blobs":
            return 201, {"blob_id": self.store_blob(body, headers["Content-Type"]), "size_bytes": len(body)}
        if place.startswith("/v1/blobs/"):
            return 200, self.blobs[place.rpartition("/")[2]][0]
        run_id = place.split("/")[3]
        found = self.cancel(run_id) if place.endswith("/cancel") else self.record(run_id)
        return (200, found) if found else (404, {})

    def tools(self, query):
        """The tools as JSON Schemas."""
        names = list(METHODS)
        if query == "format=openai":
            return [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]
        member = "input_schema" if query == "format=anthropic" else "parameters"
        return [{"name": name, member: {"type": "object"}} for name in names]

    # JSON-RPC

    def answer(self, body):
        """The response to a body; None if there is nothing to answer."""
        try:
            value = self.parse(body)
        except Duplicate:
            return self.refusal(None, Refused(-32600, "invalid_request", "a member appears twice"))
        except ValueError:
            return self.refusal(None, Refused(-32700, "parse_error", "the body is not JSON"))
        return self.batch(value) if isinstance(value, list) else self.one(value)

    def parse(self, body):
        return json.loads(body.decode(), object_pairs_hook=unique)

    def batch(self, values):
        """The responses to a batch."""
        if not values:
            return self.refusal(None, Refused(-32600, "invalid_request", "the batch is empty"))
        responses = [response for response in map(self.one, values) if response is not None]
        return self.batch_of(responses)

    def batch_of(self, responses):
        return responses or None

    def one(self, request):
        """The response to one request."""
        try:
            self.check(request)
        except Refused as refused:
            return self.refusal(None, refused)
        if self.is_notification(request):
            return None
        try:
            return self.response(request, self.call(request["method"], request.get("params", {})))
        except Refused as refused:
            return self.refusal(request["id"], refused)

    def is_notification(self, request):
        return "id" not in request

    def check(self, request):
        """Refuses what is no request."""
        is_request = (
            isinstance(request, dict)
            and request.get("jsonrpc") == "2.0"
            and isinstance(request.get("method"), str)
            and not isinstance(request.get("id"), (bool, list, dict))
        )
        if not is_request:
            raise Refused(-32600, "invalid_request", "this is no request")

    def response(self, request, result):
        return {"jsonrpc": "2.0", "id": request["id"], "result": result}

    def refusal(self, id, refused):
        """A response with an error."""
        data = {"kind": refused.kind}
        if refused.parameter:
            data["parameter"] = refused.parameter
        error = {"code": refused.code, "message": refused.message, "data": data}
        return {"jsonrpc": "2.0", "id": id, "error": error}

    def call(self, method, params):
        """The result of a method."""
        if method not in METHODS:
            raise Refused(-32601, "method_not_found", f"there is no method `{method}`")
        self.check_params(method, params)
        return getattr(self, method)(dict(params))

    def check_params(self, method, params):
        """Refuses unknown, missing and wrong parameters."""
        if not isinstance(params, dict):
            raise Refused(-32602, "invalid_params", "`params` must be an object")
        required, optional = METHODS[method]
        for name in required:
            if name not in params:
                raise wrong(name, "is missing")
        for name, value in params.items():
            kind = required.get(name) or optional.get(name)
            if kind is None:
                raise wrong(name, "is unknown")
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise wrong(name)

    # Discovery

    def sorted_skills(self):
        """The latest version of each skill."""
        latest = {}
        for skill in sorted(self.skills, key=lambda skill: skill.order):
            latest[skill.name] = skill
        return [latest[name] for name in sorted(latest)]

    def in_namespace(self, skill, namespace):
        names = (skill.name, skill.manifest.get("namespace", ""))
        return any(name == namespace or name.startswith(f"{namespace}.") for name in names)

    def list_skills(self, params):
        detail, limit = params.get("detail", "names"), params.get("limit", self.default_limit())
        if detail not in ("names", "summary"):
            raise wrong("detail")
        if limit < 1:
            raise wrong("limit")
        namespace = params.get("namespace")
        skills = [
            skill for skill in self.sorted_skills() if not namespace or self.in_namespace(skill, namespace)
        ]
        begin = self.position_of(params["cursor"]) if "cursor" in params else 0
        page = skills[begin : begin + limit]
        is_last = begin + limit >= len(skills)
        listed = [self.listed(skill, detail) for skill in page]
        return {"skills": listed, "next_cursor": None if is_last else f"at-{begin + limit}"}

    def default_limit(self):
        return 50

    def position_of(self, cursor):
        """The place at which a page begins."""
        if not re.fullmatch(r"at-\d+", cursor):
            raise wrong("cursor")
        return int(cursor[3:])

    def listed(self, skill, detail):
        """A skill in a list."""
        shown = {"name": skill.name, "version": skill.version}
        if detail == "summary":
            for member in ("description", "kind", "namespace", "tags"):
                if member in skill.manifest:
                    shown[member] = skill.manifest[member]
        return shown

    def find(self, params):
        """The skill of a name and a version."""
        name, _, version = params["name"].partition("@")
        version = params.get("version") or version
        found = sorted((one for one in self.skills if one.name == name), key=lambda skill: skill.order)
        if not found:
            raise Refused(-32602, "skill_not_found", f"there is no skill `{name}`")
        if version:
            found = [skill for skill in found if skill.version == version]
        if not found:
            raise Refused(-32602, "version_not_found", f"there is no version `{version}`")
        return found[-1]

    def describe_skill(self, params):
        skill, detail = self.find(params), params.get("detail", "summary")
        if detail not in ("manifest", "summary", "full"):
            raise wrong("detail")
        described = {"manifest": json.loads(json.dumps(skill.manifest))}
        if detail != "manifest":
            described["skill_md_frontmatter"] = dict(skill.frontmatter)
        if detail == "full":
            described["skill_md_content"] = skill.document
            described["input_schema"] = self.input_schema(skill)
            described["scripts"] = self.scripts_of(skill)
        return {"skill": described}

    def input_schema(self, skill):
        inputs = skill.manifest.get("inputs", {})
        required = [name for name, entry in inputs.items() if entry.get("required")]
        return {"type": "object", "properties": {name: {} for name in inputs}, "required": required}

    def scripts_of(self, skill):
        """The scripts of a skill, with the first line of each."""
        scripts = [path for path in sorted(skill.files) if self.is_script(path)]
        return [{"path": path, "help": skill.files[path].decode().split('"""')[1]} for path in scripts]

    def is_script(self, path):
        """True for the path of a script."""
        return path.startswith("scripts/") and path.endswith(".py")

    def read_skill_file(self, params):
        skill = self.find(params)
        data = self.file_of(skill, params["path"])
        try:
            return {"content": data.decode()}
        except UnicodeDecodeError:
            return {"content": base64.b64encode(data).decode(), "encoding": "base64"}

    def file_of(self, skill, path):
        """The bytes of a file."""
        if path not in skill.files:
            raise Refused(-32602, "file_not_found", f"there is no file `{path}`")
        return skill.files[path]

    # Blobs

    def store_blob(self, data, kind):
        """Stores a blob and returns its id."""
        blob = f"blob:{hashlib.sha256(kind.encode() + bytes([0]) + data).hexdigest()}"
        self.blobs[blob] = (data, kind)
        return blob

    def find_blob(self, blob, parameter="blob_id"):
        """The content and the kind of a blob."""
        if blob not in self.blobs:
            raise Refused(-32602, "blob_not_found", f"the blob `{blob}` does not exist", parameter)
        return self.blobs[blob]

    def create_blob(self, params):
        is_base64 = params.get("encoding") == "base64"
        data = base64.b64decode(params["content"]) if is_base64 else params["content"].encode()
        name = params.get("name")
        if name is not None and not self.is_name(name):
            raise wrong("name")
        blob = self.store_blob(data, params["kind"])
        if name is not None:
            self.names[blob] = name
        return self.with_name(blob, {"blob_id": blob, "size_bytes": len(data)})

    def is_name(self, name):
        """True for the name of a file."""
        return name not in ("", ".", "..") and "/" not in name and name.isprintable()

    def with_name(self, blob, found):
        """The metadata of a blob, with its name if it has one."""
        return {**found, "name": self.names[blob]} if blob in self.names else found

    def read_blob(self, params):
        data, kind = self.find_blob(params["blob_id"])
        mode = params.get("mode", "sample_head")
        if mode not in ("sample_head", "sample_tail", "full"):
            raise wrong("mode")
        count = params.get("max_bytes", len(data) if mode == "full" else 2000)
        if count < 0 or (count < 1 and data):
            raise wrong("max_bytes")
        part = data[len(data) - min(count, len(data)) :] if mode == "sample_tail" else data[:count]
        found = {"truncated": len(part) < len(data), "kind": kind, "size_bytes": len(data)}
        found = self.with_name(params["blob_id"], found)
        if kind == "application/octet-stream":
            return {**found, "content": base64.b64encode(part).decode(), "encoding": "base64"}
        return {**found, "content": part.decode("utf-8", "ignore"), "encoding": "utf-8"}

    # The guide

    def load_skills_protocol_guide(self, params):
        return {
            "content": self.find({"name": "skills.protocol.guide"}).document.split("---\n", 2)[2].lstrip()
        }

    # Runs

    def execute_skill(self, params):
        skill = self.find(params)
        if skill.manifest["kind"] != "action":
            raise Refused(-32602, "not_executable", "this skill cannot be executed")
        if "script" in params:
            return self.run_script(skill, params)
        blobs, args = list(params.get("input_blobs", [])), self.checked_inputs(skill, params.get("args", {}))
        for name, entry in skill.manifest.get("inputs", {}).items():
            if entry["type"] == "blob" and name in args:
                blobs.append(args[name])
        runtime = skill.manifest["runtime"]
        source = skill.files[runtime["entrypoint"]].decode()
        timeout = params.get("timeout_ms", 30_000)
        program = self.program([skill], blobs, timeout, skill)
        return self.run(program, source, runtime["entrypoint"], runtime["export"], args, {})

    def run_script(self, skill, params):
        """The result of a script, which runs in a process of its own."""
        if params["script"] not in skill.files or not self.is_script(params["script"]):
            raise wrong("script")
        command = [sys.executable, "-c", skill.files[params["script"]].decode(), *params.get("argv", [])]
        ended = subprocess.run(command, input=params.get("stdin", ""), capture_output=True, text=True)
        result = {"status": "completed", "run_id": new_run_id(), "summary": "Completed.", "output": None}
        if ended.returncode:
            self.fail(result, {"type": "SystemExit", "message": f"exit code {ended.returncode}"})
        result.update(exit_code=ended.returncode, stdout=ended.stdout, stderr=ended.stderr)
        result.update(output_blobs=[], logs_preview="", output_truncated=False)
        result.update(logs_truncated=False, duration_ms=1, memory_peak_bytes=1)
        return result

    def checked_inputs(self, skill, args):
        """Arguments with defaults, checked against the manifest."""
        args = dict(args)
        for name, entry in skill.manifest.get("inputs", {}).items():
            if name in args and not isinstance(args[name], INPUT_TYPES[entry["type"]]):
                raise wrong("args")
            if name not in args and entry.get("required"):
                raise wrong("args")
            if name not in args and "default" in entry:
                args[name] = entry["default"]
        return args

    def run_code(self, params):
        if params["language"] != "python":
            raise wrong("language")
        if "session" in params:
            return self.cell(params)
        if params.get("tools"):
            return self.run_with_tools(params)
        key, asked = params.pop("idempotency_key", None), json.dumps(params, sort_keys=True)
        if key in self.keys:
            if self.keys[key][0] != asked:
                raise wrong("idempotency_key")
            return self.keys[key][1]
        skills = [self.find({"name": name}) for name in params.get("mount_skills", [])]
        timeout = self.timeout_of(params)
        program = self.program(skills, params.get("input_blobs", []), timeout)

        def start():
            args, entrypoint = params.get("args", {}), params.get("entrypoint")
            return self.run(program, params["code"], "main.py", entrypoint, args, params)

        result = self.detached(start) if params.get("detach") else start()
        if key:
            self.keys[key] = (asked, result)
        return result

    def timeout_of(self, params):
        """The time-out of a call."""
        timeout = params.get("limits", {}).get("timeout_ms") or params.get("timeout_ms") or 30_000
        if timeout > LARGEST_TIMEOUT_MS:
            raise wrong("limits.timeout_ms")
        return timeout

    def program(self, skills, blobs, timeout_ms, own=None):
        """A program with its mounts."""
        for blob in blobs:
            self.find_blob(blob, "input_blobs")
        return Program(self, skills, blobs, timeout_ms, own)

    def run(self, program, source, name, entrypoint, args, params):
        """The result of a run."""
        result = {"status": "completed", "run_id": new_run_id(), "summary": "Completed.", "output": None}
        try:
            value = program.execute(source, name, entrypoint, args)
            if not params.get("strict_output"):
                value, entries = self.converted(value)
                if entries:
                    result["converted"] = entries
            result["output"] = self.output_of(value)
            json.dumps(result["output"])
        except Stopped:
            self.fail(result, {"type": "Timeout", "message": "the run was stopped"})
        except Crashed:
            self.fail(result, {"type": "SandboxCrash", "message": "the process has ended"})
        except (Exception, SystemExit) as error:
            self.fail(result, program.described(error))
        self.finish(result, program, params)
        return result

    def fail(self, result, error):
        """Makes a result that of a failed run."""
        result.update(status="failed", summary=error["message"], output=None, error=error)

    def converted(self, value):
        """The value with its dates and sets as JSON has them, and the entries about them."""
        entries = {}

        def note(path, source, target):
            place = re.sub(r"\[\d+\]", "[*]", path)
            entry = entries.setdefault((place, source), {"path": path, "from": source, "to": target, "count": 0})
            entry["count"] += 1

        def walk(part, path):
            if isinstance(part, dict):
                return {key: walk(item, f"{path}.{key}") for key, item in part.items()}
            if isinstance(part, (list, tuple)):
                return [walk(item, f"{path}[{at}]") for at, item in enumerate(part)]
            if isinstance(part, datetime.date):
                note(path, "datetime.date", "ISO 8601 text")
                return part.isoformat()
            if isinstance(part, set):
                note(path, "set", "sorted list")
                return sorted(part)
            return part

        return walk(value, "$"), list(entries.values())

    def output_of(self, value):
        """The output for a returned value."""
        return value if value is None or isinstance(value, dict) else {"result": value}

    def finish(self, result, program, params):
        """Adds to a result the things that every run has."""
        output = result["output"]
        if output and "summary" in output:
            result["summary"] = output["summary"]
        result["output_truncated"] = False
        self.shorten(result, program)
        self.keep(result, program, params)
        log = program.log.getvalue()
        result["output_blobs"] = list(program.made)
        result["logs_preview"] = self.preview_of(log)
        result.update(logs_truncated=len(log) > 2048, duration_ms=1, memory_peak_bytes=1)

    def shorten(self, result, program):
        """Moves a large output to a blob."""
        text = json.dumps(result["output"])
        if len(text) > 4096:
            blob = self.store_blob(text.encode(), "application/json")
            program.made.append(blob)
            short = {"truncated": True, "blob_id": blob, "size_bytes": len(text), "preview": text[:512]}
            result.update(output=short, output_truncated=True)

    def keep(self, result, program, params):
        """Lists the files of a run, and keeps those that are wanted."""
        files = []
        for path, data in program.files.items():
            if path.startswith("/workspace/") and program.mounted.get(path) != data:
                file = {"path": path[len("/workspace/") :], "size_bytes": len(data)}
                if self.keeps(file["path"], params.get("keep_files")):
                    file["blob_id"] = self.store_blob(data, "text/plain")
                    self.names[file["blob_id"]] = file["path"].rpartition("/")[2]
                    program.made.append(file["blob_id"])
                files.append(file)
        if files:
            result["files"] = files

    def keeps(self, path, wanted):
        """True for a file that becomes a blob."""
        if wanted is None:
            return not any(part.startswith(".") for part in path.split("/"))
        if isinstance(wanted, bool):
            return wanted
        return any(path.endswith(pattern.lstrip("*")) for pattern in wanted)

    def mounted_names(self, blobs):
        """The names by which a program opens blobs, with the blobs."""
        return {self.names[blob]: blob for blob in reversed(blobs) if blob in self.names}

    def preview_of(self, log):
        return log.encode()[:2048].decode("utf-8", "ignore")

    def left_files(self):
        """Files of earlier runs: none."""
        return {}

    def guest_builtins(self):
        """The module `builtins` of a program: a new one."""
        return types.SimpleNamespace()

    def may_write(self, path):
        return path.startswith("/workspace/")

    def importable(self, name, mounted):
        return mounted.get(name)

    def helper_path(self, skill, name):
        return f"code/{name}.py"

    # Runs in the background

    def detached(self, start):
        """Puts a run off until somebody asks for it."""
        run_id = f"run_{uuid.uuid4().hex}"
        self.pending[run_id] = start
        return {"run_id": run_id, "status": "running"}

    def record(self, run_id):
        """The record of a run."""
        if run_id in self.pending:
            result = self.pending.pop(run_id)()
            self.runs[run_id] = {
                "run_id": run_id,
                "status": "ended",
                "outcome": result["status"],
                "result": result,
            }
        return self.runs.get(run_id)

    def cancel(self, run_id):
        """Cancels a run."""
        if self.pending.pop(run_id, None):
            self.runs[run_id] = {"run_id": run_id, "status": "ended", "outcome": "cancelled"}
        return self.runs.get(run_id)
