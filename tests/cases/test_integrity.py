"""Bytes that are no longer those that were written: in a model, in a stage's result, in the user's files."""

import json
import os
import shutil
import sys
import time
from fnmatch import fnmatch
from pathlib import Path

import pytest

from align.cli.main import main
from align.core import files
from align.core.errors import InputError
from align.model.aligner import Aligner
from align.model.checksums import CHECKSUMS
from align.model.folder import Model
from align.model.shipped import known_weights
from align.model.weights import Weights
from pipeline.config.configuration import Config
from pipeline.run import runner
from pipeline.run.graph import STAGES
from pipeline.run.listing import plan_lines
from pipeline.run.plan import Settings, closure, plan
from pipeline.work import fingerprint, manifest
from pipeline.work.engine import Local
from pipeline.work.fingerprint import FileHashes
from pipeline.work.stage import Stage
from tests.align import toy
from tests.faults import flips
from tests.runs import begin
from tests.runs import run as pipeline_run


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
    assert all(Weights.load(folder).checked for folder in known_weights())


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


# Results of stages: compared when they are read, made again where they or what they came from are others.


def keep(context):
    """Write the memory there is, in a file that counts, and a record that does not."""
    (context.folder / "memory.txt").write_text(str(context.memory), encoding="utf-8")
    (context.folder / "record.txt").write_text(str(time.monotonic_ns()), encoding="utf-8")
    (context.folder / "large.txt").write_text("large", encoding="utf-8")


def use(context):
    """Read it."""
    made.append(context.stage.name)
    text = (context.inputs["first"] / "memory.txt").read_text(encoding="utf-8")
    (context.folder / "out.txt").write_text(text, encoding="utf-8")


made: list[str] = []
RESULTS = {
    "first": Stage("first", keep, records=("record.txt",)),
    "second": Stage("second", use, needs=("first",), unread=("first/large*",)),
    "third": Stage("third", use, needs=("first", "second")),
}
CONFIG = Config(
    Path("tiny.toml"), {"corpus": {"name": "tiny"}, **{name: {} for name in RESULTS}}, frozenset()
)


@pytest.fixture
def work(tmp_path):
    """Return a function that runs stages and gives the steps that were planned."""

    def run(*names, forced=(), memory=1, dry=False):
        made.clear()
        settings = Settings(workdir=tmp_path / "work", tmp_dir=None, jobs=1, memory=memory, seed=0)
        names = closure(names or ("third",), RESULTS)
        steps = plan(CONFIG, names, RESULTS, settings, forced=frozenset(forced), remember=not dry)
        if not dry:
            runner.run(steps, CONFIG, settings, Local(1))
        return {step.stage.name: step for step in steps}

    run()
    run.latest = tmp_path / "work" / "tiny" / "latest"
    return run


def flip_unseen(path):
    """Change a byte as a bad disk does: the time of the file stays."""
    state = path.stat()
    flip(path, -1)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.parametrize("whole", [False, True])
def test_g08_what_was_made_from_other_bytes_is_stale(work, whole):
    if whole:
        work(forced=["first"], memory=2)
    else:
        work("first", forced=["first"], memory=2)
        assert not (work.latest / "third").exists()
        steps = work(dry=True, memory=2)
        reason = "first made again with other contents"
        assert [(steps[name].state, steps[name].reason) for name in ("second", "third")] == [
            ("stale", reason), ("stale", reason),
        ]  # fmt: skip
        work(memory=2)
    assert made == ["second", "third"]
    assert (work.latest / "third" / "out.txt").read_text(encoding="utf-8") == "2"
    work(memory=2)
    assert made == []


def test_g08_what_was_made_from_the_same_bytes_stays_done(work):
    """The record of how it was made is another."""
    before = (work.latest / "first" / "record.txt").read_bytes()
    steps = work(forced=["first"])
    assert (work.latest / "first" / "record.txt").read_bytes() != before
    assert made == []
    assert (steps["second"].unless, steps["third"].unless) == (("first",), ("first", "second"))
    assert "made again if first comes out otherwise" in "".join(
        plan_lines(CONFIG, [steps["second"]], dry=True)
    )
    assert (work.latest / "third").exists()


