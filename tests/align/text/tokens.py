"""Tables of tokens, which several files of tests read."""

from align.text.processor import TextProcessor


def tokens(language, text):
    """The surface tokens of a text."""
    return TextProcessor(language).process(text).surface


def rows_of(table):
    """(language, text, tokens) of each row `language | text | tokens with a space between` of a table."""
    rows = [row.split(" | ") for row in table.strip().split("\n") if row[0] != "#"]
    return [(language, text, expected.split(" ")) for language, text, expected in rows]
