"""What Relax operators mean, in numpy: exact where the program is, and at any float width.

Constant folding stands on it, and so does whoever asks which layer went wrong.
"""

from forge.evaluate.dispatch import evaluate_call, is_known
from forge.evaluate.function import evaluate_function
from forge.evaluate.registry import Invocation, NotEvaluable
from forge.evaluate.values import Shape, Value

__all__ = [
    "Invocation",
    "NotEvaluable",
    "Shape",
    "Value",
    "evaluate_call",
    "evaluate_function",
    "is_known",
]
