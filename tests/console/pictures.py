"""Makes the pictures of the documentation: each page with content, as a browser shows it."""

import json
import random
import time

from browser import Browser, wait
from servers import Wardian

PROGRAM = """import pandas as pd


def main(args):
    rows = pd.read_csv(args["sales"])
    sums = rows.groupby("region").amount.sum()
    print(sums.to_string())
    shares = sums / args["whole"]
    return {"shares": shares.to_dict()}
"""


CELLS = [
    "import pandas as pd\nsales = pd.read_csv('/blobs/{SALES}')\nsales.groupby('region').amount.describe()[['mean', 'max']].round()",
    "sales = sales[sales.amount > 3000]",
    "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots(figsize=(7, 2.6))\nfor region, rows in sales.groupby('region'):\n    axes.plot(rows.month.str[5:], rows.amount, label=region)\nplt.legend()",
]


# What is tried in a session, each from the checkpoint with a name or without.
TRIES = [
    (None, "data", "from sklearn.datasets import load_diabetes\nfrom sklearn.model_selection import cross_val_score\nX, y = load_diabetes(return_X_y=True)\nlen(X)"),
    ("data", None, "from sklearn.tree import DecisionTreeRegressor\nround(cross_val_score(DecisionTreeRegressor(random_state=0), X, y).mean(), 3)"),
    ("data", "scaled", "from sklearn.preprocessing import StandardScaler\nX = StandardScaler().fit_transform(X)"),
    ("scaled", None, "from sklearn.neighbors import KNeighborsRegressor\nround(cross_val_score(KNeighborsRegressor(), X, y).mean(), 3)"),
    ("scaled", "ridge", "from sklearn.linear_model import Ridge\nround(cross_val_score(Ridge(), X, y).mean(), 3)"),
]


def seed_tree(server):
    """A session that went back twice, and has two forks. Returns its id."""
    def send(path, body):
        return json.loads(server.send("POST", f"/v1/sessions{path}", json.dumps(body).encode()))

    id, kept = send("", {"label": "Which model?"})["id"], {}
    for begin, name, code in TRIES:
        if begin is not None:
            send(f"/{id}/restore", {"checkpoint": kept[begin]})
        at = server.call("run_code", {"language": "python", "code": code, "session": id})["session"]["checkpoint"]
        if name is not None:
            send(f"/{id}/checkpoints", {"checkpoint": at, "name": name})
            kept[name] = at
    send(f"/{id}/fork", {"checkpoint": kept["scaled"], "count": 2})
    return id


def seed_session(server, csv):
    """A session that went back once. Returns its id."""
    def send(path, body):
        return json.loads(server.send("POST", f"/v1/sessions{path}", json.dumps(body).encode()))

    id = send("", {"label": "Sales by region", "input_blobs": [csv]})["id"]
    first, empty, last = [code.replace("{SALES}", csv) for code in CELLS]
    for code in (first, empty):
        server.call("run_code", {"language": "python", "code": code, "session": id})
    begin = json.loads(server.send("GET", f"/v1/sessions/{id}"))["checkpoints"][0]["id"]
    send(f"/{id}/checkpoints", {"checkpoint": begin, "name": "all sales"})
    send(f"/{id}/restore", {"checkpoint": begin})
    server.call("run_code", {"language": "python", "code": last, "session": id})
    return id


