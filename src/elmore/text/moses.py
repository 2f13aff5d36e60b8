"""A text in, its English Moses tokens and their spans out: sacremoses' rules in one pass.

sacremoses rewrites the whole text once per rule. Here one regular expression matches whole tokens,
each rule a look at a token's neighbours, with sacremoses' own tables of characters and prefixes.
It cannot express where one of sacremoses' substitutions consumes a character that the next match
needs (`rock'n'roll`, `a,,5`): sacremoses itself tokenizes those few words.
"""

import re

Word = tuple[str, int, int]  # a token's text, its start and its end

# Control characters that Moses drops inside words; the others are white space to it.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b]")
# No rule looks across white space between letters or digits, nor sees there an end of the text.
_SEAM = re.compile(r"(?<=\w)\s+(?=\w)")


class MosesWords:
    """Finds the tokens of sacremoses' `MosesTokenizer("en").tokenize(text, escape=False)`."""

    def __init__(self) -> None:
        from sacremoses import MosesTokenizer  # noqa: PLC0415  0.1 s of tables, only if used

        self._moses = MosesTokenizer("en")
        self._alphas = frozenset(self._moses.IsAlpha)
        self._lowers = frozenset(self._moses.IsLower)
        self._numeric_prefixes = frozenset(self._moses.NUMERIC_ONLY_PREFIXES)
        self._prefixes = frozenset(self._moses.NONBREAKING_PREFIXES) - self._numeric_prefixes

        alpha, alnum = self._moses.IsAlpha, self._moses.IsAlnum
        # Other numbers, such as ², are tokens of their own before any rule looks for a number.
        number = "".join(frozenset(self._moses.IsN) & frozenset(alnum))
        word = rf"{alnum}`\-"
        # `(?<=[x].)` looks at what precedes the character just matched: literals first is faster.
        # The rules need a neighbour, so they do not apply at either end (\A, \Z) of the text.
        self._token = re.compile(
            rf"""
            ([A-Za-z0-9][A-Za-z0-9\ ]*\ )           # words between spaces: most of a text
            |
            (?: '(?: (?<=[{alpha}].)(?=[{alpha}])   # it|'s
                   | (?<=[{number}].)(?=s) )        # 1990|'s
            )?
            (?: [{word}]+
              | \.(?<!\..)(?=[{word}])              # U.S
              | ,(?<![^{number}].)(?=[{number}])    # 5,300
              | '(?: (?<=[{number}].)(?<![{alpha}].)(?=[{alpha}])(?!s)  # 5'a
                   | (?<=\A.)                       # 'a, if the text begins so
                   | (?<=[{word}].)\Z )             # a', if it ends so
            )+
            (?: \.(?<!\..)(?!\.|'\Z)                # the period `_keeps_period` decides about,
                (?=\s*(\S?)) )?                     # and what it looks at
            | \.\.+
            | \S
            """,
            re.VERBOSE,
        )
        # Two apostrophes with one neighbour between them, which the first one's rule may consume.
        self._eaten = re.compile(rf"'(?:\s*|[^{alpha}]|(?<=[{alpha}].)[{alpha}](?=.[{alpha}]))'")

    def __call__(self, text: str) -> list[Word]:
        """Return the words in order, each the text of its span without control characters."""
        if not self._is_quirky(text):
            return self._by_pattern(text, 0)
        words = []
        start = 0
        for end in [*(seam.start() for seam in _SEAM.finditer(text)), len(text)]:
            part = text[start:end]
            read = self._by_sacremoses if self._is_quirky(part) else self._by_pattern
            words += read(part, start)
            start = end
        return words

    def _is_quirky(self, text: str) -> bool:
        return bool(",," in text or _CONTROL.search(text) or self._eaten.search(text))

    def _by_pattern(self, text: str, offset: int) -> list[Word]:
        offset += len(text) - len(text.lstrip())
        text = text.strip()
        words = []
        for match in self._token.finditer(text):
            start, end = match.span()
            group = match.lastindex
            if group == 1:
                for word in match[1].split(" "):
                    end = start + len(word)
                    if word:
                        words.append((word, start, end))
                    start = end + 1
            elif group == 2 and not self._keeps_period(text[start : end - 1], match[2]):
                words += [(text[start : end - 1], start, end - 1), (".", end - 1, end)]
            else:
                words.append((match[0], start, end))
        if not offset:
            return words
        return [(word, start + offset, end + offset) for word, start, end in words]

    def _keeps_period(self, word: str, following: str) -> bool:
        """Return whether the period after `word`, before `following`, belongs to it."""
        return (
            word in self._prefixes
            or following in self._lowers
            or ("." in word and not self._alphas.isdisjoint(word))
            or (word in self._numeric_prefixes and "0" <= following <= "9")
        )

    def _by_sacremoses(self, text: str, offset: int) -> list[Word]:
        # sacremoses writes dots as DOTMULTI while it works, and so takes that word for dots. No
        # rule tells U from V.
        lengths = map(len, self._moses.tokenize(text.replace("U", "V"), escape=False))
        kept = [match.start() for match in re.finditer(r"[^\s\x00-\x1f]", text)]
        words = []
        first = 0
        for length in lengths:
            start, end = kept[first], kept[first + length - 1] + 1
            words.append((_CONTROL.sub("", text[start:end]), start + offset, end + offset))
            first += length
        assert first == len(kept), text
        return words
