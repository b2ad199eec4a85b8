"""Features of the possible links of sentence pairs: a table of named groups, compiled kernels."""

from align.features.edges import Edges, edge_offsets
from align.features.groups import (
    BIAS,
    DEFAULT_GROUPS,
    GROUPS,
    Group,
    compute,
    feature_names,
    parse_groups,
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
    "edge_offsets",
    "feature_names",
    "parse_groups",
]
