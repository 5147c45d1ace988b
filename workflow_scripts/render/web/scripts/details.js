// What opens for a row: all its values, facts, tasks, and items as the model answered them. Built
// when it is opened, from the row's own line of the page's data.
const detailLines = new Map();

function detailsOf(tabAt, rowAt) {
  if (!detailLines.has(tabAt)) {
    const lines = byId(`details-${tabAt}`).textContent.split("\n");
    detailLines.set(tabAt, lines);
  }
  const details = JSON.parse(detailLines.get(tabAt)[rowAt]);
  const [heads, ...rows] = details.tasks;
  const tasks = rows.map((row) => Object.fromEntries(row.map((value, at) => [heads[at], value])));
  return { ...details, tasks };
}

function showDetails(dialog, tab, tabAt, row) {
  const { facts, tasks, percents, items } = detailsOf(tabAt, row.at);
  const named = tab.columns.filter(
    ({ kind, field }) =>
      kind !== "name" && kind !== "flag" && !(row.isBaseline && isMissing(row.values.get(field))),
  );
  dialog.replaceChildren(
    headerOf(dialog, "details-title", nameOf(tab, row)),
    element(
      "div",
      { className: "body", tabIndex: 0, role: "group", "aria-labelledby": "details-title" },
      row.flag ? element("p", { className: "flagged" }, ...flagParts(row)) : null,
      row.notes.length ? section(row.isBaseline ? "A baseline, for comparison" : "Worth a look", list(row.notes)) : null,
      section("In the table", listOfFacts(named.map((column) => valueFact(column, row)))),
      section("Facts", listOfFacts(otherFacts(facts, row))),
      section("Tasks", tasks.length ? tableOf(tasks, new Set(percents)) : null),
      row.isBaseline ? null : section("How to cite this row", copied(bibtexOf(board, tab, row))),
      section("Items", items.length ? items.map(itemCard) : null),
    ),
  );
  if (!dialog.open) dialog.showModal();
}

function headerOf(dialog, id, title) {
  const close = element("button", { type: "button", className: "close", "aria-label": "Close" }, "×");
  close.addEventListener("click", () => dialog.close());
  return element("header", {}, element("h2", { id }, title), close);
}

function nameOf(tab, row) {
  const column = tab.columns.find(({ kind }) => kind === "name") ?? tab.columns[0];
  return plain(row.values.get(column.field));
}

function flagParts(row) {
  const discussion = row.flagLink && link(row.flagLink, "discussion");
  const said = discussion ? [" (", discussion, ")"] : row.flagLink ? [` (${row.flagLink})`] : [];
  return ["⚑ Flagged: ", row.flag, ...said];
}

function valueFact(column, row) {
  const value = row.values.get(column.field);
  const error = errorOf(row, column);
  const text = ["count", "commit"].includes(column.kind) ? plain(value) : shown(value, column);
  return [column.title, error === null ? text : `${text} ± ${error}`, inFull(value)];
}

// Those that do not stand above already, under their column's name.
function otherFacts(facts, row) {
  const above = new Set([...row.values.values()].filter((value) => typeof value === "string"));
  return Object.entries(facts)
    .filter(([, value]) => !above.has(value))
    .map(([name, value]) => [name, plain(value), inFull(value)]);
}

function section(title, content) {
  const parts = [content].flat().filter((part) => part !== null);
  return parts.length ? element("section", {}, element("h3", {}, title), ...parts) : null;
}

function list(texts) {
  return element("ul", {}, ...texts.map((text) => element("li", {}, text)));
}

function listOfFacts(facts) {
  const pairs = facts.flatMap(([name, text, full]) => [
    element("dt", {}, name),
    element("dd", { title: full === text ? null : full }, text),
  ]);
  return pairs.length ? element("dl", {}, ...pairs) : null;
}

// Shares stand in percent here as in the table behind.
function tableOf(rows, percents) {
  const heads = Object.keys(rows[0]);
  const isNumber = (name) => rows.every((row) => isMissing(row[name]) || typeof row[name] === "number");
  const text = (value, name) =>
    percents.has(name) ? shown(value, { kind: "score", digits: null }) : plain(value);
  const cell = (row, name) =>
    element("td", { className: isNumber(name) ? "numeric" : "", title: inFull(row[name]) }, text(row[name], name));
  return element(
    "div",
    { className: "scroll", tabIndex: 0, role: "group", "aria-label": "Tasks" },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...heads.map((name) => element("th", { scope: "col" }, percents.has(name) ? `${name} (%)` : name)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...heads.map((name) => cell(row, name))))),
    ),
  );
}

// A command to be copied, or the sentence why there is none.
function itemCard(item) {
  const part = (name, text) => [element("dt", {}, name), element("dd", {}, element("pre", {}, text))];
  return element(
    "details",
    { className: item.right ? "item right" : "item wrong" },
    element("summary", {}, element("span", { className: "mark" }, item.right ? "✓ right" : "✗ wrong"), ` ${item.task}`),
    element(
      "dl",
      {},
      ...part("Prompt", item.prompt),
      ...part("The model's answer", item.answer),
      ...part("Right answer", item.gold),
    ),
  );
}
