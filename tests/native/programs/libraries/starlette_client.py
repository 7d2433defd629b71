from concurrent.futures import wait

from anyio.from_thread import start_blocking_portal
from anyio import create_memory_object_stream, move_on_after, sleep, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient


async def home(request):
    request.session["seen"] = request.session.get("seen", 0) + 1
    return PlainTextResponse("hi " * 400, headers={"x-seen": str(request.session["seen"])})


def blocking(request):
    return JSONResponse({"query": dict(request.query_params), "path": request.path_params["name"]})


async def leave(request):
    return RedirectResponse("/sub/b?x=1")


async def refuse(request):
    raise HTTPException(403, "no")


app = Starlette(
    routes=[
        Route("/", home),
        Mount("/sub", routes=[Route("/{name}", blocking)]),
        Route("/leave", leave),
        Route("/refuse", refuse, methods=["POST"]),
    ],
    middleware=[Middleware(GZipMiddleware), Middleware(SessionMiddleware, secret_key="key")],
)


async def add(a, b=1):
    await sleep(0.01)
    return a + b


async def in_thread():
    return [await to_thread.run_sync(lambda: sum(range(5)))]


async def begin(*, task_status):
    sender, receiver = create_memory_object_stream(1)
    task_status.started(sender)
    with receiver:
        return await receiver.receive()


async def late():
    with move_on_after(0.01) as scope:
        await sleep(60)
    return scope.cancelled_caught


def main(args):
    client = TestClient(app)
    out = [client.get("/").headers.get(name) for name in ("x-seen", "content-encoding")]
    out.append(client.get("/").headers["x-seen"])
    out.append(client.get("/sub/a?x=1&y=2").json())
    moved = client.get("/leave")
    out.append([moved.json(), moved.history[0].status_code])
    out += [client.post("/refuse").text, client.get("/refuse").status_code, client.get("/none").text]
    with start_blocking_portal() as portal:
        out += [portal.call(add, 1, 2), portal.call(in_thread), portal.call(late), portal.call(len, "abc")]
        futures = [portal.start_task_soon(add, number) for number in range(3)]
        done, waiting = wait(futures)
        out.append([sorted(future.result() for future in done), len(waiting)])
        future, sender = portal.start_task(begin)
        portal.call(sender.send, "sent")
        out.append(future.result())
        try:
            portal.call(add, "a")
        except TypeError as error:
            out.append(type(error).__name__)
        slow = portal.start_task_soon(sleep, 60)
        out += [slow.cancel(), slow.cancelled()]
    try:
        portal.call(len, "abc")
    except RuntimeError as error:
        out.append(str(error))
    return out
