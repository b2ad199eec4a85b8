"""``python -m align``."""

import sys

from align.cli.starting import start

if __name__ == "__main__":
    sys.exit(start("align.cli.main", by_command=True))
