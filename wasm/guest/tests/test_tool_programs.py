"""Programs as models write them: with tools of their caller they give what they give with the functions."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from _wardian import asking, cells
from tests.support import Sandbox, runner

PAGES = [[1, 2, 3], [4, 5], []]


class Functions:
    """What the caller has. Some of it fails, and some of it remembers."""

    def __init__(self) -> None:
        self.failures = {"flaky": 2}
        self.stored: list[Any] = []

    def page(self, number: int = 1) -> dict[str, Any]:
        rows = PAGES[min(number, len(PAGES)) - 1]
        return {"rows": rows, "next": number + 1 if rows else None}

    def double(self, n: int) -> int:
        return 2 * n

    def flaky(self, key: str) -> str:
        if self.failures["flaky"]:
            self.failures["flaky"] -= 1
            raise LookupError("try again")
        return key.upper()

    def missing(self) -> None:
        raise LookupError("there is nothing")

    def store(self, row: Any) -> int:
        self.stored.append(row)
        return len(self.stored)

    def users(self) -> list[dict[str, Any]]:
        return [{"id": n, "name": name, "team": n % 2} for n, name in enumerate(("Ada", "Bob", "Cy"))]

    def orders(self, user: int) -> list[dict[str, Any]]:
        return [{"sum": 10.5 * (user + 1) * n} for n in range(user + 1)]

    def large(self, count: int) -> list[int]:
        return list(range(count))

    def nothing(self) -> None:
        return None

    def text(self) -> str:
        return "é\u2028\U0001f600 \\ \" \n"


NAMES = {f"crm.{name}" for name, _ in inspect.getmembers(Functions, inspect.isfunction) if name[0] != "_"}

PROGRAMS = {
    "one call": "await crm.double(n=4)",
    "a loop": "total = 0\nfor n in range(5):\n    total += await crm.double(n=n)\ntotal",
    "all at once": "import asyncio\nawait asyncio.gather(*(crm.double(n=n) for n in range(20)))",
    "as they come": (
        "import asyncio\ntasks = [asyncio.create_task(crm.double(n=n)) for n in range(4)]\n"
        "sorted([await done for done in asyncio.as_completed(tasks)])"
    ),
    "pages until the last": (
        "rows, number = [], 1\nwhile number:\n    page = await crm.page(number=number)\n"
        "    rows += page['rows']\n    number = page['next']\nrows"
    ),
    "an async generator": (
        "async def pages():\n    number = 1\n    while number:\n        page = await crm.page(number=number)\n"
        "        yield page['rows']\n        number = page['next']\n"
        "[row async for rows in pages() for row in rows]"
    ),
    "retries": (
        "from tools import ToolError\nfor attempt in range(5):\n    try:\n"
        "        found = await crm.flaky(key='a')\n        break\n    except ToolError as error:\n"
        "        print(attempt, 'again' in str(error))\nfound, attempt"
    ),
    "an exception that is caught": (
        "from tools import ToolError\ntry:\n    await crm.missing()\nexcept ToolError as error:\n"
        "    found = type(error).__name__\nelse:\n    found = None\nfinally:\n    print('over')\nfound"
    ),
    "exceptions among results": (
        "import asyncio\nfound = await asyncio.gather(crm.double(n=1), crm.missing(), return_exceptions=True)\n"
        "[found[0], type(found[1]).__name__]"
    ),
    "a group of tasks": (
        "import asyncio\nasync with asyncio.TaskGroup() as group:\n"
        "    tasks = [group.create_task(crm.double(n=n)) for n in range(3)]\n[task.result() for task in tasks]"
    ),
    "a group that fails": (
        "import asyncio\ntry:\n    async with asyncio.TaskGroup() as group:\n"
        "        group.create_task(crm.missing())\n        group.create_task(crm.double(n=1))\n"
        "except* Exception as several:\n    found = len(several.exceptions)\nfound"
    ),
    "a semaphore": (
        "import asyncio\nlimit = asyncio.Semaphore(2)\nasync def one(n):\n    async with limit:\n"
        "        return await crm.double(n=n)\nawait asyncio.gather(*(one(n) for n in range(6)))"
    ),
    "a queue of workers": (
        "import asyncio\nqueue, found = asyncio.Queue(), []\nfor n in range(5):\n    queue.put_nowait(n)\n"
        "async def work():\n    while not queue.empty():\n        found.append(await crm.double(n=queue.get_nowait()))\n"
        "await asyncio.gather(work(), work())\nsorted(found)"
    ),
    "a join in the program": (
        "import asyncio\nusers = await crm.users()\n"
        "orders = await asyncio.gather(*(crm.orders(user=user['id']) for user in users))\n"
        "{user['name']: sum(order['sum'] for order in own) for user, own in zip(users, orders)}"
    ),
    "an early exit": (
        "found = None\nfor n in range(100):\n    row = await crm.double(n=n)\n    if row > 5:\n"
        "        found = row\n        break\nfound"
    ),
    "main": "async def main():\n    print('begins')\n    return [await crm.double(n=1), await crm.nothing()]",
    "effects once": (
        "for row in ('a', {'b': [1.5, None, True]}):\n    count = await crm.store(row=row)\ncount"
    ),
    "a large result": "rows = await crm.large(count=20000)\nlen(rows), sum(rows)",
    "any text": "text = await crm.text()\n[text, len(text)]",
    "a chain": "value = 1\nfor _ in range(40):\n    value = (await crm.double(n=value)) % 1009\nvalue",
    "an only run": (
        "import asyncio\nasync def work():\n    return await crm.double(n=21)\n"
        "if __name__ == '__main__':\n    print(asyncio.run(work()))"
    ),
    "a decorator that counts": (
        "calls = []\ndef counted(function):\n    async def inner(**named):\n        calls.append(named)\n"
        "        return await function(**named)\n    return inner\n"
        "double = counted(crm.double)\n[await double(n=3), calls]"
    ),
}


def native(source: str, functions: Functions) -> tuple[Any, str]:
    """The value and the output of a program whose tools are the functions themselves."""
    module: Any = ModuleType("tools")

    def tool(name: str) -> Callable[..., Any]:
        async def called(**arguments: Any) -> Any:
            try:
                return getattr(functions, name)(**arguments)
            except LookupError as error:
                raise asking.ToolError(str(error), f"crm.{name}") from error

        return called

    module.crm = SimpleNamespace(**{name[4:]: tool(name[4:]) for name in NAMES})
    module.ToolError = asking.ToolError
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    namespace: dict[str, Any] = {"__name__": "__main__"}
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

    async def run() -> Any:
        value = eval(compile(tree, "main.py", "exec", flags), namespace)
        if inspect.isawaitable(value):
            await value
        if last is None:
            return await namespace["main"]() if "main" in namespace else None
        value = eval(compile(ast.Expression(last.value), "main.py", "eval", flags), namespace)
        return await value if inspect.isawaitable(value) else value

    before, printed = sys.modules.get("tools"), io.StringIO()
    sys.modules["tools"] = module
    loop = asyncio.SelectorEventLoop()
    try:
        with contextlib.redirect_stdout(printed):
            if "asyncio.run(" in source:
                exec(compile(ast.parse(source), "main.py", "exec"), namespace)
                return None, printed.getvalue()
            return loop.run_until_complete(run()), printed.getvalue()
    finally:
        loop.close()
        sys.modules.pop("tools") if before is None else sys.modules.update(tools=before)


class ToolPrograms(Sandbox):
    def performed(self, source: str, functions: Functions, at_once: bool) -> tuple[Any, str]:
        """The value and the output of a program whose caller answers all of its requests, or the last
        one alone."""
        cells.forget()
        runner.forget_run()
        tools = [{"name": name} for name in sorted(NAMES)]
        order = {"number": 1, "reseed": False, "program": True, "tools": tools}
        self.cells, printed = 1, ""
        end, value = self.run_code(source, cell=order)
        while end == "waits":
            printed += self.printed
            asked = self.requests if at_once else self.requests[-1:]
            answers = [{"number": one["number"], **answer(functions, one["tool"])} for one in asked]
            end, value = self.run_code("", cell={"number": 1, "reseed": False, "answers": answers})
        self.assertEqual(end, "returned", value)
        return value, printed + self.printed

    def test_programs_give_what_they_give_natively(self):
        for name, source in PROGRAMS.items():
            source = f"from tools import crm\n{source}"
            with self.subTest(name):
                own = Functions()
                value, printed = native(source, own)
                if isinstance(value, tuple):
                    value = list(value)
                for at_once in (True, False):
                    functions = Functions()
                    found = self.performed(source, functions, at_once)
                    self.assertEqual(found, (value, printed), f"answered at once: {at_once}")
                    self.assertEqual(functions.stored, own.stored)


def answer(functions: Functions, tool: dict[str, Any]) -> dict[str, Any]:
    """The answer of a caller to the call of a tool."""
    try:
        return {"output": getattr(functions, tool["name"][4:])(**tool["arguments"])}
    except LookupError as error:
        return {"error": str(error)}
