"""Run Liaison's pipeline: ``python run_pipeline.py --stage all --config FILE.toml``."""

import sys

from pipeline.run.start import start

if __name__ == "__main__":
    sys.exit(start("pipeline.run.command"))
