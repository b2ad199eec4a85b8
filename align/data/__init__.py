"""Sentence pairs and where they come from: readers, streams, vocabularies, the corpus as arrays."""
