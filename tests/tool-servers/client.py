"""Speaks with a program over standard input and output as the published Python client does.

    client.py COMMAND ARGUMENT ...

Reads an order on each line, `{"list": true}` or `{"tool": ..., "arguments": ...}`, and answers with a line.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def answer(client, order):
    if order.get("list"):
        tools = (await client.list_tools()).tools
        return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    try:
        result = await client.call_tool(order["tool"], order["arguments"])
    except MCPError as error:
        return {"refused": error.error.message}
    return {"text": [part.text for part in result.content if part.type == "text"], "is_error": bool(result.is_error)}


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with Client(server, read_timeout_seconds=120) as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await answer(client, json.loads(line))), flush=True)


asyncio.run(main())
