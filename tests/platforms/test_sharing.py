"""A release that is shared by Delta Sharing: its recipient, with the Python client, by the lines of
docs/pipelines.md.

The client is that of the environment of `make test-pipelines`. The server here is a small one. It
answers what the client requests, by the protocol's REST API, from the release's own log.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import draw_people

import tclose_spark as tc

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-pipelines/bin/python"
TOKEN = "of the recipient"
TABLE = "/shares/office/schemas/releases/tables/people"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.is_file(), reason="made by make test-pipelines"),
]


def recipient() -> str:
    """The recipient's program."""
    section = (ROOT / "docs/pipelines.md").read_text(encoding="utf-8").split("## Delta Sharing")[1]
    (program,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    return str(program)


class Shared(ThreadingHTTPServer):
    """A server that shares one Delta table as `office.releases.people`, to those with the token."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.folder = folder

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def lines(self, with_files: bool) -> list[dict[str, Any]]:
        """What the log holds, in the protocol's format `parquet`, which is for tables that any
        reader reads.
        """
        (log,) = self.folder.glob("_delta_log/*.json")
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        named = {kind: action[kind] for action in actions for kind in action}
        files = [action["add"] for action in actions if "add" in action] if with_files else []
        return [
            {"protocol": {"minReaderVersion": named["protocol"]["minReaderVersion"]}},
            {
                "metaData": {
                    key: named["metaData"][key]
                    for key in ("id", "format", "schemaString", "partitionColumns")
                },
            },
            *[
                {"file": {**file, "id": file["path"], "url": f"{self.url}/files/{file['path']}"}}
                for file in files
            ],
        ]


class Answers(BaseHTTPRequestHandler):
    server: Shared

    def do_GET(self) -> None:
        if self.path.startswith("/files/"):
            return self.send_file(self.server.folder / self.path.removeprefix("/files/"))
        return self.answer(with_files=False)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(with_files=True)

    def answer(self, with_files: bool) -> None:
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.send(403, b"{}")
        if self.path not in (f"{TABLE}/metadata", f"{TABLE}/query"):
            return self.send(404, b"{}")
        body = "".join(json.dumps(line) + "\n" for line in self.server.lines(with_files)).encode()
        return self.send(200, body, **{"Delta-Table-Version": "0"})

    def send_file(self, file: Path) -> None:
        """The file, or the range of it that was asked for."""
        body = file.read_bytes()
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None:
            return self.send(200, body, **{"Accept-Ranges": "bytes"})
        first, last = int(asked[1]), min(int(asked[2] or len(body) - 1), len(body) - 1)
        return self.send(
            206,
            body[first : last + 1],
            **{"Content-Range": f"bytes {first}-{last}/{len(body)}"},
        )

    def send(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keeps quiet."""


@pytest.fixture(scope="module")
def made(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> tc.Release:
    conf = write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(5, 200),
        quasi={"age": {"type": "numeric"}, "sex": {}},
        sensitive={"disease": {"t": "0.5"}},
        insensitive_attributes=["grade", "at"],
        allow_unique=["grade", "at"],
        k=5,
        drop_others=True,
    )
    return tc.release(None, conf, log=None, engine="local")


Receive = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def receive(made: tc.Release, tmp_path: Path) -> Iterator[Receive]:
    """`receive(folder)`: the recipient's program, beside the profile and the certificate."""
    servers: list[Shared] = []

    def received(folder: Path) -> subprocess.CompletedProcess[str]:
        server = Shared(folder)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        profile = {"shareCredentialsVersion": 1, "endpoint": server.url, "bearerToken": TOKEN}
        (tmp_path / "office.share").write_text(json.dumps(profile))
        shutil.copy(f"{made.path}/certificate.json", tmp_path)
        env = {**os.environ, "TCLOSE_ENGINE": "local", "PYTHONPATH": str(ROOT)}
        command = [PYTHON, "-c", recipient()]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    yield received
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_recipient_has_the_release_of_the_certificate(made: tc.Release, receive: Receive) -> None:
    done = receive(Path(made.path) / "release")
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"the table: {made.certificate['release']['rows']} rows" in done.stdout
    assert "all requirements hold" in done.stdout


def test_a_recipient_notices_a_lost_row(made: tc.Release, receive: Receive, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(f"{made.path}/release", folder)
    file = max(folder.glob("*.parquet"), key=lambda each: each.stat().st_size)
    rows = pq.read_table(file)
    pq.write_table(rows.slice(1), file)
    done = receive(folder)
    assert done.returncode == 1
    assert "this is not the release of the certificate" in done.stderr
