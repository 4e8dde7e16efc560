"""
Failure as a value: its classes, and the rules that find the class of an observed end.

Belongs here: the closed list of classes with what each means for a retry, symptoms, and the rule matcher. Does not
belong here: any engine's own rules (each engine keeps its table in `engines/<name>/rules.py`).
"""

from standfast.core.failure.classes import TRAITS, FailureClass, Traits
from standfast.core.failure.failure import Failure, fingerprint
from standfast.core.failure.rules import Rule, classify
from standfast.core.failure.symptoms import Symptoms

__all__ = ["TRAITS", "Failure", "FailureClass", "Rule", "Symptoms", "Traits", "classify", "fingerprint"]
