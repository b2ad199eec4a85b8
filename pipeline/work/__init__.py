"""How work is done: engines, journals, files kept whole, memory, manifests."""
