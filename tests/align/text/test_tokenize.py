"""The rules tokenizer, by the cases that have broken others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.text.languages import LANGUAGES
from align.text.processor import TextProcessor
from align.text.tokenize import rules
from tests.align.text.tokens import rows_of, tokens

TOKENS = """
# Abbreviations keep their full stop.
en | Mr. Speaker, the hon. member. | Mr. Speaker , the hon. member .
en | at 2 p.m. in the U.S. e.g. here | at 2 p.m. in the U.S. e.g. here
en | No. 5, but he said no. Yes (No. 3) | No. 5 , but he said no . Yes ( No. 3 )
en | St. John's, John N. Turner | St. John's , John N . Turner
fr | M. Prodi, art. 5 de l'art. Puis | M. Prodi , art. 5 de l' art . Puis
de | z.B. Nr. 5, diese Art. Dr. X | z.B. Nr. 5 , diese Art . Dr. X
sv | kl. 12 t.ex. bl.a. | kl. 12 t.ex. bl.a.
# Numbers.
en | $1,000.50 10 000 .5 70% | $ 1,000.50 10 000 .5 70 %
fr | 1,5% 10\xa0000 | 1,5 % 10 000
en | 1960s 24L CO2 1st 3.14. | 1960s 24L CO2 1st 3.14 .
en | C-19 1984-85 55(1) a/b | C - 19 1984 - 85 55 ( 1 ) a / b
ar | ١٢٫٥ | ١٢٫٥
# Signs one by one, runs of dots and dashes whole.
en | He said: "no"... (really?!) -- | He said : " no " ... ( really ? ! ) --
en | ``We'' […] | `` We '' [ … ]
# Addresses.
en | see http://x.org/a?b=c. or a.b@x.org, www.x.eu/y | see http://x.org/a?b=c . or a.b@x.org , www.x.eu/y
# Colons within words.
sv | EU:s plan: nu | EU:s plan : nu
fi | EU:n | EU:n
# Letters and their marks stay together.
hi | हिन्दी में क्या है। | हिन्दी में क्या है ।
ar | السَّلامُ عليكم، | السَّلامُ عليكم ،
el | Κύριε Πρόεδρε, τι; | Κύριε Πρόεδρε , τι ;
bg | по-голяма чл. 5 | по - голяма чл. 5
ko | 한국어 문장은. | 한국어 문장은 .
en | 👩‍💻 👍🏽 ok | 👩‍💻 👍🏽 ok
"""


@pytest.mark.parametrize(("language", "text", "expected"), rows_of(TOKENS))
def test_tokens(language, text, expected):
    """More rows, by case: tests/cases/test_words.py."""
    assert tokens(language, text) == expected


SENTENCES = {
    "bg": ("Г-н председател, чл. 5 е приет.", ["председател", ",", "чл.", "5", "приет", "."]),
    "cs": ("Pane předsedo, čl. 5 byl přijat.", ["předsedo", ",", "čl.", "5", "."]),
    "da": ("Hr. formand, bl.a. 5 % er vedtaget.", ["formand", ",", "bl.a.", "5", "%", "."]),
    "de": ("Herr Präsident, z.B. Nr. 5 ist angenommen.", ["Präsident", ",", "z.B.", "Nr.", "5", "."]),
    "el": ("Κύριε Πρόεδρε, π.χ. το άρθρο 5.", ["Πρόεδρε", ",", "π.χ.", "5", "."]),
    "en": ("Mr. President, it's No. 5.", ["Mr.", "President", ",", "it's", "No.", "5", "."]),
    "es": ("Sr. Presidente, ¿es el art. 5?", ["Sr.", ",", "¿", "art.", "5", "?"]),
    "et": ("Härra president, nt artikkel 5.", ["president", ",", "nt", "5", "."]),
    "fi": ("Arvoisa puhemies, EU:n 5 artikla.", ["puhemies", ",", "EU:n", "5", "."]),
    "fr": ("M. le Président, l'art. 5 d'abord.", ["M.", ",", "l'", "art.", "5", "d'", "abord", "."]),
    "hu": ("Elnök úr, pl. az 5. cikk.", ["úr", ",", "pl.", "5", "."]),
    "it": ("Sig. Presidente, l'art. 5 dell'accordo.", ["Sig.", ",", "l'", "art.", "5", "dell'", "accordo"]),
    "lt": ("Pone pirmininke, 5 str. priimtas.", ["pirmininke", ",", "5", "str.", "."]),
    "lv": ("Priekšsēdētāja kungs, plkst. 5.", ["kungs", ",", "plkst.", "5", "."]),
    "nl": ("Mijnheer de voorzitter, zo'n 5 foto's.", ["voorzitter", ",", "zo'n", "5", "foto's", "."]),
    "pl": ("Panie przewodniczący, np. art. 5.", ["przewodniczący", ",", "np.", "art.", "5", "."]),
    "pt": ("Sr. Presidente, o art. 5 fá-lo.", ["Sr.", ",", "art.", "5", "fá", "-", "lo", "."]),
    "ro": ("Dle președinte, art. 5 s-a votat.", ["președinte", ",", "art.", "5", "s", "-", "a", "."]),
    "sk": ("Pán predseda, napr. čl. 5.", ["predseda", ",", "napr.", "čl.", "5", "."]),
    "sl": ("Gospod predsednik, npr. čl. 5.", ["predsednik", ",", "npr.", "čl.", "5", "."]),
    "sv": ("Herr talman, t.ex. EU:s 5 mål.", ["talman", ",", "t.ex.", "EU:s", "5", "."]),
}


@pytest.mark.parametrize("language", sorted(SENTENCES))
def test_the_languages_of_the_parliament(language):
    text, expected = SENTENCES[language]
    found = iter(tokens(language, text))
    assert all(token in found for token in expected), tokens(language, text)


@pytest.mark.parametrize("language", sorted(SENTENCES))
def test_the_expression_for_text_without_marks_is_the_same_as_the_whole_one(language, monkeypatch):
    texts = [text for text, _ in SENTENCES.values()]
    known = [rules(language).cut(text, False) for text in texts]
    monkeypatch.setattr("align.text.tokenize._has_marks", lambda chunk: True)
    assert [rules(language).cut(text, False) for text in texts] == known


@given(
    st.sampled_from([*sorted(LANGUAGES), "xx"]),
    st.text(
        st.sampled_from("aLdnNoMrst éàß0129'’`-.,:;%$£€()«»\"“”/@&*#_ हि्中ไทยか한🙂\u200d\ufe0f\u0301"),
        max_size=25,
    ),
)
def test_the_tokens_of_a_text_are_its_letters(language, text):
    found = TextProcessor(language).process(text)
    assert "".join(found.surface) == text.replace(" ", "") or "\u0301" in text
    assert all(token and " " not in token for token in found.surface)
    ends = [stop for _, stop in found.spans]
    assert all(start >= before for (start, _), before in zip(found.spans[1:], ends, strict=False))


def test_a_chunk_is_cut_alike_with_and_without_a_number_unless_it_is_numbered():
    cutter = rules("en")
    assert [cutter.numbered(chunk) for chunk in ("(No.", "no", "Mr.")] == [True, False, False]
    assert cutter.cut("(No.", True) == ["(", "No."]
    assert cutter.cut("(No.", False) == ["(", "No", "."]


def test_codes_of_regions_are_their_language():
    assert tokens("fr-CA", "l'eau") == tokens("FR_ca", "l'eau") == ["l'", "eau"]


@pytest.mark.parametrize(("side", "share"), [("en", 0.993), ("fr", 0.985)])
def test_tokens_are_the_words_of_europarl_vectors(side, share, real_data):
    """What vectors trained on Europarl know: all but rare words, and M. and aujourd'hui, kept whole here."""
    import gzip
    import tarfile

    with gzip.open(
        real_data(f"vectors/europarl.{side}.vec.gz"), "rt", encoding="utf-8", newline="\n"
    ) as rows:
        next(rows)
        known = {row.partition(" ")[0] for row in rows}
    processor = TextProcessor(side)
    found = total = 0
    with tarfile.open(real_data("europarl/fr-en.tgz")) as archive:
        lines = archive.extractfile(f"europarl-v7.fr-en.{side}")
        for line, _ in zip(lines, range(5000), strict=False):
            keys = processor.process(line.decode("utf-8").rstrip("\n")).analysis
            total += len(keys)
            found += sum(key in known for key in keys)
    assert found > share * total
