"""Bytes that are no longer those that were written: in a model, in a stage's result, in the user's files."""

import shutil
import sys

import pytest

from align.cli.main import main
from align.core import files
from align.core.errors import InputError
from align.model.aligner import Aligner
from align.model.checksums import CHECKSUMS
from align.model.folder import Model
from align.model.shipped import shipped_weights
from align.model.weights import Weights
from tests.align import toy


@pytest.fixture
def model(tmp_path):
    toy.toy_model(fertility=2).save(tmp_path / "model")
    return tmp_path / "model"


def flip(path, place, mask=1):
    """Change a byte of a file."""
    whole = bytearray(path.read_bytes())
    whole[place] ^= mask
    path.write_bytes(bytes(whole))


def paths(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_g18_every_file_of_a_model_has_a_checksum(model):
    Aligner.load(model)
    lines = (model / CHECKSUMS).read_text(encoding="utf-8").split("\n")
    listed = [line.split("\t")[2] for line in lines[:-1]]
    assert sorted(listed) == [path.relative_to(model).as_posix() for path in paths(model)]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_g18_a_byte_flipped_anywhere_in_a_model_is_refused_by_name(model, share):
    """Whatever the byte makes of the file: another number, another word, no JSON."""
    for path in paths(model):
        whole = path.read_bytes()
        flip(path, int(share * len(whole)))
        with pytest.raises(InputError, match=rf"{path.name}: .*; get the model again or train it anew"):
            Model.load(model)
        path.write_bytes(whole)
    Model.load(model)


def test_g18_a_file_of_a_model_that_is_cut_or_gone_is_refused_by_name(model):
    for path in paths(model):
        whole = path.read_bytes()
        for kept in (0, 1, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:kept])
            with pytest.raises(InputError, match=rf"{path.name}: .*get the model again or train it anew"):
                Model.load(model)
        path.write_bytes(whole)


def test_g18_checksums_cut_between_lines_are_refused(model):
    """What is not listed is not taken for good."""
    lines = (model / CHECKSUMS).read_bytes().split(b"\n")
    for kept in range(len(lines) - 1):
        (model / CHECKSUMS).write_bytes(b"\n".join([*lines[:kept], b""]))
        with pytest.raises(InputError, match=f"{CHECKSUMS}: damaged; get the model again"):
            Model.load(model)


def test_g18_weights_alone_are_checked_too(tmp_path):
    toy.toy_model().save(tmp_path / "model")
    Weights.load(tmp_path / "model").save(tmp_path / "weights")
    for folder, name in (("model", "weights.tsv"), ("weights", "weights.tsv"), ("weights", "weights.json")):
        flip(tmp_path / folder / name, -3)
        with pytest.raises(InputError, match=f"{name}: its bytes are not those that were written"):
            Weights.load(tmp_path / folder)
        flip(tmp_path / folder / name, -3)
        assert Weights.load(tmp_path / folder).checked


def test_g18_shipped_weights_have_their_checksums():
    assert all(Weights.load(folder).checked for folder in shipped_weights())


def test_g18_a_damaged_model_is_one_line_and_status_2(model, capsys):
    flip(model / "weights.tsv", -2)
    for words in ("explain --source house --target maison", "lexicon", "links -i nothing"):
        assert main([words.split()[0], "--model", str(model), *words.split()[1:]]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert "weights.tsv: its bytes are not those that were written (checksums.tsv); get the model" in told


def test_g18_a_model_without_checksums_is_loaded_and_said_to_be_unchecked(model, capsys):
    (model / CHECKSUMS).unlink()
    assert main(["explain", "--model", str(model), "--source", "house", "--target", "maison"]) == 0
    assert f"{model}: no checksums.tsv there: its files are taken as they are" in capsys.readouterr().err
    assert not Model.load(model).checked


def test_g18_an_edit_of_a_model_does_not_reach_what_it_was_made_from(model, tmp_path):
    Model.load(model).save(
        tmp_path / "copy", vocabularies_from=model, lexicon_from=model / "lexicon", vectors_from=model
    )
    before = {path: path.read_bytes() for path in paths(model)}
    for path in paths(tmp_path / "copy"):
        with open(path, "r+b") as file:
            file.write(b"edited")
    assert {path: path.read_bytes() for path in paths(model)} == before


@pytest.mark.parametrize("fault", ["refused", "half", "missing"])
def test_g18_files_are_copied_whole_whatever_the_system_can(tmp_path, monkeypatch, fault):
    system = files.os.copy_file_range if sys.platform == "linux" else None

    def copy(old, new, count):
        if fault == "half" and system is not None:
            return system(old, new, 1000) if files.os.lseek(old, 0, 1) < 2000 else 0
        raise OSError(18, "Invalid cross-device link")

    if fault == "missing":
        monkeypatch.delattr(files.os, "copy_file_range", raising=False)
    else:
        monkeypatch.setattr(files.os, "copy_file_range", copy, raising=False)
    (tmp_path / "old").write_bytes(bytes(range(256)) * 40)
    for old in ("old", "empty"):
        (tmp_path / old).touch()
        files.copy_file(tmp_path / old, tmp_path / "new" / old)
        assert (tmp_path / "new" / old).read_bytes() == (tmp_path / old).read_bytes()
    shutil.rmtree(tmp_path / "new")
