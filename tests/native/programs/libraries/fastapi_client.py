import asyncio
import contextlib
import contextvars

from fastapi import BackgroundTasks, Depends, FastAPI, File, Form, HTTPException, Request, UploadFile, WebSocket
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient
from pydantic import BaseModel

log = []


@contextlib.asynccontextmanager
async def lifespan(app):
    async def beat():
        while True:
            await asyncio.sleep(0.01)

    log.append("up")
    task = asyncio.create_task(beat())
    yield {"state": 7}
    task.cancel()
    log.append("down")


app = FastAPI(lifespan=lifespan)
place = contextvars.ContextVar("place", default=0)


class Item(BaseModel):
    name: str
    price: float


def query(q: str = "x"):
    return q.upper()


@app.get("/items/{number}")
def item(number: int, q=Depends(query)):
    return {"number": number, "q": q}


@app.post("/items", status_code=201)
async def make(item: Item):
    return {"total": item.price * 2, "name": item.name}


@app.get("/state")
def state(request: Request):
    return request.state.state


@app.get("/sleep")
async def sleep():
    await asyncio.sleep(0.02)
    return "slept"


@app.get("/stream")
def stream():
    return StreamingResponse(f"{i};" for i in range(3))


@app.get("/slow")
async def slow():
    async def parts():
        for i in range(3):
            await asyncio.sleep(0.005)
            yield f"{i};"

    return StreamingResponse(parts())


@app.post("/later")
async def later(tasks: BackgroundTasks):
    tasks.add_task(log.append, "later")


@app.get("/boom")
async def boom():
    raise ValueError("boom")


@app.get("/tea")
def tea():
    raise HTTPException(418, "tea")


@app.post("/file")
async def file(content: UploadFile = File(), x: str = Form()):
    return {"size": len(await content.read()), "name": content.filename, "x": x}


@app.get("/place")
async def where():
    return place.get()


@app.websocket("/talk/{number}")
async def talk(socket: WebSocket, number: int):
    await socket.accept()
    try:
        while True:
            await socket.send_json({"number": number, "got": await socket.receive_json()})
    except Exception as error:
        log.append(type(error).__name__)


def main(args):
    out = []
    with TestClient(app) as client:
        out += [client.get(f"/{path}").json() for path in ("items/3?q=ab", "state", "sleep", "tea")]
        out.append(client.post("/items", json={"name": "a", "price": "1.5"}).json())
        wrong = client.post("/items", json={"name": 1})
        out.append([wrong.status_code, [one["type"] for one in wrong.json()["detail"]]])
        out += [client.get(f"/{path}").text for path in ("stream", "slow")]
        with client.stream("GET", "/slow") as answer:
            out.append(list(answer.iter_text()))
        with client.stream("GET", "/slow") as answer:
            out.append(next(answer.iter_text()))
        client.post("/later")
        try:
            client.get("/boom")
        except ValueError as error:
            out.append(repr(error))
        out.append(client.post("/file", files={"content": ("f.txt", b"abc")}, data={"x": "y"}).json())
        with client.websocket_connect("/talk/3") as socket:
            for sent in ([1], {"a": None}):
                socket.send_json(sent)
                out.append(socket.receive_json())
        place.set(5)
        out.append(client.get("/place").json())
        out.append(sorted(client.get("/openapi.json").json()["paths"]))
    out.append(TestClient(app, raise_server_exceptions=False).get("/boom").status_code)

    async def inside():
        with TestClient(app) as client:
            return [client.get("/sleep").json(), asyncio.current_task() is not None]

    return [out, asyncio.run(inside()), log]
