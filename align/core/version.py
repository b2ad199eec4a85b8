"""The version of the library, told once."""

__version__ = "0.1.0"
