"""The max oracle and its kin: assignment, fertility flow, quadratic assignment, projections."""
