"""Stage ``train``."""
