import asyncio
import logging

from mcp import Client
from mcp.server import MCPServer
from mcp.types import Tool
from pydantic import BaseModel

server = MCPServer("garden", instructions="Knows a garden.")


class Bed(BaseModel):
    name: str
    plants: list[str] = []


@server.tool()
def plant(bed: Bed, count: int = 1) -> Bed:
    """Plants something."""
    return Bed(name=bed.name, plants=bed.plants * count)


@server.tool()
async def fail(text: str) -> str:
    """Fails."""
    raise ValueError(text)


@server.resource("garden://beds/{name}")
def bed(name: str) -> str:
    """A bed."""
    return f"bed {name}"


@server.prompt()
def advise(plant: str) -> str:
    """Asks for advice."""
    return f"How do I water {plant}?"


async def talk():
    out = []
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        out.append([[one.name, one.description, sorted(one.input_schema["properties"])] for one in tools])
        called = await client.call_tool("plant", {"bed": {"name": "north", "plants": ["fern"]}, "count": 2})
        out.append([called.is_error, called.structured_content])
        for name, arguments in (("fail", {"text": "no water"}), ("plant", {"bed": 3})):
            failed = await client.call_tool(name, arguments)
            out.append([failed.is_error, failed.content[0].text.splitlines()[0]])
        templates = (await client.list_resource_templates()).resource_templates
        out.append([one.uri_template for one in templates])
        read = await client.read_resource("garden://beds/south")
        out.append([one.text for one in read.contents])
        prompt = await client.get_prompt("advise", {"plant": "figs"})
        out.append([[one.role, one.content.text] for one in prompt.messages])
    return out


def main(args):
    logging.disable(logging.CRITICAL)  # tracebacks of other files
    out = asyncio.run(talk())
    tool = Tool(name="x", input_schema={"type": "object"})
    out.append(tool.model_dump(by_alias=True, exclude_none=True, mode="json"))
    return out
