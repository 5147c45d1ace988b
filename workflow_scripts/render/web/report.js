"use strict";
// A click on a figure shows it as large as the window, another in its full size.
const dialog = document.getElementById("zoom");
const canvas = dialog.querySelector(".canvas");
const picture = canvas.querySelector("img");

for (const button of document.querySelectorAll("button.zoom")) {
  button.addEventListener("click", () => {
    const shown = button.querySelector("img");
    picture.src = shown.src;
    picture.alt = shown.alt;
    // On a phone the window is no larger than the page: at once enlarged, to be moved about.
    canvas.classList.toggle("whole", innerWidth < 640);
    dialog.showModal();
    canvas.scrollLeft = (canvas.scrollWidth - canvas.clientWidth) / 2;
  });
}
picture.addEventListener("click", () => canvas.classList.toggle("whole"));
dialog.querySelector(".close").addEventListener("click", () => dialog.close());
// On the dark around the dialog.
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
// A table's rows by what is typed, as on the leaderboard's page: any of the names, a part is enough.
for (const place of document.querySelectorAll("p.find")) {
  const [input, count] = place.children;
  const rows = [...place.closest("details").querySelectorAll("tbody tr")];
  let texts = null; // read when they are first asked for
  input.addEventListener("input", () => {
    texts ??= rows.map((row) => [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase());
    const words = input.value.toLowerCase().split(";").map((word) => word.trim()).filter(Boolean);
    rows.forEach((row, at) => {
      row.hidden = words.length > 0 && !words.some((word) => texts[at].includes(word));
    });
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });
  place.hidden = false;
}
// On paper nothing can be opened.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
