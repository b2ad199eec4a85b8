"""The stage ``align``: a line for a line, parts put together, the same bytes however the work is shared."""

import json
import os
import shutil
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest

from align.core.errors import InputError, WorkError
from align.core.ragged import edge_offsets
from align.data.corpus import Corpus, Sentences
from align.model.aligner import Aligner
from align.model.alignments import Alignments
from align.statistics.posteriors import SCALE
from pipeline.run.graph import STAGES
from pipeline.stages.align import links_table as align_table
from pipeline.stages.align import stage
from pipeline.stages.align.block import LineBlock, align_lines, link_lines, load_aligner, model_fingerprint
from pipeline.work import journal
from tests.align import toy
from tests.pipeline.stages import made_by_hand as stages

WORDS = [[pair[side] for pair in toy.PAIRS] for side in (0, 1)]
SENTENCES = [
    [1, 4, 2, 0],
    [5, 6],
    [5, 6, 1, 2, 3, 4],
    [8, 9],
    [11, 7, 1, 2, 0],
    [2],
    [10, 3, 9, 2, 7, 1, 8, 0],
]
# Line 3 has two parts, line 8 three; lines 0, 4 and 9 to 10 were rejected; line 7 has no link.
LINES = [1, 2, 3, 3, 5, 6, 7, 8, 8, 8]
COUNT = 11


def made(folder, *, order=1):
    """Write preprocess and train; the target says what the source does, the words in another order."""
    parts, parents = ([], []), ([], [])
    texts = [[""] * COUNT, [""] * COUNT]
    for place, line in enumerate(LINES):
        source = SENTENCES[place % len(SENTENCES)]
        target = list(source)[::order] if line != 7 else []
        if line == 7:
            source, target = [5], [9]
        for side, ids in enumerate((source, target)):
            before = len(texts[side][line].split(" ")) if texts[side][line] else 0
            parts[side].append(ids)
            parents[side].append(range(before, before + len(ids)))
            texts[side][line] = " ".join([*filter(None, [texts[side][line]]), *(WORDS[side][i] for i in ids)])
    model = toy.toy_model()
    corpus = Corpus(*(Sentences.from_lists(*each) for each in zip(parts, parents, strict=True)))
    stages.write_preprocess(folder / "preprocess", model, corpus, LINES, texts)
    model.save(folder / "train")
    return {name: folder / name for name in ("preprocess", "lexicon", "train")}


def run(inputs, folder, *, jobs=1, **options):
    with stages.context_of(STAGES["align"], folder, inputs, jobs=jobs) as context:
        stage.run(context, **options)
    return context


def lines_of(path):
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def inputs(tmp_path):
    return made(tmp_path)


