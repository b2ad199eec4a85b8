"""``python -m align``."""

import sys

from align.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
