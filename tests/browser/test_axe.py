"""What axe-core finds in the pages, the rules of accessibility that most tools use: nothing.

One page of each kind goes through all its views and states; in each all rules are tried once, in other
colours those that these can break, and at other widths those that widths can: of a processor's time a run of
all takes 0.4 seconds, one of contrasts half as much.
"""

from importlib import resources

import pytest
from playwright.sync_api import expect

from tests.browser.examples import examples
from tests.browser.test_desk import cell, serving

# By width and colours: the rules that are tried, None for all.
OF_WIDTHS = ("scrollable-region-focusable", "target-size")
OF_LOOKS = ("color-contrast", "link-in-text-block", *OF_WIDTHS)
WHERE = {(360, "dark"): None, (768, "dark"): OF_WIDTHS, (1440, "light"): OF_LOOKS}
ELSEWHERE = {(360, "light"): OF_LOOKS, (768, "light"): OF_LOOKS, (1440, "dark"): OF_LOOKS}

AXE = """async (rules) => {
    const wanted = {resultTypes: ["violations"], elementRef: false};
    wanted.rules = {"target-size": {enabled: true}};
    if (rules) wanted.runOnly = {type: "rule", values: rules};
    const {violations} = await axe.run(document, wanted);
    return violations.flatMap(({id, nodes}) => nodes.map(({html, any, all, none}) =>
        [id, html.slice(0, 160), [...any, ...all, ...none].map(({message}) => message).join("; ")]));
}"""


@pytest.fixture(scope="module")
def axe():
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


class Auditor:
    """Looks at a page in several widths and colours."""

    def __init__(self, page, axe):
        self.page = page
        self.found = {}
        page.evaluate(axe)

    def look(self, state, where=WHERE):
        """Keep what is found in what the page shows now."""
        for (width, scheme), rules in where.items():
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.emulate_media(color_scheme=scheme)
            # As who looks at a pair has it, which stands below the list where the page is narrow.
            self.page.evaluate("document.getElementById('pair').scrollIntoView()")
            for finding in self.page.evaluate(AXE, rules):
                self.found.setdefault(tuple(finding), []).append((state, width, scheme))


def test_of_the_desk(tiny_model, tmp_path, open_page, axe):
    with serving(tiny_model, tmp_path / "desk") as (_, address):
        page = open_page(f"{address}#6")
        expect(page.locator("#linked")).to_have_text("", timeout=20_000)
        audit = Auditor(page, axe)
        audit.look("a pair, one side from right to left", WHERE | ELSEWHERE)
        page.keyboard.press("e")
        cell(page, 1, 1).click()
        expect(page.locator("#edit-saved")).to_have_text("")
        page.click("#learn")
        expect(page.locator("#learn-all")).to_be_visible()
        audit.look("correcting, and asked what to learn from")
        page.click("#learn-all")
        expect(page.locator("#learning h2")).to_have_text("Learnt", timeout=60_000)
        audit.look("learnt")
        page.click("#learning .close")
        for name, part in (("summary", ".figures"), ("compare", ".verdict")):
            page.click(f"#tab-{name}")
            expect(page.locator(f"#panel-{name} {part}").first).to_be_visible()
            audit.look(name)
        page.evaluate("location.hash = '#1?view=lexicon&side=source&word=paris'")
        expect(page.locator("#panel-lexicon tbody tr").first).to_be_visible()
        audit.look("lexicon")
        open_page.leave(page)
    assert audit.found == {}


def test_of_a_report(report, axe):
    page = report(examples(), at="#gold-1")
    audit = Auditor(page, axe)
    page.locator("#lines .word").first.click()
    page.click("#table summary")
    audit.look("a word and the table")
    page.click("#tab-summary")
    audit.look("summary", {(360, "dark"): None})  # the views are those of the desk
    assert audit.found == {}
