"""Stage ``download``."""
