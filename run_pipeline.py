"""Run Liaison's pipeline: ``python run_pipeline.py --stage all --config FILE.toml``."""

import sys

from align.core.signals import end_silently

if __name__ == "__main__":
    end_silently()
    from pipeline.run.command import main

    sys.exit(main())