def test_g18_a_result_with_another_byte_is_refused_when_it_is_read(work):
    path = work.latest / "first" / "memory.txt"
    flip_unseen(path)
    told = rf"{path.resolve()}: its bytes are not those that were written; make it again \(--stage first --f"
    with pytest.raises(InputError, match=told):
        work(forced=["second"])
    assert made == []
    work("first", forced=["first"])
    work(forced=["second"])
    assert made == ["second"]


def test_g18_a_result_that_was_edited_is_made_again(work):
    flip(work.latest / "first" / "memory.txt", 0)
    steps = work()
    assert steps["first"].reason == "damaged: memory.txt has other bytes than were written"
    assert made == []
    os.utime(work.latest / "first" / "memory.txt")
    assert work()["first"].state == "done"


def test_g18_a_record_or_a_manifest_with_another_byte_is_made_again(work):
    flip_unseen(work.latest / "first" / "record.txt")
    assert work(dry=True)["first"].reason == "damaged: record.txt has other bytes than were written"
    flip_unseen(work.latest / "first" / "manifest.json")
    assert work()["first"].reason == "damaged: manifest.json is not as it was written"
    assert made == []


def test_g18_files_are_read_once_a_run_and_only_those_that_the_stage_reads(work, monkeypatch):
    read = []
    monkeypatch.setattr(manifest, "checksum", lambda path: read.append(path.name) or files.checksum(path))
    work(forced=["second", "third"])
    begin = ["record.txt", "memory.txt", "record.txt"]
    assert read == [*begin, "out.txt", "large.txt", "out.txt"]  # what a stage made is read as it is published


# The user's files: their bytes count, and nothing else of them.

TEXT = "".join(f"word{number} and so on\n" for number in range(30))


def test_g17_text_of_the_same_size_and_time_is_another_text(tmp_path):
    path, store = tmp_path / "text", tmp_path / "hashes.json"
    path.write_text("one", encoding="utf-8")
    os.utime(path, ns=(10**18, 10**18))
    before = FileHashes(store).of(path)
    for _ in range(3):
        path.write_text("two" if path.read_text(encoding="utf-8") == "one" else "one", encoding="utf-8")
        os.utime(path, ns=(10**18, 10**18))
        right = FileHashes(None).of(path)
        assert FileHashes(store, write=False).of(path) == right
        assert FileHashes(store).of(path) == right
        assert right == before or path.read_text(encoding="utf-8") == "two"


def test_g17_a_hash_is_remembered_once_the_file_has_settled(tmp_path, monkeypatch):
    path, store = tmp_path / "text", tmp_path / "hashes.json"
    path.write_text("one", encoding="utf-8")
    hashed = []
    digest = fingerprint.hashlib.file_digest
    monkeypatch.setattr(fingerprint.hashlib, "file_digest", lambda *of: hashed.append(1) or digest(*of))
    for later, count in ((0, 1), (0, 2), (3, 3), (3, 3)):
        monkeypatch.setattr(fingerprint.time, "time", lambda later=later: os.stat(path).st_ctime + later)
        FileHashes(store).of(path)
        assert len(hashed) == count
    flip(store, store.read_bytes().index(b'": [') + 8)
    FileHashes(store).of(path)
    assert len(hashed) == 4


def test_g17_the_run_sees_a_change_as_the_dry_run_does(pipeline, tmp_path):
    text = 'files = ["a.en", "a.fr"]\n'
    assert pipeline(text, "--stage", "download", **{"a.en": TEXT, "a.fr": TEXT})[0] == 0
    state = (tmp_path / "a.en").stat()
    (tmp_path / "a.en").write_text(TEXT.replace("word1 ", "word2 "), encoding="utf-8")
    os.utime(tmp_path / "a.en", ns=(state.st_atime_ns, state.st_mtime_ns))
    told = f"contents changed: {tmp_path / 'a.en'}"
    assert told in pipeline(text, "--stage", "download", "--dry-run")[1]
    assert f"download: running ({told})" in pipeline(text, "--stage", "download")[2]
    assert "download: skipped" in pipeline(text, "--stage", "download")[2]


