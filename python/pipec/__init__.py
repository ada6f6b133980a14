"""Image pipelines in the language of pipec, called with arrays of NumPy, torch, CuPy and others.

    import pipec

    harris = pipec.compile("harris.pipe")
    corners = harris(image, k=0.05)

docs/python.md says all of it.
"""

from ._call import release_workspaces
from ._errors import CompileError, CompileWarning, DeviceError, PipecError, ToolError
from ._function import Function, compile, load, source
from ._own import Array
from ._window import Window

__version__ = "0.1.0"
__all__ = [
    "Array", "CompileError", "CompileWarning", "DeviceError", "Function", "PipecError", "ToolError", "Window",
    "compile", "load", "release_workspaces", "source",
]
