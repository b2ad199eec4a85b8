"""The report's page: what reaches it, that no text leaves its place, that equal input gives equal bytes."""

import base64
import hashlib
import json
import math
import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from align.links import Link
from align.report import (
    Fact,
    Origin,
    Reason,
    ShownPair,
    as_json,
    model_facts,
    percent,
    policy,
    reasons_of,
    render,
)
from align.report.page import SCRIPTS
from tests.conftest import ROOT

HOSTILE = "</script><script>alert(1)</script><!--<script>\u2028\u2029&lt;'\"{{ 7 * 7 }}"


def pair(**changes):
    values = {
        "kind": "gold",
        "number": 3,
        "source": ["the", "house"],
        "target": ["la", "maison", "!"],
        "links": [Link(0, 0, score=0.5), Link(1, 2, score=0.25)],
        "gold": [Link(0, 0), Link(1, 1), Link(1, 2, False)],
    }
    return ShownPair(**{**values, **changes})


def page(pairs=(), **changes):
    values = {"title": "tiny", "languages": ("en", "fr")}
    return render(as_json(list(pairs)), **{**values, **changes})


class Blocks(HTMLParser):
    """Collects the elements of a page, and what scripts and styles hold, as a browser would cut them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.contents, self.text = [], {}, ""
        self._open = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._open = dict(attributes).get("type", tag)
            self.contents.setdefault(self._open, [])

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open:
            self.contents[self._open].append(data)
        else:
            self.text += data


def data_of(text):
    (content,) = Blocks(text).contents["application/json"]
    return json.loads(content)


class TestPairs:
    def test_a_pair_with_its_gold_and_figures(self):
        found = as_json([pair(part="test", score=0.75)])
        assert found == {
            "names": [],
            "words": [],
            "pairs": [
                {
                    "kind": "gold",
                    "number": 3,
                    "source": ["the", "house"],
                    "target": ["la", "maison", "!"],
                    "links": [[0, 0, 0.5], [1, 2, 0.25]],
                    "confidence": 0.375,
                    "part": "test",
                    "score": 0.75,
                    "gold": [[0, 0, 1], [1, 1, 1], [1, 2, 0]],
                    "figures": {"aer": 0.25, "precision": 1.0, "recall": 0.5, "f1": 0.6667},
                }
            ],
        }

    def test_without_gold_there_is_nothing_to_judge_by(self):
        (row,) = as_json([pair(gold=None)])["pairs"]
        assert "gold" not in row
        assert "figures" not in row

    def test_undefined_figures_are_null(self):
        (row,) = as_json([pair(links=[], gold=[])])["pairs"]
        assert row["figures"] == {"aer": None, "precision": None, "recall": None, "f1": None}
        assert row["confidence"] is None

    def test_the_largest_contributions_are_kept_and_the_others_summed(self):
        reason = Reason(1.25, 0.8, {"small": 0.125, "down": -0.75, "up": 2.0, "none": 0.0, "tiny": -0.125})
        shown = pair(links=[Link(0, 0), Link(1, 1)], reasons={(0, 0): reason})
        found = as_json([shown], contributions=2)
        assert found["names"] == ["up", "down"]
        assert found["pairs"][0]["links"] == [[0, 0, 0.8, 1.25, [[0, 2.0], [1, -0.75]], 0.0], [1, 1, None]]

    def test_contributions_of_equal_size_come_by_name(self):
        reason = Reason(0.0, None, {"b": 0.5, "a": -0.5, "c": 0.5})
        found = as_json([pair(links=[Link(0, 0)], reasons={(0, 0): reason})], contributions=2)
        assert found["names"] == ["a", "b"]
        assert found["pairs"][0]["links"] == [[0, 0, None, 0.0, [[0, -0.5], [1, 0.5]], 0.5]]

    def test_contributions_have_their_plain_words_beside_their_names(self):
        reason = Reason(0.5, None, {"cosine": 0.5, "product_3": 0.25, "mine": 0.125})
        found = as_json([pair(links=[Link(0, 0)], reasons={(0, 0): reason})])
        assert found["names"] == ["cosine", "product_3", "mine"]
        assert found["words"] == [
            "vectors: likeness of meaning",
            "vectors: both words in dimension 3",
            "mine",
        ]

    def test_the_confidence_a_link_came_with_goes_before_that_of_its_reason(self):
        shown = pair(links=[Link(0, 0, score=0.9)], reasons={(0, 0): Reason(1.0, 0.1, {})})
        (row,) = as_json([shown])["pairs"]
        assert row["links"][0][2] == 0.9

    def test_what_json_cannot_hold_becomes_null(self):
        shown = pair(links=[Link(0, 0, score=math.nan)], score=math.inf, gold=None)
        (row,) = as_json([shown])["pairs"]
        assert row["links"] == [[0, 0, None]]
        assert row["confidence"] is None
        assert row["score"] is None

    def test_reasons_of_an_explanation(self):
        explanation = {
            "source": ["a"],
            "target": ["b"],
            "links": [
                {"source": 0, "target": 0, "score": 1.5, "confidence": 0.8, "contributions": {"cosine": 1.5}}
            ],
        }
        assert reasons_of(explanation) == {(0, 0): Reason(1.5, 0.8, {"cosine": 1.5})}


class TestPage:
    def test_the_data_come_back_as_they_went_in(self):
        shown = pair(source=["naïve", "日本", "", "\u200b"], target=["x"] * 3)
        found = data_of(page([shown]))
        assert found["pairs"] == json.loads(json.dumps(as_json([shown])["pairs"]))
        assert (found["mode"], found["languages"]) == ("report", ["en", "fr"])

    def test_no_text_can_leave_the_data(self):
        text = page([pair(source=[HOSTILE], links=[])])
        plain = Blocks(page([pair()]))
        hostile = Blocks(text)
        assert hostile.elements == plain.elements
        assert hostile.contents["script"] == plain.contents["script"]
        assert data_of(text)["pairs"][0]["source"] == [HOSTILE]

    def test_no_text_can_leave_the_template(self):
        plain = Blocks(
            page(facts=[Fact("a", "b", "c")], origins=[Origin("corpus", ["file"])], languages=("xx", "yy"))
        )
        hostile = Blocks(
            page(
                title=HOSTILE,
                facts=[Fact(HOSTILE, HOSTILE, HOSTILE)],
                origins=[Origin(HOSTILE, [HOSTILE])],
                languages=("xx", "yy"),
            )
        )
        assert hostile.elements == plain.elements
        assert hostile.contents["script"] == plain.contents["script"]
        assert hostile.text.count(HOSTILE) == 7  # the title comes twice
        assert "49" not in hostile.text

    def test_a_language_code_cannot_leave_its_attribute(self):
        code = '"><img src=x onerror=alert(1)>'
        tags = [tag for tag, _ in Blocks(page(languages=(code, "fr"))).elements]
        assert "img" not in tags

    def test_figures_and_origins_stand_in_it_without_any_script(self):
        found = Blocks(
            page(facts=[Fact("AER", "5.6 %", "4.8 to 6.4 %")], origins=[Origin("corpus", ["sha256 abc"])])
        ).text
        for text in ("AER", "5.6 %", "4.8 to 6.4 %", "corpus", "sha256 abc"):
            assert text in found

    @pytest.mark.parametrize("mode", ["report", "explorer"])
    def test_its_policy_allows_its_own_style_and_script_and_nothing_else(self, mode):
        blocks = Blocks(page(mode=mode, limits={"characters": 10}))
        allowed = {
            "http-equiv": "Content-Security-Policy",
            "content": policy(mode),
        }
        assert ("meta", allowed) in blocks.elements
        rules = dict(rule.split(" ", 1) for rule in policy(mode).split("; "))
        assert rules.pop("default-src") == "'none'"
        for kind in ("script", "style"):
            (content,) = blocks.contents[kind]
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert rules.pop(f"{kind}-src") == f"'sha256-{digest}'"
        assert rules == {
            "img-src": "data:",
            "connect-src": "'self'" if mode == "explorer" else "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
        }

    def test_it_refers_to_nothing_outside(self):
        blocks = Blocks(page([pair()]))
        for tag, attributes in blocks.elements:
            for name in ("src", "href", "action", "data", "poster", "srcset"):
                assert attributes.get(name, "#").startswith(("#", "data:,")), (tag, attributes)
            assert not any(name.startswith("on") for name in attributes), (tag, attributes)
            assert "style" not in attributes, (tag, attributes)
        (style,) = blocks.contents["style"]
        assert "url(" not in style
        assert "@import" not in style

    def test_its_scripts_make_elements_from_no_markup(self):
        (script,) = Blocks(page()).contents["script"]
        banned = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc"
        assert not re.search(banned, script)
        assert len(SCRIPTS) == len(set(SCRIPTS))

    def test_equal_input_gives_equal_bytes(self):
        assert page([pair()], facts=[Fact("a", "b")]) == page([pair()], facts=[Fact("a", "b")])

    def test_a_page_without_pairs(self):
        assert data_of(page())["pairs"] == []

    def test_an_unknown_mode_is_refused(self):
        with pytest.raises(ValueError, match="mode 'print' is none of report, explorer"):
            page(mode="print")

    def test_numbers_that_json_does_not_have_are_refused(self):
        with pytest.raises(ValueError, match="not JSON compliant"):
            render({"names": [], "pairs": [math.nan]}, title="x", languages=("en", "fr"))


class TestFacts:
    def test_a_training_in_one_figure(self):
        training = {"solver": "bcfw", "status": "pass-limit", "gap": 0.0125, "primal": 2.5, "passes": 50}
        remark = "pass-limit, duality gap 0.5 % of the primal, 50 passes"
        assert model_facts(training) == [Fact("Training", "bcfw", remark)]

    @pytest.mark.parametrize(
        "odd",
        [
            {"gap": math.nan},
            {"gap": "0.5"},
            {"gap": True},
            {"gap": 10**400},
            {"gap": 1, "primal": 0},
            {"status": 5},
            {"passes": None},
        ],
    )
    def test_what_is_missing_or_odd_is_left_out(self, odd):
        assert model_facts({"solver": ["x"], "primal": 1.0, **odd}) == [Fact("Training", "none", "")]

    def test_nothing_known(self):
        assert model_facts({}) == []

    def test_shares(self):
        assert [percent(value) for value in (None, 0.0, 0.05678, 1.0)] == ["n/a", "0.0 %", "5.7 %", "100.0 %"]


def test_no_two_scripts_of_the_page_call_something_the_same():
    # They become one script, in which the last function of a name silently takes the place of the others.
    scripts = sorted((ROOT / "align" / "report" / "browser").glob("*.js"))
    declared = re.compile(r"^(?:async )?(?:function\*?|class|const|let|var) ([\w$]+)", re.MULTILINE)
    names = [name for script in scripts for name in declared.findall(script.read_text(encoding="utf-8"))]
    assert len(names) > 100
    assert [name for name, count in Counter(names).items() if count > 1] == []
