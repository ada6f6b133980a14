"""What a pipeline is called with: from the description of `pipec library`, or from the tables of a library."""

from __future__ import annotations

import ctypes
import inspect
import keyword
import struct
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Set, Tuple

from ._tables import Tables
from ._types import BY_NAME, TYPES, ElementType


@dataclass(frozen=True)
class Buffer:
    """An array that goes in or comes out."""

    name: str
    type: ElementType
    extents: Tuple[str, ...]  # as the program says them: "R + 2"
    order: Tuple[int, ...]  # dimensions, outermost first in dense memory
    defaults: Tuple[Tuple[str, str], ...] = ()  # of sizes among the extents that a call need not give

    @property
    def rank(self) -> int:
        return len(self.extents)

    def __str__(self) -> str:
        defaults = dict(self.defaults)
        extents = [f"{e} = {defaults[e]}" if e in defaults else e for e in self.extents]
        text = f"{self.type}[{', '.join(extents)}]"
        if list(self.order) != sorted(self.order):
            text += f" order({', '.join(map(str, self.order))})"
        return text


@dataclass(frozen=True)
class Scalar:
    """A scalar parameter. `default` is None where it must be given."""

    name: str
    type: ElementType
    default: Any = None

    def __str__(self) -> str:
        return str(self.type)


@dataclass(frozen=True)
class Interface:
    name: str
    inputs: Tuple[Buffer, ...]
    outputs: Tuple[Buffer, ...]
    parameters: Tuple[Scalar, ...]
    sizes: Tuple[str, ...]  # that the caller must give
    doc: str = ""
    where: Tuple[str, ...] = ()

    def __str__(self) -> str:
        """The head of the pipeline."""
        ports = [f"{b.name}: {b}" for b in self.inputs]
        ports += [f"{p.name}: {p}" + ("" if p.default is None else f" = {_text(p.default)}") for p in self.parameters]
        return f"{self.name}({', '.join(ports)}) -> {', '.join(f'{b.name}: {b}' for b in self.outputs)}"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shortest(value: float) -> float:
    """0.04 and not the float32 next to it."""
    texts = (f"{value:.{digits}g}" for digits in range(6, 10))
    return next((float(t) for t in texts if ctypes.c_float(float(t)).value == value), value)


def from_description(row: Dict[str, Any]) -> Interface:
    """Of a row of `pipelines` in the document of `pipec library`."""

    def buffers(rows: List[Dict[str, Any]]) -> Tuple[Buffer, ...]:
        return tuple(
            Buffer(b["name"], BY_NAME[b["type"]], tuple(b["extents"]), tuple(b["order"]),
                   tuple(b.get("defaults", {}).items())) for b in rows)

    # Infinities and NaN are texts.
    defaults = [float(d) if isinstance(d, str) else d for d in (p.get("default") for p in row["parameters"])]
    parameters = tuple(Scalar(p["name"], BY_NAME[p["type"]], d) for p, d in zip(row["parameters"], defaults))
    return Interface(row["name"], buffers(row["inputs"]), buffers(row["outputs"]), parameters, tuple(row["sizes"]),
                     row["doc"], tuple(row["where"]))


def from_tables(tables: Tables) -> Interface:
    """Comments and conditions are not in the tables."""
    inputs, outputs, parameters = [], [], []
    for b in tables.buffers:
        extents = tuple(b.extent_text[d].decode() for d in range(b.rank))
        order = tuple(b.order[d] for d in range(b.rank))
        (outputs if b.is_output else inputs).append(Buffer(b.name.decode(), TYPES[b.type], extents, order))
    arguments = tables.arguments()
    for p in tables.parameters:
        element = TYPES[p.type]
        value = element.ctype.from_buffer(arguments, p.offset).value
        if element.name == "bool":
            value = bool(value)
        elif element.name == "float16":
            value = struct.unpack("<e", struct.pack("<H", value))[0]
        elif element.name == "float32":
            value = _shortest(value)
        parameters.append(Scalar(p.name.decode(), element, value if p.has_default else None))
    sizes = tuple(s.name.decode() for s in tables.sizes)
    return Interface(tables.info.name.decode(), tuple(inputs), tuple(outputs), tuple(parameters), sizes)


