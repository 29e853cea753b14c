from __future__ import annotations

import json
import math
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

from validation.bundles.plain import NotPlainError, from_plain, to_plain

Point = namedtuple("Point", "x y")


@pytest.mark.parametrize("value", [
    None,
    True,
    -(1 << 80),
    0.1,
    -0.0,
    math.inf,
    "text \udc80 and \0",
    b"\0\xff",
    [],
    (),
    {},
    [("x", (1, "N", 3), "float32"), ["y", []]],
    {"a": {"b": (1,)}, "": None},
    {1: "one", None: (), (2, 3): b""},
    {"$tuple": [1], "$x": {"$y": 1, "z": 2}},
])  # fmt: skip
def test_values_come_back(value: Any) -> None:
    back = from_plain(json.loads(json.dumps(to_plain(value), allow_nan=False)))
    assert back == value
    assert repr(back) == repr(value)


def test_nan_comes_back() -> None:
    assert math.isnan(from_plain(to_plain(math.nan)))


@pytest.mark.parametrize("value", [
    print,
    lambda x: x,
    np.int64(3),
    np.zeros(2),
    {1, 2},
    OrderedDict(a=1),
    Point(1, 2),
    [{"deep": ({"er": object()},)}],
])  # fmt: skip
def test_what_is_more_than_data_is_refused(value: Any) -> None:
    with pytest.raises(NotPlainError):
        to_plain(value)


@pytest.mark.parametrize("value", [
    {"$tuple": 3},
    {"$tuple": [1], "$dict": []},
    {"$dict": [[1]]},
    {"$dict": [[[], 1]]},
    {"$bytes": "*"},
    {"$bytes": 3},
    {"$float": "many"},
    {"$function": "print"},
])  # fmt: skip
def test_what_it_did_not_write_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - every message is another
        from_plain(value)
