"""A JupyterLab of its own, with the kernel that `wardian kernel install` installs."""

import json
import os
import secrets
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from browser import wait
from servers import ROOT

# Neither news nor questions about them.
SETTINGS = {"apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False}}


class Lab:
    """JupyterLab below a temporary folder: nothing of the user's is read or written."""

    def __init__(self, programs, server):
        self.home = tempfile.TemporaryDirectory()
        home = Path(self.home.name)
        self.notebooks = home / "notebooks"
        self.notebooks.mkdir()
        self.environment = {
            **os.environ,
            "HOME": str(home),
            "PYTHONPATH": str(ROOT / "clients/python/src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JUPYTER_PATH": str(home / "share/jupyter"),
            **{f"JUPYTER_{kind}_DIR": str(home / kind) for kind in ("CONFIG", "DATA", "RUNTIME")},
            **{f"JUPYTERLAB_{kind}_DIR": str(home / kind) for kind in ("SETTINGS", "WORKSPACES")},
        }
        for name, values in SETTINGS.items():
            file = home / "SETTINGS/@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True)
            file.write_text(json.dumps(values))
        install = [server.program, "kernel", "install", "--python", programs / "python3", "--prefix", home, "--url", server.url]
        self.installed = subprocess.run(install, env=self.environment, check=True, capture_output=True, text=True).stdout
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.token = secrets.token_hex(16)
        # Root is refused by default, and in a container everybody may be root.
        command = [programs / "python3", "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
                   "--ServerApp.port_retries=0", f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.notebooks}"]
        self.log = home / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, env=self.environment, cwd=home, stdout=log, stderr=log)
        self.url = f"http://127.0.0.1:{port}"
        try:
            wait(self._answers, "JupyterLab", 120)
        except Exception:
            print(self.log.read_text())
            self.close()
            raise

    def _answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"JupyterLab did not start: {self.process.returncode}")
        try:
            return bool(self.ask("/api/status"))
        except (OSError, urllib.error.URLError):
            return False

    def ask(self, path):
        """The answer of Jupyter's own interface."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"token {self.token}"})
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)

    def write(self, name, cells):
        """Writes a notebook for the kernel: a cell is Markdown if it begins with `#`, and code otherwise."""
        kernel = {"name": "wardian", "display_name": "Python (Wardian)", "language": "python"}
        made = []
        for number, source in enumerate(cells):
            made.append({"id": f"cell-{number}", "cell_type": "markdown", "metadata": {}, "source": source} if source.startswith("#") else
                        {"id": f"cell-{number}", "cell_type": "code", "metadata": {}, "source": source, "execution_count": None, "outputs": []})
        notebook = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        (self.notebooks / name).write_text(json.dumps(notebook))

    def read(self, name):
        """The cells of a notebook that have code, as they are saved."""
        cells = json.loads((self.notebooks / name).read_text())["cells"]
        return [cell for cell in cells if cell["cell_type"] == "code"]

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.home.cleanup()
