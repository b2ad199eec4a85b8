"""The desk in a real browser, with its real server: correct, undo, learn, compare, look up, save."""

import contextlib
import json
import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from align.links.jsonl import read_jsonl
from tests import prepared
from tests.browser.examples import UNNAMED

ROOT = Path(__file__).resolve().parent.parent.parent

# The model links what is spelt alike: names and numbers, never house and maison.
PAIRS = [
    ("Paris house 1984", "Paris maison 1984", "0-0 1-1 2-2"),
    ("the house", "la maison", "0-0 1-1"),
    ("Lyon house", "Lyon maison", "0-0 1-1"),
    ("Rome , 12 houses", "Rome , 12 maisons", "0-0 1-1 2-2 3-3"),
    ("not Madrid", "pas Madrid", None),
    ("The Nile", "النيل الأزرق", None),
    ("old Paris house", "vieille maison Paris", "0-0 1-2 2-1"),
    ("Oslo <b>", "Oslo <b>", "0-0 1-1"),
]
OTHER = ["0-0 1-1 2-2", "0-0", "1-1", "", "0-0", "0-0", "0-0", "0-0 1-1"]

DIFFERING = "#panel-agreement figure:has-text('Pairs they differ in') tbody tr"


@contextlib.contextmanager
def serving(model, folder, *more):
    """Run the command over the pairs, and give its process and address."""
    folder.mkdir(exist_ok=True)
    for name, lines in (
        ("text.en", [source for source, _, _ in PAIRS]),
        ("text.fr", [target for _, target, _ in PAIRS]),
        ("gold.align", [links or "" for *_, links in PAIRS[:4]] + [""] * 4),
        ("other.align", OTHER),
    ):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    words = ["-m", "align", "serve", "--model", str(model), "--port", "0"]
    words += ["--source", str(folder / "text.en"), "--target", str(folder / "text.fr"), "--tokenized"]
    words += ["--compare", str(folder / "other.align"), "--save", str(folder / "saved"), *more]
    running = prepared.Command(words, cwd=ROOT)
    try:
        yield running, running.line()
    finally:
        running.kill()
        running.wait()


@pytest.fixture
def desk(tiny_model, tmp_path, open_page):
    """Return a function that opens the desk's page, once all pairs are linked."""
    opened = []
    with contextlib.ExitStack() as stack:
        _, address = stack.enter_context(serving(tiny_model, tmp_path / "desk"))

        def open_desk(at="", **window):
            page = open_page(f"{address}{at}", **window)
            opened.append(page)
            expect(page.locator("#linked")).to_have_text("", timeout=20_000)
            expect(page.locator("#found")).to_contain_text("pair")
            return page

        yield open_desk
        for page in opened:  # before their server goes, or they would tell of it
            open_page.leave(page)


def cell(page, source, target):
    return page.locator(f"#matrix tbody tr:nth-child({source + 1}) td:nth-child({target + 2})")


def kind(name):
    """Match the classes of a cell of that kind, lit or not."""
    return re.compile(rf"^{name}\b")


def listed(page):
    return page.locator("#list tbody button").all_inner_texts()


def saved_by(page, click):
    with page.expect_download() as download:
        click()
    return download.value.suggested_filename, Path(download.value.path()).read_text(encoding="utf-8")


def journal(folder):
    return (folder / "saved" / "annotator.jsonl").read_text(encoding="utf-8")


def until(condition):
    """Wait for what happens in another process."""
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come")


