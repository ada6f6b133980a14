"""What other libraries' arrays are, and how to make more of them.

A reader turns an array into a View, in about a microsecond: calls with arrays like those of an earlier call do nothing
else with them. What an element type is, and whether strides can be used, is found out once.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

from . import _cuda, _dlpack
from ._own import HOST, Array
from ._types import BY_NAME, BY_TYPESTR, ElementType


class View(NamedTuple):
    """`kind` (the library's own element type) and `strides` (in units of the library) mean something to the library
    only; together with `shape` and `place` they say all that a pipeline's call depends on besides the address."""

    address: int
    kind: Any
    shape: Tuple[int, ...]
    strides: Optional[Tuple[int, ...]]  # None: dense
    place: int  # HOST or the number of a GPU
    library: "Library"
    read_only: bool = False
    stream: Optional[int] = None  # that writes the array, where it says so
    keep: Any = None  # lives as long as the view


class Library:
    """How arrays of one library are read and made. This one is for arrays that only protocols describe."""

    name = "array"
    in_bytes = True  # strides

    def element(self, kind: Any) -> Optional[ElementType]:
        return kind if isinstance(kind, ElementType) else BY_TYPESTR.get(kind)

    def kind_text(self, kind: Any) -> str:
        return str(kind)

    def stream(self, place: int) -> Optional[int]:
        """The current one of a GPU, where the library has such a thing."""
        return None

    def maker(self, shape: Tuple[int, ...], element: ElementType, order: Sequence[int],
              place: int) -> Callable[[int], Any]:
        """A function of the stream that makes a new array, dense with these dimensions from the outermost one."""
        if place == HOST and sys.modules.get("numpy") is not None:
            return _numpy().maker(shape, element, order, place)
        strides = _dlpack.dense_strides(shape, order)
        return lambda stream: Array(shape, element, strides, place, stream)

    def scratch(self, place: int, size: int, stream: int) -> Optional[Tuple[int, Any]]:
        """Memory of a GPU for one launch in the current stream, with what keeps it; None: this package's own."""
        return None


class _InElements(Library):
    """DLPack."""

    in_bytes = False


class Numpy(Library):
    name = "NumPy"

    def __init__(self) -> None:
        import numpy

        self.np = numpy

    def element(self, kind: Any) -> Optional[ElementType]:
        return BY_TYPESTR.get(kind.str)

    def maker(self, shape: Tuple[int, ...], element: ElementType, order: Sequence[int],
              place: int) -> Callable[[int], Any]:
        empty, dtype = self.np.empty, self.np.dtype(element.typestr)
        if list(order) == sorted(order):
            return lambda stream: empty(shape, dtype)
        memory, back = tuple(shape[d] for d in order), tuple(order.index(d) for d in range(len(shape)))
        return lambda stream: empty(memory, dtype).transpose(back)

    def read(self, a: Any) -> View:
        return View(a.ctypes.data, a.dtype, a.shape, a.strides, HOST, self, not a.flags.writeable)

    def read_number(self, a: Any) -> View:
        """A number of a NumPy type, which has no memory of its own: the view keeps a copy."""
        copy = self.np.asarray(a)
        return View(copy.ctypes.data, copy.dtype, (), (), HOST, self, True, keep=copy)


class Torch(Library):
    name = "torch"
    in_bytes = False

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.types = {getattr(torch, t): e for t, e in BY_NAME.items() if hasattr(torch, t)}
        self.dtypes = {e: t for t, e in self.types.items()}

    def element(self, kind: Any) -> Optional[ElementType]:
        return self.types.get(kind)

    def stream(self, place: int) -> Optional[int]:
        return None if place == HOST else self.torch.cuda.current_stream(place).cuda_stream

    def _device(self, place: int) -> Any:
        return self.torch.device("cpu") if place == HOST else self.torch.device("cuda", place)

    def maker(self, shape: Tuple[int, ...], element: ElementType, order: Sequence[int],
              place: int) -> Callable[[int], Any]:
        if element not in self.dtypes:
            raise TypeError(f"this torch has no {element.name}: give `out=` an array of another library")
        dtype, device, empty = self.dtypes[element], self._device(place), self.torch.empty
        memory, back = tuple(shape[d] for d in order), tuple(order.index(d) for d in range(len(shape)))
        if list(order) == sorted(order):
            return lambda stream: empty(shape, dtype=dtype, device=device)
        return lambda stream: empty(memory, dtype=dtype, device=device).permute(back)

    def scratch(self, place: int, size: int, stream: int) -> Optional[Tuple[int, Any]]:
        block = self.torch.empty(size, dtype=self.torch.uint8, device=self._device(place))
        return block.data_ptr(), block

    def read(self, t: Any) -> View:
        device = t.device
        if device.type != "cpu" and device.type != "cuda":
            raise TypeError(f"the tensor is on `{device}`, but pipelines run on cpu and cuda")
        if t.layout is not self.torch.strided:
            raise TypeError(f"the tensor is {t.layout}, but must be dense: `t.to_dense()`")
        if t.requires_grad and self.torch.is_grad_enabled():
            raise TypeError("the tensor requires a gradient, which pipelines do not have: `t.detach()`, or "
                            "torch.no_grad()")
        if t.is_neg():
            raise TypeError("the tensor is a negated view: `t.resolve_neg()`")
        place = HOST if device.type == "cpu" else device.index
        return View(t.data_ptr(), t.dtype, tuple(t.shape), t.stride(), place, self)


class Cupy(Library):
    name = "CuPy"

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy

    def element(self, kind: Any) -> Optional[ElementType]:
        return BY_TYPESTR.get(kind.str)

    def stream(self, place: int) -> Optional[int]:
        with self.cupy.cuda.Device(place):
            return self.cupy.cuda.get_current_stream().ptr

    def maker(self, shape: Tuple[int, ...], element: ElementType, order: Sequence[int],
              place: int) -> Callable[[int], Any]:
        memory, back = tuple(shape[d] for d in order), tuple(order.index(d) for d in range(len(shape)))

        def make(stream: int) -> Any:
            with self.cupy.cuda.Device(place):
                return self.cupy.empty(memory, element.typestr).transpose(back)

        return make

    def scratch(self, place: int, size: int, stream: int) -> Optional[Tuple[int, Any]]:
        with self.cupy.cuda.Device(place):
            block = self.cupy.cuda.alloc(size)
        return block.ptr, block

    def read(self, a: Any) -> View:
        return View(a.data.ptr, a.dtype, a.shape, a.strides, a.device.id, self)


_PROTOCOLS, _DLPACK = Library(), _InElements()
_libraries: Dict[type, Library] = {}


def _library(kind: type) -> Any:
    return _libraries.get(kind) or _libraries.setdefault(kind, kind())


def _numpy() -> Library:
    return _library(Numpy)


def _read_interface(interface: Dict[str, Any], on_gpu: bool, keep: Any) -> View:
    if interface.get("mask") is not None:
        raise TypeError("the array is masked: give its data and its mask as two inputs")
    data = interface.get("data")
    if data is None:
        raise TypeError("the array's interface has no address")
    address, read_only = data
    strides = interface.get("strides")
    place, stream = HOST, None
    if on_gpu:
        place, stream = _cuda.driver().device_of(address), interface.get("stream")
    typestr = interface["typestr"].replace("=", "<")
    return View(address, typestr, tuple(interface["shape"]), None if strides is None else tuple(strides), place,
                _PROTOCOLS, bool(read_only), stream, keep)


def _read_own(a: Array) -> View:
    return View(a._address, a._element, a.shape, a._strides, a._place, _DLPACK, False,
                None if a._place == HOST else a._stream, a)


def _read_dlpack(a: Any) -> View:
    device, number = a.__dlpack_device__()
    if device in (_dlpack.CPU, _dlpack.CUDA_HOST):
        capsule, place = a.__dlpack__(), HOST
    elif device in (_dlpack.CUDA, _dlpack.CUDA_MANAGED):
        capsule, place = a.__dlpack__(stream=1), number  # it is ordered before the default stream
    else:
        raise TypeError(f"the array is on a device of DLPack's type {device}, but pipelines run on the CPU and CUDA")
    address, kind, shape, strides = _dlpack.look(capsule)
    return View(address, kind, shape, strides, place, _DLPACK, False, None if place == HOST else 1, capsule)


def _reader(a: Any) -> Callable[[Any], View]:
    """For a type that was not seen before."""
    # Who has an array of a library has the library loaded.
    numpy, torch, cupy = (sys.modules.get(name) for name in ("numpy", "torch", "cupy"))
    if numpy is not None and isinstance(a, numpy.ndarray):
        if isinstance(a, numpy.ma.MaskedArray):
            raise TypeError("the array is masked: give its data and its mask as two inputs")
        return _library(Numpy).read
    if numpy is not None and isinstance(a, numpy.generic):
        return _library(Numpy).read_number
    if torch is not None and isinstance(a, torch.Tensor):
        return _library(Torch).read
    if cupy is not None and isinstance(a, cupy.ndarray):
        return _library(Cupy).read
    return _read_protocols


def _read_protocols(a: Any) -> View:
    interface = getattr(a, "__cuda_array_interface__", None)
    if interface is not None:
        return _read_interface(interface, True, a)
    interface = getattr(a, "__array_interface__", None)
    if interface is not None:
        return _read_interface(interface, False, a)
    if hasattr(a, "__dlpack__"):
        return _read_dlpack(a)
    raise TypeError(
        f"it is {type(a).__name__}, but must be an array: of NumPy, torch or CuPy, or anything with `__dlpack__`, "
        "`__array_interface__` or `__cuda_array_interface__`"
    )


def usual_library(place: int) -> Library:
    """For results of a call without arrays."""
    if place == HOST:
        try:
            return _numpy()
        except ImportError:
            pass
    return _PROTOCOLS


_readers: Dict[type, Callable[[Any], View]] = {Array: _read_own}


def read(a: Any) -> View:
    """Raises TypeError and ValueError with a sentence about `it`."""
    reader = _readers.get(type(a))
    if reader is None:
        reader = _readers[type(a)] = _reader(a)
    return reader(a)


def element_of(view: View) -> Optional[ElementType]:
    return view.library.element(view.kind)


def strides_in_elements(view: View, element: ElementType, order: Sequence[int]) -> Tuple[int, ...]:
    """As the C interface wants them. Raises ValueError for those that it cannot have."""
    shape = view.shape
    dense = _dlpack.dense_strides(shape, order)
    if view.strides is None:
        return _dlpack.dense_strides(shape, range(len(shape)))
    result = []
    for d, stride in enumerate(view.strides):
        steps, rest = divmod(stride, element.size) if view.library.in_bytes else (stride, 0)
        if shape[d] <= 1 or 0 in shape:
            steps = max(dense[d], 1)  # nobody steps along it: what code is fastest with
        elif rest:
            raise ValueError(f"stride {d} is {stride} bytes, which is no multiple of the {element.size} of an element: "
                             "copy it")
        elif steps < 0:
            raise ValueError(f"stride {d} is negative, but must be positive: copy it (numpy.ascontiguousarray)")
        elif steps == 0:
            raise ValueError(f"stride {d} is 0, as of a broadcast array, but must be positive: copy it "
                             "(numpy.ascontiguousarray)")
        result.append(steps)
    return tuple(result)
