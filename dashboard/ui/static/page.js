// What every page does in the browser beside Streamlit.
(() => {
  "use strict";

  // One change of the view is one entry of the history. Streamlit writes each parameter by itself, some of them after the
  // server has answered: all that follows one action of the reader belongs to the entry that this action began.
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  let acted = false;
  const write = (state, unused, url) => {
    const changes = url != null && new URL(url, location.href).href !== location.href;
    (changes && acted ? push : replace)(state, unused, url);
    acted = acted && !changes;
  };
  history.pushState = write;
  history.replaceState = write;
  for (const kind of ["pointerdown", "click", "keydown", "change"]) {
    addEventListener(kind, (event) => { acted = acted || event.isTrusted; }, true);
  }
  addEventListener("popstate", () => { acted = false; }, true);

  // A switch keeps the focus after a click, and Streamlit takes no shortcut from a field: hand letters and digits on, once
  // the button that the switch may have called for is there.
  addEventListener("keydown", (event) => {
    const field = event.target;
    const isSwitch = field instanceof HTMLInputElement && field.type === "checkbox";
    if (!isSwitch || event.ctrlKey || event.metaKey || event.altKey || !/^[a-z0-9]$/i.test(event.key)) return;
    event.stopImmediatePropagation();
    const { key, code, keyCode, shiftKey } = event;
    const press = () => document.body.dispatchEvent(
      new KeyboardEvent("keydown", { key, code, keyCode, shiftKey, bubbles: true }));
    const until = Date.now() + 5000;
    const look = () => {
      if (document.querySelector(`kbd[aria-label="Shortcut ${key.toUpperCase()}"]`)) press();
      else if (Date.now() < until) setTimeout(look, 50);
    };
    look();
  }, true);

  // The name that somebody types is kept for a year, in this browser only.
  const keep = (event) => {
    if (!["Your name", "Launch as"].includes(event.target.getAttribute?.("aria-label"))) return;
    const name = encodeURIComponent(event.target.value.trim());
    document.cookie = `xlabench_name=${name}; path=/; max-age=${name ? 31536000 : 0}; SameSite=Strict`;
  };
  addEventListener("change", keep, true);
  addEventListener("keydown", (event) => { if (event.key === "Enter") keep(event); }, true);

  // The label that the boxes of runs begin with is kept for a year, too; an empty one means all labels.
  addEventListener("click", (event) => {
    const button = event.target.closest?.(".st-key-pin-label button, .st-key-unpin-label button");
    if (!button) return;
    const pinned = button.closest(".st-key-pin-label") && document.querySelector(".st-key-labelled input");
    const label = encodeURIComponent(pinned?.value ?? "");
    document.cookie = `xlabench_label=${label}; path=/; max-age=31536000; SameSite=Strict`;
  }, true);

  // Ctrl+K opens the finder, also from within a field, which would keep the key from Streamlit: type at once.
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
    const button = document.querySelector(".st-key-find-open button");
    if (!button) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!document.querySelector(".st-key-find-what")) {
      document.activeElement?.blur();
      button.click();
    }
    const until = Date.now() + 5000;
    const look = () => {
      const box = document.querySelector(".st-key-find-what input");
      if (box) box.focus();
      else if (Date.now() < until) setTimeout(look, 50);
    };
    look();
  }, true);

  // Names in tables of a narrow window are cut so that they stay beside the numbers (`tables.NARROW_COOKIE`).
  document.cookie = `xlabench_narrow=${Number(matchMedia("(max-width: 640px)").matches)}; path=/; SameSite=Strict`;

  // A text is copied whole. Browsers let pages of plain http use the older way alone.
  addEventListener("click", async (event) => {
    const button = event.target.closest?.(".xl-copy button");
    if (!button) return;
    const text = button.parentElement.querySelector("pre");
    getSelection().selectAllChildren(text);
    const written = navigator.clipboard?.writeText(text.textContent) ?? Promise.reject();
    const copied = await written.then(() => true, () => document.execCommand("copy"));
    button.dataset.state = copied ? "done" : "failed";
  });

  // A table that is searched says how many it has found; it shows the first of them, too.
  let typed;
  addEventListener("input", (event) => {
    const field = event.target;
    if (field?.dataset?.testid !== "search-input") return;
    clearTimeout(typed);
    typed = setTimeout(() => {
      field.closest(".gdg-search-bar")?.querySelector("[aria-label='Next Result']")?.click();
      field.focus();
    }, 300);
  }, true);
})();
