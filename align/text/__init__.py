"""Text to tokens: cleaning, tokenizers, profiles of analysis, sentence splitting.

:class:`align.text.processor.TextProcessor` puts the parts together; its tokens come in two layers, *surface*
tokens that people see and link, and *analysis* tokens (lookup keys, contractions undone) for statistics.
"""
