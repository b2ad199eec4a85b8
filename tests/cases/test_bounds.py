"""Links to words that there are not, and numbers that a type cannot hold: told with the place, or held."""

import json
from dataclasses import replace

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import LONGEST, Corpus, Sentences
from align.links import check_pair, read_file
from align.statistics import candidates, sampler
from align.statistics.candidates import MOST_CELLS
from align.statistics.jumps import Jumps
from align.statistics.sampler import Block, ChainSettings, Schedule, Sums, run_chain
from align.statistics.sampler_priors import LexicalPrior
from pipeline.config import configuration
from pipeline.run.command import main
from pipeline.run.graph import SCHEMA
from pipeline.stages.preprocess.gold import Gold
from pipeline.work import budget, resources
from tests.align.links.test_formats import parse
from tests.align.statistics.test_sampler import all_cells, sampled
from tests.pipeline.work import test_resources

SOURCE, TARGET = ["a", "b", "c"], ["x", "y"]


# G27: a link to a word that is not there is told with line, column, text and what is allowed.


def bounds(text, **options):
    for pair in parse(text, **options):
        check_pair(pair._replace(source=SOURCE, target=TARGET), name="f")


@pytest.mark.parametrize(
    ("format", "text", "options", "place", "allowed"),
    [
        ("pharaoh", "0-0\n0-0  1p1\t3-1:0.5 2-1\n", {}, "line 2, column 10: '3-1:0.5'", (0, 2, 1)),
        ("pharaoh", "1-1\n1-1 4p2\n", {"base": 1}, "line 2, column 5: '4p2'", (1, 3, 2)),
        ("talp", "\n0p2\n", {}, "line 2, column 1: '0p2'", (0, 2, 1)),
        ("berkeley", "0-0 1-3-P\n", {}, "line 1, column 5: '1-3-P'", (0, 2, 1)),
        ("wpt", "1 1 1\n0002  4 2 P\n1 2 2\n", {}, "line 2, column 7: '4 2'", (1, 3, 2)),
        ("nltk", "0-0 0-7\n", {}, "line 1, column 5: '0-7'", (0, 2, 1)),
        ("nltk", "a b c\nx y\n0-0 0-7\n", {}, "line 3, column 5: '0-7'", (0, 2, 1)),
        ("jsonl", '{"links": [[0, 0], [0, 7]]}\n', {}, "line 1, column 20: '[0, 7]'", (0, 2, 1)),
        (
            "jsonl",
            json.dumps({"links": [{"source": 3, "target": 0}]}),
            {},
            'line 1, column 12: \'{"source": 3, "target": 0}\'',
            (0, 2, 1),
        ),
    ],
)
def test_g27_a_link_outside_its_pair_is_told_with_its_place(format, text, options, place, allowed):
    base, last_source, last_target = allowed
    with pytest.raises(InputError) as error:
        bounds(text, format=format, **options)
    assert str(error.value).endswith(
        f"; use the tokens that the links were made for ({place}, where source {base} to {last_source} and "
        f"target {base} to {last_target} can stand)"
    )


def test_g27_where_a_side_is_empty():
    with pytest.raises(InputError, match=r"where no source and target 0 to 1 can stand\)$"):
        check_pair(parse("0-0\n")[0]._replace(source=[], target=TARGET), name="f")


def test_g27_a_file_whose_sides_are_swapped_is_told_as_it_is_written(run):
    words = "score --gold g --hyp h --source s --target t --gold-base 0 --hyp-base 0 --reverse"
    files = {"s": "a b c\n", "t": "x y\n", "g": "0-0\n", "h": "0-0 5-1\n"}
    _, _, err = run(words, **files)
    assert "h:1: link 1-5 (counted from 0) lies outside the pair" in err
    assert "(line 1, column 5: '5-1', where source 0 to 2 and target 0 to 1 can stand)" in err


