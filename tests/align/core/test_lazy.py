"""A property computed once an object, by threads at the same time for different objects."""

import threading

from align.core.lazy import lazy


class Thing:
    """Has a property that waits until another object's is being computed too."""

    def __init__(self, meet):
        self.meet, self.count = meet, 0

    @lazy
    def value(self):
        """Return how often it was computed."""
        self.meet.wait(timeout=10)
        self.count += 1
        return self.count


def test_it_is_computed_once():
    thing = Thing(threading.Barrier(1))
    assert (thing.value, thing.value, thing.count) == (1, 1, 1)
    assert Thing.value.__doc__ == "Return how often it was computed."


def test_threads_do_not_wait_for_each_others_objects():
    meet = threading.Barrier(2)
    things = [Thing(meet), Thing(meet)]
    threads = [threading.Thread(target=lambda thing=thing: thing.value) for thing in things]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [thing.count for thing in things] == [1, 1]
