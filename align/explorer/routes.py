"""What each path of the desk's server answers: parameters are checked here, the work is the desk's."""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from align.explorer import exports, queries
from align.explorer.agreement import agreement
from align.explorer.comparison import compare
from align.explorer.desk import Desk
from align.explorer.lexicon import lexicon
from align.explorer.requests import (
    RequestError,
    check_text,
    fields,
    json_object,
    number,
    one_of,
    parameters,
    sentences,
    whole,
)
from align.explorer.store import SIDES, pair_count, state_of
from align.explorer.summary import summary

# Pairs of a page of the list.
_MOST_ROWS = 500

# Bytes of a file that is uploaded, as it is sent.
UPLOAD_BYTES = 1 << 28

# Changes of one request.
_MOST_CHANGES = 5000

# Answers that take a while to calculate and are kept until something changes.
_KEPT = 32

ANALYSES = ("summary", "compare", "lexicon", "agreement")

_QUEUES = ("unsure", "worst", "random")
_SURENESS = ("sure", "possible", "none")


class Attachment(NamedTuple):
    """A file to be saved where the page is looked at."""

    name: str
    kind: str  # its content type
    file: BinaryIO  # at its start; closed by whoever sends it
    size: int


Answer = Mapping[str, Any] | Attachment
Parameters = Mapping[str, str]


