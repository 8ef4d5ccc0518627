"""`xlabench.measure`: measure a module that a script or notebook holds, in the same processes as the command's."""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from store.errors import XlabenchError

if TYPE_CHECKING:
    import pandas as pd

    from store.report.table import Report

PICKLED = "own.json"
RUN = "run"
"""File in the folder of a module that names the run, once it is in the store."""
_EXIT_USAGE = 2
_HEIGHT_PX = 640
_TERMINAL = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables by which a notebook declares that it shows colours; it cannot overwrite lines, so they are removed."""


class MeasureError(XlabenchError):
    """The module cannot be measured; the text is one sentence."""


class Result:
    """The result of a call of `measure`."""

    def __init__(self, report: Report, rows: list[dict[str, Any]], run_id: str) -> None:
        self._report = report
        self._rows = rows
        self.run_id = run_id
        """Id of the run, as `xlabench report --run` takes it."""

    @property
    def best(self) -> str | None:
        """Return the backend with the smallest latency; of several tests, with the smallest geometric mean of theirs.

        It has a valid result of each test; None: there is no such backend. `print(result)` says how sure the
        difference is.
        """
        tests = {row["test"] for row in self._rows}
        latencies: dict[str, dict[str, float]] = {}
        for row in self._rows:
            if row["valid"] and row["latency_s"] is not None:
                latencies.setdefault(row["variant"], {})[row["test"]] = row["latency_s"]
        products = {variant: math.prod(by.values()) for variant, by in latencies.items() if by.keys() == tests}
        return min(products, key=lambda variant: products[variant], default=None)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per backend and test, as view `speedups` has them."""
        import pandas as pd

        return pd.DataFrame(self._rows)

    def __str__(self) -> str:
        from store.report import render

        return render(self._report, "text")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the tables and the chart for a notebook, in a frame of their own, so that no style leaks."""
        from store.report.pictures import ratio_drawing
        from store.report.render import Figure, html_page

        picture = self._report.picture
        figures = []
        if picture is not None and picture.marks:
            figures = [Figure("Speedup", picture.axis, lambda: ratio_drawing(picture), wide=True)]
        page = html_page(self._report, figures, first=1)
        style = f"width:100%;height:{_HEIGHT_PX}px;border:0"
        return f'<iframe sandbox style="{style}" srcdoc="{escape(page)}"></iframe>'


def measure(
    module: Any,
    inputs: Any = None,
    *,
    backends: Sequence[str] = (),
    test: str | Sequence[str] = "eval",
    loss: Callable[[Any, Any], Any] | None = None,
    verify: bool = True,
    quick: bool = False,
    processes: int | None = None,
    repeat: int | None = None,
    home: Path | str | None = None,
    flags: Sequence[str] = (),
    show: bool = True,
) -> Result:
    """Measure a module under several backends, each in processes of its own, and compare what they return.

    Args:
        module: an `nn.Module` on the CPU.
        inputs: the inputs of one call: a tensor, a tuple of arguments or a dict; None: those of `example_inputs()`.
        backends: names such as `eager`, `inductor`, `openxla+lazytensor`, `openxla+dynamo`; none: all four.
        test: `eval`, `train`, or both.
        loss: a function of output and inputs, for train; None: the module's `loss`, else the mean square.
        verify: compare the results of each backend with eager's.
        quick: take a first look, as `xlabench run --quick` does.
        processes: number of processes per experiment; None: as many as the command starts.
        repeat: number of timed blocks per process; None: as many as the command takes.
        home: folder of runs and store; None: that of the command.
        flags: further flags of `xlabench run`, such as `--fullgraph`.
        show: print the progress of the run on stderr.

    Raises:
        MeasureError: the module cannot be sent to another process, or does not run there.
    """
    tests, backends = ([names] if isinstance(names, str) else list(names) for names in (test, backends))
    words = [*(f"--backend={name}" for name in backends), *(f"--test={name}" for name in tests)]
    words += [] if verify else ["--no-verify"]
    words += ["--quick"] if quick else []
    words += [f"--processes={processes}"] if processes else []
    words += [f"--repeat={repeat}"] if repeat else []
    words += [f"--home={home}"] if home is not None else []
    words += [flags] if isinstance(flags, str) else flags
    with tempfile.TemporaryDirectory(prefix="xlabench-module-") as folder:
        _bring(Path(folder), module, inputs, loss)
        _run([f"--pickled={folder}", *words], show=show)
        run_file = Path(folder) / RUN
        if not run_file.exists():
            raise MeasureError("Nothing was measured; the lines above say why.")
        return _result(run_file.read_text(encoding="utf-8"), home)


def _bring(folder: Path, module: Any, inputs: Any, loss: Any) -> None:
    """Write a module so that another process can read it: by cloudpickle, else as a program of torch.export.

    Raises:
        MeasureError: neither can; it says why.
    """
    import msgspec
    import torch

    from runner.settings import OwnModel
    from runner.suites.own.inputs import check_uncompiled
    from runner.suites.own.reference import MEASURED, OwnModelError, tag_of

    if not isinstance(module, torch.nn.Module):
        raise MeasureError(f"measure expects an nn.Module, not a {type(module).__name__}.")
    try:
        check_uncompiled(module, type(module).__name__)
    except OwnModelError as error:
        raise MeasureError(str(error)) from None
    if inputs is None:
        inputs = _example_inputs(module)
    name, sha256 = f"{MEASURED}{type(module).__name__}", _identity(module, inputs, loss)
    form, place = _written(folder, module, inputs, loss)
    own = OwnModel(
        name=f"{name}@{tag_of(sha256, ())}",
        form=form,  # type: ignore[arg-type]  # one of two of its words
        place=place,
        sha256=sha256,
        folders=tuple(str(Path(folder_on_path or ".").resolve()) for folder_on_path in sys.path),
    )
    (folder / PICKLED).write_bytes(msgspec.json.encode(own))


def _example_inputs(module: Any) -> Any:
    inputs = getattr(module, "example_inputs", None)
    if inputs is None:
        raise MeasureError(f"{type(module).__name__} has no inputs: pass them, as in measure(module, inputs).")
    return inputs() if callable(inputs) else inputs


def _written(folder: Path, module: Any, inputs: Any, loss: Any) -> tuple[str, str]:
    from runner.suites.own.build import PICKLE

    failures = []
    try:
        import cloudpickle

        content = {"module": module, "inputs": inputs, "loss": loss}
        (folder / PICKLE).write_bytes(cloudpickle.dumps(content))
    except Exception as error:  # noqa: BLE001 - whatever a user's object raises is the answer
        failures.append(f"cloudpickle: {type(error).__name__}: {error}")
    else:
        return "pickled", str(folder)
    try:
        import torch

        args = inputs if isinstance(inputs, tuple) else () if isinstance(inputs, dict) else (inputs,)
        program = torch.export.export(module, args, inputs if isinstance(inputs, dict) else None)
        torch.export.save(program, folder / "module.pt2")
    except Exception as error:  # noqa: BLE001 - as above
        failures.append(f"torch.export: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
    else:
        return "exported", str(folder / "module.pt2")
    reasons = "; ".join(failures)
    raise MeasureError(f"{type(module).__name__} cannot be sent to another process ({reasons}). Measure its file.")


def _identity(module: Any, inputs: Any, loss: Any) -> str:
    """Return the hash of the module's code and form, and of the form of its inputs; not of its weights."""
    lines = [str(module), _shapes(inputs)]
    kinds = {type(submodule) for submodule in module.modules()} | ({loss} if loss is not None else set())
    lines += sorted(_text(kind) for kind in kinds if not getattr(kind, "__module__", "").startswith("torch."))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _text(kind: Any) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):  # defined at a prompt that stores no source
        return str(getattr(kind, "__qualname__", kind))


