// The loss of target words by a softmax over candidates, and its gradients.
//
// Candidates are all words, or a sample of them and, for each token, its own target: a sample that is
// the target is left out then (an accidental hit).
#include "gradients.h"
#include "softmax.h"

typedef struct {
    int64_t p, n_scored;      // n_scored words are scored for each token
    int64_t is_sampled;
    Packed score, score_back;  // (p, n_scored), (n_scored, p)
    const float *weight;      // (.., p) of all words
    const float *bias;        // of the candidates, whole panels
    const float *zeros;       // (p), whole panels
    const float *states;      // (n, p)
    const int32_t *words;     // (n) the targets
    const int32_t *places;    // (n) their places among the candidates
    float scale;              // of the gradients
    float *dlogits;           // (n, stride)
    int64_t stride;           // n_scored rounded up to a multiple of 16
    float *dtargets;          // (n) of the targets' own logits, where words are sampled
    float *dstates;           // (n, p)
    float *losses;            // (n)
} SoftmaxLoss;

static float dot(const float *a, const float *b, int64_t n) {
    float lanes[16] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i += 16)
        for (int j = 0; j < smaller(16, n - i); j++) lanes[j] += a[i + j] * b[i + j];
    for (int j = 0; j < 16; j++) sum += lanes[j];
    return sum;
}

// x (n, whole vectors of 16) becomes exp(x - most); returns the sum.
static double exponentials_from(float *x, int64_t n, float most) {
    enum { LANES = 16, BLOCK = 512 };
    double total[LANES] = {0}, sum = 0;
    for (int64_t start = 0; start < n; start += BLOCK) {
        float lanes[LANES] = {0};
        for (int64_t i = start; i < smaller(n, start + BLOCK); i += LANES)
            for (int u = 0; u < LANES; u += WIDTH) {
                vec power_ = mul(sub(load(x + i + u), all(most)), all(LOG2_E));
                vec e = power(higher(power_, all(-126.0f)));
                store(x + i + u, e);
                store(lanes + u, add(load(lanes + u), e));
            }
        for (int j = 0; j < LANES; j++) total[j] += lanes[j];
    }
    for (int j = 0; j < LANES; j++) sum += total[j];
    return sum;
}

// One token: logits become their gradients.
static void softmax_token(const SoftmaxLoss *s, int64_t token) {
    float *logits = s->dlogits + token * s->stride;
    int64_t place = s->places[token];
    float lanes[16], own[16], target;
    for (int64_t i = s->n_scored; i < s->stride; i++) logits[i] = -INFINITY;
    if (s->is_sampled) {
        target = dot(s->states + token * s->p, s->weight + s->words[token] * s->p, s->p);
        target += s->bias[place];
        if (place < s->n_scored) logits[place] = -INFINITY;
    } else {
        target = logits[place];
    }
    for (int j = 0; j < 16; j++) lanes[j] = own[j] = j ? -INFINITY : target;
    for (int64_t i = 0; i < s->stride; i += 16)
        for (int u = 0; u < 16; u += WIDTH)
            store(lanes + u, higher(load(lanes + u), load(logits + i + u)));
    float most = target;
    for (int j = 0; j < 16; j++) most = lanes[j] > most ? lanes[j] : most;
    double sum = exponentials_from(logits, s->stride, most);
    if (s->is_sampled) {
        exponentials_from(own, 16, most);
        sum += own[0];
    }
    s->losses[token] = (float)(most + natural_logarithm(sum) - target);
    vec factor = all((float)(s->scale / sum));
    for (int64_t i = 0; i < s->stride; i += WIDTH) store(logits + i, mul(load(logits + i), factor));
    if (s->is_sampled) {
        s->dtargets[token] = (float)(own[0] * s->scale / sum) - s->scale;
        if (place < s->n_scored) logits[place] = 0.0f;
    } else {
        logits[place] -= s->scale;
    }
}

// Tokens from `first` to `last`: their losses, and the gradients of their logits and states.
static void softmax_loss(const SoftmaxLoss *s, int64_t first, int64_t last) {
    for (int64_t start = first; start < last; start += CHUNK) {
        int64_t n = smaller(CHUNK, last - start), p = s->p;
        float *dlogits = s->dlogits + start * s->stride, *dstates = s->dstates + start * p;
        product(dlogits, s->stride, s->states + start * p, p, NULL, &s->score, s->bias, n);
        for (int64_t token = start; token < start + n; token++) softmax_token(s, token);
        product(dstates, p, dlogits, s->stride, NULL, &s->score_back, s->zeros, n);
        for (int64_t r = 0; r < n && s->is_sampled; r++) {
            const float *weight = s->weight + s->words[start + r] * p;
            for (int64_t i = 0; i < p; i++)
                dstates[r * p + i] += s->dtargets[start + r] * weight[i];
        }
    }
}