class Routes:
    """The paths of one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._kept: OrderedDict[Any, Mapping[str, Any]] = OrderedDict()
        self._gets: dict[str, Callable[[Parameters], Answer]] = {
            "/pairs": self._pairs,
            "/pair": self._pair,
            "/why": self._why,
            "/queue": self._queue,
            "/learn": self._learning,
            "/status": lambda given: self.desk.status(),
            "/export": self._export,
            "/table": self._table,
            **{f"/{name}": partial(self._analysis, name) for name in ANALYSES},
        }
        self._posts: dict[str, Callable[[dict[str, Any]], Answer]] = {
            "/edit": self._edit,
            "/undo": lambda body: self._step(body, back=True),
            "/redo": lambda body: self._step(body, back=False),
            "/annotator": self._annotator,
            "/learn": self._learn,
            "/run": self._run,
        }

    def get(self, path: str, query: str) -> Answer:
        """Answer a GET."""
        if path not in self._gets:
            raise RequestError(404, "there is no such page")
        return self._gets[path](parameters(query))

    def post(self, path: str, body: bytes) -> Answer:
        """Answer a POST."""
        if path == "/align":
            return self.desk.paste(*sentences(body))
        if path not in self._posts:
            raise RequestError(404, "there is nothing that takes such posts")
        return self._posts[path](json_object(body))

    def upload_format(self, query: str) -> str:
        """Return the format of a file that is going to be sent."""
        return one_of(parameters(query).get("format"), "format", ("tsv", "tmx"))

    def upload(self, format: str, file: BinaryIO) -> Answer:
        """Take in the pairs of a file."""
        return {"pairs": self.desk.upload(format, file)}

    def _selection(self, given: Parameters) -> queries.Selection:
        return queries.selection(
            given,
            current=self.desk.current,
            annotator=self.desk.store.annotator,
            runs=frozenset(run["id"] for run in self.desk.runs()),
        )

    def _one_run(self, given: Parameters, name: str, default: int | None) -> int:
        return self._checked_run(whole(given.get(name), name, default=default))

    def _checked_run(self, run: int) -> int:
        if run not in {each["id"] for each in self.desk.runs()}:
            raise RequestError(404, f"there is no run {run}")
        return run

    def _pairs(self, given: Parameters) -> Answer:
        wanted = self._selection(given)
        offset = whole(given.get("offset"), "offset", default=0)
        limit = whole(given.get("limit"), "limit", default=50, most=_MOST_ROWS)
        found = self.desk.found(wanted)
        place = None
        if "at" in given:
            (places,) = np.nonzero(found == whole(given["at"], "at"))
            if len(places):
                place = int(places[0])
                offset = place - place % limit if limit else place
        with self.desk.store.reading() as connection:
            rows = queries.page_of(
                connection,
                found[offset : offset + limit],
                run=wanted.run,
                annotator=self.desk.store.annotator,
            )
            of = pair_count(connection)
        return {
            "total": len(found),
            "of": of,
            "linked": self.desk.linked_count(wanted.run),
            "offset": offset,
            "place": place,  # of the pair ``at``, None where it is not found
            "rows": rows,
        }

    def _pair(self, given: Parameters) -> Answer:
        run = self._one_run(given, "run", self.desk.current)
        other = self._one_run(given, "other", None) if "other" in given else None
        return self.desk.pair(whole(given.get("id"), "id"), run, other)

    def _why(self, given: Parameters) -> Answer:
        run = self._one_run(given, "run", self.desk.current)
        source, target = (whole(given.get(side), side) for side in ("source", "target"))
        return self.desk.why(whole(given.get("id"), "id"), run, source, target)

    def _queue(self, given: Parameters) -> Answer:
        order = one_of(given.get("order"), "order", _QUEUES, default="unsure")
        after = whole(given["after"], "after") if "after" in given else None
        return {"id": self.desk.next_to_do(order, after)}

    def _learning(self, given: Parameters) -> Answer:
        told = self.desk.learning.told
        if "run" in told:
            told["changed"] = self.desk.changed_count(told["run"])
        return {**told, "next": self.desk.said_count()}

    def _export(self, given: Parameters) -> Answer:
        format = one_of(given.get("format"), "format", tuple(exports.FORMATS))
        links = one_of(given.get("links"), "links", exports.LINKS, default="run")
        wanted = self._selection(given)
        found = self.desk.found(wanted)
        kind, ending = exports.FORMATS[format]
        with self.desk.store.reading() as connection:
            lines = exports.lines(
                connection,
                found,
                format=format,
                run=wanted.run,
                annotator=self.desk.store.annotator,
                links=links,
                languages=self.desk.languages,
            )
            return attachment(f"pairs.{ending}", kind, lines, self.desk.scratch)

    def _analysis(self, name: str, given: Parameters, *, whole_lists: bool = False) -> Mapping[str, Any]:
        """Answer with figures, which are kept until links or corrections change."""
        store = self.desk.store
        rows: dict[str, Any] = {"rows": None} if whole_lists else {}
        asked = self._asked(name, given)
        if name == "agreement":
            for who in asked.values():
                self.desk.catch_up(who)
        with store.reading() as connection:
            key = (name, tuple(asked.items()), whole_lists, state_of(connection), store.annotator)
            kept = self._kept.get(key)
            if kept is not None:
                return kept
            if name == "summary":
                curve = self.desk.gap_curves.get(asked["run"], ())
                found = summary(connection, asked["run"], annotator=store.annotator, gap_curve=curve, **rows)
            elif name == "compare":
                found = compare(
                    connection,
                    **asked,
                    languages=self.desk.languages,
                    annotator=store.annotator,
                    **rows,
                )
            elif name == "lexicon":
                found = lexicon(connection, **asked, table=self.desk.table(asked["run"]), **rows)
            else:
                found = agreement(connection, **asked, **rows)
        if whole_lists:
            return found  # for one file; of a large text such lists are large, too
        self._kept[key] = found
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found

    def _asked(self, name: str, given: Parameters) -> dict[str, Any]:
        """Return the checked parameters of an analysis."""
        if name == "summary":
            return {"run": self._one_run(given, "run", self.desk.current)}
        if name == "compare":
            return {which: self._one_run(given, which, None) for which in ("a", "b")}
        if name == "lexicon":
            side = one_of(given.get("side"), "side", SIDES, default="source")
            if "word" not in given:
                raise RequestError(400, "word is missing")
            return {
                "side": side,
                "word": given["word"],
                "run": self._one_run(given, "run", self.desk.current),
            }
        known = self.desk.annotators()
        return {which: one_of(given.get(which), which, known) for which in ("a", "b")}

    def _table(self, given: Parameters) -> Answer:
        """Answer with a list of an analysis as a table to be saved."""
        name = one_of(given.get("name"), "name", tuple(exports.TABLES))
        analysis, rows_of = exports.TABLES[name]
        found = self._analysis(analysis, given, whole_lists=True)
        kind, ending = exports.FORMATS["csv"]
        return attachment(f"{name}.{ending}", kind, exports.table(rows_of(found)), self.desk.scratch)

    def _edit(self, body: dict[str, Any]) -> Answer:
        fields(body, "id", "changes", "done", "clear", "run")
        pair = number(body.get("id"), "id")
        if body.get("clear", False) is True:
            return {"annotation": self.desk.edit(pair, clear=True)}
        done = body.get("done")
        if done is not None and not isinstance(done, bool):
            raise RequestError(400, "done must be true or false")
        run = None if "run" not in body else self._checked_run(number(body["run"], "run"))
        changes = _changes(body.get("changes", []))
        if not changes and done is None:
            raise RequestError(400, "give changes, done, or clear: true")
        return {"annotation": self.desk.edit(pair, changes=changes, done=done, run=run)}

    def _step(self, body: dict[str, Any], *, back: bool) -> Answer:
        fields(body)
        return self.desk.step(back=back)

    def _annotator(self, body: dict[str, Any]) -> Answer:
        fields(body, "name")
        name = body.get("name")
        if not isinstance(name, str):
            raise RequestError(400, "name must be text")
        check_text(name, "name")
        self.desk.set_annotator(name)
        return {"desk": self.desk.told()}

    def _learn(self, body: dict[str, Any]) -> Answer:
        fields(body, "done")
        only_done = body.get("done", False)
        if not isinstance(only_done, bool):
            raise RequestError(400, "done must be true or false")
        self.desk.learn(only_done=only_done)
        return self._learning({})

    def _run(self, body: dict[str, Any]) -> Answer:
        fields(body, "run")
        self.desk.make_current(self._checked_run(number(body.get("run"), "run")))
        return {"desk": self.desk.told()}


def attachment(name: str, kind: str, lines: Iterable[str], folder: Path) -> Attachment:
    """Return a file of lines: written before it is sent, so that it comes whole or not at all."""
    file = cast(BinaryIO, tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
    try:
        for line in lines:
            file.write(line.encode("utf-8"))
        size = file.tell()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Attachment(name, kind, file, size)


def _changes(value: Any) -> list[tuple[int, int, str]]:
    """Return the changes of a body: [source, target, "sure", "possible" or "none"] each."""
    if not isinstance(value, list) or len(value) > _MOST_CHANGES:
        raise RequestError(400, f"changes must be a list of at most {_MOST_CHANGES}")
    found = []
    for change in value:
        if not isinstance(change, list) or len(change) != 3 or change[2] not in _SURENESS:
            raise RequestError(400, 'a change must be [source, target, "sure", "possible" or "none"]')
        found.append((number(change[0], "source"), number(change[1], "target"), str(change[2])))
    return found