class TestLines:
    def test_line_n_for_line_n(self, inputs, tmp_path):
        run(inputs, tmp_path / "out")
        links = lines_of(tmp_path / "out" / "links.txt")
        assert len(links) == COUNT
        for line, found in enumerate(links):
            sizes = [
                sum(len(SENTENCES[place % 7]) for place, own in enumerate(LINES) if own == line != 7)
                for _ in (0, 1)
            ]
            assert found == " ".join(f"{j}-{j}" for j in range(sizes[0])), line

    def test_texts_are_those_of_preprocess(self, inputs, tmp_path):
        run(inputs, tmp_path / "out")
        for side in ("source", "target"):
            copy, whole = (folder / f"{side}.txt" for folder in (tmp_path / "out", inputs["preprocess"]))
            assert copy.read_bytes() == whole.read_bytes()
            assert not os.path.samefile(copy, whole)

    def test_sentence_scores(self, inputs, tmp_path):
        run(inputs, tmp_path / "out")
        scores = lines_of(tmp_path / "out" / "scores.txt")
        assert len(scores) == COUNT
        for line, score in enumerate(scores):
            if line in LINES:
                assert (0.5 < float(score) <= 1) if line != 7 else float(score) == 0
            else:
                assert score == ""

    def test_the_table(self, inputs, tmp_path):
        run(inputs, tmp_path / "out")
        table = pq.read_table(tmp_path / "out" / "links.parquet")
        names = ["line", "source", "target", "source_word", "target_word", "score", "confidence"]
        assert table.schema.names == names
        rows = table.to_pylist()
        flat = [
            (number, *map(int, link.split("-")))
            for number, line in enumerate(lines_of(tmp_path / "out" / "links.txt"), 1)
            for link in line.split(" ")
            if link
        ]
        assert [(row["line"], row["source"], row["target"]) for row in rows] == flat
        assert all(0 <= row["confidence"] <= 1 for row in rows)
        for side in ("source", "target"):
            tokens = [line.split(" ") for line in lines_of(tmp_path / "out" / f"{side}.txt")]
            assert [row[f"{side}_word"] for row in rows] == [
                tokens[row["line"] - 1][row[side]] for row in rows
            ]
        aligner = Aligner.load(inputs["train"])
        texts = [
            lines_of(inputs["preprocess"] / f"{side}.txt")[1].split(" ") for side in ("source", "target")
        ]
        expected = [link["score"] for link in aligner.explain(*texts)["links"]]
        assert [row["score"] for row in rows if row["line"] == 2] == pytest.approx(expected, rel=1e-6)

    def test_parts_of_a_line_are_put_together(self, inputs, tmp_path):
        """Links of a second part count from the beginning of the line."""
        run(made(tmp_path / "other", order=-1), tmp_path / "out")
        first, second = SENTENCES[2], SENTENCES[3]
        n, m = len(first), len(second)
        expected = [f"{j}-{n - 1 - j}" for j in range(n)] + [f"{n + j}-{n + m - 1 - j}" for j in range(m)]
        assert lines_of(tmp_path / "out" / "links.txt")[3].split(" ") == expected

    def test_confidences_in_the_links(self, inputs, tmp_path):
        run(inputs, tmp_path / "out", confidences=True)
        line = lines_of(tmp_path / "out" / "links.txt")[2]
        assert [link.split(":")[0] for link in line.split(" ")] == ["0-0", "1-1"]
        assert all(0.5 < float(link.split(":")[1]) < 1 for link in line.split(" "))

    def test_bias(self, inputs, tmp_path):
        counts = []
        for bias in (-20.0, 0.0, 20.0):
            context = run(inputs, tmp_path / f"out{bias}", bias=bias)
            counts.append(context.notes["links"])
        assert counts[0] == 0 < counts[1] < counts[2]

    def test_notes(self, inputs, tmp_path):
        notes = run(inputs, tmp_path / "out").notes
        assert (notes["pairs"], notes["pairs_without_links"]) == (7, 1)
        assert notes["links"] == sum(len(line.split()) for line in lines_of(tmp_path / "out" / "links.txt"))
        assert 0 < notes["mean_score"] < 1


@pytest.mark.parametrize("last", [3, 127, 128, 4000])
def test_texts_of_links(last):
    found = Alignments.build(
        np.array([0, 0, 2]),
        np.array([0, 2, last]),
        np.array([1, last, last]),
        *np.ones((2, 3)),
        *np.ones((2, 3)),
    )
    text = f"0-1 2-{last}\n\n{last}-{last}\n".encode("ascii")
    assert link_lines(found, confidences=False) == text


class TestStoredPosteriors:
    @pytest.mark.parametrize("block", [1, 4, 1000])
    def test_they_decide_where_the_pair_was_sampled(self, tmp_path, block):
        inputs = made(tmp_path)
        model = toy.toy_model()
        weights = np.array([{"bias": -0.5, "sampled": 1.0}.get(name, 0.0) for name in model.names])
        replace(model, weights=weights).save(inputs["train"])
        shapes = Corpus.load(inputs["preprocess"] / "corpus").shapes()
        sampled = np.array([0, 3, 9])
        edges = edge_offsets(shapes[sampled])
        probabilities = np.zeros(edges[-1], dtype=np.uint16)
        probabilities[edges[1:] - 1] = SCALE
        stored = toy.posteriors_of(shapes[sampled], probabilities, probabilities)
        stored.placed(sampled, len(shapes)).save(inputs["lexicon"] / "posteriors" / "corpus")
        run(inputs, tmp_path / "out", block=block)
        # A worker that does not see them says so, and never takes others.
        shutil.rmtree(inputs["lexicon"] / "posteriors" / "corpus")
        task = LineBlock(
            *(
                str(inputs["preprocess"]),
                str(inputs["train"]),
                model_fingerprint(inputs["train"]),
            ),
            *(str(inputs["lexicon"] / "posteriors" / "corpus"), 0, 1, 0, 2, 0.0, False),
        )
        with pytest.raises(InputError, match="missing"):
            align_lines(task)
        # the last words of parts 0, 3 and 9, that is of lines 1, 3 and 8
        links = lines_of(tmp_path / "out" / "links.txt")
        assert [line for line, found in enumerate(links) if found] == [1, 3, 8]
        for line in (1, 3, 8):
            last = sum(len(SENTENCES[place % 7]) for place, own in enumerate(LINES) if own == line) - 1
            assert links[line] == f"{last}-{last}"


