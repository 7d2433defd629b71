"""A headless Chromium, driven through chromedriver with the WebDriver protocol over plain HTTP."""

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
PATIENCE = 60
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Shift": "\ue008", "Control": "\ue009",
        "ArrowRight": "\ue014", "ArrowLeft": "\ue012", "Backspace": "\ue003"}
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--disable-extensions", "--force-color-profile=srgb", "--hide-scrollbars"]


def find_browser():
    """The paths of Chromium and its driver; None if one is missing."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    driver = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Failed(Exception):
    """The browser refused a command, or a page did not become what was waited for."""


class Browser:
    """One browser with one tab."""

    def __init__(self):
        found = find_browser()
        if found is None:
            raise Failed("there is no Chromium with its driver")
        browser, driver = found
        self.folder = tempfile.TemporaryDirectory()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        self.session = None
        try:
            wait(lambda: self._status(), "the driver")
            options = {"binary": browser, "args": [*FLAGS, f"--user-data-dir={self.folder.name}"]}
            capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                            "goog:loggingPrefs": {"browser": "ALL"}, "timeouts": {"script": 60000}}
            answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
            self.session = answer["sessionId"]
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            if self.session:
                self._send("DELETE", f"/session/{self.session}")
        except (OSError, Failed):
            pass
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def _status(self):
        try:
            return self._send("GET", "/status")["ready"]
        except OSError:
            return False

    def _send(self, method, path, body=None):
        data = None if body is None and method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE * 3) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as fault:
            raise Failed(json.load(fault)["value"]["message"].split("\n")[0]) from None

    def do(self, method, path, body=None):
        return self._send(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        self.do("POST", "/url", {"url": url})

    @contextlib.contextmanager
    def new_tab(self):
        """The tab that the page has just opened, which is closed afterwards."""
        first = self.do("GET", "/window")
        def look():
            return [tab for tab in self.do("GET", "/window/handles") if tab != first]
        self.do("POST", "/window", {"handle": wait(look, "a new tab")[0]})
        try:
            yield
        finally:
            self.do("DELETE", "/window")
            self.do("POST", "/window", {"handle": first})

    def close_tab(self):
        """Closes the tab, and goes on in a new one. A page that is only left may go on for a while."""
        new = self.do("POST", "/window/new", {"type": "tab"})["handle"]
        self.do("DELETE", "/window")
        self.do("POST", "/window", {"handle": new})

    def run(self, script, *arguments):
        """The value of a script in the page: `return …`, of a promise its result."""
        return self.do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        """The first element, waited for."""
        def look():
            found = self.do("POST", "/elements", {"using": "css selector", "value": selector})
            return found[0] if found else None
        return wait(look, f"an element {selector} (the page says: {self.text()[:400]!r})")[ELEMENT]

    def click(self, selector):
        self.do("POST", f"/element/{self.find(selector)}/click")

    def click_text(self, selector, text):
        """Clicks the element of a selector that shows a text."""
        def look():
            return self.run("const found = [...document.querySelectorAll(arguments[0])].find((node) => node.textContent.trim() === arguments[1]);"
                            "if (found) found.click(); return Boolean(found);", selector, text)
        wait(look, f"{selector} with the text {text!r}")

    def fill(self, selector, text):
        """Sets the value of a control as if it was typed."""
        self.find(selector)
        self.run("const node = document.querySelector(arguments[0]); node.value = arguments[1];"
                 "node.dispatchEvent(new Event('input', {bubbles: true})); node.dispatchEvent(new Event('change', {bubbles: true}));", selector, text)

    def type(self, selector, text):
        self.do("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def choose_file(self, selector, path):
        found = self.find(selector)
        self.do("POST", f"/element/{found}/value", {"text": str(path)})

    def press(self, *keys):
        """Presses keys, the last one while the others are held."""
        keys = [KEYS.get(key, key) for key in keys]
        actions = [{"type": "keyDown", "value": key} for key in keys] + [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.do("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def text(self, selector="body"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def wait_text(self, text, selector="body"):
        """Waits until a part of the page shows a text."""
        last = [""]

        def look():
            last[0] = self.text(selector)
            return text in last[0]
        try:
            wait(look, repr(text))
        except Failed as fault:
            raise Failed(f"{fault}; the page says: {last[0][:1500]!r}") from None

    def focused(self):
        """What has the focus: its element's name and its text or label."""
        return self.run("const node = document.activeElement; return `${node.tagName.toLowerCase()} ${node.getAttribute('aria-label') ?? node.textContent.trim().slice(0, 60)}`.trim()")

    def resize(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def dark(self, is_dark):
        self.cdp("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]})

    def cdp(self, command, parameters):
        return self.do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def picture(self):
        return base64.b64decode(self.do("GET", "/screenshot"))

    def complaints(self):
        """Messages of the console of the browser since the last call."""
        entries = self.do("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]


def wait(look, what, patience=PATIENCE):
    """Calls `look` until it returns something, and returns that."""
    until = time.monotonic() + patience
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > until:
            raise Failed(f"waited in vain for {what}")
        time.sleep(0.05)
