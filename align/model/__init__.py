"""A trained aligner: its folder, and how it is used."""
