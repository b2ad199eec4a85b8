"""Structured problems as a solver sees them, and their objective."""
