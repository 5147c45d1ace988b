// Which rows a view shows.
const UNITS = { k: 1e3, m: 1e6, b: 1e9, t: 1e12 };

// "7B", "350 M" or "1400000"; null for anything else.
function parseSize(text) {
  const found = /^([0-9]*\.?[0-9]+)\s*([kmbt]?)$/.exec(text.trim().toLowerCase().replaceAll(",", ""));
  return found ? Number(found[1]) * (UNITS[found[2]] ?? 1) : null;
}

function inRange(value, [from, to]) {
  const [low, high] = [parseSize(from), parseSize(to)];
  if (low === null && high === null) return true;
  return typeof value === "number" && (low === null || value >= low) && (high === null || value <= high);
}

// What is missing can be chosen too, as the empty text.
function choiceOf(value) {
  return isMissing(value) ? "" : plain(value);
}

function rowFilter(tab, view) {
  const wanted = parseSearch(view.search);
  const chosen = [...view.chosen].filter(([, values]) => values.size);
  const ranges = [...view.ranges];
  return (row) =>
    !(view.hideFlagged && row.flag) &&
    chosen.every(([field, values]) => values.has(choiceOf(row.values.get(field)))) &&
    ranges.every(([field, range]) => inRange(row.values.get(field), range)) &&
    matchesSearch(wanted, row, tab.search);
}

function filtersSet(view) {
  const chosen = [...view.chosen.values()].filter((values) => values.size).length;
  const ranges = [...view.ranges.values()].filter(([from, to]) => from || to).length;
  return chosen + ranges + Number(view.hideFlagged);
}
