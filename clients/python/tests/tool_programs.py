"""Programs as models write them that call tools, and the tools that they call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

NAMES = ("Ada", "Boris", "Chen", "Dora", "Emil", "Fatma", "Götz", "Hana", "Ines", "Jonas", "Kai")
PAGE = 4


class Customer(TypedDict):
    id: int
    name: str
    country: str


class CustomerPage(TypedDict):
    items: list[Customer]
    next_cursor: str | None


class Invoice(TypedDict):
    number: str
    customer: int
    total: float
    paid: bool


class World:
    """The tools, with what they remember: the calls in their order, and state that calls change."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._tries: dict[str, int] = {}
        self._polls = 0
        self.tools: dict[str, Callable[..., Any]] = {
            name: self._recorded(name, tool)
            for name, tool in {
                "crm.list_customers": self.list_customers,
                "crm.get": self.get,
                "crm.search": self.search,
                "crm.tag-customer": self.tag,
                "billing.invoices": self.invoices,
                "billing.remind": self.remind,
                "files.children": self.children,
                "files.rows": self.rows,
                "flaky.quote": self.quote,
                "jobs.start": self.start,
                "jobs.status": self.status,
                "jobs.stop": self.stop,
                "echo": self.echo,
            }.items()
        }

    def _recorded(self, name: str, tool: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(tool)

        @functools.wraps(tool)
        def called(**arguments: Any) -> Any:
            # A default is sent or left out.
            bound = signature.bind(**arguments)
            bound.apply_defaults()
            self.calls.append((name, dict(bound.arguments)))
            return tool(**arguments)

        return called

    def list_customers(self, cursor: str | None = None) -> CustomerPage:
        """Customers, a page at a time."""
        start = int(cursor or 0)
        found = [customer(number) for number in range(start, min(start + PAGE, len(NAMES)))]
        more = start + PAGE < len(NAMES)
        return {"items": found, "next_cursor": str(start + PAGE) if more else None}

    def get(self, id: int) -> Customer:
        """One customer by its number."""
        if not 0 <= id < len(NAMES):
            raise LookupError(f"no customer {id}")
        return customer(id)

    def search(self, query: str, limit: int = 3) -> list[Customer]:
        """Customers whose names have a text."""
        found = [at for at, name in enumerate(NAMES) if query.lower() in name.lower()]
        return [customer(at) for at in found[:limit]]

    def tag(self, id: int, tag: Literal["new", "late"]) -> dict[str, bool]:
        """Tags a customer."""
        return {"tagged": id % 2 == 0}

    def invoices(self, customer: int, only_open: bool = False) -> list[Invoice]:
        """The invoices of a customer."""
        made: list[Invoice] = [
            {"number": f"{customer}-{n}", "customer": customer, "total": 10.5 * n, "paid": n % 2 > 0}
            for n in range(customer % 4)
        ]
        return [one for one in made if not (only_open and one["paid"])]

    def remind(self, number: str) -> str:
        """Reminds a customer of an invoice."""
        if number.endswith("-0"):
            raise PermissionError("nothing is due")
        return f"reminded of {number}"

    def children(self, path: str) -> list[dict[str, Any]]:
        """What is in a folder."""
        tree: dict[str, list[dict[str, Any]]] = {
            "/": [{"path": "/a", "folder": True}, {"path": "/read.me", "size": 12}],
            "/a": [{"path": "/a/b", "folder": True}, {"path": "/a/x", "size": 30}],
            "/a/b": [{"path": "/a/b/y", "size": 7}],
        }
        return tree[path]

    def rows(self, count: int) -> list[list[Any]]:
        """Many rows."""
        return [[n, f"name {n % 97}", n * 0.25] for n in range(count)]

    def quote(self, symbol: str) -> float:
        """A price, from a service that fails twice before it answers."""
        self._tries[symbol] = self._tries.get(symbol, 0) + 1
        if self._tries[symbol] < 3 or symbol == "NEVER":
            raise ConnectionError(f"try again ({self._tries[symbol]})")
        return float(len(symbol))

    def start(self, name: str) -> str:
        """Starts a job."""
        return f"job-{name}"

    def status(self, job: str) -> dict[str, Any]:
        """How far a job is."""
        self._polls += 1
        return {"done": self._polls >= 4, "percent": 25 * self._polls}

    def stop(self, job: str) -> None:
        """Stops a job."""

    def echo(self, value: Any) -> Any:
        """What it is given."""
        return value


def customer(number: int) -> Customer:
    """A customer."""
    return {"id": number, "name": NAMES[number], "country": ("CH", "DE", "TR")[number % 3]}


@dataclass(frozen=True)
class Program:
    """A program. If it has `main`, that is called with the arguments."""

    code: str
    args: dict[str, Any] = field(default_factory=lambda: {})
    in_any_order: bool = False
    """Whether the order of its calls depends on how its tasks take turns."""


PROGRAMS: dict[str, Program] = {
    "pages": Program("""
from tools import crm

customers, cursor = [], None
while True:
    page = await crm.list_customers(cursor=cursor)
    customers.extend(page["items"])
    cursor = page["next_cursor"]
    if not cursor:
        break
print(f"{len(customers)} customers")
sorted(c["name"] for c in customers if c["country"] == "CH")
"""),
    "gather": Program("""
import asyncio
from tools import crm

results = await asyncio.gather(*(crm.get(id=n) for n in range(8)))
{c["name"]: c["country"] for c in results}
"""),
    "retries": Program("""
import asyncio
from tools import ToolError, flaky

async def with_retries(symbol, attempts=5):
    for attempt in range(attempts):
        try:
            return await flaky.quote(symbol=symbol)
        except ToolError as error:
            print(symbol, attempt, error)
            if attempt == attempts - 1:
                raise
            await asyncio.sleep(0.001 * 2 ** attempt)

prices = {}
for symbol in ["AB", "WXYZ"]:
    prices[symbol] = await with_retries(symbol)
try:
    await with_retries("NEVER", attempts=2)
except ToolError as error:
    prices["NEVER"] = [error.tool, error.message]
prices
"""),
    "errors of each": Program("""
import asyncio
from tools import crm, ToolError

ids = [3, 99, 4, -1]
found = await asyncio.gather(*[crm.get(id=i) for i in ids], return_exceptions=True)
ok = [r["name"] for r in found if not isinstance(r, Exception)]
bad = {i: str(r) for i, r in zip(ids, found) if isinstance(r, ToolError)}
{"ok": ok, "bad": bad}
"""),
    "an error that nobody catches": Program("""
from tools import crm
print("looking")
for number in (1, 50, 2):
    print((await crm.get(id=number))["name"])
"""),
    "early exit from a loop": Program("""
from tools import crm

async def find(country, largest=11):
    for number in range(largest):
        candidate = await crm.get(id=number)
        if candidate["country"] == country:
            return candidate
    return None

await find("TR")
"""),
    "exit of the program": Program("""
import sys
from tools import crm

hits = await crm.search(query="a", limit=2)
for hit in hits:
    print(hit["name"])
if len(hits) == 2:
    sys.exit(0)
await crm.search(query="never asked")
"""),
    "a large result as a blob": Program(
        """
import csv, io
from runtime import blobs
from tools import files

def main(args):
    rows = files.rows.sync(count=args["count"])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\\n")
    writer.writerow(["id", "name", "value"])
    writer.writerows(rows)
    blob = blobs.write_text(text.getvalue(), kind="text/csv")
    return {"summary": f"{len(rows)} rows", "blob": blob, "total": sum(row[2] for row in rows)}
""",
        {"count": 5_000},
    ),
    "two tools and a table": Program("""
import asyncio
import pandas as pd
from tools import billing, crm

page = await crm.list_customers()
lists = await asyncio.gather(*(billing.invoices(customer=c["id"]) for c in page["items"]))
customers = pd.DataFrame(page["items"])
invoices = pd.DataFrame([one for several in lists for one in several])
joined = invoices.merge(customers, left_on="customer", right_on="id")
print(joined.groupby("name")["total"].sum().to_string())
joined.groupby("country")["total"].sum().to_dict()
"""),
    "plain functions": Program("""
from tools import files

def size(path):
    total = 0
    for entry in files.children.sync(path=path):
        total += size(entry["path"]) if entry.get("folder") else entry["size"]
    return total

size("/")
"""),
    "recursion with gather": Program(
        """
import asyncio
from tools import files

async def walk(path):
    entries = await files.children(path=path)
    inner = await asyncio.gather(*(walk(e["path"]) for e in entries if e.get("folder")))
    own = [e["path"] for e in entries if not e.get("folder")]
    return own + [path for paths in inner for path in paths]

async def main():
    return {"files": await walk("/")}
"""
    ),
    "an asynchronous generator": Program("""
from tools import crm

async def everybody():
    cursor = None
    while True:
        page = await crm.list_customers(cursor=cursor)
        for one in page["items"]:
            yield one
        if (cursor := page["next_cursor"]) is None:
            return

names = []
async for person in everybody():
    if person["id"] == 6:
        break
    names.append(person["name"])
" ".join(names)
"""),
    "a limit on what goes on at once": Program(
        """
import asyncio
from tools import billing, crm

gate = asyncio.Semaphore(3)

async def open_total(number):
    async with gate:
        customer = await crm.get(id=number)
        due = await billing.invoices(customer=number, only_open=True)
        return customer["name"], sum(one["total"] for one in due)

dict(await asyncio.gather(*(open_total(n) for n in range(10))))
""",
        in_any_order=True,
    ),
    "a group of tasks": Program(
        """
import asyncio
from tools import crm

async def main(args):
    found = {}

    async def look(query):
        found[query] = [c["name"] for c in await crm.search(query=query)]

    async with asyncio.TaskGroup() as group:
        for query in args["queries"]:
            group.create_task(look(query))
    return {"found": found, "none": [q for q in args["queries"] if not found[q]]}
""",
        {"queries": ["a", "or", "ö", "x"]},
    ),
    "as they are completed": Program(
        """
import asyncio
from tools import echo

done = []
for coming in asyncio.as_completed([echo(value=n * n) for n in range(6)]):
    done.append(await coming)
sorted(done)
""",
        in_any_order=True,
    ),
    "a memory of answers": Program("""
from tools import crm

cache = {}

async def name_of(number):
    if number not in cache:
        cache[number] = (await crm.get(id=number))["name"]
    return cache[number]

[await name_of(n) for n in (1, 2, 1, 3, 2, 1)]
"""),
    "discovery": Program("""
import tools

names = [tool["name"] for tool in tools.search("tag customer")]
tagged = [await tools.call("crm.tag-customer", {"id": n, "tag": "late"}) for n in (1, 2)]
by_name = await tools.crm.tag_customer(id=3, tag="new")
{"first": names[0], "tagged": tagged, "by_name": by_name,
 "billing": [tool["name"] for tool in tools.list("billing.")]}
"""),
    "a script": Program("""
import asyncio
import json
from tools import billing, ToolError

async def main():
    report = []
    for customer in range(3):
        for invoice in await billing.invoices(customer, only_open=True):
            try:
                report.append(await billing.remind(number=invoice["number"]))
            except ToolError as error:
                report.append(f"{invoice['number']}: {error.message}")
    print(json.dumps(report, indent=1))

if __name__ == "__main__":
    asyncio.run(main())
"""),
    "polling": Program("""
import asyncio
from tools import jobs

job = await jobs.start(name="report")
seen = []
while not (status := await jobs.status(job=job))["done"]:
    seen.append(status["percent"])
    await asyncio.sleep(0.001)
seen, status
"""),
    "what is tidied up": Program("""
from contextlib import asynccontextmanager
from tools import crm, jobs, ToolError

@asynccontextmanager
async def job(name):
    id = await jobs.start(name=name)
    try:
        yield id
    finally:
        await jobs.stop(job=id)

log = []
try:
    async with job("export") as id:
        log.append(id)
        await crm.get(id=1_000)
except ToolError as error:
    log.append(f"{type(error).__name__}: {error}")
log
"""),
    "values of all kinds": Program("""
from tools import echo

values = [None, True, 0, -1, 2**53, 1.5, 1e300, "", "ü ✓ \\U0001f600", "a\\nb", [], {}, [[1], {"a": [None]}]]
back = [await echo(value=value) for value in values]
print(back == values, [type(value).__name__ for value in back])
back
"""),
    "the first that answers": Program("""
import asyncio
from tools import crm

tasks = [asyncio.create_task(crm.search(query=query)) for query in ("a", "e", "i")]
done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
for task in pending:
    task.cancel()
bool(done)
"""),
    "batches": Program(
        """
import asyncio
from collections import Counter
from tools import crm

async def main(ids, size=4):
    countries = Counter()
    for start in range(0, len(ids), size):
        batch = ids[start : start + size]
        countries.update(c["country"] for c in await asyncio.gather(*map(crm.get, batch)))
        if countries.most_common(1)[0][1] >= 3:
            break
    return {"countries": dict(countries)}
""",
        {"ids": list(range(10))},
    ),
    "threads": Program(
        """
from concurrent.futures import ThreadPoolExecutor
from tools import crm

with ThreadPoolExecutor(max_workers=4) as pool:
    names = [c["name"] for c in pool.map(lambda n: crm.get.sync(id=n), range(5))]
names
""",
        in_any_order=True,
    ),
}
