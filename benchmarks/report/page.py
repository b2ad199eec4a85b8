"""The page: sections of text, tables and figures, as HTML and as Markdown."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

from benchmarks.figures import Table, markdown


@dataclass
class Section:
    """A part of the page."""

    key: str  # its name on the command line
    title: str
    command: str = ""
    parts: list[tuple[str, Any]] = field(default_factory=list)  # kind: text, table, figure; and what it is
    values: dict[str, Any] = field(default_factory=dict)  # for the JSON, and for the conclusions

    def text(self, words: str) -> None:
        """Add a paragraph."""
        self.parts.append(("text", words))

    def table(self, rows: Table, caption: str = "") -> None:
        """Add a table, its cells by column."""
        self.parts.append(("table", (caption, rows)))

    def figure(self, figure: Any, caption: str) -> None:
        """Add a figure of matplotlib."""
        self.parts.append(("figure", (caption, png(figure))))

    def markdown(self) -> str:
        """Return title, text and tables; of figures what they show."""
        lines = [f"## {self.title}\n", f"    {self.command}\n"]
        for kind, what in self.parts:
            if kind == "text":
                lines.append(f"{what}\n")
            elif kind == "table":
                lines.append((f"{what[0]}\n\n" if what[0] else "") + markdown(what[1]))
        return "\n".join(lines)


def png(figure: Any) -> bytes:
    """Return a figure as a PNG file, the same bytes for the same figures."""
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def columns_of(rows: Table) -> list[str]:
    """Return the columns that any row has, in order."""
    return list(dict.fromkeys(name for row in rows for name in row))


def data_uri(content: bytes) -> str:
    """Return a PNG file as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"


def html(title: str, told: dict[str, Any], conclusions: list[str], sections: list[Section]) -> str:
    """Return the whole page; it needs no other file."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"columns": columns_of, "data_uri": data_uri}
    page = environment.get_template("page.html.jinja")
    return page.render(title=title, told=told, conclusions=conclusions, sections=sections) + "\n"