class TestCorrecting:
    def test_correct_undo_reload_and_kill_lose_nothing(self, tiny_model, tmp_path, open_page, problems):
        folder = tmp_path / "desk"
        with serving(tiny_model, folder) as (running, address):
            page = open_page(f"{address}#1")
            expect(page.locator("#pair-title")).to_have_text("Corpus 1")
            page.keyboard.press("e")
            cell(page, 1, 1).click()
            cell(page, 1, 0).click()
            page.keyboard.press("u")
            expect(cell(page, 1, 0)).not_to_have_class(kind("sure"))
            expect(page.locator("#edit-saved")).to_have_text("")
            page.reload()
            page.keyboard.press("e")
            expect(cell(page, 1, 1)).to_have_class(kind("sure"))
            page.keyboard.press("ArrowRight")
            page.keyboard.press("p")
            expect(cell(page, 0, 1)).to_have_class(kind("possible"))
            expect(page.locator("#edit-saved")).to_have_text("")
            running.kill()
            running.wait()
            # What cannot be told is not lost: it waits, and says so.
            cell(page, 2, 0).click()
            expect(page.locator("#trouble")).to_contain_text(
                "Not saved yet: The server does not answer: is it still running? 1 change will be sent again."
            )
            expect(cell(page, 2, 0)).to_have_class(kind("sure"))
            page.context.close()
            assert all(each.startswith("Failed to load resource") for each in problems)
            problems.clear()
        with serving(tiny_model, folder) as (_, address):
            page = open_page(f"{address}#1")
            page.keyboard.press("e")
            expect(cell(page, 1, 1)).to_have_class(kind("sure"))
            expect(cell(page, 0, 1)).to_have_class(kind("possible"))
            page.keyboard.press("u")
            expect(cell(page, 0, 1)).not_to_have_class(kind("possible"))
            until(lambda: journal(folder).count('"sure": false') == 0)
            (pair,) = read_jsonl(enumerate(journal(folder).split("\n")[:-1], 1), "saved")
            assert [(link.source, link.target) for link in pair.links] == [(0, 0), (1, 1), (2, 2)]

    @pytest.mark.parametrize("width", [360, 1440])
    def test_the_first_click_moves_no_cell(self, desk, width):
        """Else a second click on the same place would change another link."""
        page = desk("#5", width=width)
        page.click("#edit")
        place = (
            "document.querySelector('#matrix tbody').getBoundingClientRect().y + scrollY"
            " + document.getElementById('pair').scrollTop"
        )
        before = page.evaluate(place)
        cell(page, 0, 0).click()
        expect(page.locator("#clear")).to_be_enabled()
        assert "AER" in page.inner_text("#pair-figures")
        assert page.evaluate(place) == before

    def test_gold_files_that_cannot_be_written_are_told_of_until_they_can(
        self, tiny_model, tmp_path, open_page
    ):
        folder = tmp_path / "desk"
        hindrance = folder / "saved" / "annotator.align" / "x"
        hindrance.mkdir(parents=True)
        with serving(tiny_model, folder) as (_, address):
            page = open_page(f"{address}#1")
            expect(page.locator("#pair-title")).to_have_text("Corpus 1")
            page.keyboard.press("e")
            cell(page, 1, 1).click()
            expect(page.locator("#trouble")).to_contain_text("annotator.align", timeout=20_000)
            hindrance.rmdir()
            hindrance.parent.rmdir()
            expect(page.locator("#trouble")).to_be_hidden(timeout=20_000)
            open_page.leave(page)
        assert "1-1" in (folder / "saved" / "annotator.align").read_text(encoding="utf-8")

    def test_what_waits_is_sent_to_the_same_desk_only(self, tiny_model, tmp_path, open_page, problems):
        folder = tmp_path / "desk"
        trouble = "#trouble span"

        def linked():
            if not (folder / "saved" / "annotator.jsonl").is_file():
                return set()
            (pair,) = read_jsonl(enumerate(journal(folder).split("\n")[:-1], 1), "saved")
            return {(link.source, link.target) for link in pair.links}

        with serving(tiny_model, folder) as (_, address):
            page = open_page(f"{address}#1")
            expect(page.locator("#pair-title")).to_have_text("Corpus 1")
            page.keyboard.press("e")
        for at in (2, 0):
            cell(page, 1, at).click()
        expect(page.locator(trouble)).to_contain_text("2 changes will be sent again.")
        port = address.rstrip("/").rpartition(":")[2]
        for side, text in (("en", 0), ("fr", 1)):
            lines = [PAIRS[at][text] for at in (6, 1, 2, 3, 4, 5, 0, 7)]
            (folder / f"turned.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        turned = ("--source", str(folder / "turned.en"), "--target", str(folder / "turned.fr"))
        for other in (turned, ("--annotator", "second")):
            with serving(tiny_model, folder, "--port", port, *other):
                page.click("#trouble button >> text=Try again")
                expect(page.locator(trouble)).to_have_text(
                    "2 changes are not saved: the server was started again, and its pairs, links, annotator "
                    "or folder are not those of this page. Load the page again, and make them anew."
                )
                assert not [path for path in (folder / "saved").glob("*.jsonl") if path.stat().st_size]
        with serving(tiny_model, folder, "--port", port):
            page.click("#trouble button >> text=Try again")
            expect(page.locator(trouble)).to_contain_text("All changes are saved;")
            expect(page.locator("#edit-saved")).to_have_text("")
            until(lambda: {(1, 2), (1, 0)} <= linked())
            page.context.close()
        assert all(each.startswith("Failed to load resource") for each in problems)
        problems.clear()

    def test_what_the_server_fails_at_waits_and_what_it_refuses_is_told(self, desk, problems):
        page = desk("#2")
        page.keyboard.press("e")
        page.route("**/edit", lambda route: route.fulfill(status=507, json={"error": "the disk is full"}))
        cell(page, 0, 1).click()
        expect(page.locator("#trouble span")).to_have_text(
            "Not saved yet: the disk is full. 1 change will be sent again."
        )
        expect(cell(page, 0, 1)).to_have_class(kind("sure"))
        page.unroute("**/edit")
        page.click("#trouble button >> text=Try again")
        expect(page.locator("#edit-saved")).to_have_text("")
        expect(page.locator("#trouble")).to_be_hidden()
        page.reload()
        page.keyboard.press("e")
        expect(cell(page, 0, 1)).to_have_class(kind("sure"))
        page.route("**/edit", lambda route: route.fulfill(status=400, json={"error": "no such link"}))
        cell(page, 1, 0).click()
        expect(page.locator("#trouble span")).to_have_text("no such link")
        expect(cell(page, 1, 0)).not_to_have_class(kind("sure"))
        assert all(each.startswith("Failed to load resource") for each in problems)
        problems.clear()

    def test_nothing_to_undo_or_redo_cannot_be_pressed(self, desk):
        page = desk("#2")
        page.keyboard.press("e")
        for name in ("undo", "redo"):
            expect(page.locator(f"#{name}")).to_be_disabled()
        cell(page, 0, 0).click()
        expect(page.locator("#undo")).to_be_enabled()
        expect(page.locator("#redo")).to_be_disabled()
        page.click("#undo")
        expect(page.locator("#undo")).to_be_disabled()
        expect(page.locator("#redo")).to_be_enabled()
        page.click("#redo")
        expect(page.locator("#undo")).to_be_enabled()
        expect(page.locator("#redo")).to_be_disabled()
        page.reload()
        page.keyboard.press("e")
        expect(page.locator("#undo")).to_be_enabled()
        page.fill("#annotator", "second")
        page.press("#annotator", "Tab")
        expect(page.locator("#undo")).to_be_disabled()
        page.fill("#annotator", "annotator")
        page.press("#annotator", "Tab")
        expect(page.locator("#undo")).to_be_enabled()

    def test_the_queue_and_two_annotators(self, desk):
        page = desk("#2")
        page.keyboard.press("e")
        cell(page, 0, 0).click()
        page.keyboard.press("Enter")
        expect(page.locator("#pair-title")).not_to_have_text("Corpus 2")
        page.fill("#annotator", "second")
        page.press("#annotator", "Tab")
        expect(page.locator("#pair-figures")).not_to_contain_text("corrected")
        page.goto(page.url.partition("#")[0] + "#2")
        expect(page.locator("#pair-title")).to_have_text("Corpus 2")
        cell(page, 1, 1).click()
        page.keyboard.press("Enter")
        expect(page.locator("#pair-title")).not_to_have_text("Corpus 2")
        page.click("#tab-agreement")
        expect(page.locator("#panel-agreement .cards")).to_contain_text("Pairs both have done")
        cards = page.inner_text("#panel-agreement .cards")
        assert "AER of second\n100.0 %" in cards
        # One pair: chance cannot be told by drawing it again.
        assert " to " not in cards
        assert "Kappa: link or none" in cards
        assert page.locator(DIFFERING).inner_text() == "Corpus 2\t1\t1\t0"
        page.click(f"{DIFFERING} a")
        expect(page.locator("#pair-title")).to_have_text("Corpus 2")

    def test_an_annotators_name_that_is_none_is_refused(self, desk, problems):
        page = desk()
        page.fill("#annotator", "../x")
        page.press("#annotator", "Enter")
        expect(page.locator("#trouble")).to_be_visible()
        assert page.input_value("#annotator") == "annotator"
        assert all("400 (Bad Request)" in each for each in problems)
        problems.clear()


class TestLearning:
    def test_the_corrected_link_is_predicted_and_one_can_go_back(self, desk):
        page = desk("#1")
        page.keyboard.press("e")
        for number, (source, target) in enumerate([(1, 1), (1, 1), (1, 1), (3, 3)], 1):
            page.goto(page.url.partition("#")[0] + f"#{number}")
            expect(page.locator("#pair-title")).to_have_text(f"Corpus {number}")
            cell(page, source, target).click()
            expect(cell(page, source, target)).to_have_class(kind("sure"))
        page.keyboard.press("e")
        page.goto(page.url.partition("#")[0] + "#3")
        expect(cell(page, 1, 1)).to_have_class(kind("missed"))
        page.click("#learn")
        expect(page.locator("#learning")).to_contain_text("All 4 corrected pairs are not marked as done.")
        assert page.locator("#learn-done").count() == 0
        page.click("#learn-all")
        expect(page.locator("#learning h2")).to_have_text("Learnt", timeout=60_000)
        assert page.inner_text("#learnt-begun") == "All 4 corrected pairs are not marked as done."
        verdict = page.inner_text("#learning .verdict")
        assert verdict.startswith(
            "From 4 corrected pairs. In 4 pairs, each by weights that have not seen it, "
        )
        # However much it fell: of four pairs nothing is called better.
        assert re.search(
            r"\(difference −\d+\.\d points, 95 % interval .* to .*\): that may be chance;", verdict
        )
        assert page.locator("#learning svg.chart path.curve").count() == 1
        kept = re.fullmatch("liaison links -m (.*)", page.inner_text("#kept-model code"))[1]
        assert kept.endswith("/saved/annotator.model-1")
        assert Path(kept, "model.json").is_file()
        expect(page.locator("#show-changed")).to_be_visible(timeout=20_000)
        expect(cell(page, 1, 1)).to_have_class(kind("sure alone"))
        assert "new since learning" in page.inner_text("#legend")
        page.click("#show-changed")
        expect(page.locator("#list .changed").first).to_be_visible()
        page.click("#go-back")
        expect(page.locator("#learning")).to_be_hidden()
        page.goto(page.url.partition("#")[0] + "#3")
        expect(cell(page, 1, 1)).to_have_class(kind("missed"))
        assert page.locator("#run option").count() == 3

    def test_pairs_that_are_begun_only_are_told_of_and_can_be_left_out(self, desk):
        page = desk("#1")
        page.keyboard.press("e")
        cell(page, 1, 1).click()
        page.click("#finish")
        expect(page.locator("#pair-title")).not_to_have_text("Corpus 1")
        page.goto(page.url.partition("#")[0] + "#2")
        expect(page.locator("#pair-title")).to_have_text("Corpus 2")
        cell(page, 1, 1).click()
        expect(page.locator("#edit-saved")).to_have_text("")
        page.click("#tab-summary")
        expect(page.locator("#begun")).to_contain_text(
            "1 corrected pair of the 2 judged is not marked as done:"
        )
        page.click("#begun a")
        assert listed(page) == ["Corpus 2"]
        page.click("#learn")
        expect(page.locator("#learning")).to_contain_text("1 of 2 corrected pairs is not marked as done.")
        page.click("#learn-done")
        expect(page.locator("#learning h2")).to_have_text("Learnt", timeout=60_000)
        assert page.inner_text("#learning .verdict").startswith("From 1 corrected pair. Too few pairs ")
        assert page.locator("#learnt-begun").count() == 0

    @pytest.mark.parametrize(
        ("kept", "told"),
        [
            ({"saved": None}, "start the server with --save FOLDER and learn again."),
            ({"saved": "/a b/it's"}, "liaison links -m '/a b/it'\\''s'"),
            ({"saved": None, "not_saved": "Disk full."}, "kept until the server ends only. Disk full."),
        ],
    )
    def test_how_to_keep_a_model_is_told(self, desk, kept, told):
        page = desk()
        worth = {"held_out": 9, "before": 0.2, "after": 0.1, "difference": [-0.1, -0.15, -0.05]}
        state = {"state": "done", "passes": [], "pairs": 9, "run": 0, "changed": 0, "verdict": "better"}

        def answer(route):
            told = {} if route.request.method == "POST" else state | worth | kept
            route.fulfill(json=told)

        page.route("**/learn", answer)
        page.click("#learn")
        expect(page.locator("#kept-model")).to_contain_text(told)
        assert page.inner_text("#learning .verdict") == (
            "From 9 corrected pairs. In 9 pairs, each by weights that have not seen it, the error rate (AER) "
            "went from 20.0 % to 10.0 % (difference −10.0 points, 95 % interval −15.0 to −5.0): better."
        )

    def test_one_goes_back_to_the_parent_after_a_reload_too(self, desk):
        page = desk()
        states = iter(["running", "running"])

        def answer(route):
            told = {
                "state": next(states, "done"),
                "passes": [],
                "pairs": 1,
                "run": 0,
                "parent": 1,
                "changed": 0,
            }
            route.fulfill(json=told | {"saved": None})

        page.route("**/learn", answer)
        page.reload()
        expect(page.locator("#learning h2")).to_have_text("Learnt")
        assert page.input_value("#run") == "0"
        page.click("#go-back")
        expect(page.locator("#run")).to_have_value("1")

    def test_nothing_to_learn_from_is_told(self, desk, problems):
        page = desk()
        page.click("#learn")
        expect(page.locator("#trouble")).to_contain_text("correct some pairs first")
        page.click("#trouble button")
        assert page.locator("#trouble").is_hidden()
        assert all("409 (Conflict)" in each for each in problems)
        problems.clear()


class TestLooking:
    def test_a_file_of_links_is_not_waited_for(self, desk):
        """It has no links of a pair that was pasted, and never will."""
        page = desk()
        page.click("#add summary")
        page.fill("#own-source", "Madrid 7")
        page.fill("#own-target", "Madrid 7")
        page.click("#own button.main")
        expect(page.locator("#pair-title")).to_have_text("Pair 1")
        page.click("#tab-compare")
        told = "Links of a file, which has those of 8 of 9 pairs: what stands here is of those."
        expect(page.locator("#panel-compare .unfinished")).to_have_text(told)
        page.select_option("#run", label="other.align")
        page.click("#tab-summary")
        expect(page.locator("#panel-summary .unfinished")).to_have_text(told)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.wait_for_timeout(4500)
        assert len(asked) < 2  # one of turning to the run may come late; every two seconds it would be more

    def test_filters_and_their_address(self, desk):
        page = desk()
        page.fill("#link-source", "paris")
        expect(page.locator("#found")).to_have_text("2 of 8 pairs")
        page.fill("#link-target", "paris")
        expect(page.locator("#found")).to_have_text("2 of 8 pairs")
        expect(page).to_have_url(re.compile("link=paris%3Eparis"))
        page.reload()
        expect(page.locator("#found")).to_have_text("2 of 8 pairs")
        assert page.input_value("#link-target") == "paris"
        assert listed(page) == ["Corpus 1", "Corpus 7"]
        page.click("#reset")
        expect(page.locator("#found")).to_have_text("8 pairs")
        page.click("#more summary")
        page.fill("#bare-word", "house")
        expect(page.locator("#found")).to_have_text("4 of 8 pairs")
        page.click("#chips button")
        expect(page.locator("#found")).to_have_text("8 pairs")
        page.fill("#search", '"النيل"')
        expect(page.locator("#found")).to_have_text("1 of 8 pairs")

    def test_reasons_in_words_and_numbers_behind_a_click(self, desk):
        page = desk("#1")
        expect(page.locator("#pair-title")).to_have_text("Corpus 1")
        cell(page, 0, 0).click()
        expect(page.locator("#reasons .weighed li").first).to_be_visible()
        assert page.locator("#reasons .bars").is_hidden()
        page.click("#reasons .numbers summary")
        assert page.locator("#reasons .bars li").first.is_visible()
        page.keyboard.press("Escape")
        cell(page, 1, 1).click()
        expect(page.locator("#reasons .needed")).to_be_visible()

    def test_comparing_two_runs(self, desk):
        page = desk("#?view=compare")
        expect(page.locator("#panel-compare .cards")).to_contain_text("Only in A")
        assert page.locator("#panel-compare select").count() == 2
        page.click("#panel-compare .cards a")
        expect(page.locator("#chips")).to_contain_text("where the two differ")
        assert page.locator("#tab-pairs").get_attribute("aria-selected") == "true"
        expect(page.locator("#legend")).to_contain_text("only")
        assert "differ=1" in page.url

    def test_summary_leads_to_pairs(self, desk):
        page = desk("#?view=summary")
        expect(page.locator("#panel-summary h2")).to_have_text("Summary")
        link = page.get_by_role("link", name="4 unlinked: house")
        link.click()
        expect(page.locator("#found")).to_have_text("4 of 8 pairs")
        page.go_back()
        expect(page.locator("#panel-summary h2")).to_be_visible()

    def test_the_lexicon(self, desk):
        page = desk("#?view=lexicon")
        page.fill("#panel-lexicon input", "PARIS")
        page.press("#panel-lexicon input", "Enter")
        expect(page.locator("#panel-lexicon tbody tr")).to_have_count(1)
        assert page.locator("#panel-lexicon mark").first.inner_text() == "Paris"
        page.click("#panel-lexicon tbody td.n a")
        expect(page.locator("#found")).to_have_text("2 of 8 pairs")


class TestFiles:
    @pytest.mark.parametrize("format", ["pharaoh", "jsonl", "tmx", "csv"])
    def test_the_selection(self, desk, format):
        page = desk("#?link=paris%3E")
        expect(page.locator("#found")).to_have_text("2 of 8 pairs")
        page.click("#save-pairs summary")
        name, text = saved_by(page, lambda: page.click(f"#save-pairs [data-format={format}]"))
        assert name.startswith("pairs.")
        if format == "pharaoh":
            assert re.sub(r":0\.\d+", "", text) == "0-0 2-2\n1-2\n"
        else:
            assert "Paris" in text
            assert "Lyon" not in text

    def test_an_upload_with_progress(self, desk, tmp_path):
        page = desk()
        path = tmp_path / "more.tsv"
        path.write_text("Berlin\tBerlin\nRoma house\tRoma casa\n", encoding="utf-8", newline="\n")
        page.click("#add > summary")
        page.set_input_files("#upload-file", path)
        expect(page.locator("#upload-message")).to_have_text("2 pairs read from more.tsv.")
        expect(page.locator("#found")).to_have_text("10 pairs")
        page.fill("#search", "berlin")
        expect(page.locator("#found")).to_have_text("1 of 10 pairs")

    def test_an_upload_that_is_refused(self, desk, tmp_path, problems):
        page = desk()
        path = tmp_path / "broken.tmx"
        path.write_text("<tmx><body><tu>", encoding="utf-8", newline="\n")
        page.click("#add > summary")
        page.set_input_files("#upload-file", path)
        expect(page.locator("#upload-message")).not_to_be_empty()
        expect(page.locator("#upload-bar")).to_be_hidden()
        expect(page.locator("#upload-message")).not_to_contain_text("Sending")
        assert all("400 (Bad Request)" in each for each in problems)
        problems.clear()


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_every_view_at_any_width(desk, width, dark):
    """Nothing runs out of the page sideways, everything that can be used has a name, tabs are tabs."""
    page = desk("#6", width=width, height=800, dark=dark)
    for name in ("pairs", "summary", "compare", "lexicon", "agreement"):
        page.click(f"#tab-{name}")
        expect(page.locator(f"#panel-{name}")).to_be_visible()
        expect(page.locator(f"#panel-{name} h2").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth") is True, name
        assert page.evaluate(UNNAMED) == []
        assert page.locator("[role=tab][aria-selected=true]").count() == 1
    page.click("#tab-pairs")
    page.click("#edit")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth") is True
    text = json.loads(page.evaluate("document.getElementById('data').textContent"))
    assert text["desk"]["pairs"] == 8
