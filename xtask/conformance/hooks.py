"""Makes hypothesis, which generates the requests, build the strategy of a pattern once instead of at every use.

The pattern of a person's name has 200,000 characters: most of the run would go into building it.
"""

from functools import cache

from hypothesis.strategies._internal import regex

regex.regex_strategy = cache(regex.regex_strategy)
