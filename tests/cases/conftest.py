"""Fixtures of the tests that are named after cases."""

import pytest

from pipeline.run.command import main
from tests.pipeline.stages.embed import test_embed
from tests.pipeline.stages.preprocess.runner import runner

world = test_embed.world


@pytest.fixture
def preprocess(tmp_path):
    """Return a function that runs the preprocess stage by itself on two texts and reads what it left."""
    return runner(tmp_path)


@pytest.fixture
def pipeline(tmp_path, monkeypatch, capsys):
    """Return a function that runs the pipeline in this process: (status, stdout, stderr).

    It is given lines of the section [corpus] and further sections, words of the command line, and files to
    make first in the working folder; results are in the folder ``w``.
    """
    monkeypatch.chdir(tmp_path)

    def call(text, *words, name="c", **files):
        for path, content in files.items():
            (tmp_path / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        head = f'[corpus]\nname = "{name}"\nsource = "en"\ntarget = "fr"\n'
        (tmp_path / f"{name}.toml").write_text(head + text, encoding="utf-8")
        status = main(["--config", f"{name}.toml", "--workdir", "w", "--jobs", "1", *words])
        output = capsys.readouterr()
        return status, output.out, output.err

    return call
