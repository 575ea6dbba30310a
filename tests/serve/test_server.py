"""Who is let in, what is kept apart, and what is let go."""

import json
import socket
import threading
import time
from urllib.parse import quote

import pytest

from calibrant.serve import server as module
from calibrant.serve.workers import Gone
from page_client import until

SECRET = "label,prob\n1,0.5\n"


@pytest.mark.parametrize(
    ("path", "kind"),
    [("", "text/html"), ("page.css", "text/css"), ("page.js", "text/javascript"), ("start", "application/json")],
)
def test_the_page_and_its_parts_come_with_a_strict_policy(site, path, kind):
    status, headers, body = site.request("GET", path)
    assert status == 200
    assert headers["Content-Type"].startswith(kind)
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
    assert "Set-Cookie" not in headers  # cookies do not know ports: other servers of this computer would get them
    assert b"http://" not in body.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"https://" not in body


def test_the_page_holds_no_script_or_style_of_its_own(site):
    text = site.request("GET")[2].decode()
    assert text.count("<script") == text.count('<script src="page.js"') == 1
    assert "<style" not in text
    assert " style=" not in text
    assert " on" not in text.replace(" one", "").replace(" on ", "")
    script = site.request("GET", "page.js")[2].decode()
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "localStorage"):
        assert word not in script


REQUESTS = [("GET", ""), ("GET", "start"), ("GET", "file"), ("POST", "upload"), ("POST", "diagnose"), ("POST", "drop")]


@pytest.mark.parametrize(("method", "path"), REQUESTS)
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": "127.0.0.1:{port}.evil.example"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://localhost:{port}"},
        {"Referer": "http://evil.example/"},
        {"Referer": "http://127.0.0.1:{port}.evil.example/"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_other_hosts_and_origins_are_refused(site, method, path, headers):
    kept = site.server.uploads.receive("a.csv", 1, lambda _: b"1")
    kept.files["report.html"] = kept.path
    given = {key: value.replace("{port}", str(site.port)) for key, value in headers.items()}
    path = f"file?upload={kept.id}&name=report.html" if path == "file" else path
    body = json.dumps({"upload": kept.id}) if method == "POST" else None
    status, _, answer = site.request(method, path, body, X_File_Name="a.csv", **given)
    assert status == 403
    assert "error" in json.loads(answer)
    assert len(site.server.uploads.kept) == 1


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_page_itself_is_let_in(site, name):
    own = f"http://{name}:{site.port}"
    headers = {"Host": own[7:], "Origin": own, "Referer": f"{own}{site.root}", "Sec-Fetch-Site": "same-origin"}
    assert site.request("GET", "start", **headers)[0] == 200
    assert site.upload("a.csv", SECRET, **headers)[0] == 200


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_the_token_is_needed_everywhere(site, method, path):
    token = site.server.token
    for wrong in ("", "x", token[:-1], token + "x", token.swapcase(), f"../{token}", quote("é"), f"{token}%2F"):
        status, _, body = site.request(method, whole=f"/{wrong}/{path}", body="{}" if method == "POST" else None)
        assert status == 403, wrong
        assert token.encode() not in body
    assert site.request(method, whole=f"/{path}")[0] == 403


def test_tokens_are_long_and_new_each_time(start):
    tokens = {start().server.token for _ in range(3)}
    assert len(tokens) == 3
    assert min(map(len, tokens)) >= 43


def test_only_this_computer_can_reach_it(site):
    assert site.server.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "path", ["nothing", "../page.html", "..%2f..%2fetc/passwd", "server.py", "page.js/", "file/", "%2e%2e/"]
)
def test_there_are_no_other_paths(site, path):
    for method in ("GET", "POST"):
        assert site.request(method, path, "{}" if method == "POST" else None)[0] == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "NONSENSE"])
def test_other_methods_are_refused(site, method):
    assert site.request(method)[0] == 501


@pytest.mark.parametrize(
    "text",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"NOTHING\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"a%d: b\r\n" % k for k in range(200)) + b"\r\n",
    ],
)
def test_what_is_no_request_is_refused(site, text):
    found = site.raw(text)
    assert not found.startswith(b"HTTP/1.1 200")
    assert b"calibrant</h1>" not in found
    assert site.request("GET")[0] == 200


