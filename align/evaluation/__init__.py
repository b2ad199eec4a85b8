"""How good links are: the alignment error rate and its intervals."""
