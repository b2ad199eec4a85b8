"""Training as an estimator: parameters, ``fit`` and ``predict`` in the manner of scikit-learn.

Nothing of that library is needed; its tools (pipelines, searches, cross-validation) take these objects.
"""

from align.estimators.matching_ssvm import MatchingSSVM, NotConvergedWarning

__all__ = ["MatchingSSVM", "NotConvergedWarning"]
