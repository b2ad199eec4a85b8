"""What the figures of a run say, in sentences that are made of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.report.page import Section


def conclusions(sections: list[Section]) -> list[str]:
    """Return paragraphs; of what was not measured nothing is said."""
    by_key = {section.key: section.values for section in sections}
    said = []
    if "first" in by_key:
        said.append(_first(by_key["first"]))
    sizes = sorted((int(key.removeprefix("pairs-")), key) for key in by_key if key.startswith("pairs-"))
    if sizes:
        said.append(_fastest([(pairs, by_key[key]) for pairs, key in sizes]))
        said.append(_largest(*sizes[-1][:1], by_key[sizes[-1][1]]))
    if "lam" in by_key:
        said.append(_strengths(by_key["lam"]))
    if "approximate" in by_key:
        said.append(_approximate(by_key["approximate"]))
    return said


def _strengths(values: dict[str, Any]) -> str:
    errors = {lam: own["aer"] for lam, own in values.items()}
    best, worst = min(errors, key=lambda lam: errors[lam]), max(errors, key=lambda lam: errors[lam])
    if _percent(errors[best]) == _percent(errors[worst]):
        return f"All strengths of regularisation have the same AER, {_percent(errors[best])}."
    words = (
        f"Of the strengths of regularisation lam = {best} has the lowest AER, {_percent(errors[best])}; "
        f"lam = {worst} the highest, {_percent(errors[worst])}."
    )
    short = [f"{lam} ({_percent(own['share'])})" for lam, own in values.items() if not own["reached"]]
    if short:
        words += (
            f" Weights that are not within 1 % of their minimum (gap over primal): lam = {', '.join(short)}."
        )
    return words


def _approximate(values: dict[str, Any]) -> str:
    worst = max(values, key=lambda name: values[name]["missed"])
    found = values[worst]
    broken = [name for name, own in values.items() if own["missed"] > own["bound"]]
    least = min((own["bound"] / own["missed"] for own in values.values() if own["missed"] > 0), default=0.0)
    words = f"Approximate oracles: the bound of theory was broken by {', '.join(broken)}"
    if not broken:
        words = "Approximate oracles: the bound of theory held in every row"
        words += f", {least:,.0f} times what is measured or more" if least >= 2 else ""
        words += ", too far above it to be a test" if least >= 100 else ""
    return (
        f"{words}; the costliest was {worst}, {found['missed']:.3g} short of the maximum where the bound is "
        f"{found['bound']:.3g}."
    )


def _first(values: dict[str, Any]) -> str:
    """Tell the old experiment, and with which single change the most of the error went."""
    # the first row has the same minimum, by the linear program, and is seldom solved within the limits
    _, (_, first), *_, (new, last) = values.items()
    words = (
        f"The experiment of 2019 (concatenated vectors, cosine labels) makes {first['links']} links where "
        f"{first['sure']} are sure, {first['right']} of them right, AER {_percent(first['aer'])}; {new} "
        f"bring {_percent(last['aer'])}."
    )
    names, fall = list(values)[1:], first["aer"] - last["aer"]
    steps = {name: values[before]["aer"] - values[name]["aer"] for before, name in pairwise(names)}
    most = max(steps, key=lambda name: steps[name])
    if fall > 0 and steps[most] > 0:
        words += (
            f" The largest single step is that to {most}: {100 * steps[most]:.1f} of {100 * fall:.1f} points."
        )
    return words


def _fastest(sizes: list[tuple[int, dict[str, Any]]]) -> str:
    parts = []
    for pairs, values in sizes:
        reached = {name: own for name, own in values.items() if own["seconds"] is not None}
        if not reached:
            parts.append(f"with {pairs:,} pairs none gets there within the limits")
            continue
        by_time = min(reached, key=lambda name: reached[name]["seconds"])
        by_passes = min(reached, key=lambda name: (reached[name]["passes"], reached[name]["seconds"]))
        parts.append(
            f"with {pairs:,} pairs {len(reached)} of {len(values)} get there, the quickest in the median "
            f"{by_time} ({reached[by_time]['seconds']:.2f} CPU s), in the fewest passes {by_passes} "
            f"({reached[by_passes]['passes']})"
        )
    return f"To a gap of 1 %: {'; '.join(parts)}."


def _largest(pairs: int, values: dict[str, Any]) -> str:
    missing = [f"{name} ({own['share']:.3g})" for name, own in values.items() if own["seconds"] is None]
    errors = [own["aer"] for own in values.values() if own["seconds"] is not None and own["aer"] is not None]
    used = {name: own["memory"] for name, own in values.items()}
    words = f"With {pairs:,} pairs "
    if errors:
        words += f"all that get there end at an AER of {_percent(min(errors))} to {_percent(max(errors))}. "
    else:
        words += "none gets there. "
    if missing:
        words += f"Not within the limits (gap over primal at the end): {', '.join(missing)}. "
    if len(used) > 1:
        (least, few), *_, (most, many) = sorted(used.items(), key=lambda own: own[1])
        words += f"Beside the features {least} takes {few / 2**20:.1f} MiB, {most} {many / 2**20:.1f} MiB."
    return words


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"
