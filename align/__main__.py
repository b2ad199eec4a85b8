"""``python -m align``."""

import sys

from align.core.signals import end_silently

if __name__ == "__main__":
    end_silently()
    from align.cli.main import main

    sys.exit(main())
