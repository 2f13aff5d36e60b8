// What the page says in English. {name} is replaced.

export const TEXTS = {
  tagline: "Words and their vectors, in context",
  skip: "Skip to the content",
  language: "Language",
  theme: "Switch between light and dark",
  model: "Model",
  loading: "Loading…",
  tabs: "Views",
  "tab.sentences": "Sentences",
  "tab.vector": "How a vector is made",
  "tab.expectation": "Expectation",
  "tab.senses": "Senses",
  "tab.tasks": "Tasks",
  "key.title": "This server asks for an API key",
  "key.label": "API key",
  "key.ok": "Continue",
  offline: "The server does not answer. Is it still running?",
  footer: "Every view has its own address: copy it to share what you see.",
  api: "API description",

  "layer.0": "Layer 0",
  "layer.n": "Layer {n}",
  "layer.mix": "Mix",
  "layer.expected": "Expected",
  "layer.static": "Static",
  "layer.0.what":
    "The spelling alone, read by the character CNN: one vector per word, like word2vec.",
  "layer.n.what": "The state of each LSTM layer after reading the sentence from both ends.",
  "layer.mix.what":
    "The mean of the layers: the ELMo vector before a task has learned weights of its own.",
  "layer.expected.what":
    "What the rest of the sentence expects here, without seeing the word itself.",

  "sentences.lede":
    "A word means what its sentence makes of it. Choose a word and compare it with every other word, layer by layer.",
  "sentences.label": "Sentences, one per line",
  "sentences.choose": "Choose a word",
  "sentences.sentence": "Sentence {n}",
  "sentences.empty": "Type a sentence above.",
  "sentences.many": "Only the first {n} sentences are read.",
  "heat.title": "How similar is “{word}” in sentence {n} to each word?",
  "heat.what": "Cosine similarity of the two vectors: 1 is the same direction, 0 or less is unrelated.",
  "heat.region": "Cosines, sentence {n}",
  "heat.layer": "Layer",
  "heat.word": "Word",
  "heat.low": "0 or less",
  "heat.high": "1",
  "same.title": "Static and contextual, side by side",
  "same.what": "A static vector cannot tell these uses of “{word}” apart. A contextual one can.",
  "same.none":
    "“{word}” is written this way only once. Choose a word that occurs in several sentences to see what context does to it.",
  "same.place": "“{word}” in",
  "pairs.title": "Most similar pairs",
  "pairs.what": "Words of different sentences, spelled differently, with the highest cosine.",
  "pairs.none": "Pairs need at least two sentences.",
  "pairs.layer": "Layer for the pairs and the comparison",
  "said.chosen": "{word}, sentence {n}. Most similar on {layer}: {others}.",

  "vector.lede":
    "ELMo builds the vector of a word from everything its language model computes on the way. Choose a word, move the sliders, and watch the vector and its neighbours change.",
  "vector.read.title": "The language model reads in both directions",
  "vector.read.what":
    "At “{word}”, the forward network has read the sentence from its first word up to this one, the backward network from its last word back to this one. Each has {layers} LSTM layers. Both start from the same token vector, made from the characters alone.",
  "vector.forward": "Forward",
  "vector.backward": "Backward",
  "vector.join.title": "Join the directions",
  "vector.join.what":
    "For each layer, the {half} dimensions from the left and the {half} from the right become one vector of {dim}. The token vector fills both halves.",
  "vector.weigh.title": "Weigh the layers",
  "vector.weigh.what":
    "Each layer has a weight. The softmax turns the weights into shares that sum to 1. A task learns them; here you do.",
  "vector.add.title": "Add them up",
  "vector.add.what": "The sum keeps the dimensions: still {dim}.",
  "vector.scale.title": "Scale by γ",
  "vector.scale.what":
    "One number stretches the whole vector to the size a task needs. Directions, and so cosines, stay as they are.",
  "vector.weight": "Weight of layer {n}",
  "vector.gamma": "Gamma",
  "vector.presets": "Presets",
  "vector.uniform": "Uniform",
  "vector.only": "Layer {n} alone",
  "vector.norm": "norm {norm}",
  "vector.bars": "{name}: {dim} dimensions, norm {norm}",
  "vector.sum": "sum",
  "vector.heat.title": "How the weights change the similarities",
  "vector.heat.what":
    "Cosine of “{word}” in sentence {n} with every word, for the vectors you have just made.",
  "vector.elmo": "ELMo",

  "expectation.lede":
    "A language model learns by predicting words. See which words surprise it, reading from the left and from the right, and which words it expected instead.",
  "expectation.label": "A sentence (write ___ for a gap)",
  "expectation.left": "Read from the left",
  "expectation.right": "Read from the right",
  "expectation.left.what": "given the words before",
  "expectation.right.what": "given the words after",
  "expectation.scale": "Surprisal in bits",
  "expectation.what":
    "A word of surprisal 10 had a probability of 1 in 1,024. Choose a word to see what was expected in its place.",
  "expectation.fill.title": "Expected in place of “{word}”",
  "expectation.fill.gap": "Expected in the gap",
  "expectation.fill.left": "from the left",
  "expectation.fill.right": "from the right",
  "expectation.fill.both": "from both sides",
  "expectation.bits": "{word}: {left} bits from the left, {right} bits from the right",
  "expectation.unknown": "not in the vocabulary; read as <UNK>",
  "expectation.none":
    "The model {model} has no softmax, so it cannot predict words. Choose another model.",
  "said.expected": "Expected in place of {word}: {words}.",

  "senses.lede":
    "Each dot is one occurrence of a word. Nearby dots are used in similar ways; colours and shapes are senses, found without a dictionary.",
  "senses.index": "Corpus",
  "senses.word": "Word",
  "senses.method": "Projection",
  "senses.layer": "Layer",
  "senses.find": "Another word of the index",
  "senses.static": "0 (static)",
  "senses.static.note":
    "On layer 0 every occurrence has the same vector: all dots fall on one point.",
  "senses.tsne": "Computing t-SNE. Thousands of occurrences take up to a minute, once.",
  "senses.legend": "Senses",
  "senses.all": "Show all",
  "senses.one":
    "Grouped by expected words and grouped by topic, the sentences split differently, so “{word}” is shown as a single sense.",
  "senses.keywords": "keywords",
  "senses.count": "{n} of {all}",
  "senses.map":
    "Map of {n} occurrences of “{word}” in {senses} senses. The list of sentences below says the same.",
  "senses.map.what":
    "Point at or tap a dot to read its sentence, click to select it, drag the mouse around dots to select several. The axes have no meaning of their own.",
  "senses.list": "Sentences",
  "senses.list.selected": "Selected sentences",
  "senses.more": "Show {n} more",
  "senses.source": "Sentences from {source}",
  "senses.none":
    "This server has no index. Build one from any text, then start the server with it:",
  "senses.said": "{n} sentences selected",
  "change.title": "Change of meaning between two corpora",
  "change.lede":
    "The words used most differently in the two, and which of their senses rose or fell.",
  "change.before": "From",
  "change.after": "To",
  "change.words": "Most changed words",
  "change.distance": "distance of the mean vectors",
  "change.word": "Senses of “{word}” in {before} and {after}",
  "change.divergence":
    "Divergence of the sense distributions: {bits} bits (0: the same, 1: nothing in common)",
  "change.needs":
    "With two indexes of the same model, words whose meaning changed are shown here.",

  "tasks.lede":
    "A task is a model trained on ELMo’s vectors. It gives a text a label, or every word a tag.",
  "tasks.none":
    "This server has no task yet. Train one and start the server with it; it will then appear here.",
  "tasks.none.how":
    "Train a sentiment classifier from a tab-separated file of texts and labels, or a tagger from a CoNLL file:",
  "tasks.task": "Task",
  "tasks.text": "Text",
  "tasks.first": "First text",
  "tasks.second": "Second text",
  "tasks.predicate": "Predicate",
  "tasks.labels": "Probability of each label",
  "tasks.tags": "Tags",
  "tasks.tag": "Probabilities for “{word}”",
  "tasks.answer": "Answer: {label}",
  "kind.classify": "text classification",
  "kind.tag": "tagging",
  "kind.pair": "pairs of texts",
};

/** Sentences to begin with. */
export const EXAMPLES = {
  sentences: [
    "The bank gave us a loan.",
    "The bank closed its office in London.",
    "They sat on the bank of the river.",
    "Trees grew along the bank of the stream.",
  ].join("\n"),
  word: "0.1",
  expectation: "The boat came slowly to the bank of the river.",
  place: 6,
  task: "Kim lives in Seoul and works for the National Bank.",
};