def test_g17_the_same_data_elsewhere_do_not_run_everything_again(pipeline, tmp_path):
    """Through a symbolic link, in a folder that was moved, under another name."""
    both = 'files = ["data/a.en", "data/a.fr"]\n'
    text = f'{both}[gold]\n{both}links = "data/a.align"\n'
    (tmp_path / "data").mkdir()
    for name, lines in (("a.en", TEXT), ("a.fr", TEXT), ("a.align", "0-0\n" * 30)):
        (tmp_path / "data" / name).write_text(lines, encoding="utf-8")
    words = ("--stage", "preprocess,evaluate", "--dry-run")
    assert pipeline(text, "--stage", "preprocess")[0] == 0
    (tmp_path / "link").symlink_to("data")
    (tmp_path / "other.en").symlink_to("data/a.en")
    for change in (("data/", "link/"), ("data/a.en", "other.en")):
        moved = text.replace(*change)
        dry = pipeline(moved, *words)[1]
        assert "download    run      corpus.files was " in dry
        assert "with the same contents" in dry
        said = pipeline(moved, "--stage", "preprocess")[2]
        assert "download: running (corpus.files was " in said
        assert "preprocess: skipped, done" in said
    (tmp_path / "data").rename(tmp_path / "moved")
    said = pipeline(text.replace("data/", "moved/"), "--stage", "preprocess")[2]
    assert "preprocess: skipped, done" in said
    assert json.loads((tmp_path / "w/c/latest/download/sources.json").read_text(encoding="utf-8"))["corpus"][
        "paths"
    ] == [str(tmp_path / "moved" / name) for name in ("a.en", "a.fr")]


WATCH = """
import os, sys
from dataclasses import replace
from functools import wraps
from pipeline.run import command, graph
stage, opened = [None], set()
def watch(event, args):
    if event == "open" and stage[0] and isinstance(args[0], (str, bytes)):
        opened.add((stage[0], os.fsdecode(args[0])))
sys.addaudithook(watch)
def watched(each):
    @wraps(each.run)
    def run(context, **options):
        stage[0] = each.name
        each.run(context, **options)
        stage[0] = None
    return replace(each, run=run)
graph.STAGES.update({name: watched(each) for name, each in graph.STAGES.items()})
command.main(sys.argv[1:])
with open("opened", "w") as out:
    out.writelines(f"{name} {path}\\n" for name, path in opened)
"""


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["gold", "silver"])
def test_g18_what_a_stage_is_said_not_to_read_it_does_not_open(tmp_path, labels):
    words = ("--jobs", "1", "--set", f"train.labels={labels}")
    assert begin(tmp_path / "work", *words, code=WATCH, cwd=tmp_path).wait() == 0
    root, read = (tmp_path / "work" / "sample").parts, 0
    for line in (tmp_path / "opened").read_text(encoding="utf-8").split("\n")[:-1]:
        stage, _, path = line.partition(" ")
        parts = Path(path).parts
        need, *inside = parts[len(root) :] if parts[: len(root)] == root else ("",)
        if need not in STAGES[stage].needs:
            continue
        name = "/".join([need, *inside[1:]])  # without the fingerprint
        left_out = [each for each in STAGES[stage].unread if fnmatch(name, each)]
        assert not left_out or name.endswith("/manifest.json"), f"{stage} reads {name}"
        read += 1
    assert read


@pytest.mark.slow
def test_g18_flipped_and_cut_bytes_are_never_another_output_in_silence(tmp_path):
    """The command of the harness runs thousands: ``python -m tests.faults.flips``."""
    pipeline_run(tmp_path / "work", "--jobs", "1")
    counts = flips.rounds(30, 5, tmp_path / "work")
    assert sum(counts.values()) == 30
    assert not [outcome for _, outcome in counts if outcome == flips.SILENT or ", not" in outcome]
