"""The embedded sample is what its README says: well formed, without repetition, rich enough to learn from."""

import re
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from align.text.tokenize import rules

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "sample"
TEXTS = ("sample.en", "sample.fr", "gold.en", "gold.fr")
LINK = re.compile(r"(\d+)([-p])(\d+)")

# What occurs in how many lines at least (corpus and gold together): side, pattern, lines.
# The patterns hold for raw text and for tokens apart.
PHENOMENA = {
    "elision of the article": ("fr", r"\b[lL]['’]", 150),
    "elision of de": ("fr", r"\b[dD]['’]", 45),
    "elision of que": ("fr", r"\b[qQ]u['’]", 30),
    "elision of je": ("fr", r"\b[jJ]['’]", 20),
    "elision of ne": ("fr", r"\b[nN]['’]", 90),
    "aujourd'hui, one word": ("fr", r"\baujourd['’]hui\b", 6),
    "ne ... pas": ("fr", r"\b[nN](?:e |['’]).* pas\b", 100),
    "ne ... plus": ("fr", r"\b[nN](?:e |['’]).* plus\b", 18),
    "ne ... jamais": ("fr", r"\b[nN](?:e |['’]).* jamais\b", 10),
    "ne ... rien, rien ... ne": ("fr", r"\b[rR]ien\b", 15),
    "contracted articles": ("fr", r"\b(?:[dD]u|[dD]es|[aA]ux?)\b", 190),
    "verb of two words": ("fr", r"\b(?:ai|as|a|avons|avez|ont) (?:pas )?\w+[éiust]\b", 180),
    "inversion with a hyphen": ("fr", r"\w ?- ?(?:t ?- ?)?(?:il|elle|vous|nous|tu|ce)\b", 20),
    "guillemets": ("fr", r"« .* »", 10),
    "spaced question mark": ("fr", r" \?", 55),
    "spaced semicolon or colon": ("fr", r" [;:] ", 25),
    "thousands apart": ("fr", r"\b\d{1,3} \d{3}\b", 10),
    "thousands by comma": ("en", r"\b\d{1,3},\d{3}\b", 10),
    "decimal comma": ("fr", r"\b\d+,\d+\b", 10),
    "decimal point": ("en", r"\b\d+\.\d+\b", 10),
    "per cent": ("fr", r"\d %", 18),
    "any figure": ("en", r"\d", 75),
    "English contraction": ("en", r"\w(?:n['’]t|['’](?:s|m|d|ll|ve|re))\b", 70),
    "possessive": ("en", r"\w(?:'s|s') [a-z]", 30),
    "hyphenated English word": ("en", r"\b\w+-\w+", 4),
    "phrasal verb": ("en", r"\b(?:up|down|out|back|off|away)\b", 40),
    "question": ("en", r"\?", 55),
    "parentheses": ("en", r"\(.*\)", 3),
    "typographic apostrophe": ("fr", r"\w’\w", 4),
}


def lines(name: str) -> list[str]:
    """Lines of a sample file; only a line feed ends one, and the last is ended too."""
    text = (SAMPLE / name).read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


def links(line: str) -> list[tuple[int, int, bool]]:
    """(source, target, sure) of each link written in a line."""
    found = [LINK.fullmatch(item) for item in line.split(" ")]
    assert all(found), line
    return [(int(one[1]), int(one[3]), one[2] == "-") for one in found if one]


def words(line: str) -> list[str]:
    """Pieces between spaces that hold a letter or a figure."""
    return [piece for piece in line.split(" ") if re.search(r"\w", piece)]


def squeezed(line: str) -> str:
    """A line without case, spaces, or the form of its quotes: the same for raw and tokenized text."""
    return re.sub(r"[\s\"“”«»]", "", line).replace("’", "'").casefold()


def annotated() -> list[tuple[list[str], list[str], list[tuple[int, int, bool]]]]:
    """Every gold pair: source tokens, target tokens, links."""
    rows = zip(lines("gold.en"), lines("gold.fr"), lines("gold.align"), strict=True)
    return [(source.split(" "), target.split(" "), links(line)) for source, target, line in rows]


def test_sizes():
    assert len(lines("sample.en")) == len(lines("sample.fr")) >= 520
    assert len(lines("gold.en")) == len(lines("gold.fr")) == len(lines("gold.align")) >= 120


@pytest.mark.parametrize("name", TEXTS)
def test_clean_text(name):
    for line in lines(name):
        assert line, "an empty line"
        assert unicodedata.is_normalized("NFC", line), line
        assert line == line.strip(), line
        assert "  " not in line, line
        # Of all white space and control characters only the ordinary space occurs.
        assert all(c == " " or unicodedata.category(c)[0] not in "ZC" for c in line), line
        assert 3 <= len(words(line)) <= 30, line


