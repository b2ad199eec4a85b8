"""A piece is there whole or not at all, also when a power cut took what had not come to the disk."""

import pytest

from pipeline.work import kept
from pipeline.work.kept import SEAL, drop_damaged, is_whole, written_aside, written_whole

CONTENT = {"a.npy": b"first" * 100, "below/b.npy": b"second"}


@pytest.fixture
def piece(tmp_path):
    with written_whole(tmp_path / "0") as aside:
        for name, data in CONTENT.items():
            (aside / name).parent.mkdir(exist_ok=True)
            (aside / name).write_bytes(data)
        assert not (tmp_path / "0").exists()
    return tmp_path / "0"


def test_a_whole_piece_is_known_as_such(piece):
    assert is_whole(piece)
    assert {name: (piece / name).read_bytes() for name in CONTENT} == CONTENT
    assert [path.name for path in piece.parent.iterdir()] == ["0"]


@pytest.mark.parametrize("name", [*CONTENT, SEAL])
@pytest.mark.parametrize("fault", ["short", "empty", "zeros", "changed", "missing"])
def test_whatever_is_damaged_is_found(piece, name, fault):
    whole = (piece / name).read_bytes()
    faults = {
        "short": whole[:-2],
        "empty": b"",
        "zeros": bytes(len(whole)),
        "changed": bytes([whole[0] ^ 1]) + whole[1:],
    }
    if fault == "missing":
        (piece / name).unlink()
    else:
        (piece / name).write_bytes(faults[fault])
    assert not is_whole(piece)
    with written_whole(piece.parent / "1") as aside:
        (aside / "c").write_bytes(b"c")
    (piece.parent / "2.0123456789abcdef").mkdir()
    assert drop_damaged([piece.parent, piece.parent / "none"]) == 1
    assert [path.name for path in piece.parent.iterdir()] == ["1"]


@pytest.mark.parametrize("seal", ["[]", "{}", "null", '{"a.npy": "x"}'])
def test_an_odd_seal_seals_nothing(piece, seal):
    (piece / SEAL).write_text(seal, encoding="utf-8")
    assert not is_whole(piece)


def test_all_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """What was flushed when a name appears is all of it, and then the name itself."""
    flushed = []
    monkeypatch.setattr(kept, "sync_tree", lambda folder: flushed.append((folder.name[:2], there(folder))))
    monkeypatch.setattr(kept, "sync_folder", lambda folder: flushed.append((folder.name, there(folder))))
    monkeypatch.setattr(kept, "sync_file", lambda path: flushed.append((path.name[:2], path.read_bytes())))

    def there(folder):
        return sorted(path.name for path in folder.iterdir())

    place = tmp_path / "place"
    with written_whole(place / "7") as aside:
        (aside / "a").write_bytes(b"a")
    assert flushed == [("7.", ["a", SEAL]), ("place", ["7"])]
    flushed.clear()
    with written_whole(place / "8", kept=False) as aside:
        (aside / "a").write_bytes(b"a")
    assert flushed == []
    assert there(place / "8") == ["a"]
    with written_aside(tmp_path / "f") as aside:
        aside.write_bytes(b"text")
    assert flushed == [("f.", b"text")]
    assert (tmp_path / "f").read_bytes() == b"text"


def test_what_another_process_made_stays(piece):
    with written_whole(piece) as aside:
        (aside / "c").write_bytes(b"c")
    assert is_whole(piece)
    assert not (piece / "c").exists()
    assert [path.name for path in piece.parent.iterdir()] == ["0"]


def test_what_another_machine_made_is_waited_for(tmp_path, monkeypatch):
    looked = []

    def look(*folders):
        looked.append(folders)
        if len(looked) == 3:
            (tmp_path / "chains" / "0-1").mkdir(parents=True)

    monkeypatch.setattr(kept, "look_again", look)
    monkeypatch.setattr(kept.time, "sleep", lambda seconds: None)
    (tmp_path / "0").mkdir()
    kept.wait_for([tmp_path / "0", tmp_path / "chains" / "0-1"])
    assert looked == [(tmp_path, tmp_path / "chains")] * 3
    kept.wait_for([tmp_path / "never"], seconds=0.0)
    assert len(looked) == 3


def test_a_piece_that_fails_leaves_nothing(tmp_path):
    def fail():
        with written_whole(tmp_path / "0") as aside:
            (aside / "a").write_bytes(b"a")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert not list(tmp_path.iterdir())
