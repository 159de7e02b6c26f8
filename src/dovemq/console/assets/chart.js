// A line chart as SVG, with a scale, the time of its first and last point, and a text for readers.
import { h, fill } from "./dom.js";

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 600;
const HEIGHT = 150;
const LEFT = 48;
const BOTTOM = 20;
const TOP = 8;

export function svg(tag, properties, ...children) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function ceiling(value) {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((each) => each * power >= value);
  return step * power;
}

// series: {label, at(point)}; points have their time in ms as first item.
export class Chart {
  constructor({ title, series, format }) {
    this.series = series;
    this.format = format;
    this.title = title;
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
      preserveAspectRatio: "none" });
    this.values = series.map(() => h("strong"));
    const legend = h("ul", { class: "legend" }, series.map((each, index) =>
      h("li", {}, h("span", { class: `key s${index}`, "aria-hidden": "true" }), each.label, " ",
        this.values[index])));
    this.element = h("figure", { class: "chart" }, h("figcaption", {}, title), legend,
      this.picture);
  }

  show(points) {
    const kept = points.filter((point, index) => !index || point[0] > points[index - 1][0]);
    this.series.forEach((each, index) => {
      const last = kept.length ? each.at(kept[kept.length - 1]) : 0;
      fill(this.values[index], this.format(last));
    });
    const top = ceiling(Math.max(0, ...kept.flatMap((p) => this.series.map((s) => s.at(p)))));
    const first = kept.length ? kept[0][0] : 0;
    const span = kept.length > 1 ? kept[kept.length - 1][0] - first : 1;
    const x = (at) => LEFT + ((at - first) / span) * (WIDTH - LEFT - 4);
    const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
    const parts = [0, 0.5, 1].flatMap((share) => [
      svg("line", { x1: LEFT, x2: WIDTH, y1: y(top * share), y2: y(top * share), class: "grid" }),
      text(LEFT - 6, y(top * share) + 4, this.format(top * share), "end"),
    ]);
    if (kept.length > 1) {
      parts.push(text(LEFT, HEIGHT - 4, clock(first), "start"));
      parts.push(text(WIDTH - 4, HEIGHT - 4, clock(first + span), "end"));
      this.series.forEach((each, index) => {
        const line = kept.map((p) => `${x(p[0]).toFixed(1)},${y(each.at(p)).toFixed(1)}`).join(" ");
        parts.push(svg("polyline", { points: line, class: `line s${index}` }));
      });
    } else parts.push(text(WIDTH / 2, HEIGHT / 2, "The curve begins with the next figures.", "middle"));
    this.picture.replaceChildren(...parts);
    const said = this.series.map((each, index) => `${each.label} ${this.values[index].textContent}`);
    this.picture.setAttribute("aria-label", `${this.title}: now ${said.join(", ")}`);
  }
}

export function text(x, y, content, anchor) {
  return svg("text", { x, y, "text-anchor": anchor }, document.createTextNode(content));
}

const clock = (ms) => new Date(ms).toLocaleTimeString();
