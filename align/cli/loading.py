"""Loading a model for a command that aligns."""

from __future__ import annotations

from align.cli.terminal import say
from align.model.aligner import Aligner
from align.model.weights import missing_note


def load_aligner(path: str, *, tokenized: bool = False) -> Aligner:
    """Return the aligner of a model, and say on stderr which features it has no weight of."""
    aligner = Aligner.load(path, tokenizer="spaces" if tokenized else None)
    if aligner.model.missing:
        say(f"{path}: {missing_note(aligner.model.missing)}")
    return aligner
