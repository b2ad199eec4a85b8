"""The explorer: what its server answers and refuses, and the page in a real browser."""

import contextlib
import http.client
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from align.cli import serve
from align.cli.main import main
from align.cli.terminal import say
from align.core.errors import InputError
from align.explorer import server as explorer
from align.explorer.desk import explained
from align.explorer.server import MOST_BYTES, MOST_CHARACTERS, make_server
from align.model.aligner import Aligner
from tests.align.server import PAIR, answer, running

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def port():
    with running(make_server(0, "<title>page</title>", answer)) as number:
        yield number


@pytest.fixture
def request_to(port):
    """Return a function that sends a request: to its status, headers and body."""

    def send(method, path, body=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if method == "POST":
            headers.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        with contextlib.closing(connection):
            text = json.dumps(body).encode() if isinstance(body, dict | list) else body
            connection.request(method, path, text, headers)
            found = connection.getresponse()
            return found.status, found.headers, found.read()

    return send


def raw(port, data):
    """Send bytes and return all that comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(4096), b""))


class TestServer:
    def test_the_page_and_its_headers(self, request_to):
        status, headers, body = request_to("GET", "/")
        assert (status, body) == (200, b"<title>page</title>")
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'sha256-")
        assert headers["Content-Security-Policy"].endswith("; frame-ancestors 'none'")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers
        assert "Python" not in headers["Server"]

    def test_a_head_has_no_body(self, request_to):
        status, headers, body = request_to("HEAD", "/")
        assert (status, body) == (200, b"")
        assert int(headers["Content-Length"]) == len("<title>page</title>")

    def test_a_pair(self, request_to):
        status, headers, body = request_to("POST", "/align", {"source": "a\n b ", "target": "日本"})
        assert (status, headers["Content-Type"]) == (200, "application/json")
        assert json.loads(body) == {"asked": ["a b", "日本"]}

    def test_tokens(self, request_to):
        _, _, body = request_to("POST", "/align", {"source": "a  b.", "target": "", "tokenized": True})
        assert json.loads(body) == {"asked": [["a", "b."], []]}

    @pytest.mark.parametrize(
        "path",
        [
            "/etc/passwd",
            "/../../etc/passwd",
            "/style.css",
            "/align",
            "/%2e%2e/",
            "/index.html",
            "/.git",
        ],
    )
    def test_nothing_else_is_there(self, request_to, path):
        status, headers, body = request_to("GET", path)
        assert (status, headers["Content-Type"]) == (404, "application/json")
        assert json.loads(body) == {"error": "there is nothing here but / and /align"}

    def test_only_one_path_takes_posts(self, request_to):
        status, _, body = request_to("POST", "/", PAIR)
        assert (status, json.loads(body)) == (404, {"error": "only /align takes posts"})

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "", "127.0.0.1:1"])
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_another_host_is_refused(self, request_to, port, method, host):
        """A name of an attacker's can be made to lead to this machine: its pages would be this server's."""
        status, _, body = request_to(method, "/align" if method == "POST" else "/", PAIR, Host=host)
        assert status == 403
        assert json.loads(body) == {"error": f"this server answers for http://127.0.0.1:{port}/ only"}

    def test_localhost_is_this_machine(self, request_to, port):
        assert request_to("GET", "/", Host=f"LocalHost:{port}")[0] == 200

    def test_two_hosts_or_none_are_refused(self, port):
        host = f"Host: 127.0.0.1:{port}\r\n".encode()
        for headers in (b"", host + b"Host: evil.example\r\n"):
            assert b" 403 " in raw(port, b"GET / HTTP/1.1\r\n" + headers + b"\r\n").split(b"\r\n")[0]

    def test_pages_of_other_sites_are_refused(self, request_to, port):
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": f"https://127.0.0.1:{port}"},
            {"Sec_Fetch_Site": "cross-site"},
        ):
            status, _, body = request_to("POST", "/align", PAIR, **headers)
            assert (status, json.loads(body)) == (
                403,
                {"error": "only this server's own page may ask for this"},
            )
        own = {"Origin": f"http://127.0.0.1:{port}", "Sec_Fetch_Site": "same-origin"}
        assert request_to("POST", "/align", PAIR, **own)[0] == 200

    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
    )
    def test_what_a_form_of_another_site_could_send_is_refused(self, request_to, kind):
        status, _, body = request_to("POST", "/align", PAIR, Content_Type=kind)
        assert (status, json.loads(body)) == (415, {"error": "the body must be application/json"})

    @pytest.mark.parametrize(
        ("body", "status", "error"),
        [
            (b"{", 400, "the body is no JSON in UTF-8"),
            (b'{"source": "caf\xe9", "target": ""}', 400, "the body is no JSON in UTF-8"),
            (b"[" * 50_000, 400, "the body is no JSON in UTF-8"),
            (b'{"source": ' + b"9" * 10_000 + b"}", 400, "the body is no JSON in UTF-8"),
            ([], 400, 'the body must be {"source": text, "target": text}'),
            ({"source": "a"}, 400, 'the body must be {"source": text, "target": text}'),
            (PAIR | {"model": "/etc"}, 400, 'the body must be {"source": text, "target": text}'),
            (PAIR | {"source": 5}, 400, "source must be text"),
            (PAIR | {"target": None}, 400, "target must be text"),
            (PAIR | {"tokenized": "yes"}, 400, "tokenized must be true or false"),
            (PAIR | {"source": "\ud800"}, 400, "source holds half a surrogate pair, which is no text"),
            (
                PAIR | {"target": "x" * (MOST_CHARACTERS + 1)},
                413,
                f"target has {MOST_CHARACTERS + 1} characters; at most {MOST_CHARACTERS} can be aligned "
                "here, so split it",
            ),
            (PAIR | {"source": "refused"}, 400, "source: too odd; write another"),
            (PAIR | {"source": "fault"}, 500, "internal fault: ZeroDivisionError"),
        ],
    )
    def test_bad_bodies(self, request_to, body, status, error):
        found, headers, text = request_to("POST", "/align", body)
        assert (found, headers["Content-Type"]) == (status, "application/json")
        assert json.loads(text) == {"error": error}

    @pytest.mark.parametrize(
        ("headers", "status", "error"),
        [
            ("", 411, "the length of the body must be given"),
            ("Content-Length: 5\r\nTransfer-Encoding: chunked", 411, "the length of the body must be given"),
            ("Content-Length: -5", 400, "the length of the body is no number"),
            ("Content-Length: 1e3", 400, "the length of the body is no number"),
            (f"Content-Length: {MOST_BYTES + 1}", 413, f"the body is larger than {MOST_BYTES} bytes"),
            (f"Content-Length: {'9' * 5000}", 400, "the length of the body is no number"),
            ("Content-Length: 5000", 400, "the body is shorter than told"),
        ],
    )
    def test_bad_lengths(self, port, headers, status, error):
        lines = ("POST /align HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: application/json", headers)
        found = raw(port, "\r\n".join(filter(None, lines)).encode() + b"\r\n\r\n{}")
        assert found.split(b" ")[1] == str(status).encode()
        assert json.loads(found.partition(b"\r\n\r\n")[2])["error"].startswith(error)

    @pytest.mark.parametrize(
        ("request_line", "status"),
        [
            (b"BREW / HTTP/1.1", b"501"),
            (b"OPTIONS /align HTTP/1.1", b"501"),
            (b"GET / HTTP/9.9", b"505"),
            (b"\x16\x03\x01\x02\x00", b"400"),
            (b"GET /" + b"x" * 70_000 + b" HTTP/1.1", b"414"),
        ],
    )
    def test_what_is_no_request(self, port, request_line, status):
        found = raw(port, request_line + b"\r\nHost: x\r\n\r\n")
        head, _, body = found.partition(b"\r\n\r\n")
        assert b" " + status + b" " in head
        assert set(json.loads(body)) == {"error"}
        assert b"<" not in body

    def test_a_request_that_takes_too_long_is_given_up(self, monkeypatch):
        """However often a byte comes: whoever sends slowly holds one of few places."""
        monkeypatch.setattr(explorer, "_WHOLE", 0.3)
        with (
            running(make_server(0, "", answer)) as number,
            socket.create_connection(("127.0.0.1", number), timeout=20) as connection,
        ):
            came = b"?"
            connection.settimeout(0.05)
            for _ in range(400):
                with contextlib.suppress(TimeoutError):
                    connection.sendall(b"x")
                    came = connection.recv(1)
                    break
            assert came == b""

    @pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can be another user")
    @pytest.mark.skipif(not Path("/proc/net/tcp").is_file(), reason="the system does not tell of connections")
    @pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
    def test_other_users_of_the_machine_are_refused(self, port, family):
        ask = (
            "import socket, sys\n"
            "family, port = getattr(socket, sys.argv[1]), int(sys.argv[2])\n"
            "host = '127.0.0.1' if family == socket.AF_INET else '::ffff:127.0.0.1'\n"
            "with socket.socket(family) as connection:\n"
            "    connection.connect((host, port))\n"
            "    connection.sendall(b'GET / HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n' % port)\n"
            "    print(connection.makefile('rb').read().decode())\n"
        )
        program = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin") or sys.executable
        command = [program, "-c", ask, family, str(port)]
        told = {}
        for user in (65534, 0):
            done = subprocess.run(command, user=user, cwd="/", capture_output=True, text=True, check=False)
            told[user] = done.stdout or done.stderr
        if family == "AF_INET6" and "OSError" in told[0]:
            pytest.skip("this machine has no IPv6")
        assert told[0].startswith("HTTP/1.0 200 ")
        assert told[65534].startswith("HTTP/1.0 403 ")
        assert "this server answers the user who has started it only" in told[65534]

    def test_where_the_system_does_not_tell_of_users_nobody_is_refused(
        self, request_to, monkeypatch, tmp_path
    ):
        monkeypatch.setattr(explorer, "_TABLES", (str(tmp_path / "none"),))
        assert request_to("GET", "/")[0] == 200
        (tmp_path / "other").write_text("  0: 0100007F:0001 0100007F:0002 01 0:0 0:0 0 5 0 1\n")
        monkeypatch.setattr(explorer, "_TABLES", (str(tmp_path / "other"),))
        assert request_to("GET", "/")[0] == 200

    def test_it_is_bound_to_this_machine_alone(self):
        server = make_server(0, "", answer)
        with contextlib.closing(server.socket):
            assert server.server_address[0] == "127.0.0.1"

    def test_a_fault_is_shown_where_it_runs_when_asked_for(self, capsys):
        with running(make_server(0, "", answer, on_fault=say)) as number:
            connection = http.client.HTTPConnection("127.0.0.1", number, timeout=20)
            with contextlib.closing(connection):
                body = json.dumps(PAIR | {"source": "fault"})
                connection.request("POST", "/align", body, {"Content-Type": "application/json"})
                assert b"secret" not in connection.getresponse().read()
        assert "ZeroDivisionError: secret" in capsys.readouterr().err


class TestCommand:
    def test_an_answer_has_links_and_reasons(self, tiny_model):
        found = explained(Aligner.load(tiny_model), **PAIR)
        (pair,) = found["pairs"]
        assert pair["source"] == ["Paris", ",", "1984", "!"]
        assert [link[:2] for link in pair["links"]] == [[0, 1], [1, 2], [2, 4], [3, 5]]
        assert {"bias", "same_word", "same_number"} <= set(found["names"])

    def test_too_many_words(self, tiny_model):
        with pytest.raises(InputError, match="target has 201 words; at most 200 can be shown, so split it"):
            explained(Aligner.load(tiny_model), ["a"], ["b"] * 201)

    def test_a_taken_port(self, tiny_model, capsys):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            number = taken.getsockname()[1]
            status = main(["serve", "--model", str(tiny_model), "--port", str(number)])
        assert status == 2
        assert f"error: port {number}: taken by another program; give another with --port" in (
            capsys.readouterr().err
        )

    @pytest.mark.parametrize("port", ["65536", "-1", "http", "１２", ""])
    def test_what_is_no_port(self, tiny_model, port, capsys):
        with pytest.raises(SystemExit, match="2"):
            main(["serve", "--model", str(tiny_model), f"--port={port}"])
        assert "is no port; give a number from 0 to 65535" in capsys.readouterr().err

    def test_no_such_model(self, tmp_path, capsys):
        assert main(["serve", "--model", str(tmp_path / "none")]) == 2
        assert "no such model" in capsys.readouterr().err

    @pytest.mark.parametrize("odd", [{"gap": "x", "solver": 5, "passes": math.inf}, {"status": [1]}, {}])
    def test_a_model_with_an_odd_history_is_served_all_the_same(self, tiny_model, odd):
        aligner = Aligner.load(tiny_model)
        aligner.model = replace(aligner.model, provenance={"corpus": 7, **odd})
        assert "<title>tiny –" in serve.explorer_page(aligner, "tiny")


@pytest.fixture
def process(tiny_model):
    """The command in a process of its own, and the address it has printed."""
    command = [sys.executable, "-m", "align", "serve", "--model", str(tiny_model), "--port", "0"]
    # Tests that run in the background of a shell ignore Ctrl-C, and so would the processes they start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as running:
        signal.signal(signal.SIGINT, before)
        try:
            yield running, running.stdout.readline()
        finally:
            running.kill()


class TestExplorer:
    def check_told(self, page, problems, told, logged):
        """The page says why, and the browser's log has that problem and no other."""
        expect(page.locator("#own-message")).to_have_text(told)
        assert problems
        assert all(logged in problem for problem in problems), problems
        problems.clear()

    def test_pasting_two_sentences_shows_links_and_ctrl_c_ends_it(self, process, open_page, problems):
        running, address = process
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("/\n")
        page = open_page(address.strip())
        assert page.inner_text("h1").endswith("/<b>tiny English → French")
        assert "converged, duality gap 0.8 % of the primal, 7 passes" in page.inner_text(".facts")
        page.fill("#own-source", PAIR["source"])
        page.fill("#own-target", PAIR["target"])
        page.click("#own button")
        page.wait_for_selector("#lines .line")
        assert page.inner_text("#pair-title") == "Pair 1"
        assert page.locator("#lines .line").count() == 4
        assert page.locator("#matrix tbody td").count() == 24
        page.hover("#matrix tbody tr:first-child td[data-edge]")
        assert "spelling: the same word" in page.locator("#reasons .name").all_text_contents()

        page.fill("#own-source", "<img src=x onerror=alert(1)>")
        page.fill("#own-target", "img")
        page.click("#own button")
        expect(page.locator("#pair-title")).to_have_text("Pair 2")
        assert page.locator("img").count() == 0
        assert page.locator("#list tbody button").all_inner_texts() == ["Pair 2", "Pair 1"]
        page.keyboard.press("ArrowRight")
        page.wait_for_load_state("networkidle")

        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 0
        assert running.stderr.read() == ""
        page.click("#own button")
        told = "The server does not answer: is it still running?"
        self.check_told(page, problems, told, "ERR_CONNECTION_REFUSED")

    def test_g34_pasted_text_over_the_limit_is_told_and_kept(self, tiny_model, open_page):
        aligner = Aligner.load(tiny_model)
        page = serve.explorer_page(aligner, "tiny")
        with running(make_server(0, page, lambda *pair: explained(aligner, *pair))) as number:
            page = open_page(f"http://127.0.0.1:{number}/")
            # Counted as the server does: this character is two of a script's.
            longest = "𝔞" + "a" * (MOST_CHARACTERS - 1)
            page.fill("#own-source", longest + "b")
            message = page.locator("#own-message")
            told = f"source has {MOST_CHARACTERS + 1} characters; at most {MOST_CHARACTERS} can be aligned "
            expect(message).to_have_text(f"{told}here, so split it")
            page.fill("#own-target", "a")
            page.click("#own button")
            expect(message).to_have_text(f"{told}here, so split it")
            assert page.input_value("#own-source") == longest + "b"
            assert page.locator("#pair-title").inner_text() != "Pair 1"
            page.fill("#own-source", longest)
            expect(message).to_have_text("")
            page.click("#own button")
            expect(page.locator("#pair-title")).to_have_text("Pair 1")

    def test_what_is_refused_is_told(self, tiny_model, open_page, problems):
        aligner = Aligner.load(tiny_model)
        page = serve.explorer_page(aligner, "tiny")
        with running(make_server(0, page, lambda *pair: explained(aligner, *pair))) as number:
            page = open_page(f"http://127.0.0.1:{number}/")
            page.fill("#own-source", "word " * 201)
            page.fill("#own-target", "mot")
            page.click("#own button")
            told = "source has 201 words; at most 200 can be shown, so split it"
            self.check_told(page, problems, told, "400 (Bad Request)")


def test_answers_come_one_at_a_time():
    at_work = []
    seen = []

    def slow(source, target):
        at_work.append(source)
        seen.append(len(at_work))
        time.sleep(0.05)
        at_work.pop()
        return {}

    def ask(number):
        connection = http.client.HTTPConnection("127.0.0.1", number, timeout=20)
        with contextlib.closing(connection):
            connection.request("POST", "/align", json.dumps(PAIR), {"Content-Type": "application/json"})
            assert connection.getresponse().status == 200

    with running(make_server(0, "", slow)) as number:
        threads = [threading.Thread(target=ask, args=(number,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == [1, 1, 1, 1]
    assert explorer.ADDRESS == "127.0.0.1"
