"""Loading a model for a command that aligns."""

from __future__ import annotations

from align.cli.terminal import say
from align.model.aligner import Aligner
from align.model.weights import remarks


def load_aligner(path: str, *, tokenized: bool = False) -> Aligner:
    """Return the aligner of a model, and say on stderr what there is to say of it."""
    aligner = Aligner.load(path, tokenizer="spaces" if tokenized else None)
    for remark in remarks(aligner.model):
        say(f"{path}: {remark}")
    return aligner
