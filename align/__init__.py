"""Word alignment for bilingual text, learnt by max-margin matching.

The library half of Liaison: arrays and text in, arrays and links out. It prints nothing, keeps no
global state and knows nothing of the pipeline that drives it.
"""

__version__ = "0.1.0"