def test_two_hosts_are_one_too_many(site):
    head = f"GET {site.root} HTTP/1.1\r\nHost: {site.host}\r\nHost: evil.example\r\n\r\n"
    assert b" 403 " in site.raw(head.encode()).splitlines()[0]


def test_uploads_do_not_mix(site):
    ids = [site.upload(f"{k}.csv", f"file {k}")[1]["upload"] for k in range(5)]
    assert len(set(ids)) == 5
    for k, each in enumerate(ids):
        found = site.ask("diagnose", each)
        assert (found["held"], found["name"]) == (f"file {k}", f"{k}.csv")
        assert site.file(each, "report.html")[2] == f"<p>{k}.csv".encode()


@pytest.mark.parametrize(
    "name", ["../../../../tmp/evil.csv", "/etc/passwd.csv", "..\\x.csv", "<script>.csv", "a\r\nX: y.csv"]
)
def test_a_name_is_only_shown(site, name):
    status, found = site.upload(name, SECRET)
    assert status == 200
    answer = site.ask("diagnose", found["upload"], path="/etc/passwd", folder="/etc", name="other")
    assert answer["held"] == SECRET
    assert answer["path"].endswith("/data.csv")
    assert answer["path"].startswith(str(site.server.uploads.folder))


@pytest.mark.parametrize("name", ["data.csv", "../report.html", "/etc/passwd", "report.html/../data.csv", "", "%00"])
def test_only_what_was_made_of_an_upload_can_be_downloaded(site, name):
    found = site.upload("a.csv", SECRET)[1]["upload"]
    assert site.file(found, "report.html")[0] == 404
    site.ask("diagnose", found)
    assert site.file(found, name)[0] == 404
    assert site.file("other", "report.html")[0] == 422
    assert site.file(f"../{found}", "report.html")[0] == 422


def test_a_report_cannot_reach_the_page(site):
    found = site.upload("a.csv", SECRET)[1]["upload"]
    site.ask("diagnose", found)
    _, headers, _ = site.file(found, "report.html", "&show=1")
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("sandbox")
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert headers["Content-Disposition"].startswith("inline")
    assert site.file(found, "report.html")[1]["Content-Disposition"] == 'attachment; filename="report.html"'


def test_a_dropped_upload_is_gone(site):
    found = site.upload("a.csv", SECRET)[1]["upload"]
    path = site.ask("diagnose", found)["path"]
    assert site.ask("drop", found) == {}
    status, _, body = site.request("POST", "diagnose", json.dumps({"upload": found}))
    assert (status, "not here any more" in json.loads(body)["error"]) == (422, True)
    with pytest.raises(FileNotFoundError):
        open(path).close()


def test_too_large_a_file_is_refused_before_it_comes(start):
    site = start(max_bytes=1000)
    status, found = site.upload("a.csv", b"x" * 1001)
    assert status == 413
    assert "larger than 0.001 MB" in found["error"]
    head = f"POST {site.root}upload HTTP/1.1\r\nHost: {site.host}\r\nX-File-Name: a.csv\r\nContent-Length: {10**30}\r\n"
    assert b" 413 " in site.raw(f"{head}\r\n".encode()).splitlines()[0]
    assert len(site.server.uploads.kept) == 0
    assert site.upload("a.csv", b"x" * 1000)[0] == 200


@pytest.mark.parametrize(
    "header",
    [
        "Transfer-Encoding: chunked",
        "",
        "Content-Length: -1",
        "Content-Length: 1\r\nContent-Length: 2",
        "Content-Length: ²",
    ],
)
def test_a_file_without_a_length_is_refused(site, header):
    head = f"POST {site.root}upload HTTP/1.1\r\nHost: {site.host}\r\nX-File-Name: a.csv\r\n{header}\r\n"
    found = site.raw((head + "\r\n" * bool(header)).encode("latin-1", "replace"))
    assert b" 411 " in found.splitlines()[0]
    assert b"chunked uploads are refused" in found


def test_expectations_are_met_after_the_checks(site):
    head = "POST {} HTTP/1.1\r\nHost: {}\r\nX-File-Name: a.csv\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
    assert b"100 Continue" not in site.raw(head.format("/x/upload", site.host).encode())
    assert site.raw(head.format(f"{site.root}upload", site.host).encode() + b"abc").startswith(b"HTTP/1.1 100 Continue")


