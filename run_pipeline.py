"""Run Liaison's pipeline: ``python run_pipeline.py --stage all --config FILE.toml``."""

import sys

from pipeline.run.command import main

if __name__ == "__main__":
    sys.exit(main())
