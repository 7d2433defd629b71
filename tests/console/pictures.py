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
    finally:
        server.close()


def take_all(browser, server, folder, csv, run):
    def show(place):
        browser.open("about:blank")
        browser.open(f"{server.url}/console#{place}")
        wait(lambda: browser.run("return document.getElementById('main')?.dataset.shown === location.hash"), place)
        browser.run("return document.fonts.ready.then(() => true)")

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
