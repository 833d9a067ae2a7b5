// What a reader decides about one sentence: heads that are fixed or forbidden, with undo, and what
// follows for the trees.  Nothing here knows the document: a view listens and draws.
//
// Whatever is kept, sent or read is plain data.  A state is { fixed, forbidden }, two lists of
// [head, dependent] in the order of the decisions.  A decision is { kind, head, dependent }, where
// kind is "fix", "free" (a word that was fixed), "forbid" or "allow" (an arc that was forbidden).
const choices = (() => {
  // Make a sentence of the data that page.py writes.  Without scores it is `known`: nothing can be
  // decided, and arcs of small probability are missing.
  const readSentence = (data) => {
    const n = data.tokens.length, size = n + 1;
    const names = ["the root", ...markup.distinctNames(data.tokens)];
    const sentence = { ...data, n, size, names, below: [data.upos, data.deprel].filter(Boolean) };
    if (!data.scores) {
      const marginals = new Float64Array(size * size);
      for (const [head, dependent, p] of data.arcs) marginals[head * size + dependent] = p;
      return { ...sentence, known: { marginals, heads: data.best, headEntropies: data.entropies } };
    }
    const bytes = Uint8Array.from(atob(data.scores), (c) => c.charCodeAt(0));
    const Kind = data.bytes === 8 ? Float64Array : Float32Array;
    const scores = Float64Array.from(new Kind(bytes.buffer));
    return { ...sentence, graph: { n, single: data.single, scores } };
  };

  const nameOf = (head, dependent) => `${head}-${dependent}`;
  const arcOf = (name) => name.split("-").map(Number);
  const decisionsOf = ({ fixed, forbidden }) => [
    ...fixed.map(([head, dependent]) => ({ kind: "fix", head, dependent })),
    ...forbidden.map(([head, dependent]) => ({ kind: "forbid", head, dependent })),
  ];

  class Choices {
    #fixed = new Map(); // from dependent to head
    #forbidden = new Set(); // names of arcs
    #history = []; // of these two, before each step
    #solved = new Map(); // answers of trees.js, by state
    #listeners = [];

    constructor(sentence) {
      this.sentence = sentence;
      this.whole = this.#solve(this.#fixed, this.#forbidden); // without any choice
      this.now = this.whole;
      this.before = null; // what `now` was before the last step
      this.decided = new Set(); // the words that the last step was about
    }

    // ---- decisions ----------------------------------------------------------------------------
    // Each of these is one step: it can be undone, and listeners are told { kind, decisions }.  If no
    // tree is left, nothing changes, the kind is "refused", and `leftOut` lists the words that
    // would have no head.  Returns whether the step was made.
    decide(decisions) {
      const next = this.#after(decisions, this.#fixed, this.#forbidden);
      return this.#step(...next, { kind: "decided", decisions });
    }
    restore(state) {
      const decisions = decisionsOf(state);
      return this.#step(...this.#after(decisions, [], []), { kind: "restored", decisions });
    }
    reset() {
      if (!this.count) return false;
      return this.#step(new Map(), new Set(), { kind: "reset", decisions: [] });
    }
    undo() {
      if (!this.#history.length) return false;
      this.#move(...this.#history.pop());
      this.#tell({ kind: "undone", decisions: [] });
      return true;
    }
    // A second press takes the first one back.
    toggleFixed(head, dependent) {
      const kind = this.headOf(dependent) === head ? "free" : "fix";
      return this.decide([{ kind, head, dependent }]);
    }
    toggleForbidden(head, dependent) {
      const kind = this.isForbidden(head, dependent) ? "allow" : "forbid";
      return this.decide([{ kind, head, dependent }]);
    }

    listen(listener) {
      this.#listeners.push(listener);
    }

    // ---- the state ----------------------------------------------------------------------------
    get state() {
      return {
        fixed: [...this.#fixed].map(([dependent, head]) => [head, dependent]),
        forbidden: [...this.#forbidden].map(arcOf),
      };
    }
    get count() {
      return this.#fixed.size + this.#forbidden.size;
    }
    get numFixed() {
      return this.#fixed.size;
    }
    get canUndo() {
      return this.#history.length > 0;
    }
    headOf(dependent) {
      return this.#fixed.get(dependent);
    }
    isForbidden(head, dependent) {
      return this.#forbidden.size > 0 && this.#forbidden.has(nameOf(head, dependent));
    }
    isDecided(dependent) {
      return this.#fixed.has(dependent) || this.#forbiddenWithout(dependent).size < this.#forbidden.size;
    }

    // ---- what follows -------------------------------------------------------------------------
    probability(head, dependent, answer = this.now) {
      return answer.marginals[head * this.sentence.size + dependent];
    }
    // The probability of all choices together.
    get share() {
      return this.#shareOf(this.now);
    }
    // The entropy of the head of each word, in nats.
    get headEntropies() {
      return (this.now.headEntropies ||= this.#headEntropies());
    }
    // The heads of a word with their probabilities given all other choices, the likeliest first.
    headsOf(dependent) {
      let answer = this.now;
      if (this.isDecided(dependent)) {
        const others = new Map(this.#fixed);
        others.delete(dependent);
        answer = this.#solve(others, this.#forbiddenWithout(dependent));
      }
      return this.#nodes()
        .filter((head) => this.probability(head, dependent, this.whole) > 0 || this.isForbidden(head, dependent))
        .map((head) => ({ head, p: this.probability(head, dependent, answer) }))
        .sort((a, b) => b.p - a.p);
    }
    // The likeliest heads of a word given all choices.
    likeliestHeads(dependent, count) {
      return this.#nodes()
        .map((head) => ({ head, p: this.probability(head, dependent) }))
        .sort((a, b) => b.p - a.p).slice(0, count);
    }
    // The words that have another head in the best tree than before the last step.
    get reattached() {
      const { heads } = this.now;
      return this.#words().filter((j) => heads[j] !== this.before.heads[j]);
    }
    // The other words whose heads the last step made likelier or less likely, by `least` or more in
    // total: those that moved most first, each with the head that moved most.
    moved(least) {
      const found = [];
      for (const dependent of this.#words()) {
        let total = 0, head = 0, most = 0;
        for (const other of this.#nodes()) {
          const by = Math.abs(this.probability(other, dependent) - this.probability(other, dependent, this.before));
          total += by / 2;
          if (by > most) [head, most] = [other, by];
        }
        if (total >= least && !this.decided.has(dependent)) found.push({ dependent, head, total });
      }
      return found.sort((a, b) => b.total - a.total);
    }
    // The probability, given all choices, of a tree that has probability p; null if it is ruled out.
    chanceOf({ p, heads }) {
      const isAllowed = (head, j) =>
        this.#fixed.has(j) ? this.headOf(j) === head : !this.isForbidden(head, j);
      return heads.every((head, j) => !j || isAllowed(head, j)) ? Math.min(p / this.share, 1) : null;
    }
    // The figures of an answer: `now` or `whole`.  Those that compare with gold count words.
    facts(answer) {
      const { graph, gold, goldProbability } = this.sentence;
      const { entropy, bestProbability, logZ, heads } = answer;
      if (!gold) return { entropy, bestProbability, logZ };
      const isPossible = gold.every((head, j) => !j || this.probability(head, j, answer) > 0);
      const countRight = (tree) => this.#words().filter((j) => tree[j] === gold[j]).length;
      return {
        entropy, bestProbability, logZ,
        goldProbability: isPossible ? Math.min(goldProbability / this.#shareOf(answer), 1) : 0,
        bestRight: countRight(heads),
        minimumRiskRight: countRight(trees.minimumRisk(graph, answer)),
      };
    }

    // ---- inside -------------------------------------------------------------------------------
    #words() {
      return Array.from({ length: this.sentence.n }, (_, k) => k + 1);
    }
    #nodes() {
      return Array.from({ length: this.sentence.size }, (_, k) => k);
    }
    #forbiddenWithout(dependent) {
      return new Set([...this.#forbidden].filter((name) => arcOf(name)[1] !== dependent));
    }
    #shareOf(answer) {
      return this.sentence.known ? 1 : trees.share(answer, this.whole);
    }
    #headEntropies() {
      const { n, size } = this.sentence, answer = new Float64Array(size);
      for (let head = 0; head <= n; ++head)
        for (let j = 1; j <= n; ++j) {
          const p = this.probability(head, j);
          if (p > 0) answer[j] -= p * Math.log(p);
        }
      return answer.map((entropy) => Math.max(entropy, 0));
    }

    #after(decisions, oldFixed, oldForbidden) {
      const fixed = new Map(oldFixed), forbidden = new Set(oldForbidden);
      for (const decision of decisions) {
        const { kind, head, dependent } = decision, name = nameOf(head, dependent);
        if (!this.#isArc(head, dependent)) throw new RangeError(`no arc ${name} in this sentence`);
        if (kind === "fix") {
          fixed.set(dependent, head);
          forbidden.delete(name);
        } else if (kind === "free") fixed.delete(dependent);
        else if (kind === "forbid") {
          forbidden.add(name);
          if (fixed.get(dependent) === head) fixed.delete(dependent);
        } else if (kind === "allow") forbidden.delete(name);
        else throw new TypeError(`a decision cannot be of the kind ${JSON.stringify(kind)}`);
      }
      return [fixed, forbidden];
    }
    #isArc(head, dependent) {
      const isIn = (node, least) => Number.isInteger(node) && node >= least && node <= this.sentence.n;
      return isIn(head, 0) && isIn(dependent, 1) && head !== dependent;
    }
    #step(fixed, forbidden, event) {
      const { leftOut } = this.#solve(fixed, forbidden);
      if (!leftOut) {
        this.#history.push([this.#fixed, this.#forbidden]);
        this.#move(fixed, forbidden);
      }
      this.#tell(leftOut ? { ...event, kind: "refused", leftOut } : event);
      return !leftOut;
    }
    #move(fixed, forbidden) {
      const heads = [...fixed.keys(), ...this.#fixed.keys()]
        .filter((j) => fixed.get(j) !== this.#fixed.get(j));
      const arcs = [...forbidden, ...this.#forbidden]
        .filter((name) => forbidden.has(name) !== this.#forbidden.has(name));
      this.decided = new Set([...heads, ...arcs.map((name) => arcOf(name)[1])]);
      this.before = this.now;
      this.now = this.#solve(fixed, forbidden);
      [this.#fixed, this.#forbidden] = [fixed, forbidden];
    }
    #tell(event) {
      for (const listener of this.#listeners) listener(event);
    }
    #solve(fixed, forbidden) {
      if (this.sentence.known) return this.sentence.known;
      const included = [...fixed].map(([dependent, head]) => [head, dependent]);
      const excluded = [...forbidden].map(arcOf), key = JSON.stringify([included, excluded]);
      if (!this.#solved.has(key)) {
        const answer = trees.solve(this.sentence.graph, included, excluded);
        // Of equally good trees, the one that the library calls best.
        if (!included.length && !excluded.length) answer.heads = this.sentence.best;
        this.#solved.set(key, answer);
      }
      return this.#solved.get(key);
    }
  }

  // ---- as CoNLL-U -----------------------------------------------------------------------------
  // The only head that the scores allow, such as one that was given before.
  const onlyHead = ({ graph, size }, j) => {
    const heads = [];
    for (let head = 0; head < size; ++head)
      if (head !== j && graph.scores[head * size + j] > -Infinity) heads.push(head);
    return heads.length === 1 ? heads[0] : undefined;
  };
  const column = (text) => text.replace(/[\t\n\r]+/g, " ").trim() || "_";

  // Write the sentence with its fixed heads.
  const toConllu = (made) => {
    const { sentence } = made, { id, text, tokens, upos } = sentence;
    const lines = [`# sent_id = ${column(id)}`];
    if (column(id) !== id) lines.push(`# arborand_sent_id = ${JSON.stringify(id)}`);
    if (text) lines.push(`# text = ${column(text)}`);
    tokens.forEach((token, i) => {
      const head = made.headOf(i + 1) ?? onlyHead(sentence, i + 1) ?? "_";
      const fields = [i + 1, column(token), "_", upos ? column(upos[i]) : "_", "_", "_", head, "_", "_", "_"];
      lines.push(fields.join("\t"));
    });
    return `${lines.join("\n")}\n\n`;
  };

  return { readSentence, Choices, toConllu };
})();
