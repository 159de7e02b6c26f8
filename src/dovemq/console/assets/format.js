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

// A time that was measured or predicted; null has no end.
export function duration(ms) {
  if (ms === undefined) return "–";
  if (ms === null) return "without end";
  if (ms < 1_000) return `${digits(ms)} ms`;
  if (ms < 120_000) return `${digits(ms / 1_000)} s`;
  return ms < 7_200_000 ? `${digits(ms / 60_000)} min` : `${digits(ms / 3_600_000)} h`;
}

// Three digits, as many as a figure from samples can have.
export function digits(value) {
  if (value >= 100) return WHOLE.format(Math.round(value));
  return String(Number(value.toPrecision(value < 1 ? 2 : 3)));
}

// A time that has passed; null while it is not known.
export const took = (ms) => duration(ms ?? undefined);
