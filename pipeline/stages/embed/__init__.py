"""Stage ``embed``."""
