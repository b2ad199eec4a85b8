"""What a worker of a cluster does with an item: files that are seen later, errors that are results."""

import errno

import numpy as np
import pytest

from align.core.arrays import load_array
from align.core.errors import InputError, WorkError
from pipeline.work import worker
from pipeline.work.worker import Failed, code_of, run_checked


@pytest.fixture
def waits(monkeypatch):
    """Seconds that were waited, and the folders that were looked into again; no time passes."""
    found = {"seconds": [], "folders": [], "then": lambda: None}

    def sleep(seconds):
        found["seconds"].append(seconds)
        found["then"]()

    monkeypatch.setattr(worker.time, "sleep", sleep)
    monkeypatch.setattr(worker, "look_again", lambda *folders: found["folders"].append(folders))
    return found


def read(path):
    return load_array(path).tolist()


def test_a_file_that_is_seen_later_is_waited_for(waits, tmp_path):
    path = tmp_path / "piece" / "a.npy"

    def appear():
        if len(waits["seconds"]) == 2:
            path.parent.mkdir()
            np.save(path, np.arange(3))

    waits["then"] = appear
    assert run_checked(read, code_of(read.__module__), path) == [0, 1, 2]
    assert waits["seconds"] == [0.5, 1.0]
    assert waits["folders"] == [(path.parent, tmp_path)] * 2


def test_one_that_never_comes_is_told_after_some_seconds(waits, tmp_path):
    found = run_checked(read, code_of(read.__module__), tmp_path / "a.npy")
    assert isinstance(found, Failed)
    assert isinstance(found.error, InputError)
    assert str(found.error).startswith(f"{tmp_path / 'a.npy'}: missing; ")
    assert 10 < sum(waits["seconds"]) < 60


def test_a_stale_handle_is_tried_again(waits, tmp_path):
    tries = []

    def stale(item):
        tries.append(item)
        if len(tries) < 3:
            raise OSError(errno.ESTALE, "Stale file handle", str(tmp_path / "a"))
        return item

    assert run_checked(stale, code_of(__name__), 7) == 7
    assert len(tries) == 3


@pytest.mark.parametrize(
    "error",
    [
        InputError("a.en:3: odd; mend it"),
        WorkError("the gap did not fall"),
        OSError(errno.ENOSPC, "No space left on device", "x"),
        ValueError("a fault"),
    ],
)
def test_nothing_else_is(waits, error):
    tries = []

    def fail(item):
        tries.append(item)
        raise error

    if isinstance(error, OSError):
        with pytest.raises(OSError, match="No space"):
            run_checked(fail, code_of(__name__), 7)
    else:
        assert run_checked(fail, code_of(__name__), 7).error is error
    assert tries == [7]
    assert waits["seconds"] == []


def test_other_code_is_an_error_too(waits):
    found = run_checked(read, "other", None)
    assert "a worker of the Dask cluster has another version of" in str(found.error)
