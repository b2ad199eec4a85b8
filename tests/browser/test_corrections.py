"""Links corrected in a saved report: by mouse and keys, undone, kept over a reload, saved to files."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from align.links.jsonl import read_jsonl
from tests.browser.examples import FAINT, corpus, diagonal, examples


@pytest.fixture
def editing(report):
    """Return a function that opens a report at a pair and turns correcting on."""

    def open_editing(at="#gold-1", **window):
        page = report(examples(), at=at, **window)
        page.keyboard.press("e")
        expect(page.locator("#edit")).to_have_attribute("aria-pressed", "true")
        return page

    return open_editing


def cell(page, source, target):
    return page.locator(f"#matrix tbody tr:nth-child({source + 1}) td:nth-child({target + 2})")


def kinds(page):
    """Return the kinds of the matrix's cells, row by row; '' for none."""
    return page.evaluate(
        "[...document.querySelectorAll('#matrix tbody tr')].map((row) => [...row.querySelectorAll('td')]"
        ".map((cell) => cell.className.split(' ').filter((name) => name !== 'on')[0] ?? ''))"
    )


def centre(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


class TestMouse:
    def test_it_starts_from_the_gold(self, editing):
        page = editing()
        assert kinds(page) == [
            ["sure", "possible", "", ""],
            ["", "possible", "", ""],
            ["", "", "sure", "ghost"],
        ]
        assert page.locator("#legend label").all_inner_texts() == [
            " sure 2",
            " possible 2",
            " the model's, not yours 1",
        ]

    def test_it_starts_from_the_model_where_there_is_no_gold(self, editing):
        page = editing("#corpus-11")
        assert [row[place] for place, row in enumerate(kinds(page))] == ["sure"] * 4

    def test_a_click_on_a_cell_goes_round(self, editing):
        page = editing()
        place = cell(page, 1, 3)
        for kind in ("sure", "possible", ""):
            place.click()
            assert kinds(page)[1][3] == kind
        assert page.locator("#list tr.current .corrected").count() == 1

    def test_what_the_model_links_is_taken_over_by_a_click(self, editing):
        page = editing()
        cell(page, 2, 3).click()
        assert kinds(page)[2][3] == "sure"

    def test_dragging_from_word_to_word(self, editing):
        page = editing()
        page.mouse.move(*centre(page.locator("#lines [data-word='source 1']")))
        page.mouse.down()
        page.mouse.move(*centre(page.locator("#lines [data-word='source 2']")), steps=4)
        page.mouse.move(*centre(page.locator("#lines [data-word='target 3']")), steps=4)
        assert page.locator("#lines .aim").inner_text() == "!"
        page.mouse.up()
        assert kinds(page)[1][3] == "sure"
        assert page.locator("#lines .draft").count() == 0
        assert page.locator("#lines .line.sure").count() == 3

    def test_dragging_to_a_word_of_the_same_side_does_nothing(self, editing):
        page = editing()
        before = kinds(page)
        page.mouse.move(*centre(page.locator("#lines [data-word='source 0']")))
        page.mouse.down()
        page.mouse.move(*centre(page.locator("#lines [data-word='source 2']")), steps=4)
        page.mouse.up()
        assert kinds(page) == before

    def test_a_word_and_then_one_of_the_other_side(self, editing):
        page = editing()
        page.click("#lines [data-word='source 1']")
        page.click("#lines [data-word='target 3']")
        assert kinds(page)[1][3] == "sure"

    def test_without_correcting_a_click_changes_nothing(self, report):
        page = report(examples(), at="#gold-1")
        cell(page, 1, 3).click()
        page.keyboard.press("s")
        assert page.locator("#desk").is_hidden()
        assert kinds(page)[1][3] == ""


class TestKeys:
    def test_arrows_move_and_letters_set(self, editing):
        page = editing()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "s"):
            page.keyboard.press(key)
        assert kinds(page)[2][1] == "sure"
        assert page.inner_text("#announce") == "house – vieille: sure"
        page.keyboard.press("p")
        assert kinds(page)[2][1] == "possible"
        page.keyboard.press("Delete")
        assert kinds(page)[2][1] == ""
        page.keyboard.press("Space")
        assert kinds(page)[2][1] == "sure"
        page.keyboard.press("n")
        assert kinds(page)[2][1] == ""

    def test_the_cursor_stays_inside_and_tells_its_cell(self, editing):
        page = editing()
        for key in ("ArrowUp", "ArrowLeft", *["ArrowRight"] * 9, *["ArrowDown"] * 9):
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.ariaLabel") == (
            "house – !: the model's, not yours, confidence 0.30"
        )
        assert page.locator("#matrix td[tabindex='0']").count() == 1
        page.keyboard.press("ArrowUp")
        assert page.evaluate("document.activeElement.ariaLabel") == "old – !: no link"

    @pytest.mark.parametrize(
        ("undo", "redo"), [("u", "Control+y"), ("Control+z", "Control+Shift+Z")], ids=["letters", "control"]
    )
    def test_undo_and_redo(self, editing, undo, redo):
        page = editing()
        before = kinds(page)
        for key in ("ArrowDown", "s", "ArrowRight", "n"):
            page.keyboard.press(key)
        after = kinds(page)
        assert after != before
        page.keyboard.press(undo)
        assert (kinds(page)[1][0], kinds(page)[1][1]) == ("sure", "possible")
        page.keyboard.press(undo)
        assert kinds(page) == before
        assert page.locator("#undo").is_disabled()
        page.keyboard.press(undo)
        for _ in range(3):
            page.keyboard.press(redo)
        assert kinds(page) == after

    def test_enter_goes_to_the_next_of_the_queue(self, editing):
        page = editing()
        page.keyboard.press("Enter")
        # The least certain of those left: gold 4 with 0.40.
        assert page.inner_text("#pair-title") == "Gold 4 · test"
        page.select_option("#queue", "worst")
        page.click("#finish")
        assert page.inner_text("#pair-title") == "Gold 2 · test"
        page.select_option("#kind", "done")
        assert page.locator("#list tbody button").all_inner_texts() == ["Gold 4", "Gold 1"]

    def test_undo_goes_back_to_the_pair_it_is_of(self, editing):
        page = editing()
        page.keyboard.press("s")
        page.keyboard.press("Enter")
        page.keyboard.press("u")
        expect(page.locator("#pair-title")).to_have_text("Gold 1 · train")

    def test_all_pairs_are_done(self, report):
        page = report([corpus(1, "a", "b", diagonal(1))])
        page.keyboard.press("e")
        page.keyboard.press("Enter")
        assert page.inner_text("#queue-note") == "all pairs are done"

    def test_the_keys_are_told(self, report):
        page = report(examples())
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        assert "sure link, possible link, no link" in page.inner_text("#keys")
        page.keyboard.press("Escape")
        assert page.locator("#keys").is_hidden()
        page.click("#help")
        assert page.locator("#keys").is_visible()

    def test_letters_in_a_field_stay_there(self, editing):
        page = editing()
        page.click("#search")
        page.keyboard.type("espnu")
        assert page.input_value("#search") == "espnu"
        assert page.locator("#edit").get_attribute("aria-pressed") == "true"
        assert page.locator("#desk").is_hidden()


