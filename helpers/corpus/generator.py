"""Draws sentences from the grammar and writes the corpus files.

The draw uses its own small random generator (splitmix64) and the split a hash
of the German sentence, so the files are the same with every version of Python
and NumPy. Equal German sentences always land in the same split, and an English
sentence has one German sentence only: no sentence is shared between splits.
"""

import hashlib
from pathlib import Path

from helpers.corpus.examples import EXAMPLES
from helpers.corpus.grammar import (
    FIRST,
    NAMES,
    PLURAL,
    THIRD,
    Clause,
    both,
    english,
    german,
    it,
    name,
    noun_phrase,
    prepositional,
    pronoun,
)
from helpers.corpus.vocabulary import build_vocabulary
from helpers.corpus.words import (
    ACC,
    ADJECTIVES,
    CONJUNCTIONS,
    DAT,
    FREQUENCY,
    FRONTED,
    NOUNS,
    STATES,
    VERBS,
    WEATHER,
)

SEED = 2017
SIZES = {"train": 22_000, "validation": 1_000, "test": 1_000, "longer": 1_000, "combined": 500}
MAX_SOURCE, MAX_TARGET = 12, 14  # words and punctuation, in the first three splits and in combined
MAX_LONGER_SOURCE, MAX_LONGER_TARGET = 18, 20

PLACES = {noun.english: noun for noun in NOUNS if noun.kinds & {"place", "furniture"}}
SIMPLE_MODES = ("present", "perfect", "can", "must", "want", "like")
MODAL_MODES = ("can", "must", "want")


class Draw:
    """Random choices that are the same everywhere: splitmix64 on a 64-bit state."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        """A whole number in 0 .. n - 1."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return (z ^ (z >> 31)) % n

    def one_in(self, n):
        return self.below(n) == 0

    def choose(self, options):
        return options[self.below(len(options))]

    def weighted(self, weights):
        """A key of the dict ``weights``, in proportion to its whole-number weight."""
        pick = self.below(sum(weights.values()))
        for option, weight in weights.items():
            if pick < weight:
                return option
            pick -= weight


class Dead(Exception):
    """The choices made so far allow no sentence; draw again."""


# ---------------------------------------------------------------- phrases


def draw_noun(draw, kinds, taken=()):
    found = [noun for noun in NOUNS if noun.kinds & kinds and noun.english not in taken]
    if not found:
        raise Dead
    noun = draw.choose(found)
    # «my mother» would otherwise be everywhere
    return draw.choose(found) if "kin" in noun.kinds and draw.one_in(2) else noun


def draw_noun_phrase(draw, noun, role="object", negated=False):
    """A noun phrase. ``role`` says which determiners fit:

    "known" (definite), "owned" (after «have»), "object", and "subject", which
    is no bare plural; neither is an object in the dative.
    """
    person, kin, mass, part = (bool(noun.kinds & {kind}) for kind in ("person", "kin", "mass", "part"))
    plural = bool(noun.english_plural) and draw.one_in(3)
    if role == "owned":
        weights = {"no": 1} if negated else {"": 1, "two": 1, "three": 1} if plural else {"a": 1}
    elif kin:
        weights = {"my": 1}
    elif mass:
        weights = {"the": 1, "": role != "known"}
    elif part:
        weights = {"the": 2, "a": role != "known"}
    elif role == "known":
        weights = {"the": 5, "my": not person}
    elif plural:
        numbers = not negated
        weights = {"the": 4, "": 3 * (role == "object" and not person), "two": numbers, "three": numbers}
    else:
        weights = {"the": 5, "a": 4, "my": not person}
    adjective = draw_adjective(draw, noun) if draw.one_in(9 if kin else 3) else None
    return noun_phrase(noun, draw.weighted(weights), adjective, plural, negated)


def draw_adjective(draw, noun):
    fitting = [a for a in ADJECTIVES if a.kinds & noun.kinds]
    return draw.choose(fitting) if fitting else None


def draw_subject(draw, kinds, known=False):
    if "person" in kinds and draw.below(5) < 2:
        # every verb has a form for «I» alone, so it comes up more often
        who = draw.weighted({"I": 7, "he": 2, "she": 2, "we": 1, "they": 1, "Anna": 1, "Paul": 1})
        return name(who) if who in NAMES else pronoun(who)
    if "person" in kinds and draw.one_in(12):
        first = draw_noun(draw, kinds)
        second = draw_noun(draw, kinds, taken=(first.english,))
        return both(definite_phrase(first), definite_phrase(second))
    return draw_noun_phrase(draw, draw_noun(draw, kinds), "known" if known else "subject")


