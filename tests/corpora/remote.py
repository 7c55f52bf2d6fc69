"""A server on this machine that misbehaves on request."""

import hashlib
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock


class Remote:
    """What the server serves and how. ``files`` maps paths to bytes; ``log`` collects requests."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.log: list[tuple[str, str, str | None]] = []  # method, path, range
        self.cut_after: int | None = None  # body bytes after which the connection breaks
        self.cuts_left = 10**9
        self.ranges = True
        self.tags = True
        self.statuses: list[int] = []  # answered first, one a request
        self.shift = 0  # a range begins so many bytes beside what was asked
        self.told_range: str | None = None  # in place of the true Content-Range
        self.redirect: str | None = None  # where all requests are sent
        self.lengths = True
        self.url = ""

    def gets(self, name: str) -> list[str | None]:
        return [r for method, path, r in self.log if method == "GET" and path.endswith(name)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    remote: Remote

    def log_message(self, *args) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(send=False)

    def do_GET(self) -> None:
        self._answer(send=True)

    def _answer(self, send: bool) -> None:
        remote = self.remote
        wanted = self.headers["Range"]
        remote.log.append((self.command, self.path, wanted))
        if remote.statuses:
            self.send_error(remote.statuses.pop(0))
            return
        if remote.redirect is not None:
            self.send_response(302)
            self.send_header("Location", remote.redirect)
            self.end_headers()
            return
        body = remote.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        tag = f'"{hashlib.sha256(body).hexdigest()[:12]}"'
        start, status = 0, 200
        if wanted and remote.ranges and self.headers["If-Range"] == tag:
            start, status = int(wanted[len("bytes=") :].split("-")[0]), 206
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.end_headers()
                return
            start += remote.shift
        self.send_response(status)
        if remote.lengths:
            self.send_header("Content-Length", str(len(body) - start))
        if status == 206:
            true = f"bytes {start}-{len(body) - 1}/{len(body)}"
            self.send_header("Content-Range", remote.told_range or true)
        if remote.tags:
            self.send_header("ETag", tag)
        self.end_headers()
        if not send:
            return
        rest = body[start:]
        if remote.cut_after is not None and remote.cuts_left > 0:
            remote.cuts_left -= 1
            rest = rest[: remote.cut_after]
        self.wfile.write(rest)


@contextmanager
def serving():
    remote = Remote()
    handler = type("Handler", (_Handler,), {"remote": remote})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    remote.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        with mock.patch.dict(os.environ, no_proxy="*"):  # a proxy would know another 127.0.0.1
            yield remote
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
