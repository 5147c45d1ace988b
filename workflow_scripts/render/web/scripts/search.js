// The search of the README: names parted by `;`, any of which may match; `license:` before a licence,
// any of which may match too; where both are given a row must match both. Order and case do not
// matter, and a part of a name is enough.
const LICENCE = /^licen[sc]e\s*:/;

function parseSearch(text) {
  const names = [];
  const licences = [];
  for (const part of text.split(";")) {
    const wanted = part.trim().toLowerCase();
    const prefix = LICENCE.exec(wanted);
    const word = prefix ? wanted.slice(prefix[0].length).trim() : wanted;
    if (word) (prefix ? licences : names).push(word);
  }
  return { names, licences };
}

function matchesSearch({ names, licences }, row, fields) {
  const holds = (value, word) => !isMissing(value) && String(value).toLowerCase().includes(word);
  return (
    (!names.length || names.some((word) => fields.some((field) => holds(row.values.get(field), word)))) &&
    (!licences.length || licences.some((word) => holds(row.values.get("licence"), word)))
  );
}
