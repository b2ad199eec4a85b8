"""Stage ``label``."""
