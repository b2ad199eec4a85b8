"""The table of readers: each has seeds that it reads, and a function that reads one file.

A reader may give its result or raise one of the project's errors; what comes out otherwise is a finding.
Where more is known of a result, the reader asserts it.
"""

import contextlib
import gzip
import io
import json
import lzma
import socket
import struct
import tarfile
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from align.cli.main import main
from align.core.errors import LiaisonError
from align.data.bitext import open_bitext
from align.data.streams import open_text
from align.data.vocabulary import Vocabulary
from align.explorer.annotations import read_annotations
from align.explorer.desk import Desk
from align.explorer.routes import Routes
from align.explorer.server import make_desk_server, make_server
from align.links import FORMATS, read_file
from align.model.aligner import Aligner
from align.model.checksums import CHECKSUMS, write_checksums
from align.vectors.binary import is_model, read_model
from align.vectors.dictionary import read_dictionary
from align.vectors.vec import read_vec
from pipeline.config import configuration
from pipeline.run.graph import SCHEMA, check_options
from pipeline.stages.download.archives import check_packed, extract_one, extract_pair, unpack
from pipeline.stages.download.members import archive_kind
from tests.align import toy

COLUMNS = "id\ten\tfr\tlinks\n7\tThe house\tLa maison\t0-0 1-1\n8\té\té\t\n".encode()
ROWS = "The house .\tLa maison .\nI see it!\tJe le vois !\n\t\nété\tan\tb\n".encode()
LINKS = {
    "pharaoh": b"0-0 1p1 2-2:0.5\n\n3-4\n",
    "talp": b"1-1 2p2\n",
    "berkeley": b"0-0 1-1-P\n",
    "wpt": b"0001 1 1 S\n0001 2 2 P 0.5\n3 0 1\n",
    "giza": b"# Sentence pair (1) source length 2 target length 2 alignment score : 0.1\nla maison\n"
    b"NULL ({ }) the ({ 1 }) house ({ 2 })\n",
    "jsonl": b'{"source": ["a", "b"], "target": ["c"], "links": [[0, 0], '
    b'{"source": 1, "target": 0, "kind": "possible", "score": 0.5}]}\n',
    "nltk": b"0-0 1-1\n",
}
TMX = (
    '<?xml version="1.0" encoding="utf-8"?>\n<tmx version="1.4"><header srclang="en"/><body>\n'
    '<tu><tuv xml:lang="en"><seg>The house &amp; <bpt i="1">x</bpt></seg></tuv>'
    '<tuv xml:lang="fr-FR"><seg>La maison</seg></tuv></tu>\n'
    '<tu><tuv lang="EN"><seg>é</seg></tuv><tuv lang="fr"><seg/></tuv></tu>\n</body></tmx>\n'
).encode()
LINKED = TMX.replace(b"<tuv xml", b'<prop type="x-word-alignment">0-0 1p1</prop><tuv xml', 1)
LINKED = LINKED[: LINKED.index(b"<tu><tuv lang")] + b"</body></tmx>\n"
TOML = (
    b'[corpus]\nname = "a"\nsource = "en"\ntarget = "fr"\nfiles = ["a.en", "a.fr"]\nlimit = 20\n'
    b'[gold]\nfiles = ["g.en", "g.fr"]\nlinks = "g.align"\ntrain = 3\nformat = "wpt"\n'
    b'[train]\nsolver = "bcfw"\nlam = 0.01\nfertility = 2\n[vectors]\nsource = "http://a/b.vec"\n'
    b'target = "b.vec"\n[embed]\ncentre = true\n'
)
VEC = b"3 4\nthe 0.1 0.2 0.3 0.4\nhouse 1 2 3 4\n. . 1e-3 -2 3 4\n"
REQUEST = (
    b"POST /align HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"
    b'Content-Length: 51\r\n\r\n{"source": "a b", "target": "c", "tokenized": true}'
)


DESK_GETS = [
    f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n".encode()
    for path in (
        "pairs?words=the&link=the%3Ele&order=worst&confidence=0.5-1&limit=5",
        "pairs?run=0&other=0&differ=1&show=todo&link_confidence=0.1-0.2",
        *("pair?id=1", "why?id=1&source=0&target=0", "queue?order=random&after=1", "learn", "status"),
        *("export?format=csv", "export?format=tmx&links=annotation", "summary", "compare?a=0&b=0"),
        *("lexicon?side=target&word=le", "agreement?a=ann&b=ann", "table?name=unaligned"),
    )
]
DESK_POSTS = [
    f"POST /{path} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"
    f"X-Liaison-Token: t0ken\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    for path, body in (
        *(("edit", '{"id": 1, "changes": [[0, 0, "possible"]]}'), ("edit", '{"id": 1, "done": true}')),
        *(("undo", "{}"), ("redo", "{}"), ("run", '{"run": 0}'), ("annotator", '{"name": "ann"}')),
        ("align", '{"source": "the dog", "target": "le chien"}'),
    )
]
JOURNAL = b"".join(
    b'{"entry":"%s","pair":{"source":["a","b"],"target":["c"]},"number":%d,"kind":"%s",'
    b'"before":%s,"after":%s,"was_done":false,"done":true}\n' % row
    for row in (
        (b"edit", 1, b"corpus", b"null", b"[[0,0,1],[1,0,0]]"),
        (b"edit", 2, b"own", b"null", b"[]"),
        (b"undo", 2, b"own", b"[]", b"null"),
        (b"redo", 2, b"own", b"null", b"[]"),
    )
)


