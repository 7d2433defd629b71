#!/usr/bin/env python3
"""Servers that skills are installed from, on loopback: git, npm, an OCI registry, and files.

    servers.py FOLDER

FOLDER has the subfolders git (bare repositories), npm (documents and archives), oci (blobs and manifests) and files.
Git is served by its own program (`git http-backend`); the OCI part speaks the distribution specification: it takes
uploads, and gives manifests, tags and blobs. The port is printed as the first line.

Paths that begin with /token/ ask for `token:secret` first; /elsewhere/ redirects to another host; /here/ redirects to
the path behind it; /old/ serves git by the protocol before version 2.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

FOLDER = Path(sys.argv[1]).resolve()
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
SECRET = "Basic " + base64.b64encode(b"token:secret").decode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        with open(FOLDER / "log", "a") as log:
            log.write(f"{self.command} {self.path} {self.headers.get('authorization', '-')}\n")

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if self.headers.get("transfer-encoding") == "chunked":
            whole = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return whole
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def handle_any(self):
        url = urlsplit(self.path)
        path, version = url.path, self.headers.get("git-protocol", "")
        body = self.body()
        if path.startswith("/token/"):
            if self.headers.get("authorization") != SECRET:
                return self.answer(401, www_authenticate='Basic realm="x"')
            path = path[len("/token"):]
        if path.startswith("/elsewhere/"):
            return self.answer(302, location="https://elsewhere.example" + path)
        if path.startswith("/here/"):
            return self.answer(301, location=path[len("/here"):] + ("?" + url.query if url.query else ""))
        if path.startswith("/old/"):
            path, version = path[len("/old"):], ""
        if path.startswith("/git/"):
            return self.git(path[len("/git"):], url.query, version, body)
        if path.startswith("/v2/"):
            return self.registry(path, url.query, body)
        if path == "/issue":
            return self.answer(200, json.dumps({"token": "pull"}).encode(), content_type="application/json")
        return self.file(unquote(path))

    do_GET = do_POST = do_PUT = do_HEAD = do_PATCH = handle_any

    def file(self, path):
        file = (FOLDER / path.lstrip("/")).resolve()
        if path.startswith("/npm/") and file.is_dir():
            file = file / "document.json"
        if FOLDER not in file.parents or not file.is_file():
            return self.answer(404)
        return self.answer(200, file.read_bytes(), content_type="application/octet-stream")

    def git(self, path, query, version, body):
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(FOLDER / "git"),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": version,
            "REMOTE_ADDR": "127.0.0.1",
        }
        ended = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True)
        head, _, content = ended.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200").split()[0])
        return self.answer(status, content, **headers)

    def registry(self, path, query, body):
        if self.headers.get("authorization") != "Bearer pull":
            realm = f"http://{self.headers['host']}/issue"
            return self.answer(401, www_authenticate=f'Bearer realm="{realm}",service="tests"')
        store = FOLDER / "oci"
        store.mkdir(exist_ok=True)
        if found := re.fullmatch(r"/v2/(.+)/blobs/uploads/", path):
            digest = parse_qs(query).get("digest")
            if digest:
                return self.keep(store, digest[0], body)
            return self.answer(202, location=f"/v2/{found[1]}/blobs/uploads/1")
        if re.fullmatch(r"/v2/(.+)/blobs/uploads/1", path):
            return self.keep(store, parse_qs(query)["digest"][0], body)
        if found := re.fullmatch(r"/v2/(.+)/manifests/(.+)", path):
            tag = store / f"tag-{found[1].replace('/', '_')}-{found[2].replace(':', '_')}"
            digest = "sha256:" + hashlib.sha256(body).hexdigest()
            if self.command == "PUT":
                (store / digest.replace(":", "_")).write_bytes(body)
                tag.write_text(digest)
                return self.answer(201, docker_content_digest=digest)
            named = found[2] if found[2].startswith("sha256:") else tag.read_text() if tag.exists() else "none"
            return self.stored(store, named, MANIFEST)
        if found := re.fullmatch(r"/v2/(.+)/blobs/(sha256:.+)", path):
            return self.stored(store, found[2], "application/octet-stream")
        return self.answer(404)

    def keep(self, store, digest, body):
        if digest != "sha256:" + hashlib.sha256(body).hexdigest():
            return self.answer(400)
        (store / digest.replace(":", "_")).write_bytes(body)
        return self.answer(201, docker_content_digest=digest)

    def stored(self, store, digest, kind):
        file = store / digest.replace(":", "_")
        if "/" in digest or not file.is_file():
            return self.answer(404)
        return self.answer(200, file.read_bytes(), content_type=kind, docker_content_digest=digest)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
