"""Alignment links of sentence pairs, and the text formats they are kept in.

In memory an alignment is a sorted ``list[Link]`` without duplicates, 0-based, source first. The formats:

========  ==========================  =====  ================================================
name      one link                    base   holds
========  ==========================  =====  ================================================
pharaoh   ``0-0`` ``1p2`` ``0-0:0.9``  0, 1   sure and possible, scores (``talp`` is the same)
berkeley  ``0-0`` ``2-1-P``           0      target first; sure and possible
wpt       ``0001 1 1 S``              1      sure and possible, scores; no pair without links
giza      ``NULL ({ }) the ({ 1 })``  1      tokens (read only)
tmx       ``0-0 1p2`` in a ``prop``   0      tokens, sure and possible, scores
jsonl     JSON objects                0      tokens, sure and possible, scores
nltk      ``0-0``                     0      links only
========  ==========================  =====  ================================================
"""

from align.links.bases import Base, detect_base, in_other_base, rebased
from align.links.formats import FORMATS, Format, find_format, read, read_file, read_text, write
from align.links.link import (
    AlignedPair,
    Link,
    Written,
    check_bounds,
    check_pair,
    format_link,
    inside,
    swapped,
    tidy,
)
from align.links.pharaoh import format_berkeley, format_pharaoh, parse_berkeley, parse_pharaoh

__all__ = [
    "FORMATS",
    "AlignedPair",
    "Base",
    "Format",
    "Link",
    "Written",
    "check_bounds",
    "check_pair",
    "detect_base",
    "find_format",
    "format_berkeley",
    "format_link",
    "format_pharaoh",
    "in_other_base",
    "inside",
    "parse_berkeley",
    "parse_pharaoh",
    "read",
    "read_file",
    "read_text",
    "rebased",
    "swapped",
    "tidy",
    "write",
]
