"""The grammar: phrases and clauses built side by side in English and in German.

A ``Phrase`` (noun phrase or pronoun) knows its German form in each case. A
``Clause`` holds a subject, a verb and what goes with them; ``english`` and
``german`` write it down in the word order asked for. Everything is a list of
words; the first word of a sentence gets no capital of its own.
"""

from dataclasses import dataclass, field
from itertools import chain

from helpers.corpus.words import BE, CASES, DAT, HAVE, MODALS, NOM, WAS, Adjective, Noun, Verb

# agreement of a verb with its subject, as a position in a verb's forms
FIRST, THIRD, PLURAL = 0, 1, 2

DEFINITE = {  # by gender, or "p" for the plural; nominative, accusative, dative
    "m": ("der", "den", "dem"),
    "f": ("die", "die", "der"),
    "n": ("das", "das", "dem"),
    "p": ("die", "die", "den"),
}
EIN_ENDINGS = {  # of ein, kein and mein
    "m": ("", "en", "em"),
    "f": ("e", "e", "er"),
    "n": ("", "", "em"),
    "p": ("e", "e", "en"),
}
ADJECTIVE_ENDINGS = {
    "definite": {"m": ("e", "en", "en"), "f": ("e", "e", "en"), "n": ("e", "e", "en"), "p": ("en", "en", "en")},
    "ein": {"m": ("er", "en", "en"), "f": ("e", "e", "en"), "n": ("es", "es", "en"), "p": ("en", "en", "en")},
    "none": {"m": ("er", "en", "em"), "f": ("e", "e", "er"), "n": ("es", "es", "em"), "p": ("e", "e", "en")},
}
EIN_WORDS = {"a": "ein", "no": "kein", "my": "mein"}
NUMBERS = {"two": "zwei", "three": "drei"}

PRONOUNS = {  # English subject and object, German by case, agreement
    "I": (("I", "me"), ("ich", "mich", "mir"), FIRST),
    "he": (("he", "him"), ("er", "ihn", "ihm"), THIRD),
    "she": (("she", "her"), ("sie", "sie", "ihr"), THIRD),
    "we": (("we", "us"), ("wir", "uns", "uns"), PLURAL),
    "they": (("they", "them"), ("sie", "sie", "ihnen"), PLURAL),
}
IT = {"m": "er", "f": "sie", "n": "es"}
NAMES = {"Anna": "f", "Paul": "m"}

CONTRACTIONS = {("in", "dem"): "im", ("in", "das"): "ins"}


@dataclass(frozen=True)
class Phrase:
    """A noun phrase or pronoun: English as subject and as object, German by case."""

    english: tuple  # (words as subject, words as object)
    german: tuple  # words in the nominative, accusative, dative
    agreement: int
    definite: bool = True
    pronoun: bool = False
    noun: Noun | None = None
    adjective: Adjective | None = None
    gender: str = ""  # for a pronoun that takes the phrase up again; "" where there is none

    def words(self, case):
        return self.german[CASES.index(case)]


def noun_phrase(noun, determiner="the", adjective=None, plural=False, negated=False):
    """The phrase for a noun with «the», «a», «no», «my», «two», «three» or "" before it.

    With ``negated`` an indefinite phrase becomes *kein* in German, while English
    says «not» elsewhere: «does not buy a car», «kauft kein Auto».
    """
    column = "p" if plural else noun.gender
    english = ([adjective.english] if adjective else []) + [noun.english_plural if plural else noun.english]
    if determiner == "a":
        english = ["an" if english[0][0] in "aeiou" else "a", *english]
    elif determiner:
        english = [determiner, *english]
    german_determiner = "no" if negated and determiner in ("a", "") else determiner
    forms = tuple(german_noun_phrase(noun, german_determiner, adjective, plural, column, case) for case in CASES)
    return Phrase(
        (english, english),
        forms,
        PLURAL if plural else THIRD,
        definite=determiner in ("the", "my"),
        noun=noun,
        adjective=adjective,
        gender=column,
    )


def german_noun_phrase(noun, determiner, adjective, plural, column, case):
    which = CASES.index(case)
    if determiner == "the":
        words, endings = [DEFINITE[column][which]], "definite"
    elif determiner in EIN_WORDS:
        words, endings = [EIN_WORDS[determiner] + EIN_ENDINGS[column][which]], "ein"
    else:
        words, endings = [NUMBERS[determiner]] if determiner else [], "none"
    if adjective:
        words.append(adjective.stem + ADJECTIVE_ENDINGS[endings][column][which])
    if not plural:
        return [*words, noun.german]
    return [*words, noun.german_dative_plural if case == DAT else noun.german_plural]


def pronoun(name):
    """The phrase of a personal pronoun, by its name in PRONOUNS. Raises KeyError for any other name."""
    english, german, agreement = PRONOUNS[name]
    return Phrase(tuple([word] for word in english), tuple([word] for word in german), agreement, pronoun=True)


def name(text):
    """The phrase of a person's name out of NAMES: the same in both languages and in every case."""
    return Phrase(([text], [text]), ([text],) * 3, THIRD, gender=NAMES[text])


def it(gender="n"):
    """«it» for an animal or thing of that gender; neuter also for the weather."""
    return Phrase((["it"], ["it"]), ([IT[gender]],) * 3, THIRD, pronoun=True)


def both(first, second):
    """Two phrases joined by «and»: a plural subject."""
    english = tuple([*a, "and", *b] for a, b in zip(first.english, second.english, strict=True))
    german = tuple([*a, "und", *b] for a, b in zip(first.german, second.german, strict=True))
    return Phrase(english, german, PLURAL)


