"""One run: the command line, the graph of stages, what is stale, what it will take."""