OPTIONS = ("out", "shape", "stream")  # keywords of every call


@dataclass(frozen=True)
class Keywords:
    """How a call names things. What Python or an earlier name has taken gets an underscore behind it, as in C."""

    inputs: Tuple[str, ...]
    parameters: Tuple[str, ...]
    sizes: Tuple[str, ...]
    options: Tuple[str, ...]  # in the order of OPTIONS
    positional: int  # so many values, inputs first, may be given by position


def keywords(interface: Interface) -> Keywords:
    taken: Set[str] = set()

    def claim(name: str) -> str:
        while name in taken or keyword.iskeyword(name):
            name += "_"
        taken.add(name)
        return name

    inputs = tuple(claim(b.name) for b in interface.inputs)
    parameters = tuple(claim(p.name) for p in interface.parameters)
    sizes = tuple(claim(s) for s in interface.sizes)
    options = tuple(claim(o) for o in OPTIONS)
    # Python has no positional argument without a default behind one that has one.
    has_default = [p.default is not None for p in interface.parameters]
    first = has_default.index(True) if True in has_default else len(has_default)
    by_position = len(has_default) if all(has_default[first:]) else first
    return Keywords(inputs, parameters, sizes, options, len(inputs) + by_position)


def signature(interface: Interface, names: Keywords) -> inspect.Signature:
    Parameter = inspect.Parameter

    def kind(place: int) -> Any:
        return Parameter.POSITIONAL_OR_KEYWORD if place < names.positional else Parameter.KEYWORD_ONLY

    result = [Parameter(n, kind(i), annotation=str(b)) for i, (n, b) in enumerate(zip(names.inputs, interface.inputs))]
    for i, (name, p) in enumerate(zip(names.parameters, interface.parameters), len(result)):
        default = Parameter.empty if p.default is None else p.default
        result.append(Parameter(name, kind(i), default=default, annotation=str(p)))
    result += [Parameter(name, Parameter.KEYWORD_ONLY, annotation="int") for name in names.sizes]
    result += [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in names.options]
    return inspect.Signature(result, return_annotation=", ".join(map(str, interface.outputs)))


def documentation(interface: Interface, names: Keywords) -> str:
    """For help(): the comment of the program, then what goes in and what comes out."""
    lines = [interface.doc, ""] if interface.doc else []

    def section(title: str, rows: List[Tuple[str, str]]) -> None:
        if rows:
            width = max(len(name) for name, _ in rows)
            lines.extend([title + ":", *(f"    {name:<{width}}  {text}" for name, text in rows), ""])

    section("Inputs", [(n, str(b)) for n, b in zip(names.inputs, interface.inputs)])
    section("Parameters", [
        (n, str(p) + ("" if p.default is None else f" = {_text(p.default)}"))
        for n, p in zip(names.parameters, interface.parameters)
    ])
    section("Sizes", [(n, "int") for n in names.sizes])
    section("Outputs", [(b.name, str(b)) for b in interface.outputs])
    if interface.where:
        lines.extend(["Where:", *(f"    {condition}" for condition in interface.where), ""])
    out, shape, stream = names.options
    section("Options of a call", [
        (out, "where results go: an array, or a dict or sequence where there are several outputs"),
        (shape, "extents of outputs that no input determines"),
        (stream, "CUDA stream, for arrays of no library that has a current one"),
    ])
    return "\n".join(lines).rstrip() + "\n"


def result_names(interface: Interface) -> List[str]:
    """Of the fields of a named tuple, which cannot begin with an underscore."""
    names: List[str] = []
    for b in interface.outputs:
        name = "n" + b.name if b.name.startswith("_") else b.name
        while keyword.iskeyword(name) or name in names:
            name += "_"
        names.append(name)
    return names