def _shapes(inputs: Any) -> str:
    from torch.utils import _pytree as pytree

    leaves, structure = pytree.tree_flatten(inputs)
    forms = [f"{leaf.dtype}{tuple(leaf.shape)}" if hasattr(leaf, "shape") else repr(leaf) for leaf in leaves]
    return f"{structure} {forms}"


def _run(words: list[str], *, show: bool) -> None:
    """Run the command in a process of its own; what it says of the run goes to stderr of this one.

    Raises:
        MeasureError: it refuses.
        KeyboardInterrupt: as here, so there.
    """
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-m", "xlabench", "run", *words],
        env={**{name: value for name, value in os.environ.items() if name not in _TERMINAL}, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    lines: list[str] = []
    try:
        for line in process.stderr or ():
            lines.append(line.rstrip("\n"))
            if show:
                print(lines[-1], file=sys.stderr)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    if process.wait() == _EXIT_USAGE:
        raise MeasureError(lines[-1].removeprefix("xlabench: ") if lines else "The command failed without a message.")


def _result(run_id: str, home: Path | str | None) -> Result:
    from store.choose import newest_snapshot
    from store.paired import baseline_of, paired_report
    from store.query import Filters, connect, fetch, named, with_baseline

    filters = Filters(run=(run_id,))
    place = Path(home or os.environ.get("XLABENCH_HOME") or "xlabench-data")
    with connect(newest_snapshot(place / "store")) as con:
        baseline = baseline_of(con, run_id) or "eager"
        rows = fetch(con, named("speedups"), with_baseline(filters, baseline, None))
        return Result(paired_report(con, filters, baseline_backend=baseline), rows, run_id)
