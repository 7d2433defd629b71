"""Speaks with a kernel as a frontend does."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

PATIENCE = 60
"""Seconds for an answer, on a slow machine."""

Message = dict[str, Any]


class Talk:
    """A running kernel and a connection to it."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager = manager
        self.client = client

    def run(self, code: str, **options: Any) -> tuple[Message, list[tuple[str, Message]]]:
        """Content of the reply to a cell, and its outputs with their types."""
        outputs: list[tuple[str, Message]] = []

        def note(message: Message) -> None:
            if message["msg_type"] not in ("status", "execute_input"):
                outputs.append((message["msg_type"], message["content"]))

        reply = self.client.execute_interactive(code, output_hook=note, timeout=PATIENCE, **options)
        return reply["content"], outputs

    def value(self, code: str) -> str | None:
        """The text of the value of a cell that must succeed."""
        reply, outputs = self.run(code)
        assert reply["status"] == "ok", reply
        values = [
            content["data"]["text/plain"] for kind, content in outputs if kind == "execute_result"
        ]
        return values[0] if values else None

    def reply(self, request: str, timeout: float = PATIENCE) -> Message:
        """Content of the reply to a request. Raises `queue.Empty` after `timeout` seconds."""
        while True:
            message = self.client.get_shell_msg(timeout=timeout)
            if message["parent_header"]["msg_id"] == request:
                return message["content"]

    def complete(self, code: str, cursor: int | None = None) -> list[str]:
        """What completes the name at the cursor."""
        return self.reply(self.client.complete(code, cursor))["matches"]


TRANSPORT = "ipc"
"""Sockets in the file system. A free port may be taken by others before the kernel binds it."""


def started(*arguments: str) -> KernelManager:
    """A process of the kernel, with further arguments."""
    manager = KernelManager(kernel_name="wardian", transport=TRANSPORT)
    manager.start_kernel(extra_arguments=list(arguments))
    return manager


@contextmanager
def kernel(*arguments: str) -> Generator[Talk]:
    """A kernel with further arguments, which is shut down as Jupyter does it."""
    manager = started(*arguments)
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=PATIENCE)
        yield Talk(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
