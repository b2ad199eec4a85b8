"""The stages: a module for a small one, a folder for a large one."""
