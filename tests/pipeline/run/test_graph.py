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


# As the message shows the value: a float has its point, a word its quotes.
OUT_OF_RANGE = {
    "0 or more": [
        "download.retries=-1",
        "download.backoff=-0.5",
        "lexicon.pairs=-1",
        "lexicon.smoothing=-0.1",
        "lexicon.spelling=-0.5",
        "label.lexical=-1.0",
        "label.neighbours=inf",
        "label.position=-0.5",
        "inspect.pairs=-1",
        "inspect.gold_pairs=-1",
        "inspect.reasons=-1",
    ],
    "more than 0": ["download.timeout=0.0", "lexicon.prior_weight=0.0"],
    "one of auto, given, trained, none": ["embed.vectors='some'"],
    "one of auto, file, bitext, identical": ["embed.dictionary='mine'"],
    "0 to 1000000000": ["train.cost_fn=-1.0", "train.cost_fn=1e+308", "train.cost_fp=nan"],
    "-1 to 100": ["embed.refine=-2", "lexicon.chains=-2", "lexicon.chains=101"],
    "0 to 1": [
        "embed.max_missing=1.5",
        "lexicon.min_probability=1.5",
        "label.least=-0.1",
        "label.least=1.5",
        "label.least=nan",
    ],
    "1 or more": [
        *("preprocess.max_ratio=0.5", "lexicon.iterations=0"),
        *("label.pairs=0", "align.block=0", "evaluate.samples=0"),
    ],
    "one of sampled, mutual, cosine": ["label.method='best'"],
    "a finite number": ["label.threshold=nan", "evaluate.bias=inf"],
    "1 to 2147483647": ["train.fertility=0"],
    "1 to 32767": ["preprocess.max_length=0", "preprocess.max_length=32768"],
    "0, or 2 or more": ["train.folds=1"],
}


@pytest.mark.parametrize(
    ("override", "wanted"), [(each, wanted) for wanted, them in OUT_OF_RANGE.items() for each in them]
)
def test_values_out_of_range_are_refused_with_the_configuration(override, wanted):
    key, _, value = override.partition("=")
    with pytest.raises(InputError, match=re.escape(f"{key}: {value} is out of range; give {wanted}")):
        loaded(override.replace("'", ""))


def test_stages_stand_after_what_they_need():
    names = list(STAGES)
    for place, stage in enumerate(STAGES.values()):
        assert set(stage.needs) <= set(names[:place])
