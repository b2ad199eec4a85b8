"""The preprocess stage: every line in its place, every loss reported, the same for any number of jobs.

Odd lines, separators and encodings are in tests/cases/test_lines.py.
"""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import Corpus
from pipeline.stages.preprocess import shard as preprocess_shard
from pipeline.stages.preprocess import stage as preprocess
from tests.pipeline.stages.preprocess.runner import runner


@pytest.fixture
def run(tmp_path):
    """The stage, on two texts."""
    return runner(tmp_path)


def test_lines_tokens_and_ids_belong_together(run):
    result = run(["Mr. Speaker, it's 5%.", "No."], ["Monsieur l’Orateur, c'est 5 %.", "Non."])
    assert result.text[0] == ["Mr. Speaker , it's 5 % .", "No ."]
    assert result.text[1] == ["Monsieur l’ Orateur , c' est 5 % .", "Non ."]
    assert result.analysis(0, 1) == ["monsieur", "l'", "orateur", ",", "c'", "est", "5", "%", "."]
    assert result.analysis(1) == ["no", "."]
    assert result.spans(0, 1)[:3] == [(0, 8), (9, 11), (11, 18)]
    assert result.lines.tolist() == [0, 1]
    assert result.rejects == []
    assert result.summary["pairs"] == result.summary["parts"] == 2


def test_expand_keeps_the_way_back_to_the_surface(run):
    result = run(["of the port"], ["du port"], options={"profile": "expand"})
    assert result.text[1] == ["du port"]
    assert result.analysis(0, 1) == ["de", "le", "port"]
    assert result.corpus.target.parents.tolist() == [0, 0, 1]
    settings = json.loads((result.folder / "text.json").read_text(encoding="utf-8"))
    assert settings["target"] == {"language": "fr", "profile": "expand", "tokenizer": "rules"}


def test_lengths_far_apart_say_nothing_of_translation(run):
    long = " ".join(f"word{number}" for number in range(21))
    result = run([long, "a b c d e f g h i"], ["un deux trois quatre", "x"], options={"max_ratio": 5.0})
    assert result.reasons == [(1, "length_ratio", "no-statistics")]
    assert result.rejects[0]["detail"] == "21 source and 4 target tokens, ratio over 5"
    assert result.used.tolist() == [False, True]
    assert run([long], ["un deux trois quatre"], options={"max_ratio": 5.5}).used.tolist() == [True]


def test_long_pairs_are_split_to_parallel_parts_that_keep_their_places(run):
    source = "The first sentence is here now. The second one has a few more words than that. A third."
    target = "La première phrase est ici. La deuxième a quelques mots de plus que cela. Une troisième."
    result = run(["Short.", source, "End."], ["Court.", target, "Fin."], options={"max_length": 14})
    assert result.lines.tolist() == [0, 1, 1, 2]
    assert result.analysis(1)[-2:] == ["now", "."]
    assert result.analysis(1, 1)[-2:] == ["ici", "."]
    assert result.analysis(2)[0] == "the"
    # The places of the second part go on counting within the line.
    for side in (result.corpus.source, result.corpus.target):
        first, second = (side.parents[side.offsets[part] : side.offsets[part + 1]] for part in (1, 2))
        assert np.concatenate([first, second]).tolist() == list(range(len(first) + len(second)))
    assert result.text[0][1].startswith("The first sentence is here now . The second")
    assert result.rejects == []
    assert result.summary["split_pairs"] == 1


def test_a_part_that_cannot_be_used_is_reported_and_the_others_stay(run):
    endless = " ".join(["word"] * 20)
    source, target = f"It is so. {endless}.", f"C'est ainsi. {endless.replace('word', 'mots')}."
    result = run([source], [target], options={"max_length": 12})
    assert result.reasons == [(1, "too_long", "dropped")]
    assert "source tokens 4-24, target tokens 4-24" in result.rejects[0]["detail"]
    assert result.analysis(0) == ["it", "is", "so", "."]
    assert result.text[0][0].count("word") == 20


def test_the_limit_takes_the_first_lines(run):
    result = run(["a", "b", "c"], ["x", "y", "z"], limit=2)
    assert result.text == [["a", "b"], ["x", "y"]]