@pytest.mark.parametrize(
    "words",
    [
        "lexicon --links h --source s --target t",
        "convert --from pharaoh --to jsonl -i h --source s --target t",
    ],
)
def test_g27_every_command_that_reads_links_says_it(run, words):
    status, _, err = run(words, s="a b c\n", t="x y\n", h="0-0  0-5\n")
    assert status == 2
    assert "(line 1, column 6: '0-5', where source 0 to 2 and target 0 to 1 can stand)" in err


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("pharaoh", "0-0\n0-0 \t1-None 2-2\n", r"f:2: '1-None' is not a link .*\(column 6\)$"),
        ("berkeley", "0-0 1-None\n", r"f:1: '1-None' is not a berkeley link .*\(column 5\)$"),
        ("nltk", "0-0 1-None\n", r"f:1: '0-0 1-None' is not a line of links .*\(column 5: '1-None'\)$"),
        ("nltk", "1-None\n", r"f:1: '1-None' is not a line of links .*\(column 1: '1-None'\)$"),
        ("nltk", "\n1-None\n0-0\n1-1\n2-2\n", r"f:2: '1-None' is not a line of links"),
        ("nltk", "1-None None-1 x 0-0\n0-0\n0-0\n", "f:1: '1-None None-1 x 0-0' is not a line of links"),
        ("pharaoh", "1-1 0-0\n", r"f:1: index 0 in a file .* right base \(line 1, column 5: '0-0'\)$"),
    ],
)
def test_g27_what_is_no_link_is_told_with_its_column(format, text, message):
    with pytest.raises(InputError, match=message):
        parse(text, format=format, **({"base": 1} if "index 0" in message else {}))


def test_g27_sentences_with_words_like_links_are_still_sentences():
    text = "Apollo-11 landed\nApollo-11 a atterri\n0-0 1-1 1-2\n"
    (pair,) = parse(text, format="nltk")
    assert (pair.source, len(pair.links)) == (["Apollo-11", "landed"], 3)


# G27: the parts that GIZA's processes write hold every second or third pair.


def giza(*numbers):
    return "".join(
        f"# Sentence pair ({number}) source length 1 target length 1\nx\nNULL ({{ }}) a ({{ 1 }})\n"
        for number in numbers
    )


@pytest.mark.parametrize("numbers", [(1, 3, 5, 2, 4, 6), (1, 2, 2), (1, 2, 1, 2)])
def test_g27_parts_of_giza_are_to_be_merged_by_number(numbers):
    with pytest.raises(InputError, match=r"merge the parts .* by number: merge_alignment\.py of mgiza"):
        parse(giza(*numbers), format="giza")


@pytest.mark.parametrize(("numbers", "missing"), [((1, 4, 7), 4), ((1, 3, 5), 2), ((2, 4, 6, 8), 4)])
def test_g27_one_part_alone_is_said_to_be_one(numbers, missing):
    notes = []
    assert len(parse(giza(*numbers), format="giza", on_note=notes.append)) == numbers[-1]
    assert f"{missing} pairs are missing" in notes[0]
    assert "is this one part of several? merge them by number: merge_alignment.py" in notes[0]


def test_g27_a_position_that_giza_does_not_have(tmp_path):
    (tmp_path / "f").write_text("# Sentence pair (1)\nx y\nNULL ({ }) a ({ 1 3 })\n", encoding="utf-8")
    with pytest.raises(InputError, match=r":3: '3' is not one of the 2 .* \(column 19, where 1 to 2 can"):
        read_file(tmp_path / "f", format="giza")


# G05: the counts of a chain grow beyond 16,777,216, from where on float32 knows even numbers only.


EDGE = 2**24


def one_pair(source, target):
    """Return a corpus of one pair of words with these ids."""
    return Corpus(*(Sentences(np.array(ids, np.int32), np.array([0, len(ids)]), np.zeros(len(ids), np.int32))
                    for ids in (source, target)))  # fmt: skip


