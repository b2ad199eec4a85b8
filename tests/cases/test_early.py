"""What can be known before work is told before it, by a run and by --dry-run alike."""

import shutil
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from align.core.errors import InputError, WorkError
from align.links import format_link, parse_pharaoh, swapped
from pipeline.run import checks
from pipeline.run.command import main
from pipeline.work import resources
from tests.align import toy
from tests.pipeline.site import Site

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"

CONFIG = """
[corpus]
name = "c"
source = "en"
target = "fr"
files = ["sample.en", "sample.fr"]
[gold]
files = ["gold.en", "gold.fr"]
links = "gold.align"
"""


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """Return a function that edits the sample and gives what a run of it says, the same as a dry one."""
    for path in SAMPLE.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)

    def call(*settings, config=CONFIG, ran=(), **files):
        for name, text in files.items():
            Path(name).write_text(text, encoding="utf-8")
        Path("c.toml").write_text(config, encoding="utf-8")
        words = ["--config", "c.toml", "--workdir", "w", *(f"--set={each}" for each in settings)]
        said = []
        for extra in ([], ["--dry-run"]) if not ran else ([],):
            assert main([*words, *extra]) == 2
            err = capsys.readouterr().err
            assert "Traceback" not in err
            said.append([line for line in err.split("\n") if line.startswith("error: ")])
            # Nothing has been made but what had to be fetched.
            made = [path.name for path in (*Path("w").glob("downloads"), *Path("w/c").glob("*/"))]
            made = [name for name in made if name != "latest"]
            assert sorted(made) == sorted(ran)
        assert len(said[0]) == 1
        assert all(each == said[0] for each in said)
        return said[0][0]

    return call


def lines(name):
    return (SAMPLE / name).read_text(encoding="utf-8").split("\n")[:-1]


def text_of(rows):
    return "".join(f"{row}\n" for row in rows)


def swap(row):
    """Return a line of links with the target first."""
    return " ".join(format_link(link) for link in swapped(parse_pharaoh(row)))


def later(row):
    """Return a line of links counted from 1."""
    return " ".join(f"{link.source + 1}-{link.target + 1}" for link in parse_pharaoh(row))


def test_g30_gold_in_another_format(told):
    wpt = text_of(f"{i} {j} {k}" for i in (1, 2) for j, k in ((1, 1), (2, 2)))
    assert "gold.align:1: '1' is not a link" in told(**{"gold.align": wpt})
    assert "this looks like the wpt format: name it" in told()


def test_g30_gold_that_is_pharaoh_though_wpt_is_said(told):
    err = told("gold.format=wpt")
    assert "gold.align:1: " in err
    assert "is not a wpt link like '0001 3 4 P'; this looks like the pharaoh format: name it" in err


@pytest.mark.parametrize("name", ["gold.align", "gold.en", "gold.fr"])
def test_g30_gold_one_line_short(told, name):
    err = told(**{name: text_of(lines(name)[:-1])})
    assert "199" in err
    assert "200" in err


def test_g30_gold_links_that_are_target_first(told):
    err = told(**{"gold.align": text_of(map(swap, lines("gold.align")))})
    assert "the links seem to be target first: swap gold.files, or the links" in err


def test_g30_gold_that_is_target_first_as_a_whole(told):
    reversed_gold = text_of(map(swap, lines("gold.align")))
    err = told('gold.files=["gold.fr", "gold.en"]', **{"gold.align": reversed_gold})
    assert "gold.files: " in err
    assert "gold.fr and " in err
    assert "seem to be target first; give the source first" in err


def test_g30_more_gold_to_train_on_than_there_is(told):
    assert told("gold.train=201") == "error: gold.train: 201 is more than the 200 gold pairs; give fewer"
    assert told("gold.train=201", "train.labels=silver").startswith("error: gold.train: 201 is more than")


@pytest.mark.parametrize(
    ("links", "message"),
    [("", "none of the first 60 pairs has a link"), ("0p0", "none of the first 60 pairs has a sure link")],
)
def test_g30_gold_that_teaches_nothing(told, links, message):
    gold = text_of([links] * 60 + lines("gold.align")[60:])
    assert message in told("gold.train=60", **{"gold.align": gold})


def test_g30_a_base_that_the_links_speak_against(told):
    assert "index 0 in a file that counts from 1; mend the line, or name the right" in told("gold.base=1")
    from_1 = text_of(map(later, lines("gold.align")))
    assert "counted from 1? then set gold.base to 1" in told("gold.base=0", **{"gold.align": from_1})


def test_g30_a_base_that_the_format_fixes_is_said_to_be_without_effect(tmp_path):
    known, files = SimpleNamespace(), [str(SAMPLE / f"gold.{code}") for code in ("en", "fr")]
    (tmp_path / "links").write_text("1 1 1\n", encoding="utf-8")
    options = {"gold.format": "wpt", "gold.base": 0, "gold.train": 0, "train.labels": None}
    known.option = options.get
    known.sources = {"gold": {"files": files, "links": str(tmp_path / "links")}}
    plain = {"profile": "plain", "tokenizer": "rules"}
    known.text_settings = lambda: [{"language": code, **plain} for code in ("en", "fr")]
    known.head = list
    assert list(checks.check_gold(known)) == [
        "gold.base = 0: without effect, for the format wpt counts from 1"
    ]