def seed(server):
    """Runs and blobs as a day of work leaves them. Returns what the pages are about."""
    random.seed(4)
    months = [f"2026-{month:02d}" for month in range(1, 13)]
    lines = [f"{region},{month},{random.randint(400, 2400)}" for region in ("north", "south", "east") for month in months]
    csv = server.blob(("region,month,amount\n" + "\n".join(lines) + "\n").encode(), "text/csv")
    chart = {"kind": "line", "data_blob": csv, "x": "month", "y": "amount", "group": "region", "title": "Sales by region"}
    drawn = server.call("execute_skill", {"name": "charts.plot.render", "args": chart})
    server.call("execute_skill", {"name": "data.csv.profile", "args": {"csv_blob": csv}})
    for name in ("Ada", "Grace", "Barbara"):
        server.call("execute_skill", {"name": "hello.world", "args": {"name": name}})
    server.call("run_code", {"language": "python", "code": "def main(args):\n    return 1 / args['people']", "args": {"people": 0}})
    server.call("run_code", {"language": "python", "label": "A loop without an end", "code": "while True: pass", "timeout_ms": 300})
    server.call("run_code", {"language": "python", "code": PROGRAM, "args": {"sales": f"/blobs/{csv}", "whole": 45000}, "input_blobs": [csv]})
    server.blob(json.dumps({"city": "Bern", "people": 134000}).encode(), "application/json")
    server.send("GET", f"/v1/runs/{drawn['run_id']}?wait_ms=5000")
    return csv, drawn["run_id"]


def make(folder):
    """Writes a PNG of each page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    server = Wardian("records.arguments=true", "records.documents=true")
    try:
        csv, run = seed(server)
        with Browser() as browser:
            take_all(browser, server, folder, csv, run)
            take_session(browser, server, folder, csv)
            take_tree(browser, server, folder)
    finally:
        server.close()


def open_page(browser, server, place):
    """Shows a page of the console anew."""
    browser.open("about:blank")
    browser.open(f"{server.url}/console#{place}")
    wait(lambda: browser.run("return document.getElementById('main')?.dataset.shown === location.hash"), place)
    browser.run("return document.fonts.ready.then(() => true)")


def take_session(browser, server, folder, csv):
    """The picture of a session."""
    session = seed_session(server, csv)
    browser.resize(1200, 860)
    browser.dark(False)
    open_page(browser, server, f"/sessions/{session}")
    wait(lambda: browser.run("return document.querySelector('.displayed img')?.naturalWidth > 100"), "the figure")
    browser.run("document.querySelector('.next-cell').scrollIntoView({block: 'end'})")
    time.sleep(0.5)
    (folder / "session.png").write_bytes(browser.picture())


def take_tree(browser, server, folder):
    """The picture of a session that has forks, with the tree of its checkpoints."""
    session = seed_tree(server)
    browser.resize(1200, 700)
    browser.dark(False)
    open_page(browser, server, f"/sessions/{session}")
    wait(lambda: browser.run("return document.querySelectorAll('.cell').length") == len(TRIES), "the cells")
    time.sleep(0.5)
    (folder / "tree.png").write_bytes(browser.picture())


def take_all(browser, server, folder, csv, run):
    def show(place):
        open_page(browser, server, place)

    def take(name):
        (folder / f"{name}.png").write_bytes(browser.picture())

    browser.resize(1200, 760)
    browser.dark(False)
    show("/overview")
    for _ in range(12):
        for name in ("Ada", "Grace"):
            server.call("execute_skill", {"name": "hello.world", "args": {"name": name}})
        time.sleep(0.7)
    take("overview")
    show("/skills")
    take("skills")
    show("/skills/charts.plot.render")
    browser.run("sessionStorage.setItem('wardian-args:charts.plot.render', arguments[0])", json.dumps({"kind": "bar", "data_blob": csv, "x": "region", "y": "amount", "aggregate": "sum", "title": "Sales"}))
    show("/skills/charts.plot.render")
    browser.click(".inputs button[type=submit]")
    browser.find(".run figure img")
    time.sleep(1)
    take("skill")
    show("/playground")
    browser.fill("textarea.code", PROGRAM)
    browser.fill(".settings textarea", json.dumps({"sales": f"/blobs/{csv}", "whole": None}))
    show(f"/playground?blob={csv.replace(':', '%3A')}")
    browser.click(".title .primary")
    browser.find(".run .problem")
    browser.click(".jump")
    time.sleep(0.5)
    browser.dark(True)
    take("playground")
    browser.dark(False)
    show("/runs")
    take("runs")
    show(f"/runs/{run}")
    take("run")
    show(f"/blobs/{csv.replace(':', '%3A')}")
    browser.find(".preview table")
    take("blob")
    browser.resize(380, 760)
    show("/overview")
    time.sleep(3)
    take("narrow")
