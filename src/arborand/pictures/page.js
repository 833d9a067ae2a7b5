"use strict";
// Adds keys, the list of sentences and the tracing of trees to a page that is complete without them.
(() => {
  const sections = [...document.querySelectorAll(".sentence")];
  const treesOf = (section) => [...section.querySelectorAll(".card button")];
  const diagramOf = (section) => section.querySelector(".main svg");

  // One tab stop a sentence among its trees: arrow keys move inside.
  const makeTabStop = (section, chosen) => {
    for (const button of treesOf(section)) button.tabIndex = button === chosen ? 0 : -1;
  };

  const release = () => {
    for (const button of document.querySelectorAll('.card button[aria-pressed="true"]'))
      button.setAttribute("aria-pressed", "false");
    for (const svg of document.querySelectorAll("svg.tracing")) svg.classList.remove("tracing");
    for (const part of document.querySelectorAll(".traced")) part.classList.remove("traced");
  };

  const trace = (button) => {
    release();
    const section = button.closest(".sentence");
    const arcs = new Set(button.dataset.arcs.split(" "));
    for (const part of diagramOf(section).querySelectorAll("[data-arc]"))
      part.classList.toggle("traced", arcs.has(part.dataset.arc));
    diagramOf(section).classList.add("tracing");
    button.setAttribute("aria-pressed", "true");
    makeTabStop(section, button);
  };

  const goTo = (section, where) => {
    const trees = treesOf(section);
    if (!trees.length) return;
    const chosen = trees[Math.min(where, trees.length - 1)];
    section.scrollIntoView({ block: "start" });
    chosen.focus({ preventScroll: true });
    chosen.scrollIntoView({ block: "nearest" });
  };

  const inView = () =>
    Math.max(0, sections.findIndex((s) => s.getBoundingClientRect().bottom > innerHeight / 3));

  for (const section of sections) {
    const trees = treesOf(section);
    makeTabStop(section, trees[0]);
    for (const button of trees) {
      button.addEventListener("focus", () => trace(button));
      button.addEventListener("click", () => (button.focus(), trace(button)));
    }
    // All diagrams of a sentence show the same stretch of words, and can be scrolled by keys.
    const scrolls = [...section.querySelectorAll(".scroll")];
    let leader = null;
    const overflows = scrolls[0].scrollWidth > scrolls[0].clientWidth + 1;
    for (const scroll of scrolls) {
      if (overflows) scroll.tabIndex = scroll === scrolls[0] ? 0 : -1; // one stop for all
      scroll.addEventListener("scroll", () => {
        if (leader && leader !== scroll) return;
        leader = scroll;
        for (const other of scrolls)
          if (other !== scroll)
            other.scrollLeft = (scroll.scrollLeft * other.scrollWidth) / scroll.scrollWidth;
        requestAnimationFrame(() => requestAnimationFrame(() => (leader = null)));
      });
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const focused = document.activeElement;
    const button = focused && focused.closest(".card button");
    if (event.key === "Escape") return release();
    if (!button) {
      if (focused && focused !== document.body) return; // a scrolled diagram or the list of sentences
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      event.preventDefault();
      return goTo(sections[inView()], 0);
    }
    const section = button.closest(".sentence");
    const trees = treesOf(section);
    const tree = trees.indexOf(button);
    const sentence = sections.indexOf(section);
    const moves = {
      ArrowRight: () => goTo(section, (tree + 1) % trees.length),
      ArrowLeft: () => goTo(section, (tree + trees.length - 1) % trees.length),
      ArrowDown: () => goTo(sections[Math.min(sentence + 1, sections.length - 1)], 0),
      ArrowUp: () => goTo(sections[Math.max(sentence - 1, 0)], 0),
      Home: () => goTo(section, 0),
      End: () => goTo(section, trees.length - 1),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
  });

  if (sections.length > 1) {
    const bar = document.createElement("nav");
    bar.className = "bar-top";
    bar.setAttribute("aria-label", "Sentences");
    const list = document.createElement("select");
    list.setAttribute("aria-label", "Go to sentence");
    sections.forEach((section, i) => {
      const words = section.querySelector(".text").textContent;
      const name = section.querySelector("h2").textContent;
      list.add(new Option(`${name}: ${words.length > 60 ? words.slice(0, 60) + "…" : words}`, i));
    });
    const step = (by, words) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words;
      button.addEventListener("click", () => show(Number(list.value) + by));
      return button;
    };
    const previous = step(-1, "Previous");
    const next = step(1, "Next");
    const update = (i) => {
      list.value = i;
      previous.disabled = i === 0;
      next.disabled = i === sections.length - 1;
    };
    const show = (i) => {
      sections[i].scrollIntoView({ block: "start" });
      update(i);
    };
    list.addEventListener("change", () => show(Number(list.value)));
    let waiting = false;
    addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => ((waiting = false), update(inView())));
    });
    bar.append(previous, list, next);
    document.querySelector("header").after(bar);
    update(0);
  }
})();
