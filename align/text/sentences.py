"""Sentence boundaries within a line: Punkt, trained on the text at hand.

Punkt learns from plain text which words with a full stop are abbreviations and which words begin
sentences [1]_. The abbreviations our tokenizer knows are given to it.

References
----------
.. [1] T. Kiss and J. Strunk, "Unsupervised Multilingual Sentence Boundary Detection", Computational
   Linguistics 32(4), 2006.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from align.text.languages import rules_of

# Characters of text that training reads: abbreviations are learnt by then, and it takes seconds.
SAMPLE_SIZE = 200_000

# Marks that end a sentence by themselves in scripts Punkt does not know: ideographic, Arabic, Urdu,
# Devanagari, Armenian, Ethiopic, with the quotes and brackets that close behind them.
_other_ends = re.compile("[。！？｡؟۔।॥։።]+[\"'”’」』）〕】》]*\\s*(?=\\S)")


class SentenceSplitter:
    """Splits lines of one language to sentences.

    Parameters
    ----------
    language : str
        Language code, for its abbreviations.
    sample : iterable of str
        Lines of the text to be split; those up to `SAMPLE_SIZE` characters train the splitter.
    """

    def __init__(self, language: str, sample: Iterable[str] = ()) -> None:
        # nltk takes a moment to import, and only lines too long to align whole need it.
        from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTrainer

        trainer = PunktTrainer()
        size = 0
        text: list[str] = []
        for line in sample:
            size += len(line)
            if size > SAMPLE_SIZE and text:
                break
            text.append(line)
        trainer.train("\n".join(text), finalize=True)
        parameters: Any = trainer.get_params()
        known = rules_of(language)
        for word in f"{known.abbreviations} {known.numbered}".split():
            parameters.abbrev_types.add(word.lower())
        self._punkt = PunktSentenceTokenizer(parameters)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return start and end of each sentence of a line, in order, without the white space between."""
        spans: list[tuple[int, int]] = []
        for start, stop in self._punkt.span_tokenize(text):
            for end in [*(match.end() for match in _other_ends.finditer(text, start, stop)), stop]:
                if end > start:
                    spans.append((start, start + len(text[start:end].rstrip())))
                    start = end
        return spans
