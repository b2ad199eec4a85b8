"""Byte streams: what a file is shows in its first bytes, and damage is never a shorter text."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import threading
import tracemalloc
import zipfile

import pytest
import zstandard

from align.core.errors import InputError
from align.data.streams import open_text

TEXT = "".join(f"line {i} déjà vu\n" for i in range(5000)).encode()


def zstd(data):
    return zstandard.ZstdCompressor().compress(data)


PACK = {"gzip": gzip.compress, "xz": lzma.compress, "zstd": zstd}
packings = pytest.mark.parametrize("packing", PACK)


def read(source):
    with open_text(source) as stream:
        return stream.read()


def test_plain_text_is_read_as_it_is(tmp_path):
    (tmp_path / "t").write_bytes(TEXT)
    assert read(tmp_path / "t") == TEXT
    assert read(str(tmp_path / "t")) == TEXT
    assert read(io.BytesIO(TEXT)) == TEXT
    assert read(io.BytesIO(b"")) == b""


@packings
@pytest.mark.parametrize("name", ["t.txt", "t.gz", "t"])
def test_the_name_says_nothing(tmp_path, packing, name):
    (tmp_path / name).write_bytes(PACK[packing](TEXT))
    assert read(tmp_path / name) == TEXT


def test_plain_text_named_like_a_packed_file_is_plain(tmp_path):
    (tmp_path / "t.gz").write_bytes(TEXT)
    assert read(tmp_path / "t.gz") == TEXT


@packings
def test_several_packed_parts_in_a_row_are_one_text(packing):
    assert (
        read(io.BytesIO(PACK[packing](TEXT) + PACK[packing](b"") + PACK[packing](TEXT[:100])))
        == TEXT + TEXT[:100]
    )


@packings
def test_zero_bytes_after_the_end_are_padding(packing):
    packed = PACK[packing](TEXT)
    assert read(io.BytesIO(packed + b"\0" * 1000)) == TEXT
    assert read(io.BytesIO(packed + b"\0" * 64 + packed)) == TEXT + TEXT


@packings
@pytest.mark.parametrize("rest", [b"garbage", b"\0\0x", b"x" * 100_000])
def test_other_bytes_after_the_end_are_an_error(packing, rest):
    with pytest.raises(InputError, match=rf"other data follow the end of the {packing} data; get the file"):
        read(io.BytesIO(PACK[packing](TEXT) + rest))


@packings
@pytest.mark.parametrize("share", [0.3, 0.97, 0.9999])
def test_cut_off_data_are_an_error(tmp_path, packing, share):
    packed = PACK[packing](TEXT)
    path = tmp_path / "t.packed"
    path.write_bytes(packed[: int(len(packed) * share)])
    with pytest.raises(InputError, match=rf"t\.packed: the {packing} data are cut off; get the file again"):
        read(path)


@packings
def test_damaged_data_are_an_error(packing):
    packed = bytearray(PACK[packing](os.urandom(50_000) + TEXT))
    for place in range(20_000, 20_400):
        packed[place] ^= 0x55
    packed[-3] ^= 0x55
    with pytest.raises(
        InputError, match=rf"the {packing} data (cannot be unpacked \(|are cut off)|other data follow"
    ):
        read(io.BytesIO(bytes(packed)))


def test_a_skippable_zstd_frame_at_the_start_is_passed_over():
    skippable = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"
    assert read(io.BytesIO(skippable + zstd(TEXT))) == TEXT


@packings
def test_a_bomb_is_unpacked_in_little_memory(packing):
    bomb = PACK[packing](b"\0" * 40_000_000)
    tracemalloc.start()
    total = 0
    with open_text(io.BytesIO(bomb)) as stream:
        while piece := stream.read(1 << 20):
            total += len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 40_000_000
    assert peak < 20_000_000


@pytest.mark.parametrize("make", [lambda: io.BytesIO(TEXT), lambda: io.BytesIO(gzip.compress(TEXT))])
def test_a_stream_of_the_caller_stays_open(make):
    stream = make()
    read(stream)
    assert not stream.closed


def test_a_pipe_hands_over_lines_as_they_come():
    receiving, sending = os.pipe()
    with open(receiving, "rb") as incoming, open(sending, "wb", buffering=0) as outgoing:
        outgoing.write(b"first line\n")
        with open_text(incoming) as stream:
            # With the sender still open, waiting for a full buffer would hang here.
            assert stream.readline() == b"first line\n"
            sender = threading.Thread(target=lambda: (outgoing.write(b"second\n"), outgoing.close()))
            sender.start()
            assert stream.read() == b"second\n"
            sender.join()


def test_what_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.txt: no such file; check the path"):
        read(tmp_path / "gone.txt")
    with pytest.raises(InputError, match=r": a folder, not a file; name a file in it"):
        read(tmp_path)
    if os.getuid():
        (tmp_path / "shut").touch(0o000)
        with pytest.raises(InputError, match=r"shut: cannot be read \(Permission denied\)"):
            read(tmp_path / "shut")


def test_a_system_error_is_one_line(tmp_path, monkeypatch):
    def refuse(*_arguments):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match=r"x: cannot be read \(Input/output error\); check its permissions"):
        read("x")


def test_archives_are_no_texts(tmp_path):
    (tmp_path / "a.en").write_bytes(TEXT)
    for name, mode in (("a.tar", "w"), ("a.tgz", "w:gz"), ("a.txz", "w:xz")):
        with tarfile.open(tmp_path / name, mode) as archive:
            archive.add(tmp_path / "a.en", "a.en")
        with pytest.raises(InputError, match=rf"{name}: a tar archive, not a text; unpack it"):
            read(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "a.en", "a.en")
    with pytest.raises(InputError, match=r"a\.zip: a zip archive, not a text; unpack it"):
        read(tmp_path / "a.zip")


def test_other_packings_are_named(tmp_path):
    for name, packed in (("bzip2", bz2.compress(TEXT)), ("7z", b"7z\xbc\xaf\x27\x1c" + b"\0" * 50)):
        (tmp_path / "a").write_bytes(packed)
        with pytest.raises(InputError, match=rf"a: packed with {name}, which is not read here; unpack it"):
            read(tmp_path / "a")


def test_a_closed_standard_input_is_told(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="<stdin>: closed; name a file"):
        read("-")
