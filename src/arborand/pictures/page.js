// The page around the sentences: opens each when it comes into view, and leads from one to another.
(() => {
  const { html } = diagram;
  const sections = [...document.querySelectorAll(".sentence")];
  const source = document.querySelector("main").dataset.command;
  const opened = new Map();
  document.documentElement.classList.add("script");
  if (!document.querySelector('[data-fact="gold"]')) document.querySelector(".gold-key").remove();
  // On a phone the sentences come first.
  if (innerWidth < layout.NARROW) document.querySelector(".legend").open = false;
  document.body.append(headsList.element);

  const open = (section) => {
    if (!opened.has(section)) opened.set(section, explore.open(section, source));
    return opened.get(section);
  };
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries)
        if (isIntersecting) {
          observer.unobserve(target);
          open(target);
        }
    },
    { rootMargin: "300px" },
  );
  for (const section of sections) observer.observe(section);
  const calibration = document.querySelector(".evaluation details");
  calibration?.addEventListener("toggle", () => explore.cue(calibration.querySelector(".scroll")));
  addEventListener("beforeprint", () => {
    sections.forEach(open);
    if (calibration) calibration.open = true;
  });

  let width = innerWidth, waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      if (width === innerWidth) return;
      width = innerWidth;
      for (const view of opened.values()) explore.redraw(view);
    });
  });
  document.addEventListener("scroll", (event) => event.target.matches?.(".scroll") && explore.cue(event.target), true);

  // ---- keys -----------------------------------------------------------------------------------
  const inView = () =>
    Math.max(0, sections.findIndex((s) => s.getBoundingClientRect().bottom > innerHeight / 3));
  const treesOf = (section) => [...section.querySelectorAll("button.tree-head")];
  // Sentences above get their real height as they come near, so the place is found again.
  const goTo = (section) => {
    open(section);
    let frames = 4;
    const align = () => {
      section.scrollIntoView({ block: "start" });
      if (--frames) requestAnimationFrame(align);
    };
    align();
  };
  addEventListener("hashchange", () => {
    const section = document.getElementById(location.hash.slice(1))?.closest(".sentence");
    if (section) goTo(section);
  });
  const focusTree = (section, rank) => {
    const button = treesOf(section)[rank];
    if (!button) return;
    button.focus({ preventScroll: true });
    button.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const focused = document.activeElement;
    if (event.key === "Escape") {
      for (const view of opened.values()) explore.release(view);
      return;
    }
    const button = focused && focused.closest("button.tree-head");
    if (!button) {
      if (focused && focused !== document.body) return;
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      event.preventDefault();
      if (sections.length) explore.focusWord(open(sections[inView()]));
      return;
    }
    const section = button.closest(".sentence"), buttons = treesOf(section);
    const rank = buttons.indexOf(button), last = buttons.length - 1;
    const to = {
      ArrowRight: Math.min(rank + 1, last), ArrowLeft: Math.max(rank - 1, 0), Home: 0, End: last,
    }[event.key];
    const other = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (to === undefined && other === undefined) return;
    event.preventDefault();
    if (to !== undefined) return focusTree(section, to);
    const next = sections[sections.indexOf(section) + other];
    if (!next) return;
    goTo(next);
    focusTree(next, 0);
  });

  // ---- the list of sentences ------------------------------------------------------------------
  if (sections.length < 2) return;
  const most = Math.max(...sections.map((section) => Number(section.dataset.entropy)), 1e-9);
  const entries = sections.map((section) => {
    const name = section.querySelector("h2").textContent;
    const text = section.querySelector(".text").textContent;
    const share = Number(section.dataset.entropy) / most;
    const link = html("a", { href: `#${section.id}` },
      html("span", { class: "bar", style: `--share:${share.toFixed(4)}`, title: `entropy ${section.dataset.entropy} nats` }),
      html("bdi", { class: "id" }, name), html("bdi", { class: "words" }, text));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      details.open = false;
      show(sections.indexOf(section));
      section.querySelector("h2").focus({ preventScroll: true });
    });
    return { section, item: html("li", {}, link), searched: `${name} ${text}`.toLowerCase() };
  });
  const list = html("ol", {}, ...entries.map(({ item }) => item));
  const search = html("input", { type: "search", placeholder: "a word, or part of an id", "aria-label": "Find sentences by a word or an id" });
  const found = html("p", { class: "found", role: "status" });
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    let count = 0;
    for (const { item, searched } of entries) {
      item.hidden = !searched.includes(wanted);
      count += !item.hidden;
    }
    found.textContent = wanted ? `${count} of ${entries.length} sentences` : "";
  });
  const title = html("summary");
  const details = html("details", { class: "sentences" }, title,
    html("div", { class: "list" }, search, found, html("p", { class: "hint" }, "The longer its bar, the more uncertain a sentence."), list));
  const step = (by, words) =>
    html("button", { type: "button", onclick: () => show(inView() + by) }, words);
  const previous = step(-1, "Previous"), next = step(1, "Next");
  const update = (i) => {
    previous.disabled = i <= 0;
    next.disabled = i >= sections.length - 1;
    title.textContent = `Sentence ${i + 1} of ${sections.length}`;
  };
  const show = (i) => {
    goTo(sections[i]);
    update(i);
  };
  let isWaiting = false;
  addEventListener("scroll", () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      update(inView());
    });
  });
  document.addEventListener("pointerdown", (event) => {
    if (!details.contains(event.target)) details.open = false;
  });
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    event.stopPropagation();
    details.open = false;
    title.focus();
  });
  details.addEventListener("toggle", () => details.open && search.focus());
  document.querySelector("header").after(html("nav", { class: "bar-top", "aria-label": "Sentences" }, previous, details, next));
  update(0);
})();
