"""What the tokenizer must know of each language: clipped words, abbreviations, one-word forms.

A language that is not listed is cut by the common rules alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from align.core.tags import comparable


@dataclass(frozen=True)
class Language:
    """Rules of one language, as words separated by spaces."""

    # Words that lose their last letter before another, without it, lower case (French l'homme: l' + homme).
    elided: str = ""
    elides_all: bool = False  # whether every word before an apostrophe is cut off (Italian)
    whole: str = ""  # forms with an apostrophe or a full stop at an end that stay one token
    clitics: str = ""  # what may stand alone after an apostrophe as one token (English 's)
    abbreviations: str = ""  # words that keep their full stop
    numbered: str = ""  # words that keep it before a number only (No. 5, but "he said no.")
    colon: bool = False  # whether a colon within a word belongs to it (Swedish EU:s)


# Titles and the like that any text may hold.
COMMON = Language(
    whole="'n'",  # rock 'n' roll, in any language
    abbreviations="Mr Mrs Ms Mme Mmes Mlle Messrs Dr Prof St Jr Sr Inc Ltd Corp vs cf etc al Hon Rev",
    numbered="No Nos Nr no nos nr Art art Vol vol p pp Fig fig",
)

LANGUAGES: dict[str, Language] = {
    "en": Language(
        whole="'tis 'twas",
        clitics="s re ve ll d m t",
        abbreviations="hon hons Rt rt Gen Col Capt Lt Sgt Sen Rep Gov Pres Supt Ste Mt Ave Blvd Dept Bros Co"
        " approx dept est viz ibid rev ca",
        numbered="Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec para paras par s ss ch c r cl sec",
    ),
    "fr": Language(
        elided="c d j l m n s t qu jusqu lorsqu puisqu quoiqu quelqu",
        abbreviations="M MM Me Mgr Drs Profs env hon Cie Sté éd ibid boul av apr",
        numbered="p pp art par chap al n nos",
    ),
    "it": Language(
        elided="l un dell all dall nell sull coll c d m t s v n gl quest quell sant bell nessun ciascun alcun"
        " mezz tutt anch dov com cos pover senz degl agl dagl negl sugl",
        elides_all=True,
        whole="po' mo' va' fa' da' di' sta' be' to' ca' a' de' ne' co' su'",
        abbreviations="Sig Sigg dott Dott ing avv Avv on On prof sig art ecc pag",
    ),
    "ca": Language(elided="l d s m n t", abbreviations="Sr Sra Srs pàg núm Dra"),
    "es": Language(
        abbreviations="Sr Sra Srta Sres Sras Dra Excmo Excma Ud Uds Vd Vds D Dª pág págs núm núms tel avda ej"
        " Gral",
        numbered="pág págs núm núms art arts cap",
    ),
    "pt": Language(
        abbreviations="Sr Sra Srs Sras Dra Exmo Exma Excia Ex Exa V pág págs tel av ed ex Eng",
        numbered="pág págs núm art arts cap n nº",
    ),
    "de": Language(
        abbreviations="Hr Fr Dr Prof bzw usw ca evtl ggf inkl exkl Abs Nr Mio Mrd Str sog vgl Dipl Ing Std"
        " Tsd zzgl allg bes ehem Hrsg Jh Kap lfd Ziff gem resp entspr max min",
        numbered="S Bd Nrn",
    ),
    "nl": Language(
        whole="'s 't 'n 'm 'k 'r",
        abbreviations="mevr dhr mr drs ir ing nl bijv bv enz evt incl excl jl nr resp tel zgn blz ca max min"
        " ll",
        numbered="art lid blz nr",
    ),
    "sv": Language(abbreviations="kl bl ca resp nr st ung tex dvs osv fr forts s", numbered="s", colon=True),
    "fi": Language(abbreviations="esim ns mm ks yms ym jne huom klo nro prof tri ent ko ao", colon=True),
    "da": Language(
        abbreviations="bl kl nr pkt stk ca jf evt fx hr fr inkl ekskl mio mia dvs osv mv pga maks"
    ),
    "et": Language(abbreviations="nt jne lk hr pr prof dr nr ca vt st sh"),
    "pl": Language(
        abbreviations="prof dr inż mgr np tzw tzn itd itp ul nr ust art pkt pl al ww br gen hab godz"
    ),
    "cs": Language(
        abbreviations="např tj tzv atd apod č čl odst str tzn resp p ing Ing MUDr JUDr PhDr mj event"
    ),
    "sk": Language(abbreviations="napr tj tzv atď apod č čl ods str tzn resp p ing Ing JUDr PhDr"),
    "sl": Language(abbreviations="npr itd ipd oz tj g št čl str prof mag dr sv"),
    "hu": Language(abbreviations="pl stb ill kb ún dr prof ld sz vö"),
    "lt": Language(abbreviations="pvz pan kt gerb str sk mln mlrd prof dr vad"),
    "lv": Language(abbreviations="piem utt plkst lpp prof dr milj"),
    "ro": Language(abbreviations="dl dna dlui dnei dlor nr art alin lit pag etc str prof"),
    "bg": Language(abbreviations="г гг проф др чл ал т стр вж напр лв млн млрд св"),
    "el": Language(
        elided="απ αφ γι κατ καθ μετ μεθ παρ υπ υφ επ εφ αντ ανθ δι σ μ τ θ ν αλλ ουτ ουδ κι",
        abbreviations="κ κκ δρ αρ αριθ άρθρ παρ σελ βλ κλπ κτλ δισ εκατ",
    ),
}


def rules_of(code: str) -> Language:
    """Return the rules of a language, those common to all included.

    Parameters
    ----------
    code : str
        Language code, as ``fr``, ``fr-CA`` or ``FR``.
    """
    own = LANGUAGES.get(base_code(code), Language())
    return replace(
        own,
        whole=f"{COMMON.whole} {own.whole}".strip(),
        abbreviations=f"{COMMON.abbreviations} {own.abbreviations}".strip(),
        numbered=f"{COMMON.numbered} {own.numbered}".strip(),
    )


def base_code(code: str) -> str:
    """Return the language of a code without region or script, lower case (``pt-BR``: ``pt``)."""
    return comparable(code).split("-")[0]
