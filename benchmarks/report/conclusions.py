"""What the figures of a run say, in sentences that are made of them."""

from __future__ import annotations

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
        best = min(by_key["lam"], key=lambda lam: by_key["lam"][lam])
        worst = max(by_key["lam"], key=lambda lam: by_key["lam"][lam])
        said.append(
            f"Of the strengths of regularisation lam = {best} has the lowest AER, "
            f"{_percent(by_key['lam'][best])}; lam = {worst} the highest, "
            f"{_percent(by_key['lam'][worst])}."
        )
    if "approximate" in by_key:
        worst = max(by_key["approximate"], key=lambda name: by_key["approximate"][name]["missed"])
        found = by_key["approximate"][worst]
        held = all(each["missed"] <= each["bound"] for each in by_key["approximate"].values())
        said.append(
            f"Approximate oracles: the bound of theory {'held in every row' if held else 'was broken'}, "
            f"and is far above what is measured; the costliest was {worst}, {found['missed']:.3g} short of "
            f"the maximum where the bound is {found['bound']:.3g}."
        )
    return said


def _first(values: dict[str, Any]) -> str:
    _, (_, first), *_, (new, last) = values.items()
    return (
        f"The experiment of 2019 (concatenated vectors, cosine labels) makes {first['links']} links where "
        f"{first['sure']} are sure, {first['right']} of them right, AER {_percent(first['aer'])}; {new} "
        f"bring {_percent(last['aer'])}. It was the features, not the solver."
    )


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
            f"with {pairs:,} pairs {len(reached)} of {len(values)} get there, the quickest {by_time} "
            f"({reached[by_time]['seconds']:.2f} CPU s), in the fewest passes {by_passes} "
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
