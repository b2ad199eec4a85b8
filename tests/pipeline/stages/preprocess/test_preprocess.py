"""The preprocess stage: every line in its place, every loss reported, the same for any number of jobs."""

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import Corpus
from align.data.vocabulary import Vocabulary
from pipeline.config.configuration import Config
from pipeline.stages.preprocess import shard as preprocess_shard
from pipeline.stages.preprocess import stage as preprocess
from pipeline.work.engine import open_engine
from pipeline.work.stage import Stage, StageContext

SIDES = ("source", "target")
DEFAULTS = {"source": "en", "target": "fr", "limit": None, "tokenized": False, "encoding": "utf-8"}
DEFAULTS["shifted"] = None
USES = (*(f"corpus.{key}" for key in DEFAULTS), "gold.in_corpus")


class Said:
    """A reporter that keeps what is said."""

    def __init__(self):
        self.lines, self.warnings = [], []

    def say(self, text):
        self.lines.append(text)

    def warn(self, text):
        self.warnings.append(text)

    def progress(self, items, **_):
        return items


class Result:
    """What the stage left in its folder."""

    def __init__(self, folder, said):
        self.folder, self.said = folder, said
        self.corpus = Corpus.load(folder / "corpus")
        self.lines = np.load(folder / "lines.npy", allow_pickle=False)
        self.used = np.load(folder / "in_statistics.npy", allow_pickle=False)
        self.words = [Vocabulary.load(folder / f"{side}.vocabulary.tsv") for side in SIDES]
        self.text = [(folder / f"{side}.txt").read_bytes().decode("utf-8").split("\n")[:-1] for side in SIDES]
        self.summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        with open(folder / "rejects.tsv", encoding="utf-8", newline="\n") as rows:
            self.rejects = list(csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))

    @property
    def reasons(self):
        return [(int(row["line"]), row["reason"], row["effect"]) for row in self.rejects]

    def analysis(self, part, side=0, corpus=None):
        sentences = getattr(corpus or self.corpus, SIDES[side])
        ids = sentences.ids[sentences.offsets[part] : sentences.offsets[part + 1]]
        return [self.words[side].words[word] for word in ids]

    def spans(self, line, side=0):
        starts = np.load(self.folder / f"{SIDES[side]}.spans.offsets.npy", allow_pickle=False)
        spans = np.load(self.folder / f"{SIDES[side]}.spans.npy", allow_pickle=False)
        return [tuple(span) for span in spans[starts[line] : starts[line + 1]].tolist()]


def as_bytes(lines):
    return lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode("utf-8")


@pytest.fixture
def run(tmp_path):
    """Return a function that writes two texts, runs the stage on them and reads what it left."""

    def call(
        source,
        target,
        /,
        *,
        gold=None,
        in_corpus=True,
        jobs=1,
        kind="files",
        options=None,
        again=False,
        **corpus,
    ):
        number = len(list(tmp_path.glob("out*"))) - again
        folders = {name: tmp_path / f"{name}{number}" for name in ("out", "scratch", "download")}
        for folder in folders.values():
            folder.mkdir(exist_ok=again)
        paths = []
        for name, lines in zip(("text.source", "text.target"), (source, target), strict=True):
            if lines is not None:
                (folders["download"] / name).write_bytes(as_bytes(lines))
                paths.append(name)
        for side, lines in zip(SIDES, gold or (), strict=bool(gold)):
            (folders["download"] / f"gold.{side}").write_bytes(as_bytes(lines))
        sources = {
            "corpus": {"kind": kind, "paths": paths, "sha256": []},
            "vectors": {"source": None, "target": None, "dictionary": None},
            "gold": {"files": ["gold.source", "gold.target"], "links": "gold.align"} if gold else None,
        }
        (folders["download"] / "sources.json").write_text(json.dumps(sources), encoding="utf-8")
        values = {"corpus": DEFAULTS | corpus, "gold": {"in_corpus": in_corpus}}
        said = Said()
        with open_engine("local", jobs=jobs) as engine:
            context = StageContext(
                folder=folders["out"],
                inputs={"download": folders["download"]},
                seed=1,
                jobs=jobs,
                memory=1 << 30,
                scratch=folders["scratch"],
                workdir=tmp_path,
                engine=engine,
                reporter=said,
                stage=Stage("preprocess", preprocess.run, uses=USES),
                config=Config(Path("test.toml"), values, frozenset()),
            )
            preprocess.run(context, **(options or {}))
        assert not list(folders["scratch"].iterdir())
        assert not (folders["out"] / "shards").exists()
        return Result(folders["out"], said)

    return call


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


def test_an_empty_side_rejects_the_pair_and_keeps_the_place(run):
    source = ["one", "", "  ", "\t", "five", "\ufeff"]
    target = ["un", "deux", "\t", "quatre", " ", ""]
    result = run(source, target)
    assert result.reasons == [
        (2, "empty_src", "dropped"),
        (3, "empty_both", "dropped"),
        (4, "empty_src", "dropped"),
        (5, "empty_tgt", "dropped"),
        (6, "empty_both", "dropped"),
    ]
    assert result.text == [["one", *[""] * 5], ["un", *[""] * 5]]
    assert result.lines.tolist() == [0]
    assert [result.spans(line) for line in (0, 1)] == [[(0, 3)], []]
    # What was only on rejected lines is no word of the corpus.
    assert result.words[1].words == ["un"]


