"""Solvers for any smooth convex function on the hull of some atoms."""
