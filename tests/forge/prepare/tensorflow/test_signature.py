from typing import Any

import pytest

from forge import InvalidInput, TensorSpec
from forge.prepare.tensorflow.signature import Signature, dims_of, distinct, name_structure

SPECS = (TensorSpec("x", ("batch", 3), "float32"), TensorSpec("y", (2,), "int32"))


def signature() -> Signature:
    return Signature(lambda flat: flat, SPECS, name_structure)


@pytest.mark.parametrize(
    ("structure", "names"),
    [
        (1, ["output_0"]),
        ([1, 2], ["output_0", "output_1"]),
        ({"b": 1, "a": 2}, ["a", "b"]),
        (
            (1, {"k": 2, "none": None}, [3, 4]),
            ["output_0", "output_1/k", "output_2/0", "output_2/1"],
        ),
        (None, []),
    ],
)
def test_name_structure(structure: Any, names: list[str]) -> None:
    assert [name for name, _ in name_structure(structure)] == names


def test_distinct() -> None:
    assert distinct(["x", "x", "y", "x"]) == ["x", "x_1", "y", "x_2"]
    assert distinct(["x", "x", "x_1"]) == ["x", "x_2", "x_1"]


def test_dims_of() -> None:
    assert dims_of((None, 3, None), "a/b") == ("batch", 3, "a_b_2")
    assert dims_of(None, "x") == ("...",)


def test_shapes_replace_open_dimensions_only() -> None:
    shaped = signature().with_shapes({"x": (4, 3)}, "from_x")
    assert [spec.shape for spec in shaped.inputs] == [(4, 3), (2,)]
    assert signature().with_shapes({"x": ("N", 3)}, "from_x").inputs[0].shape == ("N", 3)


@pytest.mark.parametrize("shape", [(4, 4), (4,), (4, 3.0), (-1, 3), ("", 3), (True, 3)])
def test_shapes_that_do_not_fit(shape: Any) -> None:
    with pytest.raises(InvalidInput, match="x"):
        signature().with_shapes({"x": shape}, "from_x")


def test_unknown_name_lists_the_inputs() -> None:
    with pytest.raises(InvalidInput, match="x: batchx3 float32, y: 2 int32"):
        signature().with_shapes({"z": (1,)}, "from_x")
