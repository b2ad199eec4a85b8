"""Array files: what is written is read; a full disk and a bad file are told in one line."""

import errno
import os
import re

import numpy as np
import pytest

from align.core import arrays
from align.core.arrays import (
    ArrayAppender,
    ArrayMapper,
    create_array,
    load_array,
    load_rows,
    near_rows,
    save_array,
    write_rows,
)
from align.core.errors import InputError


def header(path, text, *, version=b"\x01\x00", values=b""):
    """Write a file with a header of one's own."""
    size = len(text).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    path.write_bytes(b"\x93NUMPY" + version + size + text.encode("latin-1") + values)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        np.arange(7, dtype=np.int64),
        np.arange(6000, dtype=np.float32).reshape(3, 2000),
        np.asfortranarray(np.arange(6000, dtype=np.float32).reshape(3, 2000)),
        np.arange(12000)[::2],
        np.zeros((0, 4), dtype=np.int32),
        np.zeros(0, dtype=np.bool_),
        np.array(1.5),
        np.array(["a", "été"]),
    ],
    ids=lambda values: f"{values.dtype}{values.shape}",
)
def test_what_is_saved_is_loaded(tmp_path, values, mapped):
    path = tmp_path / "a.npy"
    save_array(path, values)
    for read in (load_array(path, mapped=mapped), np.load(path, allow_pickle=False)):
        assert read.dtype == values.dtype
        np.testing.assert_array_equal(read, values)
    np.save(path, values)
    np.testing.assert_array_equal(load_array(path, mapped=mapped), values)


def test_files_are_mapped_many_times(tmp_path):
    arrays_of = {
        "a": np.arange(6000, dtype=np.uint16),
        "b": np.zeros((0, 4)),
        "c": np.asfortranarray(np.ones((3, 2))),
    }
    for name, values in arrays_of.items():
        save_array(tmp_path / name, values)
    mapper = ArrayMapper()
    for name, values in [*arrays_of.items()] * 2:
        found = mapper.load(tmp_path / name)
        assert found.dtype == values.dtype
        assert not found.size or not found.flags.writeable
        np.testing.assert_array_equal(found, values)
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:-1])
    for remedy, reader in (("fetch it", mapper), ("fetch it", ArrayMapper())):
        with pytest.raises(InputError, match=r"a: no array can be read .*; fetch it"):
            reader.load(tmp_path / "a", remedy=remedy)


@pytest.mark.parametrize("values", [np.arange(3000), np.arange(90, dtype=np.uint16).reshape(30, 3)])
def test_rows_are_read_alone(tmp_path, values):
    path = tmp_path / "a.npy"
    save_array(path, values)
    for start, stop in ((0, len(values)), (0, 0), (7, 20), (len(values), len(values)), (29, 30)):
        rows = load_rows(path, start, stop)
        assert rows.dtype == values.dtype
        np.testing.assert_array_equal(rows, values[start:stop])
    for start, stop in ((-1, 2), (5, 4), (0, len(values) + 1)):
        with pytest.raises(InputError, match=r"a\.npy: .*\(no rows -?\d+ to \d+ in the shape .*\); fetch it"):
            load_rows(path, start, stop, remedy="fetch it")


@pytest.mark.parametrize("width", [(), (3,)])
def test_rows_are_written_alone(tmp_path, width):
    path = tmp_path / "a.npy"
    create_array(path, np.float32, (10, *width))
    expected = np.zeros((10, *width), dtype=np.float32)
    for start, stop in ((2, 5), (9, 10), (0, 0), (10, 10), (4, 6)):
        expected[start:stop] = 1 + start
        write_rows(path, start, expected[start:stop])
        np.testing.assert_array_equal(load_array(path), expected)
    for start, values in ((-1, expected[:2]), (9, expected[:2]), (0, expected[:2].astype(np.float64))):
        with pytest.raises(InputError, match=r"a\.npy: .*rows -?\d+ to \d+ do not fit float32"):
            write_rows(path, start, values)
    np.testing.assert_array_equal(load_array(path), expected)


def test_rows_of_a_bad_file_are_refused(tmp_path):
    path = tmp_path / "a.npy"
    with pytest.raises(InputError, match=r"a\.npy: missing; make it again"):
        load_rows(path, 0, 1)
    np.save(path, np.asfortranarray(np.ones((3, 4))))
    with pytest.raises(InputError, match="no rows 0 to 1"):
        load_rows(path, 0, 1)
    save_array(path, np.arange(1000))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="cut off"):
        load_rows(path, 0, 1)