GOLD = (["a new word", "", "one two"], ["un mot  nouveau", "rien", "un deux"])


def test_gold_text_is_used_as_it_is_and_joins_the_counts(run):
    result = run(["two one"], ["un deux"], gold=GOLD)
    gold = Corpus.load(result.folder / "gold")
    assert [result.analysis(row, 0, gold) for row in range(3)] == [["a", "new", "word"], [], ["one", "two"]]
    assert result.analysis(0, 1, gold) == ["un", "mot", "nouveau"]
    assert (result.folder / "gold.target.txt").read_text(
        encoding="utf-8"
    ) == "un mot nouveau\nrien\nun deux\n"
    counts = dict(zip(result.words[1].words, result.words[1].counts.tolist(), strict=True))
    assert counts == {"un": 3, "deux": 2, "mot": 1, "nouveau": 1, "rien": 1}
    assert len(result.lines) == 1


def test_gold_text_outside_the_corpus_is_in_the_vocabulary_alone(run):
    result = run(["one two"], ["un deux"], gold=GOLD, in_corpus=False)
    counts = dict(zip(result.words[1].words, result.words[1].counts.tolist(), strict=True))
    assert counts == {"deux": 1, "un": 1, "mot": 0, "nouveau": 0, "rien": 0}


def test_a_gold_text_that_cannot_be_read_stops(run):
    with pytest.raises(InputError, match=r"gold\.source:3: .*0xe9.*mend this pair in both gold files"):
        run(["a"], ["b"], gold=(b"x\ny\ncaf\xe9\nz\n", ["x", "y", "z", "z"]))
    with pytest.raises(InputError, match=r"gold\.source: the gold text is empty"):
        run(["a"], ["b"], gold=([], []))
    with pytest.raises(InputError, match=r"2 lines, but .*gold\.target has 1"):
        run(["a"], ["b"], gold=(["x", "y"], ["x"]))


def test_endless_tokens_are_pointed_out(run):
    result = run(["abcdefghijklmnopqrstuvwxyzabcdefgh and more"], ["x y"])
    assert "1 tokens have 30 letters or more" in result.said.warnings[0]


def test_untranslated_corpora_are_pointed_out(run):
    result = run(
        [f"line {number} here" for number in range(20)], [f"line {number} here" for number in range(20)]
    )
    assert "20 of 20 pairs are the same on both sides (100%)" in result.said.warnings[0]


def prose(seed, count):
    """Sentences of random lengths, and translations of about the same."""
    random = np.random.default_rng(seed)
    lengths = random.integers(2, 40, count)
    stretched = np.maximum(1, lengths + random.integers(-1, 2, count))
    return (
        [" ".join([word] * size) for size in sizes.tolist()]
        for word, sizes in (("word", lengths), ("mot", stretched))
    )


def test_repeated_pairs_are_pointed_out(run):
    source, target = prose(0, 100)
    result = run(source * 3, target * 3)
    assert result.summary["duplicates"] >= 200
    assert "pairs came before" in result.said.warnings[0]


def test_lengths_that_agree_are_no_matter(run):
    source, target = prose(1, 300)
    result = run(source, target)
    assert result.summary["length_correlation"] > 0.9
    assert not any("agree" in text for text in result.said.warnings)


def test_shifted_and_unrelated_texts_are_pointed_out(run):
    source, target = prose(2, 400)
    shifted = run(source, [*target[1:], "mot"], shifted="report")
    assert any("lines 1 to 400 (shift -1" in text for text in shifted.said.warnings)
    unrelated = run(source, list(prose(3, 400))[1], shifted="report")
    assert any("are these files translations of each other" in text for text in unrelated.said.warnings)


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def mixed(count):
    """Lines of all sorts, so that shards differ."""
    source, target = prose(4, count)
    for number in range(0, count, 7):
        source[number] = f"The {number}th pair. It's long: {source[number]}; and so on, and so on. The end."
        target[number] = (
            f"La paire no {number}. C'est long : {target[number]} ; et cætera, et cætera. La fin."
        )
    source[3], target[11], source[20] = "", " ", target[20]
    return source, target


