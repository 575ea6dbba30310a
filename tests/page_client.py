"""A client of the page that `calibrant serve` serves."""

import http.client
import json
import socket
import time
from urllib.parse import quote, urlsplit


class Client:
    """Requests to a server; each has its own connection."""

    def __init__(self, url, server=None):
        self.url, self.server = url, server
        parts = urlsplit(url)
        self.port, self.root, self.host = parts.port, parts.path, parts.netloc

    def request(self, method, path="", body=None, *, whole="", **headers):
        """Status, headers and body of the reply; `whole` is a path from the root."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(
                method, whole or self.root + path, body, {k.replace("_", "-"): v for k, v in headers.items()}
            )
            reply = connection.getresponse()
            return reply.status, dict(reply.headers), reply.read()
        finally:
            connection.close()

    def upload(self, name, content, **headers):
        status, _, body = self.request("POST", "upload", content, X_File_Name=quote(name), **headers)
        return status, json.loads(body)

    def ask(self, action, upload, **more):
        status, _, body = self.request("POST", action, json.dumps({"upload": upload, **more}))
        assert status == 200, body
        return json.loads(body)

    def file(self, upload, name, show=""):
        return self.request("GET", f"file?upload={upload}&name={quote(name)}{show}")

    def raw(self, text: bytes, seconds: float = 10) -> bytes:
        """What comes back on a connection after these bytes, until it ends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(text)
            found = b""
            while block := connection.recv(65536):
                found += block
            return found


def until(condition, seconds=30.0):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
