"""The experiments that this project grew out of, made anew as one page: ``python -m benchmarks.report``."""