def definite_phrase(noun, plural=False):
    return noun_phrase(noun, "my" if "kin" in noun.kinds else "the", plural=plural)


OBJECT_PRONOUNS = {"I": "I we", "we": "I we", "he": "he", "she": "she", "they": "they"}


def draw_object(draw, kinds, subject, role="object", negated=False, taken=()):
    """A phrase that the verb can take, never the subject once more."""
    if "person" in kinds and role != "owned" and draw.one_in(3):
        same = OBJECT_PRONOUNS.get(subject.english[0][0], "").split()
        # «die Frau Paul» is also «Mrs Paul»: a name is an object only where the subject is a pronoun
        names = NAMES if subject.pronoun else ()
        who = draw.choose([p for p in [*OBJECT_PRONOUNS, *names] if p not in same])
        return name(who) if who in NAMES else pronoun(who)
    taken = {subject.noun.english, *taken} if subject.noun else {*taken, *subject.english[0]}
    return draw_noun_phrase(draw, draw_noun(draw, kinds, taken), role, negated)


def draw_place(draw, kinds, goal, subject, negated=False):
    """A place («in the garden», *im Garten*) or a goal («into the garden», *in den Garten*)."""
    noun = PLACES[draw.choose(sorted(kinds & PLACES.keys()))]
    adjective = draw_adjective(draw, noun) if draw.one_in(4) else None
    if "furniture" in noun.kinds:
        on_top = subject.noun is None or "person" in subject.noun.kinds or draw.one_in(2)
        preposition = ("on", "auf") if on_top else ("under", "unter")
        return prepositional(*preposition, noun_phrase(noun, "the", adjective), DAT)
    determiners = {"the": 6}
    if noun.english in ("garden", "house", "kitchen"):
        determiners["my"] = 1
    if noun.english in ("garden", "house", "city", "forest") and not negated:
        determiners["a"] = 1
    phrase = noun_phrase(noun, draw.weighted(determiners), adjective)
    return prepositional("into", "in", phrase, ACC) if goal else prepositional("in", "in", phrase, DAT)


# ---------------------------------------------------------------- clauses


def draw_clause(draw, modes=SIMPLE_MODES, negation=True, subject=None, adverbs=True):
    """A clause with a full verb; ``modes`` names the tenses and modals to choose from."""
    verb = draw.choose([v for v in VERBS if v.pattern != "clause"])
    subject_kinds, object_kinds = draw.choose(verb.frames)
    allowed = [m for m in modes if ("modal" if m in MODAL_MODES else m) in verb.modes]
    weights = {"present": 6, "perfect": 4, "past": 4, "can": 1, "must": 1, "want": 1, "like": 1}
    if not allowed:
        raise Dead
    mode = draw.weighted({m: weights[m] for m in allowed})
    negated = negation and mode != "like" and draw.one_in(4)
    if subject is None:
        subject = draw_subject(draw, subject_kinds, known=negated or verb.english[0] in STATES)
    elif not fits(subject, subject_kinds):
        raise Dead
    if verb.english[0] == "belong" and "my" in subject.english[0]:
        raise Dead  # «my dog belongs to her»
    clause = Clause(subject, verb, mode=mode, negated=negated)
    add_complement(draw, clause, object_kinds)
    if adverbs and mode == "present" and not negated and verb.english[0] not in STATES and draw.one_in(4):
        clause.frequency = draw.choose(list(FREQUENCY.items()))
    return clause


def fits(subject, kinds):
    if subject.noun:
        return bool(subject.noun.kinds & kinds)
    return "person" in kinds


def add_complement(draw, clause, kinds):
    """Give the clause the objects and the place that its verb takes."""
    verb, subject, negated = clause.verb, clause.subject, clause.negated
    match verb.pattern.split():
        case ["place"]:
            if verb.english[0] in ("live", "sit") or draw.one_in(2):
                clause.place = draw_place(draw, kinds, False, subject, negated)
        case ["goal"]:
            clause.place = draw_place(draw, kinds, True, subject, negated)
        case ["acc"]:
            role = "owned" if verb.english[0] == "have" else "object"
            if verb.english[0] in ("know", "love"):
                role = "known"
            clause.objects = [(draw_object(draw, kinds, subject, role, negated), ACC)]
        case ["dat"]:
            clause.objects = [(draw_object(draw, kinds, subject, "known" if negated else "subject"), DAT)]
        case ["dat", "acc"]:
            receiver = draw_object(draw, frozenset({"person"}), subject, "known")
            taken = [receiver.noun.english] if receiver.noun else []
            given = draw_object(draw, kinds, subject, "object", negated, taken)
            clause.objects = [(receiver, DAT), (given, ACC)]
        case [preposition, case]:
            phrase = draw_object(draw, kinds, subject, "known" if negated else "object")
            _, german_words = prepositional("", preposition, phrase, ACC if case == "acc" else DAT)
            clause.place = (phrase.english[1], german_words)