def test_any_number_of_jobs_gives_the_same_bytes(run, monkeypatch):
    source, target = mixed(90)
    monkeypatch.setattr(preprocess, "SHARD", 16)
    options = {"max_length": 25, "profile": "expand"}
    one = run(source, target, options=options, gold=GOLD)
    two = run(source, target, options=options, gold=GOLD, jobs=2)
    assert one.summary["split_pairs"] > 0
    assert files_of(one.folder) == files_of(two.folder)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_stopped_is_gone_on_with(run, monkeypatch, jobs):
    source, target = mixed(90)
    monkeypatch.setattr(preprocess, "SHARD", 16)
    options = {"max_length": 25, "profile": "expand"}
    whole = run(source, target, options=options, gold=GOLD)
    done = []

    def stopping(shard, process=preprocess_shard._process):
        if len(done) == limit:
            raise KeyboardInterrupt
        done.append(shard.number)
        return process(shard)

    monkeypatch.setattr(preprocess_shard, "_process", stopping)
    limit = 4
    with pytest.raises(KeyboardInterrupt):
        run(source, target, options=options, gold=GOLD)
    limit = None
    again = run(source, target, options=options, gold=GOLD, jobs=jobs, again=True)
    assert files_of(again.folder) == files_of(whole.folder)
    if jobs == 1:
        assert done == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("fault", [b"", None], ids=["empty", "zeros"])
def test_a_shard_that_a_power_cut_damaged_is_made_anew(run, monkeypatch, tmp_path, fault):
    source, target = mixed(90)
    monkeypatch.setattr(preprocess, "SHARD", 16)
    whole = run(source, target, gold=GOLD)

    def stopping(shard, process=preprocess_shard._process):
        if shard.number == 4:
            raise KeyboardInterrupt
        return process(shard)

    with monkeypatch.context() as patched:
        patched.setattr(preprocess_shard, "_process", stopping)
        with pytest.raises(KeyboardInterrupt):
            run(source, target, gold=GOLD)
    left = sorted((tmp_path / "out1" / "shards").glob("shard-*"))
    assert len(left) == 4 * 4
    for path in (left[0], left[5], left[6], left[11]):  # of three shards
        path.write_bytes(bytes(path.stat().st_size) if fault is None else fault)
    again = run(source, target, gold=GOLD, again=True)
    assert files_of(again.folder) == files_of(whole.folder)
    told = [line for line in again.said.lines if "made anew" in line]
    assert told == [
        "preprocess: 3 shards of an earlier run could not be read whole or are of other text; made anew"
    ]


def test_the_size_of_shards_does_not_matter(run, monkeypatch):
    source, target = mixed(60)
    monkeypatch.setattr(
        preprocess_shard, "_splitter", lambda *_: SimpleNamespace(spans=lambda text: [(0, len(text))])
    )
    options = {"max_length": 25}
    whole = run(source, target, options=options)
    monkeypatch.setattr(preprocess, "SHARD", 7)
    pieces = run(source, target, options=options)
    assert files_of(whole.folder) == files_of(pieces.folder)


def test_the_number_of_shards_is_guessed_for_the_time_left(tmp_path, monkeypatch):
    monkeypatch.setattr(preprocess, "SHARD", 10)
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(b"a line\n" * 95)
    packed.write_bytes(b"\x1f\x8b" + b"\n" * 95)
    guesses = [preprocess._expected_shards(path, limit) for path in (plain, packed) for limit in (None, 41)]
    assert guesses == [10, 5, None, 5]


def test_many_losses_are_pointed_out(run):
    result = run([*["a"] * 17, "", "", ""], ["x"] * 20)
    assert "3 of 20 lines cannot be used; rejects.tsv says why" in result.said.warnings[0]


def test_lines_that_end_in_a_lone_carriage_return_are_pointed_out(run):
    result = run(["the cat\rthe dog\rthe house\rthe end"], ["le chat\rle chien\rla maison\rla fin"])
    assert "6 carriage returns within 1 lines, where only a line feed ends" in result.said.warnings[0]
    assert run(["the\rcat", "dog"], ["le chat", "chien"]).said.warnings == []


def test_identical_apart_from_spaces_is_identical(run):
    assert run(["The  end "], ["The end"]).used.tolist() == [False]
