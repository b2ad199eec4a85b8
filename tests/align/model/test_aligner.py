"""The aligner: links over the user's tokens, reasons that sum up, long and odd input, threads."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import align
from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import PairBlock
from align.learning.calibration import of_translation
from align.model.aligner import Aligner
from align.model.alignments import Alignments
from align.model.pairs import SideText, located
from tests.align import toy

SOURCE, TARGET = "The house is red .", "La maison est rouge ."


@pytest.fixture(scope="module")
def model():
    return toy.toy_model()


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "toy")
    return tmp_path / "toy"


@pytest.fixture
def aligner(folder):
    return Aligner.load(folder)


def own_tokenizer(text):
    return text.split()


def of(model):
    return Aligner(model, SideText(model.text["source"]), SideText(model.text["target"]))


class TestLinks:
    def test_the_package_offers_it(self):
        assert align.Aligner is Aligner
        with pytest.raises(AttributeError, match="has no attribute 'Aligned'"):
            _ = align.Aligned

    def test_a_text(self, aligner):
        assert aligner.align("The red house.", "La maison rouge.") == [(1, 2), (2, 1), (3, 3)]

    def test_tokens_are_taken_as_they_are(self, aligner):
        source = ["House", "of the", "red"]
        assert aligner.align(source, ["rouge", "maison", "x"]) == [(0, 1), (2, 0)]
        assert aligner.align(tuple(source), "rouge maison") == [(0, 1), (2, 0)]

    @pytest.mark.parametrize("odd", [["House", 1], [None], [b"House"]])
    def test_what_is_no_text_is_no_token(self, aligner, odd):
        with pytest.raises(InputError, match="is no token; give a text, or a list of texts"):
            aligner.align(odd, "maison")

    def test_links_are_over_surface_tokens(self, aligner):
        """*du* is *de le* to the statistics; of and the are both linked to it."""
        assert aligner.align("house of the dog", "maison du chien") == [(0, 0), (1, 1), (2, 1), (3, 2)]
        assert aligner.align("house of the dog", ["maison", "du", "chien"]) == [
            (0, 0),
            (1, 1),
            (2, 1),
            (3, 2),
        ]

    def test_two_links_between_the_same_tokens_are_one(self):
        parents = np.array([0, 1, 1], dtype=np.int32)
        ids = np.array([2, 7, 1], dtype=np.int32)  # house of the - maison de le, the last two one word each
        sentences = Sentences(ids, np.array([0, 3]), parents)
        found = of(toy.toy_model()).align_block(PairBlock(Corpus(sentences, sentences)))
        assert found.pairs(0) == [(0, 0), (1, 1)]
        separate = of(toy.toy_model()).align_block(
            PairBlock(Corpus(Sentences.from_lists([ids]), Sentences.from_lists([ids])))
        )
        assert found.score[1] == separate.score[1:].max()
        assert found.mass[0] == pytest.approx(separate.mass[0])

    def test_many_pairs_give_what_single_ones_give(self, aligner):
        pairs = [(SOURCE, TARGET), ("", ""), ("I see", "Je vois"), ("a", ""), (["dog"], ["chien"])] * 150
        assert aligner.align_many(pairs) == [aligner.align(*pair) for pair in pairs]
        assert aligner.align_many([]) == []

    @pytest.mark.parametrize(
        "odd",
        [
            ("Zyx saw the house\nof Zyx\u2028and \ud800", "Zyx \ufeffvois la maison de \ud800 zyx"),
            (" ".join(["the red house ."] * 150), " ".join(["le maison rouge ."] * 150)),
            (["the house"], "la maison"),
        ],
    )
    def test_texts_cut_in_one_go_give_what_single_ones_give(self, aligner, odd):
        """Unknown words, what is no text, pairs that are split, tokens among the texts."""
        pairs = [(SOURCE, TARGET), odd, ("the member 's dog", "le chien du membre")] * 2
        assert aligner.align_many(pairs) == [aligner.align(*pair) for pair in pairs]

    def test_words_that_were_remembered_are_forgotten_in_time(self, aligner, monkeypatch):
        monkeypatch.setattr("align.text.batch.REMEMBERED", 3)
        for word in ("house", "dog", "member", "house"):
            pairs = [(f"the {word} x{word}", f"le {word} x{word}")]
            assert aligner.align_many(pairs) == [aligner.align(*pairs[0])]

    @pytest.mark.parametrize("count", [255, 256, 257, 1500])
    def test_many_pairs_keep_their_order(self, aligner, count):
        """They are cut to words in one thread and linked in others, some hundred at a time."""
        given = [("the red house", "le maison rouge"), ("I see", "je vois"), ("x", ""), ("dog", "chien")]
        known = [aligner.align(*pair) for pair in given]
        places = [(place * place + place // 7) % len(given) for place in range(count)]
        assert aligner.align_many(given[place] for place in places) == [known[place] for place in places]

    def test_a_fault_far_on_is_told_by_its_place(self, aligner):
        pairs = [("I see", "je vois")] * 700 + [("alone",)]
        with pytest.raises(TypeError, match="700"):
            aligner.align_many(pairs)

    def test_scores_are_the_confidences_of_the_links(self, aligner):
        scores, links = aligner.scores(SOURCE, TARGET), aligner.align(SOURCE, TARGET)
        assert len(scores) == len(links)
        assert all(0 <= score <= 1 for score in scores)
        explained = aligner.explain(SOURCE, TARGET)["links"]
        assert [link["confidence"] for link in explained] == pytest.approx(scores, abs=1e-12)

    def test_bias_moves_precision_against_recall(self, aligner):
        counts = [len(aligner.align(SOURCE, TARGET, bias=bias)) for bias in (-9.0, -1.0, 0.0, 1.0, 9.0)]
        assert counts[0] == 0
        assert counts == sorted(counts)
        assert counts[-1] == 5

    def test_unknown_names_are_linked_by_their_spelling(self, aligner):
        assert (1, 1) in aligner.align("see Zanzibar 1,000", "vois Zanzibar 1.000")
        assert (2, 2) in aligner.align("see Zanzibar 1,000", "vois Zanzibar 1.000")

    @pytest.mark.parametrize(
        ("source", "target"),
        [
            ("", ""), ("   ", "x"), ([], []), ([], ["x"]), ("x", ""), ([""], ["", ""]), ("\ufeff", "\u2028"),
            (["\ud800"], ["\udc00x"]), ("\u0301", "́"), ("👍" * 50, "x"), (["a b", "\t"], ["c"]),
        ],
    )  # fmt: skip
    def test_odd_input_never_fails(self, aligner, source, target):
        for j, k in aligner.align(source, target):
            assert j >= 0
            assert k >= 0
        json.dumps(aligner.explain(source, target))

    def test_a_pair_without_a_place_to_split_is_refused_when_too_long(self, aligner):
        with pytest.raises(InputError, match="2000 and 3000 words without a place to split"):
            aligner.align(["a"] * 2000, ["b"] * 3000)

    def test_threads_may_share_an_aligner(self, aligner):
        pairs = [(f"I see {i} dog", f"Je vois {i} chien") for i in range(60)]
        expected = [aligner.align(*pair) for pair in pairs]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda pair: aligner.align(*pair), pairs)) == expected


class TestExplain:
    def test_contributions_sum_to_the_score(self, aligner):
        explained = aligner.explain("House of the dog", "maison du chien", bias=0.3)
        assert explained["source"] == ["House", "of", "the", "dog"]
        assert explained["target"] == ["maison", "du", "chien"]
        assert len(explained["links"]) == 4
        tokens = aligner.tokens("House of the dog", "maison du chien")
        translated = of_translation(aligner.align_tokens([tokens], bias=0.3).sentence_scores())
        for link in explained["links"]:
            assert sum(link["contributions"].values()) == pytest.approx(link["score"], abs=1e-9)
            assert link["contributions"]["bias"] == -1.0
            assert set(link["contributions"]) <= set(toy.WEIGHTS)
            own = 1 / (1 + np.exp(-(1.5 * link["score"] + 0.25)))
            assert link["confidence"] == pytest.approx(own * translated)

    def test_it_is_json(self, aligner):
        explained = aligner.explain(SOURCE, TARGET)
        assert json.loads(json.dumps(explained)) == explained
        assert list(explained["links"][0]) == ["source", "target", "score", "confidence", "contributions"]

    def test_the_links_are_those_of_align(self, aligner):
        for bias in (-1.0, 0.0, 2.0):
            links = aligner.explain(SOURCE, TARGET, bias=bias)["links"]
            assert [(link["source"], link["target"]) for link in links] == aligner.align(
                SOURCE, TARGET, bias=bias
            )


def test_links_of_rare_words_are_trusted_less():
    model = toy.toy_model()
    words = model.resources.target_vocabulary.words
    rare = words.index("grand")
    counts = model.resources.target_vocabulary.counts.copy()
    counts[rare:] = 1
    resources = replace(model.resources, target_vocabulary=Vocabulary(words, counts))
    aligner = of(replace(model, resources=resources))
    pair = "The dog is big zyx .", "Le chien est grand zyx ."
    explained = aligner.explain(*pair)["links"]
    translated = of_translation(aligner.align_tokens([aligner.tokens(*pair)]).sentence_scores())
    assert {(link["source"], link["target"]) for link in explained} >= {(0, 0), (3, 3), (4, 4)}
    for link in explained:
        word = pair[1].lower().split()[link["target"]]
        shift = 0 if word in words[:rare] else -0.75
        own = 1 / (1 + np.exp(-(1.5 * link["score"] + 0.25 + shift)))
        assert link["confidence"] == pytest.approx(own * translated)
    assert [link["confidence"] for link in explained] == aligner.scores(*pair)


class TestSeveralLinks:
    # both "dog" would be linked to "chien": the second costs the target word 0.25
    SOURCE, TARGET = "the dog dog is big .", "le chien est grand ."

    def test_a_word_takes_a_second_link_where_it_is_worth_its_cost(self, model):
        one, two = of(model), of(toy.toy_model(fertility=2))
        assert len(one.align(self.SOURCE, self.TARGET)) == 5
        links = two.align(self.SOURCE, self.TARGET)
        assert links == [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (5, 4)]
        assert len(two.scores(self.SOURCE, self.TARGET)) == 6
        weights = two.model.weights.copy()
        weights[two.model.names.index("extra.target.always")] = 100.0
        dear = of(replace(two.model, weights=weights))
        assert dear.align(self.SOURCE, self.TARGET) == one.align(self.SOURCE, self.TARGET)

    def test_its_weaker_link_carries_the_cost(self, folder, tmp_path):
        toy.toy_model(fertility=2).save(tmp_path / "fertile")
        aligner = Aligner.load(tmp_path / "fertile")
        explained = aligner.explain(self.SOURCE, self.TARGET)
        tokens = aligner.tokens(self.SOURCE, self.TARGET)
        translated = of_translation(aligner.align_tokens([tokens]).sentence_scores())
        paid = [link["contributions"].get("fertility", 0.0) for link in explained["links"]]
        assert sorted(paid) == pytest.approx([-0.25, 0, 0, 0, 0, 0])
        assert paid[1] + paid[2] == pytest.approx(-0.25)
        for link in explained["links"]:
            assert sum(link["contributions"].values()) == pytest.approx(link["score"], abs=1e-9)
            own = 1 / (1 + np.exp(-(1.5 * link["score"] + 0.25)))
            assert link["confidence"] == pytest.approx(own * translated)
        found = [(link["source"], link["target"]) for link in explained["links"]]
        assert found == aligner.align(self.SOURCE, self.TARGET)
        scores = aligner.scores(self.SOURCE, self.TARGET)
        assert scores == pytest.approx([link["confidence"] for link in explained["links"]])


class TestTokenizers:
    def test_a_function_of_ones_own(self, folder):
        aligner = Aligner.load(folder, tokenizer=own_tokenizer)
        tokens = aligner.tokens("The house.", "La maison.")
        assert tokens[0].surface == ["The", "house."]
        assert tokens[0].spans == [(0, 3), (4, 10)]

    def test_spans(self, folder):
        aligner = Aligner.load(folder, tokenizer=lambda text: [(0, 3), (4, 9)])
        assert aligner.align("The house", "Une house") == [(1, 1)]

    def test_names_and_one_for_each_side(self, folder):
        aligner = Aligner.load(folder, tokenizer=("spaces", None))
        tokens = aligner.tokens("the house.", "la maison.")
        assert (tokens[0].surface, tokens[1].surface) == (["the", "house."], ["la", "maison", "."])

    def test_tokens_that_are_not_in_the_text(self, folder):
        aligner = Aligner.load(folder, tokenizer=lambda text: ["other"])
        with pytest.raises(
            InputError, match="tokenizer: 'other' is no piece of 'The house' from character 0 on"
        ):
            aligner.align("The house", "x")
        with pytest.raises(InputError, match="give tokens of the text in order"):
            located("ab", [(0, 1), (0, 2)])

    def test_code_that_a_model_names_is_not_run(self, model, tmp_path):
        settings = {"language": "en", "profile": "plain", "tokenizer": "os:getcwd"}
        replace(model, text={"source": settings, "target": settings}).save(tmp_path)
        with pytest.raises(InputError, match="tokenizer 'os:getcwd' is code that the model asks for"):
            Aligner.load(tmp_path)
        assert Aligner.load(tmp_path, tokenizer="spaces").align("house", "maison") == [(0, 0)]

    def test_an_unknown_tokenizer(self, folder):
        with pytest.raises(InputError, match="no such tokenizer"):
            Aligner.load(folder, tokenizer="telepathy")


class TestBlocks:
    def corpus(self, count=40):
        generator = np.random.default_rng(0)
        sides = []
        for _ in range(2):
            lengths = generator.integers(0, 9, count)
            sides.append(Sentences.from_lists([generator.integers(0, 12, length) for length in lengths]))
        return PairBlock(Corpus(*sides))

    def test_a_block_gives_what_its_pairs_give(self, model, monkeypatch):
        aligner, corpus = of(model), self.corpus()
        whole = aligner.align_block(corpus)
        monkeypatch.setattr("align.features.groups.EDGES_AT_A_TIME", 50)
        for name in ("offsets", "source", "target", "score", "confidence", "mass", "weight"):
            assert np.array_equal(getattr(aligner.align_block(corpus), name), getattr(whole, name)), name
        parts = Alignments.join(
            [aligner.align_block(corpus.block(*ends)) for ends in pairwise((0, 7, 7, 40))]
        )
        assert np.array_equal(parts.score, whole.score)
        assert np.array_equal(parts.offsets, whole.offsets)

    def test_no_pairs(self, model):
        found = of(model).align_block(self.corpus(0))
        assert (len(found), found.offsets.tolist(), len(found.score)) == (0, [0], 0)

    def test_links_lie_inside_their_pairs(self, model):
        block = self.corpus()
        corpus = block.corpus
        found = of(model).align_block(block, bias=2.0)
        for pair, (n, m) in enumerate(zip(corpus.source.lengths(), corpus.target.lengths(), strict=True)):
            links = found.pairs(pair)
            assert all(0 <= j < n and 0 <= k < m for j, k in links)
            assert links == sorted(set(links))

    def test_sentence_scores(self, model):
        aligner = of(model)
        good = aligner.align_block(PairBlock(Corpus(*(Sentences.from_lists([[2, 3, 4]]) for _ in range(2)))))
        half = aligner.align_block(
            PairBlock(Corpus(Sentences.from_lists([[2, 3, 4, 8, 9, 6]]), Sentences.from_lists([[2, 3, 4]])))
        )
        none = aligner.align_block(
            PairBlock(Corpus(Sentences.from_lists([[2], []]), Sentences.from_lists([[3], []])))
        )
        assert 0.9 < good.sentence_scores()[0] <= 1
        assert half.sentence_scores()[0] < 0.7
        assert none.sentence_scores().tolist() == [0.0, 0.0]

    def test_parts_of_a_line_are_put_together(self):
        parts = Alignments.build(
            np.array([0, 1, 1, 2]),
            np.array([0, 2, 2, 0]),
            np.array([1, 3, 3, 0]),
            np.array([1.0, 2.0, 5.0, 3.0]),
            np.array([0.5, 0.6, 0.9, 0.7]),
            np.array([1.0, 3.0, 1.4]),
            np.array([4.0, 6.0, 2.0]),
        )
        assert parts.pairs(1) == [(2, 3)]
        assert parts.score.tolist() == [1.0, 5.0, 3.0]
        lines = parts.merged(np.array([1, 1, 3]), 5)
        assert [lines.pairs(line) for line in range(5)] == [[], [(0, 1), (2, 3)], [], [(0, 0)], []]
        assert lines.weight.tolist() == [0, 10, 0, 2, 0]
        assert lines.mass.tolist() == pytest.approx([0, 4, 0, 1.4, 0])
        assert lines.sentence_scores().tolist() == pytest.approx([0, 0.4, 0, 0.7, 0])
