"""The report in a real browser: what it shows, how it is used, and that text of a corpus stays text."""

import json
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from align.links import Link
from align.report import Reason, ShownPair
from tests.browser.examples import UNNAMED, corpus, diagonal, examples, gold, words

HOSTILE = [
    "<img",
    "src=x",
    "onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<!--",
    "<svg/onload=alert(3)>",
    "&amp;",
    "javascript:alert(4)",
    "\u2028",
    "{{7*7}}",
]


def shown(page):
    """Return the numbers of the list, top down."""
    return page.locator("#list tbody button").all_inner_texts()


def listed(page):
    """Show all pairs, in the order of their lines."""
    page.select_option("#kind", "all")
    page.select_option("#order", "number")


class TestList:
    def test_figures_and_counts(self, report):
        page = report(examples())
        assert page.inner_text("h1") == "tiny & <corpus> English → French"
        assert page.inner_text(".facts") == "AER\n5.6 % 4.8 to 6.4 %\nCorpus\n20,000 lines"
        assert page.inner_text("#found") == "3 of 8 pairs"
        page.select_option("#kind", "all")
        assert page.inner_text("#found") == "8 pairs"
        assert page.locator("#list tbody tr").count() == 8

    def test_worst_first(self, report):
        page = report(examples())
        page.select_option("#kind", "all")
        # By AER; then those without one, by sentence score or confidence.
        assert shown(page) == [
            *("Gold 4", "Gold 1", "Gold 2"),
            *("Corpus 12", "Corpus 13", "Corpus 14", "Corpus 11", "Gold 3"),
        ]
        assert page.locator("#list td:nth-child(4)").all_inner_texts()[:3] == [
            "100.0\n1",
            "40.0\n1\n1",
            "0.0",
        ]

    def test_a_column_orders_one_way_and_then_the_other(self, report):
        page = report(examples())
        page.select_option("#kind", "all")
        page.click("#list th:nth-child(3) button")
        assert shown(page)[:2] == ["Corpus 11", "Gold 1"]
        assert page.evaluate("document.querySelector('#list th:nth-child(3)').ariaSort") == "descending"
        assert page.evaluate("document.getElementById('order').value") == "longest"
        page.click("#list th:nth-child(3) button")
        assert shown(page)[:2] == ["Gold 4", "Corpus 12"]
        page.click("#list th:nth-child(1) button")
        assert shown(page)[:5] == ["Gold 1", "Gold 2", "Gold 3", "Gold 4", "Corpus 11"]

    def test_words_are_found(self, report):
        page = report(examples())
        listed(page)
        for typed, numbers in (
            ("house", ["Gold 1", "Corpus 12"]),
            ("HOUSE old", ["Gold 1"]),
            ("ous", ["Gold 1", "Corpus 12"]),
            ('"ous"', []),
            ('"house"', ["Gold 1", "Corpus 12"]),
            ("اللجنة", ["Corpus 13"]),
            ("绿茶", ["Corpus 14"]),
            ("lamaison", []),
            (".*", []),
        ):
            page.fill("#search", typed)
            assert shown(page) == numbers, typed
            assert page.inner_text("#found") == f"{len(numbers)} of 8 pairs"

    def test_found_words_are_marked(self, report):
        page = report(examples())
        listed(page)
        page.fill("#search", "hous")
        assert page.locator("#list mark").all_inner_texts() == ["house", "house"]
        page.fill("#search", "")
        assert page.locator("#list mark").count() == 0
        assert page.inner_text("#found") == "8 pairs"

    def test_filters(self, report):
        page = report(examples())
        page.select_option("#order", "number")
        for kind, errors, numbers in (
            ("gold", "any", ["Gold 1", "Gold 2", "Gold 3", "Gold 4"]),
            ("train", "any", ["Gold 1"]),
            ("test", "wrong", ["Gold 4"]),
            ("gold", "missed", ["Gold 1"]),
            ("all", "errors", ["Gold 1", "Gold 4"]),
            ("corpus", "any", ["Corpus 11", "Corpus 12", "Corpus 13", "Corpus 14"]),
            ("all", "unlinked", ["Gold 3", "Corpus 12"]),
        ):
            page.select_option("#kind", kind)
            page.select_option("#errors", errors)
            assert shown(page) == numbers, (kind, errors)

    def test_without_gold_nothing_is_offered_that_needs_it(self, report):
        page = report([pair for pair in examples() if pair.kind == "corpus"])
        assert page.locator("#kind option").all_inner_texts() == [
            *(
                "all pairs",
                "corpus",
                "corrected",
                "corrected, not done",
                "corrected, done",
                "not yet corrected",
            ),
        ]
        assert page.locator("#errors option").all_inner_texts() == ["any", "none at all"]
        assert shown(page)[0] == "Corpus 12"

    def test_no_pairs_at_all(self, report):
        page = report([])
        assert page.inner_text("#found") == "0 pairs"
        assert page.inner_text("#pair-title") == "No sentence pairs"
        page.keyboard.press("ArrowRight")

    def test_of_a_thousand_pairs_fifty_are_drawn(self, report):
        many = [
            gold(number, " ".join(["word"] * 25), " ".join(["mot"] * 25), diagonal(25), diagonal(24))
            for number in range(1, 1001)
        ]
        page = report(many)
        assert page.inner_text("#page-text") == "page 1 of 20"
        assert page.locator("#list tbody tr").count() == 50
        page.fill("#search", "mot")
        page.select_option("#order", "longest")
        page.click("#page-after")
        assert page.inner_text("#page-text") == "page 2 of 20"
        assert page.locator("#list tbody tr").count() == 50
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#pair-title") == "Gold 2"

    def test_pages_are_turned(self, report):
        page = report([corpus(number, "a", "b", diagonal(1)) for number in range(1, 121)])
        page.select_option("#order", "number")
        page.click("#page-after")
        assert shown(page)[0] == "Corpus 51"
        page.click("#page-after")
        assert (shown(page)[0], page.locator("#list tbody tr").count()) == ("Corpus 101", 20)
        assert page.evaluate("document.getElementById('page-after').disabled") is True


