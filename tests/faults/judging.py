"""How a disturbed run is judged: by what it said, what it left, and the run after it."""

from dataclasses import dataclass

from tests.faults.ground import IN_TIME, LINKS, STOPS, Ended, Round

GOOD = ("clear error", "right finish", "stopped", "not here")


@dataclass(frozen=True)
class Judged:
    """The outcome in a word or two, and what led to it."""

    outcome: str
    detail: str = ""


def judge(round_: Round, ended: Ended) -> Judged:
    """Judge the disturbed run, then run the command undisturbed and judge its results."""
    first = _first(round_, ended)
    round_.calm()
    if first.outcome not in GOOD:
        return first
    again = round_.calmly()
    if again.status and "--from" not in round_.words and round_.stage != LINKS:
        # What is damaged may have to be made again, as the message says.
        round_.words += ["--from", "download"]
        again = round_.calmly()
    if again.status:
        return Judged("wrong rerun", f"status {again.status}: {_last_line(again)} {round_.hit}")
    if round_.expected is not None and (differing := _differing(round_)):
        return Judged("wrong rerun", f"{differing} {round_.hit}")
    left = [name for name in round_.leftovers() if not (round_.killed and name.startswith("out"))]
    if left:
        return Judged("wrong rerun", f"left behind: {left[0]} {round_.hit}")
    return first


def _first(round_: Round, ended: Ended) -> Judged:
    """Judge how the disturbed run ended."""
    if "Traceback" in ended.said or "fault of the program" in ended.said or "internal fault" in ended.said:
        return Judged("traceback", f"{_last_line(ended)} {round_.hit}")
    if ended.wrong:
        return Judged("wrong end", f"{ended.wrong} {round_.hit}")
    if ended.sent is not None and ended.seconds > IN_TIME:
        return Judged("too late", f"{ended.seconds:.1f} s after the signal")
    if ended.status == 0:
        if round_.expected is not None and (differing := _differing(round_)):
            outcome = "lines lost" if "fewer lines" in differing else "silent change"
            return Judged(outcome, f"{differing} {round_.hit}")
        return Judged("right finish")
    if ended.sent in STOPS and ended.status in (-ended.sent, 128 + ended.sent):
        return Judged("stopped", f"{ended.seconds:.1f} s")
    errors = [line for line in ended.said.split("\n") if line.startswith("error: ")]
    if ended.status in (1, 2) and len(errors) == 1:
        return Judged("clear error", errors[0])
    return Judged("unclear error", f"status {ended.status}: {_last_line(ended)} {round_.hit}")


def _differing(round_: Round) -> str:
    """Return which results are not the expected ones, empty if all are."""
    found, expected = round_.found(), round_.expected or {}
    if found == expected:
        return ""
    names = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
    if round_.stage == LINKS:
        fewer = any(found.get(n, "").count("\n") < expected.get(n, "").count("\n") for n in names)
        return f"{names[0]} has fewer lines" if fewer else f"{names[0]} is another"
    return f"{names[0]} is {'another' if names[0] in found else 'missing'}" + f", {len(names)} in all"


def _last_line(ended: Ended) -> str:
    lines = [line for line in ended.said.split("\n") if line.strip()]
    return lines[-1] if lines else "(nothing said)"
