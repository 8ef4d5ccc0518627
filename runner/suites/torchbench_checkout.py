"""Find a checkout of github.com/pytorch/benchmark, its models and its commit. Imports no torch."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "TORCHBENCH_DIR"
REPOSITORY = "https://github.com/pytorch/benchmark"
_FOLDER_NAMES = ("benchmark", "torchbench", "pytorch-benchmark")
_MODELS = Path("torchbenchmark", "models")


def find(requested: Path | None) -> Path | None:
    """Return the checkout: as requested, else as `TORCHBENCH_DIR` says, else beside the working folder or a parent.

    A folder named by the user is never replaced by another: if it holds no checkout, there is none.
    """
    named = requested or os.environ.get(VARIABLE)
    if named:
        folder = Path(named).expanduser().resolve()
        return folder if _is_checkout(folder) else None
    here = Path.cwd().resolve()
    candidates = (folder / name for folder in (here, *here.parents) for name in _FOLDER_NAMES)
    return next(filter(_is_checkout, candidates), None)


def advice(requested: Path | None) -> str:
    """Say in one sentence that there is no checkout and how to get one."""
    named = requested or os.environ.get(VARIABLE)
    found = f" ({named} holds none)" if named else ""
    return (
        f"Suite torchbench needs a checkout of github.com/pytorch/benchmark{found}: git clone {REPOSITORY} "
        f"and pass --torchbench-dir DIR (or set {VARIABLE}); PyPI's projects of that name are others."
    )


def model_names(checkout: Path) -> list[str]:
    """Return the names of all models, sorted, as torchbench itself lists them."""
    return sorted(
        entry.parent.name for entry in (checkout / _MODELS).glob("*/__init__.py") if entry.parent.name != "fb"
    )


def commit(checkout: Path) -> str | None:
    """Return the checked-out commit from git's own files, or None for a folder without history."""
    git = _git_folder(checkout)
    if git is None:
        return None
    head = _text(git / "HEAD")
    if not head.startswith("ref: "):
        return head or None
    reference = head.removeprefix("ref: ")
    # A worktree keeps its references in the repository it belongs to.
    common = (git / _text(git / "commondir")).resolve() if (git / "commondir").exists() else git
    return _text(git / reference) or _text(common / reference) or _packed(common, reference)


def _is_checkout(folder: Path) -> bool:
    return (folder / _MODELS / "__init__.py").is_file()


def _git_folder(checkout: Path) -> Path | None:
    git = checkout / ".git"
    if git.is_file():
        git = (checkout / _text(git).removeprefix("gitdir: ")).resolve()
    return git if git.is_dir() else None


def _packed(git: Path, reference: str) -> str | None:
    for line in _text(git / "packed-refs").splitlines():
        digest, _, name = line.partition(" ")
        if name == reference:
            return digest
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
