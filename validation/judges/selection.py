"""Choose the judge of an output: by a text of the user's, or by its dtype."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from forge import InvalidInput
from validation.judges.allclose import AllClose
from validation.judges.cosine import Cosine
from validation.judges.exact import Exact
from validation.judges.float64 import Float64
from validation.judges.parameters import read_number
from validation.judges.protocol import Judge
from validation.judges.quantised import Quantised
from validation.judges.relative_l2 import RelativeL2
from validation.judges.tolerances import is_whole
from validation.judges.topk import TopK
from validation.judges.ulp import ULP


@dataclass(frozen=True)
class _Kind:
    """A judge as a text names it; ``main`` is the parameter that may stand without its name."""

    make: Callable[..., Judge]
    main: str = ""
    others: tuple[str, ...] = ()


def _float64(
    factor: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    nonfinite: str = "same",
) -> Judge:
    return Float64(factor, AllClose(rtol, atol, nonfinite))  # type: ignore[arg-type]


_KINDS = {
    "exact": _Kind(Exact),
    "allclose": _Kind(AllClose, others=("rtol", "atol")),
    "ulp": _Kind(ULP, "units"),
    "cosine": _Kind(Cosine, "least"),
    "l2": _Kind(RelativeL2, "limit"),
    "topk": _Kind(TopK, "k"),
    "float64": _Kind(_float64, "factor", ("rtol", "atol")),
    "quantised": _Kind(Quantised, others=("steps", "share", "scale")),
}


def default_judge(dtype: np.dtype, rtol: float | None = None, atol: float | None = None) -> Judge:
    """Give the judge for outputs of a dtype for which none was chosen.

    Floating-point and complex ones are judged by ``Float64``. Booleans are compared exactly, and
    integers too unless ``atol`` is given: a relative tolerance is never meant for indices.
    """
    if not is_whole(dtype):
        return Float64(inner=AllClose(rtol, atol))
    if atol is None or dtype.kind == "b":
        return Exact()
    return AllClose(0.0, atol)


def parse_judge(text: str) -> Judge:
    """Read a judge from ``NAME[:VALUE][,KEY=VALUE…]``, such as ``ulp:4`` or ``allclose:rtol=1e-3``.

    Raises:
        InvalidInput: An unknown judge, parameter or value; the message lists what there is.
    """
    name, _, rest = text.partition(":")
    kind = _KINDS.get(name)
    if kind is None:
        raise _unreadable(text, f"there is no judge {name!r}")
    parameters: dict[str, float | str] = {}
    for place, part in enumerate(rest.split(",") if rest or text.endswith(":") else ()):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = kind.main, key
            if place or not key:
                raise _unreadable(text, f"{part!r} is not KEY=VALUE")
        if key in parameters:
            raise _unreadable(text, f"{key} is given twice")
        if key == "nonfinite":
            parameters[key] = value
        elif key in (kind.main, *kind.others):
            number = read_number(value)
            if number is None:
                raise _unreadable(text, f"{value!r} is no number")
            parameters[key] = number
        else:
            raise _unreadable(text, f"{name} has no parameter {key!r}")
    try:
        return kind.make(**parameters)
    except InvalidInput as error:
        raise _unreadable(text, error.message.rstrip(".")) from error


def is_judge(text: str) -> bool:
    """Tell whether a text begins with the name of a judge, whatever its parameters are."""
    return text.partition(":")[0] in _KINDS


def judge_for(
    output: str,
    dtype: np.dtype,
    chosen: Mapping[str, str],
    rtol: float | None = None,
    atol: float | None = None,
) -> Judge:
    """Give the judge of an output.

    Args:
        output: Its name.
        dtype: Its dtype.
        chosen: A text by output name; that of ``*`` is for all others. The rest take a default.
        rtol, atol: Tolerances for judges that take some and whose text has none.

    Raises:
        InvalidInput: See ``parse_judge``.
    """
    text = chosen.get(output, chosen.get("*"))
    if text is None:
        return default_judge(dtype, rtol, atol)
    judge = parse_judge(text)
    if isinstance(judge, AllClose):
        return _with_tolerances(judge, rtol, atol)
    if isinstance(judge, Float64) and isinstance(judge.inner, AllClose):
        return replace(judge, inner=_with_tolerances(judge.inner, rtol, atol))
    return judge


def _with_tolerances(judge: AllClose, rtol: float | None, atol: float | None) -> AllClose:
    return replace(
        judge,
        rtol=rtol if judge.rtol is None else judge.rtol,
        atol=atol if judge.atol is None else judge.atol,
    )


def _unreadable(text: str, fault: str) -> InvalidInput:
    return InvalidInput(f"the judge {text!r} cannot be used: {fault}.", hint=f"judges: {_list()}")


def _list() -> str:
    """List all judges with their parameters."""
    texts = []
    for name, kind in _KINDS.items():
        parts = [kind.main.upper()] if kind.main else []
        parts += [f"{key}=…" for key in kind.others]
        texts.append(f"{name}:{','.join(parts)}" if parts else name)
    return f"{'; '.join(texts)}; each also nonfinite=same, ignore-nan or ignore"
