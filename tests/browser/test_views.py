"""The other views of a saved report, its pictures and its files."""

import csv
import io
from pathlib import Path

import pytest
from lxml import etree
from playwright.sync_api import expect

from align.links import parse_pharaoh
from align.links.jsonl import read_jsonl
from align.links.tmx import read_tmx
from tests.browser.examples import FAINT, UNNAMED, corpus, diagonal, examples

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ["<img", "src=x", "onerror=alert(1)>", "</svg><script>alert(2)</script>", "&amp;", "]]>"]


def saved(page, menu, button):
    """Return the name and the bytes of what a button of a menu saves."""
    if menu:
        page.click(f"{menu} summary")
    with page.expect_download() as download:
        page.click(button)
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


class TestPictures:
    @pytest.mark.parametrize("dark", [False, True])
    def test_svg_needs_nothing_else(self, report, dark):
        page = report(examples(), at="#gold-1", dark=dark)
        name, content = saved(page, "#save-picture", "[data-picture='lines svg']")
        assert name == "tiny-corpus-gold-1-lines.svg"
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
        words = [element.text for element in root.iter(f"{SVG}text")]
        assert words == ["the", "old", "house", "la", "vieille", "maison", "!"]
        strokes = {element.get("stroke") for element in root.iter(f"{SVG}path")}
        # Sure, possible, missed, wrong, possible but not linked; of the light page, whatever this one is.
        assert {"#0068ab", "#00805c", "#96307f", "#cc4b00", "#7b858e"} <= strokes
        assert root.find(f"{SVG}rect").get("fill") == "#ffffff"
        for element in root.iter():
            assert not {"class", "style", "href", "onload"} & set(element.attrib), element.tag
            assert etree.QName(element).localname not in {"script", "style", "use", "image", "foreignObject"}

    def test_a_kind_that_is_hidden_is_not_in_the_picture(self, report):
        page = report(examples(), at="#gold-1")
        page.click("#legend [data-kind=wrong] input")
        _, content = saved(page, "#save-picture", "[data-picture='matrix svg']")
        assert b"#0068ab" in content
        assert b"#cc4b00" not in content

    @pytest.mark.parametrize("what", ["lines", "matrix"])
    def test_png(self, report, what):
        page = report(examples(), at="#corpus-13")
        name, content = saved(page, "#save-picture", f"[data-picture='{what} png']")
        assert name == f"tiny-corpus-corpus-13-{what}.png"
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(content[16:20], "big") > 300

    def test_hostile_words_stay_text(self, report, problems):
        page = report([corpus(1, " ".join(HOSTILE), "a b", diagonal(2))])
        _, content = saved(page, "#save-picture", "[data-picture='lines svg']")
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False))
        assert [element.text for element in root.iter(f"{SVG}text")][:6] == HOSTILE
        assert problems == []


