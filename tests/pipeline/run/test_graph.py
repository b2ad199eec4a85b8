"""Wrong options of any stage are refused before the first stage is run."""

import pytest

from align.core.errors import InputError
from pipeline.config import configuration as config
from pipeline.run import command
from pipeline.run.graph import DEFAULT_CONFIG, SCHEMA, STAGES, check_options


def loaded(*overrides):
    return config.load(DEFAULT_CONFIG, overrides, SCHEMA)


def test_the_defaults_are_right():
    check_options(loaded())
    check_options(loaded("gold.train=0"))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["lexicon.iterations=0"], "lexicon.iterations: 0 is out of range"),
        (["label.method=best"], "label.method: no method 'best'"),
        (["label.position=-1"], "label.position: -1.0 is out of range"),
        (["train.labels=gold", "gold.train=0"], "train.labels: 'gold' but no gold pair may train"),
        (["train.labels=silver,gold"], "train.labels: 'silver,gold' is no kind of labels"),
        (["featurize.groups=cosinus"], "featurize.groups: 'cosinus' is no feature group"),
        (["train.solver=bcwf"], "train.solver: 'bcwf' is no solver"),
        (["train.lam=0"], "train.lam: 0.0 is out of range"),
        (["align.block=0"], "align.block: 0 is less than 1"),
        (["align.bias=nan"], "align.bias: nan is not finite"),
        (["evaluate.samples=0"], "evaluate.samples: 0 is less than 1"),
        (["inspect.pairs=-1"], "inspect.pairs: -1 is less than 0"),
    ],
)
def test_wrong_options_are_refused_at_once(overrides, message, tmp_path, capsys):
    with pytest.raises(InputError, match=message):
        check_options(loaded(*overrides))
    words = [word for each in overrides for word in ("--set", each)]
    assert command.main(["--stage", "download", "--workdir", str(tmp_path / "work"), *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "work").exists()


def test_stages_stand_after_what_they_need():
    names = list(STAGES)
    for place, stage in enumerate(STAGES.values()):
        assert set(stage.needs) <= set(names[:place])
