"""The pages for users, README.md and docs/: their blocks of code, their links, and doing what they say.

A block of ``bash`` (or an indented one that begins with a command) is run, one of ``python`` executed, all of
a page in one folder and one namespace, in order. One of ``text`` right after it is what that prints: a line
``...`` stands for any lines, ``...`` within a line for any text, and numbers with a point may differ by 0.02;
where it begins with ``error:``, the last command fails with it. A block with a title is a file: written, or
compared where what was run before has made it. Files that pages need not show are made by ``checkout`` of
``tests/test_pages.py``. A comment before a block says what else is done with it:

``<!-- not run: REASON -->``
    nothing;
``<!-- run smaller: REASON -->``
    its commands get the settings of :data:`tests.runs.FAST`, and of what is printed no number is compared.
"""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path
from typing import NamedTuple

from tests import prepared
from tests.runs import FAST

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# What an installer makes of the entry point.
LIAISON = ["-c", "import sys; from pipeline.run.liaison import begin; sys.exit(begin())"]

# Installing, the tests themselves and the site: .ci/run does these, from nothing.
BY_CI = ("pip install", "python -m pytest", "python -m mkdocs")

# What a page may call beside Liaison and Python.
PROGRAMS = {
    "awk",
    "cat",
    "cp",
    "cut",
    "diff",
    "echo",
    "grep",
    "gzip",
    "head",
    "ls",
    "mkdir",
    "paste",
    "printf",
    "sed",
    "sort",
    "tail",
    "tr",
    "wc",
}
COMMAND = re.compile(r"(liaison|python|pip|dask|[\w/]+/uv) ")
LEFT_OUT = re.compile(r"<!-- (not run|run smaller): (.+?) -->")


class Block(NamedTuple):
    """A block of code of a page: ``printed`` is what it prints, if the page shows that."""

    place: str
    language: str
    title: str
    text: str
    left_out: str = ""
    reason: str = ""
    printed: str | None = None

    @property
    def commands(self):
        """Its commands, a line each."""
        lines = self.text.replace("\\\n", " ").split("\n") if self.language == "bash" else ()
        return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def blocks(page):
    """Return the blocks of a page, each with what it prints."""
    found = []
    for block in _all_blocks(page):
        last = found[-1] if found else None
        follows = block.language == "text" and not (block.title or block.left_out)
        if follows and last and last.language in ("bash", "python") and last.printed is None:
            found[-1] = last._replace(printed=block.text)
        else:
            found.append(block)
    return found


def _all_blocks(page):
    lines = page.read_text(encoding="utf-8").split("\n")
    number, comment = 0, ("", "")
    while number < len(lines):
        line = lines[number]
        said, fence = LEFT_OUT.fullmatch(line), re.fullmatch(r"```(\w*)(?: title=\"(.+)\")?", line)
        first = number
        if fence:
            number = lines.index("```", number + 1)
            label, inside = (fence[1], fence[2] or ""), lines[first + 1 : number]
        elif line.startswith("    ") and (number == 0 or not lines[number - 1]):
            while lines[number].startswith("    ") or (not lines[number] and lines[number + 1][:4] == "    "):
                number += 1
            inside = [each[4:] for each in lines[first:number]]
            label = ("bash" if COMMAND.match(inside[0]) else "drawing", "")
        else:
            comment = said.groups() if said else ("", "") if line else comment
            number += 1
            continue
        place = f"{page.relative_to(ROOT)}:{first + 1}"
        yield Block(place, *label, "\n".join(inside) + "\n", *comment)
        number, comment = number + 1, ("", "")


def is_as_shown(shown, printed, *, numbers=True):
    """Return whether what was printed is what a page shows; without ``numbers`` all numbers fit."""
    rows = [row.rstrip() for row in shown.rstrip("\n").split("\n")]
    pattern = "".join(
        "(?:.*\n)*?" if row.strip() == "..." else f"{_row_pattern(row, numbers)}\n" for row in rows
    )
    found = re.fullmatch(pattern, "".join(f"{row.rstrip()}\n" for row in printed.rstrip("\n").split("\n")))
    if found is None or not numbers:
        return found is not None
    wanted = re.findall(r"\d+\.\d+", "\n".join(rows))
    return all(abs(float(a) - float(b)) <= 0.02 for a, b in zip(wanted, found.groups(), strict=True))


