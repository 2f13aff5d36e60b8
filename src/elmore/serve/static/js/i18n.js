// What the page says, in English and Korean. {name} is replaced.

const TEXTS = {
  en: {
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
    "vector.token": "token",
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
    "vector.share": "share",
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
      "Split by the words expected in its place or by topic, the sentences fall into different groups, so “{word}” counts as one sense here.",
    "senses.substitutes": "could be replaced by",
    "senses.keywords": "keywords",
    "senses.count": "{n} of {all}",
    "senses.map":
      "Map of {n} occurrences of “{word}” in {senses} senses. The list of sentences below says the same.",
    "senses.map.what":
      "Point at a dot to read its sentence, click to select it, drag around dots to select several. The axes have no meaning of their own.",
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
      "This server has no task yet. Train one and start the server with it; this page then shows it here.",
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
  },
  ko: {
    tagline: "문맥 속의 단어 벡터",
    skip: "본문으로 건너뛰기",
    language: "언어",
    theme: "밝은 화면과 어두운 화면 전환",
    model: "모델",
    loading: "불러오는 중…",
    tabs: "보기",
    "tab.sentences": "문장",
    "tab.vector": "벡터가 만들어지는 과정",
    "tab.expectation": "예측",
    "tab.senses": "의미",
    "tab.tasks": "태스크",
    "key.title": "이 서버를 쓰려면 API 키가 필요합니다",
    "key.label": "API 키",
    "key.ok": "계속",
    offline: "서버가 응답하지 않습니다. 실행 중인지 확인하세요.",
    footer: "지금 보는 화면은 주소에 모두 담겨 있습니다. 주소를 복사하면 그대로 공유됩니다.",
    api: "API 명세",

    "layer.0": "0층",
    "layer.n": "{n}층",
    "layer.mix": "혼합",
    "layer.expected": "예측",
    "layer.static": "정적",
    "layer.0.what": "문자 CNN이 철자만 보고 만든 벡터입니다. word2vec처럼 단어마다 하나뿐입니다.",
    "layer.n.what": "문장을 양쪽에서 읽은 각 LSTM 층의 상태입니다.",
    "layer.mix.what": "모든 층의 평균입니다. 태스크가 가중치를 따로 학습하기 전의 ELMo 벡터입니다.",
    "layer.expected.what": "그 단어를 보지 않고, 나머지 문장이 그 자리에서 예측하는 것입니다.",

    "sentences.lede":
      "단어의 뜻은 문장이 정합니다. 단어를 하나 골라 다른 모든 단어와 얼마나 비슷한지 층별로 비교해 보세요.",
    "sentences.label": "문장 (한 줄에 하나씩)",
    "sentences.choose": "단어 선택",
    "sentences.sentence": "문장 {n}",
    "sentences.empty": "위에 문장을 입력하세요.",
    "sentences.many": "앞의 {n}문장만 읽습니다.",
    "heat.title": "문장 {n}의 ‘{word}’, 다른 단어와 얼마나 비슷할까?",
    "heat.what": "두 벡터의 코사인 유사도입니다. 1이면 방향이 같고, 0 이하면 관련이 없습니다.",
    "heat.region": "코사인 유사도, 문장 {n}",
    "heat.layer": "층",
    "heat.word": "단어",
    "heat.low": "0 이하",
    "heat.high": "1",
    "same.title": "정적 벡터와 문맥 벡터 비교",
    "same.what": "정적 벡터로는 ‘{word}’의 쓰임을 구별할 수 없지만, 문맥 벡터로는 구별됩니다.",
    "same.none":
      "철자가 ‘{word}’인 단어는 하나뿐입니다. 여러 문장에 나오는 단어를 고르면 문맥의 효과가 보입니다.",
    "same.place": "‘{word}’의 다른 용례",
    "pairs.title": "가장 비슷한 단어 쌍",
    "pairs.what": "서로 다른 문장에 있고 철자도 다른 단어 중 코사인 유사도가 가장 높은 쌍입니다.",
    "pairs.none": "문장이 둘 이상 있어야 합니다.",
    "pairs.layer": "비교에 쓸 층",
    "said.chosen": "문장 {n}의 {word}. {layer}에서 가장 비슷한 단어: {others}.",

    "vector.lede":
      "ELMo는 언어 모델이 계산하는 모든 층의 값으로 단어 벡터를 만듭니다. 단어를 고르고 슬라이더를 움직이면서 벡터와 유사도가 어떻게 바뀌는지 보세요.",
    "vector.read.title": "언어 모델이 문장을 양방향으로 읽습니다",
    "vector.read.what":
      "‘{word}’ 자리에서 순방향 네트워크는 앞에서부터 이 단어까지, 역방향 네트워크는 문장 끝에서부터 이 단어까지 읽은 상태입니다. 방향마다 LSTM이 {layers}층 있고, 모두 문자만으로 만든 같은 토큰 벡터에서 시작합니다.",
    "vector.forward": "순방향",
    "vector.backward": "역방향",
    "vector.token": "토큰",
    "vector.join.title": "두 방향을 이어 붙입니다",
    "vector.join.what":
      "층마다 왼쪽에서 읽은 {half}차원과 오른쪽에서 읽은 {half}차원을 이어 {dim}차원 벡터를 만듭니다. 토큰 벡터는 양쪽에 똑같이 들어갑니다.",
    "vector.weigh.title": "층마다 가중치를 곱합니다",
    "vector.weigh.what":
      "층별 가중치를 소프트맥스로 바꾸면 합이 1인 비율이 됩니다. 원래는 태스크가 학습하지만, 여기서는 직접 정해 보세요.",
    "vector.add.title": "모두 더합니다",
    "vector.add.what": "더해도 차원은 그대로 {dim}입니다.",
    "vector.scale.title": "γ로 크기를 맞춥니다",
    "vector.scale.what":
      "숫자 하나로 벡터 전체의 크기를 태스크에 맞춥니다. 방향은 그대로이므로 코사인 유사도도 변하지 않습니다.",
    "vector.weight": "{n}층의 가중치",
    "vector.share": "비율",
    "vector.gamma": "감마",
    "vector.presets": "프리셋",
    "vector.uniform": "균등",
    "vector.only": "{n}층만",
    "vector.norm": "노름 {norm}",
    "vector.bars": "{name}: {dim}차원, 노름 {norm}",
    "vector.sum": "합",
    "vector.heat.title": "가중치에 따라 유사도가 어떻게 달라질까?",
    "vector.heat.what":
      "방금 만든 벡터로 계산한, 문장 {n}의 ‘{word}’와 모든 단어의 코사인 유사도입니다.",
    "vector.elmo": "ELMo",

    "expectation.lede":
      "언어 모델은 다음에 올 단어를 예측하며 배웁니다. 왼쪽에서 읽을 때와 오른쪽에서 읽을 때 어떤 단어가 뜻밖인지, 그 자리에 어떤 단어를 예측했는지 보세요.",
    "expectation.label": "문장 (빈칸은 ___로 쓰세요)",
    "expectation.left": "왼쪽에서 읽을 때",
    "expectation.right": "오른쪽에서 읽을 때",
    "expectation.left.what": "앞의 단어들을 보고",
    "expectation.right.what": "뒤의 단어들을 보고",
    "expectation.scale": "놀람도(surprisal), 비트",
    "expectation.what":
      "10비트는 확률이 1/1,024이었다는 뜻입니다. 단어를 누르면 그 자리에 예측된 단어들이 나옵니다.",
    "expectation.fill.title": "‘{word}’ 자리에 예측된 단어",
    "expectation.fill.gap": "빈칸에 예측된 단어",
    "expectation.fill.left": "왼쪽만 보고",
    "expectation.fill.right": "오른쪽만 보고",
    "expectation.fill.both": "양쪽을 보고",
    "expectation.bits": "{word}: 왼쪽에서 {left}비트, 오른쪽에서 {right}비트",
    "expectation.unknown": "어휘에 없어 <UNK>로 읽습니다",
    "expectation.none":
      "{model} 모델에는 소프트맥스가 없어 단어를 예측할 수 없습니다. 다른 모델을 고르세요.",
    "said.expected": "{word} 자리에 예측된 단어: {words}.",

    "senses.lede":
      "점 하나는 단어가 말뭉치에 한 번 쓰인 자리입니다. 가까운 점은 쓰임이 비슷하고, 색과 모양은 사전 없이 찾아낸 의미입니다.",
    "senses.index": "말뭉치",
    "senses.word": "단어",
    "senses.method": "차원 축소",
    "senses.layer": "층",
    "senses.find": "색인의 다른 단어",
    "senses.static": "0 (정적)",
    "senses.static.note": "0층에서는 모든 쓰임의 벡터가 같아서 점이 모두 한곳에 모입니다.",
    "senses.tsne": "t-SNE를 계산하는 중입니다. 쓰임이 수천 개면 처음 한 번은 1분 가까이 걸립니다.",
    "senses.legend": "의미",
    "senses.all": "모두 보기",
    "senses.one":
      "예측된 단어로 나눈 결과와 주제로 나눈 결과가 서로 달라, 여기서는 ‘{word}’의 의미를 하나로 봅니다.",
    "senses.substitutes": "바꿔 쓸 수 있는 말",
    "senses.keywords": "함께 나오는 말",
    "senses.count": "{all}개 중 {n}개",
    "senses.map":
      "‘{word}’의 쓰임 {n}개를 의미 {senses}개로 나눈 지도. 아래 문장 목록에서 같은 내용을 볼 수 있습니다.",
    "senses.map.what":
      "점에 커서를 올리면 문장이 보입니다. 누르면 선택되고, 끌어서 둘러싸면 여러 개가 선택됩니다. 축 자체에는 의미가 없습니다.",
    "senses.list": "문장",
    "senses.list.selected": "선택한 문장",
    "senses.more": "{n}개 더 보기",
    "senses.source": "문장 출처: {source}",
    "senses.none":
      "이 서버에는 색인이 없습니다. 텍스트로 색인을 만든 다음 서버를 시작할 때 지정하세요.",
    "senses.said": "문장 {n}개를 선택했습니다",
    "change.title": "두 말뭉치 사이의 의미 변화",
    "change.lede": "두 말뭉치에서 쓰임이 가장 다른 단어와, 어떤 의미가 늘고 줄었는지 보여 줍니다.",
    "change.before": "이전",
    "change.after": "이후",
    "change.words": "가장 많이 바뀐 단어",
    "change.distance": "평균 벡터 사이의 거리",
    "change.word": "{before}, {after}에서 ‘{word}’의 의미",
    "change.divergence": "의미 분포의 차이: {bits}비트 (0이면 같고, 1이면 전혀 다름)",
    "change.needs": "같은 모델로 만든 색인이 두 개 있으면 의미가 바뀐 단어를 여기에 보여 줍니다.",

    "tasks.lede":
      "태스크는 ELMo 벡터로 학습한 모델입니다. 글 전체에 레이블을 붙이거나 단어마다 태그를 붙입니다.",
    "tasks.none":
      "이 서버에는 아직 태스크가 없습니다. 태스크를 학습한 뒤 서버를 시작할 때 지정하면 여기에 나타납니다.",
    "tasks.none.how":
      "텍스트와 레이블이 탭으로 구분된 파일로 감성 분류기를, CoNLL 파일로 태거를 학습합니다.",
    "tasks.task": "태스크",
    "tasks.text": "텍스트",
    "tasks.first": "첫째 텍스트",
    "tasks.second": "둘째 텍스트",
    "tasks.predicate": "서술어",
    "tasks.labels": "레이블별 확률",
    "tasks.tags": "태그",
    "tasks.tag": "‘{word}’의 태그별 확률",
    "tasks.answer": "답: {label}",
    "kind.classify": "텍스트 분류",
    "kind.tag": "태깅",
    "kind.pair": "텍스트 쌍",
  },
};

export const LANGUAGES = { en: "English", ko: "한국어" };

let language = "en";

export function setLanguage(name) {
  language = name;
  document.documentElement.lang = name;
}

export const currentLanguage = () => language;

export function t(key, values = {}) {
  return TEXTS[language][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

export function layerName(layer) {
  return typeof layer === "number"
    ? t(layer ? "layer.n" : "layer.0", { n: layer })
    : t(`layer.${layer}`);
}

const EXAMPLES = {
  en: {
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
  },
  ko: {
    sentences: [
      "빨간 사과와 배를 샀다.",
      "사과와 포도를 재배한다.",
      "정부에 사과를 요구했다.",
      "그는 공식적으로 사과를 했다.",
    ].join("\n"),
    word: "0.1",
    expectation: "그는 서울에 있는 은행에서 일했다.",
    place: 6,
    task: "김 씨는 서울에 살면서 은행에서 일한다.",
  },
};

/** Sentences to begin with, in the language that a model reads. */
export const examplesFor = (model) => EXAMPLES[model?.tokenizer === "korean" ? "ko" : "en"];
