"""Talks to Wardian with the published Python client, over HTTP or over standard input and output.

    client.py MODE URL
    client.py MODE COMMAND ARGUMENT ...

MODE is `legacy`, `auto` or a revision of the protocol.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters

TOOLS = 8


def check(holds, what):
    if not holds:
        raise SystemExit(f"not as expected: {what}")


async def talk(server, mode):
    async with Client(server, mode=mode, read_timeout_seconds=120) as client:
        print(f"   {mode}: revision {client.protocol_version}, {client.server_info.name}")
        tools = (await client.list_tools()).tools
        check(len(tools) >= TOOLS, tools)
        check(all(tool.title and tool.output_schema and tool.annotations for tool in tools), tools)

        code = "def main(args):\n    return {'n': args['n'] + 1, 't': 'a \"b\"\\n'}"
        arguments = {"language": "python", "code": code, "entrypoint": "main", "args": {"n": 41}}
        result = await client.call_tool("run_code", arguments)
        check(not result.is_error, result)
        output = result.structured_content["output"]
        check(output == {"n": 42, "t": 'a "b"\n'}, result)
        check(json.loads(result.content[0].text) == result.structured_content, result)

        failed = await client.call_tool("run_code", {"language": "python", "code": "1/0"})
        check(failed.is_error, failed)
        check(failed.structured_content["error"]["type"] == "ZeroDivisionError", failed)
        refused = await client.call_tool("describe_skill", {"name": "no.such.skill"})
        check(refused.is_error and "no.such.skill" in refused.content[0].text, refused)

        reports = []

        async def report(progress, total, message):
            reports.append((progress, total, message))

        code = "import runtime, time\nfor n in range(4):\n    runtime.progress(n, 3, 'x')\n    time.sleep(0.06)"
        arguments = {"language": "python", "code": code}
        told = await client.call_tool("run_code", arguments, progress_callback=report)
        check(not told.is_error and len(reports) >= 3, reports)

        skill = await client.call_tool("execute_skill", {"name": "hello.world", "args": {}})
        check(not skill.is_error, skill)
        prompt = await client.get_prompt("guide")
        check(prompt.messages[0].content.text.startswith("# "), prompt)
        resources = (await client.list_resources()).resources
        uri = next(str(found.uri) for found in resources if "hello.world" in str(found.uri))
        document = await client.read_resource(uri)
        check(document.contents[0].text.startswith("---"), document)
        templates = (await client.list_resource_templates()).resource_templates
        check(len(templates) == 2, templates)
        try:
            await client.call_tool("no_such_tool", {})
        except MCPError as error:
            check(error.error.code == -32602, error)
        else:
            check(False, "a tool that does not exist was called")

        forever = {"language": "python", "code": "while True: pass"}
        call = asyncio.create_task(client.call_tool("run_code", forever))
        await asyncio.sleep(0.5)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        again = await client.call_tool("run_code", {"language": "python", "code": "print(1)"})
        check(not again.is_error, again)


def main():
    mode, first, *more = sys.argv[1:]
    is_url = first.startswith("http")
    server = first if is_url else StdioServerParameters(command=first, args=more)
    asyncio.run(asyncio.wait_for(talk(server, mode), 300))


main()
