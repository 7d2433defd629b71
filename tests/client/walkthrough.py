"""Goes through the protocol as a published client does: `requests`, string ids, HTTP errors first.

    python walkthrough.py http://127.0.0.1:8080/rpc

Prints one line for each step and ends with `ok`. Any surprise is an exception.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import requests


class SkillsClient:
    """A client as the protocol's documentation describes it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.session = requests.Session()
        self.ids = itertools.count(1)

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Calls a method; a JSON-RPC error becomes a `RuntimeError`."""
        identifier = str(next(self.ids))
        request = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params or {}}
        response = self.session.post(self.url, json=request, timeout=60)
        response.raise_for_status()
        body = response.json()
        assert body["jsonrpc"] == "2.0" and body["id"] == identifier, body
        if "error" in body:
            raise RuntimeError(body["error"]["data"]["kind"])
        print(f"{method}: ok")
        return body["result"]


def expect_error(client: SkillsClient, kind: str, method: str, params: dict[str, Any]) -> None:
    """Checks that a call is refused for the expected reason."""
    try:
        client.call(method, params)
    except RuntimeError as error:
        assert str(error) == kind, error
    else:
        raise AssertionError(f"{method} should have failed with {kind}")


def discover(client: SkillsClient) -> None:
    """Guide, list, describe, read."""
    guide = client.call("load_skills_protocol_guide")
    assert guide["content"].startswith("# "), guide["content"][:80]

    listed = client.call("list_skills", {"detail": "summary", "limit": 50})
    names = [skill["name"] for skill in listed["skills"]]
    assert names == sorted(names) and "data.csv.profile" in names, names
    assert all({"version", "description", "kind"} <= skill.keys() for skill in listed["skills"])

    described = client.call("describe_skill", {"name": "data.csv.profile", "detail": "summary"})
    manifest = described["skill"]["manifest"]
    assert manifest["runtime"]["language"] == "python", manifest
    assert described["skill"]["skill_md_frontmatter"]["short_description"]

    document = client.call("read_skill_file", {"name": "data.csv.profile", "path": "SKILL.md"})
    assert document["content"].startswith("---\n"), document["content"][:80]


def run(client: SkillsClient) -> None:
    """Blob, execute, run, read back."""
    table = "city,people\nBern,134\nBasel,178\nZug,31\n"
    blob = client.call("create_blob", {"content": table, "kind": "text/csv"})
    assert blob["size_bytes"] == len(table), blob

    profile = client.call(
        "execute_skill",
        {
            "name": "data.csv.profile",
            "args": {"csv_blob": blob["blob_id"]},
            "input_blobs": [blob["blob_id"]],
            "timeout_ms": 60_000,
        },
    )
    assert profile["status"] == "completed", profile
    assert profile["run_id"].startswith("run_") and profile["summary"], profile

    code = """
import pandas as pd
from runtime import blobs, log

def main(args):
    table = pd.read_csv(blobs.open(args["table"]))
    log.info("read %d rows", len(table))
    total = int(table["people"].sum())
    report = blobs.write_text(f"{total} thousand people", kind="text/plain")
    return {"summary": f"{total} in all", "total": total, "report": report}
"""
    result = client.call(
        "run_code",
        {
            "language": "python",
            "code": code,
            "args": {"table": blob["blob_id"]},
            "input_blobs": [blob["blob_id"]],
            "timeout_ms": 60_000,
        },
    )
    assert result["status"] == "completed", result
    assert result["output"]["total"] == 343 and result["summary"] == "343 in all", result
    assert result["output_blobs"] == [result["output"]["report"]], result
    assert "read 3 rows" in result["logs_preview"], result

    report = client.call("read_blob", {"blob_id": result["output"]["report"]})
    assert (report["content"], report["truncated"]) == ("343 thousand people", False), report

    failed = client.call("run_code", {"language": "python", "code": "def main(args):\n    1 / 0\n"})
    assert failed["status"] == "failed", failed
    assert failed["error"]["type"] == "ZeroDivisionError", failed
    assert failed["error"]["message"] == "division by zero", failed


def main() -> None:
    """The whole walk."""
    client = SkillsClient(sys.argv[1])
    discover(client)
    run(client)
    expect_error(client, "skill_not_found", "describe_skill", {"name": "no.such.skill"})
    expect_error(client, "not_executable", "execute_skill", {"name": "skills.protocol.guide"})
    expect_error(client, "invalid_params", "list_skills", {"limit": 0})
    print("ok")


if __name__ == "__main__":
    main()
