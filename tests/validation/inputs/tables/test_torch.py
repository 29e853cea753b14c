from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from validation.inputs.tables.torch import table_sizes  # noqa: E402

IDS = ("ids", (2, "S"), "int64")
TYPES = ("types", (2, "S"), "int32")


class Words(nn.Module):
    """Two embeddings of unlike size, one of positions, and a float input between."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(40, 4)
        self.inner = nn.ModuleDict({"types": nn.Embedding(3, 4)})
        self.positions = nn.Embedding(9, 4)
        self.dropout = nn.Dropout(0.5)

    def forward(self, ids: Any, scale: Any, types: Any) -> Any:
        places = torch.arange(ids.shape[1])
        found = self.words(ids) + self.inner["types"](types.long()) + self.positions(places)
        return self.dropout(found) * scale


INFO = {"input_info": [IDS, ("scale", (1,)), TYPES]}
EXAMPLES = (
    torch.zeros(2, 5, dtype=torch.int64),
    torch.ones(1),
    torch.zeros(2, 5, dtype=torch.int32),
)
EXPECTED = {"ids": 40, "types": 3}


def test_each_input_of_a_module_has_its_own_table() -> None:
    model = Words().train()
    hooks = len(model.words._forward_pre_hooks)
    assert table_sizes(model, INFO) == EXPECTED
    assert model.training
    assert len(model.words._forward_pre_hooks) == hooks


def test_an_index_that_is_computed_counts() -> None:
    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(7, 2)

        def forward(self, ids: Any) -> Any:
            return self.words(ids * 2 + 1)

    assert table_sizes(Shifted(), {"input_info": [IDS]}) == {"ids": 7}


def test_where_the_module_cannot_be_run_the_smallest_is_taken() -> None:
    class Fussy(Words):
        def forward(self, *arguments: Any) -> Any:
            raise RuntimeError("not now")

    assert table_sizes(Fussy(), INFO) == {"ids": 3, "types": 3}


def test_an_exported_program() -> None:
    program = torch.export.export(Words().eval(), EXAMPLES)
    assert table_sizes(program, INFO) == EXPECTED
    assert table_sizes(program, {}) == EXPECTED


@pytest.mark.parametrize("kind", ["script", "trace"])
def test_torchscript(kind: str) -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(40, 4)
            self.types = nn.Embedding(3, 4)

        def forward(self, ids: torch.Tensor, scale: torch.Tensor, types: torch.Tensor) -> Any:
            return self.words(ids) * scale + self.types(types.long())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Plain().eval()
        script = torch.jit.script(model) if kind == "script" else torch.jit.trace(model, EXAMPLES)
    assert table_sizes(script, INFO) == EXPECTED


def test_models_that_look_nothing_up() -> None:
    assert table_sizes(nn.Linear(3, 2), {"input_info": [("x", (2, 3))]}) == {}
    assert table_sizes(nn.Flatten(), {"input_info": [IDS]}) == {}
