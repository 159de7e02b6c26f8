// Applies the chosen theme before anything is painted. Without a choice the system decides.
"use strict";
(() => {
  const chosen = localStorage.getItem("dovemq-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