class TestPair:
    def test_the_links_of_a_gold_pair_by_kind(self, report):
        page = report(examples(), at="#gold-1")
        kinds = {"sure": 1, "possible": 1, "wrong": 1, "missed": 1, "spare": 1}
        for kind, count in kinds.items():
            assert page.locator(f"#lines .line.{kind}").count() == count, kind
            assert page.locator(f"#matrix td.{kind}").count() == count, kind
        assert page.locator("#matrix tbody tr").count() == 3
        assert page.locator("#matrix tbody td").count() == 12
        legend = ["right, sure 1", "right, possible 1", "wrong 1", "missed 1", "possible, not linked 1"]
        expect(page.locator("#legend label")).to_have_text(legend)
        assert page.inner_text("#pair-title") == "Gold 1 · train"
        assert "AER 40.0 %" in page.inner_text("#pair-figures")

    def test_selecting_in_the_list_draws_the_pair(self, report):
        page = report(examples())
        page.select_option("#kind", "corpus")
        page.click("#list tr[data-id='corpus-11'] .text")
        assert page.inner_text("#pair-title") == "Corpus 11"
        assert page.locator("#lines .line").count() == 4
        assert page.locator("#lines [data-side=target] .word").all_inner_texts() == [
            "un",
            "deux",
            "trois",
            "quatre",
        ]
        assert page.evaluate("location.hash") == "#corpus-11?show=corpus"
        assert page.locator("#list tr.current button").all_inner_texts() == ["Corpus 11"]

    def test_lines_end_at_their_words(self, report):
        page = report(examples(), at="#gold-1")
        gaps = page.evaluate(
            """[...document.querySelectorAll("#lines .line")].map((line) => {
                const [source, target] = line.dataset.edge.split(" ").map(Number);
                const middle = (side, index) => {
                    const box = document.querySelector(`#lines [data-word="${side} ${index}"]`)
                        .getBoundingClientRect();
                    return box.x + box.width / 2;
                };
                const path = line.querySelector(".stroke");
                const at = (length) => path.getPointAtLength(length).matrixTransform(path.getScreenCTM()).x;
                return Math.abs(at(0) - middle("source", source))
                    + Math.abs(at(path.getTotalLength()) - middle("target", target));
            })"""
        )
        assert len(gaps) == 5
        assert max(gaps) < 2

    def test_pointing_at_a_link_shows_why(self, report):
        page = report(examples(), at="#gold-1")
        page.hover("#matrix td.sure")
        assert "the – la right, sure confidence 0.90, score 1.50" in page.inner_text("#reasons .edge")
        assert page.locator("#reasons .sentences li").all_inner_texts() == [
            "For it, most of all: vectors: likeness of meaning; readiness to link.",
            "Against it: place: both words are the first.",
        ]
        assert page.locator("#reasons .bars li").first.is_visible() is False
        page.click("#matrix td.sure")
        page.click("#reasons .numbers summary")
        assert page.locator("#reasons .bars li").all_inner_texts() == [
            "vectors: likeness of meaning\n+2.00",
            "place: both words are the first\n−0.75",
            "readiness to link\n+0.25",
        ]
        names = page.locator("#reasons .bars .name").evaluate_all("all => all.map((each) => each.title)")
        assert names[0] == "vectors: likeness of meaning (cosine)"
        assert page.locator("#lines .line.on").count() == 1
        assert page.locator("#lines .word.on").all_inner_texts() == ["the", "la"]
        # What was opened once stays open for other links.
        page.keyboard.press("Escape")
        assert page.locator("#reasons .bars li").count() == 0
        page.click("#matrix td.sure")
        assert page.locator("#reasons .bars li").first.is_visible() is True

    def test_reasons_in_words_where_the_page_has_them(self, report):
        said = {
            "reasons": [
                {"aspect": "translation", "score": 2.0, "words": "often <b>each other"},
                {"aspect": "place", "score": -1.0, "words": "far apart"},
                {"aspect": "spelling", "score": 0.01, "words": "hardly"},
            ],
            "rival": {"source": 2, "target": 2, "sentences": ["house – maison is worth 0.50 less"]},
            "needed": "It would have needed more.",
        }
        first, *others = examples()
        page = report([replace(first, whys={(2, 2): said}), *others], at="#gold-1")
        page.click("#matrix td.missed")
        assert page.locator("#reasons .weighed li").all_inner_texts() == [
            "+\nfor the link:\noften <b>each other",
            "−\nagainst the link:\nfar apart",
        ]
        assert "The best rival: house – maison" in page.inner_text("#reasons")
        assert "It would have needed more." in page.inner_text("#reasons")
        page.click("#reasons .numbers summary")
        assert page.locator("#reasons .bars li").count() == 3

    def test_what_a_wrong_link_should_be(self, report):
        page = report(examples(), at="#gold-1")
        page.click("#matrix td.wrong")
        assert "the gold links house to maison, ! to nothing" in page.inner_text("#reasons .edge")

    def test_pointing_at_a_word_lights_all_its_links(self, report):
        page = report(examples(), at="#gold-1")
        page.hover("#lines [data-word='source 2']")
        assert page.locator("#lines .line.on").count() == 2
        assert page.locator("#lines .word.on").all_inner_texts() == ["house", "maison", "!"]
        assert page.locator("#matrix th.on").all_inner_texts() == ["maison", "!", "house"]

    def test_a_click_keeps_a_word_lit_and_escape_lets_go(self, report):
        page = report(examples(), at="#gold-1")
        page.click("#lines [data-word='source 0']")
        page.hover("h1")
        assert page.locator("#lines .word.on").all_inner_texts() == ["the", "la", "vieille"]
        assert page.locator("#lines .word[aria-pressed=true]").all_inner_texts() == ["the"]
        page.keyboard.press("Escape")
        assert page.locator("#lines .word.on").count() == 0

    def test_kinds_are_hidden_and_shown(self, report):
        page = report(examples(), at="#gold-1")
        hidden = "getComputedStyle(document.querySelector('#lines .line.wrong')).display === 'none'"
        page.click("#legend [data-kind=wrong] input")
        assert page.evaluate(hidden) is True
        page.click("#after")
        page.click("#before")
        assert page.evaluate(hidden) is True
        page.click("#legend [data-kind=wrong] input")
        assert page.evaluate(hidden) is False

    def test_without_gold_links_are_told_apart_by_confidence(self, report):
        links = [Link(0, 0, score=0.99), Link(1, 1, score=0.5), Link(2, 2, score=0.49)]
        page = report([corpus(1, "a b c", "d e f", links)])
        counts = [page.locator(f"#lines .line.{kind}").count() for kind in ("high", "middle", "low")]
        assert counts == [1, 1, 1]

    def test_links_without_a_confidence(self, report):
        page = report([corpus(1, "a b", "c d", [Link(0, 0), Link(1, 1)])])
        assert page.locator("#lines .line.plain").count() == 2
        expect(page.locator("#legend label")).to_have_text(["link 2"])

    def test_all_links_as_a_table(self, report):
        page = report(examples(), at="#gold-1")
        page.click("#table summary")
        page.wait_for_selector("#table tbody")
        assert page.locator("#table tbody tr").all_inner_texts()[0] == "the 0\tla 0\t right, sure\t0.90\t1.50"
        assert page.locator("#table tbody tr").count() == 5


