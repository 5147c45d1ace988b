// Elements, with text as text. `given` are properties, or attributes where a name has a dash or is
// `role`; children are elements or text, and what is null is left out.
function element(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue;
    if (name === "role" || name.includes("-")) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

// Shown as an icon, and read out as the word; null where the value has no icon.
function iconOf(column, value) {
  return column.icons && Object.hasOwn(column.icons, value)
    ? element("span", { className: "icon", "aria-hidden": "true" }, column.icons[value])
    : null;
}

function byId(id) {
  return document.getElementById(id);
}

// Only https: a link of another kind could run a script, or lead to the reader's own machine.
function link(address, ...children) {
  let safe = false;
  try {
    safe = new URL(address).protocol === "https:";
  } catch {
    // not an address at all
  }
  if (!safe) return null;
  return element(
    "a",
    { href: address, rel: "noopener noreferrer nofollow", target: "_blank" },
    ...children,
  );
}
