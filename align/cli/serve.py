"""Show the explorer in a browser: paste two sentences, see their links and the reasons for them.

It answers on this machine only (127.0.0.1). The address is printed; Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import errno
from collections.abc import Sequence
from typing import Any

from align.cli.arguments import add_model
from align.cli.loading import chosen_model, first_use_told, load_aligner
from align.cli.terminal import say
from align.core.errors import InputError, LiaisonError, WorkError
from align.explorer.server import ADDRESS, MOST_CHARACTERS, make_server
from align.links import Link
from align.model.aligner import Aligner
from align.report import Fact, ShownPair, as_json, model_facts, reasons_of, render

# Words of a sentence: the matrix of two such can still be looked at.
MOST_TOKENS = 200

# So many reasons of a link are sent, the largest first.
_REASONS = 8

Text = str | Sequence[str]


EXAMPLES = (
    "serve",
    "serve -m data/work/sample/latest/train",
    "serve -m data/work/sample/latest/train --port 8080",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(parser)
    parser.add_argument(
        "--port", type=_port, default=8000, metavar="P", help="default: 8000; 0 for any free one"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    model = chosen_model(args.model, args.languages)
    aligner = load_aligner(model, languages=args.languages)
    page = explorer_page(aligner, model)
    try:
        server = make_server(
            args.port,
            page,
            lambda source, target: linked(aligner, source, target),
            on_fault=say if "debug" in args else None,
        )
    except OSError as error:
        raise _port_error(args.port, error) from error
    with server:
        try:
            with first_use_told(model):
                linked(aligner, "a", "a")  # here, not behind a page that waits and says nothing
            print(f"http://{ADDRESS}:{server.server_address[1]}/", flush=True)
            server.serve_forever()
        except KeyboardInterrupt:
            pass
    return 0


def explorer_page(aligner: Aligner, name: str) -> str:
    """Return the page for a model, which is called by the name it was asked for."""
    model = aligner.model
    vocabularies = model.resources.source_vocabulary, model.resources.target_vocabulary
    corpus = model.provenance.get("corpus")
    return render(
        as_json([]),
        title=name,
        languages=model.languages,
        facts=[
            *([Fact("Corpus", corpus)] if isinstance(corpus, str) else []),
            Fact("Words known", ", ".join(f"{len(each):,}" for each in vocabularies), "source, target"),
            Fact("Features", f"{len(model.names)}", ", ".join(model.groups)),
            *model_facts({**model.options, **model.provenance}),
        ],
        mode="explorer",
        limits={"characters": MOST_CHARACTERS},
    )


def linked(aligner: Aligner, source: Text, target: Text) -> dict[str, Any]:
    """Return one pair with its links and their reasons, as the page's scripts read it.

    Raises
    ------
    InputError
        If a sentence has more than `MOST_TOKENS` tokens.
    """
    for side, tokens in zip(("source", "target"), aligner.tokens(source, target), strict=True):
        count = max(len(tokens.surface), len(tokens.analysis))
        if count > MOST_TOKENS:
            raise InputError(f"{side} has {count} words; at most {MOST_TOKENS} can be shown, so split it")
    explanation = aligner.explain(source, target)
    links = [Link(link["source"], link["target"]) for link in explanation["links"]]
    pair = ShownPair(
        "own", 1, explanation["source"], explanation["target"], links, reasons=reasons_of(explanation)
    )
    return as_json([pair], contributions=_REASONS)


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
