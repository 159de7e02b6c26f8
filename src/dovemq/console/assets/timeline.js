// The attempts of the tasks of a job as bars over time.
import { svg } from "./chart.js";
import { took } from "./format.js";

const WIDTH = 860;
const LEFT = 190;
const RIGHT = 90;
const ROW = 26;
const TOP = 24;
const LETTERS_MAX = 24;
const MARKS = [0, 0.25, 0.5, 0.75, 1];

// job: the document of the admin API.
export function timeline(job, now) {
  const rows = Object.entries(job.tasks).flatMap(([name, task]) =>
    [...task.earlier, task].filter((each) => each.published_ms !== null)
      .map((each) => ({ ...each, name })));
  rows.sort((a, b) => a.published_ms - b.published_ms);
  const first = job.created_ms;
  const ends = rows.map((each) => each.ended_ms ?? (job.ended_ms ?? now));
  const span = Math.max(1, Math.max(job.ended_ms ?? now, ...ends) - first);
  const x = (ms) => LEFT + (Math.max(0, ms - first) / span) * (WIDTH - LEFT - RIGHT);
  const height = TOP + rows.length * ROW + 6;
  const marks = MARKS.flatMap((share) => [
    svg("line", { x1: x(first + span * share), x2: x(first + span * share), y1: TOP - 6, y2: height,
      class: "grid" }),
    text(x(first + span * share), 12, took(span * share), "middle")]);
  const said = rows.map((each) => `${label(each)}: ${outcome(each)}`);
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: "img",
    class: "timeline", "aria-label": `Timeline. ${said.join("; ")}` },
  ...marks, ...rows.flatMap((each, index) => bars(each, TOP + index * ROW, x, job, now)));
}

function bars(attempt, y, x, job, now) {
  const last = attempt.ended_ms ?? job.ended_ms ?? now;
  const started = attempt.started_ms ?? last;
  const bar = (from, to, kind) => svg("rect", { x: x(from), y: y + 4, height: ROW - 10,
    width: Math.max(1, x(to) - x(from)), class: kind });
  const parts = [text(LEFT - 8, y + 17, short(label(attempt)), "end"),
    bar(attempt.published_ms, started, "waits")];
  if (attempt.started_ms !== null) {
    const kind = attempt.error ? "failed" : attempt.ended_ms === null ? "runs" : "worked";
    parts.push(bar(attempt.started_ms, last, kind));
  }
  parts.push(text(x(last) + 6, y + 17, outcome(attempt), "start"));
  return parts;
}

const label = ({ name, attempt }) => (attempt > 1 ? `${name}, attempt ${attempt}` : name);

function outcome({ published_ms: published, started_ms: started, ended_ms: ended, error }) {
  if (error) return "failed";
  if (ended !== null) return took(ended - (started ?? published));
  return started === null ? "waits" : "runs";
}

const short = (content) =>
  (content.length > LETTERS_MAX ? `${content.slice(0, LETTERS_MAX - 1)}…` : content);

function text(x, y, content, anchor) {
  return svg("text", { x, y, "text-anchor": anchor }, document.createTextNode(content));
}
