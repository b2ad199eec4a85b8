"""Tokens, words and languages: named after the cases that were found."""

import re
from pathlib import Path

import numpy as np
import pytest

from align.data.vocabulary import Vocabulary
from align.text.processor import TextProcessor
from align.vectors.dictionary import read_dictionary
from align.vectors.vec import read_vec
from tests.align import toy
from tests.align.text.tokens import rows_of, tokens

ROOT = Path(__file__).resolve().parent.parent.parent

ELISIONS = """
fr | L'homme n'aura qu'un jour | L' homme n' aura qu' un jour
fr | jusqu'à lorsqu'il quelqu'un | jusqu' à lorsqu' il quelqu' un
fr | QU'ILS D'Abord | QU' ILS D' Abord
fr | d’action dʼaction | d’ action dʼ action
fr | l' union l'« essai » | l' union l' « essai »
fr | n&apos;aura l&#39;homme | n' aura l' homme
it | dell'Unione un'altra c'è quest'anno | dell' Unione un' altra c' è quest' anno
it | dell' isola | dell' isola
ca | l'home d'aigua | l' home d' aigua
el | απ' όλα γι' αυτό | απ' όλα γι' αυτό
"""


@pytest.mark.parametrize(("language", "text", "expected"), rows_of(ELISIONS))
def test_b01_a_clipped_word_is_a_token_and_nothing_is_escaped(language, text, expected):
    found = TextProcessor(language).process(text)
    assert found.surface == expected
    assert not any("&" in word for word in found.surface + found.analysis)


@pytest.mark.parametrize("text", ["l'homme n'aura", "d’« été » jusqu'à", "AT&T l'a", "dell'isola, po'"])
def test_b01_the_tokens_of_a_text_are_the_text(text):
    """Of any text: test_the_tokens_of_a_text_are_its_letters in tests/align/text/test_tokenize.py."""
    for language in ("fr", "it", "en"):
        assert "".join(tokens(language, text)) == text.replace(" ", "")


WHOLE = """
fr | aujourd'hui d'aujourd'hui AUJOURD'HUI | aujourd'hui d' aujourd'hui AUJOURD'HUI
fr | presqu'île prud'hommes O'Neill d'O'Neill | presqu'île prud'hommes O'Neill d' O'Neill
fr | grand'mère entr'acte rock’n’roll | grand'mère entr'acte rock’n’roll
fr | rock 'n' roll rock ’n’ roll ROCK 'N' ROLL | rock 'n' roll rock ’n’ roll ROCK 'N' ROLL
de | Rock 'n' Roll | Rock 'n' Roll
xx | rock 'n' roll | rock 'n' roll
en | rock 'n' roll O'Neill o'clock 'N' | rock 'n' roll O'Neill o'clock 'N'
en | 'tis so; ’Twas | 'tis so ; ’Twas
en | it's don't the Commission's d'Estaing | it's don't the Commission's d'Estaing
en | the members' 'quoted' 'now' words | the members ' ' quoted ' ' now ' words
it | un po' di O'Neill e Pepper's | un po' di O'Neill e Pepper's
nl | 's avonds zo'n auto's 't is | 's avonds zo'n auto's 't is
uk | п'ять | п'ять
"""


@pytest.mark.parametrize(("language", "text", "expected"), rows_of(WHOLE))
def test_b02_words_with_an_apostrophe_that_stay_whole(language, text, expected):
    assert tokens(language, text) == expected


@pytest.mark.parametrize("sign", "'’ʼ‘`´′＇")
def test_b03_every_sign_typed_for_an_apostrophe_is_one_in_look_up(sign):
    plain = TextProcessor("fr").process("d'action aujourd'hui presqu'île O'Neill")
    found = TextProcessor("fr").process(f"d{sign}action aujourd{sign}hui presqu{sign}île O{sign}Neill")
    assert found.analysis == plain.analysis
    # What people see is as it came.
    assert found.surface == [word.replace("'", sign) for word in plain.surface]


def test_b03_one_key_for_all_ways_to_write_a_word():
    processor = TextProcessor("fr")
    keys = {
        tuple(processor.process(text).analysis) for text in ("d'Été", "d’été", "D'E\u0301te\u0301", "dʼÉté")
    }
    assert keys == {("d'", "été")}