class TestSharing:
    def test_row_groups_do_not_depend_on_blocks(self, inputs, tmp_path, monkeypatch):
        monkeypatch.setattr(align_table, "_ROWS_AT_A_TIME", 7)
        for block in (1, 100):
            run(inputs, tmp_path / str(block), block=block)
        assert files(tmp_path / "1") == files(tmp_path / "100")
        table = pq.ParquetFile(tmp_path / "1" / "links.parquet")
        assert [table.metadata.row_group(i).num_rows for i in range(3)] == [7, 7, 7]
        monkeypatch.undo()
        run(inputs, tmp_path / "whole")
        assert table.read().equals(pq.read_table(tmp_path / "whole" / "links.parquet"))

    @pytest.mark.parametrize("cut", [1, align_table.ROW.itemsize, -3])
    def test_rows_that_are_not_all_there_are_no_table(self, inputs, tmp_path, monkeypatch, cut):
        def spoil(rows, table, count, texts):
            data = rows.read_bytes()
            rows.write_bytes(data[:-cut] if cut > 0 else data + bytes(-cut))
            align_table.write_table(rows, table, count, texts)

        with monkeypatch.context() as patched:
            patched.setattr(stage, "write_table", spoil)
            told = r"out/links\.rows: \d+ bytes, not the \d+ of \d+ links; run the command again"
            with pytest.raises(WorkError, match=told):
                run(inputs, tmp_path / "out", block=1)
        assert not (tmp_path / "out" / "links.parquet").exists()
        run(inputs, tmp_path / "out", block=1)
        run(inputs, tmp_path / "whole", block=1)
        assert files(tmp_path / "out") == files(tmp_path / "whole")

    def test_blocks_end_where_lines_end(self, inputs):
        for block in (1, 2, 3, 100):
            pieces = list(stage._pieces(inputs["preprocess"], block))
            starts, stops, firsts, lasts = zip(*pieces, strict=True)
            assert starts[1:] == stops[:-1]
            assert firsts[1:] == lasts[:-1]
            assert (firsts[0], lasts[-1], stops[-1]) == (0, COUNT, len(LINES))
            for start, stop, first, last in pieces:
                assert set(LINES[start:stop]) <= set(range(first, last))


