"""Failures are told in one line."""

import io
import pickle

import pytest

from align.core.errors import InputError, WorkError
from align.data.tmx import read_tmx


@pytest.mark.parametrize("kind", [InputError, WorkError])
def test_what_a_library_says_in_several_lines_is_one(kind):
    error = kind("file:3: malformed XML (CData section not finished\n<body>\r\n  <tu>\n); mend it\n")
    assert str(error) == "file:3: malformed XML (CData section not finished <body> <tu> ); mend it"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_section_that_does_not_end_is_told_in_one_line():
    text = b"<tmx>\n<body>\n<tu><tuv xml:lang='en'><seg><![CDATA[The house\n</seg></tuv></tu></body></tmx>"
    with pytest.raises(InputError, match="malformed XML") as found:
        list(read_tmx(io.BytesIO(text), "en", "fr"))
    assert "\n" not in str(found.value)
