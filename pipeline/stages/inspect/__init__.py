"""Stage ``inspect``."""
