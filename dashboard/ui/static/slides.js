// Each chart as a slide, and the page's sentences and charts as a deck: one file each, made of what the page shows.
(() => {
  "use strict";

  const WIDTH = 1600, HEIGHT = 900, EDGE = 60;
  const FONT = "'Source Sans 3', 'Source Sans Pro', 'Helvetica Neue', Arial, sans-serif";
  const MAIN = "[data-testid=stMain]", CHART = "[data-testid=stVegaLiteChart]";
  const texts = (selector) => [...document.querySelectorAll(`${MAIN} ${selector}`)].map((each) => each.innerText.trim());
  const clean = (text) => (text ?? "").replace(/\s+/g, " ").replace(/^warning /, "").trim();
  const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  // What the page says: its title, its first sentence and those below it, what speaks against it, where it is from.
  const pageTexts = () => ({
    title: clean(texts("h1")[0]),
    verdict: clean(texts("h4")[0]),
    more: texts(".st-key-answers li").map(clean),
    doubt: clean(texts(".st-key-doubt p")[0]),
    origin: clean(texts(".st-key-origin p")[0]).split(" \u00b7 ").filter((part) => !part.startsWith("ingested")).join(" \u00b7 "),
  });

  // The heading that a chart stands below, else what readers who cannot see it are told.
  const named = (chart) => {
    const before = [...document.querySelectorAll(`${MAIN} h2, ${MAIN} h3`)]
      .filter((heading) => heading.compareDocumentPosition(chart) & Node.DOCUMENT_POSITION_FOLLOWING);
    return clean(before.pop()?.innerText ?? chart.querySelector("svg")?.getAttribute("aria-label") ?? "");
  };

  const ruler = document.createElement("canvas").getContext("2d");
  const wrapped = (text, size, weight) => {
    ruler.font = `${weight} ${size}px ${FONT}`;
    const lines = [""];
    for (const word of text.split(" ")) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (ruler.measureText(longer).width <= WIDTH - 2 * EDGE) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  };

  // Return a slide of 16:9 as the text of an SVG file; without a chart its sentences stand alone.
  const slide = (page, chart) => {
    const look = getComputedStyle(document.querySelector("[data-testid=stApp]"));
    const parts = [];
    let y = EDGE;
    const write = (text, size, { weight = 400, fill = look.color, opacity = 1, at = null } = {}) => {
      for (const line of text ? wrapped(text, size, weight) : []) {
        y += size * 1.3;
        parts.push(`<text x="${EDGE}" y="${at ?? y}" font-size="${size}" font-weight="${weight}" fill="${fill}"`
          + ` opacity="${opacity}">${escaped(line)}</text>`);
      }
    };
    const heading = chart ? [page.title, named(chart)].filter(Boolean).join(" \u00b7 ") : page.title;
    write(heading, 30, { weight: 600, opacity: 0.75 });
    write(page.verdict, 40, { weight: 700 });
    if (!chart) page.more.forEach((text) => { y += 14; write(`\u2022 ${text}`, 30); });
    y += 10;
    write(page.doubt, 24, { fill: "#B8741E" });
    const foot = HEIGHT - EDGE - wrapped(page.origin, 20, 400).length * 26;
    const svg = chart?.querySelector("svg");
    if (svg) {
      const copy = svg.cloneNode(true);
      // Files have another font than the page: each text keeps the width that its place was made for.
      const drawn = svg.querySelectorAll("text");
      copy.querySelectorAll("text").forEach((text, at) => {
        const width = drawn[at].getComputedTextLength();
        if (width) Object.entries({ textLength: width, lengthAdjust: "spacingAndGlyphs" }).forEach((each) => text.setAttribute(...each));
      });
      const box = svg.getBoundingClientRect();
      const size = { x: EDGE, y: y + 24, width: WIDTH - 2 * EDGE, height: foot - y - 40, overflow: "visible" };
      copy.setAttribute("viewBox", svg.getAttribute("viewBox") ?? `0 0 ${box.width} ${box.height}`);
      copy.removeAttribute("style");
      Object.entries(size).forEach(([name, value]) => copy.setAttribute(name, value));
      parts.push(new XMLSerializer().serializeToString(copy));
    }
    y = foot;
    write(page.origin, 20, { opacity: 0.75 });
    return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 ${WIDTH} ${HEIGHT}"`
      + ` width="${WIDTH}" height="${HEIGHT}" font-family="${escaped(FONT)}" color="${look.color}">`
      + `<rect width="100%" height="100%" fill="${look.backgroundColor}"/>${parts.join("")}</svg>`;
  };

  const deck = () => {
    const page = pageTexts();
    const charts = [...document.querySelectorAll(`${MAIN} ${CHART}`)].filter((chart) => chart.querySelector("svg"));
    const slides = [null, ...charts].map((chart) => `<section>${slide(page, chart)}</section>`).join("\n");
    return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>${escaped(page.title)}</title><style>`
      + "@page { size: 16in 9in; margin: 0 } body { margin: 0; background: #444; scroll-snap-type: y proximity }"
      + " section { scroll-snap-align: start; break-after: page; max-width: 1600px; margin: 0 auto 12px }"
      + " svg { display: block } section > svg { width: 100%; height: auto }"
      + ` @media print { section { margin: 0 } }</style></head><body>${slides}</body></html>`;
  };

  const save = (blob, suffix, chart) => {
    const words = ["xlabench", pageTexts().title, chart ? named(chart) : "deck"].join(" ").toLowerCase();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${words.replace(/[^a-z0-9+]+/g, "-").replace(/^-|-$/g, "")}.${suffix}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };

  const picture = async (svg) => {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * WIDTH, height: 2 * HEIGHT });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  };

  const forms = {
    PNG: async (chart) => save(await picture(slide(pageTexts(), chart)), "png", chart),
    SVG: async (chart) => save(new Blob([slide(pageTexts(), chart)], { type: "image/svg+xml" }), "svg", chart),
    Copy: async (chart) => navigator.clipboard.write([new ClipboardItem({ "image/png": picture(slide(pageTexts(), chart)) })]),
  };

  // One bar for all charts, beside the one that the pointer is over: it is no child of what Streamlit draws.
  let bar, shown;
  const show = (chart) => {
    if (!bar) {
      bar = Object.assign(document.createElement("div"), { id: "xl-slide", role: "toolbar", ariaLabel: "Chart as a slide" });
      for (const name of Object.keys(forms)) {
        if (name === "Copy" && !navigator.clipboard?.write) continue;
        const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
        button.title = `${name === "Copy" ? "Copy" : "Save"} this chart as a slide with its sentence, run and versions`;
        button.addEventListener("click", async () => {
          button.dataset.state = await forms[name](shown).then(() => "done", () => "failed");
        });
        bar.append(button);
      }
      document.body.append(bar);
    }
    if (shown !== chart) bar.querySelectorAll("button").forEach((button) => delete button.dataset.state);
    shown = chart;
    const box = chart.getBoundingClientRect();
    bar.style.cssText = `display: flex; color: ${getComputedStyle(chart).color}; top: ${box.top + scrollY + 4}px; right: ${innerWidth - box.right}px`;
  };
  const over = (event) => {
    const chart = event.target.closest?.(CHART);
    if (chart?.querySelector("svg")) show(chart);
    else if (bar && !event.target.closest?.("#xl-slide")) bar.style.display = "none";
  };
  addEventListener("pointerover", over);
  // Scrolling hides the bar: what moves on within the same chart enters nothing.
  addEventListener("pointermove", (event) => { if (bar?.style.display === "none") over(event); });
  addEventListener("scroll", () => { if (bar) bar.style.display = "none"; }, true);
  addEventListener("click", (event) => {
    if (event.target.closest?.(".xl-deck")) save(new Blob([deck()], { type: "text/html" }), "html");
  });
})();
