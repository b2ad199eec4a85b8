"""The explorer's server for tests: a pair to post, and what answers it."""

import contextlib
import threading

from align.core.errors import InputError

PAIR = {"source": "Paris , 1984 !", "target": "À Paris , en 1984 !"}


def answer(source, target):
    """Give back what was asked."""
    if source == "fault":
        raise ZeroDivisionError("secret")
    if source == "refused":
        raise InputError("source: too odd; write another")
    return {"asked": [source, target]}


@contextlib.contextmanager
def running(server):
    """Run a server in a thread."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
