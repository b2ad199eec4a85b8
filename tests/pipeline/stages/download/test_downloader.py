"""Downloads: resumed, checked, and clear about what a server did."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import requests

from align.core.errors import WorkError
from pipeline.stages.download import downloader, http_request
from pipeline.stages.download.downloader import Downloader, file_name
from pipeline.stages.download.http_request import is_page

DATA = random.Random(0).randbytes(300_000)
SHA256 = hashlib.sha256(DATA).hexdigest()
ROOT = Path(__file__).resolve().parents[4]


def plain(items, **_options):
    return items


@pytest.fixture
def fetcher(tmp_path):
    said = []
    made = Downloader(
        cache=tmp_path / "downloads",
        retries=3,
        timeout=5.0,
        backoff=0.001,
        accept_changed=False,
        say=said.append,
        progress=plain,
    )
    object.__setattr__(made, "said", said)
    return made


def but(fetcher, **changes):
    values = {name: getattr(fetcher, name) for name in fetcher.__dataclass_fields__}
    return Downloader(**{**values, **changes})


def sent(site):
    return [(request.status, request.range, request.sent) for request in site.requests]


def left(fetcher, url):
    return sorted(path.name for path in fetcher.folder(url).iterdir() if path.name != ".lock")


def test_a_file_is_fetched_once_and_shared(site, fetcher):
    url = site.add("/a/fr-en.tgz", DATA)
    fetched = fetcher.fetch(url)
    assert (fetched.url, fetched.sha256) == (url, SHA256)
    assert fetched.path.read_bytes() == DATA
    assert left(fetcher, url) == ["fr-en.tgz", "fr-en.tgz.json"]
    assert fetcher.fetch(url, sha256=SHA256) == fetched
    assert len(site.requests) == 1
    assert "is there already (300000 bytes)" in fetcher.said[-1]


@pytest.mark.parametrize(
    ("options", "if_range"),
    [
        ({"etag": None}, "Mon, 01 Jan 2024 00:00:00 GMT"),
        ({"etag": 'W/"weak"'}, "Mon, 01 Jan 2024 00:00:00 GMT"),
        ({"etag": None, "modified": None}, None),
    ],
)
def test_other_ways_to_tell_the_version(site, fetcher, options, if_range):
    url = site.add("/x", DATA, faults=["cut:100000"], **options)
    assert fetcher.fetch(url).sha256 == SHA256
    assert site.requests[1].if_range == if_range
    assert sent(site)[1] == (206, "bytes=100000-", 200_000)


def test_a_server_that_ignores_ranges_sends_all_again(site, fetcher):
    url = site.add("/x", DATA, faults=["cut:100000"], ranges=False)
    assert fetcher.fetch(url).path.read_bytes() == DATA
    assert sent(site) == [(200, None, 100_000), (200, "bytes=100000-", 300_000)]


@pytest.mark.parametrize("respects", [True, False])
def test_versions_of_a_file_are_never_joined(site, fetcher, respects):
    url = site.add("/x", DATA, faults=["cut:100000"], if_range=respects)
    with pytest.raises(WorkError, match="connection was cut"):
        but(fetcher, retries=0).fetch(url)
    new = random.Random(1).randbytes(300_000)
    site.add("/x", new, etag='"two"', if_range=respects)
    assert fetcher.fetch(url).path.read_bytes() == new
    assert [status for status, _, _ in sent(site)] == ([200, 200] if respects else [200, 206, 200])


def test_a_file_that_became_shorter_starts_again(site, fetcher):
    url = site.add("/x", DATA, faults=["cut:200000"], etag=None, modified=None)
    with pytest.raises(WorkError, match="connection was cut"):
        but(fetcher, retries=0).fetch(url)
    site.add("/x", DATA[:1000], etag=None, modified=None)
    assert fetcher.fetch(url).path.read_bytes() == DATA[:1000]
    assert [status for status, _, _ in sent(site)] == [200, 416, 200]


@pytest.mark.parametrize("arrived", [150_000, len(DATA)])
def test_after_a_power_cut_only_what_was_flushed_is_gone_on_with(site, fetcher, monkeypatch, arrived):
    """The rest of the part is zeros, and it may even be as long as the whole file."""
    url = site.add("/x", DATA, faults=["cut:100000"])
    monkeypatch.setattr(http_request, "FLUSH_EVERY", 0.0)
    with pytest.raises(WorkError, match="connection was cut"):
        but(fetcher, retries=0).fetch(url)
    part = fetcher.folder(url) / "x.part"
    flushed = json.loads((fetcher.folder(url) / "x.part.json").read_text(encoding="utf-8"))["flushed"]
    assert 0 < flushed <= part.stat().st_size == 100_000
    part.write_bytes(DATA[:flushed] + bytes(arrived - flushed))
    monkeypatch.setattr(http_request, "boot", lambda: "another start of the machine")
    assert fetcher.fetch(url).sha256 == SHA256
    assert sent(site)[1] == (206, f"bytes={flushed}-", len(DATA) - flushed)


def test_a_part_that_nobody_flushed_begins_again_after_a_power_cut(site, fetcher, monkeypatch):
    url = site.add("/x", DATA, faults=["cut:100000"])
    with pytest.raises(WorkError, match="connection was cut"):
        but(fetcher, retries=0).fetch(url)
    (fetcher.folder(url) / "x.part").write_bytes(bytes(100_000))
    monkeypatch.setattr(http_request, "boot", lambda: "another start of the machine")
    assert fetcher.fetch(url).sha256 == SHA256
    assert sent(site)[1][:2] == (200, None)


def test_a_file_of_unknown_size_is_fetched_and_resumed(site, fetcher):
    url = site.add("/x", DATA, length=False)
    assert fetcher.fetch(url).sha256 == SHA256
    url = site.add("/y", DATA, length=False)
    part = http_request.Part(fetcher.folder(url) / "y.part")
    part.path.parent.mkdir(parents=True)
    part.begin(http_request.Version('"one"', None, None))
    part.path.write_bytes(DATA)
    # All had arrived, but the process was killed before it knew.
    assert fetcher.fetch(url).sha256 == SHA256
    assert sent(site)[-1] == (416, "bytes=300000-", 0)


def test_temporary_errors_are_tried_again_with_growing_waits(site, fetcher, monkeypatch):
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    url = site.add("/x", DATA, faults=[503, 502, 429])
    assert but(fetcher, backoff=1.0).fetch(url).sha256 == SHA256
    assert waits == [1.0, 2.0, 4.0]
    url = site.add("/y", DATA, faults=[503] * 9)
    waits.clear()
    with pytest.raises(WorkError, match=r"/y: the server answered 503 Service Unavailable, after 8 tries"):
        but(fetcher, backoff=2.0, retries=7).fetch(url)
    assert waits == [2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize(("asked", "waited"), [("7", 7.0), ("86400", 60.0), ("soon", 1.0)])
def test_the_server_may_ask_for_a_longer_wait(site, fetcher, monkeypatch, asked, waited):
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    url = site.add("/x", DATA, faults=[503], headers={"Retry-After": asked})
    but(fetcher, backoff=1.0).fetch(url)
    assert waits == [waited]


def test_progress_starts_the_count_of_failures_again(site, fetcher, monkeypatch):
    monkeypatch.setattr(downloader, "GAIN", 10_000)
    url = site.add("/x", DATA, faults=["cut:20000"] * 10)
    assert but(fetcher, retries=1).fetch(url).sha256 == SHA256


@pytest.mark.parametrize(
    ("status", "reason"), [(404, "Not Found"), (403, "Forbidden"), (410, "Gone"), (401, "Unauth")]
)
def test_a_final_error_is_not_tried_again(site, fetcher, status, reason):
    url = site.add("/x", DATA, faults=[status])
    with pytest.raises(
        WorkError, match=rf"/x: the server answered {status} {reason}.*; check the address, or name"
    ):
        fetcher.fetch(url)
    assert len(site.requests) == 1
    assert left(fetcher, url) == []


PAGE = b"<!DOCTYPE html>\n<html><head><title>Down for maintenance</title></head><body>Sorry</body></html>"
DENIED = b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>'


@pytest.mark.parametrize(
    ("body", "kind", "saying"),
    [
        (PAGE, "text/html", " saying 'Down for maintenance'"),
        (PAGE, "application/x-gzip", " saying 'Down for maintenance'"),
        (DENIED, "application/xml", " saying 'Access Denied'"),
        (b"Please log in", "text/html; charset=utf-8", ""),
    ],
)
def test_a_page_with_status_200_is_no_file(site, fetcher, body, kind, saying):
    url = site.add("/fr-en.tgz", body, content_type=kind)
    with pytest.raises(
        WorkError, match=rf"fr-en\.tgz: the server sent a web page{saying}, not a file; check the add"
    ):
        fetcher.fetch(url)
    assert left(fetcher, url) == []


@pytest.mark.parametrize(
    ("kind", "start", "page"),
    [
        ("text/html", b"\x1f\x8b\x08rest", False),
        ("text/html", b"PK\x03\x04rest", False),
        ("text/plain", b"a\tb\n", False),
        ("", b"<CHAPTER ID=1>\n", False),
        (
            "application/xml",
            b'<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">',
            False,
        ),
        ("", b"\xef\xbb\xbf\n  <HTML>", True),
        ("", b'<?xml version="1.0"?><html xmlns="x">', True),
    ],
)
def test_pages_are_told_from_data(kind, start, page):
    assert is_page(kind, start) is page


def test_a_present_file_with_another_hash_is_fetched_again(site, fetcher):
    url = site.add("/x", DATA)
    fetcher.fetch(url)
    new = DATA[:-1] + b"!"
    site.add("/x", new, etag='"two"')
    assert fetcher.fetch(url).sha256 == SHA256
    assert fetcher.fetch(url, sha256=hashlib.sha256(new).hexdigest()).path.read_bytes() == new


def test_a_wrong_part_of_an_earlier_run_is_given_a_second_chance(site, fetcher):
    url = site.add("/x", DATA, etag=None, modified=None)
    part = http_request.Part(fetcher.folder(url) / "x.part")
    part.path.parent.mkdir(parents=True)
    part.begin(http_request.Version(None, None, len(DATA)))
    part.path.write_bytes(b"\0" * 1000)
    assert fetcher.fetch(url, sha256=SHA256).path.read_bytes() == DATA
    assert [status for status, _, _ in sent(site)] == [206, 200]


def test_a_tampered_or_half_stamped_file_is_fetched_again(site, fetcher):
    url = site.add("/x", DATA)
    fetched = fetcher.fetch(url)
    fetched.path.write_bytes(DATA[:-1])
    assert fetcher.fetch(url).path.read_bytes() == DATA
    (fetched.path.parent / "x.json").write_text("{", encoding="utf-8")
    assert fetcher.fetch(url).path.read_bytes() == DATA
    fetcher.discard(fetched)
    assert left(fetcher, url) == []


def test_an_empty_file_is_an_error(site, fetcher):
    for options in ({}, {"length": False}):
        url = site.add("/x", b"", **options)
        with pytest.raises(WorkError, match=r"/x: the server sent an empty file; check the address"):
            fetcher.fetch(url)
        assert left(fetcher, url) == []


def test_a_server_that_stops_sending_times_out(site, fetcher):
    url = site.add("/x", DATA, faults=["stall:100000"])
    assert but(fetcher, timeout=0.3).fetch(url).sha256 == SHA256
    second = site.requests[1]
    assert any("nothing came for 0.3 s after" in line for line in fetcher.said)
    # What was in flight in the last piece may be asked for again, no more.
    assert 100_000 - http_request.PIECE <= int(second.range[6:-1]) <= 100_000


def test_no_server_at_all(site, fetcher):
    url = site.add("/x", DATA)
    site.close()
    with pytest.raises(
        WorkError, match=r"/x: no connection to 127\.0\.0\.1 \(Failed .*refused\), after 4 tries; check"
    ):
        fetcher.fetch(url)
    site.closing.clear()


def test_redirects_are_followed_but_not_for_ever_and_not_out_of_the_web(site, fetcher):
    site.add("/there", DATA)
    assert fetcher.fetch(site.add("/here", b"", redirect="/there")).sha256 == SHA256
    with pytest.raises(WorkError, match="/loop: too many redirections; check the address"):
        fetcher.fetch(site.add("/loop", b"", redirect="/loop"))
    for target in ("file:///etc/hostname", "ftp://127.0.0.1/x"):
        with pytest.raises(WorkError, match="/out: leads to an address that is no http or https URL"):
            fetcher.fetch(site.add("/out", b"", redirect=target))


def test_https_is_never_left_for_http(site, fetcher, monkeypatch):
    site.add("/x", DATA)

    def downgraded(self, url, **options):
        return requests.request("GET", f"{site.address}/x", **options)

    monkeypatch.setattr(requests.Session, "get", downgraded)
    with pytest.raises(
        WorkError, match=r"https://host/x: leads to http://127.*, which is not secure; name another"
    ):
        fetcher.fetch("https://host/x")


def test_two_at_once_download_once(site, fetcher):
    url = site.add("/x", DATA, before=lambda _: time.sleep(0.3))
    found = []
    threads = [threading.Thread(target=lambda: found.append(fetcher.fetch(url))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(site.requests) == 1
    assert found[0] == found[1]
    assert any("waiting for another run" in line for line in fetcher.said)


def test_killed_in_the_middle_the_next_run_sends_for_the_rest_only(site, fetcher):
    url = site.add("/x", DATA, faults=["stall:200000"])
    program = (
        "import sys; from pathlib import Path; from pipeline.stages.download.downloader import Downloader\n"
        "Downloader(cache=Path(sys.argv[1]), retries=0, timeout=60.0, backoff=0.0, accept_changed=False,"
        " say=print, progress=lambda items, **_: items).fetch(sys.argv[2])"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(fetcher.cache), url],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    part = fetcher.folder(url) / "x.part"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (
        not part.exists() or part.stat().st_size < 200_000 - http_request.PIECE
    ):
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    arrived = part.stat().st_size
    assert arrived >= 200_000 - http_request.PIECE
    assert fetcher.fetch(url, sha256=SHA256).path.read_bytes() == DATA
    assert sent(site)[1] == (206, f"bytes={arrived}-", len(DATA) - arrived)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://h/a/cc.fr.300.vec.gz", "cc.fr.300.vec.gz"),
        ("http://h/a/b%20c.txt?x=1#y", "b_c.txt"),
        ("http://h/..%2f..%2fetc%2fpasswd", "passwd"),
        ("http://h/.lock", "lock"),
        ("http://h", "download"),
        ("http://h/" + "x" * 300, "x" * 100),
    ],
)
def test_file_names_are_safe(url, name):
    assert file_name(url) == name


def test_the_whole_archive_cut_and_resumed(site, fetcher, real_data):
    data = real_data("europarl/fr-en.tgz").read_bytes()
    url = site.add("/fr-en.tgz", data, faults=["cut:7000000", 503, "cut:5000000"])
    sha256 = "bb8c211a35e740bcd7dd0225fa7701475376cec441550aaefa8a25f7daf25213"
    assert fetcher.fetch(url, sha256=sha256).path.read_bytes() == data
    assert sum(count for status, _, count in sent(site) if status in (200, 206)) == len(data)