def settings_of(source_counts, target_counts, null_links=(0, 0)):
    """Return the settings of a chain over two words a side that came so often, with prior links to NULL."""
    lexicon = replace(
        all_cells(2), source_counts=np.array(source_counts), target_counts=np.array(target_counts)
    )
    known = LexicalPrior(np.zeros(4, np.float32), np.zeros(2, np.float32), np.float32(null_links))
    return ChainSettings.of(lexicon, 0, 4, Schedule(1, 1, 1, 1, 1), prior=known)


@pytest.mark.parametrize("before", [EDGE - 3, EDGE, 50 * EDGE])
def test_g05_what_null_makes_is_counted_beyond_float32(before):
    settings = settings_of((9, 9), (9, 9), (before, 0))
    state = sampler._first_state(settings, 0)
    start = state.null[-1]
    corpus = one_pair([0, 1], [1] * 40)
    block = Block.of(corpus, candidates.find(corpus, all_cells(2), least=0.0), 0)
    (choices,) = sampler._first_choices(settings, [block], state, Jumps.none(settings.classes, 5))
    made = (choices < 0).sum()
    assert made > 1
    assert state.null[-1] == start + made
    assert state.null[-1] == pytest.approx(state.null[:-1].sum(), abs=1e-3)
    # And a sweep, which takes each away before it is drawn anew.
    found = sampled([(corpus, (block.candidates,) * 2)], all_cells(2), 0, settings.schedule)
    assert np.isfinite(found[0]).all()


@pytest.mark.parametrize("count", [EDGE - 1001, EDGE, 100 * EDGE])
def test_g05_counts_of_words_have_a_type_that_holds_them(count):
    exact = np.dtype(np.float64 if count >= EDGE else np.float32)
    state = sampler._first_state(settings_of((count, 1), (1, 1)), 0)
    assert (state.totals.dtype, state.links.dtype, state.fertility.dtype) == (exact,) * 3
    assert state.null.dtype == np.float32
    for one in (state.totals[:1] + count, state.fertility[0, :1] + count):
        assert one + one.dtype.type(1) > one
    state = sampler._first_state(settings_of((1, 1), (count - 1, 1)), 0)
    assert (state.null.dtype, state.links.dtype) == (exact, np.float32)


def test_g05_a_chain_with_counts_of_either_type_draws_the_same():
    corpus = one_pair([0, 1, 0], [1, 0, 1, 1])
    block = Block.of(corpus, candidates.find(corpus, all_cells(2), least=0.0), 0)
    found = []
    for count in (200, 2 * EDGE):
        sums = [Sums.zeros(block)]
        run_chain(settings_of((count, count), (count, count)), [block], sums, chain=0)
        found.append(sums[0])
    assert np.abs(found[0].candidates.astype(int) - found[1].candidates).max() <= 1


def test_g05_memory_is_planned_for_the_larger_counts():
    small, large = (budget.sampling_memory(10**6, tokens, 10) for tokens in (2**28 - 1, 2**28))
    assert large - small >= 4 * 10**6


# G06: what the types of candidates hold is what is let in.


def test_g06_the_longest_sentence_is_sampled_and_a_longer_one_refused():
    lexicon = all_cells(2)
    corpus = one_pair([0] * LONGEST, [1, 0])
    both = candidates.find(corpus, lexicon, least=0.0)
    assert both[0].places.max() == LONGEST - 1
    settings = ChainSettings.of(lexicon, 0, LONGEST, Schedule(1, 1, 1, 1, 1))
    block = Block.of(corpus, both, 0)
    none = Jumps.none(settings.classes, LONGEST + 1)
    (choices,) = sampler._first_choices(settings, [block], sampler._first_state(settings, 1), none)
    assert (choices >= -1).all()
    assert np.iinfo(choices.dtype).max >= LONGEST - 1
    # An edge of two such sentences has its number too.
    assert np.iinfo(np.int32).max >= LONGEST**2
    for pair in (([0] * (LONGEST + 1), [1]), ([1], [0] * 40_000)):
        with pytest.raises(InputError, match=r"a sentence of \d+ words, more than the 32767 .* \(int16\)"):
            candidates.find(one_pair(*pair), lexicon)