def _row_pattern(row, numbers):
    """Return the pattern of a line of output, with a group for every number that has a point."""
    parts = []
    for part in re.split(r"(\.\.\.|\d+\.\d+|\d+)", row):
        if part == "...":
            parts.append(".*")
        elif numbers:
            parts.append(r"(\d+\.\d+)" if re.fullmatch(r"\d+\.\d+", part) else re.escape(part))
        else:
            parts.append(r"\d+(?:\.\d+)?" if part[:1].isdecimal() else re.escape(part))
    return "".join(parts)


def python_words(command):
    """Return what Python is told for a command."""
    program, *words = shlex.split(command) if isinstance(command, str) else command
    assert program in ("python", "liaison"), command
    return [*(LIAISON if program == "liaison" else ()), *words]


class Reader:
    """Does in a folder what a page says; ``more(command)`` are words that a command gets beside its own."""

    def __init__(self, folder, *, more=lambda command: ()):
        self.folder, self.more, self.names = folder, more, {}
        self.shown = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}

    def do(self, block):
        """Do what a block says and compare what comes of it; return each command with its output."""
        if block.left_out == "not run":
            return []
        if block.title:
            return self._file(block)
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)
        said, done = "", []
        if block.language == "python":
            said = self._execute(block)
        for command in block.commands:
            done.append((command, self.run(command, block)))
            said += done[-1][1]
        if block.printed is not None:
            assert is_as_shown(block.printed, said, numbers=block.left_out != "run smaller"), (
                f"{block.place} prints\n{said}instead of\n{block.printed}"
            )
        return done

    def _file(self, block):
        """Write the file that a block shows, or compare it with what was made."""
        path = self.folder / block.title
        if path.exists() and block.title not in self.shown:
            made = path.read_text(encoding="utf-8")
            assert is_as_shown(block.text, made), f"{block.place}: {block.title} is\n{made}"
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            self.shown.add(block.title)
        return []

    def _execute(self, block):
        """Execute Python; return what it printed."""
        printed = io.StringIO()
        code = compile(block.text, block.place, "exec")
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
            exec(code, self.names)
        return printed.getvalue()

    def run(self, command, block):
        """Run a command, with ``|``, ``<``, ``>`` and ``&&``; return what it printed.

        It must succeed; or fail, where the page shows an error.
        """
        said = ""
        wrong = (block.printed or "").startswith("error: ")
        read = shlex.shlex(command, posix=True, punctuation_chars="|&<>")
        read.whitespace_split, read.commenters = True, ""
        for line in _split(read, "&&"):
            given = ""
            for words in _split(line, "|"):
                target = self.folder / words.pop() if ">" in words and words.pop(-2) else None
                if "<" in words:
                    place = words.index("<")
                    given = (self.folder / words[place + 1]).read_text(encoding="utf-8")
                    del words[place : place + 2]
                smaller = block.left_out == "run smaller" and words[:2] == ["liaison", "run"]
                words += [word for each in (FAST if smaller else ()) for word in ("--set", each)]
                done = self._one([*words, *self.more(command)], given)
                assert (done.returncode != 0) == wrong, f"{block.place}: {command}\n{done.stderr}"
                given = done.stderr[done.stderr.find("error: ") :] if wrong else done.stdout
                if target:
                    target.write_text(given, encoding="utf-8")
                    given = ""
            said += given
        return said

    def _one(self, words, given):
        """Run one program."""
        if " ".join(words).startswith(BY_CI):
            return subprocess.CompletedProcess(words, 0, given, "")
        if words[:2] == ["liaison", "serve"]:
            return self._serve(words)
        if words[0] in ("liaison", "python"):
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            return prepared.run(python_words(words), cwd=self.folder, env=environment, stdin=given)
        assert words[0] in PROGRAMS, words[0]
        return subprocess.run(
            words, input=given, cwd=self.folder, capture_output=True, encoding="utf-8", check=False
        )

    def _serve(self, words):
        """Look at the page that a command serves, and end the command."""
        process = subprocess.Popen(
            [sys.executable, *python_words(words), "--port", "0"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            address = process.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
            with urllib.request.urlopen(address, timeout=60) as page:
                assert b"<html" in page.read()
        finally:
            process.kill()
            process.communicate()
        return subprocess.CompletedProcess(words, 0, address + "\n", "")


def _split(words, mark):
    """Return the runs of words between marks."""
    runs = [[]]
    for word in words:
        if word == mark:
            runs.append([])
        else:
            runs[-1].append(word)
    return runs
