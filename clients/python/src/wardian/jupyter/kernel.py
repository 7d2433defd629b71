"""The kernel: translates Jupyter's requests into cells of a session, and results into messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from threading import Event
from typing import Any, cast

from ipykernel.kernelbase import Kernel
from traitlets import Bool, Float, Unicode

from wardian import __version__
from wardian._requests import Refusal
from wardian.errors import SessionExpired, SessionNotFound, WardianError
from wardian.jupyter import asides, syntax
from wardian.jupyter.bundles import PLAIN, Bundle, bundle_of, json_text, place_of_value
from wardian.jupyter.history import SESSION, History, as_reply
from wardian.jupyter.prints import Prints
from wardian.jupyter.questions import allowing
from wardian.jupyter.remote import Remote, Settings
from wardian.results import CallerRequest, RunError, RunResult

PYTHON_VERSION = "3.15.0"
"""The version of Python in sessions. Frontends ask for it before there is a session to ask."""

ASKING = ("input():", "getpass():")
"""How the message of an `EOFError` begins if a program wants to ask the user, and cannot."""

NO_INPUT = "nobody can be asked here: assign the value to a variable instead"

NOBODY = "nobody can be asked here"

POLL_MS = 50
"""How often a question to the user notices an interrupt, in milliseconds."""

END_OF_INPUT = "\x04"
"""The line that frontends send for the end of the input."""

LOST = "Its variables are lost. Restart the kernel to begin a new session."


class WardianKernel(Kernel):
    """Runs the cells of a notebook in one session, which is created by the first cell."""

    implementation = "wardian"
    implementation_version = __version__
    banner = "Python in a session of a Wardian server"
    language_info = {
        "name": "python",
        "version": PYTHON_VERSION,
        "mimetype": "text/x-python",
        "file_extension": ".py",
        "pygments_lexer": "ipython3",
        "nbconvert_exporter": "python",
        "codemirror_mode": {"name": "ipython", "version": 3},
    }

    url = Unicode("", help="Address of the server [default: WARDIAN_URL]").tag(config=True)
    key_file = Unicode(
        "", help="File with the key of the caller [default: the key in WARDIAN_API_KEY]"
    ).tag(config=True)
    session_id = Unicode("", help="A session to continue, which is never closed").tag(config=True)
    keep = Bool(False, help="Keep the session when the kernel ends").tag(config=True)
    timeout = Float(0.0, help="Time limit of a cell in seconds [default: that of the server]").tag(
        config=True
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.remote = Remote(
            Settings(
                url=self.url or None,
                key_file=self.key_file or None,
                session_id=self.session_id or None,
                keep=self.keep,
                timeout=self.timeout or None,
            )
        )
        self._history = History()
        self._last_cell = 0

    @property
    def kernel_info(self) -> dict[str, Any]:
        # The base class would announce a debugger and subshells.
        info = cast(dict[str, Any], super().kernel_info)  # pyright: ignore[reportUnknownMemberType]
        return {**info, "supported_features": []}

    def pre_handler_hook(self) -> None:
        """Leaves SIGINT ignored: interrupts are messages, which `interrupt_request` passes on."""

    def post_handler_hook(self) -> None:
        """Nothing to undo."""

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: Mapping[str, str] | None = None,
        allow_stdin: bool = False,
        *,
        cell_meta: object = None,
        cell_id: object = None,
    ) -> dict[str, Any]:
        """Runs a cell."""
        number = self._last_cell + 1
        asked = syntax.asked_name(code)
        if asked is not None or not code.strip():
            self.execution_count = self._last_cell
            return self._paged(asked, number, with_source="??" in code)
        try:
            result = self._run(code, silent, asks=allow_stdin)
        except WardianError as error:
            # No cell was added to the session.
            self.execution_count = self._last_cell
            advice = LOST if isinstance(error, LOSSES) else None
            return self._failed(number, error_lines(error, advice), error, silent)
        if result.session is not None:
            number = self._last_cell = self.execution_count = result.session.cell
        text = self._show(result, number, silent)
        if store_history and not silent:
            self._history.add(number, code, text)
        if result.error is not None:
            return self._raised(number, result.error, silent)
        return {
            "status": "ok",
            "execution_count": number,
            "payload": [],
            "user_expressions": self._evaluated(user_expressions or {}),
        }

    async def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        """Completes a name from the state of the session."""
        name = syntax.typed_name(code, cursor_pos)
        found: list[str] | None = None if name is None else self._aside(asides.names_for(name))
        start = cursor_pos if name is None else cursor_pos - len(name.prefix)
        return {
            "status": "ok",
            "matches": found or [],
            "cursor_start": start,
            "cursor_end": cursor_pos,
            "metadata": {},
        }

    async def do_inspect(
        self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: object = ()
    ) -> dict[str, Any]:
        """Describes the object at the cursor."""
        name = syntax.name_at(code, cursor_pos)
        about = None if name is None else self._about(name, with_source=detail_level > 0)
        data = {} if about is None else {PLAIN: about}
        return {"status": "ok", "found": about is not None, "data": data, "metadata": {}}

    async def do_is_complete(self, code: str) -> dict[str, Any]:
        """Says whether a prompt should execute a text."""
        status, indent = syntax.completeness(code)
        return (
            {"status": status, "indent": indent} if status == "incomplete" else {"status": status}
        )

    async def do_history(
        self,
        hist_access_type: str,
        output: bool,
        raw: bool,
        session: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        n: int | None = None,
        pattern: str | None = None,
        unique: bool = False,
    ) -> dict[str, Any]:
        """The cells that this kernel has run."""
        if hist_access_type == "tail":
            found = self._history.tail(n)
        elif hist_access_type == "search":
            found = self._history.search(pattern, n, unique=unique)
        else:
            found = self._history.range(start, stop) if session in (None, SESSION) else []
        return as_reply(found, with_values=output)

    async def interrupt_request(self, stream: Any, ident: Any, parent: Any) -> None:
        """Interrupts the running cell, whose state is kept. The control thread calls this."""
        content: dict[str, Any] = {"status": "ok"}
        try:
            await asyncio.to_thread(self.remote.interrupt)
        except WardianError as error:
            content = error_content(type(error).__name__, str(error), error_lines(error))
        channels: Any = self.session
        if channels is not None:
            channels.send(stream, "interrupt_reply", content, parent, ident=ident)

    async def do_shutdown(self, restart: bool) -> dict[str, Any]:
        """Closes the session, unless it is to be kept."""
        try:
            await asyncio.to_thread(self.remote.end)
        except WardianError as error:
            self.log.warning("the session was not closed: %s", error)
        return {"status": "ok", "restart": restart}

    def _run(self, code: str, silent: bool, *, asks: bool) -> RunResult:
        parent = self.get_parent("shell")  # pyright: ignore[reportUnknownMemberType]
        prints = Prints(self._stream_of(parent))

        def pass_on(stream: str, text: str) -> None:
            if not silent:
                prints.add(stream, text)

        def answer(part: RunResult, stop: Event) -> dict[str, Any] | None:
            prints.flush()
            if not silent:
                for bundle in self._bundles(part):
                    self._publish_display(bundle)
            answers: dict[str, Any] = {}
            for request in part.requests:
                if request.kind == "approval":
                    answers[request.id] = self._decision(request, stop) if asks else Refusal(NOBODY)
                elif asks and request.kind == "input":
                    answers[request.id] = self._line(request.prompt or "", bool(request.hidden), stop)
                else:
                    answers[request.id] = EOFError(f"{ASKING[0]} {NO_INPUT}")
                if stop.is_set():
                    return None
            return answers

        with prints:
            return self.remote.run(code, pass_on, answer)

    def _decision(self, request: CallerRequest, stop: Event) -> bool | Refusal:
        """Whether the user approves a call."""
        line = self._line(allowing(request), False, stop)
        is_yes = isinstance(line, str) and line.strip().lower() in ("y", "yes")
        return is_yes or Refusal("the user has refused it")

    def _line(self, prompt: str, hidden: bool, stop: Event) -> str | EOFError:
        """The line that the user answers a question with. Ends early once `stop` is set."""
        channels: Any = self.session
        socket: Any = self.stdin_socket
        while socket.poll(0):
            # The answer to an earlier question.
            channels.recv(socket)
        content = {"prompt": prompt, "password": hidden}
        ident = self._get_shell_context_var(self._shell_parent_ident)
        parent = self.get_parent("shell")  # pyright: ignore[reportUnknownMemberType]
        channels.send(socket, "input_request", content, parent, ident=ident)
        reply = None
        while reply is None and not stop.is_set():
            if socket.poll(POLL_MS):
                _, reply = channels.recv(socket)
        value = "" if reply is None else str(reply["content"].get("value", ""))
        return EOFError() if value == END_OF_INPUT else value

    def _show(self, result: RunResult, number: int, silent: bool) -> str | None:
        """Publishes what a cell displayed and its value, and returns the text of the value."""
        if silent:
            return None
        state = result.session
        if state is not None and state.state == "rolled_back":
            reason = (state.reason or "it was stopped").rstrip(".")
            self._stream("stderr", f"This cell was rolled back: {reason}. It left no trace.\n")
        bundles = self._bundles(result)
        has_value = result.is_completed and bool(result.output is not None or result.converted)
        text = self._text_of_value(number) if has_value else None
        place = place_of_value(bundles, text) if has_value else None
        for at, bundle in enumerate(bundles):
            if at == place:
                self._publish_value(number, bundle)
            else:
                self._publish_display(bundle)
        if has_value and place is None:
            text = text or json_text(self.remote.output_of(result))
            self._publish_value(number, {PLAIN: text})
        return text

    def _bundles(self, result: RunResult) -> list[Bundle]:
        bundles: list[Bundle] = []
        for display in result.display:
            try:
                bundles.append(bundle_of(display, self.remote.read))
            except WardianError as error:
                self._stream("stderr", f"{', '.join(display)} cannot be shown: {error}\n")
        return bundles

    def _text_of_value(self, number: int) -> str | None:
        return self._aside(asides.value_of(number))

    def _publish_display(self, bundle: Bundle) -> None:
        self._publish("display_data", {"data": bundle, "metadata": {}, "transient": {}})

    def _publish_value(self, number: int, bundle: Bundle) -> None:
        content = {"execution_count": number, "data": bundle, "metadata": {}}
        self._publish("execute_result", content)

    def _stream(self, name: str, text: str) -> None:
        self._publish("stream", {"name": name, "text": text})

    def _stream_of(self, parent: Any) -> Callable[[str, str], None]:
        """Publishes texts of the cell that a request has begun, in any thread."""
        channels: Any = self.session
        socket = self.iopub_socket

        def publish(name: str, text: str) -> None:
            channels.send(socket, "stream", {"name": name, "text": text}, parent)

        return publish

    def _publish(self, kind: str, content: dict[str, Any]) -> None:
        """Sends a message to all clients of the kernel."""
        socket = self.iopub_socket
        self.send_response(socket, kind, content)  # pyright: ignore[reportUnknownMemberType]

    def _raised(self, number: int, error: RunError, silent: bool) -> dict[str, Any]:
        """The reply to a cell that raised an exception, which is also published."""
        lines = (error.traceback or f"{error.type}: {error.message}").splitlines()
        name, message = error.type, error.message
        if name == "EOFError" and message.startswith(ASKING):
            name, message = "StdinNotImplementedError", NO_INPUT
            lines[-1:] = [f"{name}: {message}"]
        return self._error_reply(number, error_content(name, message, lines), silent)

    def _failed(
        self, number: int, lines: list[str], error: WardianError, silent: bool
    ) -> dict[str, Any]:
        """The reply to a cell that the server refused, or whose connection broke."""
        content = error_content(type(error).__name__, str(error), lines)
        return self._error_reply(number, content, silent)

    def _error_reply(self, number: int, content: dict[str, Any], silent: bool) -> dict[str, Any]:
        if not silent:
            error = {name: content[name] for name in ("ename", "evalue", "traceback")}
            self._publish("error", error)
        return {**content, "execution_count": number, "payload": [], "user_expressions": {}}

    def _paged(self, name: str | None, number: int, *, with_source: bool) -> dict[str, Any]:
        """The reply to a cell that is not executed: it is empty, or asks about a name."""
        payload: list[dict[str, Any]] = []
        if name is not None:
            text = self._about(name, with_source=with_source) or f"There is no object `{name}`."
            payload.append({"source": "page", "data": {PLAIN: text}, "start": 0})
        content = {"status": "ok", "execution_count": number, "payload": payload}
        return {**content, "user_expressions": {}}

    def _evaluated(self, expressions: Mapping[str, str]) -> dict[str, Any]:
        if not expressions:
            return {}
        found: list[list[str]] | None = self._aside(asides.evaluated(expressions.values()))
        if found is None:
            return {}
        return {name: _evaluation(*parts) for name, parts in zip(expressions, found, strict=True)}

    def _about(self, name: str, *, with_source: bool) -> str | None:
        return self._aside(asides.about(name, with_source=with_source))

    def _aside(self, program: str) -> Any:
        """The value of a program in a copy of the session, or `None` if it fails."""
        try:
            return self.remote.aside(program)
        except WardianError as error:
            self.log.debug("a copy of the session did not answer: %s", error)
            return None


LOSSES = (SessionExpired, SessionNotFound)
"""Errors that mean that the session has ended."""


def error_lines(error: WardianError, advice: str | None = None) -> list[str]:
    """What is shown in the place of a traceback if the client refused or failed."""
    lines = f"{type(error).__name__}: {error}".splitlines()
    return lines if advice is None else [*lines, advice]


def error_content(name: str, message: str, lines: list[str]) -> dict[str, Any]:
    """The members that all replies about errors have."""
    return {"status": "error", "ename": name, "evalue": message, "traceback": lines}


def _evaluation(status: str, text: str, message: str = "") -> dict[str, Any]:
    if status == "ok":
        return {"status": "ok", "data": {PLAIN: text}, "metadata": {}}
    return error_content(text, message, [f"{text}: {message}"])
