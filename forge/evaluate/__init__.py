"""What Relax operators mean, in numpy: exact where the program is, and at any float width.

Constant folding stands on it, and so does whoever asks which layer went wrong.

What holds for all operators:

* Integers, bools, comparisons, movement and + − × ÷ √ are exact bit for bit, in the program's
  dtype. Integers wrap around; a division by zero has no value.
* Everything else is computed in float64 and rounded once to the result's dtype, bfloat16 and
  float16 too; so it is as close to the truth as that dtype allows, closer than compiled code.
* Given a width, every float is of that width: weights, inputs, and all between them.
* NaN propagates, as IEEE 754 and the frameworks have it: through maximum, minimum, relu, clip,
  sign and pooling. An order or an extreme's position among NaN has no value.
* A float that an integer cannot hold (NaN, infinity, too large) has no value as one, since C
  leaves it undefined and frameworks differ.
* An index beyond the tensor has no value; a negative one counts from the end where the operator
  says so: ``index_tensor``, ``index_put``, ``scatter_elements``.

What has no value raises ``NotEvaluable``, which names the operator.
"""

from forge.evaluate.dispatch import evaluate_call, is_known
from forge.evaluate.function import evaluate_function
from forge.evaluate.inventory import unknown_operators
from forge.evaluate.registry import Invocation, NotEvaluable
from forge.evaluate.values import Shape, Value
from forge.evaluate.work import estimated_work

__all__ = [
    "Invocation",
    "NotEvaluable",
    "Shape",
    "Value",
    "estimated_work",
    "evaluate_call",
    "evaluate_function",
    "is_known",
    "unknown_operators",
]
