"use strict";
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.closest("td").querySelector("pre").textContent);
    button.textContent = "Copied";
  });
}
