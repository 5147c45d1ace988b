// What the reader has chosen, tab by tab, and its spelling in the address: after `#`, only what
// differs from how a tab is first shown.
function firstView(tab) {
  const column = tab.columns.find(({ field }) => field === tab.sort);
  return {
    search: "",
    hideFlagged: false,
    chosen: new Map(),
    ranges: new Map(),
    columns: new Set(tab.columns.filter((one) => one.shown).map((one) => one.field)),
    sort: column ? { field: column.field, falling: column.kind === "score" } : null,
    row: null,
  };
}

function addressOf(state, tabs) {
  const parts = new URLSearchParams();
  if (state.tab !== tabs[0].id) parts.append("tab", state.tab);
  for (const tab of tabs) {
    const view = state.views.get(tab.id);
    const first = firstView(tab);
    const add = (name, value) => parts.append(`${tab.id}.${name}`, value);
    if (view.search) add("search", view.search);
    if (view.hideFlagged) add("flagged", "hidden");
    for (const [field, values] of view.chosen) {
      for (const value of [...values].sort()) add(`is.${field}`, value);
    }
    for (const [field, [from, to]] of view.ranges) {
      if (from) add(`from.${field}`, from);
      if (to) add(`to.${field}`, to);
    }
    if (view.sort && (view.sort.field !== first.sort?.field || view.sort.falling !== first.sort.falling)) {
      add("sort", `${view.sort.falling ? "falling" : "rising"}:${view.sort.field}`);
    }
    for (const { field } of tab.columns) {
      if (view.columns.has(field) && !first.columns.has(field)) add("show", field);
      if (!view.columns.has(field) && first.columns.has(field)) add("hide", field);
    }
    if (view.row !== null) add("row", view.row);
  }
  return `#${parts}`;
}

// Anybody can write an address: what it names that is not there is passed by.
function stateOf(address, tabs, texts) {
  const parts = new URLSearchParams(address.replace(/^#/, ""));
  const wanted = parts.get("tab");
  const state = {
    tab: ([...tabs, ...texts].find((tab) => tab.id === wanted) ?? tabs[0]).id,
    views: new Map(tabs.map((tab) => [tab.id, viewOf(parts, tab)])),
  };
  return state;
}

function viewOf(parts, tab) {
  const view = firstView(tab);
  const all = (name) => parts.getAll(`${tab.id}.${name}`);
  const one = (name) => all(name)[0] ?? "";
  const fields = new Set(tab.columns.map((column) => column.field));
  view.search = one("search");
  view.hideFlagged = one("flagged") === "hidden";
  for (const column of tab.columns) {
    const values = all(`is.${column.field}`);
    if (column.kind === "choice" && values.length) view.chosen.set(column.field, new Set(values));
    const range = [one(`from.${column.field}`), one(`to.${column.field}`)];
    if (column.ranged && (range[0] || range[1])) view.ranges.set(column.field, range);
  }
  const [, order, field] = /^(falling|rising):(.*)$/s.exec(one("sort")) ?? [];
  if (fields.has(field)) view.sort = { field, falling: order === "falling" };
  for (const shownField of all("show")) if (fields.has(shownField)) view.columns.add(shownField);
  for (const hidden of all("hide")) view.columns.delete(hidden);
  for (const column of tab.columns) if (column.kind === "name") view.columns.add(column.field);
  view.row = tab.all.some((row) => row.id === one("row")) ? one("row") : null;
  return view;
}