def test_g06_cells_beyond_int32_are_refused():
    candidates.check_cells(MOST_CELLS)
    with pytest.raises(
        InputError, match=r"2147483648 word pairs, more than the 2147483647 .* \(int32\); learn"
    ):
        candidates.check_cells(MOST_CELLS + 1)


@pytest.mark.parametrize(("length", "fits"), [(1, True), (LONGEST, True), (LONGEST + 1, False), (0, False)])
def test_g06_max_length_has_a_bound(tmp_path, length, fits):
    (tmp_path / "c.toml").write_text('[corpus]\nname = "c"\nsource = "en"\ntarget = "fr"\n', encoding="utf-8")
    given = [f"preprocess.max_length={length}"]
    if fits:
        assert (
            configuration.load(tmp_path / "c.toml", given, SCHEMA).option("preprocess.max_length") == length
        )
        return
    with pytest.raises(InputError, match="preprocess.max_length.*1 to 32767"):
        configuration.load(tmp_path / "c.toml", given, SCHEMA)


def test_g06_gold_sentences_are_bounded_too(tmp_path):
    plain = [{"language": code, "profile": "plain", "tokenizer": "rules"} for code in ("en", "fr")]
    paths = [tmp_path / code for code in ("en", "fr")]
    for words in (LONGEST, LONGEST + 1):
        for path in paths:
            path.write_text("a\n" + "b " * words + "\n", encoding="utf-8")
        if words == LONGEST:
            assert len(Gold.read(list(map(str, paths)), plain)) == 2
            continue
        with pytest.raises(InputError, match=r"en:2: 32768 words, over the 32767 of a sentence; split it"):
            Gold.read(list(map(str, paths)), plain)


# G02: memory and processors are what the control group may have; see tests/pipeline/work/test_resources.py.


groups, OLD_LIMIT = test_resources.groups, "memory.limit_in_bytes"


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("0::/\n", {"memory.max": 2**28}),
        ("0::/a/b\n", {"a/b/memory.max": 2**30, "a/memory.max": 2**28, "memory.max": "max"}),
        ("0::/a\n", {"a/memory.max": 2**30, "a/memory.high": 2**28}),
        # A container sees its own group as the root, and may still be told its path outside.
        ("0::/docker/abc\n", {"memory.max": 2**28}),
        ("4:memory:/docker/abc\n", {f"memory/{OLD_LIMIT}": 2**28}),
        ("4:memory:/a/b\n", {f"memory/a/{OLD_LIMIT}": 2**28, f"memory/a/b/{OLD_LIMIT}": 2**63 - 4096}),
    ],
)  # fmt: skip
def test_g02_the_plan_is_made_with_the_limit_of_the_control_group(groups, own, files, tmp_path, capsys):
    groups(own, files)
    machine = resources.psutil.virtual_memory().total
    assert resources.default_memory() == min(machine, 2**28) * 3 // 4
    files = {name: 2**30 if value == 2**28 else value for name, value in files.items()}
    groups(own, files)
    assert main(["--dry-run", "--workdir", str(tmp_path / "w")]) == 0
    assert "memory 768.0 MB" in capsys.readouterr().out


def test_g02_a_limit_above_the_memory_of_the_machine_is_none(groups):
    groups("0::/a\n", {"a/memory.max": 2**62, "memory.max": "max"})
    assert resources.default_memory() == int(resources.psutil.virtual_memory().total * 0.75)


@pytest.mark.parametrize(("quota", "jobs"), [("250000", 3), ("50000", 1), ("-1", 8)])
def test_g02_processors_of_either_version(groups, monkeypatch, quota, jobs):
    monkeypatch.setattr(resources.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    groups("3:cpu,cpuacct:/a\n", {"cpu/a/cpu.cfs_quota_us": quota, "cpu/a/cpu.cfs_period_us": "100000"})
    assert resources.default_jobs() == jobs
