"""``python -m pipeline``: the same command as ``python run_pipeline.py``."""

import sys

from pipeline.run.start import start

if __name__ == "__main__":
    sys.exit(start("pipeline.run.command"))
