"""Pairs for the pages, and what the tests of several of them look at."""

from align.links import Link
from align.report import Reason, ShownPair

UNNAMED = """[...document.querySelectorAll("button, input, select, textarea, summary, a[href], [role=tab]")]
    .filter((element) => !(element.ariaLabel || element.textContent.trim() || element.labels?.length))
    .map((element) => element.outerHTML)"""

# Visible text whose contrast with its ground is below that of WCAG 2.1, level AA.
FAINT = """() => {
    const parts = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const luminance = ([red, green, blue]) => [red, green, blue].map((value) => value / 255)
        .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
        .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
    const ground = (element) => {
        for (let each = element; each; each = each.parentElement) {
            const colour = parts(getComputedStyle(each).backgroundColor);
            if (colour.length === 3 || colour[3] > 0.99) return colour;
        }
        return [255, 255, 255];
    };
    const found = [];
    for (const element of document.querySelectorAll("body *")) {
        const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!own || !element.checkVisibility()) continue;
        if (element.closest("svg, :disabled, .hidden, .skip, option")) continue;
        const [one, two] = [luminance(parts(getComputedStyle(element).color)), luminance(ground(element))];
        const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
        if (contrast < 4.5) found.push([element.className, element.textContent.slice(0, 20), contrast]);
    }
    return found;
}"""


def words(text):
    return text.split(" ") if text else []


def gold(number, source, target, links, known, **changes):
    return ShownPair("gold", number, words(source), words(target), links, gold=known, **changes)


def corpus(number, source, target, links, **changes):
    return ShownPair("corpus", number, words(source), words(target), links, **changes)


def diagonal(count, score=0.95):
    return [Link(index, index, score=score) for index in range(count)]


def examples():
    """Gold pairs with AER 0.25, 0, undefined, 1, and pairs of the corpus."""
    why = {(0, 0): Reason(1.5, 0.9, {"cosine": 2.0, "both_first": -0.75, "bias": 0.25})}
    return [
        gold(
            1,
            "the old house",
            "la vieille maison !",
            [Link(0, 0, score=0.9), Link(1, 1, score=0.6), Link(2, 3, score=0.3)],
            [Link(0, 0), Link(1, 1, False), Link(2, 2), Link(0, 1, False)],
            reasons=why,
            part="train",
        ),
        gold(2, "yes .", "oui .", diagonal(2), diagonal(2), part="test"),
        gold(3, "", "rien du tout", [], [], part="test"),
        gold(4, "no", "jamais", [Link(0, 0, score=0.4)], [], part="test"),
        corpus(11, "one two three four", "un deux trois quatre", diagonal(4), score=0.8),
        corpus(12, "house", "maison", [], score=0.1),
        corpus(13, "The committee met", "اجتمعت اللجنة أمس", diagonal(3, 0.7), score=0.5),
        corpus(14, "green tea", "绿 茶 好", diagonal(2), score=0.6),
    ]