class TestFiles:
    def test_the_selection_in_every_format(self, report):
        page = report(examples())
        page.select_option("#kind", "all")
        page.select_option("#order", "number")
        page.fill("#search", "house")
        found = {
            format: saved(page, "#save-pairs", f"#save-pairs [data-format={format}]")
            for format in ("pharaoh", "jsonl", "tmx", "csv")
        }
        assert [name for name, _ in found.values()] == [
            f"tiny-corpus-pairs.{ending}" for ending in ("align", "jsonl", "tmx", "csv")
        ]
        text = {format: content.decode("utf-8") for format, (_, content) in found.items()}
        assert text["pharaoh"] == "0-0 1-1 2-3\n\n"
        assert len(parse_pharaoh(text["pharaoh"].split("\n")[0])) == 3
        lines = list(enumerate(text["jsonl"].split("\n")[:-1], 1))
        assert [pair.source for pair in read_jsonl(lines, "x")] == [["the", "old", "house"], ["house"]]
        lines = list(enumerate(text["tmx"].split("\n")[:-1], 1))
        assert [len(pair.links) for pair in read_tmx(lines, "x")] == [3, 0]
        rows = list(csv.DictReader(io.StringIO(text["csv"], newline="")))
        assert [row["target"] for row in rows] == ["la vieille maison !", "maison"]

    def test_corrections_of_the_selection(self, report):
        page = report(examples(), at="#gold-2")
        page.keyboard.press("e")
        page.keyboard.press("p")
        page.select_option("#kind", "annotated")
        page.click("#save-pairs summary")
        page.select_option("#save-links", "annotation")
        with page.expect_download() as download:
            page.click("#save-pairs [data-format=pharaoh]")
        assert Path(download.value.path()).read_text(encoding="utf-8") == "0p0 1-1\n"

    def test_hostile_words_in_tmx_and_csv(self, report):
        page = report([corpus(1, " ".join(HOSTILE), '" , ;', diagonal(2))])
        _, content = saved(page, "#save-pairs", "#save-pairs [data-format=tmx]")
        (pair,) = read_tmx(list(enumerate(content.decode("utf-8").split("\n")[:-1], 1)), "x")
        assert pair.source == HOSTILE
        _, content = saved(page, "#save-pairs", "#save-pairs [data-format=csv]")
        (row,) = csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""))
        assert (row["source"], row["target"]) == (" ".join(HOSTILE), '" , ;')

    def test_no_text_of_a_table_is_a_formula(self, report):
        page = report([corpus(1, '=HYPERLINK("http://x") a', "-1.5 %", diagonal(2))])
        _, content = saved(page, "#save-pairs", "#save-pairs [data-format=csv]")
        (row,) = csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""))
        assert (row["source"], row["target"]) == ('\'=HYPERLINK("http://x") a', "-1.5 %")


class TestSummary:
    def test_figures_and_what_they_lead_to(self, report):
        page = report(examples())
        page.click("#tab-summary")
        cards = page.inner_text("#panel-summary .cards")
        # Links 6, sure 4, right 4 (3 sure), so 1 - (3 + 4) / (6 + 4).
        assert "Pairs\n8\n4 with gold or corrections" in cards
        assert "AER\n30.0 %" in cards
        assert "Precision\n66.7 %" in cards
        assert "Recall\n75.0 %" in cards
        page.get_by_role("link", name="1 wrong: no → jamais").click()
        expect(page.locator("#pair-title")).to_have_text("Gold 4 · test")
        expect(page.locator("#found")).to_have_text("1 of 8 pairs")
        assert page.inner_text("#chips") == "wrongly linked: no → jamais ×"
        assert page.locator("#lines .hit").all_inner_texts() == ["no", "jamais"]
        page.go_back()
        assert page.locator("#panel-summary").is_visible()

    def test_a_bar_and_a_point_lead_to_their_pairs(self, report):
        page = report(examples())
        page.click("#tab-summary")
        page.get_by_role("link", name="confidence 0.30 to 0.40: 0 of 1 link right").click()
        expect(page.locator("#found")).to_have_text("1 of 8 pairs")
        page.click("#tab-summary")
        page.get_by_role("link", name="0.70 to 0.80: 1 pair").click()
        expect(page.locator("#pair-title")).to_have_text("Corpus 13")
        assert page.input_value("#low") == "0.7"

    def test_tables_are_saved(self, report):
        page = report(examples())
        page.click("#tab-summary")
        button = "#panel-summary figure:has-text('Words without a link') .csv"
        name, content = saved(page, None, button)
        assert name == "words-without-a-link.csv"
        rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline="")))
        assert rows[0] == ["Word", "Side", "unlinked", "occurrences"]
        assert ["house", "source", "1", "2"] in rows

    def test_corrections_count(self, report):
        page = report(examples(), at="#corpus-12")
        page.keyboard.press("e")
        page.keyboard.press("s")
        page.click("#tab-summary")
        assert "5 with gold or corrections" in page.inner_text("#panel-summary .cards")


class TestLexicon:
    def test_a_word_and_its_translations(self, report):
        page = report(examples(), at="#?view=lexicon&side=source&word=THE")
        # The first pair's and "The committee".
        assert page.locator("#panel-lexicon tbody tr").count() == 2
        assert "the occurs 2 times." in page.inner_text("#panel-lexicon .result")
        page.click("#panel-lexicon tbody tr:has-text('la') td.n a")
        expect(page.locator("#pair-title")).to_have_text("Gold 1 · train")
        page.go_back()
        page.click("#panel-lexicon tbody tr:has-text('la') td a")
        assert page.input_value("#panel-lexicon input") == "la"
        assert page.input_value("#panel-lexicon select") == "target"

    def test_a_word_that_is_not_there(self, report):
        page = report(examples())
        page.click("#tab-lexicon")
        page.fill("#panel-lexicon input", "<b>")
        page.press("#panel-lexicon input", "Enter")
        assert page.inner_text("#panel-lexicon .result").startswith("<b> occurs 0 times.")