@pytest.mark.parametrize("language", ["en", "fr"])
def test_no_sentence_twice(language):
    """Neither within the corpus or the gold, nor in both; on each side alone, not only as a pair."""
    counts = Counter(squeezed(line) for part in ("sample", "gold") for line in lines(f"{part}.{language}"))
    assert [line for line, count in counts.items() if count > 1] == []


def test_french_punctuation_is_spaced():
    for name in ("sample.fr", "gold.fr"):
        assert [line for line in lines(name) if re.search(r"[^ ][?!;:»]|«[^ ]", line)] == []


@pytest.mark.parametrize("language", ["en", "fr"])
def test_gold_is_cut_by_the_rules(language):
    """The built-in tokenizer finds nothing more to cut; what it would never cut has no gap either."""
    cut = rules(language).cut
    tokens = {token for line in lines(f"gold.{language}") for token in line.split(" ")}
    assert {token: cut(token, False) for token in tokens if cut(token, False) != [token]} == {}
    text = " ".join(lines(f"gold.{language}"))
    assert re.findall(r"\b\w+ (?:n't|'(?:s|m|d|ll|ve|re))\b|aujourd' hui", text) == []


def test_gold_links_are_in_bounds_and_unique():
    for source, target, pair in annotated():
        places = [(j, k) for j, k, _ in pair]
        assert all(0 <= j < len(source) and 0 <= k < len(target) for j, k in places), source
        # A place listed twice would be sure and possible at once, or a plain repetition.
        assert len(set(places)) == len(places), source
        assert places == sorted(places), source


def test_sure_links_are_one_to_one():
    for source, _, pair in annotated():
        sure = [(j, k) for j, k, is_sure in pair if is_sure]
        assert sure, source
        assert len({j for j, _ in sure}) == len({k for _, k in sure}) == len(sure), source


def test_gold_has_hard_places():
    """Possible links, reordering and unlinked words: else the error rate would say nothing."""
    pairs = annotated()
    assert sum(any(not is_sure for _, _, is_sure in pair) for _, _, pair in pairs) >= 120
    crossing = unlinked = 0
    for source, target, pair in pairs:
        sure = [k for _, k, is_sure in pair if is_sure]
        crossing += sure != sorted(sure)
        unlinked += len({j for j, _, _ in pair}) < len(source) or len({k for _, k, _ in pair}) < len(target)
    assert crossing >= 50
    assert unlinked >= 5


def test_matched_tokens_agree():
    """Equal figures, names and marks are sure links: a slip by one index would show here."""
    for source, target, pair in annotated():
        sure = {(j, k) for j, k, is_sure in pair if is_sure}
        for j, token in enumerate(source):
            telling = re.fullmatch(r"\d+|[%.?!:;]", token) or (token[0].isupper() and j > 0)
            if telling and source.count(token) == target.count(token) == 1:
                assert (j, target.index(token)) in sure, (token, source)


@pytest.mark.parametrize("name", PHENOMENA)
def test_phenomena(name):
    language, pattern, least = PHENOMENA[name]
    text = lines(f"sample.{language}") + lines(f"gold.{language}")
    found = sum(bool(re.search(pattern, line)) for line in text)
    assert found >= least


@pytest.mark.parametrize(("language", "most_types"), [("en", 1700), ("fr", 2000)])
def test_words_recur(language, most_types):
    """A small vocabulary: three tokens in four belong to words that occur at least five times."""
    text = " ".join(lines(f"sample.{language}") + lines(f"gold.{language}")).casefold().replace("’", "'")
    counts = Counter(re.findall(r"\d[\d.,]*|[^\W\d]+(?:-[^\W\d]+)*'?|[^\w\s]", text))
    assert len(counts) <= most_types
    frequent = sum(count for count in counts.values() if count >= 5)
    assert frequent >= 0.75 * sum(counts.values())


def test_readme_counts():
    """The figures of the README are those of the files."""
    readme = (SAMPLE / "README.md").read_text("utf-8")
    told = dict(re.findall(r"^\| ([a-z ,()]+?) +\| ([\d,]+) +\|$", readme, re.M))
    pairs = annotated()
    sure = sum(is_sure for _, _, pair in pairs for _, _, is_sure in pair)
    counted = {
        "corpus pairs": len(lines("sample.en")),
        "gold pairs": len(pairs),
        "gold tokens, english": sum(len(source) for source, _, _ in pairs),
        "gold tokens, french": sum(len(target) for _, target, _ in pairs),
        "sure links": sure,
        "possible links (not sure)": sum(len(pair) for _, _, pair in pairs) - sure,
    }
    assert {name: int(figure.replace(",", "")) for name, figure in told.items()} == counted


def test_config_names_the_files():
    config = tomllib.loads((SAMPLE / "sample.toml").read_text("utf-8"))
    for name in [*config["corpus"]["files"], *config["gold"]["files"], config["gold"]["links"]]:
        assert (SAMPLE / name).is_file(), name
    assert 0 < config["gold"]["train"] < len(lines("gold.align"))
