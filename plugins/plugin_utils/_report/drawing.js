/*
Copyright (c) 2026, cni.node contributors
GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
SPDX-License-Identifier: GPL-3.0-or-later
*/
// Draws the networks of a node as SVG, from the node's links on the left to the containers on the right. It has only
// classes; the colours are those of page.css.
"use strict";

const drawNode = (() => {
  // Pixels. Text is in a font of one width.
  const CHARACTER = 7.3;
  const LINE = 17;
  const PADDING = 8;
  const GAP = 12;
  const MARGIN = 4;
  // The columns: links of the node, segments, containers.
  const WIDTHS = [190, 270, 350];
  const BETWEEN = 90;
  // With more, a drawing is too large to be read; the table below it has all containers.
  const MOST_CONTAINERS = 40;

  const add = (parent, name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };

  const box = (css, lines, column) => ({ css, lines, column, height: 2 * PADDING + LINE * lines.length, x: 0, y: 0 });
  const middle = (each) => each.y + each.height / 2;
  const right = (each) => each.x + WIDTHS[each.column];

  // The attachments of a container in one network namespace are one box.
  const listContainers = (attachments) => {
    const containers = new Map();
    attachments.forEach((attachment) => {
      const key = JSON.stringify([attachment.container, attachment.netns || attachment.container]);
      if (!containers.has(key)) containers.set(key, []);
      containers.get(key).push(attachment);
    });
    return [...containers.values()].map((members) => ({
      name: members[0].container,
      members,
      problems: [...new Set(members.flatMap((each) => (each.drift?.length ? each.drift : each.problems)))],
    }));
  };

  const uplinkBox = (uplink) => {
    const state = uplink.missing ? ["missing"] : uplink.up ? [] : ["down"];
    const tag = uplink.vlan ? [`VLAN ${uplink.vlan} on ${uplink.parent}`] : [];
    return box(state.length ? "uplink missing" : "uplink", [uplink.name, ...tag, ...uplink.addresses, ...state], 0);
  };

  const segmentBox = (segment) => {
    const networks = segment.networks.map((network) => `network ${network}`);
    const state = segment.missing ? ["missing"] : [];
    return box(segment.missing ? "segment missing" : "segment", [segment.title, ...networks, ...segment.addresses, ...state], 1);
  };

  const containerBox = (container) => {
    const interfaces = container.members.flatMap((each) => [
      [each.ifname, ...each.addresses].join(" "), ...each.ports.map((port) => `port ${port}`),
    ]);
    const isOwn = container.members.every((each) => each.own);
    const css = `container${container.problems.length ? " drifted" : ""}${isOwn ? "" : " foreign"}`;
    return box(css, [container.name, ...interfaces, ...container.problems], 2);
  };

  const makeBoxes = ({ uplinks, segments, networks }, attachments) => {
    const boxes = new Map();
    const edges = [];
    uplinks.forEach((uplink) => {
      boxes.set(`uplink ${uplink.name}`, uplinkBox(uplink));
      if (uplink.parent !== uplink.name && boxes.has(`uplink ${uplink.parent}`)) {
        edges.push([`uplink ${uplink.parent}`, `uplink ${uplink.name}`, "joined"]);
      }
    });
    segments.forEach((segment) => {
      boxes.set(`segment ${segment.key}`, segmentBox(segment));
      segment.paths.forEach((path) => edges.push([`uplink ${path.uplink}`, `segment ${segment.key}`, path.how]));
    });
    // Containers with problems come first, then those of one segment beside each other.
    const order = new Map(segments.map((segment, place) => [segment.key, place]));
    const placeOf = (container) => order.get(networks[container.members[0].network]);
    const listed = listContainers(attachments);
    listed.sort((first, second) => !first.problems.length - !second.problems.length || placeOf(first) - placeOf(second));
    const shown = listed.slice(0, MOST_CONTAINERS);
    shown.sort((first, second) => placeOf(first) - placeOf(second));
    shown.forEach((container, place) => {
      boxes.set(`container ${place}`, containerBox(container));
      container.members.forEach((each) => {
        const css = each.problems.length ? "joined drifted" : "joined";
        edges.push([`segment ${networks[each.network]}`, `container ${place}`, css]);
      });
    });
    if (listed.length > shown.length) {
      boxes.set("more", box("more", [`and ${listed.length - shown.length} more containers`], 2));
    }
    return { boxes, edges };
  };

  // Gives each box its place, and returns the size of the drawing.
  const place = (boxes) => {
    const columns = WIDTHS.map((width, column) => boxes.filter((each) => each.column === column)).filter((each) => each.length);
    let x = MARGIN;
    let height = 0;
    columns.forEach((members) => {
      let y = MARGIN;
      members.forEach((each) => {
        each.x = x;
        each.y = y;
        y += each.height + GAP;
      });
      height = Math.max(height, y - GAP + MARGIN);
      x += WIDTHS[members[0].column] + BETWEEN;
    });
    columns.forEach((members) => {
      const last = members[members.length - 1];
      const free = height - MARGIN - last.y - last.height;
      // A column with fewer boxes is spread over the whole height.
      members.forEach((each, index) => { each.y += (free * (2 * index + 1)) / (2 * members.length); });
    });
    return { width: x - BETWEEN + MARGIN, height };
  };

  const drawEdge = (svg, start, end, css) => {
    let path = `M${start.x + 2 * PADDING} ${middle(start)}V${middle(end)}`;
    if (start.column !== end.column) {
      const bend = (end.x - right(start)) / 2;
      const fall = middle(end) - middle(start);
      path = `M${right(start)} ${middle(start)}c${bend} 0 ${bend} ${fall} ${2 * bend} ${fall}`;
    }
    add(add(svg, "path", { class: `edge ${css}`, d: path }), "title", {}, css.split(" ")[0]);
  };

  const drawBox = (svg, each) => {
    const group = add(svg, "g", { class: each.css });
    add(group, "title", {}, each.lines.join("\n"));
    add(group, "rect", { x: each.x, y: each.y, width: WIDTHS[each.column], height: each.height, rx: 6 });
    const most = Math.floor((WIDTHS[each.column] - 2 * PADDING) / CHARACTER);
    each.lines.forEach((line, index) => {
      const y = each.y + PADDING + LINE * index + 13;
      const css = index === 0 ? { class: "name" } : {};
      const characters = [...line];
      const text = characters.length <= most ? line : `${characters.slice(0, most - 1).join("")}…`;
      add(group, "text", { x: each.x + PADDING, y, ...css }, text);
    });
  };

  // Returns the drawing, or null if there is nothing to draw.
  return (name, topology, attachments) => {
    const { boxes, edges } = makeBoxes(topology, attachments);
    if (!boxes.size) return null;
    const { width, height } = place([...boxes.values()]);
    const svg = add(document.createDocumentFragment(), "svg", {
      class: "drawing", role: "img", viewBox: `0 0 ${width} ${height}`, width, height,
    });
    add(svg, "title", {}, `Networks of ${name}`);
    edges.forEach(([start, end, css]) => drawEdge(svg, boxes.get(start), boxes.get(end), css));
    boxes.forEach((each) => drawBox(svg, each));
    return svg;
  };
})();
