/*
Copyright (c) 2026, cni.node contributors
GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
SPDX-License-Identifier: GPL-3.0-or-later
*/
// Makes the details of a node when they are shown: its drawing and its tables. All text is set as text, never as HTML.
"use strict";

const makeElement = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => { if (value !== undefined) element.setAttribute(key, value); });
  element.append(...children);
  return element;
};

// Returns the data of all nodes, by the id of their elements.
const unpackNodes = async () => {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
};

const makeDetails = (() => {
  const lines = (texts) => texts.map((text) => makeElement("div", {}, text));
  const colored = (css, text) => makeElement("span", { class: css }, text);

  // Cells: attributes and children.
  const text = (value, css) => [{ class: css }, value];
  const code = (value) => text(value, "code");
  const head = (value) => [{ scope: "row" }, value];
  const number = (value) => text(String(value), "number");
  const list = (values, css) => [{ class: css }, ...lines(values)];

  const bar = (percent) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const attributes = { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" };
    Object.entries(attributes).forEach(([key, value]) => svg.setAttribute(key, value));
    [["", 100], [percent >= 95 ? "full" : percent >= 80 ? "high" : "fill", percent]].forEach(([css, width]) => {
      const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      rect.setAttribute("class", css);
      rect.setAttribute("width", width);
      rect.setAttribute("height", 10);
      svg.append(rect);
    });
    return svg;
  };

  const stateOf = (attachment) => {
    const bad = [...(attachment.drift ?? []), ...attachment.problems.filter((problem) => problem !== "attachment drifted")];
    const state = bad.length ? makeElement("div", { class: "bad" }, ...lines(bad))
      : attachment.drift === null ? colored("none", "drift unknown") : colored("good", "as recorded");
    return [{}, state, ...(attachment.own ? [] : [makeElement("div", { class: "none" }, "of another runtime")])];
  };

  const table = (title, headings, rows, isSortable = true) => {
    if (!rows.length) return [];
    const numbers = ["Used", "Leases", "Free"];
    const headingCells = headings.map((heading) =>
      makeElement("th", { scope: "col", class: numbers.includes(heading) ? "number" : undefined }, heading));
    const bodyRows = rows.map((cells) => makeElement("tr", {}, ...cells.map(([attributes, ...children], column) =>
      makeElement(attributes.scope ? "th" : "td", { "data-label": headings[column], ...attributes }, ...children))));
    const made = makeElement("table", { class: isSortable ? "sortable" : undefined },
      makeElement("thead", {}, makeElement("tr", {}, ...headingCells)), makeElement("tbody", {}, ...bodyRows));
    return [makeElement("h4", {}, title), makeElement("div", { class: "scroll" }, made)];
  };

  const stepClasses = { broken: "bad", unknown: "none" };
  const severityClasses = { error: "bad", warning: "warn" };
  const readAttachment = ([network, container, netns, ifname, addresses, ports, drift, problems, own]) =>
    ({ network, container, netns, ifname, addresses, ports, drift, problems, own });

  const makeTables = (node, attachments) => [
    ...table("Address pools", ["Network", "Range", "Used", "Leases", "Free"], node.pools.map(
      ([network, range, percent, taken, free]) => [
        head(network), code(range),
        [{ "data-value": percent }, bar(percent), ` ${taken && !percent ? "<1" : percent} %`], number(taken), number(free),
      ])),
    ...table("Attachments", ["Network", "Container", "Interface", "Addresses", "Ports", "State"], attachments.map((each) => [
      text(each.network), [{ class: "code" }, makeElement("span", { title: each.netns }, each.container)], code(each.ifname),
      list(each.addresses, "code"), list(each.ports, "code"), stateOf(each),
    ])),
    ...node.broken.map(([path, error]) => makeElement("p", { class: "bad" }, `${path}: ${error}`)),
    ...(node.leaks_error ? [makeElement("p", { class: "bad" }, `Leaks are unknown: ${node.leaks_error}`)] : []),
    ...table("Leaks", ["Kind", "Network", "Resource", "Evidence"], node.leaks.map(
      ([kind, network, subject, evidence, isKept, error]) => [
        [{}, colored(isKept ? "none" : "bad", isKept ? `${kind}, kept` : kind)], text(network), code(subject),
        [{}, evidence, ...(error ? [makeElement("div", { class: "bad" }, error)] : [])],
      ])),
    ...table("Why packets are lost", ["Network", "Container", "Interface", "Way", "Steps", "Needed", "Command"], node.diagnoses.map(
      ([network, container, ifname, from, to, steps, needed, command]) => [
        text(network), code(container), code(ifname), text(`${from} → ${to}`),
        [{ class: "code" }, ...steps.map(([way, place, check, state, found]) =>
          makeElement("div", { class: stepClasses[state] }, `${way === "back" ? "←" : "→"} ${place} ${check}: ${found}`))],
        text(needed), code(command),
      ])),
    ...table("Repairs by the node itself", ["Time", "Network", "Container", "Interface", "Lost", "Removed by"], node.repairs.map(
      ([time, network, container, ifname, lost, by]) => [
        text(time), text(network), code(container), code(ifname), list(lost), list(by),
      ])),
    ...table("Findings", ["Severity", "File", "Finding", "What to do"], node.findings.map(
      ([severity, file, line, path, message, findingCode, hint]) => [
        [{}, colored(severityClasses[severity] ?? "none", severity)],
        [{ class: "code" }, line ? `${file}:${line}` : file, makeElement("div", {}, path)],
        [{}, `${message} `, colored("none", `(${findingCode})`)], text(hint),
      ])),
    ...table("Networks", ["Network", "File", "Versions", "Plugins", "Remarks"], node.networks.map(
      ([name, path, versions, plugins, error, isShadowed, missing, builtin]) => [
        head(name), code(path), text(versions.join(", ")), text(plugins.join(", ")),
        [{}, ...(error ? [makeElement("div", { class: "bad" }, error)] : []),
          ...(isShadowed ? [makeElement("div", { class: "warn" }, "another file wins")] : []),
          ...(missing.length ? [makeElement("div", { class: "bad" }, `missing: ${missing.join(", ")}`)] : []),
          ...(builtin.length ? [makeElement("div", {}, `built in: ${builtin.join(", ")}`)] : [])],
      ])),
    ...table("Container runtimes", ["Runtime", "Version", "State", "Network directory", "Plugin directories"], node.runtimes.map(
      ([name, version, isActive, confDir, pluginDirs]) => [
        head(name), text(version), text(isActive ? "running" : "not running"), code(confDir), list(pluginDirs, "code"),
      ]), false),
    ...table("Plugins", ["Plugins", "Directory", "Release", "Remarks"], node.plugins.map(
      ([names, directory, release, remark, missing, flaws, error]) => [
        head(names), code(directory), text(release),
        [{}, remark, ...(missing.length ? [makeElement("div", { class: "bad" }, `missing: ${missing.join(", ")}`)] : []),
          makeElement("div", { class: "warn" }, ...lines(flaws)),
          ...(error ? [makeElement("div", { class: "bad" }, error)] : [])],
      ]), false),
  ];

  // Returns the elements of a node's details.
  return (name, node) => {
    const attachments = node.attachments.map(readAttachment);
    const drawing = drawNode(name, node.topology, attachments);
    return [...(drawing ? [makeElement("div", { class: "scroll" }, drawing)] : []), ...makeTables(node, attachments)];
  };
})();
