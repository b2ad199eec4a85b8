"""Readers and arbitrary bytes: only the project's errors come out. See ``python -m tests.fuzz``."""

import argparse
import contextlib
import io
import random
import socket
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.core.errors import InputError
from align.explorer.server import make_server
from align.links.tmx import PROPERTY, read_tmx
from align.vectors.vec import read_vec
from pipeline.config import configuration
from pipeline.run.graph import SCHEMA
from pipeline.stages.download.archives import extract_one
from tests.align.server import answer, running
from tests.fuzz.__main__ import Target, file_of, loop, reading
from tests.fuzz.targets import targets

# Where the bytes come in whole; of a model each file is a target.
READERS = ["files", "joint", "tsv", "tmx", "packed", "vectors", "fasttext", "dictionary", "toml", "archive"]

pytestmark = pytest.mark.filterwarnings("ignore:Reading `.npy`:UserWarning")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    return targets(folder), folder


@pytest.mark.parametrize(
    "name", [*READERS, "links-tmx", "links-jsonl", "score", "request", "desk-request", "journal"]
)
def test_any_bytes_are_read_or_refused(table, name):
    found, folder = table

    @given(st.binary(max_size=200))
    def read(data):
        assert reading(found[name], data, folder) == ""

    read()


@pytest.mark.slow
def test_ten_seconds_of_changed_files_find_nothing(table, capsys):
    args = argparse.Namespace(seconds=10, seed=11, targets="")
    assert loop(args, *table) == 0, capsys.readouterr().out


def test_a_finding_is_told_with_its_place_and_the_same_numbers_give_the_same_file(tmp_path, capsys):
    bad = Target([b"abc"], lambda path: 1 // 0)
    assert file_of(1, "bad", 3, bad) == file_of(1, "bad", 3, bad) != file_of(1, "bad", 4, bad)
    args = argparse.Namespace(seconds=0.05, seed=1, targets="")
    assert loop(args, {"bad": bad}, tmp_path) == 1
    told = capsys.readouterr().out.split("\n")
    assert told[0].startswith("bad:0 ZeroDivisionError in test_fuzz.py:")
    assert told[1].endswith("1 findings")


def test_a_zip_whose_directory_leads_before_its_beginning_is_damaged(tmp_path):
    """Found by the loop: bytes taken out in front of the directory came out as an OSError."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.en", b"text\n" * 20)
    data = out.getvalue()
    path = tmp_path / "a.zip"
    path.write_bytes(data[:40] + data[80:])
    with pytest.raises(InputError, match="the archive is cut or damaged"):
        extract_one(path, tmp_path / "one", ".en", progress=lambda items, **_: items)


def test_a_request_without_a_version_is_answered_with_a_head_too():
    """Found by the loop: it counts as HTTP 0.9, and the page came without the rules for its use."""
    with running(make_server(0, "page", answer)) as number:
        for line in (b"GET /", b"GET /x"):
            with socket.create_connection(("127.0.0.1", number), timeout=20) as client:
                client.sendall(line + b"\r\nHost: 127.0.0.1:%d\r\n\r\n" % number)
                assert client.recv(1 << 16).startswith(b"HTTP/1.0 ")


def test_a_bz2_member_that_is_damaged_is_told(tmp_path):
    """Found by the loop: what bz2 says is an OSError, without a number."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.en", random.Random(1).randbytes(5000))
    path = tmp_path / "a.zip"
    for place in range(60, 500, 20):
        data = bytearray(out.getvalue())
        data[place] ^= 0xFF
        path.write_bytes(data)
        with pytest.raises(InputError, match="the archive is cut or damaged"):
            extract_one(path, tmp_path / "one", ".en", progress=lambda items, **_: items)


def test_a_unit_after_a_comment_that_is_all_there_is():
    """Found by the loop: it has one before it and none above it."""
    sides = "<tuv><seg>a</seg></tuv><tuv><seg>b</seg></tuv>"
    text = f'<!-- so --><tu><prop type="{PROPERTY}">0-0</prop>{sides}</tu>'
    (pair,) = read_tmx([(1, text)], "m.tmx")
    assert (pair.source, pair.target) == (["a"], ["b"])


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000])
def test_toml_that_python_cannot_read(tmp_path, value):
    """Found by the loop: whole numbers of more digits than Python reads."""
    path = tmp_path / "a.toml"
    path.write_text(f"[train]\nlam = {value}\n")
    with pytest.raises(InputError, match="mend the TOML"):
        configuration.load(path, [], SCHEMA)


def test_rows_of_rare_blanks_are_no_vectors(tmp_path):
    """Found by the loop: a row that is neither empty nor has a word."""
    path = tmp_path / "words.vec"
    path.write_bytes(b"the 1 2\nhouse 3 4\n\x0c\x0b\n\x1c\ndog 5 6\n")
    with contextlib.suppress(InputError):
        read_vec(path, ["the"])
