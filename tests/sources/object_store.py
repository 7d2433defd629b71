#!/usr/bin/env python3
"""An object store on loopback with the part of S3's interface that skills and blobs need, and stores that misbehave.

    object_store.py FOLDER

Requests must be signed (AWS Signature Version 4), and are checked as the documents of S3 say, not as a client does. The
port is printed as the first line; FOLDER/log has the requests, FOLDER/objects/BUCKET/KEY the objects. A file FOLDER/out lets
it answer 503 to all requests. The name of a bucket says how it behaves: see `Store.odd`. `POST /?Action=AssumeRoleWithWebIdentity` gives credentials for the token `web-token`.
"""

import hashlib
import hmac
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

FOLDER = Path(sys.argv[1]).resolve()
# Identifiers and secrets, and the session token that has to come with them.
KEYS = {"AKIDTESTS": ("very/secret+key", None), "ASIATEMPORARY": ("temporary-secret", "temporary-token")}
TOKEN_ANSWER = """<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIATEMPORARY</AccessKeyId>
<SecretAccessKey>temporary-secret</SecretAccessKey><SessionToken>temporary-token</SessionToken>
<Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""
PAGE = 2


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def tag(content):
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


class Store(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    busy = {}
    # MIME types of objects, and the parts of uploads that are not complete.
    kinds, uploads = {}, {}
    turn = threading.Lock()

    def log_message(self, *arguments):
        with open(FOLDER / "log", "a") as log:
            condition = self.headers.get("if-none-match", "-")
            log.write(f"{self.command} {self.path} {condition} {self.headers.get('authorization', '-')}\n")

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code, message="", **headers):
        text = f"<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
        return self.answer(status, text.encode(), content_type="application/xml", **headers)

    def handle_any(self):
        url = urlsplit(self.path)
        self.query = dict(parse_qsl(url.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.command == "POST" and self.query.get("Action") == "AssumeRoleWithWebIdentity":
            return self.assume()
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        if (FOLDER / "out").exists():
            return self.refuse(503, "ServiceUnavailable")
        if self.odd(bucket, key, body):
            return None
        if bucket != "public" or self.command != "GET":
            if problem := self.fault_of_signature(url, body):
                return self.refuse(403, problem)
        if not (FOLDER / "objects" / bucket).is_dir():
            return self.refuse(404, "NoSuchBucket")
        if self.command == "GET" and not key:
            return self.list(bucket)
        file = FOLDER / "objects" / bucket / key
        if "uploads" in self.query or "uploadId" in self.query:
            return self.upload(file, body)
        if self.command == "PUT":
            return self.put(bucket, file, body)
        if self.command == "DELETE":
            file.unlink(missing_ok=True)
            return self.answer(204)
        if not file.is_file():
            return self.refuse(404, "NoSuchKey")
        content = file.read_bytes()
        if bucket == "bare":
            return self.stream([content])
        if bucket == "wrong" and key.endswith(".tar"):
            content = content[::-1]
        kind = Store.kinds.get(file, "binary/octet-stream")
        tags = {"etag": tag(content), "last_modified": "Mon, 30 Nov 2026 08:00:00 GMT", "content_type": kind}
        return self.answer(200, content, **tags)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def odd(self, bucket, key, body):
        """Answers for a bucket that misbehaves. False for others."""
        if bucket == "elsewhere":
            self.refuse(307, "TemporaryRedirect", location=f"http://elsewhere.example/{key}")
        elif bucket == "region":
            self.refuse(301, "PermanentRedirect", x_amz_bucket_region="eu-west-1")
        elif bucket == "chatty":
            told = " ".join(f"{name}={value}" for name, value in self.headers.items())
            self.refuse(403, f"AccessDenied {told}", told)
        elif bucket == "endless" and key or bucket == "endless-signature" and key.endswith(".json"):
            self.stream(iter(lambda: b"x" * 65536, None))
        elif bucket == "pages" and not key:
            self.answer(200, b"<ListBucketResult><NextContinuationToken>more</NextContinuationToken></ListBucketResult>")
        elif bucket == "nonsense":
            self.answer(200, b"<ListBucketResult><Contents><Key>a", content_type="application/xml")
        elif bucket == "busy" and Store.busy.setdefault(self.path, []) != [1, 1]:
            Store.busy[self.path].append(1)
            self.refuse(503, "SlowDown")
        elif bucket == "racing" and self.command == "PUT" and key.endswith(".tar"):
            # Somebody else was faster.
            file = FOLDER / "objects" / bucket / key
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"other")
            self.refuse(409, "ConditionalRequestConflict")
        else:
            return False
        return True

    def put(self, bucket, file, body):
        if source := self.headers.get("x-amz-copy-source"):
            return self.copy(FOLDER / "objects" / unquote(source).lstrip("/"), file)
        with Store.turn:
            if bucket != "careless" and self.headers.get("if-none-match") == "*" and file.exists():
                return self.refuse(412, "PreconditionFailed")
            self.store(file, body, self.headers.get("content-type"))
        return self.answer(200) if bucket == "bare" else self.answer(200, etag=tag(body))

    def store(self, file, body, kind):
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = FOLDER / f"draft-{threading.get_ident()}"
        draft.write_bytes(body)
        draft.rename(file)
        Store.kinds[file] = kind or "binary/octet-stream"

    def copy(self, source, file):
        if not source.is_file():
            return self.refuse(404, "NoSuchKey")
        content = source.read_bytes()
        self.store(file, content, Store.kinds.get(source))
        text = f"<CopyObjectResult><ETag>{escape(tag(content))}</ETag></CopyObjectResult>"
        return self.answer(200, text.encode(), content_type="application/xml")

    def upload(self, file, body):
        """An upload in parts."""
        name = self.query.get("uploadId")
        if name is None:
            name = f"upload-{len(Store.uploads)}"
            Store.uploads[name] = (self.headers.get("content-type"), {})
            text = f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>"
            return self.answer(200, text.encode(), content_type="application/xml")
        if name not in Store.uploads:
            return self.refuse(404, "NoSuchUpload")
        kind, parts = Store.uploads[name]
        if self.command == "PUT":
            parts[int(self.query["partNumber"])] = body
            return self.answer(200, etag=tag(body))
        del Store.uploads[name]
        if self.command == "DELETE":
            return self.answer(204)
        content = b"".join(parts[number] for number in sorted(parts))
        self.store(file, content, kind)
        text = f"<CompleteMultipartUploadResult><ETag>{escape(tag(content))}</ETag></CompleteMultipartUploadResult>"
        return self.answer(200, text.encode(), content_type="application/xml")

    def stream(self, pieces):
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for piece in pieces:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            pass
        self.close_connection = True

    def list(self, bucket):
        if self.query.get("list-type") != "2":
            return self.refuse(501, "NotImplemented")
        root = FOLDER / "objects" / bucket
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        keys = sorted(str(file.relative_to(root)) for file in root.rglob("*") if file.is_file())
        entries = []
        for key in keys:
            if key.startswith(prefix):
                head, found, _ = key[len(prefix):].partition(delimiter) if delimiter else (key, "", "")
                entry = ("folder", prefix + head + delimiter) if found else ("object", key)
                if entry not in entries:
                    entries.append(entry)
        start = int(self.query.get("continuation-token", 0))
        page = entries[start:start + PAGE]
        text = "<?xml version=\"1.0\"?><ListBucketResult>"
        for kind, name in page:
            if kind == "folder":
                text += f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            else:
                text += (f"<Contents><Key>{escape(name)}</Key><LastModified>2026-11-30T08:00:00.000Z</LastModified>"
                         f"<ETag>{escape(tag((root / name).read_bytes()))}</ETag><Size>{(root / name).stat().st_size}</Size></Contents>")
        if start + PAGE < len(entries):
            text += f"<NextContinuationToken>{start + PAGE}</NextContinuationToken>"
        return self.answer(200, (text + "</ListBucketResult>").encode(), content_type="application/xml")

    def assume(self):
        if self.query.get("WebIdentityToken") != "web-token" or not self.query.get("RoleArn"):
            return self.refuse(400, "InvalidIdentityToken", self.path)
        later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        return self.answer(200, (TOKEN_ANSWER % later).encode(), content_type="text/xml")

    def fault_of_signature(self, url, body):
        """The code of a refusal; None if the request is signed as it must be."""
        kind, _, rest = self.headers.get("authorization", "").partition(" ")
        fields = dict(field.strip().split("=", 1) for field in rest.split(",") if "=" in field)
        if kind != "AWS4-HMAC-SHA256" or "Credential" not in fields:
            return "AccessDenied"
        name, day, region, service, end = fields["Credential"].split("/")
        if name not in KEYS or (service, end) != ("s3", "aws4_request"):
            return "InvalidAccessKeyId"
        secret, token = KEYS[name]
        if self.headers.get("x-amz-security-token") != token:
            return "InvalidToken"
        sent = self.headers["x-amz-content-sha256"]
        if sent != hashlib.sha256(body).hexdigest():
            return "XAmzContentSHA256Mismatch"
        signed = fields["SignedHeaders"].split(";")
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed):
            return "AccessDenied"
        encode = lambda text: quote(text, safe="-_.~")
        pairs = sorted((encode(n), encode(v)) for n, v in parse_qsl(url.query, keep_blank_values=True))
        request = "\n".join([
            self.command,
            quote(unquote(url.path), safe="-_.~/"),
            "&".join(f"{n}={v}" for n, v in pairs),
            *(f"{header}:{' '.join(self.headers[header].split())}" for header in signed),
            "",
            ";".join(signed),
            sent,
        ])
        when = self.headers["x-amz-date"]
        scope = f"{day}/{region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", when, scope, hashlib.sha256(request.encode()).hexdigest()])
        key = ("AWS4" + secret).encode()
        for part in [day, region, "s3", "aws4_request"]:
            key = digest(key, part)
        wanted = digest(key, text).hex()
        return None if hmac.compare_digest(wanted, fields["Signature"]) else "SignatureDoesNotMatch"


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
