// SPDX-License-Identifier: Apache-2.0
// Numbers for people. A tooltip always has the exact number as well.

const manyRanks = 24;  // With more ranks than this, rows are drawn low.
const groups = new Intl.NumberFormat("en-US");
const count = (value) => groups.format(value);

function threeDigits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

function time(ns) {
  if (Math.abs(ns) < 1000) return `${Math.round(ns)} ns`;
  for (const [unit, size] of [["µs", 1e3], ["ms", 1e6]]) {
    if (Math.abs(ns) / size < 999.5) return `${threeDigits(ns / size)} ${unit}`;
  }
  return `${threeDigits(ns / 1e9)} s`;
}
const exactTime = (ns) => `${count(Math.round(ns))} ns`;

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = value;
  while (size >= 1024 && unit + 1 < units.length) {
    size /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${count(size)} B` : `${threeDigits(size)} ${units[unit]}`;
}

const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "-");
const plain = (value) => (Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(4))));

// Axis ticks: about `wanted` round numbers in [low, high].
function ticks(low, high, wanted) {
  const raw = (high - low) / Math.max(1, wanted);
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) found.push(at);
  return found;
}
