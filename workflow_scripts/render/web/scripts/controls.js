// The controls above the table, and what of them fits a tab.
function fillChoices(place, tab, view, onChange) {
  place.replaceChildren(
    ...tab.columns
      .filter((column) => column.kind !== "name")
      .map((column) => {
        const box = checkbox(column.title, view.columns.has(column.field), (checked) => {
          if (checked) view.columns.add(column.field);
          else view.columns.delete(column.field);
          onChange();
        });
        box.title = column.help;
        return box;
      }),
  );
}

function fillFilters(place, tab, view, onChange) {
  const groups = [];
  for (const column of tab.columns) {
    if (column.kind === "choice") groups.push(choiceGroup(column, tab, view, onChange));
    if (column.ranged) groups.push(rangeGroup(column, view, onChange));
  }
  if (tab.rows.some((row) => row.flag)) {
    const hide = checkbox("Hide flagged", view.hideFlagged, (checked) => {
      view.hideFlagged = checked;
      onChange();
    });
    groups.push(group("Flags", hide));
  }
  place.replaceChildren(...groups.filter((one) => one !== null));
}

function choiceGroup(column, tab, view, onChange) {
  const values = [...new Set(tab.rows.map((row) => choiceOf(row.values.get(column.field))))];
  if (values.length < 2) return null;
  values.sort((a, b) => Number(a === "") - Number(b === "") || compareText(a, b));
  const chosen = () => view.chosen.get(column.field) ?? new Set();
  return group(
    column.title,
    ...values.map((value) =>
      checkbox(value === "" ? "none" : value, chosen().has(value), (checked) => {
        const next = new Set(chosen());
        if (checked) next.add(value);
        else next.delete(value);
        if (next.size) view.chosen.set(column.field, next);
        else view.chosen.delete(column.field);
        onChange();
      }),
    ),
  );
}

function rangeGroup(column, view, onChange) {
  const now = view.ranges.get(column.field) ?? ["", ""];
  const inputs = ["from", "to"].map((side, at) => {
    const input = element("input", {
      type: "text",
      inputMode: "text",
      value: now[at],
      placeholder: side,
      size: 7,
      "aria-label": `${column.title} ${side}, such as 350M or 7B`,
      title: "such as 350M or 7B",
    });
    input.addEventListener("input", () => {
      const range = inputs.map((one) => one.value.trim());
      inputs.forEach((one) => one.setAttribute("aria-invalid", String(one.value.trim() !== "" && parseSize(one.value) === null)));
      if (range[0] || range[1]) view.ranges.set(column.field, range);
      else view.ranges.delete(column.field);
      onChange({ typing: true });
    });
    return input;
  });
  return group(column.title, inputs[0], "–", inputs[1]);
}

function fillLegend(place, tab) {
  const found = tab.columns.filter((column) => column.icons);
  place.hidden = !found.length;
  place.setAttribute("aria-label", found.map(({ title }) => `Icons of ${title}`).join(", "));
  place.replaceChildren(
    ...found.flatMap((column) =>
      Object.keys(column.icons).map((value) => element("li", {}, iconOf(column, value), ` ${value}`)),
    ),
  );
}

function group(title, ...content) {
  return element("fieldset", {}, element("legend", {}, title), ...content);
}

function checkbox(text, checked, onChange) {
  const box = element("input", { type: "checkbox", checked });
  box.addEventListener("change", () => onChange(box.checked));
  return element("label", { className: "chip" }, box, element("span", {}, text));
}

function fillTabs(place, tabs, current, onChoose) {
  place.hidden = tabs.length < 2;
  const buttons = tabs.map((tab) => {
    const selected = tab.id === current;
    const button = element("button", {
      type: "button",
      role: "tab",
      tabIndex: selected ? 0 : -1,
      "aria-selected": String(selected),
      "aria-controls": tab.columns ? "panel" : `text-${tab.id}`,
    }, tab.title);
    button.addEventListener("click", () => onChoose(tab.id));
    return button;
  });
  place.replaceChildren(...buttons);
  // On a phone the tabs do not all fit; which one is open must be seen.
  place.querySelector("[aria-selected=true]").scrollIntoView({ block: "nearest", inline: "nearest" });
}

// Left and right go from tab to tab, as everywhere.
function walkTabs(place, tabs, onChoose) {
  place.addEventListener("keydown", (event) => {
    const at = [...place.children].indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    onChoose(tabs[(to + tabs.length) % tabs.length].id);
    place.querySelector("[aria-selected=true]").focus();
  });
}
