"""The links of one pair as a matrix of its words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from align.links import Link
from align.model.adapting import GoldLinks, gold_links

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# By kind: how its marks look. Shapes tell the kinds apart where colours do not.
_MARKS = {
    "sure": {"marker": "s", "facecolors": "tab:blue", "edgecolors": "tab:blue"},
    "possible": {"marker": "s", "facecolors": "none", "edgecolors": "tab:blue"},
    "linked": {"marker": "o", "facecolors": "black", "edgecolors": "black"},
    "right": {"marker": "o", "facecolors": "tab:green", "edgecolors": "tab:green"},
    "wrong": {"marker": "X", "facecolors": "tab:red", "edgecolors": "tab:red"},
    "missed": {"marker": "D", "facecolors": "none", "edgecolors": "tab:orange"},
}


def alignment(
    axes: Axes,
    source: Sequence[str],
    target: Sequence[str],
    links: GoldLinks,
    *,
    gold: GoldLinks | None = None,
) -> Axes:
    """Draw the links of a pair: target words across, source words down.

    Without ``gold`` sure links are filled squares, possible ones empty squares. With it links are filled
    circles where they are right, crosses where they are wrong; sure links of the gold that were not made are
    empty diamonds, possible ones empty squares.

    Parameters
    ----------
    axes : Axes
        Of matplotlib.
    source, target : sequence of str
        The tokens.
    links : str or iterable
        As Pharaoh (``"0-0 1p2"``), or a list of (source token, target token), where a third value False
        makes a link possible only.
    gold : str or iterable, optional
        Links made by hand, likewise.

    Returns
    -------
    Axes
        The one given.

    Raises
    ------
    InputError
        If something is no link.
    """
    for kind, cells in _kinds(links, gold).items():
        if cells:
            rows, columns = zip(*cells, strict=True)
            axes.scatter(columns, rows, s=60, label=kind, zorder=3, **_MARKS[kind])  # type: ignore[arg-type]
    axes.set_xticks(range(len(target)), list(target), rotation=90)
    axes.set_yticks(range(len(source)), list(source))
    width, height = max(len(target), 1), max(len(source), 1)
    axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), aspect="equal")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=True, alpha=0.3)
    axes.set_axisbelow(True)
    return axes


def _kinds(links: GoldLinks, gold: GoldLinks | None) -> dict[str, list[tuple[int, int]]]:
    """Return the cells of each kind, in the order they are drawn in."""
    made = gold_links(links, where="links")
    if gold is None:
        return {kind: _cells(link for link in made if link.sure == sure) for kind, sure in _SURENESS}
    known = gold_links(gold, where="gold")
    true, mine = {(x.source, x.target) for x in known}, {(x.source, x.target) for x in made}
    return {
        "right": _cells(link for link in made if (link.source, link.target) in true),
        "wrong": _cells(link for link in made if (link.source, link.target) not in true),
        "missed": _cells(x for x in known if x.sure and (x.source, x.target) not in mine),
        "possible": _cells(x for x in known if not x.sure and (x.source, x.target) not in mine),
    }


_SURENESS = (("sure", True), ("possible", False))


def _cells(links: Iterable[Link]) -> list[tuple[int, int]]:
    return [(link.source, link.target) for link in links]
