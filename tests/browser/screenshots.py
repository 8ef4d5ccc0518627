"""Pictures of every page, light and dark: `python tests/browser/screenshots.py OUTDIR STORE_DIR`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from harness import PATHS, running_browser, running_server, settled

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTH, HEIGHT = 1440, 900
LONGEST_PX = 4000
PAINT_MS = 1200


def main() -> None:
    """Take the pictures and print how long each page took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outdir", type=Path)
    parser.add_argument("store_dir", type=Path)
    parser.add_argument("--query", default="", help="filters as in a link: test=eval&model=resnet18")
    parser.add_argument("--scheme", nargs="+", default=["light", "dark"], choices=["light", "dark"])
    args = parser.parse_args()
    args.outdir.mkdir(parents=True, exist_ok=True)
    with running_server(args.store_dir) as url, running_browser() as browser:
        for scheme in args.scheme:
            for path, title in PATHS.items():
                shoot(browser, f"{url}{path}?{args.query}", title, scheme, args.outdir)


def shoot(browser: Browser, url: str, title: str, scheme: str, outdir: Path) -> None:
    """Save the first screen and the whole page."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
    begin = time.monotonic()
    page.goto(url)
    settled(page, title)
    took = time.monotonic() - begin
    page.wait_for_timeout(PAINT_MS)
    name = f"{title.lower().replace(' ', '-')}-{scheme}"
    page.screenshot(path=outdir / f"{name}.png")
    full = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": WIDTH, "height": min(max(HEIGHT, full + 60), LONGEST_PX)})
    page.wait_for_timeout(PAINT_MS)
    page.screenshot(path=outdir / f"{name}-whole.png")
    page.close()
    print(f"{name}: {took:.1f} s")


if __name__ == "__main__":
    main()
