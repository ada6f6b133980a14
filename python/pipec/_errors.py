"""What is raised besides ValueError, TypeError and FileNotFoundError."""


class PipecError(Exception):
    """What all exceptions of this package have in common."""


class CompileError(PipecError):
    """The program has errors, or its schedule does not fit it. The text is the compiler's, with places and carets."""


class ToolError(PipecError):
    """pipec, the C++ compiler, nvcc, NVIDIA's driver or the GPU is missing, or a compiler failed."""


class DeviceError(PipecError):
    """CUDA refused a call or a kernel."""


class CompileWarning(UserWarning):
    """What the compiler warns of."""
