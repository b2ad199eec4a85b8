"""What axe-core finds in the pages, the rules of accessibility that most tools use: nothing.

One page of each kind goes through all its views and states; in each all rules are tried once, and at other
widths and in other colours those that these can break: a run of all takes 0.4 seconds of a processor.
"""

from importlib import resources

import pytest
from playwright.sync_api import expect

from tests.browser.examples import examples
from tests.browser.test_desk import cell, serving

WIDTHS = (1440, 768, 360)

# Rules that another width or other colours can break.
OF_LOOKS = ("color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size")

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

    def look(self, state, where=((1440, "light"), (768, "light"), (360, "dark"))):
        """Keep what is found in what the page shows now, in widths and their colours."""
        for width, scheme in where:
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.emulate_media(color_scheme=scheme)
            # As who looks at a pair has it, which stands below the list where the page is narrow.
            self.page.evaluate("document.getElementById('pair').scrollIntoView()")
            for finding in self.page.evaluate(AXE, None if width == 360 else OF_LOOKS):
                self.found.setdefault(tuple(finding), []).append((state, width, scheme))


def test_of_the_desk(tiny_model, tmp_path, open_page, axe):
    with serving(tiny_model, tmp_path / "desk") as (_, address):
        page = open_page(f"{address}#1")
        expect(page.locator("#linked")).to_have_text("", timeout=20_000)
        audit = Auditor(page, axe)
        audit.look("a pair", [(width, scheme) for scheme in ("light", "dark") for width in WIDTHS])
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
        for name in ("summary", "compare", "agreement"):
            page.click(f"#tab-{name}")
            expect(page.locator(f"#panel-{name} h2")).to_be_visible()
            audit.look(name) if name != "agreement" else audit.look(name, [(360, "dark")])
        page.evaluate("location.hash = '#6?view=lexicon&side=source&word=paris'")
        expect(page.locator("#panel-lexicon tbody tr").first).to_be_visible()
        audit.look("lexicon")
        page.evaluate("location.hash = '#6'")
        expect(page.locator("#pair-title")).to_have_text("Corpus 6")
        audit.look("right to left")
        open_page.leave(page)
    assert audit.found == {}


def test_of_a_report(report, axe):
    page = report(examples(), at="#gold-1")
    audit = Auditor(page, axe)
    page.locator("#lines .word").first.click()
    page.click("#table summary")
    audit.look("a word and the table")
    for name in ("summary", "lexicon"):
        page.click(f"#tab-{name}")
        audit.look(name, [(360, "dark")])  # as of the desk
    assert audit.found == {}
