// Turns numbers, ages and sizes into short text.

const WHOLE = new Intl.NumberFormat("en");
const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1_000]];

export const count = (value) => (value === null || value === undefined ? "" : WHOLE.format(value));

export function rate(value) {
  if (!value) return "0";
  return value >= 100 ? WHOLE.format(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2);
}

export function age(ms) {
  if (ms === null || ms === undefined) return "–";
  for (const [unit, size] of UNITS) {
    if (ms >= size) {
      const value = ms / size;
      return `${value >= 10 || unit === "s" ? Math.floor(value) : value.toFixed(1)} ${unit}`;
    }
  }
  return `${Math.max(0, Math.round(ms))} ms`;
}

export function size(bytes) {
  const names = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let index = 0;
  while (value >= 1_000 && index < names.length - 1) {
    value /= 1_000;
    index += 1;
  }
  return `${index ? value.toFixed(1) : value} ${names[index]}`;
}

export const time = (ms) => (ms ? new Date(ms).toLocaleString() : "–");

export const bytesOf = (text) => new TextEncoder().encode(text).length;

export function took(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toPrecision(3)} s` : age(ms);
}
