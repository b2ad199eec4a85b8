"""The explorer: sentence pairs with their links as one HTML page that needs no network.

:mod:`align.report.pairs` turns pairs, links and reasons into what the page's scripts read,
:mod:`align.report.page` puts template, style, scripts and data together.
"""

from align.report.facts import model_facts, percent
from align.report.page import Fact, Origin, policy, render
from align.report.pairs import Reason, ShownPair, as_json, reasons_of

__all__ = [
    "Fact",
    "Origin",
    "Reason",
    "ShownPair",
    "as_json",
    "model_facts",
    "percent",
    "policy",
    "reasons_of",
    "render",
]
