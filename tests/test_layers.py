"""The house's walls: what may import what, who may print, how text of strangers is read."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALIGN = sorted((ROOT / "align").rglob("*.py"))
PIPELINE = sorted((ROOT / "pipeline").rglob("*.py"))
SOURCES = [*ALIGN, *PIPELINE, ROOT / "run_pipeline.py", *sorted((ROOT / "benchmarks").rglob("*.py"))]


def name_of(path):
    return str(path.relative_to(ROOT))


def command_line(path):
    return (ROOT / "align" / "cli") in path.parents or path == ROOT / "align" / "__main__.py"


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


@pytest.mark.parametrize("path", ALIGN, ids=name_of)
def test_the_method_knows_nothing_of_the_pipeline(path):
    if command_line(path):
        return
    for module in imports(ast.parse(path.read_bytes())):
        assert module.split(".")[0] != "pipeline", f"{name_of(path)} imports {module}"
        assert module.split(".")[:2] != ["align", "cli"], f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("path", ALIGN, ids=name_of)
def test_only_the_command_line_prints(path):
    if command_line(path):
        return
    for _, function in calls(ast.parse(path.read_bytes())):
        assert function != "print"
        assert not function.startswith(("sys.stdout", "sys.stderr", "logging.", "warnings.warn"))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_text_and_models_of_strangers_are_read_safely(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for module in imports(tree):
        assert module.split(".")[0] not in {"pickle", "dill", "cloudpickle", "marshal", "shelve"}
    for node, function in calls(tree):
        assert not function.endswith(".splitlines"), f"{name_of(path)}:{node.lineno}: only \\n ends a line"
        assert function not in {"eval", "exec", "codecs.open"}, f"{name_of(path)}:{node.lineno}"
        for keyword in node.keywords:
            if keyword.arg == "allow_pickle":
                assert ast.unparse(keyword.value) == "False", f"{name_of(path)}:{node.lineno}"
            if keyword.arg == "verify":
                assert ast.unparse(keyword.value) != "False", f"{name_of(path)}:{node.lineno}"
        if function in {"np.load", "numpy.load"}:
            assert any(keyword.arg == "allow_pickle" for keyword in node.keywords), name_of(path)


# These hold several arrays in one zip file, which numpy reads and writes whole.
ZIPPED = (
    "align/solvers/extragradient_state.py",
    "align/solvers/state.py",
    "pipeline/preprocess_shard.py",
    "pipeline/preprocess_write.py",
)


@pytest.mark.parametrize("path", [*ALIGN, *PIPELINE], ids=name_of)
def test_array_files_are_read_and_written_in_one_place(path):
    if name_of(path) in ("align/arrays.py", *ZIPPED):
        return
    for node, function in calls(ast.parse(path.read_bytes())):
        odd = re.fullmatch(r"(np|numpy)\..*\b(load|save|savez\w*|open_memmap|memmap|fromfile)", function)
        assert not odd, f"{name_of(path)}:{node.lineno}: use align.arrays"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_text_files_are_opened_as_utf8(path):
    for node, function in calls(ast.parse(path.read_bytes())):
        if function not in {"open", "io.open", "gzip.open", "lzma.open", "io.TextIOWrapper"}:
            continue
        mode = next((ast.unparse(k.value) for k in node.keywords if k.arg == "mode"), None)
        if mode is None and len(node.args) > 1:
            mode = ast.unparse(node.args[1])
        binary = mode is not None and "b" in mode
        if function in {"gzip.open", "lzma.open"} and mode is None:
            binary = True
        named = {keyword.arg for keyword in node.keywords}
        assert binary or "encoding" in named, f"{name_of(path)}:{node.lineno}: open() without an encoding"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_are_short_enough_to_read_in_one_sitting(path):
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= 420, f"{name_of(path)} has {lines} lines: split it"


@pytest.mark.parametrize("path", ALIGN, ids=name_of)
def test_no_global_state_in_the_method(path):
    """No ``global`` statement, no global random generator."""
    tree = ast.parse(path.read_bytes())
    assert not any(isinstance(node, ast.Global) for node in ast.walk(tree))
    for node, function in calls(tree):
        seeded = re.fullmatch(r"np\.random\.(?!default_rng|Generator|PCG64|SeedSequence).*", function)
        assert not seeded, f"{name_of(path)}:{node.lineno}: pass a generator instead"
