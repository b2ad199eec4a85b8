"""Contractions and clipped words with the words they stand for, by language.

A key (see :func:`align.text.normalise.lookup_key`) is listed with the words it is made of. French follows
the rewriting of the Hansards gold standard of 2003 [1]_, where *every* ``des`` is ``de les`` and every
``s'`` is ``se``, whatever the sense: the rules are for statistics, not for reading.

References
----------
.. [1] R. Mihalcea and T. Pedersen, "An Evaluation Exercise for Word Alignment", HLT-NAACL 2003 workshop.
"""

from __future__ import annotations

from typing import NamedTuple


class Context(NamedTuple):
    """A rule for keys in a row, each one of a set: the analysis of each; None leaves it as it is."""

    keys: tuple[frozenset[str], ...]
    readings: tuple[tuple[str, ...] | None, ...]


def _table(rows: str) -> dict[str, tuple[str, ...]]:
    """Read ``key=word word`` rows separated by commas or line ends."""
    pairs = (row.split("=") for row in rows.replace("\n", ",").split(",") if row.strip())
    return {key.strip(): tuple(words.split()) for key, words in pairs}


def _paired(prefixes: str, articles: str) -> dict[str, tuple[str, ...]]:
    """Read ``short:word`` prefixes and ``ending:article`` endings and put each with each."""
    heads = [prefix.split(":") for prefix in prefixes.split()]
    tails = [article.split(":") for article in articles.split()]
    return {head + tail: (word, article) for head, word in heads for tail, article in tails}


# One sign for what is typed in several ways; the gold has one kind of quotes and spells % out in English.
QUOTES = {quote: ('"',) for quote in ("\u201c", "\u201d", "\u201e", "\u201f")}

_ENGLISH = _table("""
    can't=cannot, won't=will not, shan't=shall not, ain't=is not, let's=let 's,
    'tis=it is, 'twas=it was, %=per cent, percent=per cent, gonna=going to, wanna=want to
""") | {
    f"{word}'s": (word, "is")
    for word in (
        *("it", "he", "she", "that", "this", "there", "here", "everything", "something"),
        *("what", "who", "where", "how", "when", "why"),
    )
}

# Endings of English words, in the order tried. What is left of 's is the possessive.
ENGLISH_ENDINGS = {
    "n't": "not",
    "'re": "are",
    "'ve": "have",
    "'ll": "will",
    "'m": "am",
    "'d": "would",
    "'s": "'s",
}

_FRENCH = _table("""
    l'=le, d'=de, c'=ce, j'=je, m'=me, n'=ne, s'=se, t'=te, qu'=que, jusqu'=jusque, lorsqu'=lorsque,
    puisqu'=puisque, quoiqu'=quoique, quelqu'=quelque, presqu'=presque,
    du=de le, des=de les, au=à le, aux=à les, dudit=de ledit, desdits=de lesdits, desdites=de lesdites,
    audit=à ledit, auxdits=à lesdits, auxdites=à lesdites, duquel=de lequel, desquels=de lesquels,
    desquelles=de lesquelles, auquel=à lequel, auxquels=à lesquels, auxquelles=à lesquelles,
    aujourd'hui=aujourd' hui
""")

_ITALIAN = (
    _paired("de:di a:a da:da ne:in su:su", "l:il llo:lo lla:la i:i gli:gli lle:le")
    | _table("col=con il, coi=con i, pel=per il, pei=per i, l'=lo, dell'=di lo, all'=a lo, dall'=da lo")
    | _table("nell'=in lo, sull'=su lo, coll'=con lo, c'=ci, d'=di, un'=una, quest'=questo, quell'=quello")
)

_PORTUGUESE = (
    _paired("d:de n:em", "o:o a:a os:os as:as")
    | _paired("d:de n:em", "este:este esta:esta estes:estes estas:estas isto:isto esse:esse essa:essa")
    | _paired("d:de n:em", "esses:esses essas:essas isso:isso aquele:aquele aquela:aquela")
    | _paired("d:de n:em", "aqueles:aqueles aquelas:aquelas aquilo:aquilo um:um uma:uma uns:uns umas:umas")
    | _paired("d:de n:em", "ele:ele ela:ela eles:eles elas:elas")
    | _table("ao=a o, aos=a os, à=a a, às=a as, pelo=por o, pela=por a, pelos=por os, pelas=por as")
    | _table("àquele=a aquele, àquela=a aquela, àqueles=a aqueles, àquelas=a aquelas, àquilo=a aquilo")
)
del _PORTUGUESE["nos"]  # as often the pronoun "us"
_SPANISH = _table("del=de el, al=a el, conmigo=con mí, contigo=con ti, consigo=con sí")
_CATALAN = _table("""
    del=de el, dels=de els, al=a el, als=a els, pel=per el, pels=per els,
    l'=el, d'=de, s'=es, m'=em, t'=et, n'=en
""")
_GERMAN = _table("""
    im=in dem, ins=in das, am=an dem, ans=an das, vom=von dem, zum=zu dem, zur=zu der, beim=bei dem,
    aufs=auf das, durchs=durch das, fürs=für das, ums=um das, vors=vor das, übers=über das, unters=unter das,
    hinters=hinter das, vorm=vor dem, überm=über dem, unterm=unter dem, hinterm=hinter dem
""")
_GREEK = _paired("στ:σε", "ο:το ον:τον η:τη ην:την α:τα ις:τις ους:τους ου:του ης:της ων:των") | _table(
    "απ'=από, γι'=για, κατ'=κατά, μετ'=μετά, παρ'=παρά, σ'=σε, μ'=με"
)

CONTRACTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "en": _ENGLISH,
    "fr": _FRENCH,
    "it": _ITALIAN,
    "pt": _PORTUGUESE,
    "es": _SPANISH,
    "ca": _CATALAN,
    "de": _GERMAN,
    "el": _GREEK,
}

_DASH = frozenset("-")
CONTEXTS: dict[str, tuple[Context, ...]] = {
    "fr": (
        # The t between a verb and its subject (va-t-il) is sound, no word.
        Context(
            (_DASH, frozenset("t"), _DASH, frozenset(["il", "elle", "on", "ils", "elles"])),
            ((), (), (), None),
        ),
        # au-dessus, au-delà: a compound, whose parts stay.
        Context((frozenset(["au"]), _DASH), (("au",), None)),
        Context((frozenset(["p."]), frozenset(["100"])), (("%",), ())),
    ),
}
