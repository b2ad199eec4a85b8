"""``python -m pipeline``: the same command as ``python run_pipeline.py``."""

import sys

from align.core.signals import end_silently

if __name__ == "__main__":
    end_silently()
    from pipeline.run.command import main

    sys.exit(main())