@pytest.mark.parametrize("body", ["", "[]", "{", "[" * 60_000, '"a"', "1e999", '{"upload": NaN}'])
def test_questions_are_json(site, body):
    status, _, answer = site.request("POST", "diagnose", body)
    assert status in (400, 422)
    assert "error" in json.loads(answer)
    assert site.request("POST", "diagnose", " " * 70_000)[0] == 413


def test_only_the_options_of_the_reader_are_passed_on(start):
    asked = []
    site = start(lambda question: asked.append(question) or {})
    found = site.upload("a.csv", SECRET)[1]["upload"]
    given = {"label": "y", "percent": True}
    site.request("POST", "diagnose", json.dumps({"upload": found, "options": given, "action": "compare", "path": "/x"}))
    assert (asked[0]["options"], asked[0]["action"]) == (given, "diagnose")
    for wrong in (
        {"checkpoint": "/etc/x"},
        {"path": "/etc/passwd"},
        {"label": True},
        {"percent": "x"},
        {"label": ["y"]},
        "y",
    ):
        status, _, body = site.request("POST", "diagnose", json.dumps({"upload": found, "options": wrong}))
        assert (status, "must be those of the reader" in json.loads(body)["error"]) == (400, True)
    assert len(asked) == 1


def test_a_client_that_is_killed_leaves_nothing(site):
    for sent in (b"", b"lab"):
        head = (
            f"POST {site.root}upload HTTP/1.1\r\nHost: {site.host}\r\nX-File-Name: a.csv\r\nContent-Length: 100\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", site.port)) as connection:
            connection.sendall(head.encode() + sent)
            until(lambda: len(site.server.uploads.kept) == 1)
            connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
            )  # a reset, as of a killed process
        until(lambda: len(site.server.uploads.kept) == 0)
    assert list(site.server.uploads.folder.iterdir()) == []
    assert site.upload("a.csv", SECRET)[0] == 200


def test_a_client_that_leaves_frees_its_work(start):
    left = threading.Event()

    class Waiting:
        def answer(self, question, gone, about=""):
            until(gone)
            left.set()
            raise Gone

        def close(self):
            pass

    site = start(Waiting())
    found = site.upload("a.csv", SECRET)[1]["upload"]
    body = json.dumps({"upload": found})
    head = f"POST {site.root}diagnose HTTP/1.1\r\nHost: {site.host}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", site.port)) as connection:
        connection.sendall((head + body).encode())
        time.sleep(0.1)
        assert not left.is_set()
    assert left.wait(10)
    until(lambda: not site.server.uploads.find(found).lock.locked())


def test_slow_requests_are_ended(start, monkeypatch):
    monkeypatch.setattr(module, "HEAD_SECONDS", 0.2)
    site = start()
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(100):
            time.sleep(0.05)
            try:
                connection.sendall(b"a: b\r\n")
            except OSError:
                break
        else:
            pytest.fail("the connection was kept open")
    assert time.monotonic() - begin < 5


def test_a_file_that_comes_too_slowly_is_ended(start, monkeypatch):
    monkeypatch.setattr(module, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(module, "SILENT_SECONDS", 0.0)
    site = start()
    head = f"POST {site.root}upload HTTP/1.1\r\nHost: {site.host}\r\nX-File-Name: a.csv\r\nContent-Length: 100\r\n\r\n"
    assert site.raw(head.encode()) == b""
    until(lambda: len(site.server.uploads.kept) == 0)


def test_too_many_connections_are_turned_away(start, monkeypatch):
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 3)
    site = start()
    open_ones = [socket.create_connection(("127.0.0.1", site.port), timeout=10) for _ in range(3)]
    until(lambda: len(site.server.ends) == 3)
    assert site.raw(b"") == b""
    for each in open_ones:
        each.close()
    until(lambda: len(site.server.ends) == 0)
    assert site.request("GET")[0] == 200


def test_a_full_disk_is_told(site, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(site.server.uploads, "receive", full)
    status, found = site.upload("a.csv", SECRET)
    assert (status, found["error"]) == (507, "The file cannot be kept: No space left on device.")


def test_addresses_are_not_printed(site, capfd):
    site.request("GET")
    site.request("GET", whole="/wrong")
    assert capfd.readouterr() == ("", "")
