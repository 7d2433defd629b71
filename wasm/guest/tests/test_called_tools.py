"""The tools of the caller as functions of the program."""

from __future__ import annotations

import inspect
import pydoc
import sys
from typing import Any

from _wardian import called_tools, tool_schemas
from runtime import tools as runtime_tools
from tests.support import Sandbox

SEARCH = {
    "name": "crm.search",
    "description": "Searches invoices and leads.\nSlow on Mondays.",
    "input_schema": {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "default": 10, "description": "Most rows"},
            "query": {"type": "string", "description": "Words"},
            "sort": {"enum": ["date", "sum"]},
            "owner": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["query"],
    },
    "output_schema": {
        "type": "array",
        "items": {"type": "object", "properties": {"id": {"type": "integer"}}},
    },
}
MAIL = {"name": "mail.send-now", "description": "Sends a message."}


class Functions(Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(called_tools.forget)

    def asks(self, source: str, *tools: Any) -> dict[str, Any]:
        """The only request of a cell, which is answered."""
        order = {"number": self.cells + 1, "reseed": False, "tools": [*(tools or (SEARCH, MAIL))]}
        self.cells += 1
        end, requests = self.run_code(source, cell=order)
        self.assertEqual(end, "waits", requests)
        [request] = requests
        self.answers({"output": None})
        return request["tool"]

    def function(self, name: str, *tools: Any) -> Any:
        called_tools.declare(tools or (SEARCH, MAIL))
        return called_tools.find(name).function

    def test_dotted_names_are_namespaces(self):
        expected = {"name": "crm.search", "arguments": {"query": "x", "limit": 3}}
        for source in (
            "await tools.crm.search(query='x', limit=3)",
            "from tools import crm\nawait crm.search(query='x', limit=3)",
            "from tools.crm import search\nawait search('x', 3)",
            "import tools.crm\nawait tools.crm.search('x', limit=3)",
            "from runtime.tools import crm\nawait crm.search(query='x', limit=3)",
            "await tools.call('crm.search', {'query': 'x', 'limit': 3})",
        ):
            with self.subTest(source):
                self.assertEqual(self.asks(source), expected)
                self.gives("globals().pop('tools', None)\n0")
        self.assertEqual(self.asks("await tools.mail.send_now()")["name"], "mail.send-now")
        keyword = {"name": "crm.import"}
        self.assertEqual(self.asks("await tools.call('crm.import')", keyword)["arguments"], {})

    def test_a_namespace_that_a_program_holds_has_the_tools_of_the_present_call(self):
        self.asks("from tools import crm\nawait crm.search(query='x')")
        self.assertEqual(self.asks("await crm.find()", {"name": "crm.find"})["name"], "crm.find")
        source = "await tools.crm.search(query='x')"
        order = {"number": 3, "reseed": False, "tools": [{"name": "crm.find"}]}
        end, report = self.run_code(source, cell=order)
        self.assertEqual((end, report["type"]), ("raised", "AttributeError"))
        self.assertIn("'crm.search'; the call has declared crm.find", report["message"])

    def test_what_is_not_declared_does_not_exist(self):
        for source in ("await tools.call('crm.delete')", "tools.call.sync('crm.delete')"):
            order = {"number": 1, "reseed": False, "tools": [SEARCH]}
            end, report = self.run_code(source, cell=order)
            self.assertEqual((end, report["type"]), ("raised", "ToolError"))
            self.assertIn("there is no tool 'crm.delete'", report["message"])
        self.asks("held = tools.crm.search\nawait held('x')")
        order = {"number": 2, "reseed": False, "tools": [MAIL]}
        end, report = self.run_code("await held('x')", cell=order)
        self.assertIn("there is no tool 'crm.search'", report["message"])
        called_tools.forget()
        self.assertIn("No module named 'tools'", self.fails("import tools")["message"])

    def test_a_module_of_the_program_is_imported_instead(self):
        source = "import os\nos.mkdir('tools')\nfrom tools import crm\nawait crm.search('x')"
        sys.path.append("")
        self.addCleanup(sys.path.remove, "")
        self.assertEqual(self.asks(source)["name"], "crm.search", "a folder is no module")
        self.gives("import sys\ndel sys.modules['tools'], tools\nos.rmdir('tools')")
        self.gives("print('own = 1', file=open('tools.py', 'w'), flush=True)")
        order = {"number": 9, "reseed": False, "tools": [SEARCH]}
        source = "import importlib\nimportlib.invalidate_caches()\nimport tools\ntools.own"
        ended = self.run_code(source, cell=order)
        self.assertEqual(ended, ("returned", 1))
        self.addCleanup(sys.modules.pop, "tools", None)

    def test_arguments_are_named_or_in_the_order_of_the_schema(self):
        search = self.function("crm.search")
        text = "(query: str, limit: int = 10, sort: Optional[Literal['date', 'sum']] = None, "
        short, long = "Literal['date', 'sum'] | None", "Optional[Literal['date', 'sum']]"
        signature = str(inspect.signature(search)).replace(short, long)
        self.assertEqual(signature, text + "owner: str | None = None) -> list[dict]")
        self.assertTrue(inspect.iscoroutinefunction(search))
        self.assertEqual(inspect.signature(search.sync), inspect.signature(search))
        arguments = tool_schemas.Arguments(SEARCH["input_schema"])
        for unnamed, named, expected in [
            (("x",), {}, {"query": "x", "limit": 10}),
            (("x", 3), {}, {"query": "x", "limit": 3}),
            ((), {"query": None, "limit": None}, {"query": None, "limit": 10}),
            (("x",), {"sort": None, "owner": None}, {"query": "x", "owner": None, "limit": 10}),
        ]:
            self.assertEqual(arguments.of(unnamed, named), expected)
        for unnamed, named in [((), {}), (("x",), {"lmit": 1}), (("x", 1, 2, 3, 4), {})]:
            with self.assertRaises(TypeError):
                arguments.of(unnamed, named)

    def test_other_arguments_are_those_that_the_schema_allows(self):
        free = tool_schemas.Arguments({"type": "object", "properties": {"from": {}, "x-y": {}}})
        self.assertEqual(str(free.signature), "(**arguments: Any)")
        self.assertEqual(free.of((), {"from": 1, "x-y": 2}), {"from": 1, "x-y": 2})
        for schema in (None, {}, {"type": "object"}, {"additionalProperties": True}, [], 1):
            self.assertEqual(tool_schemas.Arguments(schema).of((), {"a": 1}), {"a": 1})
        none = tool_schemas.Arguments({"properties": {}, "additionalProperties": False})
        self.assertEqual(str(none.signature), "()")

    def test_types_of_schemas(self):
        defs = {"$defs": {"Lead": {"type": "object"}, "loop": {"$ref": "#/$defs/loop"}}}
        for schema, expected in [
            ({"type": "string"}, "str"),
            ({"type": ["integer", "null"]}, "int | None"),
            ({"type": "array", "items": {"type": "number"}}, "list[float]"),
            ({"type": "object", "additionalProperties": {"type": "boolean"}}, "dict[str, bool]"),
            ({"enum": ["a", 1]}, "Literal['a', 1]"),
            ({"enum": [{}, 1]}, "Any"),
            ({"const": "a"}, "Literal['a']"),
            ({"oneOf": [{"type": "string"}, {"type": "string"}]}, "str"),
            ({"allOf": [{"$ref": "#/$defs/Lead"}]}, "dict"),
            ({"$ref": "#/$defs/Lead"}, "dict"),
            ({"$ref": "#/$defs/loop"}, "Any"),
            ({"$ref": "https://example.org"}, "Any"),
            ({"type": {}}, "Any"),
            ({"anyOf": []}, "Any"),
            (True, "Any"),
        ]:
            with self.subTest(schema):
                self.assertEqual(tool_schemas.shown(tool_schemas.annotation(schema, defs)), expected)
        deep: Any = {"type": "string"}
        for _ in range(100):
            deep = {"type": "array", "items": deep}
        self.assertEqual(tool_schemas.shown(tool_schemas.annotation(deep, deep)).count("list"), 9)

    def test_help_shows_what_the_caller_has_declared(self):
        text = pydoc.render_doc(self.function("crm.search"), renderer=pydoc.plaintext)
        for part in (
            "function search",
            "query: str,",
            "Searches invoices and leads.",
            "    limit (int, optional): Most rows",
            "Returns:\n        id (int)",
        ):
            self.assertIn(part, text)
        self.assertIn("search", pydoc.render_doc(called_tools.root.crm, renderer=pydoc.plaintext))
        self.assertEqual(dir(called_tools.root.crm), ["search"])
        plain = self.function("mail.send-now")
        self.assertEqual(plain.__doc__, "Sends a message.")

    def test_tools_are_found_from_code(self):
        called_tools.declare([MAIL, SEARCH, {"name": "crm.import"}])
        names = [one["name"] for one in runtime_tools.list()]
        self.assertEqual(names, ["mail.send-now", "crm.search", "crm.import"])
        [_, second, third] = runtime_tools.list()
        self.assertEqual(second["description"], "Searches invoices and leads.")
        self.assertTrue(second["call"].startswith("await tools.crm.search(query: str, limit"))
        self.assertEqual(third["call"], "await tools.call('crm.import', {...})")
        self.assertEqual(len(runtime_tools.list("crm.")), 2)
        for query, expected in [
            ("invoice", ["crm.search"]),
            ("Invoices", ["crm.search"]),
            ("send a message", ["mail.send-now"]),
            ("crm", ["crm.search", "crm.import"]),
            ("limit", ["crm.search"]),
            ("crm.import", ["crm.import", "crm.search"]),
            ("nothing here", []),
            ("", []),
        ]:
            with self.subTest(query):
                found = [one["name"] for one in runtime_tools.search(query)]
                self.assertEqual(found, expected)
        self.assertEqual(len(runtime_tools.search("crm", limit=1)), 1)

    def test_an_error_has_the_tool_and_the_message(self):
        self.waits("try:\n    await tools.f()\nexcept tools.ToolError as error:\n    pair = "
                   "error.tool, error.message\npair", tools=["f"])  # fmt: skip
        self.assertEqual(self.answers({"error": "no"}), ("returned", ["f", "no"]))

    def test_a_loop_within_a_function_asks_for_all_at_once(self):
        self.held = [{"output": 1}, {"output": 2}, {"error": "no"}, {"output": 4}]
        source = (
            "import asyncio\n"
            "async def both():\n"
            "    pairs = await asyncio.gather(*(tools.f(n=n) for n in range(3)),\n"
            "                                 asyncio.sleep(0.01, 'slept'), return_exceptions=True)\n"
            "    return [*map(str, pairs), await tools.f(n=3)]\n"
            "def run(): return asyncio.run(both())\nrun()"
        )
        rounds = []
        own = self._cell

        def noted(request: bytes) -> bytes:
            if request[0] == 4:
                rounds.append(request)
            return own(request)

        self._cell = noted
        order = {"number": 1, "reseed": False, "tools": [{"name": "f"}]}
        ended = self.run_code(source, cell=order)
        self.assertEqual(ended, ("returned", ["1", "2", "no", "slept", 4]))
        self.assertEqual(len(rounds), 2)
