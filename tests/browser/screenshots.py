"""Pictures of every page over the runs of the demo: `python tests/browser/screenshots.py [OUTDIR]`."""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
from harness import PATHS, ROOT, running_browser, running_server, settled
from PIL import Image
from playwright.sync_api import Browser

from store import changepoints
from store.ingest import ingest

IMAGES = ROOT / "docs" / "images"
RUNS = ROOT / "demo" / "runs"


def _id(folder: str) -> str:
    """Return the id of a run of the demo."""
    run_id: str = json.loads((RUNS / folder / "run.json").read_text())["run"]["run_id"]
    return run_id


SHOWN = {
    "/": {"run": "nightly-12"},
    "/speedup": {"run": "nightly-12"},
    "/compile-time": {"run": "nightly-12"},
    "/runs": {"run": "nightly-12"},
    "/trends": {"run": "nightly-12"},
    "/fallback-ops": {"run": "fallbacks"},
    "/operators": {"run": "operators"},
    "/compare": {"a": "nightly-04", "b": "nightly-05"},
    "/model": {"run": "own-model"},
}
"""Path of a page → parameters, and the run of the demo that has most to show there."""
MORE = {"/model": "&model=mymodel.py:SpatialTransformer@340b14db", "/trends": "&suite=timm_models"}
LONGEST_PX = 4000
PAINT_MS = 1500
COLOURS = 256
"""Of a picture's palette: a third of the bytes of full colour, by coverage, so that small marks keep their colour."""
AREAS = 16
"""Of these, the most frequent ones: a palette by coverage would change the tint of the sidebar."""


class Size(NamedTuple):
    """A window and its colours."""

    name: str
    width: int
    height: int
    scheme: str


SIZES = (Size("light", 1440, 900, "light"), Size("dark", 1440, 900, "dark"), Size("phone", 390, 844, "light"))


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outdir", type=Path, nargs="?", default=IMAGES)
    parser.add_argument("--store", type=Path, help="folder of another store")
    parser.add_argument("--query", default="", help="filters as in a link: test=eval&model=resnet18")
    parser.add_argument("--only", action="append", help="path of a page, as /speedup")
    parser.add_argument("--whole", action="store_true", help="each page in its whole length, beside its first screen")
    args = parser.parse_args()
    args.outdir.mkdir(parents=True, exist_ok=True)
    with _scratch() as scratch:
        store = args.store or scratch / "store"
        if not args.store:
            ingest([RUNS], store)
            changepoints.update(store, Path(shutil.copy(RUNS.parent / "state.sqlite", scratch)))  # as the command does
        with running_server(store) as url, running_browser() as browser:
            for path in args.only or PATHS:
                query = args.query or ("" if args.store else _query(path))
                for size in SIZES:
                    shoot(browser, f"{url}{path}?{query}", PATHS[path], size, args.outdir, whole=args.whole)

            if not args.store and not args.only:
                _shoot_weekly(browser, store, args.outdir)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Yield a new folder of a fixed name, as commands in the pictures have it."""
    folder = Path(tempfile.gettempdir(), "xlabench-demo")
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _shoot_weekly(browser: Browser, store: Path, outdir: Path) -> None:
    """Save the first screen of the weekly review of the runs that page Compare shows."""
    sides = SHOWN["/compare"]
    file = store.parent / "weekly.html"
    command = [sys.executable, "-m", "xlabench", "report", "weekly", "--database", str(store), "--format", "html"]
    command += ["--run", _id(sides["b"]), "--since", _id(sides["a"]), "--output", str(file)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    page = browser.new_page(viewport={"width": SIZES[0].width, "height": SIZES[0].height})
    page.goto(file.as_uri())
    page.wait_for_timeout(PAINT_MS)
    _save(page.screenshot, outdir / "weekly.png")


def _query(path: str) -> str:
    """Return the parameters of a page."""
    return "&".join(f"{name}={_id(run)}" for name, run in SHOWN.get(path, {}).items()) + MORE.get(path, "")


def shoot(browser: Browser, url: str, title: str, size: Size, outdir: Path, *, whole: bool) -> None:
    """Save the first screen, and the whole page where it is asked for."""
    page = browser.new_page(viewport={"width": size.width, "height": size.height}, color_scheme=size.scheme)
    page.goto(url)
    settled(page, title)
    page.wait_for_timeout(PAINT_MS)
    name = f"{urlsplit(url).path.strip('/') or 'overview'}-{size.name}"
    _save(page.screenshot, outdir / f"{name}.png")
    if whole:
        full = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": size.width, "height": min(max(size.height, full + 60), LONGEST_PX)})
        page.wait_for_timeout(PAINT_MS)
        _save(page.screenshot, outdir / f"{name}-whole.png")
    page.close()
    print(name)


def _save(take, path: Path) -> None:
    """Save a picture with few colours; each becomes exactly the nearest of the palette, which Pillow approximates."""
    take(path=path)
    picture = Image.open(path).convert("RGB")
    palette = _palette(picture)
    colours, places = np.unique(np.asarray(picture).reshape(-1, 3), axis=0, return_inverse=True)
    nearest = np.abs(colours[:, None].astype(int) - palette).sum(axis=2).argmin(axis=1).astype(np.uint8)
    small = Image.fromarray(nearest[places].reshape(picture.height, picture.width), "P")
    small.putpalette(palette.flatten().tolist())
    small.save(path, optimize=True)


def _palette(picture: Image.Image) -> np.ndarray:
    """Return colours in rows: those of large areas as they are, and others that also cover small marks."""
    counts = picture.getcolors(picture.width * picture.height) or []
    areas = [part for _, colour in sorted(counts, reverse=True)[:AREAS] for part in colour]
    covering = picture.quantize(COLOURS - AREAS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).getpalette()
    return np.array((areas + (covering or []) + [0] * 3 * COLOURS)[: 3 * COLOURS]).reshape(COLOURS, 3)


if __name__ == "__main__":
    main()
