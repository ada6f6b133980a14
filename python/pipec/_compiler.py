"""Calls of the program `pipec`. What it compiles it keeps in the cache of `pipec run`, so this file keeps nothing but
the libraries that this process has loaded."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from ._errors import CompileError, CompileWarning, PipecError, ToolError
from ._tables import Tables

_PROGRAM_ERROR, _USAGE, _FILE, _TOOL = 1, 2, 3, 5


@dataclass(frozen=True)
class Program:
    """What is compiled, and how. Either `path` or `text` is set."""

    path: Optional[str] = None
    text: Optional[str] = None
    include: Tuple[str, ...] = ()
    fast_math: bool = False
    schedule: Any = None  # a path, or the document itself
    options: Tuple[str, ...] = ()
    cache: bool = True
    pipec: Optional[str] = None
    # Of another machine: the program, which is `path` there, and what it imports, as absolute paths with texts.
    files: Optional[Tuple[Tuple[str, str], ...]] = None
    phases: bool = False  # those of its pipelines are pipelines, too

    @property
    def name(self) -> str:
        return self.path or "<stdin>"


def find_pipec(named: Optional[str] = None) -> str:
    """The compiler: as named, as $PIPEC says, where an installation of this package has it, or on PATH."""
    for wish, origin in ((named, "`pipec=`"), (os.environ.get("PIPEC"), "the environment variable PIPEC")):
        if wish:
            found = shutil.which(os.path.expanduser(wish))
            if found is None:
                raise ToolError(f"{origin} is `{wish}`, which is no program that can be run")
            return found
    # PREFIX/lib/python3.N/dist-packages/pipec belongs to PREFIX/bin/pipec.
    parents = Path(__file__).resolve().parents
    if len(parents) > 4:
        candidate = parents[4] / "bin" / "pipec"
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which("pipec")
    if found is None:
        raise ToolError("there is no pipec on PATH: install it (`make install`), or let the environment variable PIPEC "
                        "name it")
    return found


def _refuse(code: int, message: str) -> None:
    message = message.strip()
    plain = message[len("pipec: error: "):] if message.startswith("pipec: error: ") else message
    if code == _PROGRAM_ERROR:
        raise CompileError(message)
    if code == _USAGE:
        raise ValueError(plain.replace("\nTry `pipec library --help`.", ""))
    if code == _FILE:
        raise OSError(plain)
    if code == _TOOL:
        raise ToolError(plain)
    raise PipecError(message or f"pipec ended with {code}")


@contextlib.contextmanager
def _in_place(program: Program) -> Iterator[Tuple[str, Sequence[str]]]:
    """The program's path, or `-`, and its directories for imports. Files of another machine are written below a
    directory, where they find each other as they did there."""
    if program.files is None:
        if program.path is not None and not os.path.isfile(program.path):
            code = errno.EISDIR if os.path.isdir(program.path) else errno.ENOENT
            raise OSError(code, os.strerror(code), program.path)  # FileNotFoundError, IsADirectoryError
        yield program.path or "-", program.include
        return
    with tempfile.TemporaryDirectory(prefix="pipec-") as root:
        for path, text in program.files:
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            with open(root + path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        for directory in program.include:
            os.makedirs(root + directory, exist_ok=True)
        yield root + program.path if program.path else "-", [root + directory for directory in program.include]


def call_pipec(program: Program, command: str, arguments: List[str]) -> Tuple[str, str]:
    """What it prints, and what it says. Raises what it refuses. Without a command the program is compiled."""
    with _in_place(program) as (path, include):
        words = [find_pipec(program.pipec), *([command] if command else []), *arguments]
        for directory in include:
            words += ["-I", directory]
        # A file whose name begins with `-` is no option.
        words.append(os.path.join(".", path) if path[0] == "-" and path != "-" else path)
        try:
            done = subprocess.run(words, input=(program.text or "").encode(), capture_output=True)
        except OSError as error:
            raise ToolError(f"pipec cannot be run: {error}") from None
    said = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        _refuse(done.returncode, said)
    return done.stdout.decode(errors="replace"), said


def carried(program: Program) -> Program:
    """The same with all texts in it, for processes that do not have its files."""
    if program.files is not None:
        return program
    schedule = program.schedule
    if isinstance(schedule, (str, os.PathLike)):
        with open(schedule, encoding="utf-8") as file:
            schedule = json.load(file)
    with tempfile.TemporaryDirectory(prefix="pipec-") as directory:
        rule_file = os.path.join(directory, "rule")
        call_pipec(program, "", ["-fsyntax-only", "-w", "-MMD", "-MF", rule_file, "-MT", "program"])
        with open(rule_file, encoding="utf-8") as file:
            rule = file.read()
    # A rule of make: names between white space, where a backslash or a dollar takes the next character as it is.
    rule = rule[rule.index(":") + 1:].replace("\\\n", " ")
    names = [re.sub(r"[\\$](.)", r"\1", name) for name in re.findall(r"(?:\\.|[^\s\\])+", rule)]
    files = []
    for name in names:
        if name != "-":
            with open(name, encoding="utf-8", newline="") as file:
                files.append((os.path.abspath(name), file.read()))
    return replace(program, path=program.path and os.path.abspath(program.path), files=tuple(files), schedule=schedule,
                   include=tuple(os.path.abspath(directory) for directory in program.include))


def _fast_math(program: Program) -> List[str]:
    return ["-ffast-math"] if program.fast_math else []


def _schedule(program: Program, directory: str) -> List[str]:
    if program.schedule is None:
        return []
    if isinstance(program.schedule, (str, os.PathLike)):
        path = os.fspath(program.schedule)
        if not os.path.isfile(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return ["--schedule", path]
    path = os.path.join(directory, "schedule.json")
    with open(path, "w") as file:
        json.dump(program.schedule, file)
    return ["--schedule", path]


def describe(program: Program) -> List[Dict[str, Any]]:
    """The rows of `pipelines`. What the compiler warns of becomes CompileWarning."""
    # What is said of a program is said once, without its phases.
    phases = ["--phases", "-w"] if program.phases else []
    printed, said = call_pipec(program, "library",
                               ["--color", "never", *_fast_math(program), *phases, *program.options])
    if said.strip():
        warnings.warn(said.strip(), CompileWarning, stacklevel=4)
    return json.loads(printed)["pipelines"]


@dataclass
class _Loaded:
    tables: Dict[Tuple[str, str], Tables] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_loaded = _Loaded()


def build(program: Program, pipeline: str, row: Dict[str, Any], device: str, windows: bool = False) -> Tables:
    """The pipeline for a device of this machine, "cpu" or the number of a GPU. `row` is what `describe` said of it.
    `windows`: with functions for windows, too."""
    with tempfile.TemporaryDirectory(prefix="pipec-") as directory:
        path = os.path.join(directory, "pipeline.so")
        arguments = ["-o", path, "--pipeline", pipeline, "--device", device, "-w", "--color", "never"]
        if device != "cpu":
            arguments += [*_fast_math(program), *_schedule(program, directory)]
        if windows:
            arguments.append("--windows")
        if program.phases:
            arguments.append("--phases")
        if not program.cache:
            arguments.append("--no-cache")
        printed, said = call_pipec(program, "library", [*arguments, *program.options])
        document = json.loads(printed)
        if said.strip():
            warnings.warn(said.strip(), CompileWarning, stacklevel=5)
        if row not in document["pipelines"]:
            raise PipecError(f"{program.name} has changed since pipec.compile: compile it again")
        key = (document["object"]["key"], pipeline)
        with _loaded.lock:
            if key not in _loaded.tables:
                _loaded.tables[key] = Tables(path, pipeline)  # it stays there when its file goes
            return _loaded.tables[key]


def explain(program: Program) -> str:
    """The page of `pipec explain`."""
    with tempfile.TemporaryDirectory(prefix="pipec-") as directory:
        fast_math = ["--ffast-math"] if program.fast_math else []
        arguments = ["--html", "-w", "--color", "never", *fast_math, *_schedule(program, directory)]
        return call_pipec(program, "explain", arguments)[0]