class TestKeys:
    def test_arrows_go_through_the_pairs(self, report):
        page = report(examples())
        listed(page)
        page.evaluate("document.activeElement.blur()")
        page.click("#list tr[data-id='gold-1'] button")
        for key, title in (
            ("ArrowDown", "Gold 2 · test"),
            ("ArrowRight", "Gold 3 · test"),
            ("ArrowLeft", "Gold 2 · test"),
            ("ArrowUp", "Gold 1 · train"),
            ("ArrowUp", "Gold 1 · train"),
        ):
            page.keyboard.press(key)
            assert page.inner_text("#pair-title") == title
        assert page.evaluate("document.activeElement.innerText") == "Gold 1"

    def test_arrows_in_a_field_stay_there(self, report):
        page = report(examples())
        title = page.inner_text("#pair-title")
        page.click("#search")
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#pair-title") == title

    def test_arrows_go_from_word_to_word(self, report):
        page = report(examples(), at="#gold-1")
        page.evaluate("document.querySelector('#lines .word').focus()")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.dataset.word") == "source 1"
        assert page.inner_text("#pair-title") == "Gold 1 · train"
        assert page.locator("#lines .word.on").all_inner_texts() == ["old", "vieille"]

    def test_every_row_of_words_is_one_stop_of_the_tab_key(self, report):
        page = report(examples(), at="#gold-1")
        stops = page.evaluate(
            "[...document.querySelectorAll('#lines .word')].filter((e) => e.tabIndex === 0).length"
        )
        assert stops == 2


