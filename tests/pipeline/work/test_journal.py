"""Files that grow together: what was committed is gone on with, whatever does not fit begins anew."""

import errno

import pytest

from pipeline.work import journal
from pipeline.work.journal import NAME, Journal

FILES = ("a.txt", "b.bin")
WORK = "count to ten"


def begin(folder, work=WORK):
    return Journal(folder, FILES, work)


def write(found, number):
    found.write("a.txt", f"{number}\n".encode())
    found.write("b.bin", bytes([number]) * number)


def content(folder):
    return [(folder / name).read_bytes() for name in FILES]


def expected(numbers):
    return [b"".join(b"%d\n" % n for n in numbers), b"".join(bytes([n]) * n for n in numbers)]


@pytest.fixture
def half(tmp_path):
    """Three numbers committed one by one, a fourth only written."""
    with begin(tmp_path) as found:
        assert found.state is None
        for number in (1, 2, 3):
            write(found, number)
            found.commit({"last": number, "sum": 0.1})
        write(found, 4)
    assert content(tmp_path) == expected([1, 2, 3, 4])
    return tmp_path


def test_it_goes_on_after_the_last_commit(half):
    with begin(half) as found:
        assert found.state == {"last": 3, "sum": 0.1}
        write(found, 7)
        found.commit({"last": 7})
    assert content(half) == expected([1, 2, 3, 7])
    with begin(half) as found:
        assert found.state == {"last": 7}
        found.remove()
    assert content(half) == expected([1, 2, 3, 7])
    assert not (half / NAME).exists()


def test_cut_off_anywhere_it_is_never_wrong(half):
    """Whatever part of the journal and of the files has come to the disk: begun anew, or at a commit."""
    whole, files = (half / NAME).read_bytes(), content(half)
    states = set()
    for length in range(len(whole) + 1):
        for cut in (0, 1):
            (half / NAME).write_bytes(whole[:length])
            for name, data in zip(FILES, files, strict=True):
                (half / name).write_bytes(data[: len(data) - cut])
            with begin(half) as found:
                last = 0 if found.state is None else found.state["last"]
            states.add(last)
            assert content(half) == expected(range(1, last + 1))
    assert states == {0, 1, 2, 3}


@pytest.mark.parametrize("place", range(0, 400, 7))
def test_a_changed_byte_of_the_journal_begins_anew(half, place):
    text = bytearray((half / NAME).read_bytes())
    place %= len(text) - 1
    text[place] ^= 1
    (half / NAME).write_bytes(text)
    with begin(half) as found:
        assert found.state is None
    assert content(half) == [b"", b""]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("fault", ["changed", "short", "missing"])
def test_a_damaged_file_begins_anew(half, name, fault):
    data = (half / name).read_bytes()
    if fault == "missing":
        (half / name).unlink()
    else:
        (half / name).write_bytes(b"?" + data[1:] if fault == "changed" else data[:2])
    with begin(half) as found:
        assert found.state is None
    assert content(half) == [b"", b""]


def test_other_work_is_not_gone_on_with(half):
    with begin(half, "count to eleven") as found:
        assert found.state is None
    assert content(half) == [b"", b""]


def test_it_commits_after_a_while(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(journal.time, "monotonic", lambda: now[0])
    with begin(tmp_path) as found:
        write(found, 1)
        found.keep({"last": 1})
        now[0] += journal.EVERY
        write(found, 2)
        found.keep({"last": 2})
        write(found, 3)
        found.keep({"last": 3})
    with begin(tmp_path) as found:
        assert found.state == {"last": 2}


@pytest.mark.parametrize(("seconds", "pause"), [(0.0, 0.1), (0.002, 0.12), (0.01, 0.5), (2.0, 0.5)])
def test_on_a_slow_disk_it_commits_less_often(tmp_path, monkeypatch, seconds, pause):
    """A commit flushes two files and the journal; however slow that is, the next is not long in coming."""
    now = [100.0]

    def slow(_):
        now[0] += seconds

    monkeypatch.setattr(journal.time, "monotonic", lambda: now[0])
    with begin(tmp_path) as found:
        monkeypatch.setattr(journal.os, "fsync", slow)
        found.commit({"last": 0})
        size = (tmp_path / journal.NAME).stat().st_size
        for step, grown in ((pause - 0.01, False), (0.02, True)):
            now[0] += step
            found.keep({"last": 1})
            assert ((tmp_path / journal.NAME).stat().st_size > size) == grown


def test_a_full_disk_leaves_the_last_commit(half, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with begin(half) as found:
        write(found, 5)
        monkeypatch.setattr(journal.os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            found.commit({"last": 5})
    monkeypatch.undo()
    with begin(half) as found:
        assert found.state == {"last": 3, "sum": 0.1}
    assert content(half) == expected([1, 2, 3])
