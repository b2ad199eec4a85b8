"""One self-contained HTML page out of template, style, scripts and data.

All text that comes from a corpus reaches the page in two ways only: through the template, which escapes it,
and as JSON in a data block, which cannot be left by any text in it. The page's Content-Security-Policy
allows exactly its own style and script, by their SHA-256, and nothing from anywhere else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from jinja2 import DictLoader, Environment, StrictUndefined

# Of the package: what runs in the browser.
FOLDER = "browser"

TEMPLATE = "template.html"

STYLES = ("style.css", "desk.css", "views.css")

# In this order: each uses what stands before it.
SCRIPTS = (
    "dom.js",
    "pairs.js",
    "filters.js",
    "annotations.js",
    "counting.js",
    "memory.js",
    "server.js",
    "trouble.js",
    "lines.js",
    "matrix.js",
    "reasons.js",
    "table.js",
    "list.js",
    "form.js",
    "edit.js",
    "charts.js",
    "files.js",
    "picture.js",
    "own.js",
    "upload.js",
    "learning.js",
    "desk.js",
    "summary.js",
    "compare.js",
    "lexicon.js",
    "agreement.js",
    "tabs.js",
    "address.js",
    "keys.js",
    "pair.js",
    "start.js",
)

MODES = ("report", "explorer")


class Fact(NamedTuple):
    """A figure at the top of the page: what it is, its value, and a remark (or empty)."""

    name: str
    value: str
    remark: str = ""


class Origin(NamedTuple):
    """Where one thing comes from: its name, and lines of text."""

    name: str
    lines: Sequence[str]


def render(
    data: Mapping[str, Any],
    *,
    title: str,
    languages: tuple[str, str],
    facts: Sequence[Fact] = (),
    origins: Sequence[Origin] = (),
    mode: str = "report",
    limits: Mapping[str, int] | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    data : mapping
        What :func:`align.report.pairs.as_json` returns; ``gap_curve``, if given, is how the model was
        trained, ``[pass, gap, primal]`` each; a desk's page has ``desk`` and ``token`` as well.
    title : str
        The name of the corpus or the model.
    languages : (str, str)
        Language codes of source and target.
    facts : sequence of Fact
        Figures for the top of the page.
    origins : sequence of Origin
        What the page rests on, folded away at first.
    mode : {"report", "explorer"}
        ``explorer`` has two fields for sentences, which it sends to ``/align`` of the server it came from.
    limits : mapping of str to int, optional
        ``characters``: of a sentence in the explorer.

    Raises
    ------
    ValueError
        If the data hold what is no JSON, or the mode is unknown.
    """
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is none of {', '.join(MODES)}")
    style, script, template = _files()
    return template.render(
        title=title,
        languages=languages,
        facts=facts,
        origins=origins,
        mode=mode,
        limits=limits or {},
        policy=policy(mode),
        style=style,
        script=script,
        data=_safe_json(
            {"mode": mode, "title": title, "languages": languages, "limits": limits or {}, **data}
        ),
    )


def policy(mode: str) -> str:
    """Return the Content-Security-Policy of a page of that mode."""
    style, script, _ = _files()
    connect = "'self'" if mode == "explorer" else "'none'"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "img-src data:",
            f"connect-src {connect}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


@cache
def _files() -> tuple[str, str, Any]:
    """Return the style, the script and the template of this package."""
    folder = resources.files(__package__) / FOLDER
    text = {
        name: (folder / name).read_text(encoding="utf-8").replace("\r\n", "\n")
        for name in (TEMPLATE, *STYLES, *SCRIPTS)
    }
    environment = Environment(
        loader=DictLoader({TEMPLATE: text[TEMPLATE]}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = ("\n".join(text[name] for name in names) for names in (STYLES, SCRIPTS))
    return style, f'"use strict";\n(() => {{\n{script}}})();\n', environment.get_template(TEMPLATE)


def _digest(text: str) -> str:
    """Return the hash by which a policy names an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _safe_json(value: Any) -> str:
    r"""Return JSON that can stand in a script element: no text can end the element or open a comment.

    ``<``, ``>`` and ``&`` are written as ``\u003c`` and so on, which in JSON is the same text.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text
