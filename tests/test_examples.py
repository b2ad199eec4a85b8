"""The scripts of docs/examples/ print what they say they do."""

import ast
import os
import re

import pytest

from tests import prepared
from tests.pages import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


def test_there_are_some_and_a_page_leads_to_each():
    assert EXAMPLES
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "howto").glob("*.md"))
    assert [path.name for path in EXAMPLES if f"../examples/{path.name})" not in text] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_it_prints_what_it_shows(path, tmp_path):
    shown = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    lines = [line[4:] for line in shown.split("\n") if line.startswith("    ")]
    assert lines.pop(0) == f"python {path.relative_to(ROOT)}"
    done = prepared.run([str(path)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    printed = done.stdout.rstrip("\n").split("\n")
    number = re.compile(r"\d+\.?\d*")
    assert [number.sub("N", line) for line in printed] == [number.sub("N", line) for line in lines]
    for mine, its in zip(number.findall(done.stdout), number.findall("\n".join(lines)), strict=True):
        # another processor may sum in another order
        assert float(mine) == pytest.approx(float(its), abs=0.001 if "." in mine else 1)
