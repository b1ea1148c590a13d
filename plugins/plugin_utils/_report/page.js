/*
Copyright (c) 2026, cni.node contributors
GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
SPDX-License-Identifier: GPL-3.0-or-later
*/
"use strict";

(() => {
  const search = document.getElementById("search");
  const matches = document.getElementById("matches");
  const nodes = [...document.querySelectorAll("details.node")];

  // Sorting: a cell's data-value, else its text; numbers as numbers.
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell ? cell.dataset.value ?? cell.textContent.trim() : "";
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      heading.tabIndex = 0;
      const sort = () => {
        const descending = heading.getAttribute("aria-sort") === "ascending";
        [...table.tHead.rows[0].cells].forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map((row) => ({ row, value: valueOf(row, column) }));
        rows.sort((first, second) => collator.compare(first.value, second.value) * (descending ? -1 : 1));
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
  });

  // Searching: a node stays if its name, or anything of it, has all words; of its tables, the rows that have them stay.
  // Texts are read once, because a large fleet has many.
  const index = nodes.map((node) => ({
    node,
    name: node.querySelector("h3").textContent.toLowerCase(),
    text: node.textContent.toLowerCase(),
    overview: document.querySelector(`tr[data-node="${node.id}"]`),
    rows: [...node.querySelectorAll("tbody tr")].map((row) => ({ row, text: row.textContent.toLowerCase() })),
  }));
  index.forEach((entry) => { entry.text += ` ${entry.overview.textContent.toLowerCase()}`; });
  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (text) => words.every((word) => text.includes(word));
    let shown = 0;
    index.forEach(({ node, name, text, overview, rows }) => {
      const isShown = has(text);
      shown += isShown;
      node.hidden = overview.hidden = !isShown;
      const matching = isShown && !has(name) ? rows.filter((entry) => has(entry.text)) : [];
      rows.forEach((entry) => { entry.row.hidden = matching.length > 0 && !matching.includes(entry); });
    });
    matches.textContent = words.length ? `${shown} of ${nodes.length} nodes` : "";
  };
  search.addEventListener("input", find);

  // A link to a node opens it.
  const open = () => {
    const node = document.getElementById(location.hash.slice(1));
    if (node instanceof HTMLDetailsElement) {
      node.open = true;
      node.scrollIntoView();
    }
  };
  addEventListener("hashchange", open);
  open();

  // Printing shows every node that the search has left.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = nodes.filter((node) => !node.open && !node.hidden);
    closed.forEach((node) => { node.open = true; });
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
