"""A local web server that misbehaves as it is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = content
        self.faults: list[str] = []  # one for each request, in order; afterwards all goes well
        self.requests: list[tuple[str, str | None]] = []  # path and Range of each
        self.stopped = threading.Event()

    def url(self, path: str = "file") -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"

    def handle_error(self, *_: Any) -> None:
        """Clients that hang up are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        asked = self.headers["Range"]
        self.server.requests.append((self.path, asked))
        fault = self.server.faults.pop(0) if self.server.faults else ""
        content = self.server.content
        if fault.isdecimal():
            self.send_error(int(fault))
            return
        if fault == "redirect":
            self._head(302, Location=self.server.url("elsewhere"))
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and fault != "ignore range" else 0
        body = content[start:]
        length = len(body)
        if fault == "corrupt":
            body = bytes([body[0] ^ 1]) + body[1:]
        if fault == "too much":
            length += 10
            body += bytes(10)
        headers = {} if fault == "endless" else {"Content-Length": str(length)}
        if start or fault == "wrong range":
            first = start + 1 if fault == "wrong range" else start
            self._head(206, **headers, **{"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"})
        else:
            self._head(200, **headers)
        if fault in ("truncate", "stall"):
            self.wfile.write(body[: len(body) // 2])
            if fault == "stall":
                self.server.stopped.wait(10)
            return
        self.wfile.write(body)
        while fault == "endless":
            self.wfile.write(bytes(1 << 16))

    def _head(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


@contextmanager
def serving(content: bytes) -> Iterator[Server]:
    with Server(content) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.stopped.set()
            server.shutdown()
            thread.join()
