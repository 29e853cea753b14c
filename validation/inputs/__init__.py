"""Where the inputs of a check come from."""

from validation.inputs.plan import InputPlan
from validation.inputs.samples import make_inputs
from validation.inputs.vocabulary import integer_limits

__all__ = ["InputPlan", "integer_limits", "make_inputs"]
