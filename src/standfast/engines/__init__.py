"""
Engines: one folder per kind, each with `engine.py` (the port), `client.py` (how it is spoken to), `translate.py`
(pure: its words to observations and back) and `rules.py` (its failure rules as data).

Does not belong here: anything two engines share, unless the port itself should have it.
"""
