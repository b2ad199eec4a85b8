"""Loading a model for a command that aligns."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from align.cli.terminal import say
from align.core.kernels import TOLD
from align.model.aligner import Aligner
from align.model.first_use import compiling
from align.model.own_text import EXPECTATION, NoModelWarning
from align.model.shipped import bare_weights, find_model, first_model, known_models, model_of_languages
from align.model.weights import remarks


def chosen_model(model: str | None, languages: tuple[str, str] | None) -> str:
    """Return the model to take: the one given, else that of the languages, else the first that is known.

    One line on stderr says what was chosen.
    """
    if model is not None:
        return model
    name = first_model() if languages is None else model_of_languages(languages)
    reason = "the first that is known" if languages is None else f"for {'-'.join(languages)}"
    say(f"model {name}, {reason}; --model or --languages chooses another")
    return name


def load_aligner(path: str, *, tokenized: bool = False, languages: tuple[str, str] | None = None) -> Aligner:
    """Return the aligner of a model, and say on stderr what there is to say of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoModelWarning)
        aligner = Aligner.load(path, tokenizer="spaces" if tokenized else None, languages=languages)
    if aligner.untrained:
        known = ", ".join(folder.name for folder in known_models()) if languages is None else ""
        say(f"{path}: {EXPECTATION}{f'; or name one that is known: --model {known}' if known else ''}")
    for remark in remarks(aligner.model):
        say(f"{path}: {remark}")
    return aligner


@contextmanager
def first_use_told(path: str) -> Iterator[None]:
    """Tell on stderr of kernels that are compiled meanwhile: at once, and on a terminal how far it is."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    told = []

    def tell(count: int) -> None:
        if count == 1:
            say(TOLD)
        if terminal:
            told.append(count)
            # Back to the start of the line: what is said next stands there instead.
            print(f"{count} kernels\r", end="", file=sys.stderr, flush=True)

    with compiling(bare_weights(path) or find_model(path), tell):
        try:
            yield
        finally:
            if told:
                print(f"{' ' * 20}\r", end="", file=sys.stderr, flush=True)
