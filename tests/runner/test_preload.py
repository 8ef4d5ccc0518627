"""What the fork server imports before it forks."""

import gc
from pathlib import Path

import pytest

from runner.process import server


def test_garbage_is_not_looked_for_while_everything_that_stays_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch", "needed"):
        (tmp_path / f"{name}_of_ours.py").write_text("import gc\nENABLED = gc.isenabled()\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    load = server.importlib.import_module
    monkeypatch.setattr(server.importlib, "import_module", lambda name: seen.append(load(f"{name}_of_ours")))
    assert server.preload(["needed", "missing"]) > 0
    assert [each.ENABLED for each in seen] == [False, False]
    assert gc.isenabled()
