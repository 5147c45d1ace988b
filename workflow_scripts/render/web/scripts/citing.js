// How to cite the page, a tab of it, or a row: BibTeX to be copied. Texts come from strangers, so that
// what TeX has a meaning for is escaped, braces by their names: BibTeX counts one behind a backslash too.
const TEX = {
  "\\": "\\textbackslash{}", "{": "\\textbraceleft{}", "}": "\\textbraceright{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "±": "$\\pm$", "−": "$-$",
};

function texText(text) {
  return text.replace(/\s+/g, " ").replace(/[\\{}~^&%$#_±−]/g, (letter) => TEX[letter]);
}

// Of a page, or with `row` of one line of it; the day is when it was read, since a page knows no other.
function bibtexOf(board, tab, row = null) {
  const day = new Date().toLocaleDateString("sv"); // 2026-11-22, by the reader's calendar
  const facts = row ? factsOf(tab, row) : Object.entries(board.provenance).map(([name, value]) => `${name}: ${value}`);
  const isNamed = board.title.toLowerCase().includes(tab.title.toLowerCase());
  const title = [row && nameOf(tab, row), board.title, isNamed ? null : tab.title].filter(Boolean);
  const fields = {
    key: texText(board.title), // by which a work without authors is sorted
    title: `{${texText(title.join(", "))}}`,
    year: day.slice(0, 4),
    note: texText([...facts, `read on ${day}`].join("; ")),
    // Where it lies on a disk is nobody else's address.
    ...(/^https?:$/.test(window.location.protocol) ? { url: window.location.href } : {}),
  };
  const lines = Object.entries(fields).map(([name, value]) => `  ${name} = {${value}}`);
  return `@misc{${keyOf(board, tab, row)},\n${lines.join(",\n")}\n}`;
}

function keyOf(board, tab, row) {
  const parts = [board.title, tab.id, ...(row ? [row.id] : [])];
  return parts.join("-").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}

// What tells a row from others of the same model, and its scores with their errors; a submitter's note is
// no part of a result.
function factsOf(tab, row) {
  return tab.columns
    .filter(({ kind, field }) => kind !== "name" && kind !== "flag" && field !== "note")
    .map((column) => valueFact(column, row))
    .filter(([, , full]) => full !== plain(null))
    .map(([title, text]) => `${title}: ${text}`);
}

function showCitation(dialog, board, tab) {
  const text = [bibtexOf(board, tab), tab.restsOn].filter(Boolean).join("\n\n");
  dialog.replaceChildren(
    headerOf(dialog, "citation-title", "How to cite this page"),
    element(
      "div",
      { className: "body", tabIndex: 0, role: "group", "aria-labelledby": "citation-title" },
      element("p", {}, "This page, then what its numbers rest on. To cite one row, open it."),
      copied(text),
    ),
  );
  dialog.showModal();
}

// A text with a button that copies it; where a browser forbids that, it is chosen, to be copied by hand.
function copied(text) {
  const shownText = element("pre", {}, text);
  const said = element("span", { role: "status", "aria-live": "polite" });
  const button = element("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = " Copied.";
    } catch {
      window.getSelection().selectAllChildren(shownText);
      said.textContent = " Chosen; copy it with Ctrl+C.";
    }
  });
  return element("div", { className: "copied" }, element("p", {}, button, said), shownText);
}
