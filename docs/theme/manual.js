// The manual: search, contents on phones, copy buttons. Pages are readable without this script.

const root = document.body.dataset.root;
const input = document.getElementById("search");
const results = document.getElementById("results");

document.querySelector(".menu").addEventListener("click", (event) => {
  event.preventDefault();
  document.body.classList.toggle("open");
  scrollTo(0, 0);
});
document.getElementById("contents").addEventListener("click", (event) => {
  if (event.target.closest("a")) document.body.classList.remove("open");
});
document.querySelector("#contents [aria-current]")?.scrollIntoView({ block: "nearest" });
scrollTo({ top: location.hash ? scrollY : 0 });

for (const block of document.querySelectorAll("pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  });
  block.append(button);
}

// Search: every section that contains all words; headings count more than text.
let index;
const load = () => {
  index ??= fetch(`${root}search.json`).then((response) => response.json());
  return index;
};

function score(section, words) {
  const [, page, heading, body] = section.map((text) => text.toLowerCase());
  let total = 0;
  for (const word of words) {
    const at = body.indexOf(word);
    const points =
      (heading.includes(word) ? 8 : 0) + (heading.startsWith(word) ? 4 : 0) + (page.includes(word) ? 3 : 0);
    if (!points && at < 0) return 0;
    total += points + (at < 0 ? 0 : Math.min(3, body.split(word).length - 1));
  }
  return total;
}

/** Appends a text with the words marked. */
function append(parent, text, words) {
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const parts = text.split(new RegExp(`(${escaped.join("|")})`, "i"));
  parts.forEach((part, place) => {
    if (place % 2) parent.append(Object.assign(document.createElement("mark"), { textContent: part }));
    else parent.append(part);
  });
}

function excerpt(body, words) {
  const lower = body.toLowerCase();
  const found = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0), body.length);
  const start = found === body.length ? 0 : Math.max(0, found - 50);
  return (start ? "…" : "") + body.slice(start, start + 140) + (start + 140 < body.length ? "…" : "");
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) {
    results.hidden = true;
    return;
  }
  const sections = await load();
  const found = sections
    .map((section) => ({ section, points: score(section, words) }))
    .filter(({ points }) => points)
    .sort((a, b) => b.points - a.points)
    .slice(0, 20);
  results.replaceChildren(
    ...found.map(({ section: [address, page, heading, body] }) => {
      const link = document.createElement("a");
      link.href = root + address;
      append(link, heading === page ? page : `${page} › ${heading}`, words);
      const text = document.createElement("small");
      append(text, excerpt(body, words), words);
      link.append(text);
      const item = document.createElement("li");
      item.append(link);
      return item;
    }),
  );
  if (!found.length) {
    const item = document.createElement("li");
    item.className = "none";
    item.textContent = "No section contains all words.";
    results.append(item);
  }
  results.hidden = false;
}

input.hidden = false;
input.addEventListener("focus", load, { once: true });
input.addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  const links = [...results.querySelectorAll("a")];
  const place = links.indexOf(document.activeElement);
  if (event.key === "Escape") {
    results.hidden = true;
  } else if (event.key === "/" && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  } else if (event.key === "Enter" && document.activeElement === input) {
    links[0]?.click();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !results.hidden && links.length) {
    event.preventDefault();
    const next = place + (event.key === "ArrowDown" ? 1 : -1);
    (next < 0 ? input : links[Math.min(next, links.length - 1)]).focus();
  }
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("search") || event.target.closest("#results a")) results.hidden = true;
});