class TestAnyText:
    def test_hostile_text_is_inert(self, report):
        count = len(HOSTILE)
        pair = ShownPair(
            "corpus",
            1,
            HOSTILE,
            HOSTILE,
            diagonal(count),
            reasons={(0, 0): Reason(1.0, 0.9, {"<b>cosine</b>": 1.0})},
        )
        page = report([pair])
        page.click("#matrix td.high >> nth=0")
        page.click("#reasons .numbers summary")
        assert page.locator("#reasons .name").all_inner_texts() == ["<b>cosine</b>"]
        assert page.locator("#reasons .sentences").inner_text() == "For it, most of all: <b>cosine</b>."
        page.click("#table summary")
        page.wait_for_selector("#table tbody")
        page.fill("#search", "<img")
        assert page.locator("#lines .line").count() == count
        assert page.locator("img, iframe, object, script:not([type]) ~ script").count() == 0
        assert page.locator("script").count() == 2
        assert page.locator("#lines [data-side=source] .word").all_inner_texts()[:4] == HOSTILE[:4]
        assert page.locator("#lines [data-side=source] .word").all_inner_texts()[8] == "U+2028"
        assert page.locator("#list mark").all_inner_texts() == ["<img", "<img"]

    @pytest.mark.parametrize(
        ("source", "target", "note"),
        [
            ("", "rien du tout", "The source side has no words: there is nothing to link."),
            ("nothing", "", "The target side has no words: there is nothing to link."),
            ("", "", "Neither side has words."),
        ],
    )
    def test_empty_sides(self, report, source, target, note):
        page = report([corpus(1, source, target, [])])
        assert page.inner_text("#matrix") == note
        assert page.locator("#lines .word").count() == len(words(source)) + len(words(target))
        page.keyboard.press("ArrowRight")

    def test_one_word_each(self, report):
        page = report([corpus(1, "yes", "oui", diagonal(1))])
        assert page.locator("#lines .line").count() == 1
        assert page.locator("#matrix tbody td").count() == 1

    def test_right_to_left(self, report):
        page = report(examples(), at="#corpus-13")
        places = page.evaluate(
            "[...document.querySelectorAll('#lines [data-side=target] .word')].map((word) => word.offsetLeft)"
        )
        assert places == sorted(places, reverse=True)
        page.evaluate("document.querySelector('#lines [data-side=target] .word').focus()")
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("document.activeElement.dataset.word") == "target 1"

    def test_a_hundred_words_are_set_in_columns(self, report):
        many = " ".join(f"word{number}" for number in range(100))
        page = report([corpus(1, many, many, diagonal(100))])
        assert page.locator("#lines .board.down .word").count() == 200
        assert page.locator("#lines .line").count() == 100
        assert page.locator("#matrix tbody td").count() == 10000
        page.click("#layout input[value=across]")
        assert page.locator("#lines .board.across .line").count() == 100

    def test_a_huge_matrix_is_drawn_when_asked_for(self, report):
        many = " ".join(["word"] * 200)
        page = report([corpus(1, many, many, diagonal(200))])
        assert page.inner_text("#matrix") == "Draw the matrix of 200 × 200 words"
        page.click("#whole-matrix")
        assert page.locator("#matrix td.high").count() == 200

    def test_very_long_words_do_not_push_the_page_wide(self, report):
        page = report([corpus(1, "w" * 500, "m" * 500, diagonal(1))], width=390, height=800)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth") is True

    def test_no_sideways_scrolling_at_any_width(self, report):
        page = report(examples(), at="#gold-1")
        for width in (320, 390, 800, 1000, 1400):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth") is True, width


