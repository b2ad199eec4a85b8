"""A real Chromium for the tests of the pages."""

import os
import shutil

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from align.data.vocabulary import Vocabulary
from align.features import Resources, feature_names
from align.model.folder import Model
from align.report import Fact, Origin, as_json, render
from align.text.processor import TextProcessor

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of a file; where none is installed, they are skipped, but not in CI."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing(f"none of {', '.join(PROGRAMS)} is installed")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def windows(browser):
    """Pages nobody looks at, wide ones and those of a telephone: to open a new one takes a second of work."""
    return {False: [], True: []}


@pytest.fixture
def problems():
    """What pages have brought up: errors, warnings, their policy's too, dialogs, requests elsewhere."""
    return []


def watchers(url, problems):
    """Return what is to be heard of a page at an address, by the event."""
    server = "/".join(url.split("/")[:3]) + "/"  # file:/// for a report, which may ask for itself only

    def requested(request):
        allowed = (
            request.url.startswith(server)
            if url.startswith("http:")
            else request.url == url.partition("#")[0]
        )
        if not allowed and not request.url.startswith(("data:,", "data:image/svg+xml", "blob:")):
            problems.append(f"requested: {request.url}")

    def dialog(opened):
        problems.append(f"dialog: {opened.message}")
        # A page that is left with something unsaved asks first; the tests go on.
        opened.accept() if opened.type == "beforeunload" else opened.dismiss()

    return {
        "console": lambda message: problems.append(message.text),
        "pageerror": lambda error: problems.append(str(error)),
        "dialog": dialog,
        "request": requested,
    }


def empty(page, heard):
    """Leave a page as a new one is: nothing is shown, pointed at, kept or heard."""
    page.evaluate("0")  # what it has told until now is heard
    for event, hear in heard.items():
        page.remove_listener(event, hear)
    page.unroute_all()
    page.goto("about:blank")
    page.mouse.move(-1, -1)
    session = page.context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    session.detach()


@pytest.fixture
def open_page(browser, windows, problems):
    """Return a function that opens a page; at the end none may have had problems."""
    opened = {}

    def open_one(url, *, width=1400, height=900, dark=False):
        size, scheme = {"width": width, "height": height}, "dark" if dark else "light"
        mobile = width < 500
        if windows[mobile]:
            page = windows[mobile].pop()
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
        else:
            page = browser.new_context(
                viewport=size,
                is_mobile=mobile,
                color_scheme=scheme,
                reduced_motion="reduce",
                locale="en-GB",
                accept_downloads=True,
            ).new_page()
        heard = watchers(url, problems)
        opened[page] = mobile, heard
        for event, hear in heard.items():
            page.on(event, hear)
        page.goto(url)
        return page

    def leave(page):
        """Give a page back, before its server goes; one that was closed is gone."""
        mobile, heard = opened.pop(page)
        if not page.is_closed():
            empty(page, heard)
            windows[mobile].append(page)

    open_one.leave = leave
    yield open_one
    for page in list(opened):
        leave(page)
    assert problems == []


@pytest.fixture
def report(tmp_path, open_page):
    """Return a function that opens a report of pairs."""

    def open_report(pairs, *, at="", **window):
        page = render(
            as_json(pairs),
            title="tiny & <corpus>",
            languages=("en", "fr"),
            facts=[Fact("AER", "5.6 %", "4.8 to 6.4 %"), Fact("Corpus", "20,000 lines")],
            origins=[Origin("corpus", ["sha256 0123abcd"])],
        )
        path = tmp_path / "report.html"
        path.write_text(page, encoding="utf-8", newline="\n")
        return open_page(path.as_uri() + at, **window)

    return open_report


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """A model that links what is spelt alike; the folder is named so that it would show as markup."""
    vocabularies = Vocabulary(["the", "house"], [2, 1]), Vocabulary(["la", "maison"], [2, 1])
    resources = Resources(None, None, None, *vocabularies)
    groups = ("position", "spelling")
    names = feature_names(groups, resources)
    wanted = {"bias": -1.0, "same_word": 3.0, "same_punctuation": 3.0, "same_number": 3.0}
    weights = np.array([wanted.get(name, 0.0) for name in names])
    text = {side: TextProcessor(code).settings() for side, code in (("source", "en"), ("target", "fr"))}
    folder = tmp_path_factory.mktemp("models") / "<b>tiny"
    history = {"corpus": "<i>corpus", "status": "converged", "gap": 0.004, "primal": 0.5, "passes": 7}
    Model(
        names, weights, groups, (1.0, 0.0), {"solver": "bcfw"}, history, resources=resources, text=text
    ).save(folder)
    return folder
