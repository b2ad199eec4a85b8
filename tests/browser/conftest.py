"""A real Chromium for the tests of the pages; without one they are skipped."""

import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from align.data.vocabulary import Vocabulary
from align.features import Resources, feature_names
from align.model.folder import Model
from align.text.processor import TextProcessor

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def _driver():
    """Load ``driver.py``, which lies beside this file and in no package."""
    name = "liaison_test_browser"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("driver.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all tests."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(PROGRAMS)} is installed")
    running = _driver().Chromium(program, tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def windows(browser):
    """The windows that are open already, by size and colour scheme."""
    return {}


@pytest.fixture
def open_page(browser, windows):
    """Return a function that opens a page; at the end none may have had errors or opened a dialog."""
    opened = []

    def open_one(url, *, width=1400, height=900, dark=False):
        window = width, height, dark
        if window not in windows:
            windows[window] = browser.page(width=width, height=height, dark=dark)
        page = windows[window]
        page.forget()
        opened.append(page)
        page.open(url)
        return page

    yield open_one
    for page in opened:
        assert page.problems() == []
        assert page.dialogs() == []


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
    Model(weights, names, groups, resources, text, (1.0, 0.0), {"solver": "bcfw"}, history).save(folder)
    return folder
