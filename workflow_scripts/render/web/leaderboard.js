"use strict";
// Trusted Types: our scripts build elements and never write HTML; what the table library writes becomes text.
const escapeHtml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
window.trustedTypes?.createPolicy("default", { createHTML: escapeHtml });

function createElement(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const isMissing = (value) => value === null || value === undefined || value === "";

// A link to a discussion must be https: another kind could run a script.
function linkFlag({ flag, flag_link: link }) {
  const text = `⚑ ${flag}`;
  if (!link?.startsWith("https://")) return createElement("span", { className: "flag", title: flag }, text);
  return createElement("a", { className: "flag", title: flag, href: link, rel: "noopener noreferrer nofollow", target: "_blank" }, text);
}

function formatText(cell, value = cell.getValue()) {
  if (isMissing(value)) return cell.getData().is_baseline ? "" : "—";
  return createElement("span", { title: cell.getValue() }, value);
}

Tabulator.extendModule("format", "formatters", {
  text: (cell) => formatText(cell),
  commit: (cell) => formatText(cell, cell.getValue()?.slice(0, 7)),
  flag: (cell) => (isMissing(cell.getValue()) ? "" : linkFlag(cell.getData())),
  name(cell) {
    const { flag } = cell.getData();
    return createElement("div", {}, formatText(cell), ...(isMissing(flag) ? [] : [linkFlag(cell.getData())]));
  },
  number(cell, options) {
    const value = cell.getValue();
    if (typeof value !== "number") return formatText(cell);
    const format = new Intl.NumberFormat("en", options.maximumFractionDigits === undefined ? { maximumSignificantDigits: 3, ...options } : options);
    const stderr = cell.getData()[`${cell.getField()}_stderr`];
    return createElement("span", { title: value }, format.format(value), ...(typeof stderr === "number" ? [createElement("small", {}, ` ±${format.format(stderr)}`)] : []));
  },
});

// A bound such as `<7B` or `>50`; a number alone is the least.
Tabulator.extendModule("filter", "filters", {
  bound(text, value) {
    const [, sign, number, unit] = /^\s*([<>]?)=?\s*(-?[0-9.]+)\s*([kmbt]?)\s*$/i.exec(text) ?? [];
    if (number === undefined) return true;
    const limit = number * 1000 ** " kmbt".indexOf(unit.toLowerCase() || " ");
    return !isMissing(value) && (sign === "<" ? value <= limit : value >= limit);
  },
});

// Names separated by `;`, any of which may match; `license:` before a licence. A row must match both kinds.
function parseSearch(text) {
  const words = text.toLowerCase().split(";").map((word) => word.trim());
  const isLicence = (word) => /^licen[sc]e\s*:/.test(word);
  return {
    names: words.filter((word) => word && !isLicence(word)),
    licences: words.filter(isLicence).map((word) => word.replace(/^[^:]*:\s*/, "")).filter(Boolean),
  };
}

function matchesSearch({ names, licences }, row, fields) {
  const holds = (field, word) => String(row[field] ?? "").toLowerCase().includes(word);
  return (
    (!names.length || names.some((word) => fields.some((field) => holds(field, word)))) &&
    (!licences.length || licences.some((word) => holds("licence", word)))
  );
}

// A spreadsheet would run such a text as a formula.
const escapeFormula = (value) => (typeof value === "string" && /^\s*[=+\-@＝＋－＠]/.test(value) ? `'${value}` : value);

function makeTable(section) {
  const { id, columns, rows, sort, search } = JSON.parse(section.querySelector("script").textContent);
  const [searchBox, hideFlagged] = section.querySelectorAll("input");
  const isNarrow = window.matchMedia("(max-width: 40rem)").matches;
  for (const column of columns) {
    if (column.headerFilter === "list") column.headerFilterParams.itemFormatter = window.trustedTypes ? String : escapeHtml;
    if (column.frozen && isNarrow) column.maxWidth = 160;
  }
  const table = new Tabulator(section.querySelector(".table"), {
    data: rows,
    columns,
    columnDefaults: {
      titleFormatter: (cell, { help = "" }) => createElement("button", { type: "button", title: help }, cell.getValue()),
      accessorDownload: escapeFormula,
    },
    headerSortElement: () => "", // the arrows are in leaderboard.css
    nestedFieldSeparator: false,
    layout: "fitDataFill",
    maxHeight: "80vh",
    initialSort: sort,
    frozenRows: (row) => row.getData().is_baseline,
    downloadRowRange: () => table.getRows("active").filter((row) => !row.getData().is_baseline),
    persistence: { sort: true, headerFilter: true, columns: ["visible"] },
    persistenceID: `${window.location.pathname}#${id}`,
    placeholder: createElement("span", {}, "No row matches."),
    rowFormatter: (row) => {
      const { flag, is_baseline: isBaseline } = row.getData();
      row.getElement().classList.toggle("flagged", !isMissing(flag));
      row.getElement().classList.toggle("baseline", Boolean(isBaseline));
    },
  });
  const filterRows = () => {
    const query = parseSearch(searchBox.value);
    table.setFilter((row) => row.is_baseline || (matchesSearch(query, row, search) && !(hideFlagged.checked && row.flag)));
  };
  searchBox.addEventListener("input", filterRows);
  hideFlagged.addEventListener("change", filterRows);
  hideFlagged.parentElement.hidden = !rows.some((row) => row.flag);
  section.querySelector(".tools button").addEventListener("click", () => table.download("csv", `leaderboard_${id}.csv`));
  table.on("dataFiltered", (_, shown) => {
    section.querySelector("output").textContent = `${shown.filter((row) => !row.getData().is_baseline).length} rows`.replace(/^1 rows/, "1 row");
  });
  table.on("tableBuilt", () => {
    const columnsWithHead = table.getColumns().filter((column) => column.getDefinition().formatter);
    section.querySelector("details div").append(...columnsWithHead.slice(1).map((column) => {
      const box = createElement("input", { type: "checkbox", checked: column.isVisible() });
      box.addEventListener("change", () => column.toggle());
      return createElement("label", {}, box, ` ${column.getDefinition().title}`);
    }));
  });
  return table;
}

// The tab is the part of the address behind `#`. A hidden table cannot be laid out: each is made when first shown.
const tables = new Map();
function showTab() {
  const sections = [...document.querySelectorAll("main > section")];
  const shown = sections.find((section) => `#${section.id}` === window.location.hash) ?? sections[0];
  for (const section of sections) section.hidden = section !== shown;
  for (const link of document.querySelectorAll("nav a")) link.setAttribute("aria-current", link.hash === `#${shown.id}` ? "page" : "false");
  if (shown.querySelector(".table") && !tables.has(shown.id)) tables.set(shown.id, makeTable(shown));
}
window.addEventListener("hashchange", showTab);
showTab();