class TestKept:
    def test_judged_against_the_corrections(self, editing):
        page = editing("#corpus-11")
        cell(page, 3, 3).click()
        cell(page, 0, 1).click()
        page.keyboard.press("e")
        assert page.inner_text("#legend legend") == "Links, against your corrections"
        assert (page.locator("td.sure").count(), page.locator("td.possible").count()) == (3, 1)
        assert page.locator("td.missed").count() == 1
        # 1 - (3 + 4) / (4 + 4)
        assert "AER 12.5 %" in page.inner_text("#pair-figures")
        assert page.locator("#list tr.current td.n").nth(1).inner_text().startswith("12.5")

    def test_a_reload_keeps_corrections_history_and_filter(self, editing, problems):
        page = editing()
        cell(page, 1, 3).click()
        page.select_option("#kind", "annotated")
        assert page.inner_text("#desk .note") == "1 pair corrected, not yet in a file"
        page.reload()
        assert problems == ["dialog: "]  # leaving what is in no file is asked about
        problems.clear()
        assert page.input_value("#kind") == "annotated"
        assert page.locator("#list tbody button").all_inner_texts() == ["Gold 1"]
        page.keyboard.press("e")
        assert kinds(page)[1][3] == "sure"
        page.keyboard.press("u")
        assert kinds(page)[1][3] == ""

    def test_start_over(self, editing):
        page = editing()
        before = kinds(page)
        cell(page, 1, 3).click()
        page.click("#clear")
        assert kinds(page) == before
        assert page.locator("#list .corrected").count() == 0
        page.keyboard.press("u")
        assert kinds(page)[1][3] == "sure"

    def test_files_are_what_the_readers_read(self, editing, tmp_path):
        page = editing()
        cell(page, 1, 3).click()
        cell(page, 2, 2).click()
        saved = {}
        for format in ("jsonl", "pharaoh", "source", "target"):
            page.click("#save-corrections summary")
            with page.expect_download() as download:
                page.click(f"#save-corrections [data-save={format}]")
            path = Path(download.value.path())
            saved[format] = (download.value.suggested_filename, path.read_text(encoding="utf-8"))
        assert page.inner_text("#desk .note") == "1 pair corrected, saved"
        assert [name for name, _ in saved.values()] == [
            "tiny-corpus-corrections.jsonl",
            "tiny-corpus-corrections.align",
            "tiny-corpus-corrections.en",
            "tiny-corpus-corrections.fr",
        ]
        assert saved["pharaoh"][1] == "0-0 0p1 1p1 1-3 2p2\n"
        assert saved["source"][1] == "the old house\n"
        assert saved["target"][1] == "la vieille maison !\n"
        (pair,) = read_jsonl(enumerate(saved["jsonl"][1].split("\n")[:-1], 1), "saved")
        assert (pair.source, pair.target) == (["the", "old", "house"], ["la", "vieille", "maison", "!"])
        assert [(link.source, link.target, link.sure) for link in pair.links] == [
            (0, 0, True),
            (0, 1, False),
            (1, 1, False),
            (1, 3, True),
            (2, 2, False),
        ]
        # What is in a file may be left.
        page.reload()
        expect(page.locator("#desk .note")).to_have_text("1 pair corrected, saved")

    def test_corrections_of_other_words_are_not_taken_in(self, report, problems):
        page = report([corpus(1, "a b", "c d", diagonal(2))])
        page.keyboard.press("e")
        page.keyboard.press("n")
        page.evaluate("localStorage.length")
        page = report([corpus(1, "x y", "c d", diagonal(2))])
        assert page.locator("#list .corrected").count() == 0
        stored = page.evaluate("Object.values(localStorage)")
        assert all(json.loads(each) is not None for each in stored)


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_at_any_width_by_hand_of_a_finger(report, width, dark):
    """Cells are hit, nothing runs out of the page, tools have names."""
    page = report(examples(), at="#corpus-13", width=width, height=800, dark=dark)
    page.click("#edit")
    cell(page, 0, 1).click()
    assert kinds(page)[0][1] == "sure"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth") is True
    assert page.evaluate(FAINT) == []
    page.click("#undo")
    assert kinds(page)[0][1] == ""


def test_a_page_that_is_used_again_has_nothing_of_before(report, open_page):
    """Its marks, what it is pointed at, what it has heard: as a new one, which takes a second of work."""
    page = report(examples(), at="#gold-1", width=900, dark=True)
    page.keyboard.press("e")
    cell(page, 1, 3).click()
    cell(page, 1, 3).hover()
    page.route("**/*", lambda route: route.abort())
    assert page.evaluate("localStorage.length") > 0
    open_page.leave(page)
    again = report(examples(), at="#gold-1")
    assert again is page
    assert again.evaluate("localStorage.length") == 0
    assert kinds(again)[1][3] == ""
    assert again.locator("#edit").get_attribute("aria-pressed") == "false"
    assert again.evaluate("document.querySelectorAll('#matrix td:hover').length") == 0
    assert again.evaluate("[innerWidth, innerHeight]") == [1400, 900]
    assert again.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is False
