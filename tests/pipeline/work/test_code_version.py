"""A stage is stale when a module it runs changed, and only then."""

import re
import textwrap

import pytest

from pipeline.run.graph import STAGES
from pipeline.work.code_version import INFRASTRUCTURE, ROOT, modules_of


@pytest.fixture
def project(tmp_path):
    for name, text in {
        "pipeline/stage_one.py": """
            from align import maths
            from pipeline.work.engine import x
            def run(): return maths.f()
        """,
        "align/maths.py": """
            'Words.'
            from align.deep import *
            def f():
                'Say.'
                return 1  # one
        """,
        "align/deep.py": "def g(): return 2",
        "align/other.py": "def h(): return 3",
        "pipeline/work/engine.py": "x = 1",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return tmp_path


def change(project, name, old, new):
    path = project / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_imports_are_followed_at_any_depth_and_infrastructure_is_not(project):
    assert list(modules_of("pipeline.stage_one", root=project)) == [
        "align.deep",
        "align.maths",
        "pipeline.stage_one",
    ]


def test_a_changed_module_is_noticed(project):
    before = modules_of("pipeline.stage_one", root=project)
    change(project, "align/deep.py", "2", "22")
    after = modules_of("pipeline.stage_one", root=project)
    assert {name for name in after if after[name] != before[name]} == {"align.deep"}


def test_modules_of_others_comments_and_docstrings_do_not_count(project):
    before = modules_of("pipeline.stage_one", root=project)
    change(project, "align/other.py", "3", "33")
    change(project, "align/maths.py", "# one", "# still one")
    change(project, "align/maths.py", "Say.", "Say it.")
    change(project, "align/maths.py", "Words.", "Other words.")
    assert modules_of("pipeline.stage_one", root=project) == before


def test_relative_imports_are_followed(project):
    change(project, "align/deep.py", "def g", "from .other import h\ndef g")
    assert "align.other" in modules_of("pipeline.stage_one", root=project)


def test_lazy_imports_of_a_package_do_not_count_for_all_who_import_it(project):
    (project / "align" / "__init__.py").write_text(
        textwrap.dedent(
            """
            from typing import TYPE_CHECKING
            if TYPE_CHECKING:
                from align.other import h
            def __getattr__(name):
                from align.other import h
                return h
            """
        ),
        encoding="utf-8",
    )
    found = modules_of("pipeline.stage_one", root=project)
    assert "align" in found
    assert "align.other" not in found


@pytest.mark.parametrize("stage", ["download", "preprocess"])
def test_a_change_of_the_method_does_not_make_the_text_stale(stage):
    assert not {"align.model.aligner", "align.features", "align.statistics.lexicon"} & set(
        modules_of(f"pipeline.stages.{stage}.stage")
    )


def test_nothing_asks_the_package_for_a_lazy_name():
    for path in [*ROOT.glob("pipeline/**/*.py"), *ROOT.glob("align/**/*.py")]:
        # such a module would not know that it depends on the aligner
        assert not re.search(
            r"^\s*from align import .*Aligner", path.read_text("utf-8").split('"""', 2)[-1], re.M
        )


def test_page_parts_count_with_their_package(project):
    package = project / "align" / "page"
    package.mkdir()
    (package / "__init__.py").write_text("x = 1", encoding="utf-8")
    (package / "style.css").write_text("p {}", encoding="utf-8")
    change(project, "align/deep.py", "def g", "from align.page import x\ndef g")
    before = modules_of("pipeline.stage_one", root=project)
    change(project, "align/page/style.css", "p", "b")
    after = modules_of("pipeline.stage_one", root=project)
    assert {name for name in after if after[name] != before[name]} == {"align.page"}


def test_every_stage_knows_its_method():
    expected = {
        "lexicon": "align.statistics.lexicon",
        "featurize": "align.features",
        "train": "align.solvers.block",
        "align": "align.matching.assignment",
        "evaluate": "align.evaluation.metrics",
        "embed": "align.vectors.mapping",
        "label": "align.learning.silver",
        "preprocess": "align.text.tokenize",
    }
    for name, module in expected.items():
        assert module in modules_of(STAGES[name].run.__module__), (
            f"a change of {module} would not reach {name}"
        )


def test_infrastructure_exists():
    for name in INFRASTRUCTURE:
        assert ROOT.joinpath(*name.split(".")).with_suffix(".py").is_file(), name
