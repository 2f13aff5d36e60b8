"""Raw text in, tokens with their character spans out: the tokenizers, by name."""

import re
from collections.abc import Iterable

from elmore.errors import ConfigError
from elmore.text.korean import (
    KoreanEojeolTokenizer,
    KoreanSyllableTokenizer,
    KoreanTokenizer,
    KoreanVocabularyTokenizer,
)
from elmore.text.moses import moses_tokens
from elmore.text.token import Token, Tokenizer


class WhitespaceTokenizer:
    """Splits at white space only: for text that is tokenized already."""

    name = "whitespace"

    def __call__(self, text: str) -> list[Token]:
        """Return the runs of non-space characters."""
        return [Token(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+", text)]


class EnglishTokenizer:
    """The tokens of Moses: what the published English models were trained on."""

    name = "english"

    def __call__(self, text: str) -> list[Token]:
        """Return the Moses tokens, unescaped."""
        return moses_tokens(text)


_TOKENIZERS: dict[str, type[Tokenizer]] = {
    "whitespace": WhitespaceTokenizer,
    "english": EnglishTokenizer,
    "korean": KoreanTokenizer,
    "korean-eojeol": KoreanEojeolTokenizer,
    "korean-syllables": KoreanSyllableTokenizer,
}


def tokenizer_by_name(name: str, vocab: Iterable[str] | None = None) -> Tokenizer:
    """Return the tokenizer that a config, a flag or a user names.

    `vocab` is the model's, which korean-vocabulary segments by.
    """
    if name == KoreanVocabularyTokenizer.name:
        if vocab is None:
            raise ConfigError(
                f"{name} segments by the vocabulary of a model, and there is none here; "
                "choose another tokenizer"
            )
        return KoreanVocabularyTokenizer(vocab)
    if name not in _TOKENIZERS:
        known = [*_TOKENIZERS, KoreanVocabularyTokenizer.name]
        raise ConfigError(f"no tokenizer is called {name[:100]!r}; known: {', '.join(known)}")
    return _TOKENIZERS[name]()
