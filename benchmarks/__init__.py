"""Measurements against other word aligners: each module is one command (see README.md here)."""
