"""Align a text with sil-thot, both ways: ``python thot_program.py MODEL SOURCE TARGET FORWARD REVERSE``.

It is run by the interpreter of the environment that sil-thot is in, and imports nothing of Liaison. The
rounds of training are those that sil-machine, the library its authors give to users, has as defaults;
IBM model 4 gets no word classes, as there. The links are those found in training. The files of
links have one line a pair, source token first in both directions.
"""

import sys
from importlib import import_module
from typing import Any

# For each model the classes, each made from the one before it, and the rounds of training of each.
# The schedule of eflomal's model is its own.
SCHEDULES = {
    "fast-align": (("FastAlignModel", 4),),
    "hmm": (("Ibm1AlignmentModel", 5), ("HmmAlignmentModel", 4)),
    "ibm4": (
        ("Ibm1AlignmentModel", 5),
        ("HmmAlignmentModel", 5),
        ("Ibm3AlignmentModel", 5),
        ("Ibm4AlignmentModel", 4),
    ),
    "eflomal": (("EflomalAlignmentModel", None),),
}


def sentences(path: str) -> list[list[str]]:
    """Return the words of every line."""
    with open(path, encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n").split(" ") for line in lines]


def links(name: str, sources: list[list[str]], targets: list[list[str]]) -> list[list[tuple[int, int]]]:
    """Train a model that gives each target word at most one source word; return these links of each pair."""
    library = import_module("thot.alignment")
    models: list[tuple[Any, int | None]] = []
    for kind, rounds in SCHEDULES[name]:
        models.append((getattr(library, kind)(*(model for model, _ in models[-1:])), rounds))
    last = models[-1][0]
    last.variational_bayes = name == "fast-align"
    for source, target in zip(sources, targets, strict=True):
        last.add_sentence_pair(source, target, 1)
    last.emit_training_alignments = True
    for model, rounds in models:
        model.start_training()
        for _ in range(model.scheduled_iterations if rounds is None else rounds):
            model.train()
        model.end_training()
    found = []
    for pair in range(len(sources)):
        _, matrix = last.get_training_alignment(pair)
        # The source word of each target word, from 1; 0 for none.
        found.append([(word - 1, place) for place, word in enumerate(matrix.to_list()) if word])
    return found


def main() -> None:
    """Write the links of both directions."""
    name, source, target, forward, reverse = sys.argv[1:]
    sources, targets = sentences(source), sentences(target)
    found = links(name, sources, targets)
    write(forward, found)
    found = [[(second, first) for first, second in pairs] for pairs in links(name, targets, sources)]
    write(reverse, found)


def write(path: str, found: list[list[tuple[int, int]]]) -> None:
    """Write the links of each pair on a line, counted from 0."""
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for pairs in found:
            out.write(" ".join(f"{source}-{target}" for source, target in sorted(pairs)) + "\n")


if __name__ == "__main__":
    main()