def test_g30_a_prior_of_another_language(told, tmp_path):
    toy.toy_model().save(tmp_path / "toy")
    err = told("corpus.source=de", "lexicon.prior=toy")
    assert "lexicon.prior: " in err
    assert "is of en-fr, the corpus of de-fr; give a model of the same languages, either way round" in err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["preprocess.source_tokenizer=none"], "tokenizer 'none': no such tokenizer"),
        (["preprocess.target_tokenizer=no_such_module:cut"], "no_such_module"),
        (["preprocess.profile=none"], "profile"),
        (["embed.vectors=given"], "vectors.source: missing, but embed.vectors is given"),
        (["embed.dictionary=file"], "vectors.dictionary: missing, but embed.dictionary is file"),
        (["vectors.dictionary=one-column"], "not two columns of UTF-8"),
        (["vectors.source=a.vec", "vectors.target=b.vec"], "a.vec has 3 dimensions but "),
        (["vectors.source=a.vec", "vectors.target=gold.fr"], "gold.fr:1: the first rows are not a word and"),
        (["corpus.files=['sample.en', 'gold.fr']"], "sample.en: 710 lines, but "),
        (["corpus.files=['p.tsv', 'sample.fr']"], "p.tsv:1: every line has one tab: is this a TSV?"),
        (["corpus.files=['void', 'empty']"], "void: 0 usable pairs of 1 lines (empty 1)"),
    ],
)
def test_g30_what_else_configuration_and_heads_of_files_tell(told, settings, message):
    files = {
        "a.vec": text_of(f"{word} 0.1 0.2 0.3" for word in ("the", "of", "and")),
        "b.vec": text_of(f"{word} 0.1 0.2" for word in ("le", "de", "et")),
        "p.tsv": text_of(f"a {i}\tb {i}" for i in range(710)),
        "one-column": text_of(["the", "of", "and"]),
        "void": "\ufeff",
        "empty": "\ufeff",
    }
    assert message in told(*(each.replace("'", '"') for each in settings), **files)


def test_g30_vectors_that_are_swapped(told):
    files = {}
    for code in ("en", "fr"):
        words = dict.fromkeys(" ".join(lines(f"sample.{code}")).lower().split())
        files[f"{code}.vec"] = text_of(f"{word} 0.1 0.2" for word in words)
    err = told("vectors.source=fr.vec", "vectors.target=en.vec", **files)
    assert "seems to be of the target's language" in err
    assert "swap vectors.source and vectors.target" in err


def test_g30_weights_that_cannot_be_read(told):
    Path("bad").mkdir()
    err = told("train.weights=bad", **{"bad/weights.json": "{", "bad/weights.tsv": ""})
    assert "weights.json" in err


def test_g30_a_disk_without_room(told, monkeypatch, tmp_path):
    free = SimpleNamespace(free=resources.MARGIN + 100_000)
    monkeypatch.setattr(resources.shutil, "disk_usage", lambda folder: free)
    config, steps, settings = _planned(tmp_path)
    with pytest.raises(WorkError, match=r"results in .*w: needs 426\d+ bytes but .* has 67\.2 MB free"):
        checks.check(config, steps, settings, warn=print)
    free.free += 1_000_000
    checks.check(config, steps, settings, warn=print)


def _planned(folder, *overrides, forced=frozenset()):
    from pipeline.config import configuration
    from pipeline.run.graph import SCHEMA, STAGES
    from pipeline.run.plan import Settings, plan

    (folder / "c.toml").write_text(CONFIG, encoding="utf-8")
    config = configuration.load(folder / "c.toml", overrides, SCHEMA)
    settings = Settings(folder / "w", None, 1, 1 << 30, 0)
    return config, plan(config, list(STAGES), STAGES, settings, forced=forced), settings


def test_g30_a_file_url_is_on_the_disk_too(told, tmp_path):
    url = (tmp_path / "gold.align").as_uri()
    short = text_of(lines("gold.align")[:-1])
    assert "links of 199 pairs but 200 gold pairs" in told(f"gold.links={url}", **{"gold.align": short})


def test_g30_a_download_is_checked_before_the_next_stage(told, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with closing(Site()) as site:
        url = site.add("/gold.align", text_of(lines("gold.align")[:-1]).encode())
        err = told(f"gold.links={url}", ran=("download", "downloads"))
    assert "links of 199 pairs but 200 gold pairs" in err


def test_g30_nothing_is_looked_at_where_nothing_is_to_be_run(monkeypatch, tmp_path):
    def fail(known):
        raise InputError("looked")

    monkeypatch.setattr(checks, "CHECKS", (checks.Check(fail, ("label",)),))
    sources = {"corpus": {"paths": []}, "vectors": {}, "gold": None}
    monkeypatch.setattr(checks, "named", lambda option: sources)
    monkeypatch.setattr(checks.download, "load", lambda folder: sources)
    for name, run, looked in (("label", False, False), ("embed", True, False), ("label", True, True)):
        steps = [SimpleNamespace(stage=SimpleNamespace(name=name), run=run, folder=None)]
        config = SimpleNamespace(option=None)
        if looked:
            with pytest.raises(InputError, match="looked"):
                checks.check(config, steps, None, warn=sys.exit)
        else:
            checks.check(config, steps, None, warn=sys.exit)


def test_g30_of_several_corpora_the_later_ones_are_looked_at_first(told, capsys):
    told("gold.train=201")
    capsys.readouterr()
    bad = CONFIG.replace('name = "c"', 'name = "bad"') + "train = 201\n"
    Path("bad.toml").write_text(bad, encoding="utf-8")
    words = ["--config", "c.toml", "--config", "bad.toml", "--workdir", "w"]
    assert main([*words, "--dry-run"]) == 2
    shown = capsys.readouterr()
    assert "error: gold.train: 201 is more than the 200 gold pairs" in shown.err
    assert shown.out.count("stages to run") == 2
    assert main([*words, "--stage", "preprocess"]) == 2
    err = capsys.readouterr().err
    message = "bad.toml would be refused as things stand: gold.train: 201 is more than the 200 gold pairs"
    assert 0 <= err.find(message) < err.find("[c] download: running")
    assert "[c] preprocess: done" in err
