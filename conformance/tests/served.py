"""A stand-in behind a real socket."""

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "the key of the stand-in"
OTHER_KEY = "the key of another tenant"


@contextlib.contextmanager
def served(stand_in, wants_key=False):
    """Serves a stand-in and gives its URL."""
    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            known = [f"Bearer {key}" for key in (KEY, OTHER_KEY)]
            if wants_key and self.headers.get("Authorization") not in known:
                self.send_error(401)
                return
            reply = stand_in.request(self.command, self.path, dict(self.headers), body)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
