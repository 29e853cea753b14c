from collections.abc import Callable
from typing import Any

import pytest

from forge import LoadError

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402
from tvm import relax  # noqa: E402

from forge.prepare.onnx.declared_outputs import check_outputs, complete_outputs  # noqa: E402


@pytest.fixture
def model(onnx_model: Callable[..., Any]) -> Any:
    """Less of (N, 3) and (3,): ONNX infers bool (N, 3) by itself."""
    nodes = [helper.make_node("Less", ["x", "z"], ["y"])]
    inputs = {"x": (("N", 3), "float32"), "z": ((3,), "float32")}
    return onnx_model(nodes, inputs, {"y": (None, "bool")})


def imported(relax_module: Callable[..., Any], function: Callable[..., Any]) -> Any:
    inputs = {"x": (("N", 3), "float32"), "z": ((3,), "float32")}
    return relax_module(inputs, lambda builder, x, z: function(x, z))


def test_the_right_type_passes(model: Any, relax_module: Callable[..., Any]) -> None:
    check_outputs(model, imported(relax_module, relax.op.less))


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda x, z: relax.op.astype(relax.op.less(x, z), "int32"), "it is bool in ONNX"),
        (lambda x, z: relax.op.expand_dims(relax.op.less(x, z), 0), "its shape is"),
        (lambda x, z: relax.op.concat([relax.op.less(x, z)] * 2, 1), "its shape is"),
    ],
)
def test_a_contradiction_is_an_error(
    function: Any, match: str, model: Any, relax_module: Callable[..., Any]
) -> None:
    """A folded comparison came as int32: apache/tvm 20282."""
    with pytest.raises(LoadError, match=match) as error:
        check_outputs(model, imported(relax_module, function))
    assert "'y'" in error.value.message


def test_an_output_that_is_no_tensor_is_an_error(
    model: Any, relax_module: Callable[..., Any]
) -> None:
    module = imported(relax_module, lambda x, z: relax.op.shape_of(z))
    with pytest.raises(LoadError, match="no tensor"):
        check_outputs(model, module)


def test_outputs_without_rank_get_a_shape(onnx_model: Callable[..., Any]) -> None:
    nodes = [helper.make_node("Abs", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["z"])]
    model = onnx_model(
        nodes, {"x": ((2,), "float32")}, {"y": (None, "float32"), "z": ((2,), "float32")}
    )
    complete_outputs(model.graph)
    first, second = (value.type.tensor_type for value in model.graph.output)
    assert first.HasField("shape")
    assert [dim.dim_value for dim in second.shape.dim] == [2]
