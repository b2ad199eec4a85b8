"""The annotator's desk: pairs paged from disk, corrections kept, a model that learns from them."""
