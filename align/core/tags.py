"""Language tags, as they are compared."""

from __future__ import annotations

import re

# Scripts as POSIX names them, and their codes.
_SCRIPTS = {"latin": "latn", "cyrillic": "cyrl", "devanagari": "deva", "arabic": "arab"}


def comparable(tag: str) -> str:
    """Return a tag as it is compared: ``zh_CN`` is ``zh-cn``, ``sr@latin`` is ``sr-latn``.

    Parameters
    ----------
    tag : str
        Of BCP 47 (``sr-Latn``) or of POSIX (``sr@latin``), in any case.
    """
    language, *rest = re.split("[-_@]", tag.lower())
    return "-".join([language, *(_SCRIPTS.get(part, part) for part in rest)])


def is_variant(tag: str, wanted: str) -> bool:
    """Tell whether a tag names the wanted language or a variant of it (``en-GB`` of ``en``)."""
    found, wanted = comparable(tag), comparable(wanted)
    return found == wanted or found.startswith(wanted + "-")
