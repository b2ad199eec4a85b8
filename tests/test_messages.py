"""The page of error messages is that of the code, and each message says what to do."""

from tests.messages import PAGE, page

# The remedy is in what is put in; or nobody sees it, because another error has stopped the stage.
PUT_IN = {
    r"| <where>:1: <every> <has> <number> <name><plural>: is this <what>? <doing> |  |",
    r"| <where>: no section [<section>]<nearest> |  |",
    r"| <where>: [<section>] has no key <key><elsewhere><nearest> |  |",
    r"| featurize.<error> |  |",
    r"| train.weights: <error> |  |",
    r"| train: <error> (train.cost_fn, train.cost_fp, train.lam) |  |",
    r"| <name>: stopped |  |",
}


def test_the_page_is_made_from_the_code():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.messages writes it"


def test_every_message_says_what_to_do():
    rows = [line for line in page().split("\n") if line.startswith("| ") and not line.startswith("| what")]
    assert len(rows) > 300
    silent = [row for row in rows if row.endswith(" |  |") and row.replace("&lt;", "<") not in PUT_IN]
    assert not silent, "\n".join(silent)