class TestGoingOn:
    """A run that stopped after some blocks: the next one does the others, to the same bytes."""

    @pytest.fixture(autouse=True)
    def _commit_always(self, monkeypatch):
        monkeypatch.setattr(journal, "EVERY", 0.0)
        monkeypatch.setattr(journal, "REST", 0)

    def stop_after(self, monkeypatch, blocks):
        """Let the stage fail after some blocks; return where blocks began, filled as they do."""
        begun = []

        def failing(task):
            if len(begun) == blocks:
                raise KeyboardInterrupt
            begun.append(task.first)
            return align_lines(task)

        monkeypatch.setattr(stage, "align_lines", failing)
        return begun

    @pytest.mark.parametrize("jobs", [1, 2])
    @pytest.mark.parametrize("blocks", [0, 1, 4, 6])
    def test_only_the_rest_is_done(self, inputs, tmp_path, monkeypatch, capsys, blocks, jobs):
        context = run(inputs, tmp_path / "whole", block=1)
        expected = files(tmp_path / "whole"), context.notes
        with monkeypatch.context() as patched:
            begun = self.stop_after(patched, blocks)
            with pytest.raises(KeyboardInterrupt):
                run(inputs, tmp_path / "out", block=1)
        with monkeypatch.context() as patched:
            rest = self.stop_after(patched, None)
            capsys.readouterr()
            context = run(inputs, tmp_path / "out", block=1, jobs=jobs)
        assert (files(tmp_path / "out"), context.notes) == expected
        pieces = [first for _, _, first, _ in stage._pieces(inputs["preprocess"], 1)]
        assert begun == pieces[:blocks]
        assert sorted(rest) == pieces[blocks:]
        told = capsys.readouterr().err
        assert (f"align: going on after line {pieces[blocks]} of {COUNT}" in told) == (blocks > 0)
        assert "made anew" not in told

    def test_stopped_while_the_table_is_made(self, inputs, tmp_path, monkeypatch):
        run(inputs, tmp_path / "whole", block=1)
        with monkeypatch.context() as patched:
            patched.setattr(stage, "copy_file", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                run(inputs, tmp_path / "out", block=1)
        with monkeypatch.context() as patched:
            self.stop_after(patched, 0)  # no block is done again
            run(inputs, tmp_path / "out", block=1)
        assert files(tmp_path / "out") == files(tmp_path / "whole")

    @pytest.mark.parametrize("name", ["links.txt", "scores.txt", "links.rows", "journal.txt"])
    @pytest.mark.parametrize("fault", ["changed", "zeros", "empty"])
    def test_damage_begins_anew(self, inputs, tmp_path, monkeypatch, capsys, name, fault):
        run(inputs, tmp_path / "whole", block=1)
        with monkeypatch.context() as patched:
            self.stop_after(patched, 4)
            with pytest.raises(KeyboardInterrupt):
                run(inputs, tmp_path / "out", block=1)
        path = tmp_path / "out" / name
        data = path.read_bytes()
        faults = {"changed": bytes([data[0] ^ 1]) + data[1:], "zeros": bytes(len(data)), "empty": b""}
        path.write_bytes(faults[fault])
        capsys.readouterr()
        with monkeypatch.context() as patched:
            begun = self.stop_after(patched, None)
            run(inputs, tmp_path / "out", block=1)
        assert begun[0] == 0
        told = "align: the links of an earlier run cannot be read whole; they are made anew"
        assert told in capsys.readouterr().err
        assert files(tmp_path / "out") == files(tmp_path / "whole")

    def test_what_another_model_began_is_not_gone_on_with(self, inputs, tmp_path, monkeypatch):
        self.stop_after(monkeypatch, 4)
        with pytest.raises(KeyboardInterrupt):
            run(inputs, tmp_path / "out", block=1)
        monkeypatch.undo()
        model = toy.toy_model()
        replace(model, weights=model.weights * 0.5).save(inputs["train"])
        run(inputs, tmp_path / "out", block=1)
        run(inputs, tmp_path / "whole", block=1)
        assert files(tmp_path / "out") == files(tmp_path / "whole")

    @pytest.mark.parametrize("name", ["preprocess", "lexicon", "train"])
    def test_what_other_inputs_began_is_not_gone_on_with(self, inputs, tmp_path, monkeypatch, name):
        """Tables and posteriors may be others in the same folders, by another --memory."""
        inputs[name].mkdir(exist_ok=True)
        manifest = inputs[name] / "manifest.json"
        manifest.write_text("1", encoding="utf-8")
        for changed, first in ((False, 4), (True, 0)):
            with monkeypatch.context() as patched:
                self.stop_after(patched, 4)
                with pytest.raises(KeyboardInterrupt):
                    run(inputs, tmp_path / str(changed), block=1)
            if changed:
                manifest.write_text("2", encoding="utf-8")
            with monkeypatch.context() as patched:
                begun = self.stop_after(patched, None)
                run(inputs, tmp_path / str(changed), block=1)
            assert begun[0] == [each[2] for each in stage._pieces(inputs["preprocess"], 1)][first]


class TestWorkers:
    def test_tables_made_again_under_their_path_are_loaded_again(self, inputs, tmp_path, monkeypatch):
        loaded = []
        load = Aligner.load
        monkeypatch.setattr(Aligner, "load", lambda path: loaded.append(path) or load(path))
        monkeypatch.setattr(stage, "give_back", lambda: None)  # as in a worker that serves on
        load_aligner.cache_clear()
        for made, expected in (("1", 1), ("1", 1), ("2", 2)):
            (inputs["train"] / "manifest.json").write_text(made, encoding="utf-8")
            run(inputs, tmp_path / f"out{made}")
            assert len(loaded) == expected

    def test_a_model_changed_under_its_path_is_loaded_again(self, inputs, tmp_path):
        run(inputs, tmp_path / "one")
        model = toy.toy_model()
        replace(model, weights=0 * model.weights).save(inputs["train"])
        assert run(inputs, tmp_path / "other").notes["links"] == 0

    def test_threads_load_one_model(self, inputs, tmp_path, monkeypatch):
        loaded = []
        load = Aligner.load

        def slow(path):
            loaded.append(path)
            time.sleep(0.1)
            return load(path)

        monkeypatch.setattr(Aligner, "load", slow)
        load_aligner.cache_clear()
        run(inputs, tmp_path / "out", block=1, jobs=2)
        assert loaded == [str(inputs["train"])]

    def test_a_worker_that_sees_another_model_says_so(self, inputs):
        task = LineBlock(
            *(str(inputs[name]) for name in ("preprocess", "train")), "0" * 16, "", 0, 1, 0, 2, 0, False
        )
        with pytest.raises(
            WorkError, match="a worker sees another model there than the run does; give a --workdir"
        ):
            align_lines(task)

    def test_threads_and_processes_by_jobs_and_memory(self, inputs, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(stage, "resident_memory", lambda: 500 << 20)
        found = []
        for jobs, memory in (
            (1, 2**30),
            (2, 2**30),
            (4, 2**30),
            (6, 2**30),
            (6, 2**34),
            (4, 700 << 20),
            (4, 1),
        ):
            with stages.context_of(STAGES["align"], tmp_path / "out", inputs) as context:
                context.jobs, context.memory = jobs, memory
                tasks = [LineBlock("", str(inputs["train"]), "", "", 0, 0, 0, 0, 0, False)]
                found.append(stage._threads(context, tasks))
        assert found == [1, 2, 4, 6, 0, 2, 1]
        told = [line for line in capsys.readouterr().err.split("\n") if "jobs" in line]
        assert told[0].endswith("align: 2 of 4 jobs: more do not go into --memory 700.0 MB")
        assert len(told) == 2

    def test_memory_here_does_not_count_on_a_cluster(self, inputs, tmp_path, monkeypatch, capsys):
        with stages.context_of(STAGES["align"], tmp_path / "out", inputs) as context:
            context.jobs, context.memory = 4, 1
            monkeypatch.setattr(context.engine, "remote", True)
            stage._threads(context, [LineBlock("", str(inputs["train"]), "", "", 0, 0, 0, 0, 0, False)])
        assert capsys.readouterr().err == ""

    def test_long_pairs_make_small_blocks(self, inputs, monkeypatch):
        monkeypatch.setattr(stage, "_EDGES_A_BLOCK", 40)
        stops = [stop for _, stop, _, _ in stage._pieces(inputs["preprocess"], 100)]
        shapes = Corpus.load(inputs["preprocess"] / "corpus").shapes()
        edges = [shapes[a:b].prod(axis=1) for a, b in pairwise([0, *stops])]
        assert stops[-1] == len(LINES)
        assert len(stops) > 2
        for block in edges:
            # the parts of a line stay together, whatever they have
            assert block.sum() <= 40 or block[:-3].sum() <= 40


class TestOddCorpora:
    @pytest.mark.parametrize("count", [0, 3])
    def test_nothing_to_align(self, tmp_path, count):
        model = toy.toy_model()
        empty = Corpus(Sentences.from_lists([]), Sentences.from_lists([]))
        stages.write_preprocess(tmp_path / "preprocess", model, empty, [], [[""] * count] * 2)
        model.save(tmp_path / "train")
        context = run(
            {name: tmp_path / name for name in ("preprocess", "lexicon", "train")}, tmp_path / "out"
        )
        assert (tmp_path / "out" / "links.txt").read_bytes() == b"\n" * count
        assert (tmp_path / "out" / "scores.txt").read_bytes() == b"\n" * count
        assert pq.read_table(tmp_path / "out" / "links.parquet").num_rows == 0
        assert context.notes["mean_score"] is None
        json.dumps(context.notes)