UNSPACED = """
zh | 选 文件,abc GPT4很好。 | 选 文 件 , abc GPT4 很 好 。
ja | ガラス窓をｶﾞ | ガ ラ ス 窓 を ｶﾞ
th | ที่12 น้ำ | ที่ 12 น้ำ
lo | ນ້ຳ | ນ້ຳ
"""


@pytest.mark.parametrize(("language", "text", "expected"), rows_of(UNSPACED))
def test_b05_without_a_segmenter_scripts_without_spaces_are_cut_by_signs(language, text, expected):
    """With one: tests/align/text/test_segmenters.py."""
    assert tokens(language, text) == expected


@pytest.mark.parametrize(("language", "text"), [("zh", "今天很好。"), ("th", "วันนี้ดี")])
def test_b05_a_script_without_spaces_wants_a_segmenter(preprocess, language, text):
    result = preprocess([text], ["Today is good ."], source=language, target="en")
    assert max(map(len, result.text[0][0].split(" "))) <= 4
    assert ["preprocess.source_tokenizer=jieba" in text for text in result.said.warnings] == [True]
    tokenized = preprocess(["今天 很好 。"], ["Today is good ."], source="zh", target="en", tokenized=True)
    assert tokenized.said.warnings == []


def test_b06_tokenized_text_is_split_on_spaces_alone(preprocess):
    """A tokenizer of one's own: test_a_function_of_one_s_own_gives_strings_or_spans in test_segmenters.py."""
    result = preprocess(
        ["sinh_viên l'ami  a-b, ", "\u2028"],
        ["étudiant du", "x"],
        tokenized=True,
        options={"profile": "expand"},
    )
    assert result.text[0] == ["sinh_viên l'ami a-b,", "\u2028"]
    assert result.analysis(0, 1) == ["étudiant", "de", "le"]
    assert result.spans(0) == [(0, 9), (10, 15), (17, 21)]
    settings = (result.folder / "text.json").read_text(encoding="utf-8")
    assert '"tokenizer": "rules"' in settings
    assert result.summary["tokenized"] is True


def test_b06_words_joined_by_the_user_stay_joined():
    assert tokens("vi", "sinh_viên học, đại_học") == ["sinh_viên", "học", ",", "đại_học"]


def test_b06_links_are_over_the_tokens_given(run, tmp_path):
    toy.toy_model().save(tmp_path / "toy")
    status, out, _ = run("links --model toy --tokenized -i p", p="the_big red\tle_grand rouge\n")
    assert (status, out) == (0, "1-1\n")


@pytest.mark.parametrize("written", ["ra để", "ra_để", "ra\xa0để", "RA ĐỂ"])
def test_b07_compound_words_of_a_file_of_vectors_are_found(tmp_path, written):
    """Rows of all kinds with spaces in their word: test_c04_... in tests/cases/test_vectors.py."""
    path = tmp_path / "v.vec"
    path.write_text(f"2 3\n{written} 1 2 3\nra 4 5 6\n", encoding="utf-8")
    vectors = read_vec(path, ["ra_để", "ra"])
    assert vectors.found.tolist() == [True, True]
    assert vectors.matrix[:, 0].tolist() == [1, 4]


APART = """
£9.8m | £ 9.8 m
£9.8M | £ 9.8 M
$5B, €100k. | $ 5 B , € 100 k .
€5bn 5€ 50EUR | € 5 bn 5 € 50 EUR
EUR5m USD1.55 | EUR 5 m USD 1.55
5M€ | 5 M €
5kg 1.5GB 9.8MW. | 5 kg 1.5 GB 9.8 MW .
10m² 3km² 2µm | 10 m² 3 km² 2 µm
20% 5°C | 20 % 5 ° C
100km/h | 100 km / h
3.5million 3,5Mio | 3.5 million 3,5 Mio
5pm | 5 pm
"""


@pytest.mark.parametrize("language", ["en", "fr", "de", "xx"])
@pytest.mark.parametrize("row", APART.strip().split("\n"))
def test_b10_numbers_and_units_are_alike_whether_written_together_or_apart(language, row):
    together, apart = row.split(" | ")
    assert tokens(language, together) == apart.split(" ")
    assert tokens(language, apart) == apart.split(" ")
    assert tokens(language, apart.replace(" ", "\u202f")) == apart.split(" ")


