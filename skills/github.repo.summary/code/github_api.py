"""Asks GitHub's API, and explains its refusals."""

import base64
import binascii
import datetime
import http.client
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request

API = "https://api.github.com"
MAX_BYTES = 8 << 20
TIMEOUT = 10
REPO = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9_.-]{1,100}")
ADDRESS = re.compile(r"(?:https?://)?(?:www\.)?github\.com/|git@github\.com:")


class GitHubError(ValueError):
    """GitHub does not answer as wanted; the message says why."""


class NotThere(GitHubError):
    """GitHub says that there is no such thing."""


class GitHub:
    """The API, with a token if the environment has one."""

    def __init__(self, api=API):
        self._api = api
        self.requests_left = None

    def get(self, path, **query):
        """Returns the answer to one request."""
        address = f"{self._api}{path}"
        if query:
            address = f"{address}?{urllib.parse.urlencode(query)}"
        headers = {
            "Accept": "application/vnd.github+json",
            "User-Agent": "github.repo.summary",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        token = os.environ.get("GITHUB_TOKEN")
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            request = urllib.request.Request(address, headers=headers)
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                self._count(answer.headers)
                data = answer.read(MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            self._count(error.headers)
            raise explained(error, path) from None
        except urllib.error.URLError as error:
            raise GitHubError(f"GitHub cannot be reached: {error.reason}") from None
        except (OSError, http.client.HTTPException) as error:
            raise GitHubError(f"GitHub did not answer in full: {error!r:.200}") from None
        if len(data) > MAX_BYTES:
            raise GitHubError(f"the answer to `{path}` is longer than {MAX_BYTES >> 20} MiB")
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise GitHubError(f"the answer to `{path}` is no JSON") from None

    def _count(self, headers):
        left = headers.get("X-RateLimit-Remaining") if headers else None
        if left and left.isascii() and left.isdigit():
            self.requests_left = int(left)


def explained(error, path):
    """Returns the error that a status of GitHub's means."""
    headers = error.headers or {}
    if error.code in (403, 429) and headers.get("X-RateLimit-Remaining") == "0":
        reset = headers.get("X-RateLimit-Reset") or ""
        when = "soon"
        if reset.isascii() and reset.isdigit() and len(reset) < 12:
            moment = datetime.datetime.fromtimestamp(int(reset), datetime.UTC)
            when = f"at {moment:%H:%M} UTC"
        return GitHubError(
            f"GitHub's allowance of requests is used up, it begins anew {when}; a token raises it"
        )
    if error.code == 401:
        return GitHubError("GitHub does not accept the token `GITHUB_TOKEN`")
    if error.code in (404, 451):
        return NotThere(f"GitHub has no public `{path.removeprefix('/repos/')}`")
    return GitHubError(f"GitHub answered {error.code} to `{path}`")


def repo_name(text):
    """Returns `owner/name` of a repository's name or address."""
    text = text.strip()
    found = ADDRESS.match(text)
    if found:
        text = "/".join(text[found.end() :].split("?")[0].split("#")[0].split("/")[:2])
    text = text.removesuffix(".git")
    if not REPO.fullmatch(text) or text.endswith(("/.", "/..")):
        raise GitHubError(f"`repo` must look like `python/cpython`, not like `{text[:100]}`")
    return text


def readme_text(answer):
    """Returns the text of a README as the API packs it, or None."""
    if not isinstance(answer, dict) or answer.get("encoding") != "base64":
        return None
    try:
        return base64.b64decode(str(answer.get("content") or "")).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None
