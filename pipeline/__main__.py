"""``python -m pipeline``: the same command as ``python run_pipeline.py``."""

import sys

from pipeline.run.start import start

if __name__ == "__main__":
    start()
    from pipeline.run.command import main

    sys.exit(main())