def draw_state(draw, subject=None, past=False):
    """«the soup is hot», «she was tired»."""
    if subject is None:
        if draw.one_in(4):
            subject = draw_subject(draw, frozenset({"person"}), known=True)
        else:
            noun = draw_noun(draw, {"person", "animal", "food", "drink", "thing", "text", "part", "place"})
            subject = definite_phrase(noun, plural=bool(noun.english_plural) and draw.one_in(3))
    adjective = draw_adjective(draw, subject.noun) if subject.noun else person_state(draw)
    if adjective is None or subject.adjective:  # «the old king is young»
        raise Dead
    return Clause(subject, adjective=adjective, mode="past" if past else "present", negated=draw.one_in(4))


def person_state(draw):
    return draw.choose([a for a in ADJECTIVES if "person" in a.kinds])


REPORTING = [verb for verb in VERBS if verb.pattern == "clause"]


def draw_weather(draw, mode="progressive"):
    """«it is raining»; with mode "present" «it rains», with "past" «it rained»."""
    verb = draw.choose(WEATHER)
    place = draw_place(draw, verb.frames[0][1], False, it()) if draw.one_in(3) else None
    return Clause(it(), verb, mode=mode, place=place)


# ---------------------------------------------------------------- sentences
# each returns (English words, German words, parts); the parts are its clauses and marks such as "question"


def statement(draw):
    clause = draw_clause(draw)
    return [*english(clause), "."], [*german(clause), "."], [clause]


def state(draw):
    clause = draw_state(draw)
    return [*english(clause), "."], [*german(clause), "."], [clause]


def with_time(draw):
    """«yesterday she bought a book», «she bought a book yesterday», «sometimes she helps him»."""
    adverb = draw.weighted({"yesterday": 5, "today": 2, "tomorrow": 2, "sometimes": 2, "often": 1})
    if adverb == "yesterday" and draw.one_in(5):
        clause = draw_weather(draw, "past") if draw.one_in(3) else draw_state(draw, past=True)
        if clause.adjective and not clause.adjective.kinds & {"person"}:
            raise Dead
    else:
        modes = {"yesterday": ["past"], "today": MODAL_MODES, "tomorrow": MODAL_MODES}.get(adverb, ["present"])
        habit = adverb in ("sometimes", "often")
        clause = draw_clause(draw, modes, negation=not habit, adverbs=False)
        if habit and clause.verb.english[0] in STATES:
            raise Dead
    if adverb in ("yesterday", "today", "tomorrow") and draw.one_in(3):
        clause.time = (adverb, FRONTED[adverb])
        return [*english(clause), "."], [*german(clause), "."], [clause]
    return [adverb, *english(clause), "."], [FRONTED[adverb], *german(clause, "inverted"), "."], [clause]


def question(draw):
    clause = draw_clause(draw, negation=False, adverbs=False, modes=["present", "perfect", "can", "must", "want"])
    if clause.subject.agreement == FIRST and clause.mode not in ("can", "must"):
        raise Dead  # nobody asks «do I sleep ?»
    source, target = (["why"], ["warum"]) if draw.one_in(3) else ([], [])
    return [*source, *english(clause, True), "?"], [*target, *german(clause, "inverted"), "?"], [clause, "question"]


def reported(draw):
    """«she says that he has bought a car», «I do not know whether the soup is hot»."""
    verb = draw.choose(REPORTING)
    which = "that"
    main = Clause(draw_subject(draw, frozenset({"person"}), known=True), verb)
    if verb.english[0] == "ask":
        which = "whether"
    elif verb.english[0] == "know" and draw.one_in(2):
        which, main.negated = "whether", True
    if "perfect" in verb.modes and draw.one_in(4):
        main.mode = "perfect"
    kind = draw.weighted({"clause": 8, "state": 2, "weather": 1})
    if kind == "clause":
        inner = draw_clause(draw, adverbs=False)
    else:
        inner = draw_state(draw) if kind == "state" else draw_weather(draw)
    check_distinct(main, inner)
    return joined(main, which, inner)


