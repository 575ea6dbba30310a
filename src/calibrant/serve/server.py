"""The server: who may ask, what may be asked, and how long that may take."""

from __future__ import annotations

import hmac
import json
import math
import secrets
import select
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from calibrant.problems import CalibrantError, visible
from calibrant.serve.answers import ACTIONS
from calibrant.serve.uploads import Upload, Uploads
from calibrant.serve.workers import Busy, Gone, Workers

ADDRESS = "127.0.0.1"
ASSETS = ("", "page.css", "page.js")
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "py": "text/x-python; charset=utf-8",
    "onnx": "application/octet-stream",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""Of reports, whose own policy is stricter still: they cannot reach this page, nor fetch anything."""
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
MOST_CONNECTIONS = 200
HEAD_SECONDS, SILENT_SECONDS, SLOWEST = 10.0, 20.0, 1e6
"""For the head of a request; without a byte; and bytes a second that a file must come with on average."""
MOST_JSON = 1 << 16
DRAINED = 1 << 26
"""Bytes of a refused file that are still read, so that its sender sees why."""


class Refused(Exception):
    """A request that is not answered: the status and the reason."""


class Server(ThreadingHTTPServer):
    """A server on the loopback address; `workers` is called when the port is taken, 0 being any free one."""

    daemon_threads, block_on_close, request_queue_size = True, False, 128

    def __init__(
        self, uploads: Uploads, workers: Callable[[], Workers], options: list[dict[str, Any]], port: int = 0
    ) -> None:
        self.uploads, self.options = uploads, options
        self.token = secrets.token_urlsafe(32)
        self.slots = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self.ends: dict[socket.socket, float] = {}
        super().__init__((ADDRESS, port), Handler)
        self.workers = workers()
        self.hosts = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}

    @property
    def url(self) -> str:
        """The address of the page; whoever knows it may use it."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def server_bind(self) -> None:
        """Without asking a name server what this computer is called."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, unless there are too many."""
        if self.slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve it and free its place."""
        self.ends[request] = time.monotonic() + HEAD_SECONDS
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.ends.pop(request, None)
            self.slots.release()

    def service_actions(self) -> None:
        """End connections whose time is over; called twice a second."""
        now = time.monotonic()
        for connection, end in list(self.ends.items()):
            if now > end:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Clients may leave at any time; anything else is shown."""
        if not isinstance(sys.exception(), OSError):
            sys.stderr.write(visible(traceback.format_exc()))

    def close(self) -> None:
        """End the processes and remove every file."""
        self.server_close()
        self.workers.close()
        self.uploads.close()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    server_version, sys_version, protocol_version = "calibrant", "", "HTTP/1.1"
    timeout = SILENT_SECONDS

    def log_message(self, *_: Any) -> None:
        """Addresses hold the token: they are not printed."""

    def handle_expect_100(self) -> bool:
        """Not before the request was checked."""
        return True

    def do_GET(self) -> None:
        """Pages and files."""
        self._answered(self._get)

    def do_POST(self) -> None:
        """Uploads and questions."""
        self._answered(self._post)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Requests that cannot be understood, without repeating them."""
        self._reply(code, {"error": HTTPStatus(code).phrase})

    def _answered(self, handle: Callable[[str], None]) -> None:
        """The reply of a checked request, or the reason why there is none."""
        self.close_connection = True
        try:
            handle(self._checked())
        except (Gone, TimeoutError, ConnectionError):
            return
        except Refused as error:
            self._reply(error.args[0], {"error": error.args[1]})
        except CalibrantError as error:
            self._reply(503 if isinstance(error, Busy) else 422, {"error": str(error)})
        except OSError as error:
            self._reply(507, {"error": f"The file cannot be kept: {error.strerror}."})
        self._drain()

    def _checked(self) -> str:
        """The path behind the token; refused unless the request comes from the page itself."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            raise Refused(403, "This page is for this computer alone.")
        own = f"http://{hosts[0]}"
        foreign = [given for given in self.headers.get_all("Origin") or [] if given != own]
        foreign += [given for given in self.headers.get_all("Referer") or [] if not given.startswith(f"{own}/")]
        foreign += [g for g in self.headers.get_all("Sec-Fetch-Site") or [] if g not in ("same-origin", "none")]
        if foreign:
            raise Refused(403, "Requests of other pages are refused.")
        first, _, path = self.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(first.encode("utf-8", "replace"), self.server.token.encode()):
            raise Refused(403, "Open the address that calibrant serve has printed, with its last part.")
        return path

    def _get(self, path: str) -> None:
        parts = urlsplit(path)
        if parts.path in ASSETS:
            name = parts.path or "page.html"
            self._send(200, files(__package__).joinpath(name).read_bytes(), name)
        elif parts.path == "start":
            limit = self.server.uploads.max_bytes
            self._reply(200, {"options": self.server.options, "max_bytes": limit})
        elif parts.path == "file":
            given = parse_qs(parts.query)
            self._send_file(self.server.uploads.find(given.get("upload", [""])[0]), given)
        else:
            raise Refused(404, "There is no such page.")

    def _send_file(self, upload: Upload, given: dict[str, list[str]]) -> None:
        """A file that was made of an upload, by the name it was given here."""
        name = given.get("name", [""])[0]
        path = upload.files.get(name)
        if path is None:
            raise Refused(404, "There is no such file. Ask for it again.")
        kind = "inline" if "show" in given else "attachment"
        policy = REPORT_POLICY if name.endswith(".html") else POLICY
        self._send(200, path.read_bytes(), name, policy, {"Content-Disposition": f'{kind}; filename="{name}"'})

    def _post(self, path: str) -> None:
        if path == "upload":
            upload = self._received()
            self._reply(200, {"upload": upload.id, "name": upload.name})
        elif path == "drop":
            with suppress(CalibrantError):
                self.server.uploads.drop(self.server.uploads.find(self._json().get("upload")).id)
            self._reply(200, {})
        elif path in ACTIONS:
            self._reply(200, self._computed(path, self._json()))
        else:
            raise Refused(404, "There is no such question.")

    def _length(self, most: int, what: str) -> int:
        """The length of the body, known and small enough before a byte is read."""
        given = self.headers.get_all("Content-Length") or []
        if "Transfer-Encoding" in self.headers or len(given) != 1 or not (given[0].isascii() and given[0].isdecimal()):
            raise Refused(411, "The length must be known: chunked uploads are refused.")
        if len(given[0]) > 15 or int(given[0]) > most:
            limit = f"{most / 1e6:,.6g} MB. calibrant serve --max-megabytes sets the limit"
            raise Refused(413, f"{what} is larger than {limit}.")
        self._until(HEAD_SECONDS + SILENT_SECONDS + int(given[0]) / SLOWEST)
        if "100-continue" in self.headers.get("Expect", ""):
            self.send_response_only(100)
            self.end_headers()
        return int(given[0])

    def _received(self) -> Upload:
        uploads, name = self.server.uploads, unquote(self.headers.get("X-File-Name", ""), errors="replace")
        return uploads.receive(name, self._length(uploads.max_bytes, "The file"), self.rfile.read1)

    def _json(self) -> dict[str, Any]:
        length = self._length(MOST_JSON, "The question")
        try:
            given = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise Refused(400, "The question must be JSON.")
        return given

    def _computed(self, action: str, given: dict[str, Any]) -> dict[str, Any]:
        """The answer about an upload, which takes its turn; what was made of it can be downloaded then."""
        kinds = {each["name"]: bool if each["kind"] == "flag" else str for each in self.server.options}
        options = given.get("options") or {}
        if not isinstance(options, dict) or any(type(each) is not kinds.get(name) for name, each in options.items()):
            raise Refused(400, "The options must be those of the reader, as texts or truth values.")
        self._until(math.inf)
        with self.server.uploads.held(given.get("upload"), self._gone) as upload:
            place = {"path": str(upload.path), "folder": str(upload.folder), "name": upload.name}
            question = given | place | {"action": action, "options": options}
            found: dict[str, Any] = self.server.workers.answer(question, self._gone, upload.id)
            upload.files |= {name: upload.folder / name for name in found.get("files", ())}
        return found

    def _gone(self) -> bool:
        """Has the client left? It has nothing more to say, so what can be read is its end."""
        with suppress(OSError):
            ready, _, _ = select.select([self.connection], [], [], 0)
            return bool(ready) and not self.connection.recv(1, socket.MSG_PEEK)
        return True

    def _until(self, seconds: float) -> None:
        """The connection is ended after so many seconds."""
        self.server.ends[self.connection] = time.monotonic() + seconds

    def _drain(self) -> None:
        """Read what a refused client still sends, so that it reads the reply."""
        self._until(HEAD_SECONDS)
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            left = DRAINED
            while left > 0 and (block := self.rfile.read1(1 << 16)):
                left -= len(block)

    def _reply(self, status: int, data: dict[str, Any]) -> None:
        self._send(status, json.dumps(data, allow_nan=False).encode(), ".json")

    def _send(
        self, status: int, content: bytes, name: str, policy: str = POLICY, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        kind = {"Content-Type": TYPES[name.rpartition(".")[2]], "Content-Length": str(len(content))}
        for key, value in {**HEADERS, **kind, "Content-Security-Policy": policy, **(more or {})}.items():
            self.send_header(key, value)
        self.send_header("Connection", "close")
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(content)
