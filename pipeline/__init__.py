"""The pipeline half of Liaison: files, configuration, processes and progress around :mod:`align`."""
