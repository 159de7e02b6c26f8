// A chart of response times by arrival rate: a line with its band, and marks beside it.
import { ceiling, svg, text } from "./chart.js";
import { fill, h, setText } from "./dom.js";
import { digits, duration } from "./format.js";

const HEIGHT = 300;
const LEFT = 64;
const RIGHT = 12;
const TOP = 26;
const BOTTOM = 44;
const WIDTH_MIN = 300;
const NARROW = 480;
const ROOM = 1.15;
// Times rise without end before the saturation, so the scale ends at the time for this load.
const LOAD_SHOWN = 0.9;

export class BandChart {
  constructor({ title, legend }) {
    this.title = title;
    this.picture = svg("svg", { role: "img" });
    this.frame = h("div", {}, this.picture);
    this.labels = new Map(legend.map((key) => [key, h("span")]));
    const items = legend.map((key) => h("li", {},
      h("span", { class: `key ${key}`, "aria-hidden": "true" }), this.labels.get(key)));
    this.element = h("figure", { class: "chart" }, h("figcaption", {}, title),
      h("ul", { class: "legend" }, items), this.frame);
  }

  // points: {rate, mean, value, low, high}; marks: {rate, time, key}; labels: by key; said: what readers hear.
  show({ points, saturation, rate, marks, labels, said }) {
    for (const [key, label] of Object.entries(labels)) setText(this.labels.get(key), label);
    const width = Math.max(this.frame.clientWidth, WIDTH_MIN);
    const plot = new Plot(width, points, saturation, rate, marks);
    this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.picture.setAttribute("aria-label", `${this.title}. ${said}`);
    fill(this.picture);
    this.picture.append(...plot.axes(), ...plot.curves(points), ...plot.limits(saturation, rate),
      ...marks.filter((mark) => mark.time !== null && mark.time !== undefined)
        .map((mark) => plot.mark(mark)));
  }
}

// The next larger one of 1, 2 and 5 times a power of ten.
function stepOf(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((each) => each * power >= value) * power;
}

class Plot {
  constructor(width, points, saturation, rate, marks) {
    this.width = width;
    const shown = points.find((each) => each.rate >= LOAD_SHOWN * saturation) ?? points[0];
    const inside = marks.filter((mark) => mark.rate <= LOAD_SHOWN * saturation)
      .map((mark) => mark.time ?? 0);
    this.top = ceiling(Math.max(shown.value, ...inside) * 1.05);
    this.end = Math.max(saturation, rate, ...marks.map((mark) => mark.rate)) * ROOM;
  }

  x(rate) {
    return LEFT + (rate / this.end) * (this.width - LEFT - RIGHT);
  }

  // An infinite time lies above the picture, which cuts it off.
  y(time) {
    const share = time === null ? 4 : Math.min(time / this.top, 4);
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
  }

  axes() {
    const rows = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => {
      const at = this.y(share * this.top);
      return [svg("line", { x1: LEFT, x2: this.width - RIGHT, y1: at, y2: at, class: "grid" }),
        text(LEFT - 6, at + 4, duration(share * this.top), "end")];
    });
    const step = stepOf(this.end / (this.width < NARROW ? 4 : 8));
    const columns = Array.from({ length: Math.floor(this.end / step) + 1 }, (_, index) =>
      text(this.x(index * step), HEIGHT - BOTTOM + 16, digits(index * step), "middle"));
    return [...rows, ...columns,
      text((LEFT + this.width) / 2, HEIGHT - 8, "messages that arrive per second", "middle"),
      text(2, 12, "response time", "start")];
  }

  curves(points) {
    const lines = (of) => points.map((each) =>
      `${this.x(each.rate).toFixed(1)},${this.y(of(each)).toFixed(1)}`);
    const band = [...lines((each) => each.high), ...lines((each) => each.low).reverse()].join(" ");
    const clip = svg("clipPath", { id: "plot-area" }, svg("rect", { x: LEFT, y: TOP,
      width: this.width - LEFT - RIGHT, height: HEIGHT - BOTTOM - TOP }));
    return [svg("defs", {}, clip), svg("g", { "clip-path": "url(#plot-area)" },
      svg("polygon", { points: band, class: "band" }),
      svg("polyline", { points: lines((each) => each.mean).join(" "), class: "line s1" }),
      svg("polyline", { points: lines((each) => each.value).join(" "), class: "line s0" }))];
  }

  limits(saturation, rate) {
    const line = (at, kind) => svg("line", { x1: this.x(at), x2: this.x(at), y1: TOP,
      y2: HEIGHT - BOTTOM, class: kind });
    const right = this.x(saturation) > this.width - 130;
    const label = text(this.x(saturation) + (right ? -5 : 5), TOP - 6,
      `saturates at ${digits(saturation)}/s`, right ? "end" : "start");
    return [line(saturation, "limit"), label, line(rate, "chosen")];
  }

  mark({ rate, time, key }) {
    const above = time > this.top;
    return svg("circle", { cx: this.x(rate), cy: above ? TOP : this.y(time), r: 5,
      class: `dot ${key}` });
  }
}
