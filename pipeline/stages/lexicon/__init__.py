"""Stage ``lexicon``."""
