import os

import pytest

from align.core.errors import InputError, WorkError
from pipeline.work.fingerprint import FileHashes, difference, fingerprint

OLD = {
    "stage": "train",
    "code": {"align.a": "1", "align.b": "2"},
    "options": {"train.lam": 0.01, "train.passes": 50},
    "files": {"/x": "aa"},
    "needs": {"label": "0", "lexicon": "1"},
    "seed": 0,
}


def test_fingerprints_do_not_depend_on_order_and_see_every_ingredient():
    assert fingerprint(OLD) == fingerprint(dict(reversed(OLD.items())))
    for key, value in {
        "code": {"align.a": "1", "align.b": "3"},
        "options": {"train.lam": 0.02, "train.passes": 50},
        "files": {},
        "needs": {"label": "0", "lexicon": "2"},
        "seed": 1,
    }.items():
        assert fingerprint({**OLD, key: value}) != fingerprint(OLD), key


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"options": {"train.lam": 0.1, "train.passes": 50}}, "train.lam was 0.01, is 0.1"),
        ({"code": {"align.a": "9", "align.b": "2"}}, "code changed: align.a"),
        ({"code": {"align.a": "1"}}, "code changed: align.b"),
        ({"files": {"/x": "bb"}}, "contents changed: /x"),
        ({"needs": {"label": "5", "lexicon": "6"}}, "label, lexicon changed"),
        ({"seed": 3}, "seed was 0, is 3"),
        ({}, "made by another version"),
    ],
)
def test_the_reason_of_staleness_is_said(change, reason):
    assert difference(OLD, {**OLD, **change}) == reason


def test_hashes_follow_contents(tmp_path):
    store, file = tmp_path / "store" / "hashes.json", tmp_path / "file"
    file.write_bytes(b"one")
    first = FileHashes(store).of(file)
    assert FileHashes(store).of(file) == first == FileHashes(None).of(file)
    file.write_bytes(b"two")
    os.utime(file, ns=(1, 1))
    assert FileHashes(store).of(file) != first
    store.write_text("nonsense", encoding="utf-8")
    assert FileHashes(store).of(file) == FileHashes(None).of(file)


def test_a_folder_is_hashed_with_its_names(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "a").write_bytes(b"1")
    before = FileHashes(None).of(folder)
    (folder / "a").rename(folder / "b")
    assert FileHashes(None).of(folder) != before


@pytest.mark.parametrize("inside", ["file", "file/deeper"])
def test_a_work_folder_that_cannot_be_is_told_as_such(tmp_path, inside):
    (tmp_path / "file").write_bytes(b"text")
    store = tmp_path / inside / "hashes.json"
    with pytest.raises(WorkError, match=r"file.*: the work folder cannot be written \(.*\); free space"):
        FileHashes(store).of(tmp_path / "file")


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(InputError, match="nothing.en: no such file; mend the path"):
        FileHashes(None).of(tmp_path / "nothing.en")
