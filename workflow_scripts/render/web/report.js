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
// The page holds each picture once; its download is that one, wherever the page was copied to.
for (const link of document.querySelectorAll("a.png")) {
  link.href = link.closest("figure").querySelector("img").src;
}
picture.addEventListener("click", () => canvas.classList.toggle("whole"));
dialog.querySelector(".close").addEventListener("click", () => dialog.close());
// On the dark around the dialog.
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
// On paper nothing can be opened.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
