"""Say why a comparison would prove nothing: a result that shows no fault, whatever it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from validation.inputs.changes import changes_of
from validation.references.protocol import Session

# A run of the model each; later inputs are changed only together with all others.
_INPUTS = 8


def proves_nothing(reference: Mapping[str, np.ndarray]) -> str:
    """Say why a reference result cannot show a fault; empty where it can."""
    if not reference:
        return "the model has no outputs"
    faults = [fault for array in reference.values() if (fault := _emptiness(np.asarray(array)))]
    if len(faults) < len(reference):
        return ""
    return f"every output of the reference is {' or '.join(sorted(set(faults)))}"


@dataclass(frozen=True)
class Reaction:
    """How the outputs of a model react to its inputs.

    Attributes:
        still_outputs: Outputs that stayed the same whatever was changed.
        idle_inputs: Inputs to which no output reacts.
        unknown_inputs: Inputs that could not be changed: empty ones, and those whose change the
            model refused.
        vacuous: Why the result proves nothing; empty where it does prove something. An output
            that only tells the shape of an input proves that.
    """

    still_outputs: tuple[str, ...] = ()
    idle_inputs: tuple[str, ...] = ()
    unknown_inputs: tuple[str, ...] = ()
    vacuous: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, a line each."""
        return tuple(
            [f"output {name} does not react to the inputs" for name in self.still_outputs]
            + [f"no output reacts to input {name}" for name in self.idle_inputs]
            + [f"input {name} could not be changed" for name in self.unknown_inputs]
        )


def does_not_react(
    session: Session,
    inputs: Mapping[str, np.ndarray],
    reference: Mapping[str, np.ndarray],
    seed: int,
    further: Sequence[Mapping[str, np.ndarray]] = (),
) -> Reaction:
    """Run the native session on changed inputs and tell what does not react.

    Inputs are changed one at a time, the first 8 of them, then all at once. A change that no
    output shows is followed by another kind of change. An error of the session on changed inputs
    means that nothing is known, and is never raised.

    Args:
        session: The native runtime.
        inputs: One set of inputs. They are not written to.
        reference: What the session gave for them.
        seed: Seed of the changes.
        further: Results for other sets of inputs, in which outputs may differ too.
    """
    still = {name for name in reference if not _differs_in(name, reference, further)}
    idle: list[str] = []
    unknown: list[str] = []
    for name in list(inputs)[:_INPUTS]:
        known = reacted = False
        for changed in changes_of(inputs[name], seed):
            result = _result(session, {**inputs, name: changed})
            if result is None:
                continue
            known = True
            moved = {output for output in reference if _differs_in(output, reference, [result])}
            still -= moved
            if moved:
                reacted = True
                break
        if not reacted:
            (idle if known else unknown).append(name)
    for changed_inputs in _together(inputs, seed) if still else ():
        result = _result(session, changed_inputs)
        if result is not None:
            still -= {name for name in still if _differs_in(name, reference, [result])}
    outputs = tuple(name for name in reference if name in still)
    vacuous = ""
    tells_shape = any(_tells_shape(reference[name], inputs) for name in outputs)
    if inputs and idle and not unknown and len(outputs) == len(reference) and not tells_shape:
        vacuous = "no output of the reference reacts to the inputs"
    return Reaction(outputs, tuple(idle), tuple(unknown), vacuous)


def _together(inputs: Mapping[str, np.ndarray], seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield changes of all inputs at once, of each kind one."""
    kinds = {name: list(changes_of(array, seed)) for name, array in inputs.items()}
    for kind in range(max(map(len, kinds.values()), default=0)):
        yield {
            name: kinds[name][min(kind, len(kinds[name]) - 1)] if kinds[name] else array
            for name, array in inputs.items()
        }


def _result(session: Session, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray] | None:
    try:
        # A model may write to its inputs.
        return session({name: np.array(array) for name, array in inputs.items()})
    except Exception:
        return None


def _differs_in(
    name: str,
    reference: Mapping[str, np.ndarray],
    others: Sequence[Mapping[str, np.ndarray]],
) -> bool:
    first = np.asarray(reference[name])
    return any(name in other and not _same(first, np.asarray(other[name])) for other in others)


def _same(first: np.ndarray, second: np.ndarray) -> bool:
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    equal = first == second
    if first.dtype.kind in "fcV":
        equal |= np.isnan(first) & np.isnan(second)
    return bool(equal.all())


def _tells_shape(array: np.ndarray, inputs: Mapping[str, np.ndarray]) -> bool:
    """Tell whether an output is the shape of an input, a part of one, or a number of elements."""
    array = np.asarray(array)
    if array.dtype.kind not in "iu" or array.ndim > 1 or not array.size:
        return False
    values = [int(value) for value in array.reshape(-1)]
    for given in map(np.asarray, inputs.values()):
        windows = range(given.ndim - len(values) + 1)
        if any(list(given.shape[i : i + len(values)]) == values for i in windows):
            return True
        if values == [given.size]:
            return True
    return False


def _emptiness(array: np.ndarray) -> str:
    if not array.size:
        return "empty"
    # bfloat16 and its kind are of numpy kind V.
    if array.dtype.kind in "fcV" and not np.isfinite(array).any():
        return "without a finite value"
    if array.size > 1 and (array == array.ravel()[0]).all():
        return "constant" if array.ravel()[0] else "all zeros"
    return ""
