// Applies the theme that the user chose in the console, before the first paint.

const theme = localStorage.getItem("tidemark-theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
