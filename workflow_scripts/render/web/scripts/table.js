// One table for each tab, by Tabulator: it sorts, filters, and keeps only the visible rows in the page.
const ROW_HEIGHT = 46;
const NARROW_ROW_HEIGHT = 66; // where names take lines
// Between these a column is as wide as what stands in it, in the reader's own fonts.
const WIDTHS = { name: [130, 375], text: [90, 280], choice: [80, 220], flag: [100, 220] };
const NUMBERS = [72, 150];
const ICONS = [56, 220];
const PADDING = 21; // on both sides, and what rounding may take
// As style.css has them: in rem, and how heavy.
const FONTS = { cell: [0.93, 400], name: [0.93, 600], small: [0.775, 400], head: [0.85, 600] };
const NONE_MATCHES = "No row matches. Fewer filters, or another search, show more.";
const NONE_AT_ALL = "There is no row: no model was measured, or imported, with what this tab asks.";
const pen = document.createElement("canvas").getContext("2d");

function lengthOf(text, font) {
  const { fontFamily, fontSize } = getComputedStyle(document.documentElement);
  const [rem, weight] = FONTS[font];
  pen.font = `${weight} ${rem * parseFloat(fontSize)}px ${fontFamily}`;
  return pen.measureText(text.replace(/[0-9]/g, "0")).width; // digits are set equally wide
}

// Columns are called c0, c1, ... in the table, so that no field's name can mean anything to it.
function makeTable(holder, tab, view, { onSort, onOpen, onChange }) {
  const narrow = window.matchMedia("(max-width: 40rem)").matches;
  const keyOf = new Map(tab.columns.map((column, at) => [column.field, `c${at}`]));
  const rowOf = new WeakMap(); // by its element
  const table = new window.Tabulator(holder, {
    data: tab.all.map((row) => dataOf(row, tab)),
    index: "at",
    columns: tab.columns.map((column, at) => definition(column, `c${at}`, tab, view, narrow)),
    columnDefaults: { resizable: false },
    nestedFieldSeparator: false,
    layout: "fitColumns",
    maxHeight: "80vh",
    rowHeight: narrow ? NARROW_ROW_HEIGHT : ROW_HEIGHT,
    headerSortElement: () => "",
    keybindings: false, // its own scroll away from the row that has the focus
    initialSort: view.sort ? [sortOf(view.sort, keyOf)] : [],
    initialFilter: [{ field: filterOf(tab, view) }],
    placeholder: element("p", { className: "none" }, tab.rows.length ? NONE_MATCHES : NONE_AT_ALL),
    rowFormatter: (row) => {
      const element = row.getElement();
      rowOf.set(element, row);
      element.tabIndex = -1;
      const { flag, isBaseline } = tab.all[row.getData().at];
      element.classList.toggle("flagged", Boolean(flag));
      element.classList.toggle("baseline", isBaseline);
      element.setAttribute("aria-haspopup", "dialog");
    },
  });
  table.on("dataSorted", (sorters) => {
    if (!sorters.length) return;
    const at = Number(sorters[0].field.slice(1));
    onSort({ field: tab.columns[at].field, falling: sorters[0].dir === "desc" });
  });
  for (const event of ["dataFiltered", "tableBuilt"]) table.on(event, () => onChange());
  table.on("rowClick", (event, row) => {
    if (!event.target.closest("a")) onOpen(tab.all[row.getData().at]);
  });
  walkWithKeys(table, holder, rowOf, (row) => onOpen(tab.all[row.getData().at]));
  const built = new Promise((done) => table.on("tableBuilt", done));
  return { table, built, keyOf };
}

function dataOf(row, tab) {
  const data = { at: row.at, isBaseline: row.isBaseline };
  tab.columns.forEach((column, at) => {
    data[`c${at}`] = column.kind === "flag" ? row.flag : row.values.get(column.field);
  });
  return data;
}

function definition(column, key, tab, view, narrow) {
  const numeric = NUMERIC.has(column.kind);
  const isName = column.kind === "name";
  return {
    field: key,
    title: column.title,
    titleFormatter: () => headOf(column),
    formatter: (cell) => cellOf(column, tab.all[cell.getData().at], tab),
    sorter,
    headerSortStartingDir: numeric ? "desc" : "asc",
    visible: view.columns.has(column.field),
    cssClass: `is-${column.kind}`,
    frozen: isName,
    minWidth: isName && narrow ? 160 : widthOf(column, tab),
    width: column.icons ? widthOf(column, tab) : undefined, // or it would grow
    widthGrow: numeric ? 1 : isName ? 3 : 2,
  };
}