def check_distinct(first, second):
    """Two clauses whose subjects share a noun, a name or a pronoun would repeat themselves."""
    if set(first.subject.english[0]) & set(second.subject.english[0]) - {"the", "my", "a", "two", "three", "and"}:
        raise Dead


def joined(main, conjunction, inner):
    source = [*english(main), conjunction, *english(inner), "."]
    target = [*german(main), ",", CONJUNCTIONS[conjunction], *german(inner, "subordinate"), "."]
    return source, target, [main, inner, conjunction]


def fronted(main, conjunction, inner):
    source = [conjunction, *english(inner), ",", *english(main), "."]
    target = [CONJUNCTIONS[conjunction], *german(inner, "subordinate"), ",", *german(main, "inverted"), "."]
    return source, target, [main, inner, conjunction]


def taken_up(subject):
    """The pronoun that takes a subject up again: he, she, they, it, I, we."""
    if subject.pronoun:
        return subject
    if subject.agreement == PLURAL:
        return pronoun("they")
    if subject.noun and "person" not in subject.noun.kinds:
        return it(subject.gender)
    if subject.gender == "n":
        raise Dead  # «das Mädchen ..., weil sie» or «es»: both are heard
    return pronoun("he" if subject.gender == "m" else "she")


def reason(draw):
    """«because», «although» or «when», with a clause that fits the main clause."""
    main = draw_clause(draw, ["present", "perfect", "can", "want", "like"], adverbs=False)
    if main.verb.english[0] in STATES:
        raise Dead
    kind = draw.weighted({reason_state: 3, reason_weather: 2, reason_modal: 2, reason_thing: 3})
    conjunction, inner = kind(draw, main)
    if conjunction == "because" or kind in (reason_modal, reason_thing) or draw.one_in(2):
        return joined(main, conjunction, inner)
    if kind is reason_state:  # the noun comes first, its pronoun second
        inner.subject, main.subject = main.subject, inner.subject
    return fronted(main, conjunction, inner)


def reason_weather(draw, main):
    conjunction = draw_conjunction(draw, main)
    return conjunction, draw_weather(draw, "present" if conjunction == "when" else "progressive")


def reason_state(draw, main):
    """«... because he is tired», said of the subject of the main clause."""
    conjunction = draw_conjunction(draw, main)
    adjective = draw.choose([a for a in ADJECTIVES if {"person", "animal"} <= a.kinds])
    subject = taken_up(main.subject)
    if adjective == main.subject.adjective:
        raise Dead
    if subject.english[0] == ["it"] and any(p.noun and "animal" in p.noun.kinds for p, _ in main.objects):
        raise Dead  # «the dog follows the cat because it is tired»: which of them?
    negated = conjunction == "although" and adjective.english != "sick" and draw.one_in(2)
    return conjunction, Clause(subject, adjective=adjective, negated=negated)


def reason_modal(draw, main):
    """«... because he must work», said of the subject of the main clause."""
    subject = taken_up(main.subject)
    if subject.english[0] == ["it"]:
        raise Dead
    return draw.choose(["because", "although"]), draw_clause(draw, ("must", "want"), False, subject, adverbs=False)


def reason_thing(draw, main):
    """«... because it is new», said of the object; the adjective must not fit an «it» that is the subject."""
    thing = main.objects[-1][0] if main.objects else None
    if thing is None or thing.noun is None or thing.agreement != THIRD or main.kein:
        raise Dead
    if thing.noun.kinds & {"person", "animal"}:
        raise Dead
    fitting = [a for a in ADJECTIVES if a.kinds & thing.noun.kinds and a != thing.adjective]
    if main.subject.noun and "animal" in main.subject.noun.kinds:
        fitting = [a for a in fitting if "animal" not in a.kinds]
    if not fitting:
        raise Dead
    inner = Clause(it(thing.gender), adjective=draw.choose(fitting), negated=draw.one_in(4))
    return draw.choose(["because", "although"]), inner


def draw_conjunction(draw, main):
    return draw.choose(["because", "although", "when"] if main.mode in ("present", "like") else ["because", "although"])


def feeling(draw):
    """«she is happy because the dog has found the ball»: any clause can be the reason."""
    happy = next(a for a in ADJECTIVES if a.english == "happy")
    main = Clause(draw_subject(draw, frozenset({"person"}), known=True), adjective=happy, negated=draw.one_in(4))
    if main.subject.adjective == happy:
        raise Dead
    inner = draw_clause(draw, adverbs=False)
    check_distinct(main, inner)
    return joined(main, "because", inner)


