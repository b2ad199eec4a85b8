"""What ``--list``, ``--dry-run`` and a batch of several corpora print."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.config.configuration import Config
from pipeline.config.options import REQUIRED, Option, options_of
from pipeline.run.plan import Step
from pipeline.run.runner import Outcome


def plan_lines(config: Config, steps: Sequence[Step], *, dry: bool) -> list[str]:
    """Return a line a stage: its state and the reason; in a dry run, whether it would be run."""
    lines = [f"{config.name} ({config.path})"]
    for step in steps:
        state = ("run " if step.run else "skip") if dry else step.state
        others = ", ".join(step.unless)
        doubt = (
            f"; made again if {others} come{'s' * (len(step.unless) == 1)} out otherwise" if others else ""
        )
        lines.append(f"  {step.stage.name:<11} {state:<8} {step.reason}{doubt}")
    return lines


def stage_lines(section: str) -> list[str]:
    """Return a section's options with type, default and meaning, and what the stage adds to them."""
    from pipeline.run.graph import SCHEMA, STAGES

    lines = []
    stage = STAGES.get(section)
    if stage is not None:
        summary = (stage.run.__doc__ or "").strip().split("\n")[0]
        lines = [f"{section}: {summary}", f"needs: {', '.join(stage.needs) or 'nothing'}"]
    lines.append(f"[{section}]")
    for option in options_of(SCHEMA[section]).values():
        lines += _option_lines(option)
    if stage is not None and stage.describe is not None:
        lines += ["", stage.describe()]
    return lines


def batch_table(rows: Sequence[tuple[Path, Outcome | None, str]]) -> list[str]:
    """Return the summary of several corpora: how each ended, seconds, stages run, its last result."""
    table = [("corpus", "status", "seconds", "ran", "result")]
    for path, outcome, failure in rows:
        if outcome is None:
            table.append((path.stem, "failed", "", "", failure))
        else:
            last = outcome.results[-1] if outcome.results else ""
            table.append((outcome.name, "done", f"{outcome.seconds:.1f}", str(len(outcome.ran)), last))
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]])
        for row in table
    ]


def _option_lines(option: Option) -> list[str]:
    default = "required" if option.default is REQUIRED else f"default {_show(option.default)}"
    head = f"  {option.name} ({option.described[0]}, {default})"
    body = textwrap.wrap(option.meaning, 100, initial_indent="      ", subsequent_indent="      ")
    return [head, *body]


def _show(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) else str(value)