def test_a_large_file_stays_on_the_disk(tmp_path):
    path = tmp_path / "a.npy"
    save_array(path, np.arange(6000))
    assert load_array(path).flags.owndata
    mapped = load_array(path, mapped=True)
    assert type(mapped) is np.ndarray
    assert isinstance(mapped.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1


@pytest.mark.parametrize("shape", [(5,), (300, 50), (0,), (0, 3), (3, 0)])
def test_a_file_is_made_and_filled(tmp_path, shape):
    path = tmp_path / "a.npy"
    create_array(path, np.float32, shape)
    np.testing.assert_array_equal(load_array(path), np.zeros(shape, dtype=np.float32))
    expected = np.zeros(shape, dtype=np.float32)
    expected[1:2] = 3
    write_rows(path, min(1, shape[0]), expected[1:2])
    np.testing.assert_array_equal(load_array(path), expected)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system cannot reserve")
def test_the_place_of_a_made_file_is_reserved(tmp_path):
    create_array(tmp_path / "a.npy", np.int64, (100_000,))
    assert (tmp_path / "a.npy").stat().st_blocks * 512 >= 800_000


def test_a_disk_that_cannot_reserve_is_written(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    monkeypatch.setattr(arrays, "_PIECE", 1000)
    create_array(tmp_path / "a.npy", np.int32, (700, 2))
    np.testing.assert_array_equal(load_array(tmp_path / "a.npy"), np.zeros((700, 2), dtype=np.int32))


def test_a_full_disk_is_told_with_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.npy'") as caught:
        create_array(tmp_path / "a.npy", np.int64, (5,))
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_disk_that_fills_while_values_are_written(tmp_path):
    (tmp_path / "a.npy").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.npy'") as caught:
        save_array(tmp_path / "a.npy", np.arange(100_000))
    assert caught.value.errno == errno.ENOSPC


DESCRIBED = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n"


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (DESCRIBED % "(99999999999, 99999)", r"cut off: 5000 bytes of values, not the \d+ of"),
        (DESCRIBED % "(5,)", "too long: 5000 bytes of values, not the 20 of"),
        (DESCRIBED % "(-5,)", "the shape .* is none"),
        (DESCRIBED % "(True,)", "the shape .* is none"),
        (DESCRIBED % "'x'", "cut off or no array file"),
        (DESCRIBED.replace("<f4", "|O") % "(5,)", "holds Python objects, which are never loaded"),
        (DESCRIBED.replace("'<f4'", "__import__('os').abort()") % "(5,)", "cut off or no array file"),
        ("(" * 9000, "cut off or no array file"),
        ("[" * 30000, "cut off or no array file"),
        ("", "cut off or no array file"),
    ],
)
def test_a_header_is_not_believed(tmp_path, mapped, text, fault):
    path = tmp_path / "a.npy"
    header(path, text, values=b"\0" * 5000)
    with pytest.raises(InputError, match=rf"a\.npy: no array can be read \({fault}.*\); fetch it") as caught:
        load_array(path, mapped=mapped, remedy="fetch it")
    assert "\n" not in str(caught.value)
    assert "allow_pickle" not in str(caught.value)


@pytest.mark.parametrize("mapped", [False, True])
def test_every_cut_of_a_file_is_noticed(tmp_path, mapped):
    path = tmp_path / "a.npy"
    save_array(path, np.arange(1000))
    whole = path.read_bytes()
    for length in (0, 1, 6, 9, 60, 127, 128, 129, 5000, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"a\.npy: no array can be read \(cut off"):
            load_array(path, mapped=mapped)


def test_what_is_no_file(tmp_path):
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'a.npy'}: missing; make it again")):
        load_array(tmp_path / "a.npy")
    with pytest.raises(InputError, match=r"no array can be read \(Is a directory\); make it again"):
        load_array(tmp_path)


@pytest.mark.parametrize("dtype", [np.int32, np.uint16, np.bool_])
def test_pieces_make_the_file_that_the_whole_makes(tmp_path, dtype):
    values = (np.arange(123_456) % 7).astype(dtype)
    for cuts in ([], [0, 1, 5, 5, 100_000]):
        with ArrayAppender(tmp_path / "pieces.npy", dtype) as out:
            for piece in np.split(values, cuts):
                out.append(piece)
        save_array(tmp_path / "whole.npy", values)
        assert (tmp_path / "pieces.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
    with ArrayAppender(tmp_path / "none.npy", dtype):
        pass
    assert load_array(tmp_path / "none.npy").shape == (0,)


def test_rows_that_are_near_each_other_are_read_at_once():
    chosen = [3, 5, 1029, 1029, 2053, 3078, 8191, 8192, 0, 1]
    runs = near_rows(np.array(chosen))
    assert [run.tolist() for run in runs] == [
        [3, 5, 1029, 1029, 2053], [3078], [8191], [8192], [0, 1],
    ]  # fmt: skip
    assert near_rows(np.array([], dtype=np.int64)) == []
