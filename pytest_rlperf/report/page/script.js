// Filters the list, keeps the filter in the address, and copies commands. The page reads without it.
"use strict";
{
  const form = document.getElementById("filter");
  const tests = [...document.querySelectorAll(".test")].map((item) => ({
    item,
    details: item.querySelector("details"),
    name: item.querySelector(".nodeid").textContent.toLowerCase(),
    outcome: item.dataset.outcome,
    category: item.dataset.category,
  }));

  const boxes = (name) => [...form.querySelectorAll(`[name=${name}]`)];
  const checked = (name) => boxes(name).filter((box) => box.checked).map((box) => box.value);

  // What the form says, as the part of an address after "#".
  const written = () => {
    const state = new URLSearchParams();
    const words = form.q.value.trim();
    if (words) state.set("q", words);
    for (const name of ["outcome", "category"]) {
      for (const value of checked(name)) state.append(name, value);
    }
    return state.toString();
  };

  const fill = (state) => {
    form.q.value = state.get("q") ?? "";
    for (const name of ["outcome", "category"]) {
      const wanted = state.getAll(name);
      for (const box of boxes(name)) box.checked = wanted.includes(box.value);
    }
  };

  // An empty choice chooses all; all words of a search must be in the name.
  const apply = () => {
    const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcomes = checked("outcome");
    const categories = checked("category");
    const fits = (chosen, value) => !chosen.length || chosen.includes(value);
    let shown = 0;
    for (const test of tests) {
      const found =
        fits(outcomes, test.outcome) &&
        fits(categories, test.category) &&
        words.every((word) => test.name.includes(word));
      if (test.item.hidden === found) test.item.hidden = !found;
      shown += found;
    }
    const all = tests.length === 1 ? "1 test" : `${tests.length} tests`;
    document.getElementById("count").value = shown === tests.length ? all : `${shown} of ${all}`;
    document.getElementById("none").hidden = shown > 0;
  };

  // Typing shall not fill the list of visited pages; and browsers refuse a change at every key.
  let pause = 0;
  const remember = () => {
    clearTimeout(pause);
    pause = setTimeout(() => {
      const state = written();
      history.replaceState(null, "", state ? `#${state}` : location.pathname + location.search);
    }, 150);
  };

  // What comes into sight takes its real height a frame later, and may push the target away again:
  // follow it until it has stayed for some frames.
  const show = (target, stayed = 0, last = null) => {
    target.scrollIntoView();
    const { top } = target.getBoundingClientRect();
    const still = top === last && document.readyState === "complete" ? stayed + 1 : 0;
    if (still < 4) requestAnimationFrame(() => show(target, still, top));
  };

  // The address names a filter, or a place in the page.
  const follow = () => {
    const fragment = location.hash.slice(1);
    const target = fragment && document.getElementById(fragment);
    if (target) {
      if (target.hidden) {
        fill(new URLSearchParams());
        apply();
      }
      const details = target.querySelector(":scope > details");
      if (details) details.open = true;
      show(target);
    } else {
      fill(new URLSearchParams(fragment));
      apply();
    }
  };

  if (form) {
    form.hidden = false;
    form.addEventListener("input", () => {
      apply();
      remember();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", (event) => {
      event.preventDefault();
      fill(new URLSearchParams());
      apply();
      remember();
    });
    document.getElementById("unfold").addEventListener("click", () => {
      for (const test of tests) if (!test.item.hidden) test.details.open = true;
    });
    document.addEventListener("keydown", (event) => {
      if (event.target.matches("input[type=search]")) return;
      if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        form.q.focus();
      }
    });
    addEventListener("hashchange", follow);
    follow();
  }

  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const command = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(command.textContent);
        button.textContent = "Copied";
      } catch {
        // Browsers that keep the clipboard from files on disk.
        getSelection().selectAllChildren(command);
        button.textContent = "Selected: copy it with the keyboard";
      }
    });
  }
}
