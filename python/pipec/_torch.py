"""Pipelines as operators of torch (torch.library.custom_op, which torch 2.4 has)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Tuple

from ._errors import PipecError
from ._own import HOST

if TYPE_CHECKING:
    from ._function import Function


def schema(function: "Function") -> str:
    """In torch's language: "(Tensor img, float k=0.04) -> Tensor"."""
    names, interface = function._names, function.interface
    words = [f"Tensor {name}" for name in names.inputs]
    for i, (name, p) in enumerate(zip(names.parameters, interface.parameters), len(words)):
        if i == names.positional:
            words.append("*")
        kind = "bool" if p.type.name == "bool" else "float" if p.type.name.startswith("float") else "int"
        words.append(f"{kind} {name}" + ("" if p.default is None else f"={p.default}"))
    if names.sizes and "*" not in words:
        words.append("*")
    words += [f"int {name}" for name in names.sizes]
    outputs = ", ".join(["Tensor"] * len(interface.outputs))
    return f"({', '.join(words)}) -> {outputs if len(interface.outputs) == 1 else f'({outputs})'}"


def custom_op(function: "Function", name: str) -> Any:
    """The operator: it takes tensors and numbers as the pipeline does, and torch knows the shapes of its results."""
    try:
        import torch
    except ImportError:
        raise PipecError("there is no torch") from None
    make = getattr(torch.library, "custom_op", None)
    if make is None:
        raise PipecError(f"torch.library.custom_op is in torch 2.4 and newer; this is {torch.__version__}")
    if not function.interface.inputs:
        raise ValueError(f"`{function.interface.name}` has no input, from whose device torch could choose")

    def run(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if len(function.interface.outputs) == 1 else tuple(result)

    def fake(*args: Any, **kwargs: Any) -> Any:
        values = function._bind(args, kwargs)
        tensors = values[:len(function.interface.inputs)]
        device = tensors[0].device
        place = HOST if device.type == "cpu" else device.index or 0
        sizes = {n: kwargs[n] for n in function._names.sizes}
        layouts = function._output_layouts([tuple(t.shape) for t in tensors], sizes, place)
        results: Tuple[Any, ...] = tuple(
            torch.empty_strided(shape, strides, dtype=getattr(torch, buffer.type.name), device=device)
            for (shape, strides), buffer in zip(layouts, function.interface.outputs)
        )
        return results[0] if len(results) == 1 else results

    operator = make(name, run, mutates_args=(), schema=schema(function))
    operator.register_fake(fake)
    return operator
