// What a spreadsheet would take for a formula gets an apostrophe in front, which it shows as text.
// Numbers are left alone: −1 is no formula.
const FORMULA = /^[\s\u0000-\u001f]*[=+\-@＝＋－＠]/;

function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const safe = FORMULA.test(value) || /^[\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// The columns shown, each followed by its standard error where rows have one; the rows shown,
// in their order.
function csvOf(tab, columns, rows) {
  const heads = [];
  for (const column of columns) {
    heads.push([column.title, column.field]);
    const error = `${column.field}_stderr`;
    if (tab.fields.includes(error)) heads.push([`${column.title} stderr`, error]);
  }
  const valueOf = (row, field) => (row.values.has(field) ? row.values.get(field) : null);
  const lines = [heads.map(([title]) => title), ...rows.map((row) => heads.map(([, field]) => valueOf(row, field)))];
  // Flags are part of a result: a copy of the table must not lose them.
  if (rows.some((row) => row.flag) && !columns.some((column) => column.kind === "flag")) {
    lines[0].push("Flagged");
    rows.forEach((row, at) => lines[at + 1].push(row.flag));
  }
  return lines.map((line) => line.map(csvCell).join(",") + "\r\n").join("");
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const anchor = element("a", { href: address, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