class TestLooks:
    def test_kinds_differ_by_more_than_colour(self, report):
        page = report(examples(), at="#gold-1")
        styles = page.evaluate(
            """["sure", "possible", "wrong", "missed", "spare"].map((kind) => {
                const line = document.querySelector(`#lines .line.${kind}`);
                return getComputedStyle(line.querySelector(".stroke")).strokeDasharray
                    + (line.querySelector("use")?.getAttribute("href") ?? "");
            })"""
        )
        marks = page.evaluate(
            "[...document.querySelectorAll('#matrix td use')].map((e) => e.getAttribute('href'))"
        )
        assert len(set(styles)) == 5
        assert len(set(marks)) == 5

    @pytest.mark.parametrize("dark", [False, True])
    def test_text_and_lines_stand_out_from_the_ground(self, report, dark):
        """WCAG 2.1: a contrast of 4.5 for text, of 3 for graphics."""
        page = report(examples(), at="#gold-1", dark=dark)
        colours = page.evaluate(
            """(() => {
                const style = getComputedStyle(document.documentElement);
                const names = ["back", "panel", "text", "quiet", "accent", "sure", "possible", "wrong",
                    "missed", "spare"];
                return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`)]));
            })()"""
        )
        for ground in ("back", "panel"):
            for name in ("text", "quiet", "accent", "sure", "possible", "wrong", "missed"):
                assert contrast(colours[name], colours[ground]) >= (
                    4.5 if name in ("text", "quiet", "accent") else 3
                ), (name, ground)
        assert contrast(colours["spare"], colours["back"]) >= 3

    def test_elements_for_assistive_technology(self, report):
        page = report(examples(), at="#gold-1")
        assert (
            page.evaluate("document.querySelector('#matrix td.sure').ariaLabel")
            == "right, sure, confidence 0.90"
        )
        label = "document.querySelector('#lines [data-word=\"source 1\"]').ariaLabel"
        assert page.evaluate(label) == "old: linked to vieille"
        assert page.locator("#matrix th[scope=row]").count() == 3
        assert page.locator("#matrix th[scope=col]").count() == 4
        assert page.evaluate(UNNAMED) == []


def contrast(one, other):
    """Return the contrast ratio of two colours like #12abef, as WCAG 2.1 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [int(colour.strip()[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_list_is_the_data(report):
    pairs = examples()
    page = report(pairs)
    data = json.loads(page.evaluate("document.getElementById('data').textContent"))
    assert len(data["pairs"]) == len(pairs)
