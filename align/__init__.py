"""Word alignment for bilingual text, learnt by max-margin matching.

The library half of Liaison: arrays and text in, arrays and links out. It prints nothing, keeps no
global state and knows nothing of the pipeline that drives it.
"""

from typing import TYPE_CHECKING, Any

from align.core.version import __version__

if TYPE_CHECKING:
    from align.estimators import MatchingSSVM
    from align.model.aligner import Aligner

__all__ = ["Aligner", "MatchingSSVM", "__version__"]


def __getattr__(name: str) -> Any:
    """Import what is asked for at the first time: it brings the compiler, which the formats do without."""
    if name == "Aligner":
        from align.model.aligner import Aligner

        return Aligner
    if name == "MatchingSSVM":
        from align.estimators import MatchingSSVM

        return MatchingSSVM
    raise AttributeError(f"module 'align' has no attribute {name!r}")
