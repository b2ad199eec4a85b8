"""Features of the possible links of sentence pairs: a table of named groups, compiled kernels."""

from align.features.block import PairBlock, Resources
from align.features.edges import Edges, WordFeatures, parse_groups
from align.features.groups import (
    BIAS,
    DEFAULT_GROUPS,
    GROUPS,
    Group,
    compute,
    compute_rows,
    feature_names,
    likely_edges,
    score_blocks,
)
from align.features.word_features import (
    DEFAULT_WORD_GROUPS,
    WORD_GROUPS,
    word_feature_names,
)

__all__ = [
    "BIAS",
    "DEFAULT_GROUPS",
    "DEFAULT_WORD_GROUPS",
    "GROUPS",
    "WORD_GROUPS",
    "Edges",
    "Group",
    "PairBlock",
    "Resources",
    "WordFeatures",
    "compute",
    "compute_rows",
    "feature_names",
    "likely_edges",
    "parse_groups",
    "score_blocks",
    "word_feature_names",
]
