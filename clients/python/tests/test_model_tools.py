"""Tools of a model that its caller executes: called by the model, and from its code."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import openai
import pytest
from anthropic import beta_tool
from scripted import Answer, ScriptedServer, Seen
from test_models import BAD, anthropic_answer, openai_answer
from test_pictures import responses_answer, said

import wardian
import wardian.anthropic
import wardian.openai
from wardian.tools import AsyncToolBox, ToolBox

PROGRAM = """
import asyncio
pages = await asyncio.gather(*(tools.orders(customer=n) for n in (1, 2)))
print("asked")
sum(order["total"] for page in pages for order in page)
"""
CODE = {"language": "python", "code": PROGRAM}


class Shop:
    """Two tools, and what was asked of them."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def orders(self, customer: int) -> list[dict[str, int]]:
        """The orders of a customer."""
        self.asked.append(customer)
        return [{"total": customer * n} for n in range(3)]

    async def orders_async(self, customer: int) -> list[dict[str, int]]:
        """The orders of a customer."""
        await asyncio.sleep(0)
        return self.orders(customer)

    def mail(self, to: str, text: str) -> str:
        """Sends a mail."""
        if "@" not in to:
            raise ValueError("no address")
        self.asked.append(to)
        return f"sent {text!r}"


def names_of(tools: list[dict[str, Any]]) -> dict[str, str]:
    """The names and descriptions in definitions of any format."""
    plain = [tool.get("function", tool) for tool in tools]
    return {tool["name"]: tool["description"] for tool in plain if "description" in tool}


def check_definitions(tools: list[dict[str, Any]]) -> None:
    known = names_of(tools)
    assert "mail" in known and "orders" not in known
    assert "- `await tools.orders(customer)`: The orders of a customer." in known["run_code"]
    assert "tools.mail" not in known["run_code"] and "allowed_callers" not in json.dumps(tools)


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("run_code", CODE),
    ("mail", {"to": "a@b", "text": "hi"}),
    ("mail", {"to": "nobody", "text": "hi"}),
    ("mail", {"wrong": 1}),
    ("orders", {"customer": 1}),
]


def check_answers(texts: list[str]) -> None:
    code, sent, failed, misfit, refused = texts
    result = json.loads(code)
    assert result["output"] == {"result": 9} and result["logs_preview"] == "asked\n"
    assert (sent, failed) == ("sent 'hi'", "ValueError: no address")
    assert misfit.startswith("TypeError: ") and "only the code of `run_code` can call `orders`" in refused


def anthropic_model(seen: Seen) -> Answer:
    check_definitions(seen.body["tools"])
    last = seen.body["messages"][-1]["content"]
    if isinstance(last, str):
        return anthropic_answer(
            [
                {"type": "tool_use", "id": f"t{at}", "name": name, "input": arguments}
                for at, (name, arguments) in enumerate(CALLS)
            ]
        )
    assert [one["is_error"] for one in last] == [False, False, True, True, True]
    check_answers([one["content"] for one in last])
    return anthropic_answer([{"type": "text", "text": "good"}])


def openai_model(seen: Seen) -> Answer:
    check_definitions(seen.body["tools"])
    results = [one["content"] for one in seen.body["messages"] if one["role"] == "tool"]
    if results:
        check_answers(results)
        return openai_answer({"role": "assistant", "content": "good"})
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(CALLS)
    ]
    return openai_answer({"role": "assistant", "content": None, "tool_calls": calls})


def responses_model(seen: Seen) -> Answer:
    tools = seen.body["tools"]
    check_definitions(tools)
    assert {"type": "web_search"} in tools
    results = [one["output"] for one in seen.body["input"] if one.get("type") == "function_call_output"]
    if results:
        check_answers(results)
        return responses_answer([said("good")])
    return responses_answer(
        [
            {"type": "function_call", "call_id": f"c{at}", "name": name, "arguments": json.dumps(arguments)}
            for at, (name, arguments) in enumerate(CALLS)
        ]
    )


QUESTION: Any = [{"role": "user", "content": "?"}]
MARKED = ["code_execution_20260120"]


def test_allowed_callers_of_anthropic_say_who_calls(client: wardian.Client) -> None:
    shop = Shop()
    schema = {"type": "object", "properties": {"customer": {"type": "integer"}}, "required": ["customer"]}
    defined = {
        "name": "orders",
        "description": "The orders of a customer.",
        "input_schema": schema,
        "allowed_callers": MARKED,
    }
    with ScriptedServer(anthropic_model) as model:
        with anthropic.Anthropic(api_key="k", base_url=model.url, max_retries=0) as sdk:
            run = wardian.anthropic.run_tools(
                sdk,
                client,
                model="m",
                max_tokens=9,
                messages=QUESTION,
                tools=[defined],
                functions=[shop.orders, shop.mail],
            )
    assert (run.text, run.calls, shop.asked) == ("good", 5, [1, 2, "a@b"])


def test_the_tools_of_the_sdk_are_taken_as_they_are(client: wardian.Client) -> None:
    shop = Shop()

    @beta_tool(allowed_callers=["code_execution_20260120"])
    def orders(customer: int) -> Any:
        """The orders of a customer."""
        return shop.orders(customer)

    with ScriptedServer(anthropic_model) as model:
        with anthropic.Anthropic(api_key="k", base_url=model.url, max_retries=0) as sdk:
            run = wardian.anthropic.run_tools(
                sdk,
                client,
                model="m",
                max_tokens=9,
                messages=QUESTION,
                tools=[orders],
                functions=[shop.mail],
            )
    assert (run.text, shop.asked) == ("good", [1, 2, "a@b"])


