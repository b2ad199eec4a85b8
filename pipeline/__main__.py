"""``python -m pipeline``: the same command as ``python run_pipeline.py``."""

import sys

from pipeline.run.command import main

if __name__ == "__main__":
    sys.exit(main())
