/*
Copyright (c) 2026, cni.node contributors
GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
SPDX-License-Identifier: GPL-3.0-or-later
*/
// Sorts, filters and searches the page, and shows the details of nodes.
"use strict";

(() => {
  const search = document.getElementById("search");
  const only = document.getElementById("only");
  const matches = document.getElementById("matches");
  const cards = [...document.querySelectorAll("button[data-filter]")];
  const nodes = [...document.querySelectorAll("details.node")];
  const nameOf = (node) => node.querySelector("h3").textContent;

  // Sorting: a cell's data-value, else its text; numbers as numbers, and the largest first.
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell ? cell.dataset.value ?? cell.textContent.trim() : "";
  };
  const prepareSorting = (table) => {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      heading.tabIndex = 0;
      const sort = () => {
        const first = heading.classList.contains("number") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = heading.getAttribute("aria-sort") === first ? other : first;
        headings.forEach((each) => each.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", order);
        const rows = [...table.tBodies[0].rows].map((row) => ({ row, value: valueOf(row, column) }));
        // Rows without a value come last in both orders.
        const compare = (one, two) => collator.compare(one, two) * (order === "descending" ? -1 : 1);
        rows.sort((one, two) => !one.value - !two.value || compare(one.value, two.value));
        table.tBodies[0].append(...rows.map(({ row }) => row));
      };
      heading.addEventListener("click", sort);
      heading.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          sort();
        }
      });
    });
  };
  document.querySelectorAll("table.sortable").forEach(prepareSorting);

  // Details are made when a node is opened: those of a large fleet are too many to have them all.
  let data = null;
  const filled = new Set();
  const fill = (node) => {
    if (!data || filled.has(node)) return;
    filled.add(node);
    if (data[node.id]) {
      node.append(...makeDetails(nameOf(node), data[node.id]));
      node.querySelectorAll("table.sortable").forEach(prepareSorting);
      filterRows(node);
    }
  };
  // What a narrow page cannot show of a drawing is at both ends.
  const center = (node) => {
    const frame = node.querySelector(".drawing")?.parentElement;
    if (frame) frame.scrollLeft = (frame.scrollWidth - frame.clientWidth) / 2;
  };
  const show = (node) => {
    const isNew = !filled.has(node);
    fill(node);
    if (isNew) center(node);
  };
  document.getElementById("details").addEventListener("toggle", ({ target }) => {
    if (target.open && nodes.includes(target)) show(target);
  }, true);

  // Searching: a node stays if its name, or anything of it, has all words; of its tables, the rows that have them stay.
  // Texts are read once, when they are first needed, because a large fleet has many.
  let words = [];
  const has = (text) => words.every((word) => text.includes(word));
  const collect = (value, texts) => {
    if (typeof value === "string" || typeof value === "number") texts.push(value);
    else if (value && typeof value === "object") Object.values(value).forEach((each) => collect(each, texts));
    return texts;
  };
  const index = nodes.map((node) => ({
    node,
    overview: document.querySelector(`tr[data-node="${node.id}"]`),
    name: nameOf(node).toLowerCase(),
    text: null,
  }));
  const textOf = (entry) => {
    if (entry.text === null) {
      const texts = collect(data[entry.node.id], [entry.node.querySelector("summary").textContent, entry.overview.textContent]);
      entry.text = texts.join("\n").toLowerCase();
    }
    return entry.text;
  };
  const filterRows = (node) => {
    const rows = [...node.querySelectorAll("tbody tr")];
    const isWhole = !words.length || has(nameOf(node).toLowerCase());
    const matching = new Set(isWhole ? [] : rows.filter((row) => has(row.textContent.toLowerCase())));
    rows.forEach((row) => { row.hidden = matching.size > 0 && !matching.has(row); });
  };
  const filter = () => {
    const card = cards.find((each) => each.getAttribute("aria-pressed") === "true")?.dataset.filter;
    const wanted = [...(card ? [card] : []), ...(only.checked ? ["problems"] : [])];
    words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    index.forEach((entry) => {
      const kinds = entry.overview.dataset.has.split(" ");
      const isShown = wanted.every((kind) => kinds.includes(kind)) && (!words.length || !data || has(textOf(entry)));
      shown += isShown;
      entry.node.hidden = entry.overview.hidden = !isShown;
      if (isShown && filled.has(entry.node)) filterRows(entry.node);
    });
    matches.textContent = words.length || wanted.length ? `${shown} of ${nodes.length} nodes` : "";
  };
  search.addEventListener("input", filter);
  only.addEventListener("change", filter);
  cards.forEach((card) => card.addEventListener("click", () => {
    const isPressed = card.getAttribute("aria-pressed") === "true";
    cards.forEach((each) => each.setAttribute("aria-pressed", String(each === card && !isPressed)));
    filter();
  }));

  // A link to a node opens it.
  const open = () => {
    const node = document.getElementById(location.hash.slice(1));
    if (node instanceof HTMLDetailsElement) {
      node.open = true;
      show(node);
      node.scrollIntoView();
    }
  };
  addEventListener("hashchange", open);

  unpackNodes().then((unpacked) => {
    data = unpacked;
    nodes.filter((node) => node.open).forEach(show);
    filter();
    open();
    document.documentElement.dataset.ready = "true";
  }).catch((error) => { matches.textContent = `This browser cannot read the details: ${error.message}`; });

  // Printing shows every node that the filters have left.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = nodes.filter((node) => !node.open && !node.hidden);
    closed.forEach((node) => {
      node.open = true;
      fill(node);
    });
  });
  addEventListener("afterprint", () => closed.forEach((node) => { node.open = false; }));

  // Colours: those of the system, until the button is used. A browser may forbid storage for files.
  const button = document.getElementById("colours");
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.colours ? root.dataset.colours === "dark" : dark.matches);
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  const stored = (action) => {
    try {
      return action(localStorage);
    } catch {
      return null;
    }
  };
  const kept = stored((storage) => storage.getItem("colours"));
  if (kept === "dark" || kept === "light") root.dataset.colours = kept;
  button.addEventListener("click", () => {
    root.dataset.colours = isDark() ? "light" : "dark";
    stored((storage) => storage.setItem("colours", root.dataset.colours));
    label();
  });
  dark.addEventListener("change", label);
  label();
})();
