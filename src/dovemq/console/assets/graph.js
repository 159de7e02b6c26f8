// A directed graph of tasks as SVG: layers from left to right, and lines that keep clear of boxes.
import { svg } from "./chart.js";

const BOX = { width: 178, height: 78 };
const GAP = { x: 56, y: 22 };
const LANE = 26;
const MARGIN = 10;
const SWEEPS = 8;
const LETTERS_MAX = 18;

// tasks: {name: {topic, after}}. A line over several layers has a place of its own in each of them.
function placesOf(tasks) {
  const names = Object.keys(tasks);
  const depth = {};
  const depthOf = (name) => {
    depth[name] ??= Math.max(-1, ...tasks[name].after.map(depthOf)) + 1;
    return depth[name];
  };
  names.forEach(depthOf);
  const layers = Array.from({ length: Math.max(0, ...Object.values(depth)) + 1 }, () => []);
  const places = new Map(names.map((name) => [name, { name, layer: depth[name], before: [] }]));
  const lines = [];
  for (const name of names) {
    for (const earlier of tasks[name].after) {
      const points = [places.get(earlier)];
      for (let layer = depth[earlier] + 1; layer < depth[name]; layer += 1) {
        const lane = { name: null, layer, before: [points.at(-1)] };
        places.set(`${earlier} ${name} ${layer}`, lane);
        points.push(lane);
      }
      places.get(name).before.push(points.at(-1));
      lines.push([...points, places.get(name)]);
    }
  }
  for (const place of places.values()) layers[place.layer].push(place);
  return { layers, lines };
}

// Brings places near those that lead to them, and these near those that they lead to.
function arrange(layers) {
  const mean = (some) => some.reduce((sum, each) => sum + each.y, 0) / some.length;
  const stack = (layer) => {
    let y = 0;
    for (const place of layer) {
      place.height = place.name === null ? LANE : BOX.height;
      place.y = y + place.height / 2;
      y += place.height + GAP.y;
    }
    layer.forEach((place) => { place.y -= (y - GAP.y) / 2; });
  };
  const after = new Map();
  layers.flat().forEach((place) => place.before.forEach((each) =>
    after.set(each, [...(after.get(each) ?? []), place])));
  layers.forEach(stack);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forth = sweep % 2 === 0;
    for (const layer of forth ? layers : [...layers].reverse()) {
      const near = new Map(layer.map((place) => {
        const others = forth ? place.before : after.get(place) ?? [];
        return [place, others.length ? mean(others) : place.y];
      }));
      layer.sort((a, b) => near.get(a) - near.get(b));
      stack(layer);
    }
  }
}

let graphs = 0;

export class TaskGraph {
  constructor(title, tasks) {
    graphs += 1;
    const arrow = `arrow${graphs}`;
    this.title = title;
    this.tasks = tasks;
    this.boxes = new Map();
    const { layers, lines } = placesOf(tasks);
    arrange(layers);
    const all = layers.flat();
    const top = Math.min(...all.map((place) => place.y - place.height / 2)) - MARGIN;
    const bottom = Math.max(...all.map((place) => place.y + place.height / 2)) + MARGIN;
    const width = layers.length * (BOX.width + GAP.x) - GAP.x + 2 * MARGIN;
    all.forEach((place) => {
      place.x = MARGIN + place.layer * (BOX.width + GAP.x);
      place.y -= top;
    });
    this.element = svg("svg", { viewBox: `0 0 ${width} ${bottom - top}`, role: "img", width,
      height: bottom - top, class: "graph" },
    svg("defs", {}, svg("marker", { id: arrow, viewBox: "0 0 8 8", refX: 8, refY: 4,
      markerWidth: 6, markerHeight: 6, orient: "auto" }, svg("path", { d: "M0 0 L8 4 L0 8 z" }))),
    ...lines.map((points) => drawnLine(points, arrow)),
    ...all.filter((place) => place.name !== null).map((place) => this.box(place)));
  }

  box(place) {
    const { x, name } = place;
    const y = place.y - BOX.height / 2;
    const { topic } = this.tasks[name];
    const line = (row, content, kind) => svg("text", { x: x + 10, y: y + row, class: kind },
      document.createTextNode(content));
    const counts = line(38, "", "counts");
    const work = line(56, "", "work");
    const level = svg("rect", { x, y: y + BOX.height - 6, width: 0, height: 6, class: "level" });
    const heading = name === topic ? name : `${name} (${topic})`;
    const group = svg("g", { class: "task" },
      svg("title", {}, document.createTextNode(heading)),
      svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 6 }), level,
      line(19, short(heading), "name"), counts, work);
    this.boxes.set(name, { group, counts, work, level });
    return group;
  }

  // activity: the document of the admin API.
  show({ topics, bottleneck }) {
    const said = [];
    for (const [name, { group, counts, work, level }] of this.boxes) {
      const topic = this.tasks[name].topic;
      const now = topics[topic];
      if (!now) continue;
      const is = bottleneck?.topic === topic;
      group.setAttribute("class", is ? "task bottleneck" : "task");
      counts.textContent = `${now.visible} visible, ${now.leased} leased`;
      work.textContent = [is ? "bottleneck" : null, workText(now)].filter(Boolean).join(", ");
      const load = Math.min(now.utilisation ?? 0, 1);
      level.setAttribute("width", load * BOX.width);
      said.push(`${name}: ${counts.textContent}${work.textContent ? `, ${work.textContent}` : ""}`);
    }
    this.element.setAttribute("aria-label", `${this.title}. ${said.join("; ")}`);
  }
}

function workText({ workers, utilisation }) {
  if (utilisation === null) return "";
  return `${Math.round(utilisation * 100)} % of ${workers}`;
}

const short = (text) => (text.length > LETTERS_MAX ? `${text.slice(0, LETTERS_MAX - 1)}…` : text);

function drawnLine(points, arrow) {
  const first = points[0];
  let path = `M${first.x + BOX.width} ${first.y}`;
  let from = { x: first.x + BOX.width, y: first.y };
  for (const place of points.slice(1)) {
    const middle = (from.x + place.x) / 2;
    path += ` C${middle} ${from.y} ${middle} ${place.y} ${place.x} ${place.y}`;
    from = { x: place.x, y: place.y };
    if (place.name === null) {
      from.x += BOX.width;
      path += ` H${from.x}`;
    }
  }
  return svg("path", { d: path, class: "edge", "marker-end": `url(#${arrow})` });
}