function widthOf(column, tab) {
  const words = column.title.split(/(?<=-)| /); // where a head may break
  const step = Math.ceil(tab.rows.length / 200);
  const rows = tab.all.filter((row) => row.isBaseline || row.at % step === 0);
  const lengths = rows.map((row) => {
    const value = row.values.get(column.field);
    const text = iconOf(column, value)?.textContent ?? shown(value, column);
    return lengthOf(text, column.kind === "name" ? "name" : "cell") + lengthOf(besideOf(row, column) ?? "", "small");
  });
  const [least, most] = column.icons ? ICONS : (WIDTHS[column.kind] ?? NUMBERS);
  const head = Math.max(...words.map((word) => lengthOf(`${word}\u00a0↓`, "head")));
  return Math.max(least, Math.min(most, Math.ceil(PADDING + Math.max(head, ...lengths))));
}

// A button, so that the keyboard reaches the sorting; its click is the head's.
function headOf(column) {
  return element("button", { type: "button", title: column.help || null }, column.title);
}

function cellOf(column, row, tab) {
  if (column.kind === "name") return nameCell(column, row);
  if (column.kind === "flag") return element("span", { title: row.flag }, plain(row.flag));
  const value = row.values.get(column.field);
  const text = shown(value, column);
  const beside = besideOf(row, column);
  const icon = iconOf(column, value);
  return element(
    "span",
    { title: isMissing(value) ? null : titleOf(row, column, value), className: isMissing(value) ? "missing" : null },
    icon,
    icon ? element("span", { className: "visually-hidden" }, text)
      : isMissing(value) && row.isBaseline ? "" : text, // there is nothing that could be missing
    beside === null ? null : element("small", {}, beside),
  );
}

function besideOf(row, column) {
  const error = errorOf(row, column);
  return error === null ? null : ` ±${error}`;
}

function titleOf(row, column, value) {
  const n = row.values.get(`${column.field}_n`);
  return typeof n === "number" ? `${inFull(value)}, of ${grouped.format(n)} items` : inFull(value);
}

// Beneath the name what a reader must not miss: why the row is flagged, and what the checks found.
function nameCell(column, row) {
  const name = element("span", { className: "name", title: plain(row.values.get(column.field)) }, plain(row.values.get(column.field)));
  const flag = row.flag
    ? (row.flagLink && link(row.flagLink, `⚑ ${row.flag}`)) || element("span", {}, `⚑ ${row.flag}`)
    : null;
  if (flag) {
    flag.className = "flag";
    flag.title = `Flagged: ${row.flag}`;
    flag.tabIndex = -1; // the row's one stop is the row; the details have the link too
  }
  const notes = row.notes.length
    ? element("span", { className: "note", title: row.notes.join("\n") }, row.notes.join(" · "))
    : null;
  return element("div", {}, name, flag || notes ? element("div", { className: "marks" }, flag, notes) : null);
}

function sortOf(sort, keyOf) {
  return { column: keyOf.get(sort.field), dir: sort.falling ? "desc" : "asc" };
}

function filterOf(tab, view) {
  const shows = rowFilter(tab, view);
  const any = tab.rows.some(shows); // or "No row matches" would not be said
  return (data) => (data.isBaseline ? any : shows(tab.all[data.at]));
}

// The table is one stop of the Tab key; arrows walk through its rows, Enter opens one.
function walkWithKeys(table, holder, rowOf, open) {
  let last = null; // the row that had the focus, by its place on the board
  const focusOn = async (row) => {
    if (!row) return;
    if (!row.getElement().isConnected) {
      await table.scrollToRow(row, "center", false).catch(() => {});
      await nextFrame(); // the table draws the rows around it, and would take the focus away
    }
    row.getElement().scrollIntoView({ block: "nearest" });
    row.getElement().focus({ preventScroll: true });
  };
  const rowAt = (target) => rowOf.get(target.closest(".tabulator-row"));
  holder.addEventListener("focusin", (event) => {
    const scroller = holder.querySelector(".tabulator-tableholder");
    if (event.target === scroller) {
      const visible = table.getRows("visible");
      focusOn(visible.find((row) => row.getData().at === last) ?? visible[0]);
    }
    // While a row has the focus the scroller is no stop, or going back would end in the row again.
    scroller.tabIndex = event.target.closest(".tabulator-row") ? -1 : 0;
    const row = rowAt(event.target);
    if (row) last = row.getData().at;
  });
  holder.addEventListener("focusout", (event) => {
    if (!holder.contains(event.relatedTarget)) holder.querySelector(".tabulator-tableholder").tabIndex = 0;
  });
  holder.addEventListener("keydown", (event) => {
    const row = rowAt(event.target);
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = table.getRows("active");
    const at = rows.indexOf(row);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined) {
      focusOn(rows[Math.max(0, Math.min(rows.length - 1, to))]);
    } else if (event.key === "Enter" || event.key === " ") {
      open(row);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
}

function nextFrame() {
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}
