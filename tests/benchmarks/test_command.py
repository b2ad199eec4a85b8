"""Wrong options of the commands are told in one line, before anything is run."""

import pytest

from benchmarks import __main__ as speed
from benchmarks import restart, scaling
from benchmarks.stages import Runs


@pytest.mark.parametrize("module", [speed, scaling, restart])
@pytest.mark.parametrize(
    ("memory", "told"),
    [
        ("lots", "error: --memory lots: no size"),
        ("100M", "error: --memory 100M: libraries and compiled code alone take"),
        ("0", "error: --memory 0: "),
    ],
)
def test_a_wrong_memory(command, bitext, monkeypatch, capsys, module, memory, told):
    monkeypatch.setattr(Runs, "warm_up", lambda *_: pytest.fail("the kernels were compiled first"))
    with pytest.raises(SystemExit) as ended:
        command(module, "--bitext", *bitext(20), "--memory", memory)
    assert ended.value.code == 2
    errors = capsys.readouterr().err
    assert errors.startswith(told)
    assert errors.count("\n") == 1
