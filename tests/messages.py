"""The page of all error messages: ``python -m tests.messages`` writes docs/errors.md from the code.

A message stands where it is raised, with its words; here they are gathered for who searches for one. What is
put in at run time stands as ``<name>``.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "errors.md"
ERRORS = {"InputError", "WorkError"}

HEAD = """# Errors

What Liaison says of wrong input (exit status 2), or where the work itself fails: a server, a disk, memory
(exit status 1). It is one line on standard error, `error: WHERE: WHAT IS WRONG; WHAT TO DO`. The messages
stand here by the modules that say them, with `<name>` for what is put in. Made from the code by
`python -m tests.messages`.

Of anything else the line is `error: unexpected ...; this is a fault of the program`: please report it with
what `--debug` prints.
"""


def text_of(node):
    """Return the text of a string expression, None where there is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "" for part in node.values)
    if isinstance(node, ast.FormattedValue):
        found = re.sub(r"\[[^][]*\]|\([^()]*\)", "", ast.unparse(node.value))
        names = re.findall(r"[a-z_]{2,}", found)
        return f"<{names[-1].strip('_').replace('_', ' ')}>" if names else "<...>"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (text_of(node.left) or "<...>") + (text_of(node.right) or "<...>")
    return None


def messages(tree):
    """Yield the messages that a module raises, in its order."""
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ERRORS and call.args:
            text = text_of(call.args[0])
            if text is not None and re.search(r"\w{3}", re.sub(r"<[^>]*>", "", text)):
                yield node.lineno, " ".join(text.split())


def section(path):
    """Return the part of the page that a module has, empty where it raises nothing."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    rows = []
    for _, text in sorted(messages(tree)):
        what, _, remedy = text.rpartition("; ")
        cells = (what, remedy) if what else (remedy, "")
        row = " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells)
        if row not in rows:
            rows.append(row)
    if not rows:
        return ""
    about = (ast.get_docstring(tree) or "").split("\n")[0].rstrip(":")
    head = f"\n## {path.relative_to(ROOT)}\n\n{about}\n\n| what | what to do |\n|---|---|\n"
    return head + "".join(f"| {row} |\n" for row in rows)


def page():
    paths = (path for folder in ("align", "pipeline") for path in sorted((ROOT / folder).rglob("*.py")))
    return HEAD + "".join(map(section, paths))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
