"""The few functions of CUDA's driver that calls need, found at run time, as pipec-run finds them.

Generated code has the CUDA runtime inside, which works in whatever context is current: the primary context of a device
is all that it shares with this file, and with torch and CuPy.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Dict, Iterator, Optional

from ._errors import DeviceError, ToolError

_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_MEMORY_POOLS = 115  # CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
_RELEASE_THRESHOLD = 4  # CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
_NO_TIMING = 2  # CU_EVENT_DISABLE_TIMING

_FUNCTIONS = {
    "cuInit": (c_uint,),
    "cuDeviceGetCount": (c_void_p,),
    "cuDeviceGet": (c_void_p, c_int),
    "cuDeviceGetAttribute": (c_void_p, c_int, c_int),
    "cuDevicePrimaryCtxRetain": (c_void_p, c_int),
    "cuCtxGetDevice": (c_void_p,),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (c_void_p,),
    "cuPointerGetAttribute": (c_void_p, c_int, c_uint64),
    "cuMemAlloc_v2": (c_void_p, c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemPoolCreate": (c_void_p, c_void_p),
    "cuMemPoolSetAttribute": (c_void_p, c_int, c_void_p),
    "cuMemAllocFromPoolAsync": (c_void_p, c_size_t, c_void_p, c_void_p),
    "cuMemFreeAsync": (c_uint64, c_void_p),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuEventCreate": (c_void_p, c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventDestroy_v2": (c_void_p,),
    "cuGetErrorName": (c_int, c_void_p),
    "cuGetErrorString": (c_int, c_void_p),
}


class _PoolProperties(ctypes.Structure):
    _fields_ = [("kind", c_int), ("handles", c_int), ("location", c_int), ("device", c_int), ("zeros", c_uint64 * 9)]


class Driver:
    """libcuda.so.1, initialised."""

    def __init__(self) -> None:
        try:
            library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise ToolError(
                f"there is no CUDA driver: {error}\nlibcuda.so.1 comes with NVIDIA's driver; arrays in host memory "
                "need none"
            ) from None
        for name, arguments in _FUNCTIONS.items():
            try:
                function = getattr(library, name)
            except AttributeError:
                raise ToolError(f"the CUDA driver is too old: libcuda.so.1 has no {name}") from None
            function.argtypes = arguments
            function.restype = c_int
            setattr(self, name, function)
        self.call("cuInit", 0)
        count = c_int()
        self.call("cuDeviceGetCount", byref(count))
        self.count = count.value
        self._contexts: Dict[int, int] = {}
        self._pools: Dict[int, Optional[int]] = {}
        self._lock = threading.Lock()

    def call(self, name: str, *arguments: object) -> None:
        """Raises DeviceError where it fails."""
        result = getattr(self, name)(*arguments)
        if result != 0:
            raise DeviceError(f"{name} failed: {self.text(result)}")

    def text(self, error: int) -> str:
        name, sentence = c_char_p(), c_char_p()
        self.cuGetErrorName(error, byref(name))
        self.cuGetErrorString(error, byref(sentence))
        if not name.value or not sentence.value:
            return f"error {error}"
        return f"{sentence.value.decode()} ({name.value.decode()})"

    def _handle(self, ordinal: int) -> int:
        if not 0 <= ordinal < self.count:
            there = {0: "there is none", 1: "there is one, number 0"}.get(self.count, f"there are {self.count}, from 0")
            raise ValueError(f"there is no GPU {ordinal}: {there}")
        device = c_int()
        self.call("cuDeviceGet", byref(device), ordinal)
        return device.value

    def _context(self, ordinal: int) -> int:
        with self._lock:
            if ordinal not in self._contexts:
                context = c_void_p()
                self.call("cuDevicePrimaryCtxRetain", byref(context), self._handle(ordinal))
                self._contexts[ordinal] = context.value or 0
            return self._contexts[ordinal]

    def enter(self, ordinal: int) -> bool:
        """Makes a GPU the current one of this thread; where that changed something, `leave` undoes it."""
        now = c_int(-1)
        if self.cuCtxGetDevice(byref(now)) == 0 and now.value == ordinal:
            return False
        self.call("cuCtxPushCurrent_v2", self._contexts.get(ordinal) or self._context(ordinal))
        return True

    def leave(self) -> None:
        self.cuCtxPopCurrent_v2(byref(c_void_p()))

    @contextlib.contextmanager
    def current(self, ordinal: int) -> Iterator[None]:
        """The same as long as this lasts; what is called for every launch does without, as this takes longer."""
        pushed = self.enter(ordinal)
        try:
            yield
        finally:
            if pushed:
                self.leave()

    def device_of(self, address: int) -> int:
        """The GPU that memory belongs to. Raises ValueError where it is no memory of a GPU."""
        ordinal = c_int(-1)
        if self.cuPointerGetAttribute(byref(ordinal), _DEVICE_ORDINAL, address) != 0 or ordinal.value < 0:
            raise ValueError(f"the address {address:#x} is no memory of a GPU")
        return ordinal.value

    def _pool(self, ordinal: int) -> Optional[int]:
        """Memory that stays this package's own from call to call; None where the GPU cannot have such pools."""
        with self._lock:
            if ordinal not in self._pools:
                able = c_int()
                self.call("cuDeviceGetAttribute", byref(able), _MEMORY_POOLS, self._handle(ordinal))
                pool = c_void_p()
                if able.value:
                    properties = _PoolProperties(kind=1, location=1, device=ordinal)  # pinned, on the device
                    self.call("cuMemPoolCreate", byref(pool), byref(properties))
                    self.call("cuMemPoolSetAttribute", pool, _RELEASE_THRESHOLD, byref(c_uint64(2**64 - 1)))
                self._pools[ordinal] = pool.value
            return self._pools[ordinal]

    def allocate(self, ordinal: int, size: int, stream: int) -> int:
        """Memory that work of the stream may use from now on; the GPU is current."""
        pool = self._pools[ordinal] if ordinal in self._pools else self._pool(ordinal)
        address = c_uint64()
        if pool is None:
            self.call("cuMemAlloc_v2", byref(address), size)
        else:
            self.call("cuMemAllocFromPoolAsync", byref(address), size, pool, stream)
        return address.value

    def free(self, ordinal: int, address: int, stream: int) -> None:
        """Gives memory back behind all that the stream has to do; the GPU is current."""
        if self._pools.get(ordinal) is not None and self.cuMemFreeAsync(address, stream) == 0:
            return
        self.cuStreamSynchronize(stream)  # the stream itself may be gone
        self.cuMemFree_v2(address)

    def order(self, before: int, after: int) -> None:
        """What the stream `after` gets from now on waits for what `before` has; the GPU is current."""
        event = c_void_p()
        self.call("cuEventCreate", byref(event), _NO_TIMING)
        try:
            self.call("cuEventRecord", event, before)
            self.call("cuStreamWaitEvent", after, event, 0)
        finally:
            self.cuEventDestroy_v2(event)


_driver: Optional[Driver] = None
_driver_lock = threading.Lock()


def driver() -> Driver:
    global _driver
    if _driver is None:
        with _driver_lock:
            if _driver is None:
                _driver = Driver()
    return _driver


def stream_handle(stream: object) -> int:
    """Of a number, or a stream of torch, CuPy or cuda-python."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        if isinstance(value, int):
            return value
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    raise TypeError(f"the stream is {type(stream).__name__}, but must be a number or a stream of torch or CuPy")
