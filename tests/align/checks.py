"""What tests of several rooms check in the same way."""

import re

import numpy as np
import pytest

from align.core.errors import InputError


def refuses_damage(load, path, content, told):
    """A folder of arrays is refused once one of them is this: an array, bytes, or None where it is gone."""
    if content is None:
        path.unlink()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    with pytest.raises(InputError, match=f"{re.escape(path.name)}: {told}"):
        load(path.parent)
