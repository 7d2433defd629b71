"""Calls that need an approval, in a real browser: in sessions, and in runs of the playground."""

import json
import sys
import tempfile
from pathlib import Path

from browser import wait
from test_sessions import OnSessions

SERVER = """
import json, sys

ANY = {"type": "object"}
TOOL = {"name": "erase", "inputSchema": ANY, "annotations": {"destructiveHint": True}}

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {}}
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        result = {"structuredContent": {"erased": params["arguments"]["what"]}}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
ERASE = "from tools import py\n[await py.erase(what='<b onclick=window.pwned=1>all</b>')]"
CAUGHT = """import asyncio, tools
async def erase(n):
    try:
        return (await tools.py.erase(what=n))["erased"]
    except tools.ToolError as error:
        return error.message
await asyncio.gather(erase(1), erase(2))"""


class Approvals(OnSessions):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        program = Path(place.name, "server.py")
        program.write_text(SERVER)
        command = json.dumps([sys.executable, str(program)])
        cls.settings = (f'tools={{ py = {{ command = {command}, code = ["*"] }} }}',)
        super().setUpClass()

    def test_a_call_of_a_cell_is_approved_or_refused(self):
        id = self.begin()
        self.show(f"/sessions/{id}")
        self.type_cell(ERASE)
        self.browser.wait_text("py.erase", ".asked")
        self.assertIn("<b onclick=window.pwned=1>all</b>", self.browser.text(".asked"))
        self.browser.click_text(".asked button", "Approve")
        self.wait_item(1, "kept")
        self.assertIn("erased", self.item(1))
        self.type_cell(ERASE)
        self.browser.wait_text("py.erase", ".asked")
        self.browser.click_text(".asked button", "Refuse")
        self.wait_item(2, "ToolError")
        self.assertIn("the call was not approved", self.item(2))
        self.assert_clean()

    def test_several_calls_are_decided_together(self):
        id = self.begin()
        self.show(f"/sessions/{id}")
        self.type_cell(CAUGHT)
        self.browser.wait_text("Answer all", ".asked")
        self.browser.click_text(".asked button", "Refuse")
        self.browser.click_text(".asked button", "Answer all")
        self.browser.wait_text("neither approved nor refused", ".asked .problem")
        self.browser.click(".asked [role=group]:nth-of-type(2) button")
        self.browser.click_text(".asked button", "Answer all")
        self.wait_item(1, "the call was not approved")
        self.wait_item(1, "2")
        self.assert_clean()

    def test_a_run_of_the_playground_waits_and_goes_on(self):
        self.show("/playground")
        self.browser.fill("textarea.code", "print('before')\n" + ERASE)
        self.browser.click_text("button", "Run")
        self.browser.wait_text("waiting", ".run-status")
        self.browser.wait_text("py.erase", ".asked")
        self.browser.click_text(".asked button", "Approve")
        wait(lambda: "completed" in self.browser.text(".run-status"), "the end of the run")
        self.assertIn("before", self.browser.text(".run"))
        self.assertIn("erased", self.browser.text(".run"))
        self.assert_clean()
