"use strict";
// Show one step at a time.  Without this script, the page shows all of them.
(() => {
  const steps = [...document.querySelectorAll(".step")];
  const make = (name, properties) => Object.assign(document.createElement(name), properties);
  const controls = make("div", { className: "controls" });
  controls.setAttribute("role", "group");
  controls.setAttribute("aria-label", "Steps");
  const first = make("button", { type: "button", textContent: "First" });
  const back = make("button", { type: "button", textContent: "Back" });
  const next = make("button", { type: "button", textContent: "Next" });
  const play = make("button", { type: "button", textContent: "Play" });
  const slider = make("input", { type: "range", min: 1, max: steps.length, value: 1 });
  slider.setAttribute("aria-label", "Step");
  const hint = make("span", { className: "hint", textContent: "Keys: ← → Home End" });
  const said = make("p", { className: "said" });
  said.setAttribute("aria-live", "polite");
  controls.append(first, back, next, play, slider, hint, said);
  document.querySelector("header").after(controls);

  let position = 0;
  let timer = null;

  const show = (to) => {
    position = Math.max(0, Math.min(to, steps.length - 1));
    steps.forEach((step, i) => (step.hidden = i !== position));
    slider.value = position + 1;
    // A disabled button loses the focus: move it to a neighbour.
    const atEnd = position === steps.length - 1;
    if (position === 0 && [first, back].includes(document.activeElement)) next.focus();
    if (atEnd && document.activeElement === next) back.focus();
    first.disabled = back.disabled = position === 0;
    next.disabled = atEnd;
    said.textContent = steps[position].querySelector("figcaption").textContent;
  };

  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  };
  const go = (to) => (stop(), show(to));

  first.addEventListener("click", () => go(0));
  back.addEventListener("click", () => go(position - 1));
  next.addEventListener("click", () => go(position + 1));
  slider.addEventListener("input", () => go(Number(slider.value) - 1));
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (position === steps.length - 1) show(0);
    play.textContent = "Pause";
    timer = setInterval(() => {
      if (position + 1 < steps.length) show(position + 1);
      if (position + 1 === steps.length) stop();
    }, 1600);
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (document.activeElement === slider) return; // the slider handles these keys itself
    const moves = { ArrowRight: position + 1, ArrowLeft: position - 1, Home: 0, End: steps.length };
    if (!(event.key in moves)) return;
    event.preventDefault();
    go(moves[event.key]);
  });
  show(0);
})();
