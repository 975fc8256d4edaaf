"""The server of the page: loopback only, reads only. http.server needs no library and serves one reader well.

Other sites in the reader's browser can send requests here too. A site that has bound its name to 127.0.0.1 (DNS
rebinding) sends that name as Host, and is refused. Reports may come from anywhere: they run in a sandbox without this
page's origin, where they can neither read what the server answers nor load anything from elsewhere.
"""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ehfl.files import json_text
from ehfl.validation import InvalidValue, UserError, whole_number
from ehfl.view.folder import TYPES, Folder

HOST = "127.0.0.1"
_STATIC = {"/": "view.html", "/view.js": "view.js", "/view.css": "view.css"}
_SCRIPTS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_OWN = "default-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_FOREIGN = "sandbox allow-scripts allow-downloads; default-src data: 'unsafe-inline'; frame-ancestors 'none'"


class Server(ThreadingHTTPServer):
    """Serves the page of a folder on the loopback interface; port 0 is any free one."""

    daemon_threads = True

    def __init__(self, runs: Path, port: int) -> None:
        whole_number("--port", port, low=0, high=65535)
        if not runs.is_dir():
            raise InvalidValue("RUNS", "a folder", runs)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise UserError(f"--port {port} cannot be used ({error.strerror}): --port 0 takes a free one") from None
        self.folder = Folder(runs)

    @property
    def address(self) -> str:
        """The page's address."""
        return f"http://{HOST}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that left before it had its answer."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "ehfl", ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer, if the request names this server."""
        port = self.server.server_port
        if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "this server answers to its own address only")
            return
        parts = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
        try:
            self._answer(parts.path, asked)
        except (FileNotFoundError, NotADirectoryError):
            self.send_error(HTTPStatus.NOT_FOUND)

    do_HEAD = do_GET  # noqa: N815 (http.server's name)

    def _answer(self, path: str, asked: dict[str, str]) -> None:
        folder = self.server.folder
        if name := _STATIC.get(path):
            content = (files("ehfl.view") / "static" / name).read_bytes()
            self._send(content, (_SCRIPTS | TYPES)[Path(name).suffix], _OWN)
        elif path == "/api/entries":
            self._send_json({"root": str(folder.root), "entries": folder.entries()})
        elif path == "/api/runs":
            self._send_json(folder.runs(asked.get("path", ""), asked.get("run", "")))
        elif path.startswith("/files/") and (found := folder.file(unquote(path.removeprefix("/files/")))):
            self._send(found.read_bytes(), TYPES[found.suffix], _FOREIGN)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _send_json(self, facts: Any) -> None:
        self._send(json_text(facts).encode(), "application/json", _OWN)

    def _send(self, content: bytes, kind: str, policy: str) -> None:
        self.send_response(HTTPStatus.OK)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": policy,
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Print no line for each request."""
