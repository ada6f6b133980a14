"""Array: results where the caller's arrays belong to no library that could make more of them."""

from __future__ import annotations

import ctypes
import math
from typing import Any, Dict, Optional, Tuple

from . import _cuda, _dlpack
from ._types import ElementType

HOST = -1  # a place; others are numbers of GPUs


class Array:
    """Memory with a shape, which NumPy, torch, CuPy and others take without a copy.

    On the host `numpy.asarray(a)` and `memoryview(a.bytes)` see it, on a GPU `torch.as_tensor(a)` and
    `cupy.asarray(a)`; both also have `__dlpack__`.
    """

    def __init__(self, shape: Tuple[int, ...], element: ElementType, strides: Tuple[int, ...], place: int,
                 stream: int = 0):
        """Strides are in elements and leave no gaps. A GPU must be the current one."""
        self.shape = shape
        self.dtype = element.name
        self._element, self._place, self._stream = element, place, stream
        self._strides = strides
        self._size = size = math.prod(shape) * element.size
        self._address = 0
        if place == HOST:
            self._memory = (ctypes.c_char * (size + 63))()
            self._address = (ctypes.addressof(self._memory) + 63) // 64 * 64
        else:
            self._address = _cuda.driver().allocate(place, size, stream)

    def __del__(self, get_driver: Any = _cuda.driver) -> None:
        if self._place == HOST or not self._address:
            return
        try:
            driver = get_driver()
            with driver.current(self._place):
                driver.free(self._place, self._address, self._stream)
        except Exception:  # the interpreter or the driver is going
            pass

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def device(self) -> Optional[int]:
        """The number of its GPU; None in host memory."""
        return None if self._place == HOST else self._place

    @property
    def bytes(self) -> ctypes.Array:
        """The memory itself, of an array on the host."""
        if self._place != HOST:
            raise ValueError("the array is in a GPU's memory")
        whole = (ctypes.c_char * self._size).from_buffer(self._memory, self._address - ctypes.addressof(self._memory))
        return whole

    def _interface(self) -> Dict[str, Any]:
        size = self._element.size
        return {
            "shape": self.shape,
            "typestr": self._element.typestr,
            "data": (self._address, False),
            "strides": tuple(s * size for s in self._strides),
            "version": 3,
        }

    def __getattr__(self, name: str) -> Any:
        # Each exists only where it is true, as libraries ask for one after the other.
        if name == "__array_interface__" and self._place == HOST:
            return self._interface()
        if name == "__cuda_array_interface__" and self._place != HOST:
            return {**self._interface(), "stream": self._stream or 1}
        raise AttributeError(f"'Array' object has no attribute '{name}'")

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (_dlpack.CPU, 0) if self._place == HOST else (_dlpack.CUDA, self._place)

    def __dlpack__(self, *, stream: Optional[int] = None, max_version: Any = None, dl_device: Any = None,
                   copy: Optional[bool] = None) -> Any:
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("the array cannot be copied, nor to another device")
        if self._place != HOST and stream != -1:
            driver = _cuda.driver()
            with driver.current(self._place):
                driver.order(self._stream, stream or 1)
        return _dlpack.capsule(self, self._address, self._element, self.shape, self._strides, self.__dlpack_device__())

    def __repr__(self) -> str:
        where = "host" if self._place == HOST else f"GPU {self._place}"
        return f"<pipec.Array {self.dtype}{list(self.shape)} on {where}>"