def test_the_loops_for_openai_have_an_argument(client: wardian.Client) -> None:
    for loop in ("chat", "responses"):
        shop = Shop()
        options: dict[str, Any] = {
            "model": "m",
            "functions": [shop.orders, shop.mail],
            "allowed_callers": {"orders": ["code"]},
        }
        with ScriptedServer(openai_model if loop == "chat" else responses_model) as model:
            with openai.OpenAI(api_key="k", base_url=f"{model.url}/v1", max_retries=0) as sdk:
                if loop == "chat":
                    run = wardian.openai.run_tools(sdk, client, messages=QUESTION, **options)
                else:
                    options["tools"] = [{"type": "web_search"}]
                    run = wardian.openai.run_responses(sdk, client, input="?", **options)
        assert (run.text, run.calls, shop.asked) == ("good", 5, [1, 2, "a@b"])


def test_the_asynchronous_loops_call_coroutines(server: wardian.LocalServer) -> None:
    async def run(shop: Shop) -> list[str]:
        own: dict[str, Any] = {
            "functions": {"orders": shop.orders_async, "mail": shop.mail},
            "allowed_callers": {"orders": "code"},
        }
        async with wardian.AsyncClient(server.url) as client:
            with ScriptedServer(anthropic_model) as model:
                async with anthropic.AsyncAnthropic(api_key="k", base_url=model.url) as sdk:
                    one = await wardian.anthropic.run_tools_async(
                        sdk, client, model="m", max_tokens=9, messages=QUESTION, **own
                    )
            with ScriptedServer(openai_model) as model:
                async with openai.AsyncOpenAI(api_key="k", base_url=f"{model.url}/v1") as sdk:
                    other = await wardian.openai.run_tools_async(
                        sdk, client, model="m", messages=QUESTION, **own
                    )
        return [one.text, other.text]

    shop = Shop()
    assert asyncio.run(run(shop)) == ["good", "good"]
    assert shop.asked == [1, 2, "a@b"] * 2


def test_a_tool_may_have_both_callers(client: wardian.Client) -> None:
    shop = Shop()
    both = {"orders": ("direct", "code")}
    box = ToolBox(client, functions=[shop.orders], allowed_callers=both)
    known = names_of(box.definitions("anthropic"))
    assert len(known) == 9 and "await tools.orders(customer)" in known["run_code"]
    assert json.loads(box.call("orders", {"customer": 1}).text) == [{"total": n} for n in range(3)]
    assert json.loads(box.call("run_code", CODE).text)["output"] == {"result": 9}
    session = json.loads(box.call("run_code", {**CODE, "session": "new"}).text)["session"]["id"]
    again = {**CODE, "code": "sum(map(len, pages))", "session": session}
    assert json.loads(box.call("run_code", again).text)["output"] == {"result": 6}
    detached = box.call("run_code", {"language": "python", "code": "1", "detach": True})
    assert not detached.is_error and json.loads(detached.text)["run_id"]


def test_mistakes_of_the_caller_are_errors_for_the_caller(client: wardian.Client) -> None:
    shop = Shop()
    code = {"orders": ["code"]}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"functions": [], "allowed_callers": code}, "names orders, which is no function"),
        ({"functions": [shop.orders], "allowed_callers": {"orders": []}}, "nobody may call"),
        ({"functions": {"search": shop.orders}, "allowed_callers": {"search": ["code"]}}, "this name itself"),
    ]
    for arguments, message in wrong:
        with pytest.raises(ValueError, match=message):
            ToolBox(client, **arguments)
    with pytest.raises(ValueError, match="also called run_code"):
        ToolBox(client, functions={"run_code": shop.orders}).definitions()
    with pytest.raises(ValueError, match="`only` lacks `run_code`"):
        ToolBox(client, ["read_blob"], functions=[shop.orders], allowed_callers=code).definitions()
    with pytest.raises(TypeError, match="use an `AsyncClient`"):
        ToolBox(client, functions=[shop.orders_async])


def test_few_of_many_tools_are_in_the_description(server: wardian.LocalServer) -> None:
    shop = Shop()
    many = {f"shop.orders-{at}": shop.orders for at in range(30)}
    callers = {name: ["code"] for name in many}

    async def description() -> str:
        async with wardian.AsyncClient(server.url) as client:
            box = AsyncToolBox(client, functions=many, allowed_callers=callers)
            return names_of(await box.definitions())["run_code"]

    told = asyncio.run(description())
    assert "`await tools.shop.orders_19(customer)`" in told and "orders_20" not in told
    assert "- and 10 more: `tools.search(" in told and len(told) < 6_000


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_code_that_cannot_be_sent_is_an_answer(
    client: wardian.Client, arguments: dict[str, Any]
) -> None:
    box = ToolBox(client, functions=[Shop().orders], allowed_callers={"orders": ["code"]})
    answer = box.call("run_code", arguments)
    assert answer.is_error and json.loads(answer.text)["error"]["kind"] == "invalid_params"
