"""Run Liaison's pipeline: ``python run_pipeline.py --stage all --config FILE.toml``."""

import sys

from pipeline.run.start import start

if __name__ == "__main__":
    start()
    from pipeline.run.command import main

    sys.exit(main())
