import asyncio

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, convert_to_openai_messages, trim_messages
from langchain_core.output_parsers import CommaSeparatedListOutputParser, JsonOutputParser, PydanticOutputParser
from langchain_core.prompts import ChatPromptTemplate, FewShotPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.documents import Document
from langchain_core.runnables import RunnableBranch, RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.tools import StructuredTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_core.embeddings import DeterministicFakeEmbedding
from pydantic import BaseModel


class Fruit(BaseModel):
    name: str
    count: int


@tool
def add(a: int, b: int = 2) -> int:
    """Adds two numbers."""
    return a + b


async def times(a: int, b: int) -> int:
    """Multiplies two numbers."""
    return a * b


def main(args):
    out = []
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be {mood}."), MessagesPlaceholder("history"), ("human", "{question}")]
    )
    given = {"mood": "kind", "history": [AIMessage("hello")], "question": "How many?"}
    out.append(convert_to_openai_messages(prompt.invoke(given).to_messages()))
    model = FakeListChatModel(responses=['```json\n{"name": "plum", "count": 3}\n```', "a, b"])
    out.append((prompt | model | JsonOutputParser()).invoke(given))
    out.append((model | CommaSeparatedListOutputParser()).invoke("list"))
    fruit = PydanticOutputParser(pydantic_object=Fruit).parse('{"name": "fig", "count": "2"}')
    out.append(fruit.model_dump())
    try:
        PydanticOutputParser(pydantic_object=Fruit).parse('{"name": "fig"}')
    except Exception as error:
        out.append([type(error).__name__, str(error).splitlines()[0]])
    out.append([add.invoke({"a": 1}), convert_to_openai_tool(add)])
    both = StructuredTool.from_function(coroutine=times)
    out.append(asyncio.run(both.ainvoke({"a": 6, "b": 7})))
    chain = RunnableParallel(
        double=RunnableLambda(lambda x: x["n"] * 2),
        kept=RunnablePassthrough.assign(more=lambda x: x["n"] + 1),
        kind=RunnableBranch((lambda x: x["n"] > 3, RunnableLambda(lambda x: "large")), RunnableLambda(lambda x: "small")),
    )
    out += [chain.invoke({"n": 3}), chain.batch([{"n": 4}, {"n": 5}])]
    streamed = FakeListChatModel(responses=["abc"])
    out.append([chunk.content for chunk in streamed.stream("x")])
    few = FewShotPromptTemplate(
        examples=[{"q": "1", "a": "one"}], example_prompt=PromptTemplate.from_template("{q}: {a}"),
        suffix="{q}:", input_variables=["q"],
    )  # fmt: skip
    out.append(few.format(q="2"))
    messages = [SystemMessage("s"), HumanMessage("one two"), AIMessage("three"), HumanMessage("four")]
    kept = trim_messages(messages, max_tokens=3, token_counter=len, strategy="last", include_system=True)
    out.append([message.content for message in kept])
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document(page_content=text, metadata={"n": n}) for n, text in enumerate(["red", "blue"])])
    out.append([one.page_content for one in store.similarity_search("blue", k=1)])
    attempts = []

    def flaky(x):
        attempts.append(x)
        if len(attempts) < 3:
            raise ValueError("again")
        return x

    out.append([RunnableLambda(flaky).with_retry(wait_exponential_jitter=False).invoke(5), len(attempts)])

    async def events():
        return [one["event"] async for one in (RunnableLambda(lambda x: x) | RunnableLambda(str)).astream_events(1, version="v2")]

    out.append(sorted(asyncio.run(events())))
    return out
