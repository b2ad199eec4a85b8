"""Open the desk in a browser: pairs, their links and the reasons, corrections, a model that learns.

Two sentences can be pasted; -i, or --source and --target, give a text of any size (100,000 pairs and more),
whose links are made behind the page. What is corrected is kept in the folder of --save, per annotator: a
journal, the corrected links as NAME.jsonl (what `liaison learn --gold` reads) and as Pharaoh with its tokens,
and each model that learnt from them, as NAME.model-1 and so on.
--gold gives links made by hand to compare with, --compare other models, or files of links of the same pairs.
It answers on this machine only (127.0.0.1). The address is printed; Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import errno
import secrets
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from align.cli.arguments import add_model
from align.cli.loading import chosen_model, first_use_told, load_aligner
from align.cli.terminal import only_one_stdin, say
from align.core import heap
from align.core.errors import InputError, LiaisonError, WorkError
from align.core.files import held, remove_left
from align.core.signals import removed_after
from align.explorer.annotations import check_name
from align.explorer.desk import MOST_TOKENS, Desk
from align.explorer.reading import LinksFile, Text, format_of, kind_of
from align.explorer.requests import MOST_CHARACTERS
from align.explorer.routes import UPLOAD_BYTES, Routes
from align.explorer.server import ADDRESS, make_desk_server
from align.explorer.summary import gap_curve_of
from align.links import FORMATS
from align.model.aligner import Aligner
from align.model.shipped import bare_weights, find_model
from align.report import Fact, as_json, model_facts, render

# Bytes of blocks that are given back as soon as they are freed, and of what is kept: a server runs for days.
_LARGE, _KEPT = 1 << 17, 1 << 20

# The library that compiles kernels, or loads them: all that are needed are there by the first answer.
_COMPILER = "llvmlite"

# What folders of scratch files are called first.
_SCRATCH = "liaison-desk-"

EXAMPLES = (
    "serve",
    "serve --languages en-fr -i pairs.tsv --save corrections",
    "serve -m data/work/sample/latest/train --source text.en --target text.fr --tokenized --gold gold.align",
    "serve -m data/work/sample/latest/train --port 8080",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(parser)
    parser.add_argument(
        "-i", "--input", metavar="FILE", help="pairs to look at: source TAB target, or TMX (FILE.tmx)"
    )
    parser.add_argument(
        "--format",
        choices=("tsv", "joint", "tmx"),
        help="of the input (default: as its name tells)",
    )
    parser.add_argument("--source", metavar="FILE", help="source sentences, instead of --input")
    parser.add_argument("--target", metavar="FILE", help="target sentences")
    parser.add_argument(
        "--tokenized", action="store_true", help="split on single spaces only; links are over those tokens"
    )
    parser.add_argument("--gold", metavar="LINKS", help="links of the pairs made by hand")
    parser.add_argument(
        "--gold-format", choices=list(FORMATS), help="default: jsonl for FILE.jsonl, else pharaoh"
    )
    parser.add_argument("--gold-base", type=int, choices=(0, 1), help="what its indices count from")
    parser.add_argument(
        "--compare",
        action="append",
        default=[],
        metavar="NAME",
        help="another model, or a file of links of the pairs; may be given several times",
    )
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="where corrections are kept")
    parser.add_argument(
        "--annotator", default="annotator", metavar="NAME", help="who corrects (default: annotator)"
    )
    parser.add_argument(
        "--port", type=_port, default=8000, metavar="P", help="default: 8000; 0 for any free one"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    check_name(args.annotator)
    text, names = _text(args)
    heap.settle(large=_LARGE, kept=_KEPT)
    on_fault = say if "debug" in args else None
    with ExitStack() as stack:
        model = chosen_model(args.model, args.languages)
        aligner = load_aligner(model, tokenized=args.tokenized, languages=args.languages)
        others = [
            (name, load_aligner(name, tokenized=args.tokenized, languages=args.languages))
            for name in args.compare
            if name not in names
        ]
        desk = stack.enter_context(
            _desk(
                aligner,
                model,
                folder=args.save,
                annotator=args.annotator,
                on_fault=on_fault,
            )
        )
        for name, other in others:
            desk.add_model(name, other, gap_curve=_gap_curve(name))
        token = secrets.token_urlsafe(24)
        try:
            server = make_desk_server(
                args.port,
                lambda: explorer_page(aligner, model, desk=desk.told(), token=token),
                Routes(desk),
                token=token,
                on_fault=on_fault,
            )
        except OSError as error:
            raise _port_error(args.port, error) from error
        stack.enter_context(server)
        try:
            with first_use_told(model):
                aligner.explain("a", "a")  # here, not behind a page that waits and says nothing
            stack.enter_context(heap.left_alone())
            heap.give_code_back(_COMPILER)
            if text is not None:
                desk.open(text, names, on_failure=lambda: _stop(server))
            desk.start(reading=text is not None)
            print(f"http://{ADDRESS}:{server.server_address[1]}/", flush=True)
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        if desk.failure is not None:
            raise desk.failure
    return 0


@contextmanager
def _desk(aligner: Aligner, model: str, **options: Any) -> Iterator[Desk]:
    """Give a desk, whose scratch files go in the end; those that killed servers have left go before."""
    remove_left(Path(tempfile.gettempdir()), _SCRATCH)
    scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH))
    with removed_after(scratch), held(scratch / "lock"):
        desk = Desk(aligner, model, scratch=scratch, on_note=say, gap_curve=_gap_curve(model), **options)
        try:
            yield desk
        finally:
            desk.close()


def _stop(server: Any) -> None:
    """End a server from one of its own threads."""
    threading.Thread(target=server.shutdown, daemon=True).start()


def _gap_curve(name: str) -> list[list[float | None]]:
    return [] if bare_weights(name) is not None else gap_curve_of(find_model(name))


def _text(args: argparse.Namespace) -> tuple[Text | None, list[str]]:
    """Return the text to look at, and the names of the files of links beside it."""
    if (args.source is None) != (args.target is None):
        raise InputError("--source and --target go together; give both or neither")
    if args.source is not None and (args.input is not None or args.format is not None):
        raise InputError("--source and --target are the pairs; leave out --input and --format")
    files = [path for path in args.compare if Path(path).is_file()]
    if args.source is None and args.input is None:
        if args.gold is not None or files:
            what = "--gold" if args.gold is not None else f"--compare {files[0]}"
            raise InputError(f"{what}: links without their pairs; give these with --input")
        return None, []
    gold = None
    if args.gold is not None:
        gold = LinksFile(args.gold, args.gold_format or format_of(args.gold), args.gold_base)
    paths = [args.source, args.target] if args.input is None else [args.input]
    only_one_stdin([*paths, args.gold, *files])
    kind = "files" if args.input is None else args.format or kind_of(args.input)
    name = "<stdin>" if paths[0] == "-" else paths[0]
    return Text(kind, paths, name, gold, [LinksFile(path, format_of(path)) for path in files]), files


def explorer_page(
    aligner: Aligner, name: str, *, desk: Mapping[str, Any] | None = None, token: str = ""
) -> str:
    """Return the page for a model, which is called by the name it was asked for.

    Parameters
    ----------
    aligner : Aligner
    name : str
    desk : mapping, optional
        What :meth:`align.explorer.desk.Desk.told` tells.
    token : str
        What the page sends with whatever it writes.
    """
    model = aligner.model
    vocabularies = model.resources.source_vocabulary, model.resources.target_vocabulary
    corpus = model.provenance.get("corpus")
    limits = {"characters": MOST_CHARACTERS, "words": MOST_TOKENS, "upload_bytes": UPLOAD_BYTES}
    return render(
        {**as_json([]), "token": token, "limits": limits, "desk": desk},
        title=name,
        languages=model.languages,
        facts=[
            *([Fact("Corpus", corpus)] if isinstance(corpus, str) else []),
            Fact("Words known", ", ".join(f"{len(each):,}" for each in vocabularies), "source, target"),
            Fact("Features", f"{len(model.names)}", ", ".join(model.groups)),
            *model_facts({**model.options, **model.provenance}),
        ],
        mode="explorer",
        limits=limits,
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; give a number from 0 to 65535")
    return int(text)


def _port_error(port: int, error: OSError) -> LiaisonError:
    """Return what to tell about a port that cannot be had."""
    if error.errno == errno.EADDRINUSE:
        return InputError(f"port {port}: taken by another program; give another with --port, or --port 0")
    if error.errno == errno.EACCES:
        return InputError(f"port {port}: not allowed for you; give one above 1023 with --port")
    return WorkError(f"port {port}: {error.strerror}; give another with --port")