def meanwhile(draw):
    """«she reads a book while the children play in the garden»."""
    main = draw_clause(draw, ["present"], negation=False, adverbs=False)
    inner = draw_clause(draw, ["present"], negation=False, adverbs=False)
    verbs = {main.verb.english[0], inner.verb.english[0]}
    if len(verbs) == 1 or verbs & {*STATES, "find"}:
        raise Dead
    check_distinct(main, inner)
    return fronted(main, "while", inner) if draw.one_in(3) else joined(main, "while", inner)


def contrast(draw):
    """«the man is tired but the woman works»: *aber* leaves the verb second."""
    first = draw_state(draw, draw_subject(draw, frozenset({"person"}), known=True))
    second = draw_clause(draw, ["present", "perfect", "can", "want"], adverbs=False)
    check_distinct(first, second)
    source = [*english(first), "but", *english(second), "."]
    target = [*german(first), ",", "aber", *german(second), "."]
    return source, target, [first, second]


def nested(draw):
    """Two subordinate clauses, one inside the other; only for the split «longer»."""
    source, target, parts = reported(draw)
    inner = parts[1]
    if inner.verb is None or inner.verb in WEATHER or inner.verb.english[0] in STATES:
        raise Dead
    conjunction, cause = draw.choose([reason_state, reason_weather, reason_modal])(draw, inner)
    more_source, more_target, more = joined(inner, conjunction, cause)
    source = source[:-1] + more_source[len(english(inner)) :]
    target = target[:-1] + more_target[len(german(inner)) :]
    return source, target, [*parts, *more]


TEMPLATES = {
    statement: 30,
    state: 4,
    with_time: 20,
    question: 14,
    reported: 16,
    reason: 18,
    feeling: 8,
    meanwhile: 8,
    contrast: 5,
}


def draw_sentence(draw, templates):
    """(template, English words, German words, parts) of a template chosen by its weight."""
    while True:
        template = draw.weighted(templates)
        try:
            return template, *template(draw)
        except Dead:
            continue


def is_new_combination(parts):
    """Whether a sentence combines what is kept apart in the training split.

    Each half is common there; together they occur only in the split «combined»:
    a question with two objects or a separable verb, and «must not» or «likes
    to» in a subordinate clause.
    """
    clauses = [part for part in parts if isinstance(part, Clause)]
    if "question" in parts:
        return any(len(c.objects) == 2 or (c.verb and c.verb.particle) for c in clauses)
    subordinate = clauses[1:] if any(part in CONJUNCTIONS for part in parts if isinstance(part, str)) else []
    return any(c.mode == "like" or (c.mode == "must" and c.negated) for c in subordinate)


# ---------------------------------------------------------------- splits and files


def split_of(german_words):
    """The split that a German sentence belongs to, from its hash."""
    digest = hashlib.sha256(" ".join(german_words).encode()).digest()
    share = int.from_bytes(digest[:8], "big") % 24
    return "test" if share == 0 else "validation" if share == 1 else "train"


def generate():
    """All splits: {split: list of (English words, German words)}, the same on every call."""
    draw = Draw(SEED)
    shown = {german_text for _, german_text, _ in EXAMPLES}
    splits = {split: {} for split in SIZES}
    while any(len(splits[split]) < size for split, size in SIZES.items()):
        template, source, target, parts = draw_sentence(draw, {**TEMPLATES, nested: 20})
        long = len(source) > MAX_SOURCE or len(target) > MAX_TARGET
        if len(source) > MAX_LONGER_SOURCE or len(target) > MAX_LONGER_TARGET or " ".join(target) in shown:
            continue
        if long:
            split = "longer"
        elif template is nested:
            continue
        elif is_new_combination(parts):
            split = "combined"
        else:
            split = split_of(target)
        if len(splits[split]) < SIZES[split]:
            splits[split].setdefault(tuple(source), tuple(target))
    return {split: list(pairs.items()) for split, pairs in splits.items()}


def write_files(folder):
    """Write the splits as «English TAB German» lines, and the vocabulary, into ``folder``."""
    folder = Path(folder)
    splits = generate()
    for split, pairs in splits.items():
        lines = [f"{' '.join(source)}\t{' '.join(target)}\n" for source, target in pairs]
        (folder / f"{split}.tsv").write_text("".join(lines), encoding="utf-8", newline="\n")
    vocabulary = build_vocabulary(splits["train"])
    (folder / "vocabulary.tsv").write_text(vocabulary.as_text(), encoding="utf-8", newline="\n")
