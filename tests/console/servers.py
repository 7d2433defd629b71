"""Servers for the tests of the console: Wardian itself, and one for the tests of single modules."""

import http.server
import json
import os
import subprocess
import tempfile
import threading
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "crates/edges/src/console/page"


class Wardian:
    """A server with an empty data folder."""

    def __init__(self, *settings, skills=None):
        self.folder = tempfile.TemporaryDirectory()
        self.program = os.environ.get("WARDIAN", str(ROOT / "target/debug/wardian"))
        options = ["--data-dir", self.folder.name, *(["--skills", str(skills)] if skills else [])]
        for setting in settings:
            options += ["--set", setting]
        self.options = options
        # The settings of whoever runs the tests are none of theirs.
        config = Path(self.folder.name, "none.toml")
        config.write_text("")
        is_kept = lambda name: not name.startswith("WARDIAN_") or name == "WARDIAN_CACHE_DIR"
        self.environment = {name: value for name, value in os.environ.items() if is_kept(name)}
        self.environment["WARDIAN_CONFIG"] = str(config)
        self.process = subprocess.Popen([self.program, *options, "--log-level", "error", "serve", "--listen", "127.0.0.1:0", "--workers", "1"],
                                        stdout=subprocess.PIPE, text=True, env=self.environment)
        # A server that cannot start ends, and so does its output.
        lines = iter(self.process.stdout.readline, "")
        line = next((line for line in lines if line.startswith("listening on ")), None)
        if line is None:
            raise RuntimeError(f"{self.program} did not start: {self.process.wait()}")
        self.url = line.split()[2]

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()

    def command(self, *arguments):
        return subprocess.run([self.program, *self.options, *arguments], check=True, capture_output=True, text=True,
                              env=self.environment).stdout

    def send(self, method, path, body=None, key=None, kind="application/json"):
        headers = {"Content-Type": kind, **({"Authorization": f"Bearer {key}"} if key else {})}
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return answer.read()

    def call(self, method, params, key=None):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        answer = json.loads(self.send("POST", "/rpc", body, key))
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def blob(self, content, kind):
        return json.loads(self.send("PUT", "/v1/blobs", content, kind=kind))["blob_id"]


class Units:
    """Serves the modules of the console with the page that tests them."""

    def __init__(self):
        kinds = {".js": "text/javascript", ".html": "text/html"}

        class Files(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.rsplit("/", 1)[-1]
                file = (PAGE if self.path.startswith("/console/") else HERE) / name
                found = file.is_file() and file.suffix in kinds
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", kinds.get(file.suffix, "text/plain"))
                self.end_headers()
                self.wfile.write(file.read_bytes() if found else b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
