"""Pictures of every page over measured runs of tests/data: `python tests/browser/screenshots.py [OUTDIR]`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from harness import PATHS, ROOT, running_browser, running_server, settled
from PIL import Image

from store.ingest import ingest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES = ROOT / "docs" / "images"
DATA = ROOT / "tests" / "data"
MANY = (DATA / "review", DATA / "operators")
FEW = (DATA / "showcase",)
"""Models that readers know, verified: the smoke plan, thrice."""
KNOWN = "run=8d1c9d4b-9a50-4492-a202-99c6a91d6385"
"""On a quiet machine, three processes each."""
SHOWN = {
    **dict.fromkeys(("/", "/speedup", "/compile-time", "/runs"), KNOWN),
    "/trends": f"{KNOWN}&suite=timm_models",
    "/fallback-ops": "run=e065a9cb-9d6c-4852-956d-b8d1b4592a62",
    "/operators": "run=8f5cbf5e-cdf2-4dbc-9493-ba33a5b3f5ab",
    "/compare": "a=46cd25f5-818b-4138-ab42-612be2fabda1&b=45032836-1642-4ad1-b5fb-06b1800d327d",
    "/model": f"{KNOWN}&suite=timm_models&model=resnet18&test=eval",
}
"""Path of a page → the run of the data set that has most to show there."""
LONGEST_PX = 4000
PAINT_MS = 1500
COLOURS = 256
"""Of a picture's palette: a third of the bytes of full colour, and no difference to see."""


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
    with tempfile.TemporaryDirectory() as scratch:
        for number, runs in enumerate([()] if args.store else [FEW, MANY]):
            store = args.store or Path(scratch) / str(number)
            if runs:
                ingest(runs, store)
            paths = [
                path for path in args.only or PATHS if args.store or (KNOWN in SHOWN.get(path, "")) == (runs is FEW)
            ]
            with running_server(store) as url, running_browser() as browser:
                for path in paths:
                    query = args.query or ("" if args.store else SHOWN.get(path, ""))
                    for size in SIZES:
                        shoot(browser, f"{url}{path}?{query}", PATHS[path], size, args.outdir, whole=args.whole)


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
    take(path=path)
    Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
