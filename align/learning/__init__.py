"""Learning around the solver: silver labels, pairs left out, choice of lam, calibration."""
