"""What everything rests on: array files, compiled kernels, errors, mapped and lazy access."""
