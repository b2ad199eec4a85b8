"""Stage ``download``: get the corpus, the vectors and the gold, or take note of where they are.

Leaves ``sources.json``; what was fetched is in the stage's folder (by hard link to the downloads all corpora
share, where the disk allows it), what was on the disk already is only named. See :func:`load`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from align.core.errors import InputError, LiaisonError, WorkError
from align.core.ragged import SIDES
from align.data.bitext import LINE_LIMIT
from align.data.streams import open_file, open_text, open_unpacked, packing_of
from pipeline.config.options import above, at_least
from pipeline.config.places import check_place, europarl_urls, vectors_place
from pipeline.config.sections import CorpusOptions, corpus_options, gold_options, vectors_options
from pipeline.stages.download.archives import extract_one, extract_pair, unpack
from pipeline.stages.download.fetch import Fetcher, WrongHashError, file_name
from pipeline.stages.download.members import archive_kind
from pipeline.stages.download.take import Taken, Taker
from pipeline.work.publish import write_json
from pipeline.work.stage import StageContext

SOURCES = "sources.json"

# How a fastText model begins (its magic number, little-endian).
FASTTEXT_MARK = (793712314).to_bytes(4, "little")

_VECTORS_KEYS = ("source", "target", "dictionary")
_CORPUS_KEYS = ("source", "target", "files", "url", "tsv", "tmx", "joint", "sha256")


def run(
    context: StageContext,
    *,
    retries: Annotated[int, at_least(0)] = 5,
    timeout: Annotated[float, above(0)] = 30.0,
    backoff: Annotated[float, at_least(0)] = 1.0,
    mirror: str | None = None,
    accept_changed: bool = False,
) -> None:
    """Fetch what the configuration names, go on with cut downloads, check everything to its end.

    Parameters
    ----------
    context : StageContext
        Gives the folder to fill, and the sections [corpus], [vectors] and [gold].
    retries : int
        Further tries of a download after one that failed without getting on, >= 0.
    timeout : float
        Seconds without a byte after which a try has failed, > 0.
    backoff : float
        Seconds before the first further try, doubled each time up to 60, >= 0.
    mirror : str, optional
        Where to look first for Europarl's archives (``fr-en.tgz``): a folder or its URL.
    accept_changed : bool
        Take a file whose hash is not corpus.sha256, with a word about it.

    Raises
    ------
    InputError
        If a file given is missing, empty, no text or an unsafe archive.
    WorkError
        If something cannot be fetched or is damaged.
    """
    if mirror is not None:
        check_place("download.mirror", mirror)
    for left in context.folder.iterdir():
        # What a killed run left here is made again; its downloads are elsewhere, and are gone on with.
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    fetcher = Fetcher(
        cache=context.workdir / "downloads",
        retries=retries,
        timeout=timeout,
        backoff=backoff,
        accept_changed=accept_changed,
        say=context.say,
        progress=context.progress,
    )
    taker = Taker(context.folder, fetcher)
    # The section's own checks were made when it was read; its name does not matter here.
    corpus = corpus_options(name="corpus", **{key: context.option(f"corpus.{key}") for key in _CORPUS_KEYS})
    found = {
        "corpus": _europarl(taker, corpus, mirror) if corpus.kind == "europarl" else _corpus(taker, corpus),
        "vectors": _vectors(taker, corpus, {key: context.option(f"vectors.{key}") for key in _VECTORS_KEYS}),
        "gold": _gold(taker, {key: context.option(f"gold.{key}") for key in ("files", "links")}),
    }
    write_json(context.folder / SOURCES, found)
    context.note("origins", taker.origins)


def load(folder: Path) -> dict[str, Any]:
    """Read what :func:`run` found, with all paths absolute.

    Parameters
    ----------
    folder : Path
        The stage's folder.

    Returns
    -------
    dict
        ``corpus``: ``kind`` (of :data:`align.data.bitext.KINDS`), ``paths``, ``sha256`` (of the files as they
        were given or fetched: one of an archive). ``vectors``: ``source``, ``target``, ``dictionary``, each
        a path or None. ``gold``: ``files`` and ``links``, or None.
    """
    found: dict[str, Any] = json.loads((folder / SOURCES).read_text(encoding="utf-8"))

    def absolute(path: str | None) -> str | None:
        return None if path is None else str(folder.absolute() / path)

    found["corpus"]["paths"] = [absolute(path) for path in found["corpus"]["paths"]]
    found["vectors"] = {key: absolute(path) for key, path in found["vectors"].items()}
    if found["gold"] is not None:
        gold = found["gold"]
        found["gold"] = {
            "files": [absolute(path) for path in gold["files"]],
            "links": absolute(gold["links"]),
        }
    return found


def _corpus(taker: Taker, corpus: CorpusOptions) -> dict[str, Any]:
    """Take the corpus from the places given."""
    key = f"corpus.{corpus.kind}"
    takens = [taker.take(key, place, sha256=corpus.sha256) for place in corpus.places]
    if corpus.kind == "files":
        kept = [taker.keep(taken, f"corpus.{side}") for taken, side in zip(takens, SIDES, strict=True)]
        return _described("files", kept, takens)
    if corpus.kind == "joint" or taker.checked(takens[0], archive_kind) is None:
        kind = corpus.kind if corpus.kind != "url" else taker.checked(takens[0], _kind_of_text)
        return _described(kind, [taker.keep(takens[0], "corpus")], takens)
    if corpus.kind == "url":
        return _described("files", _unpacked_pair(taker, takens[0], corpus), takens)
    folder, progress = taker.folder, taker.progress
    target = folder / f"corpus.{corpus.kind}"
    taker.checked(takens[0], lambda path: extract_one(path, target, f".{corpus.kind}", progress=progress))
    return _described(corpus.kind, [target.name], takens)


def _europarl(taker: Taker, corpus: CorpusOptions, mirror: str | None) -> dict[str, Any]:
    """Take Europarl from the first place that gives a whole archive."""
    places = europarl_urls(corpus.source, corpus.target)
    if mirror is not None:
        places.insert(0, f"{mirror.rstrip('/')}/{file_name(places[0])}")
    failures = []
    for place in places:
        try:
            taken = taker.take("corpus", place, sha256=corpus.sha256)
            return _described("files", _unpacked_pair(taker, taken, corpus), [taken])
        except WrongHashError:
            raise
        except LiaisonError as error:
            failures.append(str(error))
            taker.fetcher.say(f"{error}" + ("" if place == places[-1] else "; trying the next place"))
    raise WorkError(
        f"corpus: Europarl {corpus.source}-{corpus.target} cannot be had from {len(places)} places (last: "
        f"{failures[-1]}); try later, or set corpus.url"
    )


def _unpacked_pair(taker: Taker, taken: Taken, corpus: CorpusOptions) -> list[str]:
    languages = corpus.source, corpus.target
    folder, progress = taker.folder, taker.progress
    pair = taker.checked(taken, lambda path: extract_pair(path, folder, languages, progress=progress))
    return [path.name for path in pair]


def _vectors(taker: Taker, corpus: CorpusOptions, values: dict[str, Any]) -> dict[str, str | None]:
    """Take the vectors and the dictionary, as far as there are any."""
    options = vectors_options(**values)
    found: dict[str, str | None] = dict.fromkeys(_VECTORS_KEYS)
    for key, language in (("source", corpus.source), ("target", corpus.target)):
        value = getattr(options, key)
        if value is not None:
            place = vectors_place(value, language)
            taken = taker.take(f"vectors.{key}", place, hashed=False)
            found[key] = _vector_file(taker, taken, f"vectors.{key}", place)
    if options.dictionary is not None:
        taken = taker.take("vectors.dictionary", options.dictionary, hashed=False)
        found["dictionary"] = taker.keep(taken, "dictionary")
    return found


def _vector_file(taker: Taker, taken: Taken, role: str, place: str) -> str:
    """Return a file of vectors that can be read: text packed or not, a binary model unpacked."""
    folder, progress = taker.folder, taker.progress
    if taker.checked(taken, archive_kind) is not None:
        ending = ".vec" if place.endswith((".vec.zip", ".vec.tgz", ".vec.tar.gz")) else ".bin"
        target = folder / f"{role}{ending}"
        taker.checked(taken, lambda path: extract_one(path, target, ending, progress=progress))
        return target.name
    if taker.checked(taken, _is_packed_model):
        target = folder / f"{role}.bin"
        taker.checked(taken, lambda path: unpack(path, target, progress=progress))
        return target.name
    return taker.keep(taken, role)


def _gold(taker: Taker, values: dict[str, Any]) -> dict[str, Any] | None:
    options = gold_options(**values)
    if options.links is None:
        return None
    kept = [
        taker.keep(taker.take("gold.files", place, hashed=False), f"gold.{side}")
        for place, side in zip(options.files, SIDES, strict=True)
    ]
    taken = taker.take("gold.links", options.links, hashed=False)
    return {"files": kept, "links": taker.keep(taken, "gold.links")}


def _described(kind: str, paths: Sequence[str], takens: Sequence[Taken]) -> dict[str, Any]:
    return {"kind": kind, "paths": list(paths), "sha256": [taken.sha256 for taken in takens]}


def _is_packed_model(path: Path) -> bool:
    """Tell whether a file is a packed binary fastText model."""
    with open_file(path) as file:
        packed = packing_of(file.read(8)) is not None
    if not packed:
        return False
    with open_unpacked(path) as stream:
        return stream.peek(4)[:4] == FASTTEXT_MARK


def _kind_of_text(path: Path) -> str:
    """Tell the kind of a bitext in a single file from its first line."""
    with open_text(path) as stream:
        line = stream.readline(LINE_LIMIT).lstrip(b"\xef\xbb\xbf")
    if line.startswith((b"<?xml", b"<tmx", b"\xff\xfe", b"\xfe\xff")):
        return "tmx"
    if line.count(b"\t") == 1:
        return "tsv"
    if line.count(b" ||| ") == 1:
        return "joint"
    raise InputError(
        f"{path}: neither an archive nor TMX, TSV or 'source ||| target' lines; give corpus.files"
    )
