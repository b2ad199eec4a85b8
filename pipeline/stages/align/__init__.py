"""Stage ``align``."""