@dataclass(frozen=True)
class Target:
    """A reader: what it is given to begin with, and how a file is read."""

    seeds: list[bytes]
    read: Callable[[Path], object]


def targets(folder: Path) -> dict[str, Target]:
    """Return the table; what readers need beside their file is made in a folder."""
    toy.toy_model().save(folder / "model")
    # Compiled before the time of a file counts.
    _align(folder / "model")
    bitext = {
        kind: Target([ROWS, ROWS.replace(b"\t", b" ||| "), TMX], partial(_rows, kind))
        for kind in ("files", "joint", "tsv", "tmx")
    }
    links = {
        f"links-{name}": Target([*LINKS.values(), LINKED, ROWS], partial(_links, name)) for name in FORMATS
    }
    columns = {
        f"columns-{'-'.join(map(str, chosen))}": Target(
            [COLUMNS, COLUMNS.replace(b"\t", b" ||| ")], partial(_columns, chosen)
        )
        for chosen in (["en", "fr", "links"], [2, 3, 4])
    }
    model = {
        f"model-{path.relative_to(folder / 'model')}": Target([path.read_bytes()], partial(_model, path))
        for path in sorted((folder / "model").rglob("*"))
        if path.is_file()
    }
    return {
        **bitext,
        **links,
        **columns,
        "packed": Target([gzip.compress(ROWS), lzma.compress(ROWS), zstandard.compress(ROWS)], _packed),
        "vectors": Target([VEC, VEC[4:]], lambda path: read_vec(path, ["the", "house", "Maison"])),
        "fasttext": Target([_fasttext()], _binary),
        "dictionary": Target([b"the\tle\nhouse maison\na b c\n"], _dictionary),
        **model,
        "toml": Target([TOML], _toml),
        "archive": Target([_tar(), _zip()], partial(_archive, folder)),
        "score": Target(list(LINKS.values()), _scored),
        "request": Target([REQUEST, b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"], Served()),
        "desk-request": Target([*DESK_GETS, *DESK_POSTS], Served(partial(_desk_server, folder))),
        "journal": Target([JOURNAL], _journal),
    }


def _rows(kind: str, path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(ROWS)
    rows = list(open_bitext(kind, [path, other][: 1 + (kind == "files")], languages=("en", "fr")))
    assert [row.number for row in rows] == list(range(len(rows)))
    if kind in ("joint", "tsv") and path.read_bytes()[:2] not in (b"\x1f\x8b", b"BZ", b"\xfd7", b"(\xb5"):
        data = path.read_bytes()
        assert len(rows) == data.count(b"\n") + (not data.endswith(b"\n") and bool(data)), "lines lost"


def _links(name: str, path: Path) -> None:
    for pair in read_file(path, format=name):
        assert all(link.source >= 0 and link.target >= 0 for link in pair.links)


def _columns(chosen: list, path: Path) -> None:
    for pair in read_file(path, columns=chosen[2:]):
        assert pair.source is None
    for pair in read_file(path, columns=chosen):
        assert all(link.source < len(pair.source) and link.target < len(pair.target) for link in pair.links)
    for kind in ("tsv", "joint"):
        with contextlib.suppress(LiaisonError):
            rows = list(open_bitext(kind, [path], columns=chosen[:2]))
            assert [row.number for row in rows] == list(range(len(rows)))
            assert sum(row.problem == "header" for row in rows) <= (chosen[0] == "en")


def _packed(path: Path) -> None:
    with contextlib.suppress(LiaisonError), open_text(path) as stream:
        stream.read()
    check_packed(path, progress=_progress)
    unpack(path, path.with_name("unpacked"), progress=_progress)


def _binary(path: Path) -> None:
    if is_model(path):
        assert np.isfinite(read_model(path, ["the", "unseen"]).matrix).all()


def _dictionary(path: Path) -> None:
    words = Vocabulary(["the", "house"], [2, 1]), Vocabulary(["le", "maison"], [2, 1])
    read_dictionary(path, *words)


def _align(folder: Path) -> None:
    Aligner.load(folder).align("the red house .", "la maison rouge .")


def _model(place: Path, path: Path) -> None:
    """Read the model with one file changed, its checksums with it: an old one has none."""
    folder = next(each for each in place.parents if (each / CHECKSUMS).exists())
    whole, sums = place.read_bytes(), (folder / CHECKSUMS).read_bytes()
    place.write_bytes(path.read_bytes())
    if place.name != CHECKSUMS:
        write_checksums(folder, [line.split(b"\t")[2].decode() for line in sums.split(b"\n")[:-2]])
    try:
        _align(folder)
    finally:
        place.write_bytes(whole)
        (folder / CHECKSUMS).write_bytes(sums)


def _toml(path: Path) -> None:
    check_options(configuration.load(path, [], SCHEMA))


def _archive(folder: Path, path: Path) -> None:
    target = folder / "taken"
    target.mkdir(exist_ok=True)
    archive_kind(path)
    with contextlib.suppress(LiaisonError):
        extract_one(path, target / "one", ".en", progress=_progress)
    extract_pair(path, target, ("en", "fr"), progress=_progress)
    assert {each.name for each in target.iterdir()} <= {"one", "corpus.en", "corpus.fr"}


def _scored(path: Path) -> None:
    """Score a file with itself, and turn it into other formats: by the commands, which tell all errors."""
    for words in (
        ["score", "--gold", str(path), "--hyp", str(path)],
        ["convert", "--from", "pharaoh", "--to", "jsonl", "-i", str(path), "-o", str(path.with_name("out"))],
    ):
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
            status = main(words)
        assert status in (0, 2), said.getvalue()
        assert "internal fault" not in said.getvalue(), said.getvalue()


class Served:
    """Sends a file as a request to the explorer's server; every one is answered or hung up on."""

    def __init__(self, make: Callable[[], Any] | None = None) -> None:
        self._make = make or _plain_server
        self._server = None

    def __call__(self, path: Path) -> None:
        if self._server is None:
            self._server = self._make()
            threading.Thread(target=self._server.serve_forever, daemon=True).start()
        number = self._server.server_address[1]
        with socket.create_connection(("127.0.0.1", number), timeout=5) as client:
            with contextlib.suppress(OSError):  # it may have hung up
                client.sendall(path.read_bytes().replace(b"PORT", str(number).encode()))
                client.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while piece := client.recv(1 << 16):
                    answer += piece
        assert not answer or answer.startswith(b"HTTP/1."), answer[:100]
        assert b" 500 " not in answer[:20], answer
        head, _, body = answer.partition(b"\r\n\r\n")
        if body and b"application/json" in head:
            json.loads(body)


def _plain_server() -> Any:
    return make_server(0, "page", lambda source, target: {"lines": [source, target]})


def _desk_server(folder: Path) -> Any:
    """Return the server of a desk with three pairs, of which one is corrected."""
    scratch = folder / "desk"
    scratch.mkdir()
    desk = Desk(Aligner.load(folder / "model"), "toy", scratch=scratch, annotator="ann")
    desk.upload("tsv", io.BytesIO(b"the dog\tle chien\n\tle\nthe red house\tla maison rouge\n"))
    desk.edit(1, done=True)
    desk.start()
    return make_desk_server(0, lambda: "page", Routes(desk), token="t0ken")


def _journal(path: Path) -> None:
    journal = path.with_name("ann.journal.jsonl")
    journal.write_bytes(path.read_bytes())
    for _, state in read_annotations(path.parent, "ann"):
        assert state.links is not None


def _progress(items, *, total=None, unit=""):
    return items


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name in ("x/a.fr-en.en", "x/a.fr-en.fr"):
            member = tarfile.TarInfo(name)
            member.size = len(ROWS)
            archive.addfile(member, io.BytesIO(ROWS))
    return out.getvalue()


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a.en", "a.fr", "README"):
            archive.writestr(name, ROWS)
    return out.getvalue()


def _fasttext() -> bytes:
    """A binary model of two words and four rows of n-grams, three numbers each."""
    settings = struct.pack("<12i d", 3, 5, 1, 1, 5, 1, 2, 1, 4, 2, 3, 100, 1e-4)
    words = b"".join(word + b"\0" + struct.pack("<qb", 5, 0) for word in (b"the", b"</s>"))
    head = struct.pack("<ii", 793712314, 12) + settings + struct.pack("<iii qq", 2, 2, 0, 10, 0)
    rows = struct.pack("<?qq", False, 6, 3) + np.arange(18, dtype="<f4").tobytes()
    return head + words + rows + struct.pack("<?qq", False, 2, 3) + np.ones(6, dtype="<f4").tobytes()