class TestFilters:
    @pytest.mark.parametrize(
        ("query", "numbers"),
        [
            ("link=the%3Ela", ["Gold 1"]),
            ("link=%3Ela", ["Gold 1"]),
            ("unlinked_word=source:house", ["Corpus 12"]),
            ("unlinked_word=target:maison", ["Gold 1", "Corpus 12"]),
            ("confidence=0.6-0.75", ["Gold 1", "Corpus 13"]),
            ("link_confidence=0.3-0.5", ["Gold 1", "Gold 4"]),
            ("score=0.75-1", ["Corpus 11"]),
            ("wrong_link=no%3Ejamais", ["Gold 4"]),
            ("missed_link=house%3Emaison", ["Gold 1"]),
            ("fault_word=target:maison", ["Gold 1"]),
            ("ids=gold-2,corpus-11", ["Gold 2", "Corpus 11"]),
            ("words=%22house%22&errors=missed", ["Gold 1"]),
            ("show=nonsense&order=number&errors=%3Cb%3E&words=green", ["Corpus 14"]),
        ],
    )
    def test_in_the_address(self, report, query, numbers):
        page = report(examples(), at=f"#?show=all&order=number&{query}")
        assert page.locator("#list tbody button").all_inner_texts() == numbers
        page.reload()
        assert page.locator("#list tbody button").all_inner_texts() == numbers
        page.click("#reset")
        expect(page.locator("#found")).to_have_text("8 pairs")

    def test_typed_linked_words(self, report):
        page = report(examples())
        page.select_option("#kind", "all")
        page.fill("#link-source", "old")
        expect(page.locator("#found")).to_have_text("1 of 8 pairs")
        page.fill("#link-target", "maison")
        expect(page.locator("#found")).to_have_text("0 of 8 pairs")
        assert page.locator("#nothing").is_visible()
        page.click("#reset")
        assert page.input_value("#link-source") == ""

    def test_a_pair_that_is_no_longer_found_gives_place_to_the_first(self, report):
        page = report(examples(), at="#gold-2")
        page.select_option("#kind", "all")
        expect(page.locator("#pair-title")).to_have_text("Gold 2 · test")
        page.fill("#search", "committee")
        expect(page.locator("#pair-title")).to_have_text("Corpus 13")
        assert page.locator("#lines .hit").all_inner_texts() == ["committee"]

    def test_the_order_keeps_the_pair(self, report):
        page = report(examples(), at="#gold-2")
        page.select_option("#order", "longest")
        expect(page.locator("#pair-title")).to_have_text("Gold 2 · test")


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_at_any_width(report, width, dark):
    page = report(examples(), at="#gold-1", width=width, height=800, dark=dark)
    for name in ("summary", "lexicon", "pairs"):
        page.click(f"#tab-{name}")
        expect(page.locator(f"#panel-{name}")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth") is True, name
        assert page.evaluate(UNNAMED) == []
        assert page.evaluate(FAINT) == []


def test_tabs_with_the_keys(report):
    page = report(examples())
    page.focus("#tab-pairs")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-summary"
    assert page.locator("#panel-summary").is_visible()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.id") == "tab-lexicon"


def test_five_thousand_pairs_are_all_searched(report):
    many = [corpus(number, f"word{number} the", f"mot{number} le", diagonal(2)) for number in range(1, 5001)]
    page = report(many)
    page.fill("#search", "word4999")
    assert page.locator("#list tbody button").all_inner_texts() == ["Corpus 4999"]
    page.fill("#search", "")
    page.fill("#link-source", "the")
    expect(page.locator("#found")).to_have_text("5,000 pairs")
    # The pair that is shown stays in view.
    assert page.inner_text("#page-text") == "page 100 of 100"
