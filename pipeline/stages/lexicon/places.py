"""Where the stage ``lexicon`` reads its text, leaves its results, and keeps unfinished work."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from align.core.errors import InputError
from pipeline.work.stage import StageContext

# Beside the tables: expected links, and posteriors of the corpus and of the gold text; unfinished work.
LINKS, POSTERIORS = "links", "posteriors"
CORPUS, GOLD = "corpus", "gold"
WORK = "sampling"


def text_folders(context: StageContext) -> list[Path]:
    """Return where the corpus is and, where its text joins the corpus, the gold text."""
    folder = context.inputs["preprocess"]
    joins = context.option("gold.in_corpus") and (folder / GOLD).is_dir()
    return [folder / CORPUS, *([folder / GOLD] if joins else [])]


def no_pair(context: StageContext) -> InputError:
    """Return the error where no pair may be counted, with the reasons."""
    folder = context.inputs["preprocess"]
    told = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    reasons = ", ".join(f"{name} {count}" for name, count in told["rejects"].items()) or "nothing"
    return InputError(
        f"{folder / 'rejects.tsv'}: 0 usable pairs to learn from, of {told['pairs']} (reported: {reasons}); "
        "give text that is translated"
    )


def clear_work(folder: Path) -> None:
    """Remove the unfinished work in a folder; whatever happens meanwhile, it is there whole or not."""
    ended = folder / f"{WORK}.ended"
    shutil.rmtree(ended, ignore_errors=True)
    if (folder / WORK).exists():
        os.rename(folder / WORK, ended)
        # On a network disk a file that a worker still reads keeps its folder: no reason to fail at the end.
        shutil.rmtree(ended, ignore_errors=True)