def test_a_tab_within_a_sentence_is_a_space(run):
    assert run(["ich\tgehe"], ["I go"]).text[0] == ["ich gehe"]


def test_rows_of_a_table_without_two_fields_are_rejected(run):
    rows = [*["a b\tc d"] * 4, "a\tb\tc", "no tab", "e\tf"]
    result = run(rows, None, kind="tsv")
    assert result.reasons == [(5, "bad_row", "dropped"), (6, "bad_row", "dropped")]
    assert "3 field(s)" in result.rejects[0]["detail"]
    assert result.text[0] == [*["a b"] * 4, "", "", "e"]


def test_a_joint_file_without_spaces_at_its_bars_stops_with_a_hint(run):
    with pytest.raises(InputError, match=r"text\.source:1: .*put one space before and one after the bars"):
        run(["select a file||| 选 文件"] * 5, None, kind="joint")


def test_files_of_different_lengths_stop(run):
    with pytest.raises(InputError, match=r"3 lines, but .*text\.target has 2"):
        run(["a", "b", "c"], ["x", "y"])


@pytest.mark.parametrize("code", [0x2028, 0x2029, 0x85, 0x0B, 0x0C, 0x1C, 0x1D, 0x1E])
def test_only_a_line_feed_ends_a_line(run, code):
    result = run([f"one.{chr(code)}two", "three"], ["un. deux", "trois"])
    assert result.text[0] == ["one . two", "three"]
    assert result.summary["changes"] == {"spaces": 1}


def test_dos_line_ends_on_one_side_change_nothing(run):
    plain = run(["a b.", "c."], ["x y.", "z."])
    dos = run(b"a b.\r\nc.\r\n", ["x y.", "z."])
    assert dos.text == plain.text
    assert dos.words[0].words == plain.words[0].words


@pytest.mark.parametrize("tokenized", [False, True])
def test_dos_line_ends_leave_nothing_behind_in_tokenized_text_either(run, tokenized):
    assert run(b"a b .\r\n", ["x y ."], tokenized=tokenized).text[0] == ["a b ."]


def test_byte_order_marks_go_everywhere(run):
    result = run("\ufeffLe chat\nun \ufeffchien\n".encode(), ["the cat", "a dog"], source="fr", target="en")
    assert result.text[0] == ["Le chat", "un chien"]
    assert result.spans(1) == [(0, 2), (4, 9)]


def test_composed_and_decomposed_letters_are_one_word(run):
    result = run(["e\u0301te\u0301 été"], ["summer summer"], source="fr", target="en")
    assert result.words[0].words == ["été"]
    assert result.text[0] == ["été été"]


def test_bytes_that_are_no_text_reject_their_pair(run):
    lines = [b"caf\xe9" if number == 70 else b"coffee" for number in range(300)]
    result = run(b"\n".join(lines) + b"\n", ["un café"] * 300)
    assert result.reasons == [(71, "encoding", "dropped")]
    assert "0xe9 at offset 3" in result.rejects[0]["detail"]
    assert result.text[0][70] == result.text[1][70] == ""
    assert len(result.lines) == 299


def test_many_such_bytes_mean_another_encoding(run):
    lines = b"".join(b"caf\xe9\n" if number % 20 == 0 else b"the\n" for number in range(300))
    message = r"text\.source: 15 of 300 lines are not utf-8 \(line 1, .*--set corpus\.encoding=latin-1"
    with pytest.raises(InputError, match=message):
        run(lines, ["x"] * 300)
    assert run(lines, ["x"] * 300, encoding="latin-1", target="en").text[0][0] == "café"


def test_no_white_space_but_single_spaces_between_tokens_is_written(run):
    source = "10\xa0000 a  b\u3000c\u202fd\u2009e \x1ff"
    result = run([source], ["x"])
    assert result.text[0] == ["10 000 a b c d e f"]
    assert all(
        len(token) == stop - start
        for token, (start, stop) in zip(result.text[0][0].split(" "), result.spans(0), strict=True)
    )


def test_tokenized_text_is_split_on_spaces_alone(run):
    result = run(
        ["sinh_viên l'ami  a-b, ", "\u2028"],
        ["étudiant du", "x"],
        tokenized=True,
        options={"profile": "expand"},
    )
    assert result.text[0] == ["sinh_viên l'ami a-b,", "\u2028"]
    assert result.analysis(0, 1) == ["étudiant", "de", "le"]
    assert result.spans(0) == [(0, 9), (10, 15), (17, 21)]
    settings = json.loads((result.folder / "text.json").read_text(encoding="utf-8"))
    assert settings["source"]["tokenizer"] == "rules"
    assert result.summary["tokenized"] is True


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


def test_a_script_without_spaces_wants_a_segmenter(run):
    result = run(["今天很好。"], ["Today is good ."], source="zh", target="en")
    assert result.text[0] == ["今 天 很 好 。"]
    assert ["preprocess.source_tokenizer=jieba" in text for text in result.said.warnings] == [True]
    tokenized = run(["今天 很好 。"], ["Today is good ."], source="zh", target="en", tokenized=True)
    assert tokenized.said.warnings == []


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
