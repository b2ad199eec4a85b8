"""Bitext statistics: co-occurrence, Dice, Model 1, the sampler and what it leaves."""
