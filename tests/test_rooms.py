"""The house's walls: which room may import which, how full a room may be, who may print."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALIGN = sorted((ROOT / "align").rglob("*.py"))
PIPELINE = sorted((ROOT / "pipeline").rglob("*.py"))
SOURCES = [*ALIGN, *PIPELINE, ROOT / "run_pipeline.py", *sorted((ROOT / "benchmarks").rglob("*.py"))]
TREES = {path: ast.parse(path.read_bytes()) for path in SOURCES}

# A room imports only rooms above it in its list; ``pipeline`` may import ``align``, never the other way.
ROOMS = {
    "align": (
        "core",
        "data",
        "text",
        "links",
        "evaluation",
        "vectors",
        "statistics",
        "features",
        "matching",
        "problems",
        "solvers",
        "learning",
        "model",
        "estimators",
        "plot",
        "report",
        "explorer",
        "cli",
    ),
    "pipeline": ("config", "work", "stages", "run"),
}
MODULES_A_ROOM = 15
LINES_A_FUNCTION = 60

# Functions longer than that which would only be harder to read in pieces, each with its reason.
LONG_FUNCTIONS: dict[str, str] = {
    "align.statistics.sampler._sweep": "the innermost loop: in functions it is half as fast",
}


def name_of(path):
    return str(path.relative_to(ROOT))


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in [*ALIGN, *PIPELINE]}


def is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports(tree, *, types=True):
    """Yield the modules of the project that a tree imports; those for the type checker only if asked."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if is_for_types(node) and not types:
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else node.module
        waiting.extend(ast.iter_child_nodes(node))


def room_of(module):
    """Return the package and the place in its order of rooms; None for what stands above all rooms."""
    package, _, rest = module.partition(".")
    room = rest.partition(".")[0]
    return ROOMS[package].index(room) if package in ROOMS and room in ROOMS[package] else None


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def is_command_line(path):
    return (ROOT / "align" / "cli") in path.parents or path == ROOT / "align" / "__main__.py"


def test_a_room_imports_only_rooms_above_it():
    wrong = []
    for module, path in MODULES.items():
        here = room_of(module)
        for other in sorted(set(imports(TREES[path]))):
            if other not in MODULES or here is None:
                continue
            there = room_of(other)
            if module.partition(".")[0] == other.partition(".")[0]:
                if there is not None and there > here:
                    wrong.append(f"{module} -> {other}")
            elif module.startswith("align"):
                wrong.append(f"{module} -> {other}")
    assert not wrong, "imports against the order of the rooms:\n" + "\n".join(wrong)


def test_every_module_has_a_room():
    loose = [m for m in MODULES if m.count(".") > 1 and room_of(m) is None]
    loose += [m for m in MODULES if m.count(".") == 1 and room_of(m) is None and not m.endswith("__main__")]
    assert not loose, f"in no room of the list: {', '.join(loose)}"


def circle(arrows):
    """Return a circle of arrows (a list of names, the first again at the end), or None."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        path.append(name)
        for other in sorted(arrows.get(name, ())):
            found = visit(other)
            if found:
                return found
        done.add(path.pop())
        return None

    return next(filter(None, map(visit, sorted(arrows))), None)


def test_no_modules_import_each_other_in_a_circle():
    arrows = {
        module: {other for other in imports(TREES[path]) if other in MODULES and other != module}
        for module, path in MODULES.items()
    }
    found = circle(arrows)
    assert not found, f"a circle of imports: {' -> '.join(found)}"


def test_no_folders_import_each_other_in_a_circle():
    arrows = {}
    for path in MODULES.values():
        folder = str(path.parent.relative_to(ROOT))
        for other in imports(TREES[path]):
            if other in MODULES and MODULES[other].parent != path.parent:
                arrows.setdefault(folder, set()).add(str(MODULES[other].parent.relative_to(ROOT)))
    found = circle(arrows)
    assert not found, f"a circle of imports between folders: {' -> '.join(found)}"


def test_no_room_is_crowded():
    rooms = Counter(path.parent for path in [*ALIGN, *PIPELINE] if path.name != "__init__.py")
    crowded = [f"{name_of(folder)}: {count}" for folder, count in rooms.items() if count > MODULES_A_ROOM]
    assert not crowded, f"more than {MODULES_A_ROOM} modules: {', '.join(crowded)}"


def code_lines(function):
    """Return how many lines of a function hold code: not its docstring, comments, blanks or arguments."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    lines = set()
    for statement in body:
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                lines.update((node.lineno, node.end_lineno))
    return len(lines)


