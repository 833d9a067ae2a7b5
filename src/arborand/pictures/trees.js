// The distribution over the trees of one sentence, computed in the page: from scores and choices to
// log Z, the probability of every arc, the best tree and the entropy.
//
// A graph is { n, single, projective, scores }.  scores[head * (n + 1) + dependent] is a log-weight,
// -Infinity where there is no arc; node 0 is the root.  With `single`, exactly one arc leaves the
// root; with `projective`, no arcs cross.
const trees = (() => {
  const { table, numberLike, put, putExp, copy, addMultiple, sum, divide, multiply } = numbers;
  const { toDouble, toLog, withEntropy } = numbers;

  // ---- walks ---------------------------------------------------------------------------------
  // A walk goes from a word to one of its heads, with the arc's weight, until it reaches the root.
  // Row j of `rows` has the steps out of word j: to the `count` words that are eliminated here, to
  // the words that stay, and to the root.  The root has two columns.  For dependency trees, its arcs
  // count as infinitely light, and are in the last column; the column before it has what is not
  // light, because the one root arc was already taken.
  //
  // Afterwards, the columns from `count` on say where the walk from each eliminated word arrives.
  // Returns the product of the pivots, which is Z if no word stays; with the entropy of the trees, if
  // the numbers of `rows` have entropies.
  const takeOut = (rows, count) => {
    const width = rows.columns, heavy = width - 2, light = width - 1;
    const product = numberLike(rows, 1);
    for (let k = 0; k < count; ++k) {
      const row = k * width;
      let pivot = sum(rows, row + k + 1, heavy - k);
      if (pivot.m[0] > 0) divide(rows, row + k + 1, width - k - 1, pivot);
      else {
        // Only a light arc to the root is left: this is the one root arc.
        pivot = sum(rows, row + light, 1);
        put(rows, row + heavy, 1, 0);
        put(rows, row + light, 0, 0);
        if (rows.h) rows.h[row + heavy] = 0;
      }
      multiply(product, pivot);
      for (let j = k + 1; j < count; ++j)
        addMultiple(rows, j * width + k + 1, rows, j * width + k, rows, row + k + 1, width - k - 1);
    }
    for (let j = count - 2; j >= 0; --j)
      for (let k = j + 1; k < count; ++k)
        addMultiple(
          rows, j * width + count, rows, j * width + k, rows, k * width + count, width - count,
        );
    return product;
  };

  // Eliminate one half of the words, and recurse on the other; do so for both halves.  At the end, one
  // word stays, and `arrivals` says where the walk from every other word arrives first: row 0 at the
  // word itself, row 1 at the root, row 2 at the root by a light arc.
  const forEachWord = (walk, n, visit) => {
    // The memory of each level, used by all its halves in turn.  Their sizes differ by one word at most.
    const levels = [];
    const memory = (depth, size) => {
      const most = (size + 2) >> 1;
      return (levels[depth] ||= {
        out: table(most, size + 3), left: table(most, most + 2), reached: table(most + 2, n),
      });
    };
    const halve = (depth, begin, size, rows, arrivals) => {
      if (size === 1) return visit(begin, rows.m[1] > 0 ? 1 : 2, arrivals);
      const left = size >> 1, middle = begin + left, right = size - left;
      keep(depth, begin, size, rows, arrivals, begin, left, middle, right);
      keep(depth, begin, size, rows, arrivals, middle, right, begin, left);
    };
    const keep = (depth, begin, size, rows, arrivals, kept, numKept, dropped, numDropped) => {
      const width = size + 2, places = numKept + 2;
      const { out, left, reached } = memory(depth, size);
      out.columns = numDropped + places;
      for (let j = 0; j < numDropped; ++j) {
        const from = (dropped - begin + j) * width, to = j * out.columns;
        copy(out, to, rows, from + dropped - begin, numDropped);
        copy(out, to + numDropped, rows, from + kept - begin, numKept);
        copy(out, to + numDropped + numKept, rows, from + size, 2);
      }
      takeOut(out, numDropped);
      for (let j = 0; j < numKept; ++j) {
        const from = (kept - begin + j) * width, to = j * places;
        copy(left, to, rows, from + kept - begin, numKept);
        copy(left, to + numKept, rows, from + size, 2);
        for (let k = 0; k < numDropped; ++k)
          addMultiple(
            left, to, rows, from + dropped - begin + k, out, k * out.columns + numDropped, places,
          );
      }
      if (!arrivals) reached.m.fill(0);
      for (let i = 0; i < places; ++i) {
        const before = i < numKept ? kept - begin + i : size + i - numKept;
        if (arrivals) copy(reached, i * n, arrivals, before * n, n);
        for (let k = 0; k < numDropped; ++k) {
          const chance = k * out.columns + numDropped + i;
          if (arrivals) addMultiple(reached, i * n, out, chance, arrivals, (dropped - begin + k) * n, n);
          copy(reached, i * n + dropped + k, out, chance, 1);
        }
      }
      halve(depth + 1, kept, numKept, left, reached);
    };
    halve(0, 0, n, walk, null);
  };

  // P(head -> word) is proportional to the arc's weight times the chance that a walk from the head
  // reaches the root before it reaches the word.
  const marginalsOf = (walk, n) => {
    const size = n + 1, marginals = new Float64Array(size * size), chances = table(1, size);
    forEachWord(walk, n, (j, root, arrivals) => {
      const row = j * (n + 2);
      copy(chances, 0, walk, row + n + root - 1, 1);
      for (let i = 0; i < n; ++i) {
        chances.m[i + 1] = 0;
        if (i !== j) addMultiple(chances, i + 1, walk, row + i, arrivals, root * n + i, 1);
      }
      divide(chances, 0, size, sum(chances, 0, size));
      for (let i = 0; i < size; ++i) marginals[i * size + j + 1] = toDouble(chances, i);
    });
    return marginals;
  };

  // ---- entropy -------------------------------------------------------------------------------
  // From the marginals: how much less likely trees are than the best one, on average.  Large
  // differences of scores, if there are any, must cancel; `total` tells how large they are.
  const entropyFromMarginals = ({ n, scores }, marginals, heads, logBest) => {
    const size = n + 1;
    let entropy = -logBest, total = 0;
    for (let j = 1; j < size; ++j) {
      const own = scores[heads[j] * size + j];
      for (let i = 0; i < size; ++i) {
        const p = marginals[i * size + j];
        if (p === 0 || i === heads[j]) continue;
        const term = p * (own - scores[i * size + j]);
        entropy += term;
        total += Math.abs(term);
      }
    }
    return { entropy: Math.max(entropy, 0), total };
  };
  const MOST_TO_CANCEL = 1000; // nats: about 13 digits are left

  // ---- is there a tree? ----------------------------------------------------------------------
  // Returns the words that are left out: none if there is a tree.  If only one arc may leave the root,
  // the words that are left out by the dependent of the root that reaches the most words.
  const leftOut = ({ n, single, scores }) => {
    const size = n + 1;
    const notReached = (starts) => {
      const seen = new Uint8Array(size), queue = [...starts];
      for (const start of starts) seen[start] = 1;
      while (queue.length) {
        const head = queue.pop();
        for (let j = 1; j < size; ++j)
          if (!seen[j] && scores[head * size + j] > -Infinity) {
            seen[j] = 1;
            queue.push(j);
          }
      }
      return words.filter((j) => !seen[j]);
    };
    const words = Array.from({ length: n }, (_, j) => j + 1);
    const tops = words.filter((j) => scores[j] > -Infinity);
    let least = notReached(tops);
    if (!single || least.length) return least;
    least = words;
    for (const top of tops) {
      const missed = notReached([top]);
      if (missed.length < least.length) least = missed;
      if (!least.length) break;
    }
    return least;
  };

  // ---- the best tree -------------------------------------------------------------------------
  // Edmonds' algorithm.  The better of two arcs takes fewer arcs from the root; if both take the same
  // number, it is the one with the higher score.  So there is no penalty that must be large enough.
  const bestTree = (graph) => {
    if (graph.projective) return projective.bestTree(graph);
    const { n, single, scores } = graph;
    const roots = new Float64Array(scores.length);
    for (let arc = 0; arc < scores.length; ++arc) {
      if (scores[arc] === -Infinity) roots[arc] = Infinity;
      else if (single && arc <= n) roots[arc] = 1;
    }
    return bestHeads(n + 1, scores, roots);
  };

  const bestHeads = (size, score, roots) => {
    const best = new Int32Array(size);
    const bestScore = score.slice(0, size), bestRoots = roots.slice(0, size);
    best[0] = -1;
    for (let i = 1, arc = size; i < size; ++i)
      for (let j = 0; j < size; ++j, ++arc) {
        if (j === 0 || i === j || roots[arc] > bestRoots[j]) continue;
        if (roots[arc] === bestRoots[j] && score[arc] <= bestScore[j]) continue;
        best[j] = i;
        bestRoots[j] = roots[arc];
        bestScore[j] = score[arc];
      }
    const { isInCycle, nodeOf, count } = contract(best);
    if (count === size) return best;

    // In the smaller graph, each cycle is a node.  An arc into a cycle replaces one of its arcs.
    const smallScore = new Float64Array(count * count).fill(-Infinity);
    const smallRoots = new Float64Array(count * count).fill(Infinity);
    const arcs = new Int32Array(count * count);
    for (let i = 0, arc = 0; i < size; ++i)
      for (let j = 0; j < size; ++j, ++arc) {
        if (j === 0 || nodeOf[i] === nodeOf[j]) continue;
        const at = nodeOf[i] * count + nodeOf[j];
        const gain = isInCycle[j] ? score[arc] - bestScore[j] : score[arc];
        const taken = isInCycle[j] ? roots[arc] - bestRoots[j] : roots[arc];
        if (taken > smallRoots[at] || (taken === smallRoots[at] && gain <= smallScore[at])) continue;
        smallScore[at] = gain;
        smallRoots[at] = taken;
        arcs[at] = arc;
      }
    const inner = bestHeads(count, smallScore, smallRoots);
    for (let node = 1; node < count; ++node) {
      const arc = arcs[inner[node] * count + node];
      best[arc % size] = Math.floor(arc / size);
    }
    return best;
  };

  // Number the nodes of the graph in which each cycle of `heads` is one node; the root is node 0.
  const contract = (heads) => {
    const size = heads.length, seenFrom = new Int32Array(size);
    const isInCycle = new Uint8Array(size), nodeOf = new Int32Array(size);
    let count = 1;
    for (let start = 1; start < size; ++start) {
      let j = start;
      while (j > 0 && !seenFrom[j]) {
        seenFrom[j] = start;
        j = heads[j];
      }
      if (j <= 0 || seenFrom[j] !== start) continue;
      for (; !isInCycle[j]; j = heads[j]) {
        isInCycle[j] = 1;
        nodeOf[j] = count;
      }
      count += 1;
    }
    for (let j = 1; j < size; ++j) if (!isInCycle[j]) nodeOf[j] = count++;
    return { isInCycle, nodeOf, count };
  };

  // ---- all together --------------------------------------------------------------------------
  const restrict = (graph, fixed, forbidden) => {
    const size = graph.n + 1, scores = Float64Array.from(graph.scores);
    for (let i = 0; i < size; ++i) scores[i * size + i] = scores[i * size] = -Infinity;
    for (const [head, dependent] of fixed)
      for (let i = 0; i < size; ++i) if (i !== head) scores[i * size + dependent] = -Infinity;
    for (const [head, dependent] of forbidden) scores[head * size + dependent] = -Infinity;
    return { ...graph, scores };
  };

  // Z, the marginals, and the entropy by the method that takes longer but always works.
  const sumsOf = ({ n, single, scores }) => {
    const size = n + 1, walk = table(n, n + 2);
    for (let j = 1; j < size; ++j) {
      const row = (j - 1) * (n + 2);
      for (let i = 1; i < size; ++i) putExp(walk, row + i - 1, scores[i * size + j]);
      putExp(walk, row + n + (single ? 1 : 0), scores[j]);
    }
    const copied = () => ({ m: walk.m.slice(), e: walk.e.slice(), columns: n + 2 });
    return {
      z: takeOut(copied(), n),
      marginals: marginalsOf(walk, n),
      carriedEntropy: () => Math.max(takeOut(withEntropy(copied()), n).h[0], 0),
    };
  };

  // The facts about the trees that have all `fixed` arcs and none of the `forbidden` ones, lists of
  // [head, dependent].  Returns { leftOut }, the words that no such tree attaches, if there is none
  // (no words, if all trees have crossing arcs); else { z, logZ, marginals, heads, bestProbability, entropy }, entropy in nats.
  const solve = (whole, fixed = [], forbidden = []) => {
    const graph = restrict(whole, fixed, forbidden), { n, scores } = graph, size = n + 1;
    const missed = leftOut(graph);
    if (missed.length) return { leftOut: missed };
    const { z, marginals, carriedEntropy } = graph.projective ? projective.sums(graph) : sumsOf(graph);
    if (z.m[0] === 0) return { leftOut: [] };
    const heads = bestTree(graph);
    // The best tree's share of Z, factor by factor, so that no large logarithms are subtracted.
    const best = numberLike(z, 1), weight = table(1, 1);
    for (let j = 1; j < size; ++j) {
      putExp(weight, 0, scores[heads[j] * size + j]);
      multiply(best, weight);
    }
    divide(best, 0, 1, z);
    const logBest = Math.min(toLog(best), 0), bestProbability = Math.min(toDouble(best, 0), 1);
    let { entropy, total } = entropyFromMarginals(graph, marginals, heads, logBest);
    if (total > MOST_TO_CANCEL) entropy = carriedEntropy();
    return { z, logZ: toLog(z), marginals, heads, bestProbability, entropy };
  };

  // The probability of choices: the share of Z of the trees that agree with them.
  const share = (part, whole) => {
    const ratio = { m: part.z.m.slice(), e: part.z.e.slice() };
    divide(ratio, 0, 1, whole.z);
    return Math.min(toDouble(ratio, 0), 1);
  };

  // The minimum Bayes risk tree: the one with the highest expected number of right heads.
  const minimumRisk = (graph, { marginals }) =>
    bestTree({ ...graph, scores: marginals.map((p) => (p > 0 ? p : -Infinity)) });

  return { solve, share, minimumRisk };
})();
