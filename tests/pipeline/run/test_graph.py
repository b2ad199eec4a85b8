"""Wrong options of any stage are refused before the first stage is run."""

import re

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
        (["train.labels=gold", "gold.train=0"], "train.labels: 'gold' but no gold pair may train"),
        (["train.labels=silver,gold"], "train.labels: 'silver,gold' is no kind of labels"),
        (["featurize.groups=cosinus"], "featurize.groups: 'cosinus' is no feature group"),
        (["train.solver=bcwf"], "train.solver: 'bcwf' is no solver"),
        (["train.lam=0"], "train.lam: 0.0 is out of range"),
        (["embed.dim=0"], "embed.dim: 0 is out of range; give 1 to 1000"),
        (["align.bias=nan"], "align.bias: nan is out of range; give a finite number"),
    ],
)
def test_wrong_options_are_refused_at_once(overrides, message, tmp_path, capsys):
    with pytest.raises(InputError, match=message):
        check_options(loaded(*overrides))
    words = [word for each in overrides for word in ("--set", each)]
    assert command.main(["--stage", "download", "--workdir", str(tmp_path / "work"), *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("override", "value", "wanted"),
    [
        ("download.retries=-1", "-1", "0 or more"),
        ("download.backoff=-0.5", "-0.5", "0 or more"),
        ("download.timeout=0", "0.0", "more than 0"),
        ("embed.vectors=some", "'some'", "one of auto, given, trained, none"),
        ("embed.dictionary=mine", "'mine'", "one of auto, file, bitext, identical"),
        ("embed.refine=-2", "-2", "-1 to 100"),
        ("embed.max_missing=1.5", "1.5", "0 to 1"),
        ("lexicon.pairs=-1", "-1", "0 or more"),
        ("lexicon.iterations=0", "0", "1 or more"),
        ("lexicon.smoothing=-0.1", "-0.1", "0 or more"),
        ("lexicon.min_probability=1.5", "1.5", "0 to 1"),
        ("lexicon.prior_weight=0", "0.0", "more than 0"),
        ("lexicon.spelling=-0.5", "-0.5", "0 or more"),
        ("lexicon.chains=-2", "-2", "-1 to 100"),
        ("lexicon.chains=101", "101", "-1 to 100"),
        ("label.pairs=0", "0", "1 or more"),
        ("label.method=best", "'best'", "one of sampled, mutual, cosine"),
        ("label.threshold=nan", "nan", "a finite number"),
        ("label.lexical=-1", "-1.0", "0 or more"),
        ("label.neighbours=inf", "inf", "0 or more"),
        ("label.position=-0.5", "-0.5", "0 or more"),
        ("label.least=-0.1", "-0.1", "0 to 1"),
        ("label.least=1.5", "1.5", "0 to 1"),
        ("label.least=nan", "nan", "0 to 1"),
        ("train.cost_fn=-1", "-1.0", "0 or more"),
        ("train.cost_fp=nan", "nan", "0 or more"),
        ("train.fertility=0", "0", "1 to 2147483647"),
        ("train.folds=1", "1", "0, or 2 or more"),
        ("align.block=0", "0", "1 or more"),
        ("evaluate.samples=0", "0", "1 or more"),
        ("evaluate.bias=inf", "inf", "a finite number"),
        ("inspect.pairs=-1", "-1", "0 or more"),
        ("inspect.gold_pairs=-1", "-1", "0 or more"),
        ("inspect.reasons=-1", "-1", "0 or more"),
    ],
)
def test_values_out_of_range_are_refused_with_the_configuration(override, value, wanted):
    key = override.partition("=")[0]
    with pytest.raises(InputError, match=re.escape(f"{key}: {value} is out of range; give {wanted}")):
        loaded(override)


def test_stages_stand_after_what_they_need():
    names = list(STAGES)
    for place, stage in enumerate(STAGES.values()):
        assert set(stage.needs) <= set(names[:place])