def test_functions_are_short_enough_to_be_understood_at_once():
    long = {}
    for path in [*ALIGN, *PIPELINE]:
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = code_lines(node)
                if count > LINES_A_FUNCTION:
                    long[f"{module_of(path)}.{node.name}"] = count
    new = [f"{name}: {count}" for name, count in sorted(long.items()) if name not in LONG_FUNCTIONS]
    assert not new, f"more than {LINES_A_FUNCTION} lines of code:\n" + "\n".join(new)
    gone = sorted(set(LONG_FUNCTIONS) - set(long))
    assert not gone, f"no longer so long: take {', '.join(gone)} off the list"


# What else warns, and of what: a user of the library is to know of it.
WARNS = {
    "align/model/aligner.py": "warnings.warn",  # weights are loaded in place of a model
    "align/estimators/matching_ssvm.py": "warnings.warn",  # the passes ended before it converged
}


def test_only_the_command_line_of_the_method_prints():
    wrong = [
        f"{name_of(path)}:{node.lineno}: {function}"
        for path in ALIGN
        if not is_command_line(path)
        for node, function in calls(TREES[path])
        if WARNS.get(name_of(path)) != function
        if function == "print"
        or function.startswith(("sys.stdout", "sys.stderr", "logging.", "warnings.warn"))
    ]
    assert not wrong, "\n".join(wrong)


def test_text_and_models_of_strangers_are_read_safely():
    wrong = []
    for path, tree in TREES.items():
        for module in imports(tree):
            if module.split(".")[0] in {"pickle", "dill", "cloudpickle", "marshal", "shelve"}:
                wrong.append(f"{name_of(path)}: imports {module}")
        for node, function in calls(tree):
            where = f"{name_of(path)}:{node.lineno}"
            if function.endswith(".splitlines"):
                wrong.append(f"{where}: only \\n ends a line")
            if function in {"eval", "exec", "codecs.open"}:
                wrong.append(f"{where}: {function}")
            for keyword in node.keywords:
                value = ast.unparse(keyword.value)
                if (keyword.arg, value) in {("allow_pickle", "True"), ("verify", "False")}:
                    wrong.append(f"{where}: {keyword.arg}={value}")
    assert not wrong, "\n".join(wrong)


# These hold several arrays in one zip file, which numpy reads and writes whole.
ZIPPED = (
    "align/solvers/state.py",
    "pipeline/stages/preprocess/shard.py",
    "pipeline/stages/preprocess/write.py",
)


def test_array_files_are_read_and_written_in_one_place():
    odd = re.compile(r"(np|numpy)\..*\b(load|save|savez\w*|open_memmap|memmap|fromfile)")
    wrong = [
        f"{name_of(path)}:{node.lineno}: {function}"
        for path in [*ALIGN, *PIPELINE]
        if name_of(path) not in ("align/core/arrays.py", *ZIPPED)
        for node, function in calls(TREES[path])
        if odd.fullmatch(function)
    ]
    assert not wrong, "use align.core.arrays:\n" + "\n".join(wrong)


def test_text_files_are_opened_as_utf8():
    wrong = []
    for path, tree in TREES.items():
        for node, function in calls(tree):
            if function not in {"open", "io.open", "gzip.open", "lzma.open", "io.TextIOWrapper"}:
                continue
            mode = next((ast.unparse(k.value) for k in node.keywords if k.arg == "mode"), None)
            if mode is None and len(node.args) > 1:
                mode = ast.unparse(node.args[1])
            binary = mode is not None and "b" in mode
            if function in {"gzip.open", "lzma.open"} and mode is None:
                binary = True
            if not binary and "encoding" not in {keyword.arg for keyword in node.keywords}:
                wrong.append(f"{name_of(path)}:{node.lineno}: open() without an encoding")
    assert not wrong, "\n".join(wrong)


def test_no_global_state_in_the_method():
    """No ``global`` statement, no global random generator."""
    odd = re.compile(r"np\.random\.(?!default_rng|Generator|PCG64|SeedSequence).*")
    wrong = []
    for path in ALIGN:
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.Global):
                wrong.append(f"{name_of(path)}:{node.lineno}: global")
        wrong += [
            f"{name_of(path)}:{node.lineno}: {function}: pass a generator instead"
            for node, function in calls(TREES[path])
            if odd.fullmatch(function)
        ]
    assert not wrong, "\n".join(wrong)
