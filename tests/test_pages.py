"""README and docs/ say what is so: blocks of code are run, links lead somewhere, the site has all pages."""

import importlib.util
import re
import shutil
import tarfile
from collections import Counter

import pytest
import yaml

from tests import made_pages, pages, prepared
from tests.pages import PAGES, ROOT, Reader, python_words
from tests.runs import FAST

# Why a block is not run, or run smaller, and how many there may be.
LEFT_OUT = {
    "needs the measuring data": 22,
    "needs several machines": 6,
    "asks the registry of packages": 1,
    "the sample takes a minute": 4,
    "leaves a process behind": 2,
    "a loop of the shell": 1,
    "is done for a release": 5,
}

# Pages that have drawings and formulas, indented, and how many.
DRAWINGS = {"docs/index.md": 1, "README.md": 1, "docs/architecture.md": 2, "docs/solvers.md": 8}

# Which languages blocks have.
LANGUAGES = {"bash", "python", "text", "toml", "json", "yaml", "drawing", "tsv"}

WORKING = [page for page in PAGES if any(block.language != "drawing" for block in pages.blocks(page))]
OUTSIDE = importlib.util.spec_from_file_location("site", ROOT / ".ci" / "site.py")


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A folder with what is in a checkout, with the sample's results, and files that a reader has."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "run_pipeline.py", folder)
    shutil.copytree(ROOT / "data", folder / "data", ignore=shutil.ignore_patterns("work"))
    texts = {
        "pairs.tsv": "The train is late.\tLe train est en retard.\n",
        "links.txt": "0-0\n",
        "forward.txt": "0-0 1-1\n",
        "reverse.txt": "0-0\n",
        "rows.txt": "a b ||| c d ||| 0-0 1-1\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    sample = folder / "data" / "sample"
    for side in ("en", "fr"):
        lines = (sample / f"sample.{side}").read_text(encoding="utf-8").split("\n")[:60]
        (folder / f"text.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        shutil.copy(sample / f"gold.{side}", folder)
    for name in ("gold.align", "hypothesis.align"):
        shutil.copy(sample / "gold.align", folder / name)
    with tarfile.open(folder / "fr-en.tgz", "w:gz") as archive:
        for side in ("en", "fr"):
            archive.add(folder / f"text.{side}", f"europarl-v7.fr-en.{side}")
    settings = [word for each in FAST for word in ("--set", each)]
    done = prepared.run(python_words(["liaison", "run", "--jobs", "1", *settings]), cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def more(command):
    """Return what a command gets beside its own words: no network, few passes, results in its folder."""
    for part, words in {
        "europarl-fr-en.toml": ["--set", "corpus.url=fr-en.tgz"],
        "benchmarks.solvers": ["--passes", "3"],
        "benchmarks.rates": ["--output", "rates"],
    }.items():
        if part in command:
            return words
    return []


def check(command, output, folder):
    """Check what a command leaves, whatever the page shows of it."""
    option = dict(re.findall(r"(-\w|--[a-z-]+) ([^\s-]\S*)", command))
    made = folder / option["-o"] if "-o" in option else None
    if "liaison run" in command and not re.search("--(list|dry-run|stage (align|train))", command):
        assert re.search(r"^AER (0\.\d{4} P |n/a)", output, re.M), command
    if " links " in command and "--scores" in command:
        assert re.fullmatch(r"((\d+-\d+:[01](\.\d+)?( |(?=\n)))*\n)+", made.read_text() if made else output)
    if " explain " in command:
        assert "confidence" in output
    if " combine " in command or " lexicon " in command:
        assert made or output.strip()
    if made:
        assert made.stat().st_size > 0, command
    if "benchmarks.solvers" in command:
        assert output.startswith("# How fast the solvers close the duality gap")
        assert (folder / "solvers" / "sample-gold.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("page", WORKING, ids=name_of)
def test_every_block_of_a_page_works_as_written(page, checkout, tmp_path):
    folder = tmp_path / "reader"
    shutil.copytree(checkout, folder, symlinks=True)
    reader = Reader(folder, more=more)
    for block in pages.blocks(page):
        for command, output in reader.do(block):
            check(command, output, folder)


def test_what_is_not_run_says_why():
    """Every block is run, or belongs to a few kinds, of which there are as many as are known."""
    reasons, drawings = Counter(), Counter()
    for page in PAGES:
        for block in pages.blocks(page):
            assert block.language in LANGUAGES, (
                f"{block.place}: {block.language or 'a block without a language'}"
            )
            if block.left_out:
                reasons[block.reason] += 1
            elif block.language == "drawing":
                if page.parent != made_pages.DOCS / "api":  # formulas of docstrings
                    drawings[name_of(page)] += 1
            elif not (block.title or block.commands):
                assert block.language in ("python", "toml", "json"), (
                    f"{block.place}: of what is this the output?"
                )
    assert not {reason: count for reason, count in reasons.items() if count > LEFT_OUT.get(reason, 0)}
    assert drawings == DRAWINGS


@pytest.mark.slow
def test_commands_that_are_not_run_have_the_options_they_use():
    wanted = {}
    for block in (block for page in PAGES for block in pages.blocks(page) if block.left_out == "not run"):
        for command in block.commands:
            program = re.match(
                r"python -m benchmarks[\w.]*|python run_pipeline.py|liaison(?: [a-z]+)?", command
            )
            if program:
                wanted.setdefault(program[0], []).append((block.place, command))
    assert wanted
    for program, commands in wanted.items():
        told = prepared.run([*python_words(program), "--help"], cwd=ROOT).stdout
        for place, command in commands:
            for option in re.findall(r" (--[a-z-]+)", command):
                assert re.search(rf"{option}\b", told), f"{place}: {program} has no {option}"


def heading_anchors(text):
    """Return the anchors of a page's headings: those of code hosts, and of the site."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    hosts, sites = Counter(), Counter()
    for heading in re.findall(r"^#{1,6} (.*)$", text, re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", heading).strip().lower()
        kept = re.sub(r"[^\w\s-]", "", heading)
        hosts[kept.replace(" ", "-")] += 1
        sites[re.sub(r"[-\s]+", "-", kept.encode("ascii", "ignore").decode())] += 1
    return {anchor for anchor, count in hosts.items() if count == 1 and sites[anchor] == 1}


def site():
    """Return what the site is told beside mkdocs.yml."""
    module = importlib.util.module_from_spec(OUTSIDE)
    OUTSIDE.loader.exec_module(module)
    return module


def test_every_link_leads_somewhere():
    """To a file of the repository; from a page of the site, to another one or a picture below docs/."""
    outside = [ROOT / name for name in site().OUTSIDE]
    files = (path for name in ("curves", "examples") for path in (ROOT / "docs" / name).iterdir())
    of_site = {ROOT / "README.md", *PAGES, *outside, *files}
    broken = []
    for page in [*PAGES, *outside]:
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            name, _, anchor = link.partition("#")
            if re.match(r"https?:|mailto:", name):
                continue
            aim = (page.parent / name).resolve() if name else page
            if not aim.exists() or (page != PAGES[0] and aim not in of_site):
                broken.append(f"{name_of(page)}: {link}")
            elif anchor and anchor not in heading_anchors(aim.read_text(encoding="utf-8")):
                broken.append(f"{name_of(page)}: {link}: no such heading")
    assert not broken, "\n".join(broken)


def test_files_that_are_named_exist():
    for page in PAGES:
        for name in re.findall(r"`(data/[\w./-]+\.toml)`", page.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), f"{name_of(page)}: {name}"


def test_the_site_leads_to_every_page():
    configuration = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    led_to = [page for group in configuration["nav"] for pages in group.values() for page in pages]
    led_to = [each if isinstance(each, str) else next(iter(each.values())) for each in led_to]
    below = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:]}
    assert sorted(led_to) == sorted(below | set(site().OUTSIDE))
    assert configuration["theme"]["font"] is False


@pytest.mark.parametrize("path", made_pages.pages(), ids=name_of)
def test_a_page_is_made_from_the_code(path):
    made = made_pages.pages()[path]
    assert path.read_text(encoding="utf-8") == made, "python -m tests.made_pages writes it"


def test_the_two_commands_of_the_start_are_what_ci_runs():
    readme = PAGES[0].read_text(encoding="utf-8")
    assert "pip install -e . && liaison run" in readme
    assert 'pip install -e ".[test]" && python -m pytest' in readme
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in (
        'install() { python -m pip install --quiet --disable-pip-version-check "$@"; }',
        "\ninstall -e .\nliaison run ",
        '\ninstall -e ".[test]"\n',
        "\npython -m pytest\n",
        "\npython -m mkdocs build --quiet --strict ",
    ):
        assert command in ci


def test_what_is_printed_is_compared_with_what_is_shown():
    assert pages.is_as_shown("0-0:0.93 1-1\n", "0-0:0.94 1-1\n")
    assert not pages.is_as_shown("0-0:0.93 1-1\n", "0-0:0.90 1-1\n")
    assert not pages.is_as_shown("0-0 1-1\n", "0-0 1-2\n")
    assert not pages.is_as_shown("0-0\n", "0-0\n1-1\n")
    assert pages.is_as_shown("first\n...\nlast\n", "first\nsecond\nthird\nlast\n")
    assert pages.is_as_shown("a ... line\n", "a rather long line\n")
    assert pages.is_as_shown("AER 0.0274 pairs 140\n", "AER 0.1 pairs 12\n", numbers=False)
    assert not pages.is_as_shown("AER 0.0274 pairs 140\n", "AER n/a pairs 12\n", numbers=False)
