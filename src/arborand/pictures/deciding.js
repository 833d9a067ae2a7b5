// The mode "decide": asks the most valuable open question of the corpus, takes the answer, and asks
// the next one.
(() => {
  const { html, bar, button } = diagram;
  const { corpus, data, open, goTo, say, shortcuts } = page;
  if (!data.some(({ scores }) => scores)) return;
  const questions = new queue.Queue(corpus);
  let asked = null; // the question on the screen

  const progress = html("span", { class: "progress", role: "status" });
  const start = button({ class: "decide", "aria-pressed": "false", title: "Ask the most valuable question (d)" }, "Decide");
  const inOrder = html("input", { type: "checkbox" });
  const needed = html("span", { class: "needed" });

  const showProgress = () => {
    const { before, left, questions: open } = questions.progress();
    const share = before > 0 ? Math.max(0, 1 - left / before) : 1;
    progress.replaceChildren(
      bar(share),
      `${open} ${open === 1 ? "question" : "questions"}, ${Math.round(100 * share)}\u202f% settled`);
    progress.title = `${left.toFixed(1)} of ${before.toFixed(1)} nats are left`;
  };

  const isOn = () => asked !== null;
  const ask = (question) => {
    const from = asked;
    asked = question;
    if (!question) return finish(from);
    start.setAttribute("aria-pressed", "true");
    const { index, word, value } = question, view = open(index);
    const end = () => asked === question && pause(); // the reader chose a word by hand
    if (!from || from.index !== index) goTo(index, () => asked === question && headsList.place());
    explore.select(view, word, { hasFocus: true, asked: { value, actions, stop, undo, end } });
    say(`${view.sentence.names[word]} of ${data[index].id}`);
    needed.textContent = "";
    setTimeout(() => asked === question && showNeeded(view), 0);
  };
  const showNeeded = ({ choices }) => {
    const count = queue.answersNeeded(choices);
    needed.textContent = count
      ? `${count} likely ${count === 1 ? "answer settles" : "answers settle"} this sentence`
      : "this sentence is settled";
  };
  const askNext = () => ask(questions.next(asked && inOrder.checked ? asked.index : null));
  const finish = (from) => {
    pause();
    if (from) explore.select(open(from.index), 0);
    const { numSkipped } = questions;
    questions.askAgain();
    const skipped = numSkipped === 1 ? "question that you skipped is" : `${numSkipped} questions that you skipped are`;
    say(numSkipped ? `Only the ${skipped} left.` : "Nothing is left to ask: every head is clear.");
  };
  const pause = () => {
    asked = null;
    start.setAttribute("aria-pressed", "false");
  };
  const stop = () => {
    const from = asked;
    pause();
    if (from) explore.select(open(from.index), 0);
    start.focus({ preventScroll: true });
  };
  const skip = () => {
    questions.skip(asked);
    askNext();
  };
  // Undo the last answer, in whichever sentence it was given, and ask again.
  const undo = () => {
    const index = questions.lastAnswered();
    if (index === null || !corpus.choicesOf(index).undo()) return say("There is nothing to undo.");
    askNext();
  };
  const accept = () => corpus.choicesOf(asked.index).acceptBest();

  const actions = [
    button({ "data-key": "accept", onclick: accept }, html("kbd", {}, "b"), " The best tree is right"),
    button({ "data-key": "skip", onclick: skip }, html("kbd", {}, "s"), " Skip"),
    button({ "data-key": "undo", onclick: undo }, html("kbd", {}, "u"), " Undo"),
    html("label", {}, inOrder, " finish a sentence first"),
    needed,
  ];
  start.addEventListener("click", () => (isOn() ? stop() : askNext()));

  corpus.listen((index, { kind, decisions }) => {
    showProgress();
    if (!isOn() || index !== asked.index || kind === "refused" || kind === "undone") return;
    questions.answered(index);
    const isAnswered = decisions.some(({ kind, dependent }) => kind === "fix" && dependent === asked.word);
    if (isAnswered || corpus.valuesOf(index)[asked.word] < queue.LEAST_ASKED)
      queueMicrotask(() => isOn() && askNext()); // once the sentence shows the answer
  });

  const { u, b } = shortcuts;
  Object.assign(shortcuts, {
    d: () => (isOn() ? stop() : askNext()),
    s: () => isOn() && skip(),
    u: () => (isOn() ? undo() : u()),
    b: () => (isOn() ? accept() : b()),
  });

  page.bar.insertBefore(html("span", { class: "deciding" }, start, progress), page.bar.querySelector(".keeping, .legend"));
  showProgress();
})();
