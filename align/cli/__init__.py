"""The commands of ``python -m align``: the only part of the library that prints.

A command is a module of its own name with ``add_arguments(parser)`` and ``run(args)``, which returns the
exit status. :mod:`align.cli.main` knows them by name and imports only the one that is asked for.
"""
