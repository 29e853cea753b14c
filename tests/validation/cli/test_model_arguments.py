from __future__ import annotations

import argparse
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from forge import InvalidInput
from validation.cli.model_arguments import InputShape, loader_options, parse_input


@pytest.mark.parametrize(("text", "expected"), [
    ("x=1x3x224x224", InputShape("x", (1, 3, 224, 224), None)),
    ("x=1x3:float16", InputShape("x", (1, 3), "float16")),
    ("a:0=2", InputShape("a:0", (2,), None)),
    ("a:0=2:int8", InputShape("a:0", (2,), "int8")),
    ("a=b=2", InputShape("a=b", (2,), None)),
    ("x=Nx3", InputShape("x", ("N", 3), None)),
    ("x=1,max_len", InputShape("x", (1, "max_len"), None)),
    ("x=", InputShape("x", (), None)),
    ("x=:int64", InputShape("x", (), "int64")),
    ("x=0x3", InputShape("x", (0, 3), None)),
])  # fmt: skip
def test_an_input(text: str, expected: InputShape) -> None:
    assert parse_input(text) == expected


@pytest.mark.parametrize("text", [
    "x", "=1x3", "", "x=1xx3", "x=-1x3", "x=1x3.5", "x=1x", "x=x", "x=1x²", "x=1x 3", "x=1,,3",
])  # fmt: skip
def test_what_is_no_input(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        parse_input(text)


def options(framework: str, *inputs: str, **given: Any) -> dict[str, Any]:
    arrays = given.pop("arrays", None)
    fields = {"signature": None, "outputs": None, **given}
    arguments = SimpleNamespace(input=[parse_input(text) for text in inputs], **fields)
    return loader_options(arguments, framework, arrays)  # type: ignore[arg-type]


def test_each_framework_gets_its_own_words() -> None:
    assert options("torch", "a=1x3", "b=2:int64") == {
        "input_info": [("a", (1, 3), "float32"), ("b", (2,), "int64")]
    }
    assert options("onnx", "a=1x3", "b=2:int64") == {
        "shape_dict": {"a": (1, 3), "b": (2,)}, "dtype_dict": {"b": "int64"},
    }  # fmt: skip
    assert options("keras", "a=1x3") == {"shape_dict": {"a": (1, 3)}}
    assert options("tensorflow", signature="s", outputs="a:0,b:0") == {
        "signature": "s", "outputs": ["a:0", "b:0"],
    }  # fmt: skip
    assert options("onnx") == {}


def test_arrays_give_shapes_which_the_user_s_replace() -> None:
    arrays = {"a": np.zeros((2, 3), np.float32)}
    assert options("keras", arrays=arrays) == {"shape_dict": {"a": (2, 3)}}
    assert options("keras", "a=Nx3", arrays=arrays) == {"shape_dict": {"a": ("N", 3)}}


def test_a_dtype_where_the_model_has_its_own() -> None:
    with pytest.raises(InvalidInput, match="has its own dtypes"):
        options("keras", "a=1:int8")


@pytest.mark.parametrize("option", ["signature", "outputs"])
def test_an_option_of_tensorflow_s(option: str) -> None:
    with pytest.raises(InvalidInput, match=f"--{option}"):
        options("onnx", **{option: "x"})
