// How values are written, by the kind of their column.
const NUMERIC = new Set(["score", "number", "count"]);
const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function isMissing(value) {
  return value === null || value === undefined || value === "";
}

// A minus sign, not a hyphen, and no line of zeros with a sign.
function fixed(number, digits) {
  const text = Math.abs(number).toFixed(digits);
  return (number < 0 && Number(text) !== 0 ? "−" : "") + text;
}

function significant(number) {
  if (Number.isInteger(number)) return (number < 0 ? "−" : "") + grouped.format(Math.abs(number));
  const size = Math.abs(number);
  const digits = size >= 1000 ? 0 : size >= 0.001 ? Math.max(0, 3 - Math.floor(Math.log10(size))) : null;
  return digits === null ? number.toExponential(2).replaceAll("-", "−") : fixed(number, digits);
}

// 1402176 is 1.40 M: sizes are read at a glance, and stand in full in the details.
function short(count) {
  for (const [size, unit] of [[1e12, "T"], [1e9, "B"], [1e6, "M"]]) {
    if (Math.abs(count) >= size) return `${(count / size).toPrecision(3)} ${unit}`;
  }
  return significant(count);
}

function plain(value) {
  if (isMissing(value)) return "—";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? significant(value) : String(value);
}

function shown(value, column) {
  if (column.kind === "commit") return plain(value).slice(0, 7);
  if (isMissing(value) || typeof value !== "number") return plain(value);
  if (column.kind === "score") return fixed(100 * value, column.digits ?? 1);
  if (column.kind === "count") return short(value);
  return column.digits === null ? significant(value) : fixed(value, column.digits);
}

function inFull(value) {
  return typeof value === "number" ? String(value) : plain(value);
}

// The standard error that stands beside a score or a number, with as many decimals; or null.
function errorOf(row, column) {
  const [value, error] = [column.field, `${column.field}_stderr`].map((field) => row.values.get(field));
  const has = column.kind === "score" || column.kind === "number";
  if (!has || typeof value !== "number" || typeof error !== "number") return null;
  const text = shown(value, column);
  if (text.includes("e")) return significant(error);
  return fixed(column.kind === "score" ? 100 * error : error, (text.split(".")[1] ?? "").length);
}
