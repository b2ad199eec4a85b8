"""The pages of docs/ that are made from the code: ``python -m tests.made_pages`` writes them.

The glossary of features from :mod:`align.report.meanings`; the reference of the library, a page a package,
from signatures and docstrings.
"""

import enum
import importlib
import inspect
import re
from pathlib import Path

from align.features.groups import GROUPS
from align.report.meanings import FEATURE_WORDS, GROUP_WORDS

DOCS = Path(__file__).resolve().parent.parent / "docs"

# What a name stands in for.
FILLED, CODE = re.compile("(<.*?>)"), r"`\1`"

GLOSSARY = """# Features in plain words

Every possible link of a sentence pair gets some hundred numbers, its *features*. The score of the link is
their sum, each times a weight that was learnt; `liaison explain` and the page of a run show the largest
shares of it, in the words that stand here. A share above 0 speaks for the link, one below 0 against it:
whether a large value is for or against is up to the weight. Values lie between about -1 and 1, by fixed
formulas that the code states (`fill` in `align/features/`).

A *rival* of a word is another word of its sentence. The *lead* of a link is its number less that of the
best link that one of its two words could have instead: below 0 where a rival is ahead.

Made from the code by `python -m tests.made_pages`.
"""

API = {
    "aligner": ("Aligner", ["align"]),
    "links": ("Links and their formats", ["align.links"]),
    "evaluation": ("Error rates", ["align.evaluation.metrics", "align.evaluation.agreement"]),
    "estimators": ("Estimators", ["align.estimators"]),
    "plot": ("Drawings", ["align.plot"]),
    "features": ("Features", ["align.features", "align.report.meanings", "align.report.why"]),
    "matching": (
        "Best links",
        [
            "align.matching.assignment",
            "align.matching.fertility",
            "align.matching.quadratic",
            "align.matching.rivals",
        ],
    ),
    "solvers": (
        "Solvers",
        [
            "align.solvers",
            "align.solvers.generic.away_steps",
            "align.solvers.generic.curvature",
            "align.solvers.generic.geometry",
        ],
    ),
    "problems": (
        "Problems",
        [
            "align.problems.protocol",
            "align.problems.objective",
            "align.problems.matching",
            "align.problems.multilabel",
            "align.problems.attractive",
            "align.problems.polytopes",
            "align.problems.flows",
            "align.problems.sequences",
            "align.problems.triplets",
            "align.problems.approximate",
        ],
    ),
    "model": ("Model folders", ["align.model.folder", "align.model.shipped"]),
    "text": ("Text", ["align.text.processor", "align.text.normalise", "align.data.bitext"]),
    "vectors": ("Word vectors", ["align.vectors.vec", "align.vectors.mapping", "align.vectors.dictionary"]),
}


def glossary():
    """Return the page of features."""
    about = {name: group.meaning for name, group in GROUPS.items()}
    text = GLOSSARY
    for group, features in FEATURE_WORDS.items():
        title = {"words": "Words with several links"}.get(group, f"`{group}`")
        text += f"\n## {title}\n\n{GROUP_WORDS[group]}\n"
        if group in about:
            text += f"\nIn the words of the code: {about[group]}.\n"
        text += "\n| feature | in plain words |\n| --- | --- |\n"
        text += "".join(f"| `{name}` | {FILLED.sub(CODE, words)} |\n" for name, words in features.items())
    return text


def api(title, modules):
    """Return the page of some modules."""
    text = f"# {title}\n"
    for name in modules:
        module = importlib.import_module(name)
        text += f"\n## {name}\n\n{prose(inspect.getdoc(module))}\n"
        for each, thing in sorted(public(module).items()):
            text += entry(f"### `{each}`", each, thing)
            if inspect.isclass(thing):
                for method, function in members(thing):
                    text += entry(f"#### `{each}.{method}`", f".{method}", function)
    return text


def public(module):
    """Return the functions and classes that a module offers."""
    names = getattr(module, "__all__", None) or [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    ]
    found = {name: getattr(module, name) for name in names}
    return {
        name: thing for name, thing in found.items() if inspect.isclass(thing) or inspect.isfunction(thing)
    }


def members(thing):
    """Yield the methods and properties that a class itself has and documents."""
    for name, member in vars(thing).items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function) and function.__doc__:
            yield name, member if isinstance(member, property) else function


def entry(heading, name, thing):
    """Return what the page says of a function, class, method or property."""
    called = f"\n`{signature(name, thing)}`\n" if is_called(thing) else ""
    return f"\n{heading}\n{called}\n{prose(inspect.getdoc(thing) or '')}\n"


def is_called(thing):
    """Return whether a reader calls it with arguments."""
    if inspect.isclass(thing):
        return not (issubclass(thing, Exception | enum.Enum) or getattr(thing, "_is_protocol", False))
    return not isinstance(thing, property)


def signature(name, thing):
    """Return how it is called; types stand with the meanings of the arguments."""
    found = inspect.signature(thing)
    bare = [
        each.replace(annotation=inspect.Parameter.empty, default=shown(each.default))
        for each in found.parameters.values()
        if each.name not in ("self", "cls")
    ]
    return name + str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


class Something:
    """What a default is that no line has room for."""

    def __repr__(self):
        return "..."


def shown(default):
    """Return a default that is a plain value or none, something else for others."""
    plain = default is inspect.Parameter.empty or isinstance(default, str | int | float | tuple | None)
    return default if plain and len(repr(default)) < 60 else Something()


def prose(text):
    """Return a docstring as Markdown: sections as headings in bold, what is listed as lists."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text.replace("``", "`"))
    text = re.sub(r"(\[\d+\])_", r"\1", re.sub(r"^\.\. (\[\d+\])", r"\1", text, flags=re.M))
    text = "\n".join(line if line.startswith("    ") else escaped(line) for line in text.split("\n"))
    head, *parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.M)
    for title, inside in zip(parts[::2], parts[1::2], strict=True):
        listed = title not in ("Notes", "References", "Examples")
        head += f"\n**{title}**\n\n{items(inside) if listed else inside}"
    return re.sub(r"\n{3,}", "\n\n", head).strip()


def escaped(line):
    """Return a line whose signs are no marks of Markdown, but for code and what begins an item."""
    parts = re.split(r"(`[^`]*`)", line)
    parts[::2] = [re.sub(r"(?<=\S)\*|\*(?=\S)", r"\*", part).replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts)


def items(text):
    """Return a section of names and meanings as a list."""
    found = []
    for line in text.strip("\n").split("\n"):
        if line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            found.append(f"- `{name}`" + (f" ({kind})" if kind else ""))
        elif line.strip():
            found.append(f"  {line.strip()}")
    return "\n".join(found) + "\n"


def pages():
    """Return the text of each page that is made, by its path."""
    found = {DOCS / "features.md": glossary()}
    for name, (title, modules) in API.items():
        found[DOCS / "api" / f"{name}.md"] = api(title, modules)
    return found


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
