"""The command `calibrant serve` as a process, and what it holds out: many clients, large files, signals."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from calibrant.cli import main
from calibrant.cli.options import ALL_COLUMNS, FORECAST_OPTIONS
from calibrant.cli.serving import shown_options
from page_client import Client, until


@pytest.fixture
def command(tmp_path):
    """Starts the command with a temporary folder of its own; gives the process, a client and that folder."""
    started = []

    def start(*options):
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        process = subprocess.Popen(
            [sys.executable, "-m", "calibrant", "serve", *options], stdout=subprocess.PIPE, text=True, env=environment
        )
        started.append(process)
        assert "Ctrl-C" in process.stdout.readline()
        return process, Client(process.stdout.readline().strip()), tmp_path

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def left(folder):
    return [each for each in folder.iterdir() if each.name.startswith("calibrant-serve-")]


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, pytest.param(signal.SIGINT, marks=SLOW), pytest.param(signal.SIGKILL, marks=SLOW)],
)
def test_nothing_is_left_behind(command, number):
    process, client, folder = command()
    assert client.upload("a.csv", "label,prob\n1,0.5\n")[0] == 200
    assert len(left(folder)) == 1
    process.send_signal(number)
    assert process.wait(30) == {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGKILL: -9}[number]
    until(lambda: not left(folder))  # after SIGKILL the workers clean up


def test_every_option_of_the_reader_is_offered():
    assert {each["name"] for each in shown_options()} == {*ALL_COLUMNS, *FORECAST_OPTIONS}


@pytest.mark.parametrize("wrong", [["--port", "70000"], ["--max-megabytes", "0"], ["--host", "0.0.0.0"]])
def test_wrong_options_are_refused(wrong):
    assert CliRunner().invoke(main, ["serve", *wrong]).exit_code == 2


def test_a_port_in_use_is_refused_and_leaves_nothing(site, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("calibrant.serve.workers.Workers", lambda *_: pytest.fail("workers were started for nothing"))
    found = CliRunner().invoke(main, ["serve", "--port", str(site.port)])
    assert (found.exit_code, "port must be free" in found.stderr) == (3, True)
    assert left(tmp_path) == []


@pytest.mark.slow
def test_fifty_uploads_at_once_are_all_answered_each_with_its_own(command):
    _, client, folder = command()
    rng = np.random.default_rng(0)

    def one(k):
        n = 100 + k
        p = rng.random(n)
        content = "label,prob\n" + "".join(f"{int(u < q)},{q:.5f}\n" for u, q in zip(rng.random(n), p, strict=True))
        status, found = client.upload(f"file {k}.csv", content)
        assert status == 200, found
        return found["upload"], client.ask("diagnose", found["upload"])

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(one, range(50)))
    assert len({key for key, _ in answers}) == 50
    for k, (_, answer) in enumerate(answers):
        assert answer["rows"] == 100 + k
        assert answer["heading"].startswith(f"file {k}.csv: {100 + k:,} rows")
    assert len(list(left(folder)[0].iterdir())) == 50


def resident(pid):
    """Megabytes of memory that a process holds, and the most it held."""
    text = Path(f"/proc/{pid}/status").read_text()
    return [int(line.split()[1]) / 1e3 for line in text.splitlines() if line.startswith(("VmRSS", "VmHWM"))]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_file_of_200_megabytes_goes_to_the_disk_as_it_comes(command):
    process, client, folder = command()
    head, line = b"label,prob,filler\n", b"1,0.7500," + b"x" * 990 + b"\n0,0.2500," + b"x" * 990 + b"\n"
    size = 200_000_000
    block = line * 500
    client.request("GET")
    before = resident(process.pid)[0]

    def content():
        left = size - len(head)
        yield head
        while left > len(block):
            left -= len(block)
            yield block
        yield (line * (left // len(line))).ljust(left, b"\n")

    status, found = client.upload("large.csv", content(), Content_Length=str(size))
    assert status == 200, found
    (path,) = left(folder)[0].glob("*/data.csv")
    assert path.stat().st_size == size
    assert max(resident(process.pid)) - before < 30
    assert client.ask("measure", found["upload"], estimator="mean_gap")["tables"][0]["rows"]
    assert client.upload("larger.csv", iter([b""]), Content_Length=str(size + 1))[0] == 413


@pytest.mark.slow
def test_a_client_that_is_killed_while_it_waits_frees_the_worker(command):
    _, client, _ = command()
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(50), size=4000)
    lines = [f"{k % 50}," + ",".join(f"{q:.17f}" for q in row) for k, row in enumerate(p)]
    content = "\n".join(["label," + ",".join(f"prob_{k}" for k in range(50)), *lines])
    key = client.upload("many.csv", content)[1]["upload"]
    small = client.upload("small.csv", "label,prob\n1,0.75\n0,0.25\n")[1]["upload"]
    body = json.dumps({"upload": key, "methods": ["auto", "matrix", "dirichlet"], "parts": 2})
    code = "import http.client,sys; c=http.client.HTTPConnection('127.0.0.1',int(sys.argv[1])); "
    code += "c.request('POST',sys.argv[2],sys.argv[3]); print('sent',flush=True); c.getresponse()"
    for _ in range(3):  # more than there are workers
        arguments = [sys.executable, "-c", code, str(client.port), f"{client.root}compare", body]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE) as killed:
            killed.stdout.readline()
            time.sleep(0.3)
            killed.kill()
    start = time.monotonic()
    assert client.ask("measure", small, estimator="mean_gap")["name"] == "small.csv"
    assert time.monotonic() - start < 60
    assert client.ask("measure", key, estimator="mean_gap")["name"] == "many.csv"


@pytest.mark.slow
def test_one_client_of_many_that_break_off_disturbs_nobody(command):
    _, client, folder = command()
    head = (
        f"POST {client.root}upload HTTP/1.1\r\nHost: {client.host}\r\nX-File-Name: a.csv\r\nContent-Length: 100\r\n\r\n"
    )

    def broken():
        with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
            connection.sendall(head.encode() + b"label")

    threads = [threading.Thread(target=broken) for _ in range(25)]
    for each in threads:
        each.start()
    with ThreadPoolExecutor(25) as pool:
        found = list(pool.map(lambda k: client.upload(f"{k}.csv", f"{k}"), range(25)))
    for each in threads:
        each.join()
    assert all(status == 200 for status, _ in found)
    until(lambda: len(list(left(folder)[0].iterdir())) == 25)
    assert sorted(int(each.read_text()) for each in left(folder)[0].glob("*/data.csv")) == list(range(25))
