"""Stage ``preprocess``."""
