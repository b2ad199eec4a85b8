from dataclasses import dataclass

import pytest

from align.core.errors import InputError
from pipeline.config.options import REQUIRED, from_text, from_toml, options_of, takes_also


def example(
    context,
    *,
    lam: float = 0.01,
    passes: int = 50,
    name: str,
    on: bool = True,
    files: list[str] | None = None,
    folds: list[int] | None = None,
    columns: list[int | str] | None = None,
):
    """Do something.

    Parameters
    ----------
    context : object
        Not an option.
    lam : float
        Weight of the
        regulariser, > 0.
    passes, on : int
        Shared meaning.
    name : str
        A name.

    Raises
    ------
    ValueError
        Never.
    """


OPTIONS = options_of(example)


def test_only_keyword_arguments_are_options():
    assert list(OPTIONS) == ["lam", "passes", "name", "on", "files", "folds", "columns"]


def test_default_type_and_meaning_come_from_the_signature():
    assert OPTIONS["lam"].default == 0.01
    assert OPTIONS["lam"].meaning == "Weight of the regulariser, > 0."
    assert OPTIONS["passes"].meaning == OPTIONS["on"].meaning == "Shared meaning."
    assert OPTIONS["name"].default is REQUIRED
    assert OPTIONS["name"].meaning == "A name."
    assert OPTIONS["files"].kind is list
    assert OPTIONS["files"].optional


def test_options_declared_elsewhere_come_after_its_own():
    @takes_also({"lam": OPTIONS["lam"], "name": OPTIONS["name"]})
    def other(*, passes: int = 3, name: str = "mine", **more):
        """Do something else."""

    assert list(options_of(other)) == ["passes", "name", "lam"]
    assert options_of(other)["name"] is OPTIONS["name"]


def test_a_class_has_the_meanings_of_those_it_inherits_from():
    @dataclass(kw_only=True)
    class Base:
        """A base.

        Parameters
        ----------
        width, height : int
            How large.
        """

        width: int = 1
        height: int = 2

    @dataclass(kw_only=True)
    class Flat(Base):
        """Not high.

        Parameters
        ----------
        height : int
            Hardly anything.
        """

        height: int = 0

    found = options_of(Flat)
    assert {name: (each.default, each.meaning) for name, each in found.items()} == {
        "width": (1, "How large."),
        "height": (0, "Hardly anything."),
    }


@pytest.mark.parametrize("kind", [dict[str, int], list[float], list[int | float]])
def test_unsupported_annotation_is_a_fault_of_the_program(kind):
    def odd(*, value: kind):
        """Take a mapping, or a list of other things."""

    with pytest.raises(TypeError, match="cannot be"):
        options_of(odd)


def test_a_list_is_described_by_its_pieces():
    described = [OPTIONS[key].described[0] for key in ("files", "folds", "columns")]
    assert described == ["list of texts", "list of whole numbers", "list of whole numbers or texts"]


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("lam", "1e-3", 1e-3),
        ("lam", "2", 2.0),
        ("passes", "7", 7),
        ("on", "False", False),
        ("name", "a=b", "a=b"),
        ("files", "a.en,b.fr", ["a.en", "b.fr"]),
        ("files", '["a,1.en", "b.fr"]', ["a,1.en", "b.fr"]),
        ("files", "1,2", ["1", "2"]),
        ("folds", "2, 3", [2, 3]),
        ("folds", "[2, 3]", [2, 3]),
        ("columns", "2,fr", [2, "fr"]),
        ("columns", '["en", 3]', ["en", 3]),
    ],
)
def test_texts_take_the_options_type(key, text, value):
    assert from_text(OPTIONS[key], text, "--set x") == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("lam", "big"),
        ("passes", "1.5"),
        ("passes", str(2**63)),
        ("on", "1"),
        ("files", '["a'),
        ("folds", "2,a"),
        ("folds", f"{2**63}"),
    ],
)
def test_wrong_texts_are_refused(key, text):
    with pytest.raises(InputError, match=r"--set x: .* is no .*; give"):
        from_text(OPTIONS[key], text, "--set x")


def test_toml_values_are_checked():
    assert from_toml(OPTIONS["lam"], 1, "f:1") == 1.0
    for key, value in [
        ("lam", True),
        ("passes", 1.0),
        ("passes", -(2**63) - 1),
        ("passes", True),
        ("name", 3),
        ("files", ["a", 1]),
        ("folds", [1, True]),
        ("folds", ["a"]),
        ("columns", [1.5]),
        ("columns", [2**63]),
        ("on", 1),
    ]:
        with pytest.raises(InputError, match="f:1: .* is no "):
            from_toml(OPTIONS[key], value, "f:1")