def test_b10_what_is_no_unit_stays_with_its_number():
    assert tokens("en", "1960s 24L 1st 109l 4x4 H1N1") == ["1960s", "24L", "1st", "109l", "4x4", "H1N1"]


def test_b10_numbers_written_in_two_ways_are_the_same_number(run, tmp_path):
    """The feature ``same_number``; its slow twin: tests/align/features/test_features.py."""
    toy.toy_model().save(tmp_path / "toy")
    status, out, _ = run("links --model toy -i p", p="£9.8m, 10,000 dog\t9,8 m £ , 10.000 chien\n")
    assert (status, out) == (0, "1-0 2-1 4-4 5-5\n")


def test_b12_a_word_is_looked_up_as_it_is_then_in_lower_case(tmp_path):
    """The policy is stated in align/vectors/vec.py, ``Lookup``; more of it: tests/align/vectors/."""
    vec, table = tmp_path / "v.vec", tmp_path / "d.tsv"
    vec.write_text("3 2\nPolish 1 0\npolish 2 0\nETAT 3 0\n", encoding="utf-8")
    vectors = read_vec(vec, ["polish", "etat"])
    assert vectors.matrix[:, 0].tolist() == [2, 3]
    assert (vectors.report.lookups["exact"], vectors.report.lookups["lower"]) == (1, 1)
    table.write_text("House\tMaison\nNoSuch\tmot\nhouse\tmaison\n", encoding="utf-8")
    counts = np.array([2, 1])
    words = Vocabulary(["house", "cat"], counts), Vocabulary(["maison", "mot"], counts)
    pairs, told = read_dictionary(table, *words)
    assert (pairs.tolist(), told["unknown"], told["duplicate"]) == ([[0, 0]], 1, 1)


def test_b12_data_of_users_are_not_asserted():
    """An ``assert`` may guard what the program itself made; readers of words and vectors have none."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "align/vectors").glob("*.py")}
    assert not [path.name for path, text in texts.items() if re.search(r"^\s*assert ", text, re.M)]


def test_b13_words_without_a_link_are_written_where_asked(run, tmp_path):
    toy.toy_model().save(tmp_path / "toy")
    rows = "the rde dog\tle chien noir\n\tle\nred\trouge\n"
    assert run("links --model toy -i p --unlinked u", p=rows)[:2] == (0, "0-0 2-1\n\n0-0\n")
    assert (tmp_path / "u").read_text() == "1- -2\n\n\n"
    assert "no link" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_b14_one_function_makes_the_keys_of_all_words():
    """Wherever a token is lower-cased, ``lookup_key`` does it; two more are no tokens' keys."""
    allowed = {
        *(("align/text/normalise.py", 1), ("align/vectors/vec.py", 2), ("align/text/sentences.py", 1)),
        # Tags of languages, hosts, names that stand on both sides of a shifted text, names of columns.
        *(("align/core/tags.py", 1), ("align/cli/arguments.py", 2), ("align/explorer/server.py", 1)),
        *(("align/model/aligner.py", 2), ("align/model/shipped.py", 2), ("align/cli/terminal.py", 1)),
        *(("align/data/anchors.py", 1), ("align/data/columns.py", 2)),
    }
    found = {
        (str(path.relative_to(ROOT)), len(re.findall(r"(?:\.|str\.)(?:lower|casefold)\b", text)))
        for path in (ROOT / "align").rglob("*.py")
        if re.search(r"\.(?:lower|casefold)\b", text := path.read_text(encoding="utf-8"))
    }
    assert found <= allowed, sorted(found - allowed)


def test_b14_the_same_word_in_any_case_and_form_is_one_word_everywhere(preprocess):
    forms = ["Été ÉTÉ été", "E\u0301TE\u0301"]
    result = preprocess(forms, ["summer", "SUMMER"], source="fr", target="en", gold=(["ÉtÉ"], ["Summer"]))
    assert [words.words for words in result.words] == [["été"], ["summer"]]
    assert result.words[0].counts.tolist() == [4]  # the gold pair is in the corpus
    assert TextProcessor("fr", tokenizer="spaces").process("ÉTÉ").analysis == ["été"]
