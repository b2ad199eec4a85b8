"""Word vectors: read, trained, and turned into one space."""
