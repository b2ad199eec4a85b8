"""Features of the possible links of sentence pairs: a table of named groups, compiled kernels."""

from align.features.edges import Edges, edge_offsets
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

__all__ = [
    "BIAS",
    "DEFAULT_GROUPS",
    "GROUPS",
    "Edges",
    "Group",
    "Resources",
    "compute",
    "compute_parts",
    "edge_offsets",
    "feature_names",
    "pair_shapes",
    "parse_groups",
    "score_parts",
]
