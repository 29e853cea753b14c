"""Weights for built torch networks, and the ways in which users hold a torch model."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn


def initialise(module: nn.Module, seed: int) -> nn.Module:
    """Give every parameter and batch-norm statistic a random value, and set eval mode.

    Weights are Kaiming-normal, so that activations neither vanish nor grow with depth.
    Torch's own random state is left alone.
    """
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for child in module.modules():
            if isinstance(child, nn.modules.batchnorm._BatchNorm):
                _norm(child, random)
                assert child.running_mean is not None
                assert child.running_var is not None
                child.running_mean.normal_(0.0, 0.5, generator=random)
                child.running_var.uniform_(0.5, 2.0, generator=random)
            elif isinstance(child, nn.LayerNorm):
                _norm(child, random)
            elif isinstance(child, nn.Embedding):
                child.weight.normal_(0.0, 1.0, generator=random)
            else:
                for parameter in child.parameters(recurse=False):
                    fan_in = math.prod(parameter.shape[1:]) if parameter.dim() > 1 else 0
                    std = math.sqrt(2.0 / fan_in) if fan_in else 0.1
                    parameter.normal_(0.0, std, generator=random)
    return module.eval()


def _norm(layer: Any, random: torch.Generator) -> None:
    layer.weight.uniform_(0.5, 1.5, generator=random)
    layer.bias.normal_(0.0, 0.2, generator=random)


def restored(module: nn.Module, path: Path) -> nn.Module:
    """Load a state dict file into a network, and set eval mode; no pickled code runs."""
    module.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return module.eval()


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the deprecation of TorchScript (torch 2.11) and its exporter, used on purpose here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.filterwarnings("ignore", message=".*legacy.*|.*deprecated.*")
        yield


def traced(module: nn.Module, *examples: torch.Tensor) -> Any:
    """Trace a module."""
    with quiet():
        return torch.jit.trace(module, examples)


def scripted(module: nn.Module) -> Any:
    """Script a module."""
    with quiet():
        return torch.jit.script(module)


def reopened(script: Any) -> Any:
    """Save a TorchScript module as a ``.pt`` file, and load that with ``torch.jit.load``."""
    with quiet():
        buffer = io.BytesIO()
        torch.jit.save(script, buffer)
        buffer.seek(0)
        return torch.jit.load(buffer, map_location="cpu")
