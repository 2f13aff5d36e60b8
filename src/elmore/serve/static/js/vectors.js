// The little algebra that the page does itself.

export function norm(a) {
  let sum = 0;
  for (const x of a) sum += x * x;
  return Math.sqrt(sum);
}

export function cosine(a, b) {
  let dot = 0;
  for (let k = 0; k < a.length; k++) dot += a[k] * b[k];
  const norms = norm(a) * norm(b);
  return norms ? dot / norms : 0;
}

export function softmax(weights) {
  const most = Math.max(...weights);
  const powers = weights.map((w) => Math.exp(w - most));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((p) => p / sum);
}

/** gamma * sum_j s_j h_j (Peters et al. 2018, equation 1). */
export function mix(vectors, s, gamma = 1) {
  const mixed = new Float32Array(vectors[0].length);
  vectors.forEach((vector, j) => {
    for (let k = 0; k < mixed.length; k++) mixed[k] += gamma * s[j] * vector[k];
  });
  return mixed;
}

/** Turn and mirror points so that they lie as near as they can to where others lie. */
export function aligned(points, others) {
  // Procrustes in the plane: the best of the rotations, with a reflection and without.
  let best = points;
  let most = -Infinity;
  for (const flip of [1, -1]) {
    let a = 0;
    let b = 0;
    points.forEach(([x, y], k) => {
      const [u, v] = others[k];
      a += x * u + flip * y * v;
      b += x * v - flip * y * u;
    });
    const size = Math.hypot(a, b);
    if (size <= most || size === 0) continue;
    most = size;
    const [cos, sin] = [a / size, b / size];
    best = points.map(([x, y]) => [cos * x - sin * flip * y, sin * x + cos * flip * y]);
  }
  return best;
}
