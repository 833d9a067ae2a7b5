// The page around the sentences: opens each when it comes into view, moves between them, and keeps the
// address up to date.
const page = (() => {
  const { html, button } = diagram;
  const sections = [...document.querySelectorAll(".sentence")];
  const data = sections.map((section) =>
    JSON.parse(section.querySelector('script[type="application/json"]').textContent));
  const source = document.querySelector("main").dataset.command;
  const storage = (() => {
    try {
      return localStorage;
    } catch {
      return null; // the browser forbids it
    }
  })();
  const made = new corpus.Corpus(data, new decisions.Store(storage));
  const opened = new Map();
  document.documentElement.classList.add("script");
  if (!document.querySelector('[data-fact="gold"]')) document.querySelector(".gold-key").remove();
  document.body.append(headsList.element);

  const open = (index) => {
    if (!opened.has(index)) opened.set(index, explore.open(sections[index], made.choicesOf(index)));
    return opened.get(index);
  };
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries)
        if (isIntersecting) {
          observer.unobserve(target);
          open(sections.indexOf(target));
        }
    },
    { rootMargin: "300px" },
  );
  for (const section of sections) observer.observe(section);
  const comparison = document.querySelector(".evaluation details");
  comparison?.addEventListener("toggle", () => {
    for (const pane of comparison.querySelectorAll(".scroll")) explore.cue(pane);
  });
  addEventListener("beforeprint", () => {
    sections.forEach((_, index) => open(index));
    for (const details of document.querySelectorAll("main details")) details.open = true;
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

  // ---- from one sentence to another -------------------------------------------------------------
  const inView = () =>
    Math.max(0, sections.findIndex((s) => s.getBoundingClientRect().bottom > innerHeight / 3));
  // Sentences above get their real height when they come near, so the position is found again.
  const goTo = (index, then) => {
    open(index);
    let frames = 4;
    const align = () => {
      sections[index].scrollIntoView({ block: "start" });
      then?.();
      if (--frames) requestAnimationFrame(align);
    };
    align();
    update(index);
  };
  const goBy = (by) => sections[inView() + by] && goTo(inView() + by);

  // ---- the address ------------------------------------------------------------------------------
  const follow = () => {
    const link = decisions.fromAddress(location.hash);
    const index = link
      ? data.findIndex(({ id }) => id === link.id)
      : sections.findIndex((section) => `#${section.id}` === location.hash);
    if (index < 0) return link && say(`This page has no sentence ${link.id}.`, true);
    goTo(index);
    const view = open(index);
    if (!link?.state || !view.sentence.graph) return;
    if (decisions.toAddress(link.id, view.choices.state) === decisions.toAddress(link.id, link.state)) return;
    try {
      view.choices.restore(link.state, "linked");
    } catch {
      facts.tell(view, "The link has choices that are not possible in this sentence. They are left out.", true);
    }
  };
  made.listen((index, { kind }) => {
    if (kind === "refused") return;
    try {
      history.replaceState(null, "", decisions.toAddress(data[index].id, made.choicesOf(index).state));
    } catch {
      // Some browsers refuse this if a page is framed, or changes its address often.
    }
  });
  addEventListener("hashchange", follow);

  // ---- the bar ------------------------------------------------------------------------------------
  const title = html("summary");
  const status = html("p", { class: "news", role: "status" });
  const say = (words, isRefusal = false) => {
    status.textContent = words;
    status.classList.toggle("refusal", isRefusal);
  };
  const step = (by, name, sign) =>
    button({ "aria-label": name, title: name, onclick: () => goBy(by) }, sign);
  const previous = step(-1, "Previous sentence", "‹"), next = step(1, "Next sentence", "›");
  const update = (index) => {
    previous.disabled = index <= 0;
    next.disabled = index >= sections.length - 1;
    title.textContent = `${index + 1} of ${sections.length}`;
  };
  const most = Math.max(...data.map(({ entropy }) => entropy), 1e-9);
  const entries = sections.map((section, index) => {
    const { id, entropy, text, tokens } = data[index], words = markup.printable(text ?? tokens.join(" "));
    const link = html("a", { href: `#id=${encodeURIComponent(id)}` },
      diagram.bar(entropy / most, { title: `entropy ${entropy.toFixed(2)} nats` }),
      html("bdi", { class: "id" }, id), html("bdi", { class: "words" }, words));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      list.open = false;
      goTo(index);
      section.querySelector("h2").focus({ preventScroll: true });
    });
    return { item: html("li", {}, link), searched: `${id} ${words}`.toLowerCase() };
  });
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
  const list = html("details", { class: "sentences menu" }, title,
    html("div", { class: "sheet" }, search, found,
      html("p", { class: "hint" }, "The longer its bar, the more uncertain a sentence."),
      html("ol", {}, ...entries.map(({ item }) => item))));
  list.addEventListener("toggle", () => list.open && search.focus());
  const legend = document.querySelector(".legend");
  legend.classList.add("menu");
  const bar = html("nav", { class: "bar-top", "aria-label": "Sentences" },
    ...(sections.length > 1 ? [previous, list, next] : []), legend);
  document.querySelector("header").after(bar, status);
  // A menu closes when the reader goes elsewhere.
  const menus = () => [...bar.querySelectorAll("details.menu")];
  document.addEventListener("pointerdown", (event) => {
    for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
  });
  bar.addEventListener("keydown", (event) => {
    const menu = event.target.closest("details.menu");
    if (event.key !== "Escape" || !menu?.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  let isWaiting = false;
  addEventListener("scroll", () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      update(inView());
    });
  });

  // ---- keys ---------------------------------------------------------------------------------------
  const treesOf = (section) => [...section.querySelectorAll("button.tree-head")];
  const focusTree = (section, rank) => {
    const chosen = treesOf(section)[rank];
    if (!chosen) return;
    section.querySelector(".rest").open = true;
    chosen.focus({ preventScroll: true });
    chosen.scrollIntoView({ block: "nearest" });
  };
  const isTyping = (event) => event.target.matches?.("input:not([type=checkbox]), textarea, select");
  // Single letters and digits, wherever the focus is; deciding.js adds its own.
  const shortcuts = {
    "?": () => (legend.open = !legend.open),
    n: () => goBy(1),
    p: () => goBy(-1),
    u: () => (headsList.owner() ?? open(inView())).choices.undo(),
    b: () => (headsList.owner() ?? open(inView())).choices.acceptBest(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || isTyping(event)) return;
    if (event.key === "Escape") {
      for (const view of opened.values()) explore.release(view);
      return;
    }
    if (/^[1-9]$/.test(event.key) && headsList.owner()) {
      event.preventDefault();
      return headsList.pressNth(Number(event.key));
    }
    if (Object.hasOwn(shortcuts, event.key)) {
      event.preventDefault();
      return shortcuts[event.key]();
    }
    if (event.shiftKey) return;
    const focused = document.activeElement, chosen = focused && focused.closest("button.tree-head");
    if (!chosen) {
      if (focused && focused !== document.body) return;
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      event.preventDefault();
      if (sections.length) explore.focusWord(open(inView()));
      return;
    }
    const section = chosen.closest(".sentence"), buttons = treesOf(section);
    const rank = buttons.indexOf(chosen), last = buttons.length - 1;
    const to = {
      ArrowRight: Math.min(rank + 1, last), ArrowLeft: Math.max(rank - 1, 0), Home: 0, End: last,
    }[event.key];
    const other = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (to === undefined && other === undefined) return;
    event.preventDefault();
    if (to !== undefined) return focusTree(section, to);
    const index = sections.indexOf(section) + other;
    if (!sections[index]) return;
    goTo(index);
    focusTree(sections[index], 0);
  });

  // ---- decisions of earlier visits ----------------------------------------------------------------
  made.openKept();
  const named = (indexes) => [...indexes].map((index) => data[index].id).join(", ");
  const news = [];
  if (made.ofOtherScores.size)
    news.push(`The scores have changed since you decided about ${named(made.ofOtherScores)}. Your decisions are kept.`);
  if (made.refused.size) news.push(`No tree agrees with your decisions about ${named(made.refused)} any more: they are left out.`);
  if (news.length) say(news.join(" "), Boolean(made.refused.size));
  if (sections.length) update(0);
  if (location.hash) follow();

  return { data, corpus: made, open, goTo, bar, legend, say, shortcuts, source };
})();