def prepositional(english, german, phrase, case):
    """A pair of word lists, with *in dem* and *in das* contracted."""
    words = [german, *phrase.words(case)]
    contraction = CONTRACTIONS.get(tuple(words[:2]))
    return [english, *phrase.english[1]], [contraction, *words[2:]] if contraction else words


@dataclass
class Clause:
    """What one clause says, before either language puts it in order."""

    subject: Phrase
    verb: Verb | None = None  # None: the verb is «be» with an adjective
    adjective: Adjective | None = None
    objects: list = field(default_factory=list)  # (phrase, case), the dative first
    place: tuple | None = None  # (English words, German words) of a prepositional phrase
    mode: str = "present"  # or progressive, perfect, past, can, must, want, like
    negated: bool = False
    frequency: tuple | None = None  # («often», *oft*), beside the verb
    time: tuple | None = None  # («yesterday», *gestern*), at the end in English

    @property
    def kein(self):
        """Whether the German negation is *kein* on an object that is not definite."""
        return self.negated and any(not phrase.definite for phrase, _ in self.objects)


def english_verbs(clause, question):
    """(the words that negation follows, the words after it)."""
    agreement, mode, negated = clause.subject.agreement, clause.mode, clause.negated
    do = ["does" if agreement == THIRD else "do"]
    if clause.verb is None:
        return [(WAS if mode == "past" else BE)[0][agreement]], [clause.adjective.english]
    base, third, past, participle = clause.verb.english
    after = [clause.verb.english_after] if clause.verb.english_after else []
    inflected = third if agreement == THIRD else base
    if base == "have" and negated:
        return [], [inflected]  # «has no dog»: the object carries the negation
    if mode == "perfect":
        return [HAVE[0][agreement]], [participle, *after]
    if mode == "progressive":  # of weather verbs: «it is raining»
        return [BE[0][agreement]], [participle]
    if mode == "past":
        return (["did"], [base, *after]) if negated or question else ([], [past, *after])
    if mode in ("can", "must"):
        return [mode], [base, *after]
    if mode in ("want", "like"):
        base, inflected, after = mode, mode + "s" * (agreement == THIRD), ["to", base, *after]
    return (do, [base, *after]) if negated or question else ([], [inflected, *after])


def english(clause, question=False):
    """The English words of a clause, without punctuation."""
    before, after = english_verbs(clause, question)
    negation = ["not"] if clause.negated and before else []
    if before + negation == ["can", "not"]:
        before, negation = ["cannot"], []
    subject = clause.subject.english[0]
    words = [*before, *subject] if question else [*subject, *before]
    words += negation
    if clause.frequency:
        words += [clause.frequency[0]]
    words += after
    for phrase, _ in clause.objects:
        words += phrase.english[1]
    if clause.place:
        words += clause.place[0]
    if clause.time:
        words += [clause.time[0]]
    return words


def german_verbs(clause):
    """(finite form in a main clause, words at its end, words at the end of a subordinate clause)."""
    agreement, mode, verb = clause.subject.agreement, clause.mode, clause.verb
    if verb is None:
        finite = (WAS if mode == "past" else BE)[1][agreement]
        return finite, [], [finite]
    if mode in ("perfect", "past"):
        finite = (HAVE if verb.auxiliary == "haben" else BE)[1][agreement]
        return finite, [verb.german[3]], [verb.german[3], finite]
    if mode in ("can", "must", "want"):
        finite = MODALS["must not" if mode == "must" and clause.negated else mode][agreement]
        return finite, [verb.infinitive], [verb.infinitive, finite]
    finite = verb.german[agreement]
    return finite, [verb.particle] if verb.particle else [], [verb.particle + finite]


def german_middle(clause):
    """What stands after subject, verb and pronouns, up to the words at the end.

    What is known (definite) comes first, then adverbs, what is new
    (indefinite), *nicht*, and last places, prepositional objects and predicates.
    """
    known = [phrase.words(case) for phrase, case in clause.objects if phrase.definite and not phrase.pronoun]
    new = [phrase.words(case) for phrase, case in clause.objects if not phrase.definite]
    words = list(chain(*known))
    if clause.time:
        words += [clause.time[1]]
    if clause.frequency:
        words += [clause.frequency[1]]
    if clause.mode == "like":
        words += ["gern"]
    words += chain(*new)
    if clause.negated and not clause.kein:
        words += ["nicht"]
    if clause.place:
        words += clause.place[1]
    if clause.adjective:
        words += [clause.adjective.german]
    return words


def german(clause, order="main"):
    """The German words of a clause, without punctuation.

    ``order`` is "main" (verb second after the subject), "inverted" (the verb
    first, after something fronted or in a question) or "subordinate" (the
    finite verb last).
    """
    finite, end, subordinate_end = german_verbs(clause)
    subject = clause.subject.words(NOM)
    pronouns = list(chain(*(phrase.words(case) for phrase, case in clause.objects if phrase.pronoun)))
    middle = german_middle(clause)
    if order == "main":
        return [*subject, finite, *pronouns, *middle, *end]
    if order == "inverted":
        # «hilft mir der Mann»: a pronoun goes before a noun, if it cannot be taken for the subject
        if pronouns and not clause.subject.pronoun and pronouns[0] not in ("sie", "ihr"):
            return [finite, *pronouns, *subject, *middle, *end]
        return [finite, *subject, *pronouns, *middle, *end]
    if order == "subordinate":
        return [*subject, *pronouns, *middle, *subordinate_end]
    raise ValueError(f"german: order is {order!r}; expected 'main', 'inverted' or 'subordinate'")
