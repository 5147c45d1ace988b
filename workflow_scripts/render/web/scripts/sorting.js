// Text is compared without regard to case, and by the numbers in it: run 9 comes before run 10.
function compareText(a, b) {
  const [left, right] = [a, b].map((text) => text.toLowerCase().match(/[0-9]+|[^0-9]+/g) ?? []);
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const difference = compareParts(left[at], right[at]);
    if (difference) return difference;
  }
  return left.length - right.length;
}

function compareParts(a, b) {
  if (/^[0-9]/.test(a) && /^[0-9]/.test(b)) {
    const [left, right] = [a, b].map((digits) => digits.replace(/^0+/, ""));
    if (left.length !== right.length) return left.length - right.length;
    return left < right ? -1 : Number(left > right);
  }
  return a < b ? -1 : Number(a > b);
}

function compareValues(a, b) {
  const numbers = [a, b].map((value) => (typeof value === "string" ? null : Number(value)));
  if (numbers.includes(null)) return compareText(String(a), String(b));
  return numbers[0] - numbers[1];
}

// For the table library, which swaps the two for a falling order. Baselines come first and what is
// missing last in both orders, and equal values keep the order of the board, so that an address shows
// what it showed.
function sorter(a, b, rowA, rowB, column, direction) {
  const sign = direction === "asc" ? 1 : -1;
  const [left, right] = [rowA.getData(), rowB.getData()];
  if (left.isBaseline !== right.isBaseline) return left.isBaseline ? -sign : sign;
  if (left.isBaseline) return sign * (left.at - right.at);
  if (isMissing(a) !== isMissing(b)) return isMissing(a) ? sign : -sign;
  const difference = isMissing(a) ? 0 : compareValues(a, b);
  return difference || sign * (left.at - right.at);
}
