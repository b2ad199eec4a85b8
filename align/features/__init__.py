"""Features of the possible links of sentence pairs: a table of named groups, compiled kernels."""

from align.features.edges import Edges, Extra
from align.features.groups import (
    BIAS,
    DEFAULT_GROUPS,
    GROUPS,
    Group,
    compute,
    compute_parts,
    feature_names,
    pair_shapes,
    parse_groups,
    score_parts,
)
from align.features.resources import Resources
from align.features.word_features import DEFAULT_EXTRA_GROUPS, EXTRA_GROUPS, extra_names, parse_extra_groups

__all__ = [
    "BIAS",
    "DEFAULT_EXTRA_GROUPS",
    "DEFAULT_GROUPS",
    "EXTRA_GROUPS",
    "GROUPS",
    "Edges",
    "Extra",
    "Group",
    "Resources",
    "compute",
    "compute_parts",
    "extra_names",
    "feature_names",
    "pair_shapes",
    "parse_extra_groups",
    "parse_groups",
    "score_parts",
]
