// The one way from text to HTML, by Trusted Types: it makes text of it. Our scripts build elements
// and never write HTML; the table library does, and whatever it writes arrives here.
if (window.trustedTypes) {
  window.trustedTypes.createPolicy("default", {
    createHTML: (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
  });
}
