"""A server on the loopback address, whose answers are computed in this process, and a client of it."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from calibrant.cli.serving import read, shown_options, worded
from calibrant.serve.answers import Answers
from calibrant.serve.server import Server
from calibrant.serve.uploads import Uploads
from page_client import Client


class Inline:
    """Workers that are no processes."""

    def __init__(self, answers) -> None:
        self.answers = answers

    def answer(self, question, gone, about=""):
        return self.answers(question)

    def close(self) -> None:
        pass


def peek(question):
    """What an upload holds, without calibrant."""
    path = Path(question["path"])
    (path.parent / "report.html").write_text(f"<p>{question['name']}", encoding="utf-8")
    return {
        "held": path.read_text(encoding="utf-8"),
        "name": question["name"],
        "path": str(path),
        "files": ["report.html"],
    }


@pytest.fixture
def start():
    """Starts servers, and ends them after the test."""
    running = []

    def start(answers=peek, max_bytes=10_000_000, **options):
        workers = answers if hasattr(answers, "answer") else Inline(answers)
        server = Server(Uploads(max_bytes, **options), lambda: workers, shown_options())
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        running.append((server, thread))
        return Client(server.url, server)

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.close()
        assert not server.uploads.folder.exists()


@pytest.fixture
def site(start):
    return start()


@pytest.fixture(scope="session")
def binary_csv():
    """300 rows of an over-confident model."""
    rng = np.random.default_rng(5)
    p = rng.random(300)
    y = rng.random(300) < 0.5 + 0.4 * (p - 0.5)
    return "label,prob\n" + "".join(f"{int(a)},{b:.6f}\n" for a, b in zip(y, p, strict=True))


@pytest.fixture(scope="session")
def classes_csv():
    """200 rows of three classes, one of which is called as a tag is."""
    rng = np.random.default_rng(6)
    p = rng.dirichlet([0.4] * 3, size=200)
    y = [rng.choice(3, p=0.5 * row + 1 / 6) for row in p]
    names = ["cat", "dog", "<b>cow</b>"]
    head = "label," + ",".join(f"prob_{name}" for name in names)
    return "\n".join(
        [head, *(f"{names[k]}," + ",".join(map(repr, row.tolist())) for k, row in zip(y, p, strict=True)), ""]
    )


@pytest.fixture
def ask(tmp_path):
    """Asks a question of a file with this content, as a worker would."""
    answers = Answers(read, worded, 10**9)

    def ask(content, action="diagnose", name="mine.csv", ending=".csv", **more):
        path = tmp_path / f"data{ending}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return answers({"action": action, "path": str(path), "folder": str(tmp_path), "name": name, **more})

    ask.folder = tmp_path
    return ask
