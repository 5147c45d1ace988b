// The page: the board's data, the reader's choices, and what follows from them.
const board = JSON.parse(byId("board").textContent);
board.tabs.forEach((tab) => {
  const count = tab.rows.length;
  tab.all = [...tab.rows, ...tab.baselines].map(([id, flag, flagLink, notes, values], at) => ({
    at, id, flag, flagLink, notes,
    isBaseline: at >= count,
    values: new Map(tab.fields.map((field, index) => [field, values[index]])),
  }));
  tab.rows = tab.all.slice(0, count);
});
const tabAt = (id) => board.tabs.findIndex((tab) => tab.id === id);
const tables = new Map(); // by tab: made when it is first looked at
const pages = [...board.tabs, ...board.texts];
let state = stateOf(window.location.hash, board.tabs, board.texts);
let typing = false;

function current() {
  const at = tabAt(state.tab);
  return { at, tab: board.tabs[at], view: state.views.get(state.tab) };
}

// One step back undoes one choice; typing a word is one choice, however many letters it has.
function remember({ typing: nowTyping = false } = {}) {
  const address = addressOf(state, board.tabs);
  if (address === (window.location.hash || "#")) return;
  const change = typing && nowTyping ? "replaceState" : "pushState";
  window.history[change](null, "", address);
  typing = nowTyping;
}

function choose(changed) {
  showFilterCount();
  showTable();
  remember(changed);
}

function chooseTab(id) {
  if (id === state.tab) return;
  state.tab = id;
  showAll();
  remember();
}

function openRow(row) {
  const { at, tab, view } = current();
  view.row = row.id;
  showDetails(byId("details"), tab, at, row);
  remember();
}

function showAll() {
  fillTabs(byId("tabs"), pages, state.tab, chooseTab);
  for (const { id } of board.texts) byId(`text-${id}`).hidden = id !== state.tab;
  const { tab, view } = current();
  byId("panel").hidden = !tab;
  if (!tab) return byId("details").close();
  byId("panel").setAttribute("aria-label", tab.title);
  byId("tab-about").textContent = tab.about;
  const search = byId("search");
  search.value = view.search;
  const hasLicence = tab.fields.includes("licence");
  search.placeholder = hasLicence ? "Search: name; name; license: MIT" : "Search: name; name";
  search.setAttribute("aria-label", `Search ${tab.title}`);
  byId("search-help").textContent = hasLicence
    ? "Several names parted by ; show all of them. license: looks for a licence, beside names or alone."
    : "Several names parted by ; show all of them.";
  fillChoices(byId("columns").querySelector(".choices"), tab, view, choose);
  fillFilters(byId("filter-groups"), tab, view, choose);
  fillLegend(byId("legend"), tab);
  byId("filters").hidden = !byId("filter-groups").children.length;
  showFilterCount();
  showTable();
  showRow();
}

function showRow() {
  const { at, tab, view } = current();
  const dialog = byId("details");
  const row = tab.all.find((one) => one.id === view.row);
  if (row) showDetails(dialog, tab, at, row);
  else if (dialog.open) dialog.close();
}

function showFilterCount() {
  const set = filtersSet(current().view);
  byId("filters-set").textContent = set ? ` (${set})` : "";
}

function showTable() {
  const { tab, view } = current();
  const made = tables.get(tab.id);
  const wasHidden = made?.holder.hidden;
  for (const [id, { holder }] of tables) holder.hidden = id !== tab.id;
  if (!made) {
    const holder = element("div", {});
    byId("table").append(holder);
    const calls = { onSort: chooseSort, onOpen: openRow, onChange: showNumber };
    tables.set(tab.id, { holder, ...makeTable(holder, tab, view, calls) });
    return;
  }
  made.built.then(() => {
    applyView(made, tab, view, wasHidden);
    showNumber();
  });
}

function applyView({ table, keyOf }, tab, view, wasHidden) {
  let laidOut = !wasHidden; // what is hidden has no size, so that its columns have none either
  for (const column of tab.columns) {
    const component = table.getColumn(keyOf.get(column.field));
    const wanted = view.columns.has(column.field);
    if (component.isVisible() === wanted) continue;
    component[wanted ? "show" : "hide"]();
    laidOut = false;
  }
  table.setFilter(filterOf(tab, view));
  const [sorted] = table.getSorters();
  const wanted = view.sort && sortOf(view.sort, keyOf);
  if (wanted && (sorted?.field !== wanted.column || sorted.dir !== wanted.dir)) table.setSort([wanted]);
  if (!laidOut) table.redraw();
}

function chooseSort(sort) {
  const { view } = current();
  if (view.sort?.field === sort.field && view.sort.falling === sort.falling) return;
  view.sort = sort;
  remember();
}

function showNumber() {
  const { tab } = current();
  const table = tables.get(tab.id)?.table;
  if (!table?.initialized) return;
  const count = rowsShown(table, tab).length;
  const all = grouped.format(tab.rows.length);
  byId("count").textContent = count === tab.rows.length ? `${all} rows` : `${grouped.format(count)} of ${all} rows`;
}

function rowsShown(table, tab) {
  return table.getData("active").map(({ at }) => tab.all[at]).filter((row) => !row.isBaseline);
}

function downloadShown() {
  const { tab, view } = current();
  const rows = rowsShown(tables.get(tab.id).table, tab);
  const columns = tab.columns.filter((column) => view.columns.has(column.field));
  download(`leaderboard_${tab.id.replace(/[^\w-]/g, "_")}.csv`, csvOf(tab, columns, rows));
}

function wire() {
  byId("provenance").append(
    ...Object.entries(board.provenance).map(([name, value]) => element("span", {}, `${name}: ${value}`)),
  );
  byId("search").addEventListener("input", (event) => {
    current().view.search = event.target.value;
    choose({ typing: true });
  });
  byId("download").addEventListener("click", downloadShown);
  const dialog = byId("details");
  dialog.addEventListener("close", () => {
    const { view } = current();
    if (!view || view.row === null) return;
    view.row = null;
    remember();
  });
  byId("cite").addEventListener("click", () => showCitation(byId("citation"), board, current().tab));
  // A click on what lies behind closes what is open, as people expect.
  for (const one of [dialog, byId("citation")]) {
    one.addEventListener("click", (event) => {
      if (event.target === one) one.close();
    });
  }
  const columns = byId("columns");
  document.addEventListener("click", (event) => {
    if (!columns.contains(event.target)) columns.open = false;
  });
  columns.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    columns.open = false;
    columns.querySelector("summary").focus();
  });
  byId("filters").open = window.matchMedia("(min-width: 40.01rem)").matches;
  walkTabs(byId("tabs"), pages, chooseTab);
  const restore = () => {
    state = stateOf(window.location.hash, board.tabs, board.texts);
    typing = false;
    showAll();
  };
  window.addEventListener("popstate", restore);
}

if (board.tabs.length) {
  wire();
  showAll();
}
