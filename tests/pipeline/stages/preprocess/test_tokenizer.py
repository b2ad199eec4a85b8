"""The code of a user's own tokenizer is part of what text was made with: its name alone is not."""

import importlib
import json
import sys
from pathlib import Path

import filelock
import pytest

from align.core.errors import WorkError
from align.text.processor import TextProcessor
from pipeline.config import configuration as configs
from pipeline.run import graph, plan
from pipeline.stages.preprocess import shard as preprocess_shard
from pipeline.stages.preprocess import tokenizer as preprocess_tokenizer
from pipeline.stages.preprocess.shard import Settings, Shard, process_shard, sample_hash
from pipeline.stages.preprocess.tokenizer import code_of, own_files

NAME = "liaison_own_tokenizer"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder on the import path with a tokenizer in it; what tests import of it is forgotten."""
    folder = tmp_path / "own"
    folder.mkdir()
    write(folder, f"{NAME}.py", "def cut(text):\n    return text.split()\n")
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("liaison_own"):
            del sys.modules[name]


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    importlib.invalidate_caches()


def names(folder, name):
    return [path.relative_to(folder).as_posix() for path in own_files(name)]


def test_of_a_module_its_file_and_those_beside_it_that_it_imports(own):
    assert names(own, f"{NAME}:cut") == [f"{NAME}.py"]
    write(own, f"{NAME}.py", "import numpy, liaison_own_helper\nfrom liaison_own_package import x\n")
    write(own, "liaison_own_helper.py", "import liaison_own_tokenizer\n")
    write(own, "liaison_own_package/__init__.py", "from . import y\n")
    write(own, "liaison_own_package/y.py", "")
    write(own, "liaison_own_stranger.py", "")
    assert names(own, f"{NAME}:cut") == [
        "liaison_own_helper.py",
        "liaison_own_package/__init__.py",
        "liaison_own_package/y.py",
        f"{NAME}.py",
    ]
    assert len(names(own, "liaison_own_package.y:cut")) == 2


def test_of_an_installed_package_itself_alone():
    folder = Path(filelock.__file__).parent
    assert own_files("filelock._api:cut") == sorted(folder.rglob("*.py"))


@pytest.mark.parametrize(
    "name", ["rules", "jieba", "nltk:TreebankWordTokenizer", "no_such_module:cut", "sys:x"]
)
def test_of_others_none(name):
    assert own_files(name) == []


def test_the_hash_follows_the_code_and_the_versions(own, monkeypatch):
    tokenizers = ["rules", f"{NAME}:cut"]
    first = code_of(tokenizers)
    assert code_of(tokenizers) == first
    assert code_of(["rules", "rules"]) != first
    write(own, f"{NAME}.py", "def cut(text):\n    return list(text)\n")
    assert code_of(tokenizers) != first
    plain = code_of(["jieba"])
    monkeypatch.setattr(preprocess_tokenizer.metadata, "version", lambda package: f"{package} 99")
    assert code_of(["jieba"]) != plain


def test_another_tokenizer_under_the_same_name_makes_the_stage_again(own, tmp_path):
    for code in ("en", "fr"):
        (tmp_path / f"a.{code}").write_text("a line\n", encoding="utf-8")
    (tmp_path / "a.toml").write_text(
        '[corpus]\nname = "a"\nsource = "en"\ntarget = "fr"\nfiles = ["a.en", "a.fr"]\n'
        f'[preprocess]\ntarget_tokenizer = "{NAME}:cut"\n',
        encoding="utf-8",
    )
    config = configs.load(tmp_path / "a.toml", (), graph.SCHEMA)
    settings = plan.Settings(tmp_path / "work", None, 1, 2**30, 0)

    def fingerprints():
        steps = plan.plan(config, ["download", "preprocess"], graph.STAGES, settings, remember=False)
        return [step.folder.name for step in steps]

    first = fingerprints()
    assert fingerprints() == first
    write(own, f"{NAME}.py", "def cut(text):\n    return list(text)\n")
    second = fingerprints()
    assert second[0] == first[0]
    assert second[1] != first[1]


def shard_of(folder, lines, **settings):
    processors = [json.dumps(TextProcessor(language).settings()) for language in ("en", "fr")]
    return Shard(
        0,
        0,
        ("\n".join(lines), "\n".join(lines)),
        [],
        Settings((processors[0], processors[1]), 10, 5.0, True, str(folder), **settings),
    )


def test_a_worker_with_another_tokenizer_says_so(tmp_path):
    preprocess_shard._check_code.cache_clear()
    process_shard(shard_of(tmp_path, ["a b"], code=code_of(["rules", "rules"])))
    with pytest.raises(WorkError, match="the tokenizer of a worker has other code, .* than that of the run"):
        process_shard(shard_of(tmp_path, ["a b"], code="other"))


def test_a_worker_that_sees_another_sample_says_so(tmp_path):
    """Only long lines ask for it."""
    lines = ["One two three four five six. Seven eight nine ten eleven twelve."]
    for side in ("source", "target"):
        (tmp_path / f"sample.{side}.txt").write_text(f"{lines[0]}\n", encoding="utf-8")
    process_shard(shard_of(tmp_path, ["a b"], sample="other"))
    process_shard(shard_of(tmp_path, lines, sample=sample_hash(tmp_path)))
    with pytest.raises(
        WorkError, match="a worker sees other files there than the run does; give a --workdir"
    ):
        process_shard(shard_of(tmp_path, lines, sample="other"))
