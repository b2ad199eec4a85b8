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
from align.vectors.rows import MAGIC, text_dimension
from pipeline.config.input_sections import (
    CorpusOptions,
    GoldOptions,
    VectorsOptions,
    corpus_options,
    gold_options,
    vectors_options,
)
from pipeline.config.options import above, at_least
from pipeline.config.places import check_place, europarl_urls, vectors_place
from pipeline.stages.download.archives import extract_one, extract_pair, unpack
from pipeline.stages.download.downloader import DOWNLOADS, Downloader, SourceFile, WrongHashError, file_name
from pipeline.stages.download.members import archive_kind
from pipeline.stages.download.sources import Sources
from pipeline.work.publish import write_json
from pipeline.work.stage import StageContext

SOURCES = "sources.json"

VECTORS_KEYS = ("source", "target", "dictionary")
GOLD_KEYS = ("files", "links")
CORPUS_KEYS = ("source", "target", "files", "url", "tsv", "tmx", "joint", "sha256")


def run(
    context: StageContext,
    *,
    retries: Annotated[int, at_least(0)] = Downloader.retries,
    timeout: Annotated[float, above(0)] = Downloader.timeout,
    backoff: Annotated[float, at_least(0)] = Downloader.backoff,
    mirror: str | None = None,
    accept_changed: bool = Downloader.accept_changed,
) -> None:
    """Fetch what the configuration names, go on with cut downloads, check everything to its end.

    Parameters
    ----------
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
    downloader = Downloader(
        cache=context.workdir / DOWNLOADS,
        retries=retries,
        timeout=timeout,
        backoff=backoff,
        accept_changed=accept_changed,
        say=context.say,
        progress=context.progress,
    )
    sources = Sources(context.folder, downloader)
    # The section's own checks were made when it was read; its name does not matter here.
    corpus = corpus_options(name="corpus", **{key: context.option(f"corpus.{key}") for key in CORPUS_KEYS})
    vectors = vectors_options(**{key: context.option(f"vectors.{key}") for key in VECTORS_KEYS})
    gold = gold_options(**{key: context.option(f"gold.{key}") for key in GOLD_KEYS})
    found = {
        "corpus": _corpus(sources, corpus, mirror),
        "vectors": _vectors(sources, corpus, vectors),
        "gold": _gold(sources, gold),
    }
    write_json(context.folder / SOURCES, found)
    context.note("origins", sources.origins)
    context.elsewhere["sha256"] = sources.hashes


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


def _corpus(sources: Sources, corpus: CorpusOptions, mirror: str | None) -> dict[str, Any]:
    """Take the corpus from the places given."""
    if corpus.kind == "europarl":
        return _europarl(sources, corpus, mirror)
    key = f"corpus.{corpus.kind}"
    found = [sources.get(key, place, sha256=corpus.sha256) for place in corpus.places]
    if corpus.kind == "files":
        kept = [sources.keep(source, f"corpus.{side}") for source, side in zip(found, SIDES, strict=True)]
        return _described("files", kept, found)
    if corpus.kind == "joint" or sources.checked(found[0], archive_kind) is None:
        kind = corpus.kind if corpus.kind != "url" else sources.checked(found[0], kind_of_text)
        return _described(kind, [sources.keep(found[0], "corpus")], found)
    if corpus.kind == "url":
        return _described("files", _unpacked_pair(sources, found[0], corpus), found)
    target, ending = sources.folder / f"corpus.{corpus.kind}", f".{corpus.kind}"
    sources.checked(found[0], extract_one, target, ending, progress=sources.progress)
    return _described(corpus.kind, [target.name], found)


def _europarl(sources: Sources, corpus: CorpusOptions, mirror: str | None) -> dict[str, Any]:
    """Take Europarl from the first place that gives a whole archive."""
    places = europarl_urls(corpus.source, corpus.target)
    if mirror is not None:
        places.insert(0, f"{mirror.rstrip('/')}/{file_name(places[0])}")
    failures = []
    for place in places:
        try:
            source = sources.get("corpus", place, sha256=corpus.sha256)
            return _described("files", _unpacked_pair(sources, source, corpus), [source])
        except WrongHashError:
            raise
        except LiaisonError as error:
            failures.append(str(error))
            sources.downloader.say(f"{error}" + ("" if place == places[-1] else "; trying the next place"))
    raise WorkError(
        f"corpus: Europarl {corpus.source}-{corpus.target} cannot be had from {len(places)} places (last: "
        f"{failures[-1]}); try later, or set corpus.url"
    )


def _unpacked_pair(sources: Sources, source: SourceFile, corpus: CorpusOptions) -> list[str]:
    languages = corpus.source, corpus.target
    pair = sources.checked(source, extract_pair, sources.folder, languages, progress=sources.progress)
    return [path.name for path in pair]


def _vectors(sources: Sources, corpus: CorpusOptions, options: VectorsOptions) -> dict[str, str | None]:
    """Take the vectors and the dictionary, as far as there are any."""
    found: dict[str, str | None] = dict.fromkeys(VECTORS_KEYS)
    for key, language in (("source", corpus.source), ("target", corpus.target)):
        value = getattr(options, key)
        if value is not None:
            place = vectors_place(value, language)
            source = sources.get(f"vectors.{key}", place, hashed=False)
            found[key] = _vector_file(sources, source, f"vectors.{key}", place)
    if options.dictionary is not None:
        source = sources.get("vectors.dictionary", options.dictionary, hashed=False)
        found["dictionary"] = sources.keep(source, "dictionary")
    return found


def _vector_file(sources: Sources, source: SourceFile, role: str, place: str) -> str:
    """Return a file of vectors that can be read: text packed or not, a binary model unpacked.

    Its first rows are looked at: what a server sent instead of it must not be kept for the next run.
    """
    name = _as_vectors(sources, source, role, place)
    sources.checked(source, lambda _: _check_vectors(sources.folder / name))
    return name


def _as_vectors(sources: Sources, source: SourceFile, role: str, place: str) -> str:
    """Return the file in a form that can be read."""
    if sources.checked(source, archive_kind) is not None:
        ending = ".vec" if place.endswith((".vec.zip", ".vec.tgz", ".vec.tar.gz")) else ".bin"
        target = sources.folder / f"{role}{ending}"
        return sources.checked(source, extract_one, target, ending, progress=sources.progress).name
    if sources.checked(source, _is_packed_model):
        return sources.checked(source, unpack, sources.folder / f"{role}.bin", progress=sources.progress).name
    return sources.keep(source, role)


def _check_vectors(path: Path) -> None:
    with open_file(path) as file:
        is_model = file.read(len(MAGIC)) == MAGIC
    if not is_model:
        text_dimension(path)


def _gold(sources: Sources, options: GoldOptions) -> dict[str, Any] | None:
    if options.links is None:
        return None
    kept = [
        sources.keep(sources.get("gold.files", place, hashed=False), f"gold.{side}")
        for place, side in zip(options.files, SIDES, strict=True)
    ]
    source = sources.get("gold.links", options.links, hashed=False)
    return {"files": kept, "links": sources.keep(source, "gold.links")}


def _described(kind: str, paths: Sequence[str], found: Sequence[SourceFile]) -> dict[str, Any]:
    return {"kind": kind, "paths": list(paths), "sha256": [source.sha256 for source in found]}


def _is_packed_model(path: Path) -> bool:
    """Tell whether a file is a packed binary fastText model."""
    with open_file(path) as file:
        packed = packing_of(file.read(8)) is not None
    if not packed:
        return False
    with open_unpacked(path) as stream:
        return stream.peek(4)[:4] == MAGIC


def kind_of_text(path: Path) -> str:
    """Tell the kind of a bitext in a single file from its first line."""
    with open_text(path) as stream:
        start = stream.peek(2048)[:2048]
        line = stream.readline(LINE_LIMIT).lstrip(b"\xef\xbb\xbf")
    if b"cesAlign" in start:
        raise InputError(
            f"{path}: numbers of sentences that belong together, not the sentences (XCES, as OPUS has it); "
            "give the text of both sides: the Moses archive of the same corpus (.txt.zip)"
        )
    if line.startswith((b"<?xml", b"<tmx", b"\xff\xfe", b"\xfe\xff")):
        return "tmx"
    # Of one TAB or of bars once two sides are sure; more of them are columns to choose from.
    tabs, bars = line.count(b"\t"), line.count(b" ||| ")
    if tabs == 1 or (tabs and bars != 1):
        return "tsv"
    if bars:
        return "joint"
    raise InputError(
        f"{path}: neither an archive nor TMX, TSV or 'source ||| target' lines; give corpus.files"
    )
